//! Reads the words of a command as its program would, as far as the table
//! tells: which subcommand, which flags with which values, which operands.
//! What the table does not say stops the reading.

use super::entry::{Check, Entry, Operands, Style, Takes, find};
use super::table::Layer;

/// Why a command is not known to be safe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The table says what it does.
    Refused(String),
    /// The table does not know it.
    Unknown(String),
}

/// A command whose flags are all known to read.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) entry: &'a Entry,
    /// Program and subcommands as in the table.
    pub(super) command: String,
    /// As written, but each by itself, with its value.
    pub(super) flags: Vec<(&'a str, Option<&'a str>)>,
    pub(super) operands: Vec<&'a str>,
    /// The commands that find would run.
    pub(super) runs: Vec<Vec<&'a str>>,
    /// A `--` ended the flags.
    pub(super) ended: bool,
}

impl<'a> Reading<'a> {
    /// The values of the flags of these names.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        self.flags
            .iter()
            .filter(move |(name, _)| names.contains(name))
            .filter_map(|(_, value)| *value)
    }

    /// Whether any words may follow.
    pub(super) fn is_open(&self) -> bool {
        let bounded = self.entry.most.is_some() || self.entry.check.is_some();
        self.entry.open || (self.ended && self.entry.operands == Operands::Any && !bounded)
    }

    /// Whether one of these flags is there.
    pub(super) fn has(&self, names: &str) -> bool {
        names.split_ascii_whitespace().any(|name| self.flags.iter().any(|(flag, _)| *flag == name))
    }
}

/// Reads a command with one layer of the table.
pub(super) fn read<'a>(
    program: &str,
    words: &'a [&'a str],
    layer: &'a Layer,
) -> Result<Reading<'a>, Stop> {
    let known = layer.entry(program).is_some() || layer.leads_on(program);
    if !known {
        return Err(Stop::Unknown(format!("`{program}` is not in the table of what only reads")));
    }
    let mut reader = Reader {
        layer,
        command: program.to_owned(),
        chain: layer.entry(program).into_iter().collect(),
        here: layer.entry(program).is_some(),
        flags: Vec::new(),
        operands: Vec::new(),
        runs: Vec::new(),
        open: None,
        first: true,
        ended: false,
    };
    if let Some(entry) = reader.chain.last() {
        refused(entry, program)?;
    }
    reader.words(words)?;
    reader.end()
}

fn refused(entry: &Entry, command: &str) -> Result<(), Stop> {
    if entry.refuse.is_empty() {
        return Ok(());
    }
    Err(Stop::Refused(format!("`{command}` {}", entry.refuse)))
}

struct Reader<'a> {
    layer: &'a Layer,
    command: String,
    /// The entries on the way to the command, the last one closest to it.
    chain: Vec<&'a Entry>,
    /// Whether the last of the chain is the entry of the command itself.
    here: bool,
    flags: Vec<(&'a str, Option<&'a str>)>,
    operands: Vec<&'a str>,
    runs: Vec<Vec<&'a str>>,
    /// A flag that only `any-flag` knows was met: what follows may be its values.
    open: Option<&'a str>,
    /// No word was read yet.
    first: bool,
    ended: bool,
}

/// What the table says about a flag.
enum Flag<'a> {
    Known(Takes<'a>),
    Any,
}

impl<'a> Reader<'a> {
    fn words(&mut self, words: &'a [&'a str]) -> Result<(), Stop> {
        let mut rest = words.iter().copied();
        while let Some(word) = rest.next() {
            let style = self.style();
            let is_flag = match style {
                Style::Raw => false,
                _ => word.starts_with('-') && word.len() > 1,
            };
            if style == Style::Tar && std::mem::take(&mut self.first) && !is_flag {
                self.bundle(word, &mut rest)?;
            } else if !is_flag {
                self.word(word)?;
            } else if word == "--" && style != Style::Words {
                if style == Style::Single {
                    return Err(self.unknown(word));
                }
                self.operands.extend(rest);
                self.ended = true;
                return Ok(());
            } else {
                self.flag_word(word, style, &mut rest)?;
            }
        }
        Ok(())
    }

    fn style(&self) -> Style {
        self.chain.last().map_or(Style::Gnu, |entry| entry.style)
    }

    /// A subcommand, a value of a flag that only `any-flag` knows, or an operand.
    fn word(&mut self, word: &'a str) -> Result<(), Stop> {
        let may_be_command =
            word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'*') && !word.is_empty();
        if self.operands.is_empty() && self.open.is_none() && may_be_command {
            let longer = format!("{} {word}", self.command);
            let entry = self.layer.entry(&longer);
            if let Some(entry) = entry {
                refused(entry, &longer)?;
                self.chain.push(entry);
            }
            if entry.is_some() || self.layer.leads_on(&longer) {
                self.here = entry.is_some();
                self.command = longer;
                return Ok(());
            }
        }
        if let Some(name) = self.open {
            self.flags.push((name, Some(word)));
            return Ok(());
        }
        let operands = self.chain.last().filter(|_| self.here).map(|entry| entry.operands);
        if matches!(operands, None | Some(Operands::Commands)) {
            let longer = format!("{} {word}", self.command);
            return Err(Stop::Unknown(format!("`{longer}` is not known to read only")));
        }
        self.operands.push(word);
        Ok(())
    }

    fn flag_word(
        &mut self,
        word: &'a str,
        style: Style,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Stop> {
        self.open = None;
        match style {
            Style::Words if self.runs_commands() && ["-exec", "-execdir"].contains(&word) => {
                return self.run(rest);
            }
            Style::Words => {
                let takes = self.flag(word)?;
                return self.take(word, takes, None, rest);
            }
            Style::Single => {
                let word =
                    word.strip_prefix('-').filter(|bare| bare.starts_with('-')).unwrap_or(word);
                let (name, value) = split(word);
                let takes = self.flag(name)?;
                return self.take(name, takes, value, rest);
            }
            _ => {}
        }
        if word.starts_with("--") {
            let (name, value) = split(word);
            let takes = self.flag(name)?;
            return self.take(name, takes, value, rest);
        }
        self.cluster(word, rest)
    }

    fn runs_commands(&self) -> bool {
        self.chain.last().is_some_and(|entry| entry.check == Some(Check::Find))
    }

    /// The command behind find's `-exec`, up to `;` or `{} +`.
    fn run(&mut self, rest: &mut impl Iterator<Item = &'a str>) -> Result<(), Stop> {
        let mut inner: Vec<&'a str> = Vec::new();
        for word in rest {
            if word == ";" || (word == "+" && inner.last() == Some(&"{}")) {
                self.runs.push(inner);
                return Ok(());
            }
            inner.push(word);
        }
        Err(self.unknown("-exec"))
    }

    /// `-abc`, and `-5` where numbers are flags.
    fn cluster(
        &mut self,
        word: &'a str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Stop> {
        let letters = word.get(1..).unwrap_or_default();
        if letters.bytes().all(|byte| byte.is_ascii_digit()) && self.flag("-NUM").is_ok() {
            self.flags.push(("-NUM", Some(letters)));
            return Ok(());
        }
        for (at, letter) in letters.char_indices() {
            // The names that stand in the table have one byte; others are not found there.
            let glued = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let name = self.short(letter).ok_or_else(|| self.unknown(word))?;
            let takes = self.flag(name)?;
            match takes {
                Flag::Known(Takes::Nothing) => self.flags.push((name, None)),
                Flag::Known(Takes::Optional(values)) => {
                    let value = Some(glued).filter(|value| !value.is_empty());
                    if value.is_some_and(|value| !values.allow(value)) {
                        return Err(self.unknown(word));
                    }
                    self.flags.push((name, value));
                    return Ok(());
                }
                Flag::Known(Takes::Value(_)) => {
                    let value = Some(glued).filter(|value| !value.is_empty());
                    return self.take(name, takes, value, rest);
                }
                // An unknown letter: it cannot be told where its value begins.
                Flag::Any if letters.chars().count() > 1 => return Err(self.unknown(word)),
                Flag::Any => {
                    self.flags.push((name, None));
                    self.open = Some(name);
                }
            }
        }
        Ok(())
    }

    /// tar's first word without a dash: flags, whose values are the next words in turn.
    fn bundle(
        &mut self,
        word: &'a str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Stop> {
        for letter in word.chars() {
            let name = self.short(letter).ok_or_else(|| self.unknown(word))?;
            let flag = self.flag(name)?;
            self.take(name, flag, None, rest)?;
        }
        Ok(())
    }

    /// The name of a short flag, borrowed from wherever the table has it.
    fn short(&self, letter: char) -> Option<&'a str> {
        const NAMES: &str = "-a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z\
            -A-B-C-D-E-F-G-H-I-J-K-L-M-N-O-P-Q-R-S-T-U-V-W-X-Y-Z-0-1-2-3-4-5-6-7-8-9-#-?-@";
        if !letter.is_ascii() || letter == '-' {
            return None;
        }
        let at = NAMES.find(letter)?;
        NAMES.get(at.checked_sub(1)?..=at)
    }

    /// Notes a flag with its value, which may be the next word.
    fn take(
        &mut self,
        name: &'a str,
        flag: Flag<'_>,
        glued: Option<&'a str>,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Stop> {
        let takes = match flag {
            Flag::Known(takes) => takes,
            Flag::Any => {
                self.flags.push((name, glued));
                self.open = Some(name).filter(|_| glued.is_none());
                return Ok(());
            }
        };
        let value = match (takes, glued) {
            (Takes::Nothing, Some(_)) => {
                return Err(self.unknown_value(name));
            }
            (Takes::Value(_), None) => {
                let value = rest.next().ok_or_else(|| self.unknown_value(name))?;
                // Were the table wrong about this flag, the word would be a flag of its own.
                if self.style() != Style::Words && looks_like_a_flag(value) {
                    return Err(self.unknown_value(name));
                }
                Some(value)
            }
            (_, glued) => glued,
        };
        if let (Takes::Value(values) | Takes::Optional(values), Some(value)) = (takes, value)
            && !values.allow(value)
        {
            return Err(self.unknown_value(name));
        }
        self.flags.push((name, value));
        Ok(())
    }

    /// What the table says about a flag, here or at a command before.
    fn flag(&self, name: &str) -> Result<Flag<'a>, Stop> {
        for (distance, entry) in self.chain.iter().copied().rev().enumerate() {
            let here = distance == 0 && self.here;
            let own: &'a str = if here { &entry.flags } else { "" };
            if let Some(takes) = find(own, name).or_else(|| find(&entry.anywhere, name)) {
                return Ok(Flag::Known(takes));
            }
            for (names, reason) in entry.never.iter() {
                if names.split_ascii_whitespace().any(|never| never == name) {
                    let command = &self.command;
                    return Err(Stop::Refused(format!("`{command} {name}` {reason}")));
                }
            }
        }
        // Many programs take the beginning of a long name for the whole of it.
        let abbreviated = |long: &&str| name.starts_with("--") && long.starts_with(name);
        for entry in &self.chain {
            for (names, reason) in entry.never.iter() {
                if let Some(long) = names.split_ascii_whitespace().find(abbreviated) {
                    let command = &self.command;
                    return Err(Stop::Refused(format!(
                        "`{command} {name}` may be short for `{long}`, which {reason}"
                    )));
                }
            }
        }
        if self.here && self.chain.last().is_some_and(|entry| entry.any_flag) {
            return Ok(Flag::Any);
        }
        Err(self.unknown(name))
    }

    fn unknown(&self, flag: &str) -> Stop {
        Stop::Unknown(format!("`{} {flag}` is not known to read only", self.command))
    }

    fn unknown_value(&self, flag: &str) -> Stop {
        Stop::Unknown(format!(
            "the value of `{} {flag}` is missing, or not known to read only",
            self.command
        ))
    }

    fn end(self) -> Result<Reading<'a>, Stop> {
        let command = self.command.clone();
        // `az vm --help`: a group of commands, and a flag that answers by itself.
        let answers = |entry: &&Entry| {
            let mut names = entry.needs.split_ascii_whitespace();
            names.any(|name| self.flags.iter().any(|(flag, _)| *flag == name))
        };
        let entry = self.chain.last().copied().filter(|entry| self.here || answers(entry));
        let incomplete =
            || Stop::Unknown(format!("`{command}` needs a subcommand that only reads"));
        let entry = entry.ok_or_else(incomplete)?;
        let Self { flags, operands, runs, ended, .. } = self;
        let reading = Reading { entry, command, flags, operands, runs, ended };
        shape(&reading)?;
        Ok(reading)
    }
}

/// What the entry says about flags that must be there, and about operands.
fn shape(reading: &Reading<'_>) -> Result<(), Stop> {
    let Reading { entry, command, flags, operands, .. } = reading;
    let refuse = |why: String| Err(Stop::Unknown(why));
    if !entry.needs.is_empty() && !reading.has(&entry.needs) {
        return refuse(format!("`{command}` only reads with one of {}", entry.needs));
    }
    let counted = operands.len();
    if counted > 0 && !entry.operands_need.is_empty() && !reading.has(&entry.operands_need) {
        let needed = &entry.operands_need;
        return refuse(format!("`{command}` with an operand only reads with one of {needed}"));
    }
    if entry.most.is_some_and(|most| counted > usize::from(most)) {
        return refuse(format!("`{command}` may write to the last of so many operands"));
    }
    let values = flags.iter().filter_map(|(_, value)| *value);
    let first = operands.first().copied();
    let odd = match entry.operands {
        Operands::Any => None,
        Operands::None => first,
        // With a flag that it needs (`--version`) a command stands for itself.
        Operands::Commands if entry.needs.is_empty() => {
            return refuse(format!("`{command}` needs a subcommand that only reads"));
        }
        Operands::Commands => None,
        Operands::Local => operands.iter().copied().chain(values).find(|word| remote(word)),
        Operands::Plain => {
            operands.iter().copied().chain(values).find(|word| remote(word) || word.contains('='))
        }
        Operands::Names => {
            operands.iter().copied().chain(values).find(|word| remote(word) || is_path(word))
        }
        Operands::Plus => operands.iter().copied().find(|word| !word.starts_with('+')),
    };
    match odd {
        Some(word) => refuse(format!("`{command}` is not known to read only with `{word}`")),
        None => Ok(()),
    }
}

/// `--name=value`, or the name alone.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    }
}

fn looks_like_a_flag(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|next: char| next == '-' || next.is_alphabetic()))
}

/// Whether a word could be a file; `@scope/name` and `python@3.11` are none.
fn is_path(word: &str) -> bool {
    word.starts_with(['.', '~'])
        || word.ends_with(".rb")
        || (word.contains('/') && !word.starts_with('@'))
        || word.contains(':')
}

/// Whether a word names something on a host of its own choice. Buckets belong
/// to the service that is configured.
fn remote(word: &str) -> bool {
    word.match_indices("://").any(|(at, _)| {
        let before = word.get(..at).unwrap_or_default();
        !["file", "fileb", "gs", "s3"].iter().any(|scheme| before.ends_with(scheme))
    })
}

//! One entry of the table of known-safe commands: its schema, and what makes
//! an entry wrong. `docs/known-safe.md` explains it for people; the build
//! script includes this file, so that it knows nothing of the crate.

use std::borrow::Cow;

use serde::Deserialize;

/// Text of the built-in table or of a user's file.
pub type Text = Cow<'static, str>;

/// A flag, or several, and what they do: `("-o --output", "writes a file")`.
pub type Reason = (Text, Text);

/// What is known about one command, or about several alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Entry {
    /// Program and subcommands: `git log`, `{docker,podman} {images,ps}`,
    /// `aws ec2 describe-*`.
    pub command: Text,
    /// How the program reads its flags.
    #[serde(default)]
    pub style: Style,
    /// Flags that only read, here: `-n --lines= --color[=] --format=json|text -NUM`.
    #[serde(default)]
    pub flags: Text,
    /// Flags that only read, here and behind every subcommand.
    #[serde(default)]
    pub anywhere: Text,
    /// Flags that take the label away, with what they do.
    #[serde(default, deserialize_with = "reasons")]
    pub never: Cow<'static, [Reason]>,
    /// Every other flag only reads, whatever its name and its values.
    #[serde(default)]
    pub any_flag: bool,
    /// What the words may be that are no flags.
    #[serde(default)]
    pub operands: Operands,
    /// How many operands there may be.
    pub most: Option<u8>,
    /// Whatever words follow, it only reads: no flag of the program does more.
    #[serde(default)]
    pub open: bool,
    /// One of these flags must be there.
    #[serde(default)]
    pub needs: Text,
    /// One of these flags must be there, once there is an operand.
    #[serde(default)]
    pub operands_need: Text,
    /// Code that looks at the rest.
    pub check: Option<Check>,
    /// Never safe, and what it does: `prints a token`.
    #[serde(default)]
    pub refuse: Text,
}

/// How a program reads its flags.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// `-abc` is three flags, `--name=value`, flags also after operands.
    #[default]
    Gnu,
    /// `-name`, `--name`, `-name=value`: one dash and two are the same.
    Single,
    /// Each flag is one word, and its value is the next word whatever it is.
    Words,
    /// As `gnu`, but the first word may be flags without their dash: `tar tf x`.
    Tar,
    /// No word is a flag: each is an operand.
    Raw,
}

/// What may stand beside the flags.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Operands {
    /// Nothing.
    #[default]
    None,
    /// Nothing, but a subcommand must follow.
    Commands,
    /// Anything.
    Any,
    /// Anything but `://`, also in the values of flags.
    Local,
    /// As `local`, and without `=`.
    Plain,
    /// As `local`, and no paths: programs that run what a file of such a name says.
    Names,
    /// Words that begin with `+`.
    Plus,
}

/// Code that judges what flags alone do not tell.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// A program in awk's language.
    Awk,
    /// dscl: reading, searching and listing the local directory.
    Dscl,
    /// find's expression: commands behind `-exec` must be safe themselves.
    Find,
    /// fzf's `--bind`: actions that run nothing.
    Fzf,
    /// gh: no host in a repository's name, and no filter that prints the environment.
    Gh,
    /// `gh api`: only GET, or a GraphQL query.
    GhApi,
    /// `git config`: no keys that hold credentials.
    GitConfig,
    /// A filter of jq or yq: nothing of the environment, no other files.
    Jq,
    /// `kubectl get`: secrets only by name.
    KubectlGet,
    /// ps in both its notations: not the environment of processes.
    Ps,
    /// A script in sed's language.
    Sed,
    /// SQL of a flag, else of the operand: one statement that selects.
    Sql,
    /// A database file and SQL; opened so that nothing is made.
    SqlFile,
    /// tar: no archive on another host.
    Tar,
    /// `test` and `[`: no subscripts, which bash evaluates.
    Test,
}

/// What a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes<'a> {
    /// No value.
    Nothing,
    /// A value: glued, after `=`, or the next word.
    Value(Values<'a>),
    /// A value, but only glued or after `=`.
    Optional(Values<'a>),
}

/// Which values a flag may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values<'a> {
    /// All.
    Any,
    /// One of these, separated by `|`.
    Of(&'a str),
}

impl Values<'_> {
    /// Whether a value is one of these.
    pub fn allow(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Of(list) => list.split('|').any(|allowed| allowed == value),
        }
    }
}

/// The flags of a list, each with what it takes.
pub fn flags(list: &str) -> impl Iterator<Item = (&str, Takes<'_>)> {
    list.split_ascii_whitespace().map(flag)
}

fn flag(token: &str) -> (&str, Takes<'_>) {
    if let Some((name, values)) = token.split_once("[=") {
        let values = values.strip_suffix(']').unwrap_or(values);
        (name, Takes::Optional(of(values)))
    } else if let Some((name, values)) = token.split_once('=') {
        (name, Takes::Value(of(values)))
    } else {
        (token, Takes::Nothing)
    }
}

/// A list with its flags in the order in which [`find`] looks for them.
pub fn sorted(list: &str) -> String {
    let mut tokens: Vec<&str> = list.split_ascii_whitespace().collect();
    tokens.sort_by_key(|token| flag(token).0);
    tokens.join(" ")
}

/// What a flag of a sorted list takes: by halves, on the text itself.
pub fn find<'a>(list: &'a str, name: &str) -> Option<Takes<'a>> {
    let mut rest = list;
    while !rest.is_empty() {
        let middle = rest.as_bytes().get(..rest.len() / 2)?;
        let start = middle.iter().rposition(|byte| *byte == b' ').map_or(0, |blank| blank + 1);
        let (before, from) = rest.split_at_checked(start)?;
        let (token, behind) = from.split_once(' ').unwrap_or((from, ""));
        let (found, takes) = flag(token);
        match name.cmp(found) {
            std::cmp::Ordering::Less => rest = before.trim_end(),
            std::cmp::Ordering::Equal => return Some(takes),
            std::cmp::Ordering::Greater => rest = behind,
        }
    }
    None
}

fn of(values: &str) -> Values<'_> {
    if values.is_empty() { Values::Any } else { Values::Of(values) }
}

/// The commands that a pattern stands for: `a {b,c} d` is `a b d` and `a c d`.
pub fn commands(pattern: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for word in pattern.split_ascii_whitespace() {
        let list = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let alternatives = list.unwrap_or(word).split(',');
        all = alternatives
            .flat_map(|alternative| {
                all.iter().map(move |before| match before.as_str() {
                    "" => alternative.to_owned(),
                    before => format!("{before} {alternative}"),
                })
            })
            .collect();
    }
    all.sort_unstable();
    all
}

impl Entry {
    /// What is wrong with this entry by itself: something it says that can
    /// never matter, or that says nothing.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.command_faults();
        if !self.refuse.is_empty() {
            let says_more = !(self.flags.is_empty()
                && self.anywhere.is_empty()
                && self.never.is_empty()
                && self.needs.is_empty())
                || self.any_flag
                || self.check.is_some();
            if says_more {
                faults.push("is refused, so nothing else that it says can matter".to_owned());
            }
            return faults;
        }
        let mut seen: Vec<&str> = Vec::new();
        let mut allowed: Vec<&str> = Vec::new();
        for (name, _) in flags(&self.flags).chain(flags(&self.anywhere)) {
            allowed.push(name);
        }
        let never = self.never.iter().flat_map(|(names, _)| names.split_ascii_whitespace());
        for name in allowed.iter().copied().chain(never) {
            if seen.contains(&name) {
                faults.push(format!("lists {name} twice"));
            }
            if !self.can_be_written(name) {
                faults.push(format!("{name} can never be written so in this style"));
            }
            seen.push(name);
        }
        for name in
            self.needs.split_ascii_whitespace().chain(self.operands_need.split_ascii_whitespace())
        {
            if !allowed.contains(&name) {
                faults.push(format!("needs {name}, which it does not allow"));
            }
        }
        for (names, reason) in self.never.iter() {
            if names.trim().is_empty() || reason.trim().is_empty() {
                faults.push("has a reason without flags, or flags without a reason".to_owned());
            }
        }
        if !self.operands_need.is_empty() && self.operands == Operands::None {
            faults.push("asks for flags beside operands, and allows no operands".to_owned());
        }
        if self.most.is_some() && matches!(self.operands, Operands::None | Operands::Commands) {
            faults.push("counts operands, and allows none".to_owned());
        }
        let bounded = self.most.is_some() || self.check.is_some() || !self.needs.is_empty();
        if self.open && (bounded || !self.never.is_empty() || self.operands != Operands::Any) {
            faults.push("is open to any words, and bounds them".to_owned());
        }
        if self.style == Style::Raw && (!seen.is_empty() || self.any_flag) {
            faults.push("is raw, so that it has no flags".to_owned());
        }
        faults
    }

    fn command_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let words: Vec<&str> = self.command.split_ascii_whitespace().collect();
        if words.is_empty() || words.join(" ") != *self.command {
            faults.push("its command is empty or has more than single blanks".to_owned());
        }
        for (at, word) in words.iter().enumerate() {
            let list = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            let alternatives: Vec<&str> = list.unwrap_or(word).split(',').collect();
            if list.is_some() && (alternatives.len() < 2 || !alternatives.is_sorted()) {
                faults.push(format!("{word} is no sorted list of two or more"));
            }
            for alternative in alternatives {
                let name = alternative.strip_suffix('*').unwrap_or(alternative);
                let starred = name.len() < alternative.len();
                if starred && (at + 1 < words.len() || at == 0 || !name.ends_with('-')) {
                    faults.push(format!("{alternative}: only the last word may end with `-*`"));
                }
                let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.[:+".contains(&byte);
                if name.is_empty() || name.starts_with('-') || !name.bytes().all(known) {
                    faults.push(format!("`{alternative}` can never be a word of a command"));
                }
            }
        }
        faults
    }

    /// Whether a flag can be met when a command is read in this entry's style.
    fn can_be_written(&self, name: &str) -> bool {
        if name == "-NUM" {
            return matches!(self.style, Style::Gnu | Style::Tar);
        }
        let bare = name.trim_start_matches('-');
        let dashes = name.len() - bare.len();
        if bare.is_empty() || name.contains('=') {
            return false;
        }
        match self.style {
            Style::Gnu | Style::Tar => dashes == 2 || (dashes == 1 && bare.len() == 1),
            Style::Single => dashes == 1,
            Style::Words => dashes >= 1,
            Style::Raw => false,
        }
    }
}

/// Reads a table of flags and reasons, in the order in which it is written.
fn reasons<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Cow<'static, [Reason]>, D::Error> {
    let table = std::collections::BTreeMap::<String, String>::deserialize(deserializer)?;
    let reasons = table.into_iter().map(|(names, reason)| (names.into(), reason.into()));
    Ok(Cow::Owned(reasons.collect()))
}

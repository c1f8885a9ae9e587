//! Lists and pipelines of simple commands, with their redirects.

use super::cursor::Cursor;
use super::word::{self, Word};
use super::{Opaque, Redirect, Stage, offset};
use crate::limits::{SHELL_STAGES_MAX, SHELL_WORDS_MAX};

/// Words that bash does not take for a command's name, so that what follows is
/// no simple command. Quoted they would be names; nobody needs that.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Options of `set` that do not change how later lines are read.
const SET_HARMLESS: [&str; 4] = ["errexit", "nounset", "pipefail", "xtrace"];

/// Reads the whole command, or gives it up.
pub(super) fn parse(command: &str) -> Result<Vec<Stage>, Opaque> {
    let mut parser = Parser {
        cursor: Cursor::new(command),
        stages: Vec::new(),
        current: None,
        awaited: false,
        words: 0,
    };
    while parser.token()? {}
    let stages = parser.stages;
    if stages.len() > 1 && stages.iter().any(changes_reading) {
        return Err(Opaque);
    }
    Ok(stages)
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    stages: Vec<Stage>,
    current: Option<Stage>,
    /// After `&&`, `||` and `|` a command must follow.
    awaited: bool,
    words: usize,
}

/// What an operator does to a file.
#[derive(Clone, Copy)]
enum Mode {
    Read,
    Write,
    Append,
    ReadWrite,
    DuplicateIn,
    DuplicateOut,
    HereString,
}

impl Parser<'_> {
    /// Takes one token and the blanks before it; false at the end.
    fn token(&mut self) -> Result<bool, Opaque> {
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        match self.cursor.peek() {
            None => {
                self.close()?;
                return if self.awaited { Err(Opaque) } else { Ok(false) };
            }
            Some(b'#') => self.cursor.skip_comment(),
            Some(b'\n') => {
                self.cursor.bump();
                self.close()?;
            }
            Some(b';') => {
                self.cursor.bump();
                self.separate(false)?;
            }
            Some(b'&') => {
                self.cursor.bump();
                if self.cursor.eat(b'>') {
                    let append = self.cursor.eat(b'>');
                    self.redirect(start, if append { Mode::Append } else { Mode::Write })?;
                } else {
                    let and = self.cursor.eat(b'&');
                    self.separate(and)?;
                }
            }
            Some(b'|') => {
                self.cursor.bump();
                if !self.cursor.eat(b'|') {
                    self.cursor.eat(b'&');
                }
                self.separate(true)?;
            }
            Some(b'<' | b'>') => self.operator(start)?,
            Some(_) => self.word(start)?,
        }
        Ok(true)
    }

    fn word(&mut self, start: usize) -> Result<(), Opaque> {
        let word = word::read(&mut self.cursor)?.ok_or(Opaque)?;
        if matches!(self.cursor.peek(), Some(b'<' | b'>')) {
            if word.digits {
                // A descriptor; bash takes a number too large for a word.
                return if word.text.len() > 4 { Err(Opaque) } else { self.operator(start) };
            }
            if word.first == b'{' {
                return Err(Opaque);
            }
        }
        let stage = self.extend(start, word.end)?;
        if stage.argv.is_empty() {
            if let Some(assignment) = word.assignment {
                stage.assignments.push(assignment);
                stage.complete &= word.literal;
                return Ok(());
            }
            if !word.literal || RESERVED.contains(&word.text.as_str()) {
                return Err(Opaque);
            }
        }
        if !word.literal {
            stage.unknown.push(offset(stage.argv.len()));
            stage.complete = false;
        }
        stage.argv.push(word.text);
        Ok(())
    }

    /// A redirect whose operator starts here; a descriptor has been passed.
    fn operator(&mut self, start: usize) -> Result<(), Opaque> {
        let mode = if self.cursor.eat(b'>') {
            match self.cursor.peek() {
                Some(b'>') => Mode::Append,
                Some(b'&') => Mode::DuplicateOut,
                Some(b'|') => Mode::Write,
                _ => return self.redirect(start, Mode::Write),
            }
        } else {
            self.cursor.bump();
            match self.cursor.peek() {
                Some(b'<') => {
                    self.cursor.bump();
                    match self.cursor.peek() {
                        Some(b'<') => Mode::HereString,
                        _ => return Err(Opaque),
                    }
                }
                Some(b'&') => Mode::DuplicateIn,
                Some(b'>') => Mode::ReadWrite,
                _ => return self.redirect(start, Mode::Read),
            }
        };
        self.cursor.bump();
        self.redirect(start, mode)
    }

    /// The target of a redirect, after its operator.
    fn redirect(&mut self, start: usize, mode: Mode) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        if self.cursor.peek() == Some(b'#') {
            return Err(Opaque);
        }
        let word = word::read(&mut self.cursor)?.ok_or(Opaque)?;
        let duplicate = matches!(mode, Mode::DuplicateIn | Mode::DuplicateOut);
        if matches!(self.cursor.peek(), Some(b'<' | b'>'))
            && ((word.digits && !duplicate) || word.first == b'{')
        {
            return Err(Opaque);
        }
        // A syntax error in bash where a command could still start.
        if word.assignment.is_some() {
            return Err(Opaque);
        }
        // `>&-word` is `>&-` and an argument.
        if duplicate && word.first == b'-' && word.text != "-" {
            return Err(Opaque);
        }
        let stage = self.extend(start, word.end)?;
        stage.complete &= word.literal;
        if matches!(mode, Mode::HereString) {
            stage.complete = false;
            return Ok(());
        }
        if duplicate && word.literal && names_descriptor(&word.text) {
            return Ok(());
        }
        if matches!(mode, Mode::DuplicateIn) || names_network(&word) {
            stage.complete = false;
        }
        stage.redirects.push(Redirect {
            write: !matches!(mode, Mode::Read | Mode::DuplicateIn),
            target: word.literal.then_some(word.text),
            append: matches!(mode, Mode::Append),
        });
        Ok(())
    }

    /// Counts a word and gives it to the stage that is being read, or to a new
    /// one that starts here.
    fn extend(&mut self, start: usize, end: usize) -> Result<&mut Stage, Opaque> {
        self.words = self.words.saturating_add(1);
        if self.words > SHELL_WORDS_MAX {
            return Err(Opaque);
        }
        let stage = self.current.get_or_insert_with(|| Stage {
            complete: true,
            start: offset(start),
            ..Stage::default()
        });
        stage.end = offset(end);
        Ok(stage)
    }

    /// An operator, which needs a command before it.
    fn separate(&mut self, awaited: bool) -> Result<(), Opaque> {
        if self.current.is_none() {
            return Err(Opaque);
        }
        self.close()?;
        self.awaited = awaited;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Opaque> {
        if let Some(stage) = self.current.take() {
            if self.stages.len() >= SHELL_STAGES_MAX {
                return Err(Opaque);
            }
            self.stages.push(stage);
            self.awaited = false;
        }
        Ok(())
    }
}

/// `-`, `2` and `2-`: what is duplicated, moved or closed is no file.
fn names_descriptor(text: &str) -> bool {
    let number = text.strip_suffix('-').unwrap_or(text);
    text == "-" || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Bash opens a connection for these.
fn names_network(word: &Word) -> bool {
    word.literal && (word.text.starts_with("/dev/tcp/") || word.text.starts_with("/dev/udp/"))
}

/// Commands after which bash may read the next line by other rules.
fn changes_reading(stage: &Stage) -> bool {
    let mut words = stage.argv.iter();
    match words.next().map(String::as_str) {
        Some("alias" | "shopt") => true,
        Some("set") => !words.all(|word| {
            SET_HARMLESS.contains(&word.as_str())
                || word.strip_prefix(['-', '+']).is_some_and(|flags| {
                    !flags.is_empty() && flags.bytes().all(|flag| b"euxo".contains(&flag))
                })
        }),
        _ => false,
    }
}

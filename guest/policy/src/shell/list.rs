//! Lists and pipelines: what stands between commands.

use super::cursor::Cursor;
use super::folder::Folder;
use super::numbers::Numbers;
use super::{Opaque, Stage, builtins, offset, scan};
use crate::limits::{SHELL_NESTING_MAX, SHELL_STAGES_MAX, SHELL_WORDS_MAX};

/// Where the stages go, with what is counted and known over the whole command.
pub(super) struct Sink<'h> {
    pub(super) stages: Vec<Stage>,
    words: usize,
    depth: usize,
    /// What `~` and `$HOME` are, unless the command may change it.
    pub(super) home: Option<&'h str>,
    /// Where a command that starts now would start.
    pub(super) folder: Folder,
    /// A function moves the folder: order in the text says nothing then.
    pub(super) wild: bool,
    /// A function was defined: it starts where it is called.
    pub(super) calls: bool,
    /// Some command moves the folder.
    pub(super) moves: bool,
    /// Which variables hold numbers.
    pub(super) numbers: Numbers,
    /// Where the line began that is read: an error ends it early, and no other.
    pub(super) line: usize,
    /// In a substitution: whether a here-document began in it.
    pub(super) rewritten: Option<bool>,
}

impl<'h> Sink<'h> {
    fn new(command: &str, home: Option<&'h str>, folder: &Folder) -> Self {
        let plain = |home: &&str| {
            home.starts_with('/')
                && home.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b))
        };
        Sink {
            stages: Vec::new(),
            words: 0,
            depth: 0,
            home: home.filter(plain).filter(|_| !changes_home(command) && !command.contains("IFS")),
            folder: folder.clone(),
            wild: false,
            calls: false,
            moves: false,
            numbers: Numbers::default(),
            line: 0,
            rewritten: None,
        }
    }

    /// Counts a word.
    pub(super) fn count(&mut self) -> Result<(), Opaque> {
        self.words = self.words.saturating_add(1);
        if self.words > SHELL_WORDS_MAX { Err(Opaque) } else { Ok(()) }
    }

    /// Opens a level of nesting.
    pub(super) fn open(&mut self) -> Result<(), Opaque> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > SHELL_NESTING_MAX { Err(Opaque) } else { Ok(()) }
    }

    /// Closes a level of nesting.
    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn push(&mut self, stage: Stage) -> Result<usize, Opaque> {
        let index = self.stages.len();
        if index >= SHELL_STAGES_MAX {
            return Err(Opaque);
        }
        self.stages.push(stage);
        Ok(index)
    }
}

/// Whether `HOME` occurs other than to be read, as `$HOME` or `${HOME}`.
fn changes_home(command: &str) -> bool {
    command.match_indices("HOME").any(|(at, _)| {
        let before = command.get(..at).unwrap_or_default();
        let after = command.get(at.saturating_add(4)..).unwrap_or_default();
        let plain = before.ends_with('$');
        let braced = before.ends_with("${") && after.starts_with('}');
        !plain && !braced
    })
}

/// How places in the text that is read relate to the command.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// They are the command's own.
    Same,
    /// The text was made from this range of it.
    Within(u32, u32),
}

/// A reader of one text.
pub(super) struct Parser<'a, 's, 'h> {
    pub(super) cursor: Cursor<'a>,
    pub(super) place: Place,
    pub(super) sink: &'s mut Sink<'h>,
    /// Here-documents whose bodies start at the next line.
    pub(super) awaited: Vec<super::heredoc::Awaited>,
}

/// Reads a command: its stages, or those that were found before it was given up.
pub(super) fn read(
    command: &str,
    home: Option<&str>,
    folder: &Folder,
) -> (Result<(), Opaque>, Vec<Stage>) {
    let mut sink = Sink::new(command, home, folder);
    let mut read = scan::check(command).and_then(|()| script(command, &mut sink));
    builtins::taint(&mut sink.stages);
    if read.is_ok() && sink.numbers.betrayed(&sink.stages) {
        sink = Sink::new(command, home, folder);
        sink.numbers.distrusts = true;
        read = script(command, &mut sink);
        builtins::taint(&mut sink.stages);
    }
    (read, sink.stages)
}

fn script(command: &str, sink: &mut Sink<'_>) -> Result<(), Opaque> {
    part(Cursor::new(command), Place::Same, sink)?;
    if sink.wild || (sink.calls && sink.moves) {
        for stage in &mut sink.stages {
            stage.folder = Folder::Unknown;
        }
    }
    Ok(())
}

/// Reads a text that is a script of its own, up to its end.
pub(super) fn part(cursor: Cursor<'_>, place: Place, sink: &mut Sink<'_>) -> Result<(), Opaque> {
    sink.open()?;
    let mut parser = Parser { cursor, place, sink, awaited: Vec::new() };
    parser.list()?;
    if parser.cursor.peek().is_some() {
        return Err(Opaque);
    }
    parser.bodies()?;
    parser.sink.close();
    Ok(())
}

impl Parser<'_, '_, '_> {
    /// A range of this text, as a place in the command.
    pub(super) fn span(&self, start: usize, end: usize) -> (u32, u32) {
        match self.place {
            Place::Same => (offset(start), offset(end)),
            Place::Within(start, end) => (start, end),
        }
    }

    /// Blanks, comments and new lines; bodies of here-documents follow a line. Whether
    /// a line ended.
    pub(super) fn skip_lines(&mut self) -> Result<bool, Opaque> {
        let mut line = false;
        loop {
            self.cursor.skip_blanks();
            match self.cursor.peek() {
                Some(b'#') => self.cursor.skip_comment(),
                Some(b'\n') => {
                    self.cursor.bump();
                    self.bodies()?;
                    line = true;
                }
                _ => return Ok(line),
            }
        }
    }

    /// Whether this is the command itself and no part of it.
    pub(super) fn outermost(&self) -> bool {
        self.sink.depth == 1
    }

    /// The reserved word that stands here, with the place behind it.
    pub(super) fn reserved(&self) -> Option<(&'static str, usize)> {
        let mut ahead = self.cursor.clone();
        let mut word = Vec::new();
        while let Some(byte) = ahead.peek() {
            if super::cursor::ends_word(byte) {
                break;
            }
            word.push(byte);
            ahead.bump();
            if word.len() > 8 {
                return None;
            }
        }
        let known = RESERVED.iter().find(|known| known.as_bytes() == word.as_slice())?;
        Some((known, ahead.at()))
    }

    /// Passes a reserved word if it stands here.
    pub(super) fn eat_reserved(&mut self, word: &str) -> bool {
        match self.reserved() {
            Some((found, end)) if found == word => {
                self.cursor.go(end);
                true
            }
            _ => false,
        }
    }

    /// A list that must hold a command, up to the reserved word that ends it.
    pub(super) fn list_until(&mut self, word: &str) -> Result<(), Opaque> {
        if !self.list()? {
            return Err(Opaque);
        }
        if self.eat_reserved(word) { Ok(()) } else { Err(Opaque) }
    }

    /// Reads a list up to whatever cannot go on with it; whether it held a command.
    pub(super) fn list(&mut self) -> Result<bool, Opaque> {
        let held = self.sink.numbers.mark();
        let mut any = false;
        loop {
            if self.skip_lines()? && self.outermost() {
                self.sink.numbers.line_ends();
                self.sink.line = self.cursor.at();
            }
            if self.at_end() {
                break;
            }
            self.and_or()?;
            any = true;
            self.cursor.skip_blanks();
            match self.cursor.peek() {
                Some(b';') if matches!(self.cursor.peek_second(), Some(b';' | b'&')) => break,
                // Bash 5.2 writes a substitution anew before it runs it, and forgets this
                // behind a here-document: two commands become one.
                Some(b';') if self.sink.rewritten == Some(true) => return Err(Opaque),
                Some(b';' | b'&') => self.cursor.bump(),
                Some(b'\n' | b'#') => {}
                // What ends a list here has to be what its opener wants.
                _ => break,
            }
        }
        self.sink.numbers.leave(held);
        Ok(any)
    }

    /// Whether nothing that follows could be a command.
    fn at_end(&mut self) -> bool {
        match self.cursor.peek() {
            None | Some(b')' | b';' | b'&' | b'|') => {
                // `&>file` is a redirect, and so a command.
                !(self.cursor.peek() == Some(b'&') && self.cursor.peek_second() == Some(b'>'))
            }
            Some(_) => self.reserved().is_some_and(|(word, _)| CLOSERS.contains(&word)),
        }
    }

    /// Pipelines between `&&` and `||`.
    fn and_or(&mut self) -> Result<(), Opaque> {
        let first = self.sink.stages.len();
        let before = self.sink.folder.clone();
        let held = self.sink.numbers.mark();
        let mut sure = None;
        // Every pipeline so far has succeeded if the next one runs.
        let mut straight = true;
        loop {
            let start = self.sink.folder.clone();
            self.pipeline()?;
            let moved = self.sink.folder != start;
            let sure = *sure.get_or_insert(self.sink.numbers.mark());
            self.cursor.skip_blanks();
            let (next, second) = (self.cursor.peek(), self.cursor.peek_second());
            let connects = next == second && matches!(next, Some(b'&' | b'|'));
            if connects && next == Some(b'&') && straight {
                // The folder is where the pipeline has gone.
            } else if moved {
                straight = false;
                self.sink.folder = start.or(&self.sink.folder);
            }
            if !connects || next == Some(b'|') {
                // Only the first has run whatever came of it.
                self.sink.numbers.leave(sure);
            }
            if connects {
                straight &= next == Some(b'&');
                self.cursor.bump();
                self.cursor.peek();
                self.cursor.bump();
                self.skip_lines()?;
                if self.at_end() {
                    return Err(Opaque);
                }
                continue;
            }
            // Any part may have failed before it came this far.
            if self.sink.folder != before {
                self.sink.folder = before.or(&self.sink.folder);
            }
            if next == Some(b'&') && second != Some(b'>') {
                for stage in self.sink.stages.iter_mut().skip(first) {
                    stage.background = true;
                }
                self.sink.folder = before;
                self.sink.numbers.leave(held);
            }
            return Ok(());
        }
    }

    fn pipeline(&mut self) -> Result<(), Opaque> {
        loop {
            self.cursor.skip_blanks();
            if self.eat_reserved("!") {
                continue;
            }
            if self.eat_reserved("time") {
                self.cursor.skip_blanks();
                let mut ahead = self.cursor.clone();
                if ahead.eat(b'-')
                    && ahead.eat(b'p')
                    && ahead.peek().is_none_or(super::cursor::ends_word)
                {
                    self.cursor.go(ahead.at());
                }
                self.cursor.skip_blanks();
                // `time` alone times nothing.
                if matches!(self.cursor.peek(), None | Some(b'\n' | b';')) {
                    return Ok(());
                }
                // `time -- cmd` and the like are read differently by versions.
                if self.cursor.peek() == Some(b'-') {
                    return Err(Opaque);
                }
                continue;
            }
            break;
        }
        let before = self.sink.folder.clone();
        let held = self.sink.numbers.mark();
        let mut members = 1_usize;
        loop {
            self.command()?;
            self.cursor.skip_blanks();
            let last = self.cursor.peek() != Some(b'|') || self.cursor.peek_second() == Some(b'|');
            if members > 1 || !last {
                // A member of a pipeline is a shell of its own.
                self.sink.numbers.leave(held);
            }
            if last {
                break;
            }
            self.cursor.bump();
            self.cursor.eat(b'&');
            self.skip_lines()?;
            if self.at_end() {
                return Err(Opaque);
            }
            members = members.saturating_add(1);
            // Each member has a folder of its own.
            self.sink.folder = before.clone();
        }
        if members > 1 {
            self.sink.folder = before;
        }
        Ok(())
    }

    /// A compound command with its redirects, or a simple one.
    fn command(&mut self) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        match self.cursor.peek() {
            None | Some(b')' | b';' | b'|' | b'\n' | b'#') => Err(Opaque),
            Some(b'(') => self.either(),
            Some(_) => match self.reserved() {
                Some((word, end)) => {
                    self.cursor.go(end);
                    self.compound(word)
                }
                None => self.simple(),
            },
        }
    }
}

/// Words that are no command's name where a command could start.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Those of them that end a list.
const CLOSERS: [&str; 8] = ["}", "do", "done", "elif", "else", "esac", "fi", "then"];

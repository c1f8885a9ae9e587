//! Compound commands: groups, subshells, loops, conditionals, functions.

use super::list::Parser;
use super::numbers::is_number;
use super::word::{Build, Reading, Word};
use super::{Opaque, Stage, What};

impl Parser<'_, '_, '_> {
    /// A compound command behind its reserved word, with its redirects.
    pub(super) fn compound(&mut self, word: &str) -> Result<(), Opaque> {
        self.sink.open()?;
        let before = self.sink.folder.clone();
        let from = self.sink.stages.len();
        let held = self.sink.numbers.mark();
        match word {
            "{" => self.list_until("}")?,
            "if" => self.conditional()?,
            "while" | "until" => {
                self.list_until("do")?;
                self.list_until("done")?;
            }
            "for" | "select" => self.each(word == "for")?,
            "case" => self.case()?,
            "[[" => self.test()?,
            "function" => {
                self.cursor.skip_blanks();
                let name = self.word(Reading::Plain)?.ok_or(Opaque)?;
                if !name.literal || name.braces || name.code {
                    return Err(Opaque);
                }
                self.cursor.skip_blanks();
                if self.cursor.peek() == Some(b'(') && self.empty_brackets() {
                    self.function_body()?;
                } else {
                    self.body_of_function()?;
                }
                self.sink.close();
                return Ok(());
            }
            "coproc" => {
                self.coprocess()?;
                self.sink.close();
                return Ok(());
            }
            _ => return Err(Opaque),
        }
        self.sink.numbers.leave(held);
        // A loop starts again where it has gone, a branch may not have been taken.
        if word != "{" && self.sink.folder != before {
            self.sink.folder = super::Folder::Unknown;
            for stage in self.sink.stages.iter_mut().skip(from) {
                stage.folder = super::Folder::Unknown;
            }
        }
        self.sink.close();
        self.compound_redirects()
    }

    /// `( .. )` or `(( .. ))`.
    fn parenthesis(&mut self) -> Result<(), Opaque> {
        let start = self.cursor.at();
        self.cursor.bump();
        if self.cursor.peek() == Some(b'(') {
            self.cursor.bump();
            return self.computation(start).map(|_| ());
        }
        self.sink.open()?;
        let folder = self.sink.folder.clone();
        if !self.list()? || !self.cursor.eat(b')') {
            return Err(Opaque);
        }
        self.sink.folder = folder;
        self.sink.close();
        Ok(())
    }

    /// `(( .. ))` behind its opener, as a stage: the variables that it gives a number.
    fn computation(&mut self, start: usize) -> Result<Vec<String>, Opaque> {
        let index = self.sink.push(Stage::default())?;
        let mut build = Build::default();
        let sets = self.arithmetic(&mut build)?;
        self.expression(index, start, &build, false);
        Ok(sets)
    }

    /// Fills in the stage of something that is evaluated.
    fn expression(&mut self, index: usize, start: usize, build: &Build, code: bool) {
        let end = self.cursor.at();
        let (first, last) = self.span(start, end);
        let text = self.cursor.slice(start, end).to_owned();
        let code = code || build.code;
        let known = !code && !build.unknown && build.assigns.is_empty();
        let stage = Stage {
            what: What::Expression,
            argv: vec![text],
            complete: known,
            code,
            start: first,
            end: last,
            unknown: if known { Vec::new() } else { vec![0] },
            assignments: build.assigns.clone(),
            folder: self.sink.folder.clone(),
            ..Stage::default()
        };
        if let Some(slot) = self.sink.stages.get_mut(index) {
            *slot = stage;
        }
    }

    fn conditional(&mut self) -> Result<(), Opaque> {
        self.list_until("then")?;
        loop {
            if !self.list()? {
                return Err(Opaque);
            }
            if self.eat_reserved("fi") {
                return Ok(());
            }
            if self.eat_reserved("else") {
                return self.list_until("fi");
            }
            if !self.eat_reserved("elif") {
                return Err(Opaque);
            }
            self.list_until("then")?;
        }
    }

    /// `for` and `select` behind the word.
    fn each(&mut self, arithmetic: bool) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        let start = self.cursor.at();
        if arithmetic && self.cursor.peek() == Some(b'(') {
            self.cursor.bump();
            if !self.cursor.eat(b'(') {
                return Err(Opaque);
            }
            for name in self.computation(start)? {
                self.sink.numbers.hold(&name, false);
            }
            self.cursor.skip_blanks();
            self.cursor.eat(b';');
        } else {
            let name = self.word(Reading::Plain)?.ok_or(Opaque)?;
            if !name.literal || name.braces || name.raw != name.text {
                return Err(Opaque);
            }
            self.variable(&name)?;
            self.skip_lines()?;
            let mut numbers = false;
            if self.eat_reserved("in") {
                numbers = arithmetic;
                loop {
                    self.cursor.skip_blanks();
                    if matches!(self.cursor.peek(), Some(b';' | b'\n' | b'#')) {
                        break;
                    }
                    let word = self.word(Reading::Plain)?.ok_or(Opaque)?;
                    numbers &= counts(&word);
                    self.loose(word)?;
                }
            }
            if numbers {
                self.sink.numbers.hold(&name.text, false);
            } else {
                self.sink.numbers.give(&name.text);
            }
            if self.cursor.eat(b';') && self.cursor.peek() == Some(b';') {
                return Err(Opaque);
            }
        }
        self.skip_lines()?;
        if self.eat_reserved("{") {
            return self.list_until("}");
        }
        if !self.eat_reserved("do") {
            return Err(Opaque);
        }
        self.list_until("done")
    }

    /// Whether `()` stands here, which belongs to a function's name.
    fn empty_brackets(&self) -> bool {
        let mut ahead = self.cursor.clone();
        ahead.eat(b'(');
        ahead.skip_blanks();
        ahead.peek() == Some(b')')
    }

    /// A loop's variable is an assignment; a stage where it could matter to others.
    fn variable(&mut self, name: &Word) -> Result<(), Opaque> {
        if super::harmless_variable(&name.text) {
            return Ok(());
        }
        let (start, end) = self.span(name.start, name.end);
        self.sink.push(Stage {
            what: What::Assignment,
            argv: vec![format!("{}=", name.text)],
            unknown: vec![0],
            start,
            end,
            assignments: vec![super::Assignment { name: name.text.clone(), value: None }],
            folder: self.sink.folder.clone(),
            ..Stage::default()
        })?;
        Ok(())
    }

    fn case(&mut self) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        let word = self.word(Reading::Plain)?.ok_or(Opaque)?;
        self.loose(word)?;
        self.skip_lines()?;
        if !self.eat_reserved("in") {
            return Err(Opaque);
        }
        loop {
            self.skip_lines()?;
            if self.eat_reserved("esac") {
                return Ok(());
            }
            self.cursor.eat(b'(');
            loop {
                self.cursor.skip_blanks();
                let pattern = self.word(Reading::Plain)?.ok_or(Opaque)?;
                self.loose(pattern)?;
                self.cursor.skip_blanks();
                if !self.cursor.eat(b'|') {
                    break;
                }
            }
            if !self.cursor.eat(b')') {
                return Err(Opaque);
            }
            self.list()?;
            self.skip_lines()?;
            if self.cursor.eat(b';') {
                // `;;`, `;&` and `;;&`.
                let twice = self.cursor.eat(b';');
                if !self.cursor.eat(b'&') && !twice {
                    return Err(Opaque);
                }
            } else {
                return if self.eat_reserved("esac") { Ok(()) } else { Err(Opaque) };
            }
        }
    }

    /// `[[ .. ]]` behind the opening word.
    fn test(&mut self) -> Result<(), Opaque> {
        let start = self.cursor.at().saturating_sub(2);
        let index = self.sink.push(Stage::default())?;
        let mut all = Build::default();
        let mut code = false;
        loop {
            self.skip_lines()?;
            match self.cursor.peek().ok_or(Opaque)? {
                b'(' | b')' | b'<' | b'>' if self.cursor.peek_second() != Some(b'(') => {
                    self.cursor.bump();
                    continue;
                }
                byte @ (b'&' | b'|') => {
                    self.cursor.bump();
                    if !self.cursor.eat(byte) {
                        return Err(Opaque);
                    }
                    continue;
                }
                _ => {}
            }
            let word = self.word(Reading::Plain)?.ok_or(Opaque)?;
            if word.raw == "]]" {
                break;
            }
            all.code |= word.code;
            // A glob is a pattern here and makes no words.
            all.unknown |= word.raw.contains(['$', '`']) && !word.literal;
            all.assigns.extend(word.assigns);
            // These compute what stands beside them, and the values of names in it.
            code |= matches!(
                word.text.as_str(),
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R"
            );
            if word.text == "=~" {
                self.regex(&mut all)?;
            }
        }
        self.expression(index, start, &all, code);
        Ok(())
    }

    /// The right side of `=~`, where brackets are part of the word.
    fn regex(&mut self, all: &mut Build) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        let mut depth = 0_u32;
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b' ' | b'\t' | b'\n' if depth == 0 => return Ok(()),
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'<' | b'>' => return Err(Opaque),
                b'(' => {
                    depth = depth.saturating_add(1);
                    self.cursor.bump();
                }
                b')' => {
                    depth = depth.checked_sub(1).ok_or(Opaque)?;
                    self.cursor.bump();
                }
                b'|' => self.cursor.bump(),
                _ => {
                    let word = self.word(Reading::Plain)?.ok_or(Opaque)?;
                    all.code |= word.code;
                    all.unknown |= word.raw.contains(['$', '`']) && !word.literal;
                    all.assigns.extend(word.assigns);
                }
            }
        }
        Err(Opaque)
    }

    /// `()` and the body of a function, its name passed.
    pub(super) fn function_body(&mut self) -> Result<(), Opaque> {
        self.cursor.bump();
        self.cursor.skip_blanks();
        if !self.cursor.eat(b')') {
            return Err(Opaque);
        }
        self.body_of_function()
    }

    /// It runs where it is called: as often and from wherever that is.
    fn body_of_function(&mut self) -> Result<(), Opaque> {
        self.skip_lines()?;
        let before = self.sink.folder.clone();
        self.sink.open()?;
        if !self.compound_follows() {
            return Err(Opaque);
        }
        self.either()?;
        self.sink.close();
        if self.sink.folder != before {
            self.sink.wild = true;
        }
        // Called behind a `cd`, it starts there.
        self.sink.calls = true;
        self.sink.folder = before;
        Ok(())
    }

    /// `coproc` behind the word: in the background, under a name or none.
    fn coprocess(&mut self) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        let from = self.sink.stages.len();
        let folder = self.sink.folder.clone();
        let held = self.sink.numbers.mark();
        if self.compound_follows() {
            self.either()?;
        } else {
            let mut ahead = self.cursor.clone();
            while ahead.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                ahead.bump();
            }
            let name = self.cursor.at() < ahead.at();
            let here = self.cursor.at();
            self.cursor.go(ahead.at());
            let blank = matches!(self.cursor.peek(), Some(b' ' | b'\t'));
            self.cursor.skip_blanks();
            if name && blank && self.compound_follows() {
                let end = ahead.at();
                self.sink.numbers.give(self.cursor.slice(here, end));
                self.either()?;
            } else {
                self.cursor.go(here);
                self.simple()?;
            }
        }
        for stage in self.sink.stages.iter_mut().skip(from) {
            stage.background = true;
        }
        self.sink.folder = folder;
        self.sink.numbers.leave(held);
        Ok(())
    }

    fn compound_follows(&mut self) -> bool {
        self.cursor.peek() == Some(b'(')
            || self.reserved().is_some_and(|(word, _)| COMPOUND.contains(&word))
    }

    /// A compound command with its redirects, whichever begins here.
    pub(super) fn either(&mut self) -> Result<(), Opaque> {
        if self.cursor.peek() == Some(b'(') {
            self.parenthesis()?;
            return self.compound_redirects();
        }
        let (word, end) = self.reserved().ok_or(Opaque)?;
        self.cursor.go(end);
        self.compound(word)
    }
}

/// Whether a word is a number, or several: `{1..5}`.
fn counts(word: &Word) -> bool {
    let range = word.raw.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match range.and_then(|range| range.split_once("..")) {
        Some((first, last)) => is_number(first) && is_number(last),
        None => word.literal && !word.braces && is_number(&word.text),
    }
}

/// Words that open a compound command.
const COMPOUND: [&str; 8] = ["[[", "{", "case", "for", "if", "select", "until", "while"];

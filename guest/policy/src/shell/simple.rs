//! Simple commands: words, assignments and redirects in any order.

use super::braces;
use super::cursor::ends_word;
use super::list::Parser;
use super::numbers::is_number;
use super::word::{Reading, Word};
use super::{Assignment, Opaque, Redirect, Stage, What};

/// Builtins whose arguments may be assignments, with array values.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

impl Parser<'_, '_, '_> {
    /// Reads a simple command, or the definition of a function.
    pub(super) fn simple(&mut self) -> Result<(), Opaque> {
        let begin = self.cursor.at();
        let index = self.sink.push(Stage {
            complete: true,
            folder: self.sink.folder.clone(),
            ..Stage::default()
        })?;
        let mut end = begin;
        let mut raw = Vec::new();
        loop {
            self.cursor.skip_blanks();
            match self.cursor.peek() {
                None | Some(b'\n' | b';' | b'|' | b')' | b'#') => break,
                Some(b'&') if self.cursor.peek_second() == Some(b'>') => {
                    self.redirect(index)?;
                }
                Some(b'&') => break,
                Some(b'<' | b'>') if self.cursor.peek_second() != Some(b'(') => {
                    self.redirect(index)?;
                }
                Some(b'(') => {
                    let stage = self.sink.stages.get(index).ok_or(Opaque)?;
                    let alone = stage.argv.len() == 1
                        && stage.complete
                        && stage.redirects.is_empty()
                        && stage.assignments.is_empty()
                        && self.sink.stages.len() == index.saturating_add(1)
                        && self.cursor.slice(begin, end) == stage.argv.concat();
                    if !alone {
                        return Err(Opaque);
                    }
                    self.sink.stages.truncate(index);
                    return self.function_body();
                }
                Some(_) => self.simple_word(index, &mut raw)?,
            }
            end = self.cursor.at();
        }
        if end == begin {
            return Err(Opaque);
        }
        let span = self.span(begin, end);
        // What is expanded before it in its line may fail, and end the line there.
        let line = self.cursor.slice(self.sink.line, end);
        let lasting = self.outermost() && !line.contains(['$', '`', '(', '[', '<']);
        let stage = self.sink.stages.get_mut(index).ok_or(Opaque)?;
        (stage.start, stage.end) = span;
        if stage.argv.is_empty() {
            // What does something without a command is shown as it is written.
            stage.what = if raw.is_empty() { What::Redirect } else { What::Assignment };
            stage.argv = if raw.is_empty() {
                vec![self.cursor.slice(begin, end).trim_end().to_owned()]
            } else {
                raw
            };
            for set in stage.assignments.iter().filter(|_| stage.redirects.is_empty()) {
                if set.value.as_deref().is_some_and(is_number) {
                    self.sink.numbers.hold(&set.name, lasting);
                }
            }
        } else {
            let folder = super::folder::after(stage, &self.sink.folder, self.sink.home);
            self.sink.moves |= folder != self.sink.folder;
            self.sink.folder = folder;
        }
        self.sink.wild |= stage.assignments.iter().any(|set| set.name == "CDPATH");
        Ok(())
    }

    fn simple_word(&mut self, index: usize, raw: &mut Vec<String>) -> Result<(), Opaque> {
        let stage = self.sink.stages.get(index).ok_or(Opaque)?;
        let first = stage.argv.is_empty();
        let declares =
            !first && stage.argv.first().is_some_and(|w| DECLARING.contains(&w.as_str()));
        let start = self.cursor.at();
        let reading = if first || declares { Reading::Assigning } else { Reading::Plain };
        let mut word = self.word(reading)?.ok_or(Opaque)?;
        if word.assignment.is_some() && word.opens_array && self.cursor.peek_raw() == Some(b'(') {
            self.array(&mut word)?;
        }
        if matches!(self.cursor.peek(), Some(b'<' | b'>'))
            && self.cursor.peek_second() != Some(b'(')
        {
            if word.digits {
                // A descriptor; bash takes a number too large for a word.
                return if word.text.len() > 4 { Err(Opaque) } else { self.redirect(index) };
            }
            if let Some(name) = descriptor_variable(&word) {
                let stage = self.sink.stages.get_mut(index).ok_or(Opaque)?;
                stage.assignments.push(Assignment { name, value: None });
                return self.redirect(index);
            }
        }
        let written = self.cursor.slice(start, self.cursor.at()).replace("\\\n", "");
        let stage = self.sink.stages.get_mut(index).ok_or(Opaque)?;
        take_notes(stage, &mut word);
        if first && let Some((name, value)) = word.assignment.take() {
            stage.assignments.push(Assignment { name, value });
            raw.push(written);
            return Ok(());
        }
        if declares && word.assignment.is_some() && (word.braces || word.opens_array) {
            word.literal = false;
        }
        add(stage, &word);
        Ok(())
    }

    /// `NAME=(..)`: the words are read for what they run.
    fn array(&mut self, word: &mut Word) -> Result<(), Opaque> {
        self.cursor.bump();
        self.sink.open()?;
        loop {
            self.skip_lines()?;
            if self.cursor.eat(b')') {
                break;
            }
            let item = self.word(Reading::Assigning)?.ok_or(Opaque)?;
            // `[expression]=value` computes its subscript.
            word.code |= item.code || item.first == b'[';
            word.assigns.extend(item.assigns);
        }
        self.sink.close();
        word.literal = false;
        if let Some((_, value)) = &mut word.assignment {
            *value = None;
        }
        match self.cursor.peek() {
            None => Ok(()),
            Some(byte) if ends_word(byte) && byte != b'(' => Ok(()),
            Some(_) => Err(Opaque),
        }
    }

    /// Redirects behind a compound command are a stage of their own.
    pub(super) fn compound_redirects(&mut self) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        let begin = self.cursor.at();
        let stage = Stage {
            what: What::Redirect,
            complete: true,
            folder: self.sink.folder.clone(),
            ..Stage::default()
        };
        let index = self.sink.push(stage)?;
        let mut end = begin;
        loop {
            self.cursor.skip_blanks();
            match self.cursor.peek() {
                Some(b'<' | b'>') if self.cursor.peek_second() != Some(b'(') => {
                    self.redirect(index)?;
                }
                Some(b'&') if self.cursor.peek_second() == Some(b'>') => self.redirect(index)?,
                Some(byte) if byte.is_ascii_digit() => {
                    let word = self.word(Reading::Plain)?.ok_or(Opaque)?;
                    let descriptor = word.digits && word.text.len() <= 4;
                    if !descriptor || !matches!(self.cursor.peek(), Some(b'<' | b'>')) {
                        return Err(Opaque);
                    }
                    self.redirect(index)?;
                }
                None | Some(b'\n' | b';' | b'|' | b')' | b'#' | b'&') => break,
                // A reserved word may follow; anything else is an error of the command.
                Some(_) if self.reserved().is_some() => break,
                Some(_) => return Err(Opaque),
            }
            end = self.cursor.at();
        }
        if end == begin {
            self.sink.stages.remove(index);
            return Ok(());
        }
        let (start, stop) = self.span(begin, end);
        let text = self.cursor.slice(begin, end).to_owned();
        let stage = self.sink.stages.get_mut(index).ok_or(Opaque)?;
        (stage.start, stage.end) = (start, stop);
        stage.argv = vec![text];
        let plain = stage.complete && !stage.code && stage.assignments.is_empty();
        if stage.redirects.iter().all(harmless) && plain {
            self.sink.stages.remove(index);
        }
        Ok(())
    }

    /// What a word does by itself, where it is no part of a simple command.
    pub(super) fn loose(&mut self, mut word: Word) -> Result<(), Opaque> {
        if !word.code && word.assigns.is_empty() {
            return Ok(());
        }
        let (start, end) = self.span(word.start, word.end);
        let mut stage = Stage {
            what: What::Expression,
            argv: vec![self.cursor.slice(word.start, word.end).to_owned()],
            unknown: vec![0],
            start,
            end,
            folder: self.sink.folder.clone(),
            ..Stage::default()
        };
        take_notes(&mut stage, &mut word);
        self.sink.push(stage)?;
        Ok(())
    }
}

/// The variable of `{NAME}` before a redirect, which gets the descriptor's number.
fn descriptor_variable(word: &Word) -> Option<String> {
    let name = word.raw.strip_prefix('{')?.strip_suffix('}')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(plain);
    named.then(|| name.to_owned())
}

fn harmless(redirect: &Redirect) -> bool {
    redirect.target.as_deref() == Some("/dev/null")
}

/// What a word did besides being a word.
pub(super) fn take_notes(stage: &mut Stage, word: &mut Word) {
    if word.code {
        stage.hides_code();
    }
    stage.assignments.append(&mut word.assigns);
}

/// Adds a word, or the words that its braces make.
fn add(stage: &mut Stage, word: &Word) {
    if word.literal && !word.braces {
        stage.argv.push(word.text.clone());
        return;
    }
    if word.literal
        && let Some(words) = braces::expand(word)
    {
        stage.argv.extend(words);
        return;
    }
    stage.unknown.push(super::offset(stage.argv.len()));
    stage.complete = false;
    stage.argv.push(word.raw.clone());
}

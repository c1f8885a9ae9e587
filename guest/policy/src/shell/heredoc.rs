//! Here-documents: their bodies start at the next line.

use super::cursor::ends_word;
use super::list::Parser;
use super::word::Build;
use super::{Opaque, simple};

/// A body that is awaited.
#[derive(Debug)]
pub(super) struct Awaited {
    /// The stage that it is fed to.
    stage: usize,
    delimiter: String,
    /// Nothing in the body is expanded.
    quoted: bool,
    /// Tabs at the start of its lines are left out.
    tabs: bool,
}

impl Parser<'_, '_, '_> {
    /// `<<` behind the operator.
    pub(super) fn here_document(&mut self, stage: usize) -> Result<(), Opaque> {
        let tabs = self.cursor.eat(b'-');
        self.cursor.skip_blanks();
        let mut delimiter = Vec::new();
        let mut quoted = false;
        while let Some(byte) = self.cursor.peek().filter(|byte| !ends_word(*byte)) {
            self.cursor.bump();
            match byte {
                b'\'' | b'"' => {
                    quoted = true;
                    loop {
                        match self.cursor.next_raw().ok_or(Opaque)? {
                            end if end == byte => break,
                            b'\\' | b'$' | b'`' if byte == b'"' => return Err(Opaque),
                            inside => delimiter.push(inside),
                        }
                    }
                }
                b'\\' => {
                    quoted = true;
                    delimiter.push(self.cursor.next_raw().ok_or(Opaque)?);
                }
                b'$' | b'`' => return Err(Opaque),
                byte => delimiter.push(byte),
            }
        }
        let delimiter = String::from_utf8(delimiter).map_err(|_| Opaque)?;
        // Where an empty or many-lined delimiter ends is not worth knowing.
        if delimiter.is_empty() || delimiter.contains('\n') {
            return Err(Opaque);
        }
        self.sink.count()?;
        self.sink.rewritten = self.sink.rewritten.map(|_| true);
        self.awaited.push(Awaited { stage, delimiter, quoted, tabs });
        Ok(())
    }

    /// Reads the bodies that start at this line.
    pub(super) fn bodies(&mut self) -> Result<(), Opaque> {
        // They were expanded when their commands started, before what stands behind those.
        let aside = self.sink.numbers.aside();
        for awaited in std::mem::take(&mut self.awaited) {
            self.body(&awaited)?;
        }
        self.sink.numbers.back(aside);
        Ok(())
    }

    fn body(&mut self, awaited: &Awaited) -> Result<(), Opaque> {
        let begin = self.cursor.at();
        let mut text = String::new();
        let end = loop {
            let at = self.cursor.at();
            let rest = self.cursor.rest();
            // A body without its end is all the rest, but only for the whole command.
            if rest.is_empty() {
                break at;
            }
            let mut length = rest.find('\n').unwrap_or(rest.len());
            let mut line = rest.get(..length).unwrap_or_default().to_owned();
            while !awaited.quoted && continues(&line) {
                line.pop();
                let Some(more) = rest.get(length.saturating_add(1)..) else { break };
                let next = more.find('\n').unwrap_or(more.len());
                line.push_str(more.get(..next).unwrap_or_default());
                length = length.saturating_add(1).saturating_add(next);
            }
            self.cursor.go(at.saturating_add(length).saturating_add(1));
            let line = if awaited.tabs { line.trim_start_matches('\t') } else { &line };
            if line == awaited.delimiter {
                break at;
            }
            text.push_str(line);
            text.push('\n');
        };
        let mut build = Build::default();
        let known = awaited.quoted || self.expanded(begin, end, &mut build)?;
        let mut word = super::word::Word {
            code: build.code,
            assigns: build.assigns,
            ..super::word::Word::default()
        };
        let stage = self.sink.stages.get_mut(awaited.stage).ok_or(Opaque)?;
        simple::take_notes(stage, &mut word);
        // Escapes are taken out by bash; a text with one is not read on.
        let plain = awaited.quoted || !text.contains('\\');
        stage.input = (known && plain).then_some(text);
        Ok(())
    }

    /// Reads what is expanded in a body; whether nothing was.
    fn expanded(&mut self, begin: usize, end: usize, build: &mut Build) -> Result<bool, Opaque> {
        let inner = self.cursor.part(begin, end);
        let after = std::mem::replace(&mut self.cursor, inner);
        self.sink.open()?;
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b'\\' => {
                    self.cursor.bump();
                    self.cursor.next_raw();
                }
                b'$' => self.dollar(true, build)?,
                b'`' => self.backtick(true, build)?,
                _ => self.cursor.bump(),
            }
        }
        self.sink.close();
        self.cursor = after;
        Ok(!build.unknown)
    }
}

/// Whether a line goes on behind its end.
fn continues(line: &str) -> bool {
    let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
    backslashes % 2 == 1
}

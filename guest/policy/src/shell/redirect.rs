//! Redirects.

use super::list::Parser;
use super::word::{Reading, Word};
use super::{Opaque, Redirect};

/// What an operator does to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
    Append,
    ReadWrite,
    DuplicateIn,
    DuplicateOut,
    HereString,
}

impl Parser<'_, '_, '_> {
    /// A redirect whose operator starts here; a descriptor has been passed.
    pub(super) fn redirect(&mut self, index: usize) -> Result<(), Opaque> {
        match self.operator() {
            Some(mode) => self.target(index, mode),
            None => self.here_document(index),
        }
    }

    /// What the operator does; nothing for `<<`.
    fn operator(&mut self) -> Option<Mode> {
        let cursor = &mut self.cursor;
        Some(if cursor.eat(b'&') {
            cursor.eat(b'>');
            if cursor.eat(b'>') { Mode::Append } else { Mode::Write }
        } else if cursor.eat(b'>') {
            if cursor.eat(b'>') {
                Mode::Append
            } else if cursor.eat(b'&') {
                Mode::DuplicateOut
            } else {
                cursor.eat(b'|');
                Mode::Write
            }
        } else {
            cursor.eat(b'<');
            if cursor.eat(b'<') {
                return cursor.eat(b'<').then_some(Mode::HereString);
            }
            if cursor.eat(b'&') {
                Mode::DuplicateIn
            } else if cursor.eat(b'>') {
                Mode::ReadWrite
            } else {
                Mode::Read
            }
        })
    }

    /// The target of a redirect, after its operator.
    fn target(&mut self, index: usize, mode: Mode) -> Result<(), Opaque> {
        self.cursor.skip_blanks();
        if self.cursor.peek() == Some(b'#') {
            return Err(Opaque);
        }
        let mut word = self.word(Reading::Plain)?.ok_or(Opaque)?;
        let duplicate = matches!(mode, Mode::DuplicateIn | Mode::DuplicateOut);
        // A descriptor for the next redirect, or the target of this one?
        if matches!(self.cursor.peek(), Some(b'<' | b'>'))
            && ((word.digits && !duplicate) || word.first == b'{')
        {
            return Err(Opaque);
        }
        // `>&-word` is `>&-` and an argument.
        if duplicate && word.first == b'-' && word.text != "-" {
            return Err(Opaque);
        }
        // Braces are not expanded here by every version in the same way.
        let known = word.literal && !word.braces;
        let stage = self.sink.stages.get_mut(index).ok_or(Opaque)?;
        super::simple::take_notes(stage, &mut word);
        if mode == Mode::HereString {
            stage.input = word.literal.then(|| format!("{}\n", word.text));
            return Ok(());
        }
        if duplicate && known && names_descriptor(&word.text) {
            return Ok(());
        }
        if names_network(&word) {
            stage.hides_code();
        }
        stage.redirects.push(Redirect {
            write: !matches!(mode, Mode::Read | Mode::DuplicateIn),
            target: known.then_some(word.text),
            append: mode == Mode::Append,
        });
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

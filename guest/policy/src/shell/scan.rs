//! The linear scan before any parser: size, control characters, and how deep
//! brackets and quotes nest. It only refuses, also what it may misread, such as
//! a bracket that is left open. The parser behind it opens no level of its own;
//! one that does has to count them as well.

use super::Opaque;
use super::cursor::Cursor;
use crate::limits::{SHELL_COMMAND_BYTES_MAX, SHELL_NESTING_MAX};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Single,
    Ansi,
    Double,
    Backtick,
    Paren,
    Brace,
    Bracket,
}

/// Refuses what no parser should be given, and what is left open at the end.
pub(super) fn check(command: &str) -> Result<(), Opaque> {
    let control = |byte| byte < b' ' && byte != b'\t' && byte != b'\n';
    if command.len() > SHELL_COMMAND_BYTES_MAX || command.bytes().any(control) {
        return Err(Opaque);
    }
    let mut scan = Scan { open: Vec::with_capacity(SHELL_NESTING_MAX), previous: b'\n' };
    let mut cursor = Cursor::new(command);
    loop {
        let quoted = matches!(scan.top(), Some(Open::Single | Open::Ansi));
        let Some(byte) = (if quoted { cursor.peek_raw() } else { cursor.peek() }) else { break };
        if byte == b'#' && scan.top().is_none() && ends_word(scan.previous) {
            cursor.skip_comment();
            continue;
        }
        cursor.bump();
        if byte == b'\\' && scan.top() != Some(Open::Single) {
            cursor.next_raw().ok_or(Opaque)?;
            scan.previous = b'\\';
        } else {
            scan.step(byte)?;
            // `$$` is a parameter; its second half starts nothing.
            scan.previous = if byte == b'$' && scan.previous == b'$' { b'\\' } else { byte };
        }
    }
    if scan.open.is_empty() { Ok(()) } else { Err(Opaque) }
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
}

struct Scan {
    open: Vec<Open>,
    /// What was read before; a backslash stands for anything escaped.
    previous: u8,
}

impl Scan {
    fn top(&self) -> Option<Open> {
        self.open.last().copied()
    }

    fn step(&mut self, byte: u8) -> Result<(), Opaque> {
        let dollar = self.previous == b'$';
        let kind = match (self.top(), byte) {
            (Some(Open::Single | Open::Ansi), b'\'')
            | (Some(Open::Double), b'"')
            | (Some(Open::Backtick), b'`')
            | (Some(Open::Paren), b')')
            | (Some(Open::Brace), b'}')
            | (Some(Open::Bracket), b']') => {
                self.open.pop();
                return Ok(());
            }
            (Some(Open::Single | Open::Ansi), _) => return Ok(()),
            (_, b'`') => Open::Backtick,
            (Some(Open::Double), b'(') if dollar => Open::Paren,
            (Some(Open::Double), b'{') if dollar => Open::Brace,
            (Some(Open::Double), b'[') if dollar => Open::Bracket,
            (Some(Open::Double), _) => return Ok(()),
            (_, b'\'') if dollar => Open::Ansi,
            (_, b'\'') => Open::Single,
            (_, b'"') => Open::Double,
            (_, b'(') => Open::Paren,
            (_, b'{') => Open::Brace,
            (_, b'[') => Open::Bracket,
            (_, b')') => return Err(Opaque),
            _ => return Ok(()),
        };
        if self.open.len() >= SHELL_NESTING_MAX {
            return Err(Opaque);
        }
        self.open.push(kind);
        Ok(())
    }
}

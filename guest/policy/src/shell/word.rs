//! One word of a command: what it says without its quotes, or that its value is
//! not known before it runs. Where code could run inside it, nothing is read.

use super::Opaque;
use super::cursor::Cursor;

/// A word, with what the grammar has to know about how it was written.
#[derive(Debug)]
pub(super) struct Word {
    /// The value when `literal`, the raw text otherwise.
    pub(super) text: String,
    pub(super) literal: bool,
    /// The word starts with an unquoted `NAME=` or `NAME+=`: the prefix, up to
    /// and with the `=`, and then the value as it was written.
    pub(super) assignment: Option<String>,
    /// Only digits, none of them quoted: a descriptor if a redirect follows.
    pub(super) digits: bool,
    /// The first byte as it was written.
    pub(super) first: u8,
    pub(super) end: usize,
}

/// How far an unquoted `NAME=` has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Empty,
    Name,
    Plus,
    Other,
}

struct Reader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    text: Vec<u8>,
    literal: bool,
    quoted: bool,
    brace: bool,
    bracket: bool,
    name: Prefix,
    /// Lengths at the `=` of an assignment: of `text`, and place in the command.
    equals: Option<(usize, usize)>,
}

/// Reads the word at the cursor; none if what is there ends a word.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Option<Word>, Opaque> {
    let Some(first) = cursor.peek().filter(|byte| !ends_word(*byte)) else { return Ok(None) };
    let start = cursor.at();
    let mut reader = Reader {
        cursor,
        text: Vec::new(),
        literal: true,
        quoted: false,
        brace: false,
        bracket: false,
        name: Prefix::Empty,
        equals: None,
    };
    let mut end = start;
    while let Some(byte) = reader.cursor.peek().filter(|byte| !ends_word(*byte)) {
        reader.step(byte)?;
        end = reader.cursor.at();
    }
    reader.finish(first, start, end).map(Some)
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>')
}

impl Reader<'_, '_> {
    fn step(&mut self, byte: u8) -> Result<(), Opaque> {
        match byte {
            b'(' | b')' | b'`' => return Err(Opaque),
            b'\'' => return self.single(),
            b'"' => return self.double(),
            b'$' => return self.dollar(false),
            b'\\' => {
                self.quoted();
                self.cursor.bump();
                let escaped = self.cursor.next_raw().ok_or(Opaque)?;
                self.text.push(escaped);
                return Ok(());
            }
            b'*' | b'?' => self.literal = false,
            b'[' => self.bracket = true,
            b'{' => self.brace = true,
            b'~' => self.literal &= !matches!(self.text.last(), None | Some(b'=' | b':')),
            _ => {}
        }
        self.text.push(byte);
        self.cursor.bump();
        self.name = match (self.name, byte) {
            (Prefix::Empty | Prefix::Name, b'_') => Prefix::Name,
            (Prefix::Empty, b) if b.is_ascii_alphabetic() => Prefix::Name,
            (Prefix::Name, b) if b.is_ascii_alphanumeric() => Prefix::Name,
            (Prefix::Name, b'+') => Prefix::Plus,
            (Prefix::Name | Prefix::Plus, b'=') => {
                self.equals = Some((self.text.len(), self.cursor.at()));
                Prefix::Other
            }
            _ => Prefix::Other,
        };
        Ok(())
    }

    fn quoted(&mut self) {
        self.quoted = true;
        self.name = Prefix::Other;
    }

    fn single(&mut self) -> Result<(), Opaque> {
        self.quoted();
        self.cursor.bump();
        loop {
            match self.cursor.next_raw().ok_or(Opaque)? {
                b'\'' => return Ok(()),
                byte => self.text.push(byte),
            }
        }
    }

    fn double(&mut self) -> Result<(), Opaque> {
        self.quoted();
        self.cursor.bump();
        loop {
            match self.cursor.peek().ok_or(Opaque)? {
                b'"' => {
                    self.cursor.bump();
                    return Ok(());
                }
                b'`' => return Err(Opaque),
                b'$' => self.dollar(true)?,
                b'\\' => {
                    self.cursor.bump();
                    match self.cursor.peek_raw().ok_or(Opaque)? {
                        byte @ (b'$' | b'`' | b'"' | b'\\') => {
                            self.text.push(byte);
                            self.cursor.bump();
                        }
                        _ => self.text.push(b'\\'),
                    }
                }
                byte => {
                    self.text.push(byte);
                    self.cursor.bump();
                }
            }
        }
    }

    fn dollar(&mut self, in_double: bool) -> Result<(), Opaque> {
        self.quoted();
        self.cursor.bump();
        match self.cursor.peek() {
            Some(b'(' | b'[' | b'`') => return Err(Opaque),
            Some(b'{') => self.parameter()?,
            Some(b'\'') if !in_double => self.ansi()?,
            Some(b'"') if !in_double => self.literal = false,
            Some(b'$') => {
                self.cursor.bump();
                self.literal = false;
                // Rare, and not worth knowing what bash makes of it.
                if matches!(self.cursor.peek(), Some(b'(' | b'[' | b'{' | b'`' | b'\'' | b'"')) {
                    return Err(Opaque);
                }
            }
            Some(b) if b.is_ascii_alphanumeric() || b"_@*#?-!".contains(&b) => {
                self.literal = false;
                self.cursor.bump();
            }
            // A letter in some locale, so perhaps a name.
            Some(b) if !b.is_ascii() => self.literal = false,
            _ => self.text.push(b'$'),
        }
        Ok(())
    }

    /// `${NAME}`, and nothing that assigns, computes or fails.
    fn parameter(&mut self) -> Result<(), Opaque> {
        self.literal = false;
        self.cursor.bump();
        let start = self.cursor.at();
        while self.cursor.peek_raw().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.cursor.bump();
        }
        let name = self.cursor.slice(start, self.cursor.at());
        let digits = name.bytes().all(|b| b.is_ascii_digit());
        if name.is_empty() || (name.starts_with(|c: char| c.is_ascii_digit()) && !digits) {
            return Err(Opaque);
        }
        if self.cursor.next_raw() == Some(b'}') { Ok(()) } else { Err(Opaque) }
    }

    /// `$'..'`, whose escapes are not read.
    fn ansi(&mut self) -> Result<(), Opaque> {
        self.literal = false;
        self.cursor.bump();
        loop {
            match self.cursor.next_raw().ok_or(Opaque)? {
                b'\'' => return Ok(()),
                b'\\' => {
                    self.cursor.next_raw().ok_or(Opaque)?;
                }
                _ => {}
            }
        }
    }

    fn finish(mut self, first: u8, start: usize, end: usize) -> Result<Word, Opaque> {
        // `[` alone is the command; braces expand only around `,` or `..`.
        let alone = self.text == b"[" && !self.quoted;
        let braces = self.brace
            && (self.text.contains(&b',') || self.text.windows(2).any(|pair| pair == b".."));
        self.literal &= !braces && (!self.bracket || alone);

        let raw = self.cursor.slice(start, end);
        let assignment = match self.equals {
            None => None,
            Some((name, value)) => {
                let name = self.text.get(..name).and_then(|n| std::str::from_utf8(n).ok());
                Some([name.ok_or(Opaque)?, self.cursor.slice(value, end)].concat())
            }
        };
        let digits =
            !self.quoted && self.literal && self.text.iter().all(|byte| byte.is_ascii_digit());
        let text = if self.literal {
            String::from_utf8(self.text).map_err(|_| Opaque)?
        } else {
            raw.replace("\\\n", "")
        };
        Ok(Word { text, literal: self.literal, assignment, digits, first, end })
    }
}

//! One word of a command: what it says without its quotes, or that its value is
//! not known before it runs. What runs inside it becomes stages on the way.

use super::cursor::ends_word;
use super::list::Parser;
use super::{Assignment, Opaque};

/// How a word is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As an argument.
    Plain,
    /// Where `NAME=value` is an assignment.
    Assigning,
}

/// A word, with what the grammar has to know about how it was written.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// The value when `literal`, the raw text otherwise.
    pub(super) text: String,
    /// The raw text, without line continuations.
    pub(super) raw: String,
    pub(super) literal: bool,
    /// For each byte of `text` whether it was quoted, while there are braces.
    pub(super) quoted: Vec<bool>,
    /// Unquoted braces that may make several words.
    pub(super) braces: bool,
    /// The word starts with an unquoted `NAME=` or `NAME+=`: name and value.
    pub(super) assignment: Option<(String, Option<String>)>,
    /// Nothing follows the `=`, so that a `(` opens an array.
    pub(super) opens_array: bool,
    /// Only digits, none of them quoted: a descriptor if a redirect follows.
    pub(super) digits: bool,
    /// The first byte as it was written.
    pub(super) first: u8,
    pub(super) start: usize,
    pub(super) end: usize,
    /// It may run code that no stage shows.
    pub(super) code: bool,
    /// What its expansion assigns.
    pub(super) assigns: Vec<Assignment>,
}

/// How far an unquoted `NAME=` has been read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Prefix {
    #[default]
    Empty,
    Name,
    Plus,
    Other,
}

/// A word while it is read.
#[derive(Default)]
pub(super) struct Build {
    pub(super) text: Vec<u8>,
    pub(super) quotes: Vec<bool>,
    /// Some part of the value is not known.
    pub(super) unknown: bool,
    /// Files may be put in its place.
    glob: bool,
    bracket: bool,
    brace: bool,
    any_quote: bool,
    pub(super) code: bool,
    pub(super) assigns: Vec<Assignment>,
    prefix: Prefix,
    /// Length of `text` behind the `=` of an assignment.
    equals: Option<usize>,
    /// Length of the name before a subscript.
    subscript: Option<usize>,
}

impl Build {
    pub(super) fn push(&mut self, byte: u8, quoted: bool) {
        self.text.push(byte);
        self.quotes.push(quoted);
    }

    fn quote(&mut self) {
        self.any_quote = true;
        self.prefix = Prefix::Other;
    }

    /// A part whose value is not known.
    pub(super) fn hide(&mut self) {
        self.unknown = true;
        self.prefix = Prefix::Other;
    }
}

impl Parser<'_, '_, '_> {
    /// Reads the word at the cursor; none if what is there ends a word.
    pub(super) fn word(&mut self, reading: Reading) -> Result<Option<Word>, Opaque> {
        let Some(first) = self.word_byte() else { return Ok(None) };
        self.sink.count()?;
        let start = self.cursor.at();
        let mut build = Build::default();
        while let Some(byte) = self.word_byte() {
            self.word_step(byte, reading, &mut build)?;
        }
        let end = self.cursor.at();
        self.finish(build, first, start, end).map(Some)
    }

    /// The next byte if it belongs to a word: `<(` and `>(` do.
    fn word_byte(&mut self) -> Option<u8> {
        let byte = self.cursor.peek()?;
        let process = matches!(byte, b'<' | b'>') && self.cursor.peek_second() == Some(b'(');
        (process || !ends_word(byte)).then_some(byte)
    }

    fn word_step(&mut self, byte: u8, reading: Reading, build: &mut Build) -> Result<(), Opaque> {
        match byte {
            b'<' | b'>' => return self.process(build),
            b'`' => return self.backtick(false, build),
            b'\'' => return self.single(build),
            b'"' => return self.double(build),
            b'$' => {
                self.dollar(false, build)?;
                build.any_quote = true;
                build.prefix = Prefix::Other;
                return Ok(());
            }
            b'\\' => {
                build.quote();
                self.cursor.bump();
                let escaped = self.cursor.next_raw().ok_or(Opaque)?;
                build.push(escaped, true);
                return Ok(());
            }
            b'*' | b'?' => build.glob = true,
            b'[' if build.prefix == Prefix::Name && reading == Reading::Assigning => {
                return self.subscript(build);
            }
            b'[' => build.bracket = true,
            b']' => build.glob |= build.bracket,
            b'{' => build.brace = true,
            b'~' if self.tilde(build) => return Ok(()),
            _ => {}
        }
        build.push(byte, false);
        self.cursor.bump();
        build.prefix = match (build.prefix, byte) {
            (Prefix::Empty | Prefix::Name, b'_') => Prefix::Name,
            (Prefix::Empty, b) if b.is_ascii_alphabetic() => Prefix::Name,
            (Prefix::Name, b) if b.is_ascii_alphanumeric() => Prefix::Name,
            (Prefix::Name, b'+') => Prefix::Plus,
            (Prefix::Name | Prefix::Plus, b'=') => {
                build.equals = Some(build.text.len());
                Prefix::Other
            }
            _ => Prefix::Other,
        };
        Ok(())
    }

    /// `NAME[subscript]`, which is read as one before it shows that no `=` follows.
    fn subscript(&mut self, build: &mut Build) -> Result<(), Opaque> {
        self.cursor.bump();
        self.computed_until(b']', build)?;
        let plus = self.cursor.peek() == Some(b'+') && self.cursor.peek_second() == Some(b'=');
        if plus || self.cursor.peek() == Some(b'=') {
            build.subscript = Some(build.text.len());
            build.prefix = Prefix::Name;
        } else {
            // Files may be put in its place.
            build.hide();
        }
        Ok(())
    }

    /// `~` where it stands for a folder; whether it was passed.
    fn tilde(&mut self, build: &mut Build) -> bool {
        let in_value = build.equals.is_some();
        if !matches!(build.text.last(), None | Some(b'=' | b':')) {
            return false;
        }
        let mut ahead = self.cursor.clone();
        ahead.bump();
        let ends = match ahead.peek() {
            None | Some(b'/') => true,
            Some(b':') => in_value,
            Some(byte) => ends_word(byte),
        };
        let plain = build.text.is_empty() || in_value;
        match self.sink.home {
            Some(home) if ends && plain => {
                for byte in home.bytes() {
                    build.push(byte, true);
                }
                build.prefix = Prefix::Other;
                self.cursor.bump();
                true
            }
            _ => {
                build.unknown = true;
                false
            }
        }
    }

    fn single(&mut self, build: &mut Build) -> Result<(), Opaque> {
        build.quote();
        self.cursor.bump();
        loop {
            match self.cursor.next_raw().ok_or(Opaque)? {
                b'\'' => return Ok(()),
                byte => build.push(byte, true),
            }
        }
    }

    pub(super) fn double(&mut self, build: &mut Build) -> Result<(), Opaque> {
        build.quote();
        self.cursor.bump();
        loop {
            match self.cursor.peek().ok_or(Opaque)? {
                b'"' => {
                    self.cursor.bump();
                    return Ok(());
                }
                b'`' => self.backtick(true, build)?,
                b'$' => self.dollar(true, build)?,
                b'\\' => {
                    self.cursor.bump();
                    match self.cursor.peek_raw().ok_or(Opaque)? {
                        byte @ (b'$' | b'`' | b'"' | b'\\') => {
                            build.push(byte, true);
                            self.cursor.bump();
                        }
                        _ => build.push(b'\\', true),
                    }
                }
                byte => {
                    build.push(byte, true);
                    self.cursor.bump();
                }
            }
        }
    }

    fn finish(&self, build: Build, first: u8, start: usize, end: usize) -> Result<Word, Opaque> {
        // Braces expand only around `,` or `..`.
        let braces = build.brace
            && build
                .text
                .iter()
                .zip(&build.quotes)
                .any(|(byte, quoted)| !quoted && matches!(byte, b',' | b'.'));
        let raw = self.cursor.slice(start, end).replace("\\\n", "");
        let assignment = match build.equals {
            None => None,
            Some(value) => {
                let before = build.text.get(..value).unwrap_or_default();
                let name = before.strip_suffix(b"=").unwrap_or(before);
                let name = name.strip_suffix(b"+").unwrap_or(name);
                let name = name.get(..build.subscript.unwrap_or(name.len())).unwrap_or(name);
                let appends = before.ends_with(b"+=") || build.subscript.is_some();
                let value = build.text.get(value..).unwrap_or_default();
                let known = !build.unknown && !build.code && !appends;
                let value = known.then(|| String::from_utf8(value.to_vec()).ok()).flatten();
                Some((String::from_utf8(name.to_vec()).map_err(|_| Opaque)?, value))
            }
        };
        let mut literal = !build.unknown && !build.glob;
        let opens_array = build.equals == Some(build.text.len()) && !build.any_quote;
        let digits =
            !build.any_quote && literal && build.text.iter().all(|byte| byte.is_ascii_digit());
        let text = match String::from_utf8(build.text) {
            Ok(text) if literal => text,
            Ok(_) => raw.clone(),
            Err(_) => {
                literal = false;
                raw.clone()
            }
        };
        Ok(Word {
            text,
            raw,
            literal,
            quoted: if braces { build.quotes } else { Vec::new() },
            braces,
            assignment,
            opens_array,
            digits,
            first,
            start,
            end,
            code: build.code,
            assigns: build.assigns,
        })
    }
}

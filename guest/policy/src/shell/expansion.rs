//! What is expanded inside a word: parameters, substitutions, arithmetic.
//!
//! No value is computed here but that of `$HOME` and of `$'..'`. What runs in an
//! expansion becomes a stage; what may run without being seen is noted as code:
//! arithmetic evaluates the *values* of its variables, subscripts and all.

use super::list::{Parser, Place, part};
use super::word::Build;
use super::{Assignment, Opaque};

impl Parser<'_, '_, '_> {
    /// `$` and what it begins.
    pub(super) fn dollar(&mut self, in_double: bool, build: &mut Build) -> Result<(), Opaque> {
        self.cursor.bump();
        match self.cursor.peek() {
            Some(b'(') if self.cursor.peek_second() == Some(b'(') => {
                self.cursor.bump();
                self.cursor.bump();
                build.hide();
                self.sink.open()?;
                self.arithmetic(build)?;
                self.sink.close();
            }
            Some(b'(') => {
                self.cursor.bump();
                self.substitution(build)?;
            }
            Some(b'{') => {
                self.cursor.bump();
                self.sink.open()?;
                self.parameter(in_double, build)?;
                self.sink.close();
            }
            Some(b'\'') if !in_double => self.ansi(build)?,
            // Translated, perhaps: the text is read, its value is not known.
            Some(b'"') if !in_double => build.hide(),
            // Arithmetic as it was written once.
            Some(b'[') => {
                self.cursor.bump();
                build.hide();
                self.sink.open()?;
                self.computed_until(b']', build)?;
                self.sink.close();
            }
            Some(b'`') => return Err(Opaque),
            Some(b'$') => {
                self.cursor.bump();
                build.hide();
                // Rare, and not worth knowing what bash makes of it.
                if matches!(self.cursor.peek(), Some(b'(' | b'[' | b'{' | b'`' | b'\'' | b'"')) {
                    return Err(Opaque);
                }
            }
            Some(b) if b.is_ascii_digit() || b"@*#?-!".contains(&b) => {
                build.hide();
                self.cursor.bump();
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                let name = self.name();
                self.value(&name, build);
            }
            // A letter in some locale, so perhaps a name.
            Some(b) if !b.is_ascii() => build.hide(),
            _ => build.push(b'$', true),
        }
        Ok(())
    }

    pub(super) fn name(&mut self) -> Vec<u8> {
        let mut name = Vec::new();
        while let Some(byte) = self.cursor.peek() {
            if !byte.is_ascii_alphanumeric() && byte != b'_' {
                break;
            }
            name.push(byte);
            self.cursor.bump();
        }
        name
    }

    /// The value of a plain parameter, where it is known.
    fn value(&mut self, name: &[u8], build: &mut Build) {
        match self.sink.home {
            Some(home) if name == b"HOME" => {
                for byte in home.bytes() {
                    build.push(byte, true);
                }
            }
            _ => build.hide(),
        }
    }

    /// `$(..)`, whose opener has been passed.
    fn substitution(&mut self, build: &mut Build) -> Result<(), Opaque> {
        // A body that is still awaited could start at a line inside.
        if !self.awaited.is_empty() {
            return Err(Opaque);
        }
        build.hide();
        self.sink.open()?;
        let folder = self.sink.folder.clone();
        let around = self.sink.rewritten.replace(false);
        self.list()?;
        self.sink.rewritten = around;
        if !self.cursor.eat(b')') || !self.awaited.is_empty() {
            return Err(Opaque);
        }
        self.sink.folder = folder;
        self.sink.close();
        Ok(())
    }

    /// `<(..)` and `>(..)`.
    pub(super) fn process(&mut self, build: &mut Build) -> Result<(), Opaque> {
        self.cursor.peek();
        self.cursor.bump();
        self.cursor.peek();
        self.cursor.bump();
        self.substitution(build)
    }

    /// A substitution in backticks: read in place where nothing in it is escaped.
    pub(super) fn backtick(&mut self, in_double: bool, build: &mut Build) -> Result<(), Opaque> {
        if !self.awaited.is_empty() {
            return Err(Opaque);
        }
        build.hide();
        let open = self.cursor.at();
        self.cursor.bump();
        let begin = self.cursor.at();
        let mut text = Vec::new();
        let mut escapes = false;
        let end = loop {
            let at = self.cursor.at();
            match self.cursor.next_raw().ok_or(Opaque)? {
                b'`' => break at,
                b'\\' => {
                    escapes = true;
                    match self.cursor.next_raw().ok_or(Opaque)? {
                        byte @ (b'`' | b'\\' | b'$') => text.push(byte),
                        b'"' if in_double => return Err(Opaque),
                        byte => text.extend([b'\\', byte]),
                    }
                }
                byte => text.push(byte),
            }
        };
        let folder = self.sink.folder.clone();
        if escapes {
            let text = String::from_utf8(text).map_err(|_| Opaque)?;
            let (start, stop) = self.span(open, self.cursor.at());
            let place = Place::Within(start, stop);
            part(super::cursor::Cursor::new(&text), place, self.sink)?;
        } else {
            part(self.cursor.part(begin, end), self.place, self.sink)?;
        }
        self.sink.folder = folder;
        Ok(())
    }

    /// `${..}` behind its opener.
    fn parameter(&mut self, in_double: bool, build: &mut Build) -> Result<(), Opaque> {
        match self.cursor.peek().ok_or(Opaque)? {
            b'#' if self.cursor.peek_second() != Some(b'}') => {
                self.cursor.bump();
                build.hide();
            }
            // Indirect: the value is a name, with a subscript perhaps.
            b'!' if self.cursor.peek_second() != Some(b'}') => {
                self.cursor.bump();
                build.code = true;
            }
            // `${ cmd; }` of later versions.
            b' ' | b'\t' | b'\n' | b'|' | b'(' => return Err(Opaque),
            _ => {}
        }
        let mut name = self.name();
        if name.is_empty() {
            match self.cursor.peek() {
                Some(byte) if b"@*#?-$!".contains(&byte) => {
                    name.push(byte);
                    self.cursor.bump();
                }
                _ => return Err(Opaque),
            }
        }
        if self.cursor.eat(b'}') {
            self.value(&name, build);
            return Ok(());
        }
        build.hide();
        if self.cursor.eat(b'[') {
            self.computed_until(b']', build)?;
        }
        self.cursor.peek();
        match self.cursor.next_raw().ok_or(Opaque)? {
            b'}' => return Ok(()),
            b':' => match self.cursor.peek() {
                Some(b'=') => {
                    self.cursor.bump();
                    self.assigns(&name, build);
                }
                Some(b'-' | b'+' | b'?') => self.cursor.bump(),
                _ => return self.computed_until(b'}', build),
            },
            b'=' => self.assigns(&name, build),
            b'-' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',' => {}
            // `${!NAME*}` lists names.
            b'*' if build.code => {}
            b'@' => build.code = true,
            _ => return Err(Opaque),
        }
        self.operand(in_double, build)
    }

    fn assigns(&self, name: &[u8], build: &mut Build) {
        let name = String::from_utf8_lossy(name).into_owned();
        build.assigns.push(Assignment { name, value: None });
    }

    /// What follows an operator of `${..}`, up to its `}`.
    fn operand(&mut self, in_double: bool, build: &mut Build) -> Result<(), Opaque> {
        loop {
            match self.cursor.peek().ok_or(Opaque)? {
                b'}' => {
                    self.cursor.bump();
                    return Ok(());
                }
                b'\\' => {
                    self.cursor.bump();
                    self.cursor.next_raw().ok_or(Opaque)?;
                }
                // Whether it quotes here depends on the operator.
                b'\'' if in_double => return Err(Opaque),
                b'\'' => {
                    self.cursor.bump();
                    while self.cursor.next_raw().ok_or(Opaque)? != b'\'' {}
                }
                b'"' => self.double(build)?,
                b'$' => self.dollar(in_double, build)?,
                b'`' => self.backtick(in_double, build)?,
                b'<' | b'>' if !in_double && self.cursor.peek_second() == Some(b'(') => {
                    self.process(build)?;
                }
                _ => self.cursor.bump(),
            }
        }
    }

    /// `$'..'`, which ends what it says at a NUL.
    fn ansi(&mut self, build: &mut Build) -> Result<(), Opaque> {
        self.cursor.bump();
        let mut ended = false;
        loop {
            let said = match self.cursor.next_raw().ok_or(Opaque)? {
                b'\'' => return Ok(()),
                b'\\' => self.escape()?,
                byte => Escape::Byte(byte),
            };
            match said {
                Escape::Byte(0) => ended = true,
                _ if ended => {}
                Escape::Byte(byte) => build.push(byte, true),
                Escape::Kept(byte) => {
                    build.push(b'\\', true);
                    build.push(byte, true);
                }
                Escape::Unknown => build.hide(),
            }
        }
    }

    fn escape(&mut self) -> Result<Escape, Opaque> {
        Ok(Escape::Byte(match self.cursor.next_raw().ok_or(Opaque)? {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            byte @ (b'\\' | b'\'' | b'"' | b'?') => byte,
            // Later versions read more of `\x{`.
            b'x' if self.cursor.peek_raw() == Some(b'{') => return Ok(Escape::Unknown),
            b'x' => match self.digits(None, 16, 2) {
                None => return Ok(Escape::Kept(b'x')),
                // A byte, which others beside it may make a character.
                Some(value) => low_byte(value),
            },
            byte @ (b'u' | b'U') => {
                match self.digits(None, 16, if byte == b'u' { 4 } else { 8 }) {
                    None => return Ok(Escape::Kept(byte)),
                    // What is no ASCII is written as the locale has it.
                    Some(value) if value < 128 => low_byte(value),
                    Some(_) => return Ok(Escape::Unknown),
                }
            }
            byte @ b'0'..=b'7' => {
                let first = u32::from(byte.saturating_sub(b'0'));
                low_byte(self.digits(Some(first), 8, 2).unwrap_or(first))
            }
            b'c' => match self.cursor.next_raw().ok_or(Opaque)? {
                letter if letter.is_ascii_alphabetic() => letter & 0x1F,
                _ => return Ok(Escape::Unknown),
            },
            byte => return Ok(Escape::Kept(byte)),
        }))
    }

    /// A number, perhaps begun, with up to so many digits more; none without any digit.
    fn digits(&mut self, mut number: Option<u32>, radix: u32, most: u32) -> Option<u32> {
        for _ in 0..most {
            let next = self.cursor.peek_raw();
            let Some(digit) = next.and_then(|byte| char::from(byte).to_digit(radix)) else { break };
            let so_far = number.unwrap_or(0_u32);
            number = Some(so_far.wrapping_mul(radix).wrapping_add(digit));
            self.cursor.bump();
        }
        number
    }
}

fn low_byte(value: u32) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low
}

/// What an escape in `$'..'` says.
enum Escape {
    Byte(u8),
    /// The backslash stays, with this behind it.
    Kept(u8),
    Unknown,
}

//! Arithmetic: `$((..))`, `((..))`, subscripts and offsets.
//!
//! No value is computed. It may run code that no stage shows, because it evaluates
//! what its variables hold, unless that is a number: see `numbers`.

use super::Opaque;
use super::cursor::Cursor;
use super::list::Parser;
use super::numbers::may_count;
use super::word::Build;

/// Where a reader of arithmetic stands.
struct Place {
    /// The byte before.
    previous: u8,
    /// The last byte that was no blank; 0 at the start.
    token: u8,
    /// Every part so far is evaluated, whatever the values.
    certain: bool,
    /// What certainly was given a number by it.
    sets: Vec<String>,
}

impl Place {
    fn start() -> Place {
        Place { previous: b' ', token: 0, certain: true, sets: Vec::new() }
    }

    fn pass(&mut self, byte: u8) {
        self.previous = byte;
        if !byte.is_ascii_whitespace() {
            self.token = byte;
        }
        if matches!(byte, b'?' | b'&' | b'|' | b';') {
            self.certain = false;
        }
    }
}

impl Parser<'_, '_, '_> {
    /// Arithmetic up to its `))`, which is passed: the variables that it gives a number.
    pub(super) fn arithmetic(&mut self, build: &mut Build) -> Result<Vec<String>, Opaque> {
        let mut depth = 0_u32;
        let mut place = Place::start();
        loop {
            let byte = self.cursor.peek().ok_or(Opaque)?;
            match byte {
                b')' if depth == 0 => {
                    self.cursor.bump();
                    // `$((..) ..)` was a substitution; that reading is not tried.
                    return if self.cursor.eat(b')') { Ok(place.sets) } else { Err(Opaque) };
                }
                b')' => depth = depth.saturating_sub(1),
                b'(' => depth = depth.saturating_add(1),
                _ => {
                    self.computed(byte, &mut place, build)?;
                    continue;
                }
            }
            place.pass(byte);
            self.cursor.bump();
        }
    }

    /// A subscript or an offset up to its closing byte, which is passed.
    pub(super) fn computed_until(&mut self, close: u8, build: &mut Build) -> Result<(), Opaque> {
        let mut place = Place::start();
        loop {
            let byte = self.cursor.peek().ok_or(Opaque)?;
            if byte == close {
                self.cursor.bump();
                return Ok(());
            }
            match byte {
                b'@' | b' ' | b':' | b'(' | b')' => self.cursor.bump(),
                byte if b"*/%+-<>=&|!^,?~".contains(&byte) => self.cursor.bump(),
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'`' | b'_') => {
                    self.computed(byte, &mut place, build)?;
                    continue;
                }
                _ => return Err(Opaque),
            }
            place.pass(byte);
        }
    }

    /// A variable, an expansion, or one byte of the rest.
    fn computed(&mut self, byte: u8, place: &mut Place, build: &mut Build) -> Result<(), Opaque> {
        let glued = place.previous.is_ascii_alphanumeric() || matches!(place.previous, b'_' | b'#');
        let letter = byte.is_ascii_alphabetic() || byte == b'_';
        match byte {
            b'$' => {
                let number = !glued && self.expands_to_number();
                let unknown = build.unknown;
                self.dollar(true, build)?;
                if number {
                    build.unknown = unknown;
                } else {
                    build.code = true;
                }
                // What it is put before may make a name of it, or a longer one.
                place.pass(b'0');
                return Ok(());
            }
            b'`' => {
                self.backtick(true, build)?;
                build.code = true;
            }
            b'\'' | b'"' | b'\\' => return Err(Opaque),
            b'#' if !place.previous.is_ascii_digit() => return Err(Opaque),
            _ if letter && !glued => {
                let name = self.name();
                let name = String::from_utf8(name).map_err(|_| Opaque)?;
                build.code |= !self.named(&name, place);
            }
            _ => {
                build.code |= !byte.is_ascii();
                self.cursor.bump();
            }
        }
        place.pass(byte);
        Ok(())
    }

    /// Behind a name: whether what it does with the variable runs no code.
    fn named(&mut self, name: &str, place: &mut Place) -> bool {
        let mut ahead = self.cursor.clone();
        ahead.skip_blanks();
        let sets = ahead.eat(b'=')
            && ahead.peek() != Some(b'=')
            // `--x=1` reads `x` first.
            && !matches!(place.token, b'+' | b'-');
        if !sets {
            return place.sets.iter().any(|known| known == name) && self.sink.numbers.trusts(name)
                || self.sink.numbers.rely(name);
        }
        if place.certain && matches!(place.token, 0 | b',') {
            place.sets.push(name.to_owned());
        }
        may_count(name)
    }

    /// Whether `$` begins a plain parameter that holds a number.
    fn expands_to_number(&mut self) -> bool {
        let mut ahead = self.cursor.clone();
        ahead.bump();
        let braced = ahead.eat(b'{');
        if !braced && matches!(ahead.peek(), Some(b'#' | b'?')) {
            ahead.bump();
            return ends_number(&mut ahead);
        }
        let mut name = String::new();
        while let Some(byte) = ahead.peek().filter(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            name.push(char::from(byte));
            ahead.bump();
        }
        (!braced || ahead.eat(b'}')) && ends_number(&mut ahead) && self.sink.numbers.rely(&name)
    }
}

/// Whether nothing follows that would make a name or another number of it.
fn ends_number(ahead: &mut Cursor<'_>) -> bool {
    !ahead.peek().is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_#@$`[{".contains(&byte)
    })
}

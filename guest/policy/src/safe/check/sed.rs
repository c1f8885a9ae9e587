//! sed scripts: no command that writes, runs or reads another file.

use super::scan::{Scan, Verdict};
use crate::safe::read::Reading;

pub(super) fn check(reading: &Reading<'_>) -> Verdict {
    let mut scripts: Vec<&str> = reading.values(&["-e", "--expression"]).collect();
    if scripts.is_empty() {
        scripts.extend(reading.operands.first());
    }
    // sed joins several with line ends, so that `-e 'a\' -e text` is one command.
    Script { scan: Scan::new(&scripts.join("\n")) }.check()
}

struct Script<'a> {
    scan: Scan<'a>,
}

impl Script<'_> {
    fn check(&mut self) -> Verdict {
        loop {
            self.scan.take_while(|next| matches!(next, ' ' | '\t' | '\n' | ';' | '}'));
            if self.scan.peek().is_none() {
                return Ok(());
            }
            self.addresses()?;
            self.scan.take_while(|next| matches!(next, '!' | ' ' | '\t'));
            self.command()?;
        }
    }

    /// `2`, `$`, `/re/I`, `\,re,`, `0~3`, and two of them with a comma.
    fn addresses(&mut self) -> Verdict {
        loop {
            match self.scan.peek() {
                Some('0'..='9' | '$' | '+' | '~' | ',' | ' ' | '\t') => {
                    self.scan.next();
                }
                Some('/') => {
                    self.scan.next();
                    self.pattern('/')?;
                    self.scan.take_while(|next| matches!(next, 'I' | 'M'));
                }
                Some('\\') => {
                    self.scan.next();
                    let delimiter = self.scan.next().ok_or_else(unread)?;
                    self.pattern(delimiter)?;
                    self.scan.take_while(|next| matches!(next, 'I' | 'M'));
                }
                _ => return Ok(()),
            }
        }
    }

    fn command(&mut self) -> Verdict {
        match self.scan.next() {
            Some('{') => Ok(()),
            Some('#') => {
                self.scan.take_while(|next| next != '\n');
                Ok(())
            }
            Some(
                '=' | 'd' | 'D' | 'F' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z',
            ) => self.end(),
            Some('l' | 'q' | 'Q') => {
                self.scan.blanks();
                self.scan.take_while(|next| next.is_ascii_digit());
                self.end()
            }
            Some('a' | 'i' | 'c') => {
                self.text();
                Ok(())
            }
            Some(':' | 'b' | 't' | 'T') => {
                self.scan.blanks();
                self.scan.take_while(|next| next.is_ascii_alphanumeric() || "_-.".contains(next));
                self.end()
            }
            Some('s') => self.substitute(),
            Some('y') => {
                let delimiter = self.delimiter()?;
                self.part(delimiter)?;
                self.part(delimiter)?;
                self.end()
            }
            Some(letter @ ('w' | 'W')) => Err(format!("writes a file with `{letter}`")),
            Some('e') => Err("runs a command with `e`".to_owned()),
            Some(letter @ ('r' | 'R')) => Err(format!("reads another file with `{letter}`")),
            _ => Err(unread()),
        }
    }

    fn substitute(&mut self) -> Verdict {
        let delimiter = self.delimiter()?;
        self.pattern(delimiter)?;
        self.part(delimiter)?;
        loop {
            match self.scan.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.scan.next();
                }
                Some('w') => return Err("writes a file with `s///w`".to_owned()),
                Some('e') => return Err("runs a command with `s///e`".to_owned()),
                _ => return self.end(),
            }
        }
    }

    fn delimiter(&mut self) -> Result<char, String> {
        self.scan.next().filter(|next| !matches!(next, '\n' | '\\')).ok_or_else(unread)
    }

    /// A regular expression up to its delimiter. Within brackets some seds end it and others do not.
    fn pattern(&mut self, delimiter: char) -> Verdict {
        let mut bracket = false;
        loop {
            match self.scan.next() {
                Some(next) if next == delimiter => {
                    return if bracket { Err(unread()) } else { Ok(()) };
                }
                Some('\\') => {
                    self.scan.next().ok_or_else(unread)?;
                }
                Some('[') if !bracket => {
                    bracket = true;
                    self.scan.take('^');
                    self.scan.take(']');
                }
                // `[:alpha:]` and its kind end with their own bracket.
                Some('[') => {
                    if let Some(kind) = self.scan.peek().filter(|next| ":.=".contains(*next)) {
                        self.scan.next();
                        self.scan.take_while(|next| next != kind && next != '\n' && next != '/');
                        self.scan.next().filter(|next| *next == kind).ok_or_else(unread)?;
                        self.scan.next().filter(|next| *next == ']').ok_or_else(unread)?;
                    }
                }
                Some(']') => bracket = false,
                Some('\n') | None => return Err(unread()),
                Some(_) => {}
            }
        }
    }

    /// What is put in, up to its delimiter.
    fn part(&mut self, delimiter: char) -> Verdict {
        loop {
            match self.scan.next() {
                Some(next) if next == delimiter => return Ok(()),
                Some('\\') => {
                    self.scan.next().ok_or_else(unread)?;
                }
                Some('\n') | None => return Err(unread()),
                Some(_) => {}
            }
        }
    }

    /// The text of `a`, `i` and `c`, up to a line end without a backslash before it.
    fn text(&mut self) {
        while let Some(next) = self.scan.next() {
            match next {
                '\\' => {
                    self.scan.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }

    /// Nothing more of this command.
    fn end(&mut self) -> Verdict {
        self.scan.blanks();
        match self.scan.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(_) => Err(unread()),
        }
    }
}

fn unread() -> String {
    "has a script that is not fully understood".to_owned()
}

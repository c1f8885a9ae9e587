//! The words that stand in a text, whatever its structure: what a deny rule is
//! tried against where a command was not understood. Finding too much is fine.

use crate::limits::{SHELL_BARE_BYTES_MAX, SHELL_BARE_WORDS_MAX};

/// The words of a text, read in two ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BareWords {
    /// With quotes and backslashes left out: `r\m` and `'r'm` give `rm`.
    pub joined: Vec<String>,
    /// With quotes and backslashes as borders: `"a'rm'b"` gives `a`, `rm`, `b`.
    pub pieces: Vec<String>,
    /// A limit was met and words are missing: fail closed.
    pub truncated: bool,
}

impl BareWords {
    /// Whether either reading has this word.
    pub fn contains(&self, word: &str) -> bool {
        self.joined.iter().chain(&self.pieces).any(|found| found == word)
    }
}

/// Where in `${NAME:-word}` the text is, whose operator is no part of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Outside,
    Name,
    /// After a first `:`, `/`, `#` and the like.
    Operator,
}

impl Parameter {
    /// Steps over a character; true if it belongs to the operator.
    fn step(&mut self, c: char) -> bool {
        let (next, operator) = match (*self, c) {
            (Parameter::Outside, _) => (Parameter::Outside, false),
            (Parameter::Name, c) if c.is_alphanumeric() || "_!#".contains(c) => {
                (Parameter::Name, false)
            }
            (_, '-' | '+' | '=' | '?') => (Parameter::Outside, true),
            (_, ':' | '/' | '#' | '%' | '^' | ',' | '@') => (Parameter::Operator, true),
            _ => (Parameter::Outside, false),
        };
        *self = next;
        operator
    }
}

/// Splits a text on blanks and every character that means something to bash.
pub fn bare_words(command: &str) -> BareWords {
    let mut words = BareWords::default();
    if command.len() > SHELL_BARE_BYTES_MAX {
        words.truncated = true;
        return words;
    }
    let (mut joined, mut piece) = (String::new(), String::new());
    let mut parameter = Parameter::Outside;
    let mut previous = ' ';
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        if words.truncated {
            return words;
        }
        let operator = parameter.step(c);
        if c == '{' && previous == '$' {
            parameter = Parameter::Name;
        }
        previous = c;
        match c {
            '\\' => {
                chars.next_if_eq(&'\n');
                flush(&mut piece, &mut words.pieces, &mut words.truncated);
            }
            '\'' | '"' => flush(&mut piece, &mut words.pieces, &mut words.truncated),
            // `$'..'` and `$".."` are quotes too.
            '$' if matches!(chars.peek(), Some('\'' | '"')) => {}
            _ if operator || separates(c) => {
                flush(&mut piece, &mut words.pieces, &mut words.truncated);
                flush(&mut joined, &mut words.joined, &mut words.truncated);
            }
            _ => {
                joined.push(c);
                piece.push(c);
            }
        }
    }
    flush(&mut piece, &mut words.pieces, &mut words.truncated);
    flush(&mut joined, &mut words.joined, &mut words.truncated);
    words
}

fn separates(c: char) -> bool {
    c.is_whitespace() || c.is_control() || ";&|(){}[]<>`$=,*?~#!".contains(c)
}

fn flush(word: &mut String, into: &mut Vec<String>, truncated: &mut bool) {
    if word.is_empty() {
        return;
    }
    if into.len() >= SHELL_BARE_WORDS_MAX {
        *truncated = true;
        word.clear();
    } else {
        into.push(std::mem::take(word));
    }
}

//! A text that is read once, character by character.

use std::iter::Peekable;
use std::str::Chars;

/// What was refused, as the rest of a sentence that begins with the command.
pub(super) type Verdict = Result<(), String>;

/// Characters still to be read.
pub(super) struct Scan<'a> {
    rest: Peekable<Chars<'a>>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.chars().peekable() }
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        self.rest.next()
    }

    /// Takes the next character if it is this one.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    /// Takes characters as long as they fit.
    pub(super) fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(next) = self.rest.next_if(|next| fits(*next)) {
            taken.push(next);
        }
        taken
    }

    pub(super) fn blanks(&mut self) {
        self.take_while(|next| next == ' ' || next == '\t');
    }
}

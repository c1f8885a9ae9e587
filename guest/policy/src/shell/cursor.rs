//! A place in the command that sees it as bash's reader does: a backslash
//! before a newline is not there, wherever it stands outside single quotes.

#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// The same text up to `end`, from `at` on: places stay what they are.
    pub(super) fn part(&self, at: usize, end: usize) -> Cursor<'a> {
        Cursor { text: self.text.get(..end).unwrap_or_default(), at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes on behind another cursor's place in the same text.
    pub(super) fn go(&mut self, at: usize) {
        self.at = at.min(self.text.len());
    }

    /// The text between two places, empty if they are none.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte, as it is written.
    pub(super) fn peek_raw(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte after any line continuations, which are passed for good.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at) == Some(&b'\\')
            && bytes.get(self.at.saturating_add(1)) == Some(&b'\n')
        {
            self.at = self.at.saturating_add(2);
        }
        self.peek_raw()
    }

    /// The byte after the next one, continuations passed.
    pub(super) fn peek_second(&self) -> Option<u8> {
        let mut ahead = self.clone();
        ahead.peek();
        ahead.bump();
        ahead.peek()
    }

    /// Passes one byte; stays at the end.
    pub(super) fn bump(&mut self) {
        self.at = self.at.saturating_add(1).min(self.text.len());
    }

    /// Takes the next byte, as it is written.
    pub(super) fn next_raw(&mut self) -> Option<u8> {
        let byte = self.peek_raw();
        self.bump();
        byte
    }

    /// Passes the next byte if it is this one.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.bump();
        }
    }

    /// Up to the end of the line: a comment knows no continuation.
    pub(super) fn skip_comment(&mut self) {
        while self.peek_raw().is_some_and(|byte| byte != b'\n') {
            self.bump();
        }
    }
}

/// Whether a byte ends a word where it is not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

//! Text patterns: what words, names and values in a rule are written in.
//!
//! `*` stands for any characters, none included; `\*` for a star and `\\` for a
//! backslash. Everything else stands for itself.

use core::fmt;

/// A text with stars: the pieces between them, so one piece means no star.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text {
    pieces: Vec<String>,
}

impl Text {
    /// Reads a pattern. Every text is one.
    pub(crate) fn parse(text: &str) -> Text {
        let mut pieces = Vec::new();
        let mut piece = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => piece.push(chars.next_if(|next| matches!(next, '*' | '\\')).unwrap_or(c)),
                '*' => pieces.push(core::mem::take(&mut piece)),
                _ => piece.push(c),
            }
        }
        pieces.push(piece);
        // Two stars beside each other mean what one means.
        let last = pieces.len().saturating_sub(1);
        let mut index = 0;
        pieces.retain(|piece| {
            let keep = !piece.is_empty() || index == 0 || index == last;
            index += 1;
            keep
        });
        Text { pieces }
    }

    /// The pattern of exactly this text.
    pub(crate) fn exactly(text: &str) -> Text {
        Text { pieces: vec![text.to_owned()] }
    }

    /// The only text that it stands for, if there is only one.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether it stands for every text.
    pub(crate) fn is_any(&self) -> bool {
        self.pieces.len() > 1 && self.pieces.iter().all(String::is_empty)
    }

    /// What every text that it stands for begins with.
    pub(crate) fn prefix(&self) -> &str {
        self.pieces.first().map_or("", String::as_str)
    }

    /// The pieces between the stars.
    pub(crate) fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// Whether it stands for this text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let (Some((first, rest)), Some(last)) = (self.pieces.split_first(), self.pieces.last())
        else {
            return false;
        };
        let Some((_, middle)) = rest.split_last() else {
            return text == first;
        };
        let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
        for piece in middle {
            let Some((_, after)) = text.split_once(piece.as_str()) else { return false };
            text = after;
        }
        text.ends_with(last.as_str())
    }

    /// Whether it stands for this text where that widens what is allowed: a star
    /// in `src/*` is no way up to `src/../../etc`.
    pub(crate) fn allows(&self, text: &str) -> bool {
        let climbs = || text.split(['/', '\\']).any(|segment| segment == "..");
        self.matches(text) && (self.literal().is_some() || self.is_any() || !climbs())
    }

    /// Whether it surely stands for everything that the other stands for.
    pub(crate) fn covers(&self, other: &Text) -> bool {
        if self == other || self.is_any() {
            return true;
        }
        match (other.literal(), self.pieces.as_slice(), other.pieces.last()) {
            (Some(literal), _, _) => self.allows(literal),
            (None, [before, after], Some(last)) => {
                other.prefix().starts_with(before.as_str()) && last.ends_with(after.as_str())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                f.write_str("*")?;
            }
            f.write_str(&piece.replace('\\', "\\\\").replace('*', "\\*"))?;
        }
        Ok(())
    }
}

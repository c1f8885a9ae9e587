//! A command's output as text: decoded piece by piece, kept up to a limit.

/// Decodes bytes as they arrive and keeps the head of the text.
///
/// No piece that [`Output::push`] returns splits a character, and the pieces
/// together are exactly the text that is kept.
pub(super) struct Output {
    kept: String,
    kept_bytes_max: usize,
    /// The beginning of a character whose rest has not arrived.
    partial: Vec<u8>,
    seen_bytes: u64,
    truncated: bool,
}

impl Output {
    pub(super) fn new(kept_bytes_max: usize) -> Self {
        Self {
            kept: String::new(),
            kept_bytes_max,
            partial: Vec::new(),
            seen_bytes: 0,
            truncated: false,
        }
    }

    /// Takes bytes in; returns the text that was added to what is kept.
    pub(super) fn push(&mut self, bytes: &[u8]) -> &str {
        self.seen_bytes = self.seen_bytes.saturating_add(bytes.len() as u64);
        let from = self.kept.len();
        if self.truncated {
            return "";
        }
        let mut joined = std::mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let mut rest = joined.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.keep(text);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.keep(&String::from_utf8_lossy(valid));
                    let Some(invalid) = error.error_len() else {
                        self.partial = after.to_vec();
                        break;
                    };
                    self.keep("\u{fffd}");
                    rest = &after[invalid..];
                }
            }
        }
        &self.kept[from..]
    }

    /// No more bytes will come; returns the text that this adds.
    pub(super) fn end(&mut self) -> &str {
        let from = self.kept.len();
        if !std::mem::take(&mut self.partial).is_empty() {
            self.keep("\u{fffd}");
        }
        &self.kept[from..]
    }

    /// The text kept, whether some is missing, and the bytes seen.
    pub(super) fn into_parts(self) -> (String, bool, u64) {
        (self.kept, self.truncated, self.seen_bytes)
    }

    fn keep(&mut self, text: &str) {
        if self.truncated || text.is_empty() {
            return;
        }
        let head = head(text, self.kept_bytes_max - self.kept.len());
        self.truncated = head.len() < text.len();
        self.kept.push_str(head);
    }
}

/// The longest head of `text` that has at most `bytes_max` bytes.
pub(super) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], step: usize, max: usize) -> (String, String, bool) {
        let mut output = Output::new(max);
        let mut pieces = String::new();
        for piece in bytes.chunks(step) {
            pieces.push_str(output.push(piece));
        }
        pieces.push_str(output.end());
        let (kept, truncated, seen) = output.into_parts();
        assert_eq!(seen, bytes.len() as u64);
        (pieces, kept, truncated)
    }

    #[test]
    fn any_split_gives_the_lossy_text() {
        let samples: [&[u8]; 5] = [
            b"plain",
            "aé€😀z".as_bytes(),
            b"a\xffb\xe2\x82",
            b"\xf0\x9f\x98",
            b"\xc3\xc3\xa9\x80",
        ];
        for sample in samples {
            for step in 1..=sample.len() {
                let (pieces, kept, truncated) = decode(sample, step, 1000);
                assert_eq!(kept, String::from_utf8_lossy(sample));
                assert_eq!(pieces, kept);
                assert!(!truncated);
            }
        }
    }

    #[test]
    fn the_head_is_kept_and_ends_with_a_whole_character() {
        for step in 1..=8 {
            let (pieces, kept, truncated) = decode("ab€cd".as_bytes(), step, 4);
            assert_eq!((pieces.as_str(), kept.as_str(), truncated), ("ab", "ab", true));
        }
        assert_eq!(decode(b"abcd", 2, 4), ("abcd".into(), "abcd".into(), false));
    }
}

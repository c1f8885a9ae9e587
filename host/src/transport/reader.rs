//! Lines in: one JSON object each, none larger than the cap.

use crate::limits;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line within the cap, without its end.
    Whole(Vec<u8>),
    /// The beginning of a line beyond the cap; the rest was passed over.
    Oversized(Vec<u8>),
}

/// Reads lines, tolerating CR before LF and skipping blank ones.
pub(crate) struct LineReader<R> {
    inner: R,
    cap: usize,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(crate) fn new(inner: R) -> LineReader<R> {
        LineReader { inner, cap: limits::FRAME_BYTES_MAX }
    }

    /// The next line; none at the end of input.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let Some(line) = self.line().await? else {
                return Ok(None);
            };
            match line {
                Line::Whole(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => {}
                line => return Ok(Some(line)),
            }
        }
    }

    async fn line(&mut self) -> std::io::Result<Option<Line>> {
        let mut kept: Vec<u8> = Vec::new();
        let mut oversized = false;
        let mut any = false;
        loop {
            let available = self.inner.fill_buf().await?;
            if available.is_empty() {
                return Ok(any.then(|| finished(kept, oversized)));
            }
            any = true;
            let (part, ended, used) = match available.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    (available.get(..end).unwrap_or(available), true, end.saturating_add(1))
                }
                None => (available, false, available.len()),
            };
            if kept.len().saturating_add(part.len()) > self.cap.saturating_add(1) {
                oversized = true;
                kept.truncate(limits::OVERSIZED_PREFIX_BYTES);
            } else if !oversized {
                kept.extend_from_slice(part);
            }
            self.inner.consume(used);
            if ended {
                if kept.last() == Some(&b'\r') {
                    kept.pop();
                }
                oversized |= kept.len() > self.cap;
                return Ok(Some(finished(kept, oversized)));
            }
        }
    }
}

fn finished(mut kept: Vec<u8>, oversized: bool) -> Line {
    if oversized {
        kept.truncate(limits::OVERSIZED_PREFIX_BYTES);
        Line::Oversized(kept)
    } else {
        Line::Whole(kept)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{Line, LineReader};

    /// The lines of `input` under a cap of 8 bytes.
    async fn lines(input: &str) -> Vec<String> {
        let mut reader =
            LineReader { inner: tokio::io::BufReader::with_capacity(3, input.as_bytes()), cap: 8 };
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(match line {
                Line::Whole(bytes) => String::from_utf8(bytes).unwrap(),
                Line::Oversized(bytes) => {
                    format!("OVERSIZED {}", String::from_utf8(bytes).unwrap())
                }
            });
        }
        lines
    }

    #[tokio::test]
    async fn lines_are_capped_and_the_next_one_is_whole() {
        assert_eq!(lines("a\r\n\n  \r\nbc\nd").await, ["a", "bc", "d"]);
        assert_eq!(lines("12345678\n12345678\r\nx\n").await, ["12345678", "12345678", "x"]);
        let long = lines("123456789\nx\n123456789012345678901234567890").await;
        assert_eq!(long.len(), 3);
        assert!(long[0].starts_with("OVERSIZED 123456"), "{long:?}");
        assert_eq!(long[1], "x");
        assert!(long[2].starts_with("OVERSIZED 123456"), "{long:?}");
    }
}

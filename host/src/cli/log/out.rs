//! Lines on stdout for people and programs that may stop reading.

use crate::cli::{EXIT_FAILED, Failure};
use std::io::{self, BufWriter, StdoutLock, Write as _};

/// Stdout. When its reader goes away the rest is dropped: `placet log show | head` is no failure.
pub(super) struct Out {
    out: BufWriter<StdoutLock<'static>>,
    gone: bool,
}

impl Out {
    pub(super) fn new() -> Out {
        Out { out: BufWriter::new(io::stdout().lock()), gone: false }
    }

    pub(super) fn line(&mut self, line: &str) -> Result<(), Failure> {
        if self.gone {
            return Ok(());
        }
        let written = writeln!(self.out, "{line}");
        self.settle(written)
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let flushed = if self.gone { Ok(()) } else { self.out.flush() };
        self.settle(flushed)
    }

    fn settle(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Err(error) => Err(Failure::new(
                EXIT_FAILED,
                format!("stdout cannot be written: {error}; make room and run it again"),
            )),
        }
    }
}

/// Text with what would steer a terminal, or turn its reading around, written as
/// JSON writes it: `\u001b`. Inside JSON that is the same text.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let steers = c.is_control()
            || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        for (text, shown) in [
            ("/home/ada/työ", "/home/ada/työ"),
            ("a\u{1b}[31mb\r\n", "a\\u001b[31mb\\u000d\\u000a"),
            ("x\u{9b}\u{7f}", "x\\u009b\\u007f"),
            ("a\u{202e}b\u{2066}\u{200f}", "a\\u202eb\\u2066\\u200f"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}

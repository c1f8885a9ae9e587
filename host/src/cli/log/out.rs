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

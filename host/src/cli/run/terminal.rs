//! The terminal that a person is asked at: stdin gives the lines, stderr shows.

use std::io::{BufRead as _, IsTerminal as _};
use tokio::sync::mpsc;

/// Lines that a person types, one whenever it is asked for.
pub(super) struct Terminal {
    wanted: std::sync::mpsc::Sender<()>,
    lines: mpsc::Receiver<Option<String>>,
    /// A line was asked for and has not come.
    outstanding: bool,
}

impl Terminal {
    /// The terminal, where stdin and stderr are one.
    pub(super) fn open() -> Option<Terminal> {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return None;
        }
        let (wanted, asked) = std::sync::mpsc::channel();
        let (sender, lines) = mpsc::channel(1);
        // A read cannot be called back, so that it has a thread which nobody waits for.
        std::thread::spawn(move || {
            for () in asked {
                if sender.blocking_send(line()).is_err() {
                    return;
                }
            }
        });
        Some(Terminal { wanted, lines, outstanding: false })
    }

    /// Forgets what was typed before the question was there: it answers nothing.
    pub(super) fn forget(&mut self) {
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        if self.lines.try_recv().is_ok() {
            self.outstanding = false;
        }
    }

    /// The next line, none at the end of input. It may be given up and called again.
    pub(super) async fn line(&mut self) -> Option<String> {
        if !self.outstanding {
            self.outstanding = self.wanted.send(()).is_ok();
        }
        let line = self.lines.recv().await;
        self.outstanding = false;
        line.flatten()
    }
}

fn line() -> Option<String> {
    let mut bytes = Vec::new();
    match std::io::stdin().lock().read_until(b'\n', &mut bytes) {
        Ok(1..) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Ok(0) | Err(_) => None,
    }
}

//! The program at a terminal of its own, by `script` of util-linux, and a person who types.

use super::{Home, program};
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The question for a choice, as far as it is the same everywhere.
pub(crate) const CHOICE: &str = "Ctrl-C leaves it pending): ";

/// A running program at a terminal.
pub(crate) struct Terminal {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    seen: usize,
}

impl Terminal {
    /// Starts the program with these arguments.
    pub(crate) fn open(home: &Home, arguments: &[&str]) -> Terminal {
        let words = [program().to_str().unwrap()].into_iter().chain(arguments.iter().copied());
        let words: Vec<String> = words.map(quote).collect();
        let mut command = Command::new("script");
        command.args(["-qec", &format!("exec {}", words.join(" ")), "/dev/null"]);
        for (name, value) in home.command(&[]).get_envs() {
            command.env(name, value.unwrap());
        }
        command.env("SHELL", "/bin/sh").current_dir(home.workspace());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("`script` of util-linux");
        let mut out = child.stdout.take().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Terminal { child, input, output, bytes: Vec::new(), seen: 0 }
    }

    /// Types something.
    pub(crate) fn types(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).unwrap();
    }

    /// The end of what is typed.
    pub(crate) fn ends_input(&mut self) {
        drop(self.input.take());
    }

    /// What was shown since the last wait, up to and with this text.
    pub(crate) fn shows(&mut self, what: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let new = self.text(self.seen);
            if let Some(at) = new.find(what) {
                let shown = new[..at + what.len()].to_owned();
                self.seen += shown.len();
                return shown;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.bytes.extend(bytes.into_iter().filter(|byte| *byte != b'\r')),
                Err(_) => panic!("`{what}` is not shown: {}", self.text(0)),
            }
        }
    }

    /// Waits for the end: the exit code, and what was shown since the last wait.
    pub(crate) fn ends(mut self) -> (i32, String) {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(bytes) =
            self.output.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.bytes.extend(bytes.into_iter().filter(|byte| *byte != b'\r'));
        }
        assert!(Instant::now() < deadline, "it does not end: {}", self.text(0));
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (code, self.text(self.seen))
    }

    fn text(&self, from: usize) -> String {
        String::from_utf8_lossy(&self.bytes[from..]).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already wherever a test came to its own end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

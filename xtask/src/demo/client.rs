//! A small MSP client: one host process, NDJSON over its pipes, and a limit on every wait.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// How long the demo waits for any one frame, and for the host's end.
const WAIT: Duration = Duration::from_secs(60);
/// How many of the last frames a failure shows.
const SHOWN: usize = 6;

/// A running host and the one connection to it.
pub(crate) struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<String>,
    frames: Vec<Value>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    last_id: u64,
}

impl Host {
    /// Starts `placet serve` and shakes hands; returns the answer to `initialize` too.
    pub(crate) fn start(
        placet: &Path,
        home: &Path,
        folder: &Path,
    ) -> anyhow::Result<(Self, Value)> {
        let mut child = Command::new(placet)
            .arg("serve")
            .env("PLACET_HOME", home)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {} serve", placet.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("the host has no stdout")?;
        let errors = child.stderr.take().context("the host has no stderr")?;
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        keep_tail(errors, Arc::clone(&stderr));
        let incoming = read_frames(stdout);
        let mut host = Self { child, stdin, incoming, frames: Vec::new(), stderr, last_id: 0 };
        let client = json!({"clientInfo": {"name": "placet_demo", "version": "1"}});
        let answer = host.call("initialize", client)?;
        host.send(&json!({"jsonrpc": "2.0", "method": "initialized"}))?;
        Ok((host, answer))
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A request that must succeed; returns its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let answer = self.request(method, params)?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("the host refused {method}: {}", answer["error"]),
        }
    }

    /// A request that must be refused; returns the error.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let answer = self.request(method, params)?;
        match answer.get("error") {
            Some(error) => Ok(error.clone()),
            None => bail!("the host accepted {method}, which it must refuse: {answer}"),
        }
    }

    fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        self.wait(&format!("the answer to {method}"), |frame| {
            frame.get("method").is_none() && frame.get("id") == Some(&json!(id))
        })
    }

    /// The params of the first notification or request with this method that matches.
    pub(crate) fn event(
        &mut self,
        method: &str,
        matches: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let frame =
            self.wait(method, |frame| frame["method"] == method && matches(&frame["params"]))?;
        Ok(frame["params"].clone())
    }

    /// The params of everything with this method that came so far and matches.
    pub(crate) fn seen(&self, method: &str, matches: impl Fn(&Value) -> bool) -> Vec<Value> {
        let frames = self.frames.iter().filter(|frame| frame["method"] == method);
        frames.map(|frame| frame["params"].clone()).filter(matches).collect()
    }

    /// SIGKILL; returns when the process is gone.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().context("could not kill the host")?;
        self.child.wait().context("the killed host cannot be waited for")?;
        Ok(())
    }

    /// Closes its stdin, as a client that leaves does; returns how the host ended.
    pub(crate) fn close(mut self) -> anyhow::Result<ExitStatus> {
        self.stdin = None;
        let deadline = Instant::now() + WAIT;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the host still runs {} s after its stdin was closed{}", WAIT.as_secs(), self.tail())
    }

    fn send(&mut self, frame: &Value) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("the connection is closed")?;
        let sent = stdin.write_all(format!("{frame}\n").as_bytes()).and_then(|()| stdin.flush());
        sent.with_context(|| format!("the host takes no more input{}", self.tail()))
    }

    fn wait(&mut self, what: &str, matches: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let deadline = Instant::now() + WAIT;
        let mut position = 0;
        loop {
            while let Some(frame) = self.frames.get(position) {
                if matches(frame) {
                    return Ok(frame.clone());
                }
                position += 1;
            }
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.take(&line)?,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("waited {} s for {what}{}", WAIT.as_secs(), self.tail())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("the host ended while the demo waited for {what}{}", self.tail())
                }
            }
        }
    }

    /// Keeps a frame. A server request gets its receipt at once; a receipt decides nothing.
    fn take(&mut self, line: &str) -> anyhow::Result<()> {
        let frame: Value = serde_json::from_str(line)
            .with_context(|| format!("the host wrote a line that is not JSON: {line}"))?;
        let receipt = (frame.get("method").is_some() && frame.get("id").is_some())
            .then(|| json!({"jsonrpc": "2.0", "id": frame["id"], "result": {}}));
        self.frames.push(frame);
        receipt.map_or(Ok(()), |receipt| self.send(&receipt))
    }

    /// What a reader of a failure needs.
    fn tail(&self) -> String {
        let frames = self.frames.iter().rev().take(SHOWN).rev().map(|frame| {
            let text: String = frame.to_string().chars().take(400).collect();
            format!("\n  {text}")
        });
        let mut text = String::from("; its last frames:");
        text.extend(frames);
        text.push_str("\nits standard error:");
        if let Ok(lines) = self.stderr.lock() {
            text.extend(lines.iter().map(|line| format!("\n  {line}")));
        }
        text
    }
}

impl Drop for Host {
    /// A demo that fails must leave no host behind.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read_frames(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn keep_tail(stderr: impl Read + Send + 'static, tail: Arc<Mutex<VecDeque<String>>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let Ok(mut lines) = tail.lock() else { break };
            lines.push_back(line);
            if lines.len() > 40 {
                lines.pop_front();
            }
        }
    });
}

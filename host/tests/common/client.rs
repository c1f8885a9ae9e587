//! A host in a process of its own, and a small JSON-RPC client on its pipes.

use super::home::Home;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running host and the one connection to it.
pub(crate) struct Host {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    errors: Option<JoinHandle<String>>,
    last_id: u64,
    /// Every frame so far, in the order of arrival.
    pub(crate) frames: Vec<Value>,
}

/// A fresh command id.
pub(crate) fn command_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Whether a frame is this notification or request.
pub(crate) fn is_method(frame: &Value, method: &str) -> bool {
    frame["method"] == method
}

/// Whether a frame is this notification about this turn.
pub(crate) fn of_turn(frame: &Value, method: &str, turn: &str) -> bool {
    let params = &frame["params"];
    is_method(frame, method) && (params["turnId"] == turn || params["item"]["turnId"] == turn)
}

impl Host {
    /// A host that nothing was said to yet.
    pub(crate) fn silent(home: &Home) -> Host {
        Host::spawned(home.command(&["serve"]))
    }

    fn spawned(mut command: Command) -> Host {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut errors = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let frame = serde_json::from_str(&line).expect("a frame is JSON");
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        let input = child.stdin.take();
        Host { child, input, lines, errors: Some(errors), last_id: 0, frames: Vec::new() }
    }

    /// A host after the handshake.
    pub(crate) fn start(home: &Home) -> Host {
        Host::start_with(home, &json!({}))
    }

    /// A host whose client has these capabilities.
    pub(crate) fn start_with(home: &Home, capabilities: &Value) -> Host {
        Host::silent(home).greeted(capabilities)
    }

    /// A host after the handshake that has no privileges (see [`Home::unprivileged`]).
    pub(crate) fn unprivileged(home: &Home) -> Host {
        Host::spawned(home.unprivileged(&["serve"])).greeted(&json!({}))
    }

    fn greeted(self, capabilities: &Value) -> Host {
        let mut host = self;
        let client = json!({"name": "rust_client", "version": "1"});
        host.call("initialize", json!({"clientInfo": client, "capabilities": capabilities}));
        host.line(br#"{"jsonrpc":"2.0","method":"initialized"}"#);
        host
    }

    /// Sends a line as it is.
    pub(crate) fn line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).and_then(|()| input.write_all(b"\n")).unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(frame.to_string().as_bytes());
        id
    }

    /// The answer to a request of ours.
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.wait(&format!("the answer to {id}"), 0, |frame| {
            frame.get("method").is_none() && frame["id"] == id
        })
    }

    /// The result of a request that succeeds.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer.get("result").is_some(), "{method} was refused: {answer}");
        answer["result"].clone()
    }

    /// The error of a request that is refused.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{method} was not refused: {answer}");
        answer["error"].clone()
    }

    /// The first frame from position `from` on that matches.
    pub(crate) fn wait(
        &mut self,
        what: &str,
        from: usize,
        matches: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = Instant::now() + PATIENCE;
        let mut next = from;
        loop {
            if let Some(frame) =
                self.frames[next.min(self.frames.len())..].iter().find(|f| matches(f))
            {
                return frame.clone();
            }
            next = next.max(self.frames.len());
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(frame) => self.frames.push(frame),
                Err(RecvTimeoutError::Timeout) => panic!("no {what} in {PATIENCE:?}: {self}"),
                Err(RecvTimeoutError::Disconnected) => panic!("no {what}, stdout ended: {self}"),
            }
        }
    }

    /// The params of the first such notification about a turn.
    pub(crate) fn event(&mut self, method: &str, turn: &str) -> Value {
        let what = format!("{method} of {turn}");
        self.wait(&what, 0, |frame| of_turn(frame, method, turn))["params"].clone()
    }

    /// Starts a session in the home's workspace.
    pub(crate) fn session(&mut self, home: &Home, mode: &str) -> String {
        let root = home.workspace();
        let params =
            json!({"commandId": command_id(), "workspaceRoot": root, "approvalMode": mode});
        self.call("session/start", params)["session"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Loads a session.
    pub(crate) fn resume(&mut self, session: &str) -> Value {
        self.call("session/resume", json!({"sessionId": session, "commandId": command_id()}))
    }

    /// Starts a turn and returns its id.
    pub(crate) fn turn(&mut self, session: &str, text: &str) -> String {
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "commandId": command_id(), "input": input});
        self.call("turn/start", params)["turnId"].as_str().unwrap().to_owned()
    }

    /// The tool call of a turn, as it ended; the turn ends after it.
    pub(crate) fn ended(&mut self, turn: &str) -> Value {
        let item = self.wait(&format!("the item of {turn}"), 0, |frame| {
            of_turn(frame, "item/completed", turn) && frame["params"]["item"]["kind"] == "toolCall"
        });
        assert_eq!(self.event("turn/completed", turn)["turnId"], turn);
        item["params"]["item"].clone()
    }

    /// What decides an approval.
    pub(crate) fn decision(ask: &Value, choice: &str) -> Value {
        json!({
            "sessionId": ask["sessionId"], "commandId": command_id(), "choiceId": choice,
            "approvalId": ask["approvalId"], "requirementId": ask["currentRequirementId"],
        })
    }

    /// Closes the input; the exit code and what stood on stderr.
    pub(crate) fn close(&mut self) -> (i32, String) {
        drop(self.input.take());
        self.exit()
    }

    /// Waits for the end; the exit code and what stood on stderr.
    pub(crate) fn exit(&mut self) -> (i32, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the host does not end: {self}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let errors = self.errors.take().unwrap().join().unwrap();
        self.frames.extend(self.lines.iter());
        (status.code().unwrap_or(-1), errors)
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.unwrap(), signal).unwrap();
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = self.frames.len().saturating_sub(8);
        for frame in &self.frames[last..] {
            write!(out, "\n  {:.600}", frame.to_string())?;
        }
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It has ended already wherever a test came to its own end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

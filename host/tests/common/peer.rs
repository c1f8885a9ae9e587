//! A client on the socket of a host.

use super::{Home, command_id, is_method};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The sockets in a home, in no order.
pub(crate) fn sockets(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.path().join("hosts")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect()
}

/// A connection.
pub(crate) struct Peer {
    output: UnixStream,
    input: BufReader<UnixStream>,
    last_id: u64,
    /// Every frame so far, in the order of arrival.
    pub(crate) frames: Vec<Value>,
}

impl Peer {
    /// A connection that nothing was said on yet.
    pub(crate) fn silent(socket: &Path) -> Peer {
        let output = UnixStream::connect(socket).unwrap();
        output.set_read_timeout(Some(PATIENCE)).unwrap();
        let input = BufReader::new(output.try_clone().unwrap());
        Peer { output, input, last_id: 0, frames: Vec::new() }
    }

    /// A connection after its handshake.
    pub(crate) fn open(socket: &Path) -> Peer {
        let mut peer = Peer::silent(socket);
        peer.call("initialize", json!({"clientInfo": {"name": "peer", "version": "1"}}));
        peer.line(&json!({"jsonrpc": "2.0", "method": "initialized"}));
        peer
    }

    /// The only socket of a home.
    pub(crate) fn of(home: &Home) -> Peer {
        let sockets = sockets(home);
        assert_eq!(sockets.len(), 1, "{sockets:?}");
        Peer::open(&sockets[0])
    }

    pub(crate) fn line(&mut self, frame: &Value) {
        self.output.write_all(format!("{frame}\n").as_bytes()).unwrap();
    }

    /// Says that nothing more will be sent.
    pub(crate) fn ends(&self) {
        self.output.shutdown(std::net::Shutdown::Write).unwrap();
    }

    /// The next frame; none at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.input.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let frame: Value = serde_json::from_str(&line).unwrap();
        self.frames.push(frame.clone());
        Some(frame)
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let frame = self.next().unwrap_or_else(|| panic!("no answer to {method}"));
            if frame.get("method").is_none() && frame["id"] == id {
                return frame;
            }
        }
    }

    /// The result of a request that succeeds.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("result").is_some(), "{method} was refused: {answer}");
        answer["result"].clone()
    }

    /// The error of a request that is refused.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_some(), "{method} was not refused: {answer}");
        answer["error"].clone()
    }

    /// The params of the next such notification or request, from the beginning.
    pub(crate) fn event(&mut self, method: &str) -> Value {
        if let Some(frame) = self.frames.iter().find(|frame| is_method(frame, method)) {
            return frame["params"].clone();
        }
        loop {
            let frame = self.next().unwrap_or_else(|| panic!("no {method}"));
            if is_method(&frame, method) {
                return frame["params"].clone();
            }
        }
    }

    /// Starts a session in the home's workspace.
    pub(crate) fn start(&mut self, home: &Home, mode: Option<&str>) -> Value {
        let params = json!({
            "commandId": command_id(), "workspaceRoot": home.workspace(), "approvalMode": mode,
        });
        self.answer("session/start", params)
    }
}

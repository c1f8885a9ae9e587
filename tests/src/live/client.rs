//! A small client: JSON-RPC lines over any pair of pipes, every frame kept.
//!
//! It blocks, and it takes the end of the host as an answer: with a fault point
//! set, any step may be the last. A frame counts as told when its whole line
//! arrived, also when that happened after the host was gone.

use super::told::{Sent, Told};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a step may take; the steps themselves take milliseconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The host has ended and said nothing more.
#[derive(Debug)]
pub struct Gone;

/// The result of a request, or its error.
pub type Reply = Result<Value, Value>;

#[derive(Default)]
struct Inbox {
    frames: Vec<Value>,
    ended: bool,
}

type Shared = Arc<(Mutex<Inbox>, Condvar)>;

/// One connection.
pub struct Client {
    output: Option<Box<dyn Write + Send>>,
    inbox: Shared,
    reader: Option<JoinHandle<()>>,
    deaf: Arc<AtomicBool>,
    sent: Vec<Sent>,
}

impl Client {
    /// A client that writes to `output` and reads from `input`.
    pub fn new(output: impl Write + Send + 'static, input: impl Read + Send + 'static) -> Client {
        let inbox = Shared::default();
        let deaf = Arc::new(AtomicBool::new(false));
        let (to, stop) = (Arc::clone(&inbox), Arc::clone(&deaf));
        let reader = std::thread::spawn(move || read(BufReader::new(input), &to, &stop));
        Client {
            output: Some(Box::new(output)),
            inbox,
            reader: Some(reader),
            deaf,
            sent: Vec::new(),
        }
    }

    /// Writes a line as it is.
    pub fn line(&mut self, line: &str) -> Result<(), Gone> {
        let output = self.output.as_mut().ok_or(Gone)?;
        let written = output.write_all(format!("{line}\n").as_bytes());
        written.and_then(|()| output.flush()).map_err(|_| Gone)
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> Result<u64, Gone> {
        let id = self.sent.len() as u64 + 1;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.sent.push(Sent { id, method: method.to_owned(), params });
        self.line(&frame.to_string()).map(|()| id)
    }

    /// A request and its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Reply, Gone> {
        let id = self.send(method, params)?;
        let frame = self.wait(&format!("the answer to {method}"), |frame| {
            frame.get("method").is_none() && frame["id"] == id
        })?;
        Ok(match frame.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(frame["error"].clone()),
        })
    }

    /// A request that has to succeed if the host lives to answer it.
    pub fn ok(&mut self, method: &str, params: Value) -> Result<Value, Gone> {
        match self.call(method, params)? {
            Ok(result) => Ok(result),
            Err(error) => panic!("{method} was refused: {error}"),
        }
    }

    /// The first frame, of all so far and those to come, that is wanted.
    pub fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value, Gone> {
        let (inbox, news) = &*self.inbox;
        let until = Instant::now() + PATIENCE;
        let mut inbox = inbox.lock().unwrap();
        let mut seen = 0;
        loop {
            if let Some(frame) = inbox.frames[seen..].iter().find(|frame| wanted(frame)) {
                return Ok(frame.clone());
            }
            seen = inbox.frames.len();
            if inbox.ended {
                return Err(Gone);
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "expected {what} in time; frames so far: {:#?}", inbox.frames);
            inbox = news.wait_timeout(inbox, left).unwrap().0;
        }
    }

    /// The frames behind the first `seen`; waits a while until there is one.
    pub fn after(&self, seen: usize, wait: Duration) -> Result<Vec<Value>, Gone> {
        let (inbox, news) = &*self.inbox;
        let inbox = inbox.lock().unwrap();
        let idle = |inbox: &mut Inbox| inbox.frames.len() <= seen && !inbox.ended;
        let (inbox, _) = news.wait_timeout_while(inbox, wait, idle).unwrap();
        match inbox.frames.get(seen..) {
            Some(frames) if !frames.is_empty() => Ok(frames.to_vec()),
            _ if inbox.ended => Err(Gone),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether the host has ended its output.
    pub fn ended(&self) -> bool {
        self.inbox.0.lock().unwrap().ended
    }

    /// Ends our output: EOF for the host.
    pub fn eof(&mut self) {
        self.output = None;
    }

    /// Closes our end of the host's output with the next frame that arrives.
    pub fn stop_reading(&mut self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    /// Waits until nothing is read any more.
    pub fn join_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    /// Everything that was said on this connection.
    pub fn told(&mut self) -> Told {
        Told { sent: self.sent.clone(), frames: self.inbox.0.lock().unwrap().frames.clone() }
    }
}

fn read(mut input: impl BufRead, to: &Shared, deaf: &AtomicBool) {
    let (inbox, news) = &**to;
    loop {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line).unwrap_or(0);
        // A line without its end was not told.
        let whole = read > 0 && line.ends_with(b"\n");
        let mut inbox = inbox.lock().unwrap();
        if whole {
            inbox.frames.push(serde_json::from_slice(&line).expect("a frame is JSON"));
        }
        inbox.ended = !whole || deaf.load(Ordering::SeqCst);
        news.notify_all();
        if inbox.ended {
            return;
        }
    }
}

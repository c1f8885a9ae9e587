//! One connection: handshake, requests in, frames out, orderly end.

use super::frames::{self, WireError};
use super::methods;
use super::oversized;
use super::params::Params;
use super::reader::{Line, LineReader};
use super::socket::Socket;
use super::trace::Trace;
use super::writer;
use crate::log::Faults;
use crate::sessions::{Hub, Outlet, Party, Ticket, Told, system_now_ms};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::mpsc;

/// What is special about the listener that a connection came on.
#[derive(Clone, Debug)]
pub struct Listener {
    /// A name for the record, for example `stdio`.
    pub name: String,
    /// The mode that its clients may reach at most.
    pub seal: String,
    /// The schema fingerprint that it serves.
    pub fingerprint: String,
}

/// Serves one connection until its input ends or `stop` resolves, leaves every
/// session of the host in order, and returns when everything is written.
///
/// # Errors
/// When the input cannot be read.
pub async fn serve<R, W>(
    hub: Arc<Hub>,
    listener: Listener,
    input: R,
    output: W,
    faults: Arc<Faults>,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    serve_beside(None, hub, listener, input, output, faults, stop).await
}

/// The same for a host that serves a socket as well: the host ends with its own
/// connection, and what came on the socket ends with the host.
///
/// # Errors
/// As [`serve`].
pub async fn serve_beside<R, W>(
    mut socket: Option<Socket>,
    hub: Arc<Hub>,
    listener: Listener,
    input: R,
    output: W,
    faults: Arc<Faults>,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (attended, ended) = attend(&hub, listener, input, output, faults, stop).await;
    // Nothing may be loaded any more once the sessions leave.
    if let Some(socket) = &mut socket {
        socket.quiet().await;
    }
    hub.shutdown().await;
    drop(hub);
    if let Some(socket) = socket {
        socket.close().await;
    }
    attended.drain().await;
    ended
}

/// A connection that is read no more, but still told what its sessions do.
pub(super) struct Attended {
    hub: Arc<Hub>,
    wire: Option<Arc<Wire>>,
    writing: tokio::task::JoinHandle<()>,
}

impl Attended {
    /// Waits until the sessions have let go of the connection and everything is written.
    pub(super) async fn drain(self) {
        drop(self.wire);
        drop(self.hub);
        let _ = self.writing.await;
    }

    /// Lets go of the sessions, which go on without this connection.
    pub(super) async fn leave(self) {
        if let Some(wire) = &self.wire {
            let outlet: Arc<dyn Outlet> = Arc::clone(wire) as Arc<dyn Outlet>;
            self.hub.disconnect(&outlet).await;
        }
        self.drain().await;
    }

    /// Lets go of the writer, whatever it still has to write.
    pub(super) fn abort_handle(&self) -> tokio::task::AbortHandle {
        self.writing.abort_handle()
    }
}

/// Takes what one connection sends, until its input ends or `stop` resolves.
pub(super) async fn attend<R, W>(
    hub: &Arc<Hub>,
    listener: Listener,
    input: R,
    output: W,
    faults: Arc<Faults>,
    stop: impl Future<Output = ()>,
) -> (Attended, std::io::Result<()>)
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (frames, queue) = mpsc::unbounded_channel();
    let trace = Arc::new(Trace::from_environment());
    let writing = tokio::spawn(writer::write(output, queue, faults, Arc::clone(&trace)));
    let mut connection = Connection {
        hub: Arc::clone(hub),
        name: format!("{}-{}", listener.name, uuid::Uuid::new_v4()),
        listener,
        frames,
        trace,
        phase: Phase::New,
    };
    let mut lines = LineReader::new(input);
    let mut stop = std::pin::pin!(stop);
    let ended = loop {
        tokio::select! {
            () = &mut stop => break Ok(()),
            line = lines.next() => match line {
                Ok(Some(line)) => connection.line(line).await,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            },
        }
    };
    let Connection { hub, phase, .. } = connection;
    let wire = match phase {
        Phase::New => None,
        Phase::Greeted(wire) | Phase::Ready(wire) => Some(wire),
    };
    (Attended { hub, wire, writing }, ended)
}

/// How far the handshake has come.
enum Phase {
    New,
    /// `initialize` was answered; notifications wait for `initialized`.
    Greeted(Arc<Wire>),
    Ready(Arc<Wire>),
}

/// The connection as sessions see it.
pub(super) struct Wire {
    frames: mpsc::UnboundedSender<String>,
    party: Party,
    opted_out: Vec<String>,
    next_id: AtomicU64,
}

/// Never dropped, never opted out of.
const PROTECTED: [&str; 4] =
    ["approval/resolved", "userInput/settled", "view/gap", "session/leaveCompleted"];

impl Outlet for Wire {
    fn tell(&self, told: Told) {
        if matches!(&told, Told::Answer { ticket, .. } if *ticket == Ticket::nobody()) {
            return;
        }
        let method = match &told {
            Told::Event(event) => event.method.as_str(),
            Told::Delta { .. } => "item/delta",
            Told::MessageBegun { .. } => "item/started",
            Told::Left { .. } => "session/leaveCompleted",
            Told::Status { .. } => "session/statusChanged",
            Told::Started(_) => "session/started",
            Told::Closed { .. } => "session/closed",
            Told::Answer { .. } | Told::Ask(_) => "",
        };
        if !PROTECTED.contains(&method) && self.opted_out.iter().any(|name| name == method) {
            return;
        }
        // The ids of our requests are positive integers that only grow.
        let next_id = || self.next_id.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let _ = self.frames.send(frames::told(told, system_now_ms(), next_id));
    }

    fn party(&self) -> &Party {
        &self.party
    }
}

struct Connection {
    hub: Arc<Hub>,
    name: String,
    listener: Listener,
    frames: mpsc::UnboundedSender<String>,
    trace: Arc<Trace>,
    phase: Phase,
}

impl Connection {
    fn send(&self, frame: String) {
        // A writer that is gone has nobody to write to.
        let _ = self.frames.send(frame);
    }

    async fn line(&mut self, line: Line) {
        match line {
            Line::Whole(bytes) => match serde_json::from_slice::<Value>(&bytes) {
                Ok(frame) => self.frame(frame).await,
                Err(error) => {
                    let fault = WireError::parse(format!("the line is no JSON: {error}"));
                    self.send(fault.frame(&Value::Null));
                }
            },
            Line::Oversized(prefix) => {
                let limit = u64::try_from(crate::limits::FRAME_BYTES_MAX).unwrap_or(u64::MAX);
                match oversized::id(&prefix) {
                    Some(id) => self.send(WireError::too_large("the frame", limit).frame(&id)),
                    None => {
                        let why = format!("the line is larger than {limit} bytes and shows no id");
                        self.send(WireError::parse(why).frame(&Value::Null));
                    }
                }
            }
        }
    }

    async fn frame(&mut self, frame: Value) {
        let Value::Object(mut frame) = frame else {
            let fault = WireError::request("a frame must be a JSON object");
            return self.send(fault.frame(&Value::Null));
        };
        let id = frame.remove("id");
        let method = frame.remove("method");
        if method.is_none() && (frame.contains_key("result") || frame.contains_key("error")) {
            // A receipt. It says that somebody saw a request, and changes nothing.
            return;
        }
        let answer_to = id.clone().unwrap_or(Value::Null);
        let request = match (frame.get("jsonrpc"), method) {
            (Some(Value::String(version)), Some(Value::String(method))) if version == "2.0" => {
                Ok(method)
            }
            (_, Some(Value::String(_))) => Err("the member jsonrpc must be \"2.0\""),
            _ => Err("a request needs a method"),
        };
        let method = match request {
            Ok(method) => method,
            Err(why) => return self.send(WireError::request(why).frame(&answer_to)),
        };
        match id {
            None => self.notified(&method),
            Some(id) if id.is_string() || id.is_i64() || id.is_u64() => {
                self.trace.asked(&id, &method);
                let result = match Params::new(frame.remove("params")) {
                    Ok(params) => self.request(&id, &method, params).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = result {
                    self.send(error.frame(&id));
                }
            }
            Some(_) => {
                let fault = WireError::request("an id must be a string or a whole number");
                self.send(fault.frame(&Value::Null));
            }
        }
    }

    fn notified(&mut self, method: &str) {
        if method == "initialized"
            && let Phase::Greeted(wire) = &self.phase
        {
            let outlet: Arc<dyn Outlet> = Arc::clone(wire) as Arc<dyn Outlet>;
            self.hub.connect(&outlet);
            self.phase = Phase::Ready(Arc::clone(wire));
        }
    }

    async fn request(&mut self, id: &Value, method: &str, params: Params) -> Result<(), WireError> {
        match (&self.phase, method) {
            (Phase::New, "initialize") => self.initialize(id, &params),
            (_, "initialize") => Err(WireError::new(
                -32600,
                "alreadyInitialized",
                "this connection is initialized already",
            )),
            (Phase::Ready(wire), _) => {
                let outlet: Arc<dyn Outlet> = Arc::clone(wire) as Arc<dyn Outlet>;
                methods::call(&self.hub, outlet, Ticket(id.to_string()), method, &params).await
            }
            (Phase::New | Phase::Greeted(_), _) => Err(WireError::new(
                -32600,
                "notInitialized",
                "send initialize, and initialized after its answer, before anything else",
            )),
        }
    }

    fn initialize(&mut self, id: &Value, params: &Params) -> Result<(), WireError> {
        let client = params.get("clientInfo").and_then(Value::as_object);
        let member = |name: &str| {
            client
                .and_then(|client| client.get(name))
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| WireError::params(format!("clientInfo.{name} must be a string")))
        };
        let name = member("name")?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty()
            || name.len() > crate::limits::CLIENT_NAME_BYTES_MAX
            || !name.chars().all(plain)
        {
            return Err(WireError::params("clientInfo.name must match [a-z0-9_]+"));
        }
        member("version")?;
        let opted_out = params
            .get("capabilities")
            .and_then(|capabilities| capabilities.get("optOutNotificationMethods"))
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        let wire = Wire {
            frames: self.frames.clone(),
            party: Party {
                client: name,
                connection: self.name.clone(),
                seal: self.listener.seal.clone(),
            },
            opted_out,
            next_id: AtomicU64::new(0),
        };
        let version = env!("CARGO_PKG_VERSION");
        let result = json!({
            "serverInfo": {"name": "placet", "version": version},
            "userAgent": format!("placet/{version} ({}; {})", std::env::consts::OS, std::env::consts::ARCH),
            "museHome": self.hub.home().folder(),
            "platformFamily": "unix",
            "platformOs": if cfg!(target_os = "macos") { "macos" } else { "linux" },
            "schema": {"version": 1, "fingerprint": self.listener.fingerprint},
            "grantedCapabilities": [],
            "experimentalApi": false,
            "sessionDurability": "durable",
            "sandboxAvailability": "unavailable",
        });
        self.send(frames::success(&Ticket(id.to_string()), &result.to_string()));
        self.phase = Phase::Greeted(Arc::new(wire));
        Ok(())
    }
}

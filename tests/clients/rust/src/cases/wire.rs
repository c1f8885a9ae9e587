//! The SDK's own connection and types without its client: every request can be sent, every frame is seen.

use crate::facade::environment;
use crate::ground::{Failure, Outcome, Place, WAIT, check, equal, within};
use muse_code_sdk::DuplexTransport;
use muse_code_sdk::connection::{Connection, ConnectionError, StdioTransport};
use muse_code_sdk::handshake::Handshake;
use muse_code_sdk::msp::{ClientInfo, ErrorData, ErrorKind, InitializeParams, InitializeResult};
use muse_code_sdk::spawn::{ExitKind, MuseChild, SpawnOptions, spawn_muse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The name under which we connect.
pub(crate) const CLIENT_NAME: &str = "placet_rust_client";

/// One host process under the SDK's connection.
pub(crate) struct Wire {
    connection: Connection,
    child: MuseChild,
    seen: Arc<Seen>,
    pub(crate) opening: InitializeResult,
}

/// Every frame of the host so far.
#[derive(Default)]
struct Seen {
    frames: Mutex<Vec<Value>>,
    more: Notify,
}

/// The SDK's transport; what it reads is looked at on its way.
struct Tap {
    inner: StdioTransport,
    rest: String,
    seen: Arc<Seen>,
}

type Read<'a> = Pin<Box<dyn Future<Output = io::Result<Option<String>>> + Send + 'a>>;
type Write<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

impl DuplexTransport for Tap {
    fn read_chunk(&mut self) -> Read<'_> {
        Box::pin(async move {
            let chunk = self.inner.read_chunk().await?;
            self.rest.push_str(chunk.as_deref().unwrap_or_default());
            while let Some(end) = self.rest.find('\n') {
                let line: String = self.rest.drain(..=end).collect();
                let frame = serde_json::from_str(&line).map_err(io::Error::other)?;
                self.seen.frames.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
            }
            self.seen.more.notify_waiters();
            Ok(chunk)
        })
    }

    fn write(&mut self, frame: &str) -> Write<'_> {
        self.inner.write(frame)
    }
}

impl Wire {
    /// Spawns `placet serve` on the home of the case and shakes hands.
    pub(crate) async fn spawn(place: &Place) -> Outcome<Wire> {
        let mut options = SpawnOptions::default();
        options.muse_bin = Some(place.placet().to_path_buf());
        options.cwd = Some(place.path("workspace"));
        options.env = Some(environment(place));
        let mut child = spawn_muse(options)?;
        let (stdin, stdout) = (child.take_stdin(), child.take_stdout());
        let inner = StdioTransport::new(stdin.ok_or("no stdin")?, stdout.ok_or("no stdout")?);
        let seen = Arc::new(Seen::default());
        let tap = Tap { inner, rest: String::new(), seen: Arc::clone(&seen) };
        let (connection, driver) = Connection::new(tap);
        tokio::spawn(driver.run());
        let params = InitializeParams {
            client_info: ClientInfo {
                name: CLIENT_NAME.to_owned(),
                version: "1".to_owned(),
                title: None,
            },
            capabilities: None,
        };
        let shaken = within("a handshake", Handshake::new(connection).initialize(params)).await?;
        let shaken = shaken.map_err(|error| format!("the handshake failed: {error}"))?;
        let opening = shaken.initialize_result.clone();
        Ok(Wire { connection: shaken.into_connection(), child, seen, opening })
    }

    /// A request that must be answered with a result of this type.
    pub(crate) async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Outcome<R> {
        let result = self.request(method, params).await?;
        let result = result.map_err(|error| format!("{method} was refused: {error}"))?;
        serde_json::from_value(result)
            .map_err(|error| format!("the result of {method} does not decode: {error}").into())
    }

    /// A request that must be refused with this code and kind; the data of the error.
    pub(crate) async fn refused(
        &self,
        method: &str,
        params: &impl Serialize,
        code: i64,
        kind: ErrorKind,
    ) -> Outcome<ErrorData> {
        match self.request(method, params).await? {
            Err(ConnectionError::Msp(error)) => {
                equal(
                    (error.code(), error.kind()),
                    (code, kind),
                    &format!("the error of {method}"),
                )?;
                Ok(error.data().clone())
            }
            other => {
                Err(format!("expected {method} to be refused with {code}, got {other:?}").into())
            }
        }
    }

    async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Outcome<Result<Value, ConnectionError>> {
        let Value::Object(params) = serde_json::to_value(params)? else {
            return Err("params must be an object".into());
        };
        let answer = self.connection.request(method, Some(params));
        Ok(within(&format!("the answer of {method}"), answer).await?.map(Value::Object))
    }

    /// The first frame with this method whose params the predicate takes, now or later.
    pub(crate) async fn event<T: DeserializeOwned>(
        &self,
        method: &str,
        takes: impl Fn(&T) -> bool,
    ) -> Outcome<T> {
        let found = async {
            loop {
                let more = self.seen.more.notified();
                if let Some(params) = self.all::<T>(method)?.into_iter().find(&takes) {
                    return Ok::<T, Failure>(params);
                }
                // Between the look and the wait a frame may come in unnoticed.
                let _ = tokio::time::timeout(WAIT / 300, more).await;
            }
        };
        within(method, found).await?
    }

    /// The params of every frame with this method so far.
    pub(crate) fn all<T: DeserializeOwned>(&self, method: &str) -> Outcome<Vec<T>> {
        let frames = self.seen.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let of_method = frames.iter().filter(|frame| frame["method"] == method);
        of_method.map(|frame| Ok(serde_json::from_value(frame["params"].clone())?)).collect()
    }

    /// The frames so far, whole.
    pub(crate) fn frames(&self) -> Vec<Value> {
        self.seen.frames.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// SIGKILL.
    pub(crate) async fn kill(mut self) -> Outcome {
        Ok(within("the host to die", self.child.kill()).await??)
    }

    /// End of input; the host must end in order.
    pub(crate) async fn close(mut self) -> Outcome {
        self.connection.close().await;
        let exit = within("the host to end", self.child.close()).await??;
        check(exit.kind == ExitKind::CleanShutdown, format_args!("exit code 0, got {exit:?}"))
    }
}

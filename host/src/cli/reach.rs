//! The approvals of a home from outside of its hosts: the log says what is pending
//! and who holds it, and the holder answers on its socket.

use super::host::reader;
use super::{EXIT_CONFIGURATION, Failure};
use crate::client::{Client, ClientError};
use crate::home::Home;
use crate::limits;
use crate::log::{HostRow, Log as _, PendingRow, SqliteLog};
use crate::sessions::Hub;
use crate::transport;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A home that is looked at.
pub(super) struct Reach {
    pub(super) log: Arc<SqliteLog>,
    folder: PathBuf,
    /// For sessions that no host answers for.
    hub: Option<Arc<Hub>>,
}

/// Who has a session loaded.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    pub(super) host: String,
    /// Why it cannot be asked, if it cannot.
    pub(super) silent: Option<String>,
}

impl Reach {
    /// The home; none where there is no log yet.
    pub(super) fn open() -> Result<Result<Reach, PathBuf>, Failure> {
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let folder = Home::default_folder().map_err(configuration)?;
        match SqliteLog::open_read_only(&folder) {
            Ok(log) => Ok(Ok(Reach { log, folder, hub: None })),
            Err(_) if is_absent(&folder.join("placet.db")) => Ok(Err(folder)),
            Err(error) => Err(error.into()),
        }
    }

    /// The pending requests of a session, and who holds it.
    pub(super) async fn session(
        &mut self,
        session: &str,
    ) -> Result<(Vec<Value>, Option<Holder>), Failure> {
        let Some(row) = self.log.holder(session).await? else {
            return Ok((self.stored(session).await?, None));
        };
        match self.connect(&row).await {
            Ok(mut client) => match listed(&mut client, session).await {
                Ok(requests) => Ok((requests, Some(Holder { host: row.host, silent: None }))),
                Err(error) => {
                    let silent = Some(error.to_string());
                    Ok((self.stored(session).await?, Some(Holder { host: row.host, silent })))
                }
            },
            Err(why) => {
                let silent = Some(why);
                Ok((self.stored(session).await?, Some(Holder { host: row.host, silent })))
            }
        }
    }

    /// A connection to a host.
    pub(super) async fn connect(&self, row: &HostRow) -> Result<Client, String> {
        let Some(socket) = &row.socket else {
            return Err("it has no socket (see [serve] in placet.toml)".to_owned());
        };
        let connecting = async {
            let stream = transport::connect(Path::new(socket)).await.map_err(|e| e.to_string())?;
            let (input, output) = stream.into_split();
            Client::open(input, output, "placet_cli").await.map_err(|error| error.to_string())
        };
        within(connecting).await.unwrap_or_else(|| Err("it does not answer".to_owned()))
    }

    /// What the log says of a session, by the component alone.
    async fn stored(&mut self, session: &str) -> Result<Vec<Value>, Failure> {
        let hub = match &self.hub {
            Some(hub) => Arc::clone(hub),
            None => reader(&self.folder, Arc::clone(&self.log))?,
        };
        self.hub = Some(Arc::clone(&hub));
        let pending = hub.pending(session).await;
        let pending =
            pending.map_err(|fault| Failure::new(EXIT_CONFIGURATION, fault.sentence()))?;
        Ok(approvals(serde_json::from_str(&pending).unwrap_or_default()))
    }

    /// When an approval was opened, in milliseconds since 1970.
    pub(super) async fn since(&self, row: &PendingRow) -> Option<u64> {
        let record = self.log.record(&row.session, row.sequence).await.ok().flatten();
        record.map(|record| record.header.time_ms)
    }
}

/// What a host says is pending in a session.
pub(super) async fn listed(client: &mut Client, session: &str) -> Result<Vec<Value>, ClientError> {
    let asked = client.request("approval/listPending", json!({"sessionId": session}));
    within(asked).await.unwrap_or(Err(ClientError::Ended)).map(approvals)
}

/// The outcome, unless it takes too long.
pub(super) async fn within<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(limits::SOCKET_ANSWER_MS_MAX), work).await.ok()
}

fn approvals(mut result: Value) -> Vec<Value> {
    match result.get_mut("approvals").map(Value::take) {
        Some(Value::Array(approvals)) => approvals,
        _ => Vec::new(),
    }
}

fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

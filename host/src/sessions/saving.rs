//! Grants that outlive their session: kept when a step says so, and brought back to
//! every step that begins while they are in force.

use super::actor::{Actor, Message};
use super::hub::Hub;
use crate::engine::types::{GrantKept, LastingGrant};
use crate::limits;
use crate::log::{GrantRow, GrantsInForce, LogError};
use crate::reviewer::grants_root;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What was in force at a root when it was read last.
pub(super) type Cache = Mutex<HashMap<String, GrantsInForce>>;

/// Where grants of a session count; nowhere without a workspace.
pub(super) fn root(workspace: Option<&str>) -> Option<String> {
    let root = grants_root(Path::new(workspace?)).into_os_string();
    root.into_string().ok()
}

/// What is in force at a root now. Whether anything changed is looked up with every step:
/// a revocation by any process binds what begins after it.
pub(super) async fn in_force(hub: &Hub, root: Option<&str>) -> Vec<String> {
    let Some(root) = root else { return Vec::new() };
    match read(hub, root).await {
        Ok(found) => found.texts,
        // What cannot be read allows nothing: a person is asked.
        Err(error) => {
            eprintln!("placet: the grants of {root} cannot be read, so none is in force: {error}");
            Vec::new()
        }
    }
}

async fn read(hub: &Hub, root: &str) -> Result<GrantsInForce, LogError> {
    let store = hub.log.grants();
    let revision = store.revision().await?;
    let known = hub.grants.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
    if let Some(known) = known.filter(|known| known.revision == revision) {
        return Ok(known);
    }
    let found = store.in_force(root).await?;
    let mut cache = hub.grants.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() >= limits::GRANT_ROOTS_CACHED_MAX {
        cache.clear();
    }
    cache.insert(root.to_owned(), found.clone());
    Ok(found)
}

/// Keeps a grant. Whether it is kept is always known in the end: where the answer is
/// unclear it is kept again, which changes nothing, and then looked for.
async fn keep(hub: &Hub, session: &str, grant: LastingGrant) -> GrantKept {
    let LastingGrant { approval_id, root, text, preview, given_ms, client, mode } = grant;
    let session = session.to_owned();
    let id = approval_id.clone();
    let row = GrantRow { id, root, text, preview, given_ms, session, client, mode };
    let store = hub.log.grants();
    let mut end = store.keep(row.clone()).await;
    if matches!(end, Err(LogError::Unknown { .. } | LogError::Busy { .. })) {
        end = store.keep(row).await;
    }
    if matches!(end, Err(LogError::Unknown { .. })) {
        let found = store.list().await;
        if found.is_ok_and(|rows| rows.iter().any(|row| row.id == approval_id)) {
            end = Ok(());
        }
    }
    GrantKept { approval_id, failure: end.err().map(|error| error.to_string()) }
}

impl Actor {
    /// Keeps a grant, and lets the other sessions of its root know.
    pub(super) async fn keep(&self, grant: LastingGrant) -> GrantKept {
        let root = grant.root.clone();
        let kept = keep(&self.hub, &self.session, grant).await;
        if kept.failure.is_none() {
            let (hub, session) = (self.hub.clone(), self.session.clone());
            tokio::spawn(async move { hub.granted(&session, &root).await });
        }
        kept
    }
}

impl Hub {
    /// Tells the loaded sessions, but for the one that gave it, of a grant at a root. One
    /// that has too much to do meets the grant with what it does next.
    async fn granted(&self, by: &str, root: &str) {
        for (_, loaded) in self.loaded().await.iter().filter(|(session, _)| *session != by) {
            let _ = loaded.mailbox.try_send(Message::Granted { root: root.to_owned() });
        }
    }
}

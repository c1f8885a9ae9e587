//! Tests of the SQLite engine: the common suite, files, several hosts, crashes.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod crash;
mod faults;
mod files;
mod suite;

use std::path::Path;
use std::sync::Arc;

use super::SqliteLog;
use crate::log::conformance::draft;
use crate::log::{Append, Draft, Lease, Log as _, SessionMeta};

fn open(home: &Path) -> Arc<SqliteLog> {
    SqliteLog::open(home).unwrap()
}

fn one(sequence: u64) -> Vec<Draft> {
    vec![draft(sequence, Vec::new())]
}

/// Appends one record at the head.
async fn push(log: &SqliteLog, lease: &Lease) -> Append {
    let head = log.head(&lease.session).await.unwrap();
    log.append(lease, &head.version, one(head.sequence + 1)).await
}

async fn session(log: &SqliteLog, id: &str) -> Lease {
    log.create(id, SessionMeta::default()).await.unwrap()
}

/// Opens the database with no more than SQLite, as a vandal would.
fn raw(home: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(home.join("placet.db")).unwrap()
}

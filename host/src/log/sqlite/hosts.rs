//! How a host begins: it opens the log, buries the dead and starts its writer.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};
use tokio::sync::mpsc;

use super::writer::Writer;
use super::{Shared, SqliteLog, from_sqlite, int, read, schema};
use crate::limits::{LOG_DISK_FREE_BYTES_MIN, LOG_QUEUE_JOBS_MAX};
use crate::log::error::LogError;
use crate::log::fault::Faults;
use crate::log::home::{Home, Life, cannot_open, lock_name};

/// Opens the log in `root` as a new host.
pub(super) fn start(root: &Path, faults: Arc<Faults>) -> Result<SqliteLog, LogError> {
    let home = Home::prepare(root)?;
    has_room(&home)?;
    let host = uuid::Uuid::new_v4().to_string();
    let commit_lock = home.commit_lock()?;
    commit_lock.lock().map_err(|error| cannot_open(root, error))?;
    let opened = schema::open_writer(&home).and_then(|mut connection| {
        let life = register(&home, &host, &mut connection)?;
        Ok((connection, life))
    });
    commit_lock.unlock().map_err(|error| cannot_open(root, error))?;
    let (connection, life) = opened?;

    let shared = Arc::new(Shared::new(home, host, faults));
    let (sender, receiver) = mpsc::channel(LOG_QUEUE_JOBS_MAX);
    let writer = Writer::new(connection, commit_lock, Arc::clone(&shared), receiver);
    let thread = std::thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || writer.run())
        .map_err(|error| cannot_open(root, error))?;
    Ok(SqliteLog { shared, jobs: Some(sender), thread: Some(thread), _life: Some(life) })
}

/// A host writes that it is there, and what it then does is written as well.
fn has_room(home: &Home) -> Result<(), LogError> {
    if home.free_bytes().unwrap_or(u64::MAX) >= LOG_DISK_FREE_BYTES_MIN {
        return Ok(());
    }
    let why = format!("the disk is full: {LOG_DISK_FREE_BYTES_MIN} bytes must be free");
    Err(LogError::Io { why })
}

/// Enters this host and removes those that are dead. The commit lock is held, so
/// that no two processes do this at once. Leases stay: their epochs go on, and a
/// host whose file is gone counts as dead.
fn register(home: &Home, host: &str, connection: &mut Connection) -> Result<Life, LogError> {
    let rows = read::hosts(connection)?;
    let files = home.lock_files()?;
    let life = home.begin_life(host)?;
    let dead: Vec<_> = rows.iter().filter(|row| !home.is_alive(&row.host)).collect();
    let mut run = || {
        let transaction = connection.transaction()?;
        for row in &dead {
            transaction.execute("DELETE FROM hosts WHERE host = ?1", [&row.host])?;
        }
        transaction.execute(
            "INSERT INTO hosts (host, lock_name, started_ms) VALUES (?1, ?2, ?3)",
            params![host, lock_name(host), int(now_ms())],
        )?;
        transaction.commit()
    };
    run().map_err(|error: rusqlite::Error| from_sqlite(&error))?;
    for row in &dead {
        home.bury(&row.host, row.socket.as_deref());
    }
    for file in files.iter().filter(|file| !home.is_alive(file)) {
        home.bury(file, None);
    }
    Ok(life)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

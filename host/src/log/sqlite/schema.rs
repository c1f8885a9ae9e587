//! The tables, their numbered migrations, and how a database is opened.
//!
//! Before anything is written the file is looked at, in a way that cannot change
//! it: one that is not ours, or that a newer placet wrote, is refused untouched.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::limits::{LOG_BUSY_TIMEOUT_MS, LOG_WAL_KEPT_BYTES_MAX};
use crate::log::error::LogError;
use crate::log::home::{Home, cannot_open};

/// Marks the file as ours: "PLCT".
pub(super) const APPLICATION_ID: i64 = 0x504C_4354;

/// Migration n leads to format n + 1. Released ones are never edited.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE sessions (
    session TEXT PRIMARY KEY NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    workspace TEXT,
    head_sequence INTEGER NOT NULL,
    head_chain BLOB NOT NULL
) STRICT;
CREATE INDEX sessions_created ON sessions (created_ms);

-- The body comes last, so that headers are read without it.
CREATE TABLE records (
    session TEXT NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    header BLOB NOT NULL,
    salt BLOB,
    body_hash BLOB NOT NULL,
    chain BLOB NOT NULL,
    body BLOB,
    UNIQUE (session, sequence)
) STRICT;

CREATE TABLE pending (
    session TEXT NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
    approval TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (session, approval)
) STRICT, WITHOUT ROWID;

CREATE TABLE commands (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    payload TEXT NOT NULL,
    ack TEXT NOT NULL,
    PRIMARY KEY (scope, id)
) STRICT;
CREATE INDEX commands_session ON commands (session);

CREATE TABLE snapshots (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    format INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- The row outlives a release, so that epochs never repeat.
CREATE TABLE leases (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (session) ON DELETE CASCADE,
    host TEXT,
    epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE hosts (
    host TEXT PRIMARY KEY NOT NULL,
    lock_name TEXT NOT NULL,
    socket TEXT,
    started_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
",
    "
-- Grants that outlive their session. A revoked one stays: kept again, it is still revoked.
CREATE TABLE grants (
    id TEXT PRIMARY KEY NOT NULL,
    root TEXT NOT NULL,
    text TEXT NOT NULL,
    preview TEXT NOT NULL,
    given_ms INTEGER NOT NULL,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    mode TEXT NOT NULL,
    revoked INTEGER NOT NULL
) STRICT;
CREATE INDEX grants_root ON grants (root);

-- All grants of a root, or of every root (an empty one), were revoked then.
CREATE TABLE grant_cuts (
    root TEXT PRIMARY KEY NOT NULL,
    cut_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row. Raised with every change of the grants.
CREATE TABLE grant_revision (revision INTEGER NOT NULL) STRICT;
INSERT INTO grant_revision (revision) VALUES (0);
",
];

/// The format that this program writes.
pub(super) fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// What a look at the file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// No file, or an empty one.
    Nothing,
    /// A log of ours, in a format that we know.
    Log(i64),
}

/// Looks at the main file alone. SQLite does the reading, not `File`: to close a
/// descriptor of our own would drop the locks of other connections in this
/// process. `immutable` makes it take no locks and create no files.
fn probe(path: &Path) -> Result<Found, LogError> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(cannot_open(path, error)),
        Ok(metadata) if !metadata.is_file() => return Err(cannot_open(path, "it is not a file")),
        Ok(metadata) if metadata.len() == 0 => return Ok(Found::Nothing),
        Ok(_) => {}
    }
    let connection = open_immutable(path)?;
    // A host that is killed in a checkpoint may leave a first page that counts pages which
    // only the write-ahead file has. That is no damage, and the first page is all that
    // counts here; this keeps SQLite from refusing the file for it.
    connection
        .pragma_update(None, "writable_schema", true)
        .map_err(|error| cannot_open(path, error))?;
    check_ours(&connection, path)
}

/// Checks the two numbers by which we know our files.
fn check_ours(connection: &Connection, path: &Path) -> Result<Found, LogError> {
    let not_ours = |why: String| LogError::NotALog { path: path.display().to_string(), why };
    let number = |name| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|error| {
            match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::NotADatabase) => {
                    not_ours("it is not a database".to_owned())
                }
                _ => cannot_open(path, error),
            }
        })
    };
    let application = number("application_id")?;
    if application != APPLICATION_ID {
        return Err(not_ours(format!("it belongs to another program (id {application})")));
    }
    let format = number("user_version")?;
    if format > newest() {
        let path = path.display().to_string();
        return Err(LogError::Newer { path, found: format, known: newest() });
    }
    Ok(Found::Log(format))
}

/// Opens the write connection; creates or migrates the database when needed. The
/// caller holds the commit lock.
pub(super) fn open_writer(home: &Home) -> Result<Connection, LogError> {
    let path = home.database();
    let found = probe(&path)?;
    if found != Found::Nothing {
        // The main file may be behind its write-ahead file.
        check_ours(&open_reader(home)?, &path)?;
    }
    home.touch_database()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(&path, flags).map_err(|error| cannot_open(&path, error))?;
    set_up(&mut connection, found).map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
            LogError::Corrupt { what: path.display().to_string(), why: error.to_string() }
        }
        _ => cannot_open(&path, error),
    })?;
    Ok(connection)
}

fn set_up(connection: &mut Connection, found: Found) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_millis(LOG_BUSY_TIMEOUT_MS))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    let format = match found {
        Found::Nothing => 0,
        Found::Log(_) => connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
    };
    if format < newest() {
        // A new file gets its tables before it gets a write-ahead file: either the
        // main file says that it is ours, or it is empty.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        for migration in MIGRATIONS.iter().skip(usize::try_from(format).unwrap_or(0)) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", newest())?;
        transaction.commit()?;
    }
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let kept = i64::try_from(LOG_WAL_KEPT_BYTES_MAX).unwrap_or(i64::MAX);
    connection.query_row(&format!("PRAGMA journal_size_limit = {kept}"), [], |_| Ok(()))
}

/// Opens a connection that cannot write.
pub(super) fn open_reader(home: &Home) -> Result<Connection, LogError> {
    let path = home.database();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(&path, flags)
        .and_then(|connection| {
            connection.busy_timeout(Duration::from_millis(LOG_BUSY_TIMEOUT_MS))?;
            Ok(connection)
        })
        .map_err(|error| cannot_open(&path, error))
}

/// Opens the log for `placet log`: it must be ours and need no migration.
pub(super) fn open_inspector(home: &Home) -> Result<Connection, LogError> {
    let path = home.database();
    if probe(&path)? == Found::Nothing {
        let why = "the file is empty".to_owned();
        return Err(LogError::NotALog { path: path.display().to_string(), why });
    }
    let connection = match open_reader(home).and_then(|c| check_ours(&c, &path).map(|f| (c, f))) {
        Ok(found) => found,
        // In a folder where nothing can be created a log that nobody has open can
        // still be read, as it lies there.
        Err(LogError::CannotOpen { .. }) if !home.root().join("placet.db-wal").exists() => {
            let connection = open_immutable(&path)?;
            let found = check_ours(&connection, &path)?;
            (connection, found)
        }
        Err(error) => return Err(error),
    };
    match connection {
        (connection, Found::Log(format)) if format == newest() => Ok(connection),
        (_, Found::Log(found)) => {
            let path = path.display().to_string();
            Err(LogError::Older { path, found, known: newest() })
        }
        (_, Found::Nothing) => Err(cannot_open(&path, "the file is empty")),
    }
}

pub(super) fn open_immutable(path: &Path) -> Result<Connection, LogError> {
    let text = path.to_str().ok_or_else(|| cannot_open(path, "its path is not UTF-8"))?;
    let escaped = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // A path that begins with // would be read as a host name.
    let slashes = if text.starts_with('/') { "//" } else { "" };
    Connection::open_with_flags(format!("file:{slashes}{escaped}?immutable=1"), flags)
        .map_err(|error| cannot_open(path, error))
}

//! Everything that only reads.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{from_sqlite, int, uint};
use crate::log::chain::{Digest, Walk};
use crate::log::error::LogError;
use crate::log::header::{Header, Raw, Stored, read_header};
use crate::log::store::{
    CommandRow, PendingRow, SessionRow, Snapshot, Verification, VerifyFault, Version,
};

type Read<T> = Result<T, LogError>;

const RECORD: &str = "SELECT sequence, header, salt, body, body_hash, chain FROM records";

/// The version of a session: its records say where it is, their salts that it is
/// this session and not one of the same name that was there before.
pub(super) fn version(sequence: u64, chain: &Digest) -> Version {
    let mark = chain.iter().take(8).fold(0_u64, |mark, byte| (mark << 8) | u64::from(*byte));
    Version(format!("{sequence}-{mark:016x}"))
}

/// The head of a session, `None` when there is no such session.
pub(super) fn head(db: &Connection, session: &str) -> rusqlite::Result<Option<(u64, Digest)>> {
    db.prepare_cached("SELECT head_sequence, head_chain FROM sessions WHERE session = ?1")?
        .query_row([session], |row| Ok((uint(row.get(0)?), row.get(1)?)))
        .optional()
}

fn must_exist(db: &Connection, session: &str) -> Read<(u64, Digest)> {
    match head(db, session).map_err(|error| from_sqlite(&error))? {
        Some(head) => Ok(head),
        None => Err(LogError::not_found(session)),
    }
}

pub(super) fn existing_head(db: &Connection, session: &str) -> Read<(u64, Digest)> {
    must_exist(db, session)
}

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        sequence: uint(row.get(0)?),
        header: row.get(1)?,
        salt: row.get(2)?,
        body: row.get(3)?,
        body_hash: row.get(4)?,
        chain: row.get(5)?,
    })
}

fn stored(session: &str, raw: Raw) -> Read<Stored> {
    let sequence = raw.sequence;
    raw.read().map_err(|why| LogError::corrupt_record(session, sequence, why))
}

pub(super) fn records(
    db: &Connection,
    session: &str,
    after: u64,
    limit: usize,
    max_bytes: usize,
) -> Read<Vec<Stored>> {
    must_exist(db, session)?;
    let mut records = Vec::new();
    let mut bytes = 0_usize;
    let mut run = || -> rusqlite::Result<Result<(), LogError>> {
        let mut statement = db.prepare_cached(&format!(
            "{RECORD} WHERE session = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
        ))?;
        let mut rows = statement.query(params![session, int(after), int(limit as u64)])?;
        while let Some(row) = rows.next()? {
            let raw = raw(row)?;
            let body = raw.body.as_ref().map_or(0, Vec::len);
            bytes = bytes.saturating_add(raw.header.len()).saturating_add(body);
            if bytes > max_bytes && !records.is_empty() {
                break;
            }
            match stored(session, raw) {
                Ok(record) => records.push(record),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    };
    run().map_err(|error| from_sqlite(&error))??;
    Ok(records)
}

pub(super) fn record(db: &Connection, session: &str, sequence: u64) -> Read<Option<Stored>> {
    must_exist(db, session)?;
    let found = db
        .prepare_cached(&format!("{RECORD} WHERE session = ?1 AND sequence = ?2"))
        .and_then(|mut s| s.query_row(params![session, int(sequence)], raw).optional())
        .map_err(|error| from_sqlite(&error))?;
    found.map(|raw| stored(session, raw)).transpose()
}

pub(super) fn headers(db: &Connection, session: &str) -> Read<Vec<Header>> {
    must_exist(db, session)?;
    let rows: Vec<(u64, Vec<u8>)> = all(
        db,
        "SELECT sequence, header FROM records WHERE session = ?1 ORDER BY sequence",
        [session],
        |row| Ok((uint(row.get(0)?), row.get(1)?)),
    )?;
    rows.into_iter()
        .map(|(sequence, bytes)| {
            read_header(&bytes, sequence)
                .map_err(|why| LogError::corrupt_record(session, sequence, why))
        })
        .collect()
}

pub(super) fn snapshot(db: &Connection, session: &str) -> Read<Option<Snapshot>> {
    must_exist(db, session)?;
    db.prepare_cached("SELECT sequence, format, bytes FROM snapshots WHERE session = ?1")
        .and_then(|mut statement| {
            statement
                .query_row([session], |row| {
                    let (sequence, format) = (uint(row.get(0)?), row.get(1)?);
                    Ok(Snapshot { sequence, format, bytes: row.get(2)? })
                })
                .optional()
        })
        .map_err(|error| from_sqlite(&error))
}

pub(super) fn pending(db: &Connection) -> Read<Vec<PendingRow>> {
    all(
        db,
        "SELECT session, approval, sequence FROM pending ORDER BY session, sequence, approval",
        [],
        |row| {
            let sequence = uint(row.get(2)?);
            Ok(PendingRow { session: row.get(0)?, approval: row.get(1)?, sequence })
        },
    )
}

pub(super) fn command(db: &Connection, scope: &str, id: &str) -> Read<Option<CommandRow>> {
    let rows = all(
        db,
        "SELECT session, sequence, payload, ack FROM commands WHERE scope = ?1 AND id = ?2",
        [scope, id],
        |row| {
            let sequence = uint(row.get(1)?);
            Ok(CommandRow {
                session: row.get(0)?,
                sequence,
                payload: row.get(2)?,
                ack: row.get(3)?,
            })
        },
    )?;
    Ok(rows.into_iter().next())
}

const SESSION: &str =
    "SELECT session, created_ms, updated_ms, workspace, head_sequence FROM sessions";

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        session: row.get(0)?,
        created_ms: uint(row.get(1)?),
        updated_ms: uint(row.get(2)?),
        workspace: row.get(3)?,
        head_sequence: uint(row.get(4)?),
    })
}

pub(super) fn sessions(db: &Connection) -> Read<Vec<SessionRow>> {
    all(db, &format!("{SESSION} ORDER BY created_ms DESC, session DESC"), [], session_row)
}

pub(super) fn session(db: &Connection, session: &str) -> Read<Option<SessionRow>> {
    Ok(all(db, &format!("{SESSION} WHERE session = ?1"), [session], session_row)?.pop())
}

/// The hosts in the table, and whom a session belongs to.
pub(super) fn hosts(db: &Connection) -> Read<Vec<super::HostRow>> {
    all(db, "SELECT host, socket, started_ms FROM hosts ORDER BY started_ms, host", [], |row| {
        let started_ms = uint(row.get(2)?);
        Ok(super::HostRow { host: row.get(0)?, socket: row.get(1)?, started_ms, alive: false })
    })
}

pub(super) fn holder(db: &Connection, session: &str) -> Read<Option<String>> {
    must_exist(db, session)?;
    let rows: Vec<Option<String>> =
        all(db, "SELECT host FROM leases WHERE session = ?1", [session], |row| row.get(0))?;
    Ok(rows.into_iter().next().flatten())
}

/// Checks a session in one read transaction, so that appends may go on meanwhile.
pub(super) fn verify(db: &Connection, session: &str) -> Read<Verification> {
    let transaction = db.unchecked_transaction().map_err(|error| from_sqlite(&error))?;
    let found: Option<(u64, Vec<u8>)> = all(
        &transaction,
        "SELECT head_sequence, head_chain FROM sessions WHERE session = ?1",
        [session],
        |row| Ok((uint(row.get(0)?), row.get(1)?)),
    )?
    .pop();
    let Some((sequence, chain)) = found else { return Err(LogError::not_found(session)) };
    let mut walk = Walk::new(session);
    let mut run = || -> rusqlite::Result<Result<(), VerifyFault>> {
        let mut statement = transaction
            .prepare_cached(&format!("{RECORD} WHERE session = ?1 ORDER BY sequence"))?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            if let Err(fault) = walk.step(&raw(row)?) {
                return Ok(Err(fault));
            }
        }
        Ok(Ok(()))
    };
    let walked = run();
    match walked.map_err(|error| from_sqlite(&error)) {
        Ok(Ok(())) => Ok(walk.finish(sequence, &chain)),
        Ok(Err(fault)) => Ok(Err(fault)),
        // A page that cannot be read: what it holds of this session begins with this record.
        Err(LogError::Corrupt { why, .. }) => {
            let why = format!("it cannot be read ({why})");
            Ok(Err(VerifyFault { sequence: walk.expected(), why }))
        }
        Err(error) => Err(error),
    }
}

/// What is wrong with the file as SQLite sees it, whatever it holds.
pub(super) fn damage(db: &Connection) -> Read<Option<String>> {
    match all(db, "PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(found) => Ok(found.into_iter().next().filter(|word| word != "ok")),
        Err(LogError::Corrupt { why, .. }) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

pub(super) fn all<T, P, F>(db: &Connection, sql: &str, params: P, read: F) -> Read<Vec<T>>
where
    P: rusqlite::Params,
    F: FnMut(&Row<'_>) -> rusqlite::Result<T>,
{
    db.prepare_cached(sql)
        .and_then(|mut statement| statement.query_map(params, read)?.collect())
        .map_err(|error| from_sqlite(&error))
}

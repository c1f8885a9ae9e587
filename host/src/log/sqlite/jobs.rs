//! What is done inside a transaction: appends, leases, and the few other writes.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::writer::{Failure, Group};
use super::{int, read, uint};
use crate::log::chain::{self, Digest};
use crate::log::error::LogError;
use crate::log::header::{Encoded, Mark, check_follows, read_header};
use crate::log::store::{Lease, SessionMeta, Version};

/// Creates a session with its first lease.
pub(super) fn create(
    group: &mut Group<'_>,
    session: &str,
    meta: &SessionMeta,
) -> Result<Lease, Failure> {
    let db = group.connection;
    let created = int(meta.created_ms);
    let inserted = db
        .prepare_cached(
            "INSERT INTO sessions (session, created_ms, updated_ms, workspace, head_sequence, \
             head_chain) VALUES (?1, ?2, ?2, ?3, 0, ?4) ON CONFLICT DO NOTHING",
        )?
        .execute(params![session, created, meta.workspace, chain::start(session)])?;
    if inserted == 0 {
        return Err(LogError::SessionExists { session: session.to_owned() }.into());
    }
    db.prepare_cached("INSERT INTO leases (session, host, epoch) VALUES (?1, ?2, 1)")?
        .execute(params![session, group.shared.host])?;
    Ok(Lease { session: session.to_owned(), epoch: 1 })
}

/// Takes the lease of a session if its holder, if any, is dead.
pub(super) fn lease(group: &mut Group<'_>, session: &str) -> Result<Lease, Failure> {
    let db = group.connection;
    let row: Option<(Option<String>, i64)> = db
        .prepare_cached("SELECT host, epoch FROM leases WHERE session = ?1")?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((holder, epoch)) = row else { return Err(LogError::not_found(session).into()) };
    match holder {
        // Where nobody here has the lease it was taken in a commit of which this host
        // never learnt whether it was made: it may be taken again.
        Some(holder) if holder == group.shared.host && group.shared.held.has(session) => {
            return Err(LogError::AlreadyHeld { session: session.to_owned() }.into());
        }
        Some(holder) if holder == group.shared.host => {}
        Some(holder) if group.shared.home.is_alive(&holder) => {
            return Err(LogError::InUse { session: session.to_owned(), holder }.into());
        }
        _ => {}
    }
    let epoch = uint(epoch).saturating_add(1);
    db.prepare_cached("UPDATE leases SET host = ?2, epoch = ?3 WHERE session = ?1")?
        .execute(params![session, group.shared.host, int(epoch)])?;
    Ok(Lease { session: session.to_owned(), epoch })
}

/// Gives a lease back.
pub(super) fn release(group: &mut Group<'_>, lease: &Lease) -> Result<(), Failure> {
    check_lease(group, lease)?;
    group
        .connection
        .prepare_cached("UPDATE leases SET host = NULL WHERE session = ?1")?
        .execute([&lease.session])?;
    Ok(())
}

fn check_lease(group: &Group<'_>, lease: &Lease) -> Result<(), Failure> {
    let held = group
        .connection
        .prepare_cached("SELECT 1 FROM leases WHERE session = ?1 AND host = ?2 AND epoch = ?3")?
        .exists(params![lease.session, group.shared.host, int(lease.epoch)])?;
    if held { Ok(()) } else { Err(Failure::Conflict) }
}

/// Appends a batch.
pub(super) fn append(
    group: &mut Group<'_>,
    lease: &Lease,
    expected: &Version,
    batch: &[Encoded],
) -> Result<(Version, u64), Failure> {
    check_lease(group, lease)?;
    let db = group.connection;
    let Some((mut head, mut chain)) = read::head(db, &lease.session)? else {
        return Err(Failure::Conflict);
    };
    if read::version(head, &chain) != *expected {
        return Err(Failure::Conflict);
    }
    check_follows(head, batch).map_err(Failure::Refused)?;
    let mut updated_ms = 0;
    for record in batch {
        head = record.header.sequence;
        chain = chain::next(&chain, &record.header_bytes, &record.body_hash);
        insert(db, &lease.session, record, &chain)?;
        project(db, &lease.session, head, &record.header.marks)?;
        updated_ms = record.header.time_ms;
        group.shared.faults.hit("after-insert");
    }
    db.prepare_cached(
        "UPDATE sessions SET head_sequence = ?2, head_chain = ?3, updated_ms = ?4 \
         WHERE session = ?1",
    )?
    .execute(params![lease.session, int(head), chain, int(updated_ms)])?;
    group.raised.push((lease.session.clone(), head));
    Ok((read::version(head, &chain), head))
}

fn insert(
    db: &Connection,
    session: &str,
    record: &Encoded,
    chain: &Digest,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO records (session, sequence, header, salt, body_hash, chain, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        session,
        int(record.header.sequence),
        record.header_bytes,
        record.salt,
        record.body_hash,
        chain,
        record.body,
    ])?;
    Ok(())
}

/// Keeps the lookups in step with the marks. The first record of a command stands.
fn project(db: &Connection, session: &str, sequence: u64, marks: &[Mark]) -> rusqlite::Result<()> {
    for mark in marks {
        match mark {
            Mark::Opens { approval } => db
                .prepare_cached(
                    "INSERT OR REPLACE INTO pending (session, approval, sequence) \
                     VALUES (?1, ?2, ?3)",
                )?
                .execute(params![session, approval, int(sequence)])?,
            Mark::Closes { approval } => db
                .prepare_cached("DELETE FROM pending WHERE session = ?1 AND approval = ?2")?
                .execute(params![session, approval])?,
            Mark::Command { scope, id, payload, ack } => db
                .prepare_cached(
                    "INSERT INTO commands (scope, id, session, sequence, payload, ack) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                )?
                .execute(params![scope, id, session, int(sequence), payload, ack])?,
            Mark::Starts { .. } | Mark::Ends { .. } | Mark::View => 0,
        };
    }
    Ok(())
}

/// Makes the lookups anew from the marks.
pub(super) fn rebuild_lookups(group: &mut Group<'_>) -> Result<(), Failure> {
    let db = group.connection;
    db.execute_batch("DELETE FROM pending; DELETE FROM commands")?;
    // Rows were inserted in this order, over all sessions.
    let mut statement =
        db.prepare("SELECT session, sequence, header FROM records ORDER BY rowid")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, sequence): (String, u64) = (row.get(0)?, uint(row.get(1)?));
        let header = read_header(&row.get::<_, Vec<u8>>(2)?, sequence)
            .map_err(|why| LogError::corrupt_record(&session, sequence, why))?;
        project(db, &session, sequence, &header.marks)?;
    }
    Ok(())
}

/// Keeps a snapshot.
pub(super) fn snapshot_put(
    group: &mut Group<'_>,
    lease: &Lease,
    sequence: u64,
    format: u32,
    bytes: &[u8],
) -> Result<(), Failure> {
    check_lease(group, lease)?;
    group
        .connection
        .prepare_cached(
            "INSERT OR REPLACE INTO snapshots (session, sequence, format, bytes) \
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![lease.session, int(sequence), format, bytes])?;
    Ok(())
}

/// Erases bodies, and the snapshot: it may have been made when they mattered.
pub(super) fn erase(
    group: &mut Group<'_>,
    lease: &Lease,
    sequences: &[u64],
) -> Result<u64, Failure> {
    check_lease(group, lease)?;
    let mut erased = 0_u64;
    let mut statement = group.connection.prepare_cached(
        "UPDATE records SET body = NULL, salt = NULL \
         WHERE session = ?1 AND sequence = ?2 AND body IS NOT NULL",
    )?;
    for sequence in sequences {
        let changed = statement.execute(params![lease.session, int(*sequence)])?;
        erased = erased.saturating_add(changed as u64);
    }
    group
        .connection
        .prepare_cached("DELETE FROM snapshots WHERE session = ?1")?
        .execute([&lease.session])?;
    group.scrub = true;
    Ok(erased)
}

/// Deletes a session; the foreign keys take the rest along.
pub(super) fn delete(group: &mut Group<'_>, lease: &Lease) -> Result<(), Failure> {
    check_lease(group, lease)?;
    group
        .connection
        .prepare_cached("DELETE FROM sessions WHERE session = ?1")?
        .execute([&lease.session])?;
    group.scrub = true;
    Ok(())
}

/// Tells other processes where this host listens.
pub(super) fn set_socket(group: &mut Group<'_>, socket: Option<&str>) -> Result<(), Failure> {
    group
        .connection
        .prepare_cached("UPDATE hosts SET socket = ?2 WHERE host = ?1")?
        .execute(params![group.shared.host, socket])?;
    Ok(())
}

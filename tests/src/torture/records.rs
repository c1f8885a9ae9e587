//! The SQLite file, read as it lies there: columns, and the hash chain computed anew.

use super::wrong::{Kind, Wrong};
use rusqlite::{Connection, params};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// A record, its header and body as the JSON that they are.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) sequence: u64,
    pub(super) header: Value,
    pub(super) body: Value,
}

impl Record {
    /// The marks of one name.
    pub(super) fn marks<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        let marks = self.header["marks"].as_array().into_iter().flatten();
        marks.filter(move |mark| mark["mark"] == name)
    }

    /// A text of the body, empty when it is absent.
    pub(super) fn text<'a>(&'a self, pointer: &str) -> &'a str {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// How far a session's chain was followed.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) sequence: u64,
    value: Vec<u8>,
}

impl Chain {
    pub(super) fn new(session: &str) -> Chain {
        Chain { sequence: 0, value: hash(&[b"placet.log.start.1\0", session.as_bytes()]) }
    }

    /// The records behind those that are known, each held against the chain.
    pub(super) fn follow(
        &mut self,
        db: &Connection,
        session: &str,
    ) -> rusqlite::Result<(Vec<Record>, Vec<Wrong>)> {
        let (mut records, mut wrongs) = (Vec::new(), Vec::new());
        let mut statement = db.prepare_cached(
            "SELECT sequence, header, salt, body_hash, chain, body FROM records \
             WHERE session = ?1 AND sequence > ?2 ORDER BY sequence",
        )?;
        let mut rows =
            statement.query(params![session, i64::try_from(self.sequence).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            let sequence = number(row.get(0)?);
            let (header, salt): (Vec<u8>, Vec<u8>) = (row.get(1)?, row.get(2)?);
            let (body_hash, chain): (Vec<u8>, Vec<u8>) = (row.get(3)?, row.get(4)?);
            let body: Vec<u8> = row.get(5)?;
            let length = (header.len() as u64).to_be_bytes();
            let parts: [&[u8]; 5] =
                [b"placet.log.record.1\0", &self.value, &length, &header, &body_hash];
            let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
            let record = Record { sequence, header: read(&header), body: read(&body) };
            let holds = sequence == self.sequence + 1
                && record.header["sequence"] == sequence
                && record.header["kind"] == record.body["record"]
                && hash(&[&salt, &body]) == body_hash
                && hash(&parts) == chain;
            if !holds {
                let what = format!("record {sequence} of {session} does not follow its chain");
                wrongs.push(Wrong::new(Kind::Record, what));
            }
            (self.sequence, self.value) = (sequence, chain);
            records.push(record);
        }
        let mut statement =
            db.prepare_cached("SELECT head_sequence, head_chain FROM sessions WHERE session = ?1")?;
        let read = |row: &rusqlite::Row<'_>| Ok((number(row.get(0)?), row.get(1)?));
        let (head, value): (u64, Vec<u8>) = statement.query_row([session], read)?;
        if head != self.sequence || (head > 0 && value != self.value) {
            let what = format!("{session} ends at {} and says {head}", self.sequence);
            wrongs.push(Wrong::new(Kind::Record, what));
        }
        Ok((records, wrongs))
    }
}

fn hash(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize().to_vec()
}

/// A sequence; none is negative.
fn number(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(u64::MAX)
}

/// The sessions that have a row.
pub(super) fn sessions(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare_cached("SELECT session FROM sessions ORDER BY session")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The lookup of what is pending, by session.
pub(super) fn pending(db: &Connection) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
    let mut statement = db.prepare_cached("SELECT session, approval FROM pending")?;
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(found)
}

//! The table of grants that outlive their session.

use async_trait::async_trait;
use rusqlite::{Connection, Row, params};

use super::read::all;
use super::writer::{Failure, Group};
use super::{SqliteLog, int, uint};
use crate::log::error::LogError;
use crate::log::grants::{GrantRow, GrantStore, GrantsInForce, WhichGrants};

const GRANT: &str =
    "SELECT id, root, text, preview, given_ms, session, client, mode FROM grants WHERE NOT revoked";
const IN_ORDER: &str = "ORDER BY given_ms, id";

/// Stands for every root in the table of cuts.
const EVERY_ROOT: &str = "";

fn row(row: &Row<'_>) -> rusqlite::Result<GrantRow> {
    Ok(GrantRow {
        id: row.get(0)?,
        root: row.get(1)?,
        text: row.get(2)?,
        preview: row.get(3)?,
        given_ms: uint(row.get(4)?),
        session: row.get(5)?,
        client: row.get(6)?,
        mode: row.get(7)?,
    })
}

fn keep(group: &mut Group<'_>, grant: &GrantRow) -> Result<(), Failure> {
    let GrantRow { id, root, text, preview, given_ms, session, client, mode } = grant;
    let inserted = group
        .connection
        .prepare_cached(
            "INSERT INTO grants (id, root, text, preview, given_ms, session, client, mode, revoked) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, EXISTS (SELECT 1 FROM grant_cuts \
             WHERE root IN (?2, ?9) AND cut_ms >= ?5)) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            id,
            root,
            text,
            preview,
            int(*given_ms),
            session,
            client,
            mode,
            EVERY_ROOT
        ])?;
    if inserted == 0 { Ok(()) } else { raise(group) }
}

fn revoke(
    group: &mut Group<'_>,
    which: &WhichGrants,
    now_ms: u64,
) -> Result<Vec<GrantRow>, Failure> {
    let db = group.connection;
    let mut revoked = Vec::new();
    match which {
        WhichGrants::Ids(ids) => {
            for id in ids {
                revoked.extend(all(db, &format!("{GRANT} AND id = ?1"), [id], row)?);
                db.prepare_cached("UPDATE grants SET revoked = 1 WHERE id = ?1")?.execute([id])?;
            }
        }
        WhichGrants::Root(root) => {
            revoked = all(db, &format!("{GRANT} AND root = ?1 {IN_ORDER}"), [root], row)?;
            db.prepare_cached("UPDATE grants SET revoked = 1 WHERE root = ?1")?.execute([root])?;
            cut(db, root, now_ms)?;
        }
        WhichGrants::All => {
            revoked = all(db, &format!("{GRANT} {IN_ORDER}"), [], row)?;
            db.prepare_cached("UPDATE grants SET revoked = 1")?.execute([])?;
            cut(db, EVERY_ROOT, now_ms)?;
        }
    }
    raise(group)?;
    Ok(revoked)
}

/// What was given until now and is kept later counts as revoked.
fn cut(db: &Connection, root: &str, now_ms: u64) -> Result<(), Failure> {
    db.prepare_cached("INSERT OR REPLACE INTO grant_cuts (root, cut_ms) VALUES (?1, ?2)")?
        .execute(params![root, int(now_ms)])?;
    Ok(())
}

fn raise(group: &mut Group<'_>) -> Result<(), Failure> {
    group
        .connection
        .prepare_cached("UPDATE grant_revision SET revision = revision + 1")?
        .execute([])?;
    Ok(())
}

fn revision(db: &Connection) -> Result<u64, LogError> {
    let rows = all(db, "SELECT revision FROM grant_revision", [], |row| Ok(uint(row.get(0)?)))?;
    Ok(rows.into_iter().next().unwrap_or_default())
}

/// In one statement: a change between the two would put a text under another revision.
fn in_force(db: &Connection, root: &str) -> Result<GrantsInForce, LogError> {
    let rows: Vec<(u64, Option<String>)> = all(
        db,
        "SELECT revision, text FROM grant_revision LEFT JOIN grants \
         ON grants.root = ?1 AND NOT revoked ORDER BY given_ms, id",
        [root],
        |row| Ok((uint(row.get(0)?), row.get(1)?)),
    )?;
    let revision = rows.first().map(|(revision, _)| *revision).unwrap_or_default();
    Ok(GrantsInForce { revision, texts: rows.into_iter().filter_map(|(_, text)| text).collect() })
}

#[async_trait]
impl GrantStore for SqliteLog {
    async fn keep(&self, grant: GrantRow) -> Result<(), LogError> {
        let bytes = grant.text.len().saturating_add(grant.preview.len());
        self.write("", bytes, move |group| keep(group, &grant)).await
    }

    async fn revision(&self) -> Result<u64, LogError> {
        self.read(revision).await
    }

    async fn in_force(&self, root: &str) -> Result<GrantsInForce, LogError> {
        let root = root.to_owned();
        self.read(move |db| in_force(db, &root)).await
    }

    async fn list(&self) -> Result<Vec<GrantRow>, LogError> {
        self.read(|db| all(db, &format!("{GRANT} {IN_ORDER}"), [], row)).await
    }

    async fn revoke(&self, which: WhichGrants, now_ms: u64) -> Result<Vec<GrantRow>, LogError> {
        self.write("", 0, move |group| revoke(group, &which, now_ms)).await
    }
}

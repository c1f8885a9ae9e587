//! What every engine has to do, as a suite that any engine can be run through.
//!
//! A [`Store`] is one log that several hosts share. [`run_all`] asks for a fresh
//! one per case and names the case that fails.

use std::future::Future;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use async_trait::async_trait;

use super::chain;
use super::memory::Damage;
use super::{
    Append, CommandRow, Draft, GrantRow, Header, Lease, Log, LogError, Mark, PendingRow,
    SessionMeta, Version, WhichGrants,
};
use crate::limits::BATCH_BYTES_MAX;

/// One log under test.
#[async_trait]
pub trait Store: Send + Sync {
    /// A further host on the log.
    async fn host(&self) -> Result<Arc<dyn Log>>;
    /// Ends a host as a crash would: it gives nothing back.
    async fn kill(&self, host: Arc<dyn Log>) -> Result<()>;
    /// Lets the lookups catch up.
    async fn settle(&self);
    /// Damages a record behind the engine's back.
    async fn damage(&self, session: &str, sequence: u64, damage: Damage) -> Result<()>;
}

/// Runs every case on a store of its own and returns how many there were.
///
/// # Errors
/// Names the first case that failed, and how.
pub async fn run_all<S, F, Fut>(name: &str, fresh: F) -> Result<usize>
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = Result<S>>,
{
    let mut cases = 0;
    macro_rules! cases {
        ($($case:ident),* $(,)?) => {$(
            println!("{name}: {}", stringify!($case));
            let store = fresh().await?;
            $case(&store).await.with_context(|| format!("{name}: {}", stringify!($case)))?;
            cases += 1;
        )*};
    }
    cases!(
        round_trip,
        sequences_are_dense,
        wrong_version_conflicts,
        lost_lease_cannot_write,
        lease_rules,
        batch_is_atomic,
        batch_is_capped,
        read_is_paged,
        lookups_follow_the_marks,
        first_command_stands,
        chain_verifies,
        damage_is_found,
        erasing_keeps_the_chain,
        snapshot_is_kept,
        sessions_are_listed,
        tail_tells_of_appends,
        many_sessions_at_once,
        a_dead_host_is_followed,
        a_new_host_sees_everything,
        deleted_session_is_gone,
        old_version_of_a_deleted_session,
        grants_are_kept_once,
        revoked_grants_stay_revoked,
        every_change_of_the_grants_is_seen,
    );
    Ok(cases)
}

/// A draft with a body that names its sequence.
#[must_use]
pub fn draft(sequence: u64, marks: Vec<Mark>) -> Draft {
    let header = Header {
        sequence,
        time_ms: 1_000 + sequence,
        kind: "test".to_owned(),
        format: 1,
        component: "c0".to_owned(),
        rules: String::new(),
        mode: "m0".to_owned(),
        logic: 1,
        marks,
    };
    Draft { header, body: format!("{{\"n\":{sequence}}}").into_bytes() }
}

fn plain(sequences: std::ops::RangeInclusive<u64>) -> Vec<Draft> {
    sequences.map(|sequence| draft(sequence, vec![Mark::View])).collect()
}

fn meta(created_ms: u64) -> SessionMeta {
    SessionMeta { created_ms, workspace: Some("/w".to_owned()) }
}

/// Appends at the head and insists that it is durable.
async fn append(log: &dyn Log, lease: &Lease, batch: Vec<Draft>) -> Result<Version> {
    let head = log.head(&lease.session).await?;
    let last = batch.last().map_or(0, |draft| draft.header.sequence);
    match log.append(lease, &head.version, batch).await {
        Append::Durable { version, head_sequence } => {
            ensure!(head_sequence == last, "the head is {head_sequence}, not {last}");
            ensure!(version != head.version, "the version did not change");
            Ok(version)
        }
        other => bail!("the append ended as {other:?}"),
    }
}

async fn round_trip<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let head = log.head("s").await?;
    ensure!((head.sequence, head.chain) == (0, chain::start("s")), "a new session is empty");
    let version = append(&*log, &lease, plain(1..=2)).await?;
    let version = match log.append(&lease, &version, plain(3..=3)).await {
        Append::Durable { version, .. } => version,
        other => bail!("the version that an append gave is not good for the next: {other:?}"),
    };
    ensure!(log.head("s").await?.version == version, "the head has another version");
    let records = log.read("s", 0, 10, usize::MAX).await?;
    for (record, draft) in records.iter().zip(plain(1..=3)) {
        ensure!(record.header == draft.header, "another header");
        ensure!(record.header_bytes == serde_json::to_vec(&draft.header)?, "other header bytes");
        ensure!(record.body.as_ref() == Some(&draft.body), "another body");
    }
    ensure!(records.len() == 3, "{} records", records.len());
    ensure!(log.record("s", 2).await?.as_ref() == records.get(1), "another record 2");
    ensure!(log.record("s", 4).await?.is_none(), "a record 4");
    let headers = log.headers("s").await?;
    ensure!(headers == records.into_iter().map(|r| r.header).collect::<Vec<_>>(), "other headers");
    let missing = log.read("t", 0, 1, 1).await;
    ensure!(missing == Err(LogError::NotFound { session: "t".to_owned() }), "{missing:?}");
    ensure!(matches!(log.head("t").await, Err(LogError::NotFound { .. })), "a head of nothing");
    Ok(())
}

async fn sequences_are_dense<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    append(&*log, &lease, plain(1..=1)).await?;
    let version = log.head("s").await?.version;
    let gap = plain(2..=2).into_iter().chain(plain(4..=4)).collect();
    let mut bodyless = plain(2..=2);
    bodyless.iter_mut().for_each(|draft| draft.body.clear());
    for batch in [plain(3..=3), plain(1..=1), plain(0..=0), gap, bodyless, Vec::new()] {
        let answer = log.append(&lease, &version, batch).await;
        ensure!(matches!(answer, Append::Refused(_)), "{answer:?}");
    }
    ensure!(log.head("s").await?.version == version, "a refusal changed the version");
    append(&*log, &lease, plain(2..=2)).await?;
    Ok(())
}

async fn wrong_version_conflicts<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let old = log.head("s").await?.version;
    append(&*log, &lease, plain(1..=1)).await?;
    for batch in [plain(1..=1), plain(2..=2)] {
        let answer = log.append(&lease, &old, batch).await;
        ensure!(answer == Append::Conflict, "{answer:?}");
    }
    ensure!(log.head("s").await?.sequence == 1, "a conflict wrote");
    Ok(())
}

async fn lost_lease_cannot_write<S: Store>(store: &S) -> Result<()> {
    let (first, second) = (store.host().await?, store.host().await?);
    let old = first.create("s", meta(1)).await?;
    append(&*first, &old, plain(1..=1)).await?;
    first.release(old.clone()).await?;
    let new = second.lease("s").await?;
    ensure!(new.epoch > old.epoch, "the epoch did not grow");
    let version = first.head("s").await?.version;
    for (host, lease) in [(&first, &old), (&first, &new), (&second, &old)] {
        let answer = host.append(lease, &version, plain(2..=2)).await;
        ensure!(answer == Append::Conflict, "{answer:?}");
    }
    let lost = Err(LogError::LeaseLost { session: "s".to_owned() });
    ensure!(first.snapshot_put(&old, 1, 1, vec![1]).await == lost, "it put a snapshot");
    ensure!(first.release(old.clone()).await == lost, "it released");
    ensure!(first.delete(old.clone()).await == lost, "it deleted");
    ensure!(first.erase(&old, &[1]).await.is_err(), "it erased");
    append(&*second, &new, plain(2..=2)).await?;
    Ok(())
}

async fn lease_rules<S: Store>(store: &S) -> Result<()> {
    let (first, second) = (store.host().await?, store.host().await?);
    ensure!(first.host() != second.host(), "two hosts with one id");
    let missing = first.lease("s").await;
    ensure!(matches!(missing, Err(LogError::NotFound { .. })), "{missing:?}");
    let lease = first.create("s", meta(1)).await?;
    let again = second.create("s", meta(1)).await;
    ensure!(matches!(again, Err(LogError::SessionExists { .. })), "{again:?}");
    let taken = second.lease("s").await;
    let holder = first.host().to_owned();
    ensure!(taken == Err(LogError::InUse { session: "s".to_owned(), holder }), "{taken:?}");
    let twice = first.lease("s").await;
    ensure!(twice == Err(LogError::AlreadyHeld { session: "s".to_owned() }), "{twice:?}");
    first.release(lease.clone()).await?;
    let again = first.lease("s").await?;
    ensure!(again.epoch > lease.epoch, "an epoch came twice");
    Ok(())
}

async fn batch_is_atomic<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let version = log.head("s").await?.version;
    let mut batch: Vec<_> = plain(1..=3).into_iter().chain(plain(5..=5)).collect();
    if let Some(first) = batch.first_mut() {
        first.header.marks = vec![Mark::Opens { approval: "a".to_owned() }];
    }
    let answer = log.append(&lease, &version, batch).await;
    ensure!(matches!(answer, Append::Refused(_)), "{answer:?}");
    store.settle().await;
    ensure!(log.read("s", 0, 9, usize::MAX).await?.is_empty(), "a part was written");
    ensure!(log.pending().await?.is_empty(), "a mark was written");
    ensure!(log.head("s").await?.version == version, "the version changed");
    Ok(())
}

async fn batch_is_capped<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let version = log.head("s").await?.version;
    let mut batch = plain(1..=2);
    let mut room = BATCH_BYTES_MAX;
    for draft in &batch {
        room -= serde_json::to_vec(&draft.header)?.len();
    }
    let (left, right) = (room / 2, room - room / 2);
    for (draft, size) in batch.iter_mut().zip([left, right + 1]) {
        draft.body = vec![b'x'; size];
    }
    let answer = log.append(&lease, &version, batch.clone()).await;
    ensure!(matches!(answer, Append::Refused(_)), "one byte too much: {answer:?}");
    if let Some(draft) = batch.last_mut() {
        draft.body.pop();
    }
    append(&*log, &lease, batch).await?;
    Ok(())
}

async fn read_is_paged<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    append(&*log, &lease, plain(1..=9)).await?;
    let sequences = async |after, limit, bytes| -> Result<Vec<u64>> {
        let records = log.read("s", after, limit, bytes).await?;
        Ok(records.iter().map(|record| record.header.sequence).collect())
    };
    ensure!(sequences(0, 3, usize::MAX).await? == [1, 2, 3], "limit");
    ensure!(sequences(7, 9, usize::MAX).await? == [8, 9], "after");
    ensure!(sequences(4, 9, 0).await? == [5], "never nothing");
    ensure!(sequences(9, 9, 9).await?.is_empty(), "the end");
    let first = log.read("s", 0, 1, 0).await?;
    let size = first.iter().map(|r| r.header_bytes.len() + r.body.as_ref().map_or(0, Vec::len));
    let size: usize = size.sum();
    ensure!(sequences(0, 9, 2 * size).await? == [1, 2], "bytes");
    Ok(())
}

async fn lookups_follow_the_marks<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let one = log.create("one", meta(1)).await?;
    let two = log.create("two", meta(2)).await?;
    let opens = |approval: &str| Mark::Opens { approval: approval.to_owned() };
    let closes = |approval: &str| Mark::Closes { approval: approval.to_owned() };
    append(&*log, &one, vec![draft(1, vec![opens("a"), Mark::View]), draft(2, vec![opens("b")])])
        .await?;
    append(&*log, &two, vec![draft(1, vec![opens("a")])]).await?;
    append(&*log, &one, vec![draft(3, vec![closes("a")])]).await?;
    store.settle().await;
    let row = |session: &str, approval: &str, sequence| PendingRow {
        session: session.to_owned(),
        approval: approval.to_owned(),
        sequence,
    };
    let pending = log.pending().await?;
    ensure!(pending == [row("one", "b", 2), row("two", "a", 1)], "{pending:?}");
    // Opened and closed in one record: not pending.
    append(&*log, &two, vec![draft(2, vec![opens("c"), closes("c"), closes("a")])]).await?;
    store.settle().await;
    let pending = log.pending().await?;
    ensure!(pending == [row("one", "b", 2)], "{pending:?}");
    Ok(())
}

async fn first_command_stands<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let command = |payload: &str| Mark::Command {
        scope: "home".to_owned(),
        id: "1".to_owned(),
        payload: payload.to_owned(),
        ack: "{\"a\": \"\u{e9}\"}".to_owned(),
    };
    append(&*log, &lease, vec![draft(1, vec![command("p")])]).await?;
    append(&*log, &lease, vec![draft(2, vec![command("q")])]).await?;
    store.settle().await;
    let (payload, ack) = ("p".to_owned(), "{\"a\": \"\u{e9}\"}".to_owned());
    let expected = CommandRow { session: "s".to_owned(), sequence: 1, payload, ack };
    let found = log.command("home", "1").await?;
    ensure!(found.as_ref() == Some(&expected), "{found:?}");
    ensure!(log.command("home", "2").await?.is_none(), "another id");
    ensure!(log.command("else", "1").await?.is_none(), "another scope");
    Ok(())
}

async fn chain_verifies<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let empty = log.verify("s").await??;
    ensure!((empty.records, empty.chain) == (0, chain::start("s")), "{empty:?}");
    append(&*log, &lease, plain(1..=40)).await?;
    let verified = log.verify("s").await??;
    ensure!((verified.records, verified.erased) == (40, 0), "{verified:?}");
    ensure!(verified.chain == log.head("s").await?.chain, "another head");
    // The same by the published formula, from what a reader gets.
    let mut link = chain::start("s");
    for record in log.read("s", 0, 99, usize::MAX).await? {
        let (salt, body) = (record.salt.context("no salt")?, record.body.context("no body")?);
        ensure!(chain::body_hash(&salt, &body) == record.body_hash, "another body hash");
        link = chain::next(&link, &record.header_bytes, &record.body_hash);
        ensure!(link == record.chain, "another chain value");
    }
    ensure!(link == verified.chain, "another end");
    ensure!(matches!(log.verify("t").await, Err(LogError::NotFound { .. })), "nothing verified");
    Ok(())
}

async fn damage_is_found<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    for (session, sequence, damage) in [
        ("header", 2, Damage::Header),
        ("body", 1, Damage::Body),
        ("chain", 3, Damage::Chain),
        ("middle", 2, Damage::Missing),
        ("last", 3, Damage::Missing),
    ] {
        let lease = log.create(session, meta(1)).await?;
        append(&*log, &lease, plain(1..=3)).await?;
        log.verify(session).await??;
        store.damage(session, sequence, damage).await?;
        match log.verify(session).await? {
            Ok(_) => bail!("{session}: not found"),
            Err(fault) => {
                ensure!(fault.sequence == sequence, "{session}: found as {fault}");
                println!("  {session}: {fault}");
            }
        }
    }
    Ok(())
}

async fn erasing_keeps_the_chain<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    append(&*log, &lease, plain(1..=3)).await?;
    log.snapshot_put(&lease, 3, 1, vec![1]).await?;
    let before = log.head("s").await?;
    ensure!(log.erase(&lease, &[2, 3, 7]).await? == 2, "another number of bodies");
    ensure!(log.erase(&lease, &[2]).await? == 0, "erased twice");
    ensure!(log.snapshot_get("s").await?.is_none(), "a state from before is kept");
    let record = log.record("s", 2).await?.context("the record is gone")?;
    ensure!(record.body.is_none() && record.salt.is_none(), "the body is there");
    ensure!(record.header == draft(2, vec![Mark::View]).header, "another header");
    ensure!(log.head("s").await? == before, "the head changed");
    append(&*log, &lease, plain(4..=4)).await?;
    let verified = log.verify("s").await??;
    ensure!((verified.records, verified.erased) == (4, 2), "{verified:?}");
    Ok(())
}

async fn snapshot_is_kept<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    ensure!(log.snapshot_get("s").await?.is_none(), "a snapshot of nothing");
    log.snapshot_put(&lease, 1, 1, vec![1]).await?;
    log.snapshot_put(&lease, 4, 2, vec![2, 0]).await?;
    let found = log.snapshot_get("s").await?.context("no snapshot")?;
    ensure!((found.sequence, found.format) == (4, 2) && found.bytes == [2, 0], "{found:?}");
    Ok(())
}

async fn sessions_are_listed<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    for (session, created) in [("a", 10), ("b", 30), ("c", 20)] {
        let lease = log.create(session, meta(created)).await?;
        append(&*log, &lease, plain(1..=2)).await?;
    }
    let rows = log.sessions().await?;
    let order: Vec<_> = rows.iter().map(|row| row.session.as_str()).collect();
    ensure!(order == ["b", "c", "a"], "{order:?}");
    let row = log.session("b").await?.context("no row")?;
    ensure!(rows.first() == Some(&row), "two rows of one session differ");
    ensure!((row.created_ms, row.updated_ms, row.head_sequence) == (30, 1_002, 2), "{row:?}");
    ensure!(row.workspace.as_deref() == Some("/w"), "{row:?}");
    ensure!(log.session("d").await?.is_none(), "a session d");
    Ok(())
}

async fn tail_tells_of_appends<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    append(&*log, &lease, plain(1..=2)).await?;
    let mut behind = log.tail("s", 0).await?;
    ensure!(behind.has_changed()? && *behind.borrow_and_update() == 2, "it is behind");
    let mut level = log.tail("s", 2).await?;
    ensure!(!level.has_changed()?, "it is level");
    append(&*log, &lease, plain(3..=4)).await?;
    for receiver in [&mut behind, &mut level] {
        receiver.changed().await?;
        ensure!(*receiver.borrow_and_update() == 4, "another head");
    }
    ensure!(log.tail("t", 0).await.is_err(), "a tail of nothing");
    Ok(())
}

async fn many_sessions_at_once<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..24_u64 {
        let log = Arc::clone(&log);
        tasks.spawn(async move {
            let lease = log.create(&format!("s{n}"), meta(n)).await?;
            let mut version = log.head(&lease.session).await?.version;
            for sequence in 1..=6 {
                let stale = version.clone();
                match log.append(&lease, &version, plain(sequence..=sequence)).await {
                    Append::Durable { version: next, .. } => version = next,
                    other => bail!("{other:?}"),
                }
                // A conflict in the same group harms nobody.
                let answer = log.append(&lease, &stale, plain(sequence..=sequence)).await;
                ensure!(answer == Append::Conflict, "{answer:?}");
            }
            Ok(())
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined??;
    }
    for n in 0..24_u64 {
        let verified = log.verify(&format!("s{n}")).await??;
        ensure!(verified.records == 6, "session {n} has {} records", verified.records);
    }
    Ok(())
}

async fn a_dead_host_is_followed<S: Store>(store: &S) -> Result<()> {
    let (first, second) = (store.host().await?, store.host().await?);
    let old = first.create("s", meta(1)).await?;
    append(&*first, &old, plain(1..=2)).await?;
    ensure!(second.lease("s").await.is_err(), "taken from a live host");
    store.kill(first).await?;
    let new = second.lease("s").await?;
    ensure!(new.epoch == old.epoch + 1, "the epoch is {}", new.epoch);
    append(&*second, &new, plain(3..=3)).await?;
    let third = store.host().await?;
    ensure!(matches!(third.lease("s").await, Err(LogError::InUse { .. })), "taken from the living");
    Ok(())
}

async fn a_new_host_sees_everything<S: Store>(store: &S) -> Result<()> {
    let first = store.host().await?;
    let lease = first.create("s", meta(1)).await?;
    let marks = vec![Mark::Opens { approval: "a".to_owned() }];
    append(&*first, &lease, vec![draft(1, marks)]).await?;
    first.snapshot_put(&lease, 1, 1, vec![7]).await?;
    store.settle().await;
    let (head, records) = (first.head("s").await?, first.read("s", 0, 9, usize::MAX).await?);
    let (pending, sessions) = (first.pending().await?, first.sessions().await?);
    let snapshot = first.snapshot_get("s").await?;
    store.kill(first).await?;
    let second = store.host().await?;
    ensure!(second.head("s").await? == head, "another head");
    ensure!(second.read("s", 0, 9, usize::MAX).await? == records, "other records");
    ensure!(second.pending().await? == pending && pending.len() == 1, "other pending approvals");
    ensure!(second.sessions().await? == sessions, "other sessions");
    ensure!(second.snapshot_get("s").await? == snapshot && snapshot.is_some(), "other snapshot");
    second.verify("s").await??;
    Ok(())
}

async fn deleted_session_is_gone<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    let marks = vec![Mark::Opens { approval: "a".to_owned() }];
    append(&*log, &lease, vec![draft(1, marks)]).await?;
    log.delete(lease).await?;
    store.settle().await;
    ensure!(log.session("s").await?.is_none() && log.pending().await?.is_empty(), "it is listed");
    ensure!(matches!(log.head("s").await, Err(LogError::NotFound { .. })), "it has a head");
    Ok(())
}

async fn old_version_of_a_deleted_session<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let lease = log.create("s", meta(1)).await?;
    append(&*log, &lease, plain(1..=1)).await?;
    let old = append(&*log, &lease, plain(2..=2)).await?;
    log.delete(lease).await?;
    let lease = log.create("s", meta(2)).await?;
    append(&*log, &lease, plain(1..=2)).await?;
    let answer = log.append(&lease, &old, plain(3..=3)).await;
    ensure!(answer == Append::Conflict, "{answer:?}");
    Ok(())
}

fn grant(id: &str, root: &str, given_ms: u64) -> GrantRow {
    GrantRow {
        id: id.to_owned(),
        root: root.to_owned(),
        text: format!("{{\"id\":\"{id}\"}}"),
        preview: format!("what {id} covers"),
        given_ms,
        session: "s".to_owned(),
        client: "c".to_owned(),
        mode: "m".to_owned(),
    }
}

fn ids(rows: &[GrantRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

async fn grants_are_kept_once<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let grants = log.grants();
    let empty = grants.in_force("/w").await?;
    ensure!(empty.texts.is_empty() && empty.revision == grants.revision().await?);
    grants.keep(grant("b", "/w", 2)).await?;
    grants.keep(grant("a", "/w", 3)).await?;
    grants.keep(grant("c", "/other", 1)).await?;
    let revision = grants.revision().await?;
    // The id decides: another grant under it changes nothing.
    grants.keep(GrantRow { text: "other".to_owned(), ..grant("a", "/other", 9) }).await?;
    ensure!(grants.revision().await? == revision, "nothing changed");
    let here = grants.in_force("/w").await?;
    ensure!(here.texts == ["{\"id\":\"b\"}", "{\"id\":\"a\"}"], "{here:?}");
    ensure!(here.revision == revision);
    ensure!(grants.in_force("/w/").await?.texts.is_empty(), "a root is compared as it is");
    let all = grants.list().await?;
    ensure!(ids(&all) == ["c", "b", "a"], "{all:?}");
    ensure!(all.last() == Some(&grant("a", "/w", 3)));
    // They belong to no session.
    let lease = log.create("s", meta(1)).await?;
    log.delete(lease).await?;
    ensure!(grants.list().await?.len() == 3);
    Ok(())
}

async fn revoked_grants_stay_revoked<S: Store>(store: &S) -> Result<()> {
    let log = store.host().await?;
    let grants = log.grants();
    for (id, root) in [("a", "/w"), ("b", "/w"), ("c", "/w"), ("d", "/x"), ("e", "/y")] {
        grants.keep(grant(id, root, 10)).await?;
    }
    let one = WhichGrants::Ids(vec!["b".to_owned(), "nobody's".to_owned()]);
    ensure!(ids(&grants.revoke(one.clone(), 11).await?) == ["b"]);
    ensure!(grants.revoke(one, 11).await?.is_empty(), "it is revoked already");
    grants.keep(grant("b", "/w", 10)).await?;
    ensure!(ids(&grants.list().await?) == ["a", "c", "d", "e"], "it came back");
    ensure!(ids(&grants.revoke(WhichGrants::Root("/w".to_owned()), 12).await?) == ["a", "c"]);
    // Given before and kept after: a recovery may be late. Given after: a new one.
    grants.keep(grant("late", "/w", 12)).await?;
    grants.keep(grant("new", "/w", 13)).await?;
    grants.keep(grant("there", "/x", 5)).await?;
    ensure!(ids(&grants.list().await?) == ["there", "d", "e", "new"], "{:?}", grants.list().await?);
    ensure!(grants.revoke(WhichGrants::All, 20).await?.len() == 4);
    grants.keep(grant("later", "/z", 20)).await?;
    ensure!(grants.list().await?.is_empty());
    Ok(())
}

async fn every_change_of_the_grants_is_seen<S: Store>(store: &S) -> Result<()> {
    let (one, other) = (store.host().await?, store.host().await?);
    let mut last = one.grants().revision().await?;
    let mut raised = |now: u64| {
        let before = std::mem::replace(&mut last, now);
        ensure!(now > before, "{now} after {before}");
        Ok(())
    };
    other.grants().keep(grant("a", "/w", 1)).await?;
    raised(one.grants().revision().await?)?;
    ensure!(one.grants().in_force("/w").await?.texts.len() == 1);
    one.grants().keep(grant("b", "/w", 2)).await?;
    raised(other.grants().revision().await?)?;
    other.grants().revoke(WhichGrants::Ids(vec!["a".to_owned()]), 3).await?;
    raised(one.grants().revision().await?)?;
    ensure!(one.grants().in_force("/w").await?.texts.len() == 1);
    one.grants().revoke(WhichGrants::All, 4).await?;
    raised(other.grants().revision().await?)?;
    ensure!(other.grants().in_force("/w").await?.texts.is_empty());
    Ok(())
}

//! A log in memory that keeps the trait's promises and nothing beyond them.
//!
//! It is stricter than SQLite where a cluster engine would be: versions have
//! holes, the lookups lag until the next write or [`MemoryLog::settle`], and a test
//! can ask for the next append to end in any way that an append may end.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use super::chain::{self, Digest, Walk};
use super::error::LogError;
use super::grants::{GrantRow, GrantStore, GrantsInForce, WhichGrants};
use super::header::{Draft, Encoded, Header, Mark, Raw, Stored, check_follows, encode_batch};
use super::store::{
    Append, CommandRow, Head, Lease, Log, PendingRow, SessionMeta, SessionRow, Snapshot,
    Verification, Version,
};
use super::watchers::Watchers;

/// How an append is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// `Conflict`, nothing written.
    Conflict,
    /// `Refused`, nothing written.
    Refused,
    /// `Unknown`, nothing written.
    UnknownLost,
    /// `Unknown`, everything written.
    UnknownWritten,
}

/// What a test can damage in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Flips a bit of the header.
    Header,
    /// Flips a bit of the body.
    Body,
    /// Flips a bit of the chain value.
    Chain,
    /// Takes the record away.
    Missing,
}

struct Session {
    meta: SessionMeta,
    updated_ms: u64,
    records: Vec<Raw>,
    head_sequence: u64,
    head_chain: Digest,
    version: u64,
    holder: Option<String>,
    epoch: u64,
    snapshot: Option<Snapshot>,
}

#[derive(Default)]
struct Store {
    sessions: BTreeMap<String, Session>,
    /// The last version given to any session: none comes twice, not even to a session
    /// of the name of one that was deleted.
    last_version: u64,
    alive: HashSet<String>,
    pending: BTreeMap<(String, String), u64>,
    commands: BTreeMap<(String, String), CommandRow>,
    /// Marks that the lookups do not show yet: session, sequence, mark.
    lagging: Vec<(String, u64, Mark)>,
    planned: VecDeque<Planned>,
    grants: Grants,
}

#[derive(Default)]
struct Grants {
    /// With whether they were revoked.
    rows: Vec<(GrantRow, bool)>,
    /// When all of a root were revoked; no root is every root.
    cuts: BTreeMap<Option<String>, u64>,
    revision: u64,
}

impl Grants {
    /// Those in force, in the order in which they were given.
    fn in_force(&self) -> Vec<GrantRow> {
        let mut rows: Vec<GrantRow> =
            self.rows.iter().filter(|(_, revoked)| !revoked).map(|(row, _)| row.clone()).collect();
        rows.sort_by(|a, b| (a.given_ms, &a.id).cmp(&(b.given_ms, &b.id)));
        rows
    }
}

#[async_trait]
impl GrantStore for MemoryLog {
    async fn keep(&self, grant: GrantRow) -> Result<(), LogError> {
        let mut store = self.store();
        let grants = &mut store.grants;
        if grants.rows.iter().all(|(row, _)| row.id != grant.id) {
            let cut = |root: Option<String>| grants.cuts.get(&root).copied();
            let cut = cut(None).max(cut(Some(grant.root.clone())));
            let revoked = cut.is_some_and(|cut| cut >= grant.given_ms);
            grants.rows.push((grant, revoked));
            grants.revision += 1;
        }
        Ok(())
    }

    async fn revision(&self) -> Result<u64, LogError> {
        Ok(self.store().grants.revision)
    }

    async fn in_force(&self, root: &str) -> Result<GrantsInForce, LogError> {
        let store = self.store();
        let rows = store.grants.in_force().into_iter().filter(|row| row.root == root);
        let texts = rows.map(|row| row.text).collect();
        Ok(GrantsInForce { revision: store.grants.revision, texts })
    }

    async fn list(&self) -> Result<Vec<GrantRow>, LogError> {
        Ok(self.store().grants.in_force())
    }

    async fn revoke(&self, which: WhichGrants, now_ms: u64) -> Result<Vec<GrantRow>, LogError> {
        let mut store = self.store();
        let grants = &mut store.grants;
        let meant = |row: &GrantRow| match &which {
            WhichGrants::Ids(ids) => ids.contains(&row.id),
            WhichGrants::Root(root) => row.root == *root,
            WhichGrants::All => true,
        };
        let revoked = grants.in_force().into_iter().filter(meant).collect();
        for (row, revoked) in &mut grants.rows {
            *revoked |= meant(row);
        }
        match &which {
            WhichGrants::Ids(_) => {}
            WhichGrants::Root(root) => _ = grants.cuts.insert(Some(root.clone()), now_ms),
            WhichGrants::All => _ = grants.cuts.insert(None, now_ms),
        }
        grants.revision += 1;
        Ok(revoked)
    }
}

#[derive(Default)]
struct Shared {
    store: Mutex<Store>,
    watchers: Watchers,
}

/// One host's handle on a log in memory.
pub struct MemoryLog {
    shared: Arc<Shared>,
    host: String,
}

impl MemoryLog {
    /// An empty log, with its first host.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::enter(Arc::default())
    }

    /// Another host on the same log.
    #[must_use]
    pub fn another_host(&self) -> Arc<Self> {
        Self::enter(Arc::clone(&self.shared))
    }

    fn enter(shared: Arc<Shared>) -> Arc<Self> {
        let host = uuid::Uuid::new_v4().to_string();
        let log = Self { shared, host };
        let id = log.host.clone();
        log.store().alive.insert(id);
        Arc::new(log)
    }

    /// Ends a host's life: its leases can be taken over.
    pub fn kill(&self, host: &str) {
        self.store().alive.remove(host);
    }

    /// Lets the lookups catch up.
    pub fn settle(&self) {
        self.store().settle();
    }

    /// Plans the end of the next append that has no plan yet, by any host.
    pub fn plan(&self, planned: Planned) {
        self.store().planned.push_back(planned);
    }

    /// Damages a record; `false` when there is none.
    pub fn damage(&self, session: &str, sequence: u64, damage: Damage) -> bool {
        let mut store = self.store();
        let Some(found) = store.sessions.get_mut(session) else { return false };
        let Some(index) = found.records.iter().position(|raw| raw.sequence == sequence) else {
            return false;
        };
        if damage == Damage::Missing {
            found.records.remove(index);
            return true;
        }
        let Some(raw) = found.records.get_mut(index) else { return false };
        let bytes = match damage {
            Damage::Header => Some(&mut raw.header),
            Damage::Body => raw.body.as_mut(),
            Damage::Chain | Damage::Missing => Some(&mut raw.chain),
        };
        match bytes.and_then(|bytes| bytes.first_mut()) {
            Some(byte) => *byte ^= 1,
            None => return false,
        }
        true
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.shared.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    fn get(&self, session: &str) -> Result<&Session, LogError> {
        self.sessions.get(session).ok_or_else(|| LogError::not_found(session))
    }

    /// A version that no session had, some way behind the last one.
    fn fresh_version(&mut self) -> u64 {
        self.last_version += 1 + chain::fresh_salt().map_or(0, |salt| u64::from(salt[0] % 7));
        self.last_version
    }

    /// The session, if the lease is `host`'s and current.
    fn held(&mut self, host: &str, lease: &Lease) -> Result<&mut Session, LogError> {
        match self.sessions.get_mut(&lease.session) {
            Some(found) if found.epoch == lease.epoch && found.holder.as_deref() == Some(host) => {
                Ok(found)
            }
            _ => Err(LogError::lease_lost(&lease.session)),
        }
    }

    fn settle(&mut self) {
        for (session, sequence, mark) in std::mem::take(&mut self.lagging) {
            if !self.sessions.contains_key(&session) {
                continue;
            }
            match mark {
                Mark::Opens { approval } => {
                    self.pending.insert((session, approval), sequence);
                }
                Mark::Closes { approval } => {
                    self.pending.remove(&(session, approval));
                }
                Mark::Command { scope, id, payload, ack } => {
                    let row = CommandRow { session, sequence, payload, ack };
                    self.commands.entry((scope, id)).or_insert(row);
                }
                Mark::Starts { .. } | Mark::Ends { .. } | Mark::View => {}
            }
        }
    }

    fn append(
        &mut self,
        host: &str,
        lease: &Lease,
        expected: &Version,
        batch: Vec<Encoded>,
    ) -> Append {
        let fresh = self.fresh_version();
        let Ok(session) = self.held(host, lease) else { return Append::Conflict };
        if version(session) != *expected {
            return Append::Conflict;
        }
        if let Err(why) = check_follows(session.head_sequence, &batch) {
            return Append::Refused(why);
        }
        let mut marks = Vec::new();
        for record in batch {
            let sequence = record.header.sequence;
            let link = chain::next(&session.head_chain, &record.header_bytes, &record.body_hash);
            session.head_sequence = sequence;
            session.head_chain = link;
            session.updated_ms = record.header.time_ms;
            session.records.push(Raw {
                sequence,
                header: record.header_bytes,
                salt: Some(record.salt.to_vec()),
                body: Some(record.body),
                body_hash: record.body_hash.to_vec(),
                chain: link.to_vec(),
            });
            let each = record.header.marks.into_iter();
            marks.extend(each.map(|mark| (lease.session.clone(), sequence, mark)));
        }
        session.version = fresh;
        let durable =
            Append::Durable { version: version(session), head_sequence: session.head_sequence };
        self.lagging.extend(marks);
        durable
    }
}

fn version(session: &Session) -> Version {
    Version(format!("m{}", session.version))
}

fn read_raw(session: &str, raw: &Raw) -> Result<Stored, LogError> {
    let sequence = raw.sequence;
    raw.clone().read().map_err(|why| LogError::corrupt_record(session, sequence, why))
}

fn row(id: &str, session: &Session) -> SessionRow {
    SessionRow {
        session: id.to_owned(),
        created_ms: session.meta.created_ms,
        updated_ms: session.updated_ms,
        workspace: session.meta.workspace.clone(),
        head_sequence: session.head_sequence,
    }
}

#[async_trait]
impl Log for MemoryLog {
    fn host(&self) -> &str {
        &self.host
    }

    async fn create(&self, session: &str, meta: SessionMeta) -> Result<Lease, LogError> {
        let mut store = self.store();
        store.settle();
        if store.sessions.contains_key(session) {
            return Err(LogError::SessionExists { session: session.to_owned() });
        }
        let new = Session {
            updated_ms: meta.created_ms,
            meta,
            records: Vec::new(),
            head_sequence: 0,
            head_chain: chain::start(session),
            version: store.fresh_version(),
            holder: Some(self.host.clone()),
            epoch: 1,
            snapshot: None,
        };
        store.sessions.insert(session.to_owned(), new);
        Ok(Lease { session: session.to_owned(), epoch: 1 })
    }

    async fn lease(&self, session: &str) -> Result<Lease, LogError> {
        let mut store = self.store();
        store.settle();
        if let Some(holder) = store.get(session)?.holder.clone() {
            let session = session.to_owned();
            if holder == self.host {
                return Err(LogError::AlreadyHeld { session });
            }
            if store.alive.contains(&holder) {
                return Err(LogError::InUse { session, holder });
            }
        }
        let Some(found) = store.sessions.get_mut(session) else {
            return Err(LogError::not_found(session));
        };
        found.epoch += 1;
        found.holder = Some(self.host.clone());
        Ok(Lease { session: session.to_owned(), epoch: found.epoch })
    }

    async fn release(&self, lease: Lease) -> Result<(), LogError> {
        let mut store = self.store();
        store.settle();
        store.held(&self.host, &lease)?.holder = None;
        Ok(())
    }

    async fn head(&self, session: &str) -> Result<Head, LogError> {
        let store = self.store();
        let found = store.get(session)?;
        let (sequence, chain) = (found.head_sequence, found.head_chain);
        Ok(Head { version: version(found), sequence, chain })
    }

    async fn append(&self, lease: &Lease, expected: &Version, batch: Vec<Draft>) -> Append {
        let batch = match encode_batch(batch) {
            Ok((batch, _)) => batch,
            Err(why) => return Append::Refused(why),
        };
        let mut store = self.store();
        store.settle();
        let planned = store.planned.pop_front();
        match planned {
            Some(Planned::Conflict) => return Append::Conflict,
            Some(Planned::Refused) => return Append::Refused("a test asked for it".to_owned()),
            Some(Planned::UnknownLost) => {
                return Append::Unknown("a test asked for it".to_owned());
            }
            Some(Planned::UnknownWritten) | None => {}
        }
        let answer = store.append(&self.host, lease, expected, batch);
        if planned.is_some() {
            return Append::Unknown("a test asked for it".to_owned());
        }
        if let Append::Durable { head_sequence, .. } = answer {
            self.shared.watchers.raise(&lease.session, head_sequence);
        }
        answer
    }

    async fn read(
        &self,
        session: &str,
        after: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Stored>, LogError> {
        let store = self.store();
        let mut bytes = 0_usize;
        let mut records = Vec::new();
        let later = store.get(session)?.records.iter().filter(|raw| raw.sequence > after);
        for raw in later.take(limit) {
            let body = raw.body.as_ref().map_or(0, Vec::len);
            bytes = bytes.saturating_add(raw.header.len()).saturating_add(body);
            if bytes > max_bytes && !records.is_empty() {
                break;
            }
            records.push(read_raw(session, raw)?);
        }
        Ok(records)
    }

    async fn headers(&self, session: &str) -> Result<Vec<Header>, LogError> {
        let store = self.store();
        let records = &store.get(session)?.records;
        records.iter().map(|raw| read_raw(session, raw).map(|stored| stored.header)).collect()
    }

    async fn record(&self, session: &str, sequence: u64) -> Result<Option<Stored>, LogError> {
        let store = self.store();
        let mut records = store.get(session)?.records.iter();
        records.find(|raw| raw.sequence == sequence).map(|raw| read_raw(session, raw)).transpose()
    }

    async fn tail(&self, session: &str, after: u64) -> Result<watch::Receiver<u64>, LogError> {
        let mut receiver = self.shared.watchers.subscribe(session);
        let head = self.head(session).await?;
        self.shared.watchers.raise(session, head.sequence);
        Watchers::seen(&mut receiver, after);
        Ok(receiver)
    }

    async fn snapshot_put(
        &self,
        lease: &Lease,
        sequence: u64,
        format: u32,
        bytes: Vec<u8>,
    ) -> Result<(), LogError> {
        let mut store = self.store();
        store.settle();
        store.held(&self.host, lease)?.snapshot = Some(Snapshot { sequence, format, bytes });
        Ok(())
    }

    async fn snapshot_get(&self, session: &str) -> Result<Option<Snapshot>, LogError> {
        Ok(self.store().get(session)?.snapshot.clone())
    }

    async fn erase(&self, lease: &Lease, sequences: &[u64]) -> Result<u64, LogError> {
        let mut store = self.store();
        store.settle();
        let mut erased = 0;
        let held = store.held(&self.host, lease)?;
        held.snapshot = None;
        for raw in &mut held.records {
            if raw.body.is_some() && sequences.contains(&raw.sequence) {
                (raw.body, raw.salt) = (None, None);
                erased += 1;
            }
        }
        Ok(erased)
    }

    async fn delete(&self, lease: Lease) -> Result<(), LogError> {
        let mut store = self.store();
        store.settle();
        store.held(&self.host, &lease)?;
        store.sessions.remove(&lease.session);
        store.pending.retain(|(session, _), _| *session != lease.session);
        store.commands.retain(|_, row| row.session != lease.session);
        Ok(())
    }

    async fn pending(&self) -> Result<Vec<PendingRow>, LogError> {
        let store = self.store();
        let rows = store.pending.iter().map(|((session, approval), sequence)| PendingRow {
            session: session.clone(),
            approval: approval.clone(),
            sequence: *sequence,
        });
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|a, b| {
            (&a.session, a.sequence, &a.approval).cmp(&(&b.session, b.sequence, &b.approval))
        });
        Ok(rows)
    }

    async fn command(&self, scope: &str, id: &str) -> Result<Option<CommandRow>, LogError> {
        Ok(self.store().commands.get(&(scope.to_owned(), id.to_owned())).cloned())
    }

    async fn sessions(&self) -> Result<Vec<SessionRow>, LogError> {
        let store = self.store();
        let mut rows: Vec<_> = store.sessions.iter().map(|(id, s)| row(id, s)).collect();
        rows.sort_by(|a, b| (b.created_ms, &b.session).cmp(&(a.created_ms, &a.session)));
        Ok(rows)
    }

    async fn session(&self, session: &str) -> Result<Option<SessionRow>, LogError> {
        Ok(self.store().sessions.get(session).map(|found| row(session, found)))
    }

    async fn verify(&self, session: &str) -> Result<Verification, LogError> {
        let store = self.store();
        let found = store.get(session)?;
        let mut walk = Walk::new(session);
        for raw in &found.records {
            if let Err(fault) = walk.step(raw) {
                return Ok(Err(fault));
            }
        }
        Ok(walk.finish(found.head_sequence, &found.head_chain))
    }

    fn grants(&self) -> &dyn GrantStore {
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

    use anyhow::{Result, ensure};

    use super::*;
    use crate::log::conformance::{self, draft};

    struct Shared(Arc<MemoryLog>);

    #[async_trait]
    impl conformance::Store for Shared {
        async fn host(&self) -> Result<Arc<dyn Log>> {
            Ok(self.0.another_host())
        }

        async fn kill(&self, host: Arc<dyn Log>) -> Result<()> {
            self.0.kill(host.host());
            Ok(())
        }

        async fn settle(&self) {
            self.0.settle();
        }

        async fn damage(&self, session: &str, sequence: u64, damage: Damage) -> Result<()> {
            ensure!(self.0.damage(session, sequence, damage), "nothing was damaged");
            Ok(())
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn conformance() {
        let fresh = || async { Ok(Shared(MemoryLog::new())) };
        let cases = conformance::run_all("memory", fresh).await.unwrap();
        println!("memory: {cases} cases");
    }

    #[tokio::test]
    async fn it_is_as_awkward_as_asked() {
        let log = MemoryLog::new();
        let lease = log.create("s", SessionMeta::default()).await.unwrap();
        let opens = || vec![draft(1, vec![Mark::Opens { approval: "a".to_owned() }])];
        let head = log.head("s").await.unwrap();
        for planned in [Planned::Conflict, Planned::Refused, Planned::UnknownLost] {
            log.plan(planned);
            let answer = log.append(&lease, &head.version, opens()).await;
            assert!(!matches!(answer, Append::Durable { .. }), "{answer:?}");
            assert_eq!(log.head("s").await.unwrap(), head, "{planned:?} wrote");
        }
        log.plan(Planned::UnknownWritten);
        let answer = log.append(&lease, &head.version, opens()).await;
        assert!(matches!(answer, Append::Unknown(_)), "{answer:?}");
        assert_eq!(log.head("s").await.unwrap().sequence, 1);
        assert!(log.pending().await.unwrap().is_empty(), "the lookup lags");
        log.settle();
        assert_eq!(log.pending().await.unwrap().len(), 1);
    }
}

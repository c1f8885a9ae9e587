//! A log that says durable too early, as a host with the worst of bugs would.

use async_trait::async_trait;
use placet::log::{
    Append, CommandRow, Draft, GrantStore, Head, Header, Lease, Log, LogError, PendingRow,
    SessionMeta, SessionRow, Snapshot, Stored, Verification, Version,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Mutex, watch};

/// What the wrapper does with an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// What it should.
    None,
    /// Answers first and appends with the next use of the log: what a cache in
    /// front of it would do. A crash loses the last batch.
    Late,
    /// From this append on, counted from 1, answers and appends nothing.
    Never(u64),
    /// No lie: refuses batches that begin with a record of this kind, so many times.
    Refuse(&'static str, u64),
}

/// A log that answers `Durable` for batches that it has not appended.
pub(crate) struct LyingLog {
    inner: Arc<dyn Log>,
    lie: Lie,
    appends: AtomicU64,
    /// Refuses whatever comes, as a full disk does.
    full: AtomicBool,
    late: Mutex<Option<(Lease, Vec<Draft>)>>,
    /// What happens once a record of a kind is durable, before anybody is told.
    then: std::sync::Mutex<Option<(&'static str, Then)>>,
}

type Then = Box<dyn FnOnce() + Send>;

impl LyingLog {
    pub(crate) fn new(inner: Arc<dyn Log>, lie: Lie) -> Arc<LyingLog> {
        Arc::new(LyingLog {
            inner,
            lie,
            appends: AtomicU64::new(0),
            full: AtomicBool::new(false),
            late: Mutex::default(),
            then: std::sync::Mutex::default(),
        })
    }

    /// Does this once a record of that kind is durable, before anybody is told of it.
    pub(crate) fn after(&self, kind: &'static str, then: impl FnOnce() + Send + 'static) {
        *self.then.lock().unwrap() = Some((kind, Box::new(then)));
    }

    /// Appends, and does what was asked for.
    async fn pass_on(&self, lease: &Lease, expected: &Version, batch: Vec<Draft>) -> Append {
        let kinds: Vec<String> = batch.iter().map(|draft| draft.header.kind.clone()).collect();
        let appended = self.inner.append(lease, expected, batch).await;
        let mut then = self.then.lock().unwrap();
        if let Some((_, act)) = then.take_if(|(kind, _)| kinds.iter().any(|known| known == kind)) {
            act();
        }
        appended
    }

    /// From now on nothing is taken any more, or everything again.
    pub(crate) fn fill(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Appends what should have been appended before.
    async fn catch_up(&self) -> &dyn Log {
        if let Some((lease, batch)) = self.late.lock().await.take() {
            let head = self.inner.head(&lease.session).await.unwrap();
            let appended = self.inner.append(&lease, &head.version, batch).await;
            assert!(matches!(appended, Append::Durable { .. }), "{appended:?}");
        }
        self.inner.as_ref()
    }
}

#[async_trait]
impl Log for LyingLog {
    fn host(&self) -> &str {
        self.inner.host()
    }

    async fn append(&self, lease: &Lease, expected: &Version, batch: Vec<Draft>) -> Append {
        let full = || Append::Refused("the disk is full".to_owned());
        if self.full.load(Ordering::SeqCst) {
            return full();
        }
        if let Lie::Refuse(kind, times) = self.lie {
            let is = batch.first().is_some_and(|draft| draft.header.kind == kind);
            if is && self.appends.fetch_add(1, Ordering::SeqCst) < times {
                return full();
            }
            return self.inner.append(lease, expected, batch).await;
        }
        let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        let head_sequence = batch.last().map_or(0, |draft| draft.header.sequence);
        let durable = Append::Durable { version: expected.clone(), head_sequence };
        match self.lie {
            Lie::Late => {
                self.catch_up().await;
                *self.late.lock().await = Some((lease.clone(), batch));
                durable
            }
            Lie::Never(from) if number >= from => durable,
            Lie::Never(_) | Lie::None | Lie::Refuse(..) => {
                self.pass_on(lease, expected, batch).await
            }
        }
    }

    async fn create(&self, session: &str, meta: SessionMeta) -> Result<Lease, LogError> {
        self.catch_up().await.create(session, meta).await
    }

    async fn lease(&self, session: &str) -> Result<Lease, LogError> {
        self.catch_up().await.lease(session).await
    }

    async fn release(&self, lease: Lease) -> Result<(), LogError> {
        self.catch_up().await.release(lease).await
    }

    async fn head(&self, session: &str) -> Result<Head, LogError> {
        self.catch_up().await.head(session).await
    }

    async fn read(
        &self,
        session: &str,
        after: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Stored>, LogError> {
        self.catch_up().await.read(session, after, limit, max_bytes).await
    }

    async fn headers(&self, session: &str) -> Result<Vec<Header>, LogError> {
        self.catch_up().await.headers(session).await
    }

    async fn record(&self, session: &str, sequence: u64) -> Result<Option<Stored>, LogError> {
        self.catch_up().await.record(session, sequence).await
    }

    async fn tail(&self, session: &str, after: u64) -> Result<watch::Receiver<u64>, LogError> {
        self.catch_up().await.tail(session, after).await
    }

    async fn snapshot_put(
        &self,
        lease: &Lease,
        sequence: u64,
        format: u32,
        bytes: Vec<u8>,
    ) -> Result<(), LogError> {
        self.catch_up().await.snapshot_put(lease, sequence, format, bytes).await
    }

    async fn snapshot_get(&self, session: &str) -> Result<Option<Snapshot>, LogError> {
        self.catch_up().await.snapshot_get(session).await
    }

    async fn erase(&self, lease: &Lease, sequences: &[u64]) -> Result<u64, LogError> {
        self.catch_up().await.erase(lease, sequences).await
    }

    async fn delete(&self, lease: Lease) -> Result<(), LogError> {
        self.catch_up().await.delete(lease).await
    }

    async fn pending(&self) -> Result<Vec<PendingRow>, LogError> {
        self.catch_up().await.pending().await
    }

    async fn command(&self, scope: &str, id: &str) -> Result<Option<CommandRow>, LogError> {
        self.catch_up().await.command(scope, id).await
    }

    async fn sessions(&self) -> Result<Vec<SessionRow>, LogError> {
        self.catch_up().await.sessions().await
    }

    async fn session(&self, session: &str) -> Result<Option<SessionRow>, LogError> {
        self.catch_up().await.session(session).await
    }

    async fn verify(&self, session: &str) -> Result<Verification, LogError> {
        self.catch_up().await.verify(session).await
    }

    fn grants(&self) -> &dyn GrantStore {
        self.inner.grants()
    }
}

//! The trait that every engine of the log implements.
//!
//! It is written so that a cluster engine fits: a batch is one session's records,
//! stored as one entry or not at all; a version is the engine's and is compared
//! for equality only; the lookups (`pending`, `command`) are projections of the
//! marks that may lag and never decide; no operation needs two sessions at once.

use async_trait::async_trait;
use tokio::sync::watch;

use super::chain::Digest;
use super::error::LogError;
use super::grants::GrantStore;
use super::header::{Draft, Header, Stored};

/// An engine's name for a state of a session; only equality means anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(pub(super) String);

/// The right to write one session, until another host takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// Raised with every change of hands; every write checks it.
    pub epoch: u64,
}

/// The end of a session's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// What an append has to expect.
    pub version: Version,
    /// Sequence of the last record, 0 when there is none.
    pub sequence: u64,
    /// The chain up to that record.
    pub chain: Digest,
}

/// How an append ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Append {
    /// The whole batch is durable.
    Durable {
        /// What the next append has to expect.
        version: Version,
        /// Sequence of the batch's last record.
        head_sequence: u64,
    },
    /// Another version or epoch is current; nothing was written.
    Conflict,
    /// Nothing was written; the text says why.
    Refused(String),
    /// Perhaps it was written. Read the session again before anything else.
    Unknown(String),
}

/// What is known of a session when it is created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionMeta {
    /// Time, in milliseconds since 1970.
    pub created_ms: u64,
    /// The workspace that the session works in.
    pub workspace: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub session: String,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of its last record.
    pub updated_ms: u64,
    /// The workspace that it works in.
    pub workspace: Option<String>,
    /// Sequence of its last record, 0 when there is none.
    pub head_sequence: u64,
}

/// An approval that is pending, as far as the lookup knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRow {
    /// The session.
    pub session: String,
    /// The approval.
    pub approval: String,
    /// The record that opened it.
    pub sequence: u64,
}

/// A command that was taken, as far as the lookup knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// The session that took it.
    pub session: String,
    /// The record that holds it.
    pub sequence: u64,
    /// Keyed digest of the payload.
    pub payload: String,
    /// The acknowledgement, JSON text.
    pub ack: String,
}

/// A saved state: a cache that may be dropped or ignored at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that is folded in.
    pub sequence: u64,
    /// Format of the bytes.
    pub format: u32,
    /// The state.
    pub bytes: Vec<u8>,
}

/// A session whose chain holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records it has.
    pub records: u64,
    /// How many of them have no body any more.
    pub erased: u64,
    /// The chain at the head.
    pub chain: Digest,
}

/// The first record of a session that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {sequence}: {why}")]
pub struct VerifyFault {
    /// The record.
    pub sequence: u64,
    /// What is wrong, in a sentence.
    pub why: String,
}

/// What a verification finds, if it can be made at all.
pub type Verification = Result<Verified, VerifyFault>;

/// A durable log of sessions.
#[async_trait]
pub trait Log: Send + Sync {
    /// The id of the host that this handle belongs to, empty for a reader.
    fn host(&self) -> &str;

    /// Creates a session and takes its lease, in one step.
    async fn create(&self, session: &str, meta: SessionMeta) -> Result<Lease, LogError>;

    /// Takes the lease of a session that no live host holds. Wait for the answer: a
    /// lease whose taker went away stays with this host until it ends.
    async fn lease(&self, session: &str) -> Result<Lease, LogError>;

    /// Gives a lease back.
    async fn release(&self, lease: Lease) -> Result<(), LogError>;

    /// The end of a session's records.
    async fn head(&self, session: &str) -> Result<Head, LogError>;

    /// Appends a batch, whole or not at all, if `expected` and the lease are current.
    async fn append(&self, lease: &Lease, expected: &Version, batch: Vec<Draft>) -> Append;

    /// Records after `after`, at most `limit`, in order. It ends before the record
    /// that would exceed `max_bytes`, but never before the first.
    async fn read(
        &self,
        session: &str,
        after: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Stored>, LogError>;

    /// All headers of a session, in order.
    async fn headers(&self, session: &str) -> Result<Vec<Header>, LogError>;

    /// One record, `None` when the session has none with this sequence.
    async fn record(&self, session: &str, sequence: u64) -> Result<Option<Stored>, LogError>;

    /// The head sequence as it grows by appends of this host. The receiver counts
    /// as changed from the start when the head is beyond `after`.
    async fn tail(&self, session: &str, after: u64) -> Result<watch::Receiver<u64>, LogError>;

    /// Keeps a state; only the last one stays.
    async fn snapshot_put(
        &self,
        lease: &Lease,
        sequence: u64,
        format: u32,
        bytes: Vec<u8>,
    ) -> Result<(), LogError>;

    /// The state that was kept last.
    async fn snapshot_get(&self, session: &str) -> Result<Option<Snapshot>, LogError>;

    /// Erases the bodies of records, and the snapshot; headers and chain stay. Which
    /// records may be erased is the caller's to know. Returns how many bodies were there.
    async fn erase(&self, lease: &Lease, sequences: &[u64]) -> Result<u64, LogError>;

    /// Deletes a session with everything that belongs to it.
    async fn delete(&self, lease: Lease) -> Result<(), LogError>;

    /// Approvals that are pending, over all sessions; a projection that may lag.
    async fn pending(&self) -> Result<Vec<PendingRow>, LogError>;

    /// The first command with this id; a projection that may lag.
    async fn command(&self, scope: &str, id: &str) -> Result<Option<CommandRow>, LogError>;

    /// All sessions, the one that was created last first.
    async fn sessions(&self) -> Result<Vec<SessionRow>, LogError>;

    /// One session.
    async fn session(&self, session: &str) -> Result<Option<SessionRow>, LogError>;

    /// Checks the chain of a session and names the first record that is wrong.
    async fn verify(&self, session: &str) -> Result<Verification, LogError>;

    /// The grants that outlive a session. They share nothing with the sessions but the place.
    fn grants(&self) -> &dyn GrantStore;
}

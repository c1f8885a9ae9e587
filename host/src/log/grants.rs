//! Grants that outlive their session: a table of the home, apart from the sessions.
//!
//! A grant is text that only the guest understands. It is kept under the id of the
//! approval that gave it, so that keeping it again changes nothing, and stays after it
//! was revoked, so that keeping it again does not bring it back. Every change raises
//! the revision, in the same transaction.

use async_trait::async_trait;

use super::error::LogError;

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRow {
    /// The approval that gave it.
    pub id: String,
    /// Where it counts: the root of a repository, or of a workspace that is in none.
    pub root: String,
    /// What the guest wrote.
    pub text: String,
    /// What it covers, as the person was shown it.
    pub preview: String,
    /// When it was given, in milliseconds since 1970.
    pub given_ms: u64,
    /// The session in which it was given.
    pub session: String,
    /// The client that gave it.
    pub client: String,
    /// The mode in force then.
    pub mode: String,
}

/// The grants in force at a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantsInForce {
    /// Of the whole table.
    pub revision: u64,
    /// What the guest wrote, in the order in which it was given.
    pub texts: Vec<String>,
}

/// Which grants are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhichGrants {
    /// These.
    Ids(Vec<String>),
    /// All that count at a root.
    Root(String),
    /// All.
    All,
}

/// Where grants that outlive their session are kept.
#[async_trait]
pub trait GrantStore: Send + Sync {
    /// Keeps a grant. One that is kept, or was revoked, stays as it is; one that was given
    /// before all grants of its root were revoked counts as revoked.
    async fn keep(&self, grant: GrantRow) -> Result<(), LogError>;

    /// Raised by every change, of any host.
    async fn revision(&self) -> Result<u64, LogError>;

    /// What is in force at a root.
    async fn in_force(&self, root: &str) -> Result<GrantsInForce, LogError>;

    /// All grants in force, the one that was given first first.
    async fn list(&self) -> Result<Vec<GrantRow>, LogError>;

    /// Revokes grants, at a time in milliseconds since 1970, and says which were in force.
    async fn revoke(&self, which: WhichGrants, now_ms: u64) -> Result<Vec<GrantRow>, LogError>;
}

//! The durable record log behind an async trait.
//!
//! Everything that Placet tells anybody is a record in here first. A record is a
//! typed [`Header`], all that the host reads, and a body that only the guest reads.
//! [`Log`] is the trait; [`SqliteLog`] is the engine that hosts on one machine
//! share, [`MemoryLog`] a stricter one for tests, and [`conformance`] is the suite
//! that both have to pass. [`GrantStore`] keeps, apart from them,
//! what outlives a session. Only this module knows SQL.

pub mod chain;
pub mod conformance;
mod error;
pub mod fault;
mod grants;
mod header;
pub mod home;
pub mod memory;
mod sqlite;
mod store;
mod watchers;

pub use error::LogError;
pub use fault::{CommitFault, Faults};
pub use grants::{GrantRow, GrantStore, GrantsInForce, WhichGrants};
pub use header::{Draft, Header, Mark, Stored};
pub use memory::MemoryLog;
pub use sqlite::{HostRow, SqliteLog};
pub use store::{
    Append, CommandRow, Head, Lease, Log, PendingRow, SessionMeta, SessionRow, Snapshot,
    Verification, Verified, VerifyFault, Version,
};

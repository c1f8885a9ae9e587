//! Every limit of the host, in one place, each with its unit in its name.
//!
//! The limits that decide something are counted in the guest
//! (`guest/policy/src/limits.rs`); these only bound the shell around it.

/// Largest batch of one session's records (headers and bodies) that an append accepts.
pub const BATCH_BYTES_MAX: usize = 768 * 1024;

/// Jobs that may wait for the log's writer; a further one waits to be queued.
pub const LOG_QUEUE_JOBS_MAX: usize = 1024;
/// Jobs that share one commit.
pub const LOG_GROUP_JOBS_MAX: usize = 256;
/// Bytes after which a commit takes no further job.
pub const LOG_GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Connections that read the log at the same time.
pub const LOG_READ_CONNECTIONS_MAX: usize = 4;
/// How long SQLite waits for another connection, in milliseconds.
pub const LOG_BUSY_TIMEOUT_MS: u64 = 10_000;
/// Free bytes that a commit leaves on the disk; with less it is refused before anything is written.
pub const LOG_DISK_FREE_BYTES_MIN: u64 = 1024 * 1024;
/// Size to which the write-ahead file is cut back after a checkpoint, in bytes.
pub const LOG_WAL_KEPT_BYTES_MAX: u64 = 64 * 1024 * 1024;

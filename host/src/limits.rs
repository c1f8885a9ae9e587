//! Every limit of the host, in one place, each with its unit in its name.
//!
//! The limits that decide something are counted in the guest
//! (`guest/policy/src/limits.rs`); these only bound the shell around it.

/// Largest batch of one session's records (headers and bodies) that an append accepts.
pub const BATCH_BYTES_MAX: usize = 768 * 1024;

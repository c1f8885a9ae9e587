//! Placet's policy logic as pure functions: no clock, no randomness, no I/O.

pub mod limits;
pub mod shell;

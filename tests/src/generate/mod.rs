//! Generated cases: mutated commands and random sessions, from one seed.

pub mod commands;
pub mod tally;
pub mod walk;

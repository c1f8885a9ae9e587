//! Agents: who proposes actions, and who runs what was allowed.

pub mod exec;

//! The Placet host: everything around the policy component that has a side effect.
//!
//! The library is the durable shell around the component: it owns the log, the
//! sessions, the transport and the processes that run what was allowed. It never
//! interprets an approval kind, scope, mode or choice; see ARCHITECTURE.md.

pub mod agents;
pub mod cli;
pub mod client;
pub mod config;
mod date;
pub mod engine;
pub mod exec;
mod hex;
pub mod home;
pub mod limits;
pub mod log;
pub mod reviewer;
pub mod sessions;
pub mod transport;
pub mod trust;

//! The torturer: real hosts on one home, killed at random moments under load, and what
//! they acknowledged held against the log that is left.
//!
//! - `run` is the life of hosts: started, driven, killed, checked, started again;
//! - `driver` is one client on one connection, with sessions of its own and of others;
//! - `records` reads the SQLite file, `book` and `marks` are what its records say, by marks and words
//!   alone: nothing here folds a log as the policy does;
//! - `judge` holds what clients were told, and what commands really did, against the book;
//! - `figures` is what a run comes to.
//!
//! A seed gives the same choices, not the same run: when a kill meets a host is real time.

mod book;
mod driver;
mod figures;
mod judge;
mod marks;
mod records;
mod run;
#[cfg(test)]
mod tests;
mod turns;
mod wrong;

pub use figures::Figures;
pub use run::{Options, run};
pub use wrong::{Kind, Wrong};

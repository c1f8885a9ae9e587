//! What a session's marks say: which commands were taken, which approvals closed.
//!
//! Read from the headers when the session is loaded and kept by its actor; the
//! lookups of the log may lag and never decide.

use super::outlet::Fault;
use crate::log::{Header, Mark};
use std::collections::HashMap;

/// The marks of one session.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    commands: HashMap<String, Entry>,
    closed: HashMap<String, u64>,
}

#[derive(Debug)]
struct Entry {
    payload: String,
    ack: String,
}

impl Ledger {
    pub(super) fn new<'a>(headers: impl IntoIterator<Item = &'a Header>) -> Ledger {
        let mut ledger = Ledger::default();
        for header in headers {
            ledger.add(header);
        }
        ledger
    }

    pub(super) fn add(&mut self, header: &Header) {
        for mark in &header.marks {
            match mark {
                Mark::Command { id, payload, ack, .. } => {
                    let entry = Entry { payload: payload.clone(), ack: ack.clone() };
                    self.commands.entry(id.clone()).or_insert(entry);
                }
                Mark::Closes { approval } => {
                    self.closed.entry(approval.clone()).or_insert(header.sequence);
                }
                Mark::Opens { .. } | Mark::Starts { .. } | Mark::Ends { .. } | Mark::View => {}
            }
        }
    }

    /// The stored ack of a command, none when it is new, a fault when the id was used for another.
    pub(super) fn replay(&self, id: &str, payload: &str) -> Result<Option<String>, Fault> {
        match self.commands.get(id) {
            None => Ok(None),
            Some(entry) if entry.payload == payload => Ok(Some(entry.ack.clone())),
            Some(_) => Err(Fault::CommandConflict { command: id.to_owned() }),
        }
    }

    /// The record that closed an approval.
    pub(super) fn closing(&self, approval: &str) -> Option<u64> {
        self.closed.get(approval).copied()
    }
}

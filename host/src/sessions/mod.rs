//! Sessions: one actor each, over the log, the component and the agents.
//!
//! An actor has one batch in flight. What a step proposes waits aside until it
//! is durable; then the ack goes out, then the events, then the work. Nothing
//! here knows JSON-RPC: connections are [`Outlet`]s that are told things.

mod actor;
mod advance;
mod attaching;
mod effects;
mod history;
mod hub;
mod leaving;
mod ledger;
mod listing;
mod opening;
mod outlet;
mod own;
mod redaction;
mod rulebook;
mod saving;
mod watching;

pub(crate) use hub::system_now_ms;
pub use hub::{Clock, Hub, HubOptions, Pause};
pub use listing::Listing;
pub use outlet::{Fault, Outlet, Party, Ticket, Told};
pub use rulebook::Rulebook;

use crate::engine::types::Requirement;

/// A command to a session that is loaded, without who sent it.
#[derive(Clone, Debug)]
pub struct Order {
    /// The client's `commandId`.
    pub id: String,
    /// Keyed digest of method and parameters.
    pub payload: String,
    /// What is asked for.
    pub kind: OrderKind,
}

/// What a command asks for.
#[derive(Clone, Debug)]
pub enum OrderKind {
    /// Start or queue a turn.
    Turn {
        /// The user's text.
        text: String,
        /// What to do when a turn runs.
        if_busy: Option<String>,
        /// How transcripts show the text, where that differs.
        display: Option<String>,
    },
    /// Stop the running turn.
    Stop {
        /// The turn, if named.
        turn: Option<String>,
    },
    /// Decide a requirement.
    Decide {
        /// The approval.
        approval: String,
        /// The requirement that the client saw.
        requirement: Requirement,
        /// A choice of the menu.
        choice: String,
        /// Whether feedback was given; its text stays outside.
        feedback: bool,
    },
    /// Select a mode.
    Mode {
        /// The mode's wire name.
        mode: String,
    },
    /// Give the session up on this host.
    Leave {
        /// Whether a turn that runs is stopped for it.
        stop: bool,
    },
}

/// What a client says of a session that it wants to open.
#[derive(Clone, Debug)]
pub struct Start {
    /// The client's `commandId`.
    pub id: String,
    /// Keyed digest of method and parameters.
    pub payload: String,
    /// The id that the client wants, if it does.
    pub session: Option<String>,
    /// The starting mode.
    pub mode: Option<String>,
    /// The workspace root, as the client gave it.
    pub workspace: Option<String>,
    /// Echoed in the session object.
    pub provider: Option<String>,
    /// Echoed in the session object.
    pub model: Option<String>,
}

/// How a client wants to come back to a session.
#[derive(Clone, Debug, Default)]
pub struct Attach {
    /// Only what comes after this is replayed.
    pub cursor: Option<String>,
    /// Whether the items are left out.
    pub exclude_items: bool,
    /// Whether they come as a snapshot.
    pub snapshot: bool,
}

/// A request for a page of the view.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Where it starts, exclusive.
    pub cursor: Option<String>,
    /// Whether it goes back in time; its events ascend all the same.
    pub backward: bool,
    /// How many events at most.
    pub limit: usize,
    /// How many bytes of events at most.
    pub max_bytes: usize,
}

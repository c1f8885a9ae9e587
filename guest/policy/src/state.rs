//! The state of a session: open work only, as a value.
//!
//! No items that ended, no ledger, no payload text: what a step needs of the
//! past it asks the host for by sequence.

use crate::codec::{Resolution, Terminal};
use crate::limits;
use crate::modes::Mode;
use crate::types::Refusal;
use serde::{Deserialize, Serialize};

/// The format number of encoded states; a snapshot of another one is folded anew.
pub(crate) const FORMAT: u32 = 1;

/// Everything about a session that a later step depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) format: u32,
    /// The last record folded in.
    pub(crate) head: u64,
    pub(crate) created_ms: u64,
    pub(crate) updated_ms: u64,
    pub(crate) workspace: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) source: Source,
    /// The command that selected the mode, if one did.
    pub(crate) selected_by: Option<String>,
    /// The session's seal; none when the seals of its hosts have no mode in common.
    pub(crate) seal: Option<Mode>,
    pub(crate) turn_count: u64,
    pub(crate) turn: Option<Turn>,
    pub(crate) queued: Vec<Queued>,
    pub(crate) items: Vec<Item>,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) grants: Vec<Grant>,
    /// Lasting grants that were given and of which no record says that they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unsaved: Vec<Unsaved>,
    pub(crate) last_turn: Option<LastTurn>,
}

/// Where the mode came from, in the wire's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Source {
    Startup,
    Replay,
    ApprovalReconfigure,
}

/// The turn that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) command: String,
    /// The seal of the connection that started it.
    pub(crate) seal: Option<Mode>,
    pub(crate) started_ms: u64,
    /// The agent has nothing more for it: it ends with its last item.
    pub(crate) finished: bool,
    pub(crate) stopping: bool,
    /// It stops because its host leaves: nothing new begins here.
    pub(crate) leaving: bool,
    /// Its host leaves because a client said so, not because the host stops.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) left: bool,
}

/// A turn that waits for the running one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Queued {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) seal: Option<Mode>,
    /// The record that holds its text.
    pub(crate) sequence: u64,
}

/// A tool call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) turn: String,
    pub(crate) revision: u32,
    /// The record that holds the action, and the bytes of its body.
    pub(crate) sequence: u64,
    pub(crate) bytes: u64,
    /// Digest of the facts that the decision rests on.
    pub(crate) facts: String,
    pub(crate) approval: Option<String>,
    pub(crate) held: bool,
    pub(crate) phase: Phase,
}

/// How far a tool call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Phase {
    /// Proposed; its verdict follows in the same batch.
    Proposed,
    /// So many are asked about that it waits, unopened, to be judged again.
    Deferred,
    /// A person is asked.
    Waiting,
    /// Allowed, not yet started.
    Decided,
    /// Started, not yet ended.
    Running,
}

/// An approval that is pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Approval {
    pub(crate) id: String,
    pub(crate) item: String,
    pub(crate) turn: String,
    /// The opening record: it holds the request and the menu.
    pub(crate) sequence: u64,
    /// Bytes of its body, and of its stages once more, as evidence repeats them.
    pub(crate) bytes: u64,
    /// What has become of each stage; empty for kinds without stages.
    pub(crate) stages: Vec<Resolution>,
    pub(crate) current: u32,
    pub(crate) protected: bool,
    pub(crate) agent_waits: bool,
}

/// A session grant, by the digest of what it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grant {
    /// The approval that gave it.
    pub(crate) approval: String,
    pub(crate) kind: String,
    pub(crate) key: String,
}

/// A lasting grant that the host has yet to keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unsaved {
    /// The approval that gave it.
    pub(crate) approval: String,
    /// The record that opened the approval, and the one that gave the grant.
    pub(crate) opened: u64,
    pub(crate) sequence: u64,
}

/// How the last turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastTurn {
    pub(crate) id: String,
    pub(crate) terminal: Terminal,
    pub(crate) reason: Option<String>,
}

impl State {
    pub(crate) fn encode(&self) -> Vec<u8> {
        // A plain struct of strings and integers cannot fail to serialize.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<State, Refusal> {
        let state: State = serde_json::from_slice(bytes)
            .map_err(|error| Refusal::Unreadable(format!("the state cannot be read: {error}")))?;
        if state.format == FORMAT {
            Ok(state)
        } else {
            Err(Refusal::Unreadable(format!(
                "the state has format {}; this version reads format {FORMAT}",
                state.format
            )))
        }
    }

    /// The mode in force for the running turn: the lower of the held mode, the
    /// session's seal and the seal of the connection that started the turn.
    pub(crate) fn mode_in_force(&self) -> Option<Mode> {
        let sealed = Mode::meet(Some(self.mode), self.seal);
        match &self.turn {
            Some(turn) => Mode::meet(sealed, turn.seal),
            None => sealed,
        }
    }

    /// At most how many bytes the batch takes that closes and opens again all
    /// that is pending, as recovery does; stopping a turn takes less.
    pub(crate) fn recovery_bytes(&self) -> u64 {
        let items = self.items.iter().map(|item| item.bytes);
        let approvals = self.approvals.iter().map(|open| open.bytes);
        let each = u64::try_from(limits::RECOVERY_BYTES_RESERVED).unwrap_or(u64::MAX);
        items
            .chain(approvals)
            .fold(each, |sum, bytes| sum.saturating_add(bytes).saturating_add(each))
    }

    pub(crate) fn approval(&self, id: &str) -> Option<&Approval> {
        self.approvals.iter().find(|approval| approval.id == id)
    }

    /// The items that wait for their turn to be asked about, in order.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.phase == Phase::Deferred)
    }

    /// Whether one more approval may be open.
    pub(crate) fn has_room(&self) -> bool {
        u64::try_from(self.approvals.len()).unwrap_or(u64::MAX) < limits::OPEN_APPROVALS_MAX
    }

    /// Whether nothing runs, waits or is asked, so that a host may let the session go.
    pub(crate) fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.queued.is_empty()
            && self.items.is_empty()
            && self.approvals.is_empty()
    }

    pub(crate) fn item(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }
}

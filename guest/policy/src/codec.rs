//! Record bodies: what is stored, and how it is read and written.
//!
//! Formats are append-only. A body is UTF-8 JSON with its record's name in the
//! member `record`; every format ever released stays readable, the newest is
//! written. These types are apart from those of `wit/` on purpose: the contract
//! may change its names, the log may not.

mod action;
mod subject;

pub(crate) use action::{Action, Facts, PathFact};
pub(crate) use subject::{Origin, Resolution, Stage, Subject};

use crate::menu::Choice;
use crate::modes::Mode;
use crate::types::{Header, Logged, Refusal, TableRow};
use serde::{Deserialize, Serialize};

/// The format number that this version writes. Format 2 added subjects (files,
/// networks, sockets, processes, declared ones), `actionJudged`, `agentMessage` and `redacted`;
/// format 3 grants that outlive their session, `stagesCovered`, `grantSaved` and `grantFailed`.
/// What the older ones hold is read as it is.
pub(crate) const FORMAT: u32 = 3;

/// A record's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Body {
    SessionStarted {
        mode: Mode,
        seal: Option<Mode>,
        workspace: Option<String>,
        provider: Option<String>,
        model: Option<String>,
        client: String,
        connection: String,
    },
    /// A host took the session over: its seal bounds the session from here on.
    SessionLoaded {
        seal: Option<Mode>,
        client: String,
        connection: String,
    },
    /// The host left in order.
    SessionClosed {
        reason: String,
    },
    ModeChanged {
        mode: Mode,
        command: String,
        client: String,
    },
    /// A command that changed nothing: only its acknowledgement is kept, for replays.
    CommandNoted {
        command: String,
    },
    TurnQueued {
        turn: String,
        command: String,
        seal: Option<Mode>,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<String>,
        /// It replaces the running turn, so it goes before those that wait.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        front: bool,
    },
    TurnStarted {
        turn: String,
        command: String,
        seal: Option<Mode>,
    },
    UserMessage {
        item: String,
        turn: String,
        command: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display: Option<String>,
    },
    AgentMessage {
        item: String,
        turn: String,
        revision: u32,
        text: String,
    },
    TurnStopRequested {
        turn: String,
        by: StopBy,
    },
    TurnCompleted {
        turn: String,
        terminal: Terminal,
        reason: Option<String>,
        error: Option<TurnError>,
        duration_ms: u64,
    },
    ActionProposed {
        action: Action,
        facts: Facts,
        last: bool,
        verdict: Verdict,
        /// The approval that the action waits for, or the one that settled it at once.
        approval: Option<String>,
        /// Whether it waits: for its approval, or without one for its turn to be asked about.
        held: bool,
    },
    /// An action that had waited for its turn is judged again, with facts taken anew.
    ActionJudged {
        facts: Facts,
        verdict: Verdict,
        approval: Option<String>,
        held: bool,
        /// The item as clients see it from now on.
        shown: Item,
        turn: String,
    },
    ApprovalOpened {
        approval: String,
        request: Request,
        /// The approval that this one takes over from, after a restart.
        predecessor: Option<String>,
        /// The facts and verdict taken anew for a successor.
        renewed: Option<Renewed>,
    },
    StageDecided {
        approval: String,
        item: String,
        source_index: u32,
        /// Other stages that the same words cover.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<u32>,
        choice: String,
        decision: String,
        resolution: Resolution,
        current: u32,
        subject: Subject,
        menu: Vec<Choice>,
        command: String,
        client: String,
        connection: String,
    },
    ApprovalResolved {
        approval: String,
        item: String,
        turn: String,
        decision: String,
        by: ResolvedBy,
        why: String,
        amendment: Option<Amendment>,
        grant: Option<Grant>,
        /// The grant that is to outlive the session: to be kept once this record is durable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasting: Option<Lasting>,
        command: Option<String>,
        client: Option<String>,
        connection: Option<String>,
        evidence: Vec<Stage>,
    },
    /// Stages of a request that is open still, covered by a grant that was given elsewhere.
    StagesCovered {
        approval: String,
        item: String,
        /// What has become of every stage.
        stages: Vec<Resolution>,
        /// The first stage that this covers.
        source_index: u32,
        current: u32,
        subject: Subject,
        menu: Vec<Choice>,
        /// The grant, as terminal records name it.
        why: String,
    },
    /// The host keeps a lasting grant.
    GrantSaved {
        approval: String,
        item: String,
        subject: Subject,
        current: u32,
    },
    /// The host could not keep it: the decision stands, and nothing else is covered.
    GrantFailed {
        approval: String,
        item: String,
        subject: Subject,
        current: u32,
        reason: String,
    },
    ExecutionStarted {
        item: String,
        turn: String,
        /// Digest of the action and of the facts at release.
        action: String,
        facts: String,
        /// The item as clients see it from now on, where that changes.
        shown: Option<Item>,
    },
    ItemEnded {
        turn: String,
        item: Item,
        /// A word of ours for why: `ran`, `denied`, `interrupted`, `notStarted`, `outcomeUnknown`, ...
        cause: String,
    },
    /// The bodies of these records are erased, from this record on.
    Redacted {
        sequences: Vec<u64>,
        client: String,
    },
}

/// Who asked a turn to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StopBy {
    Client,
    Shutdown,
    Leave,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Terminal {
    Completed,
    Failed,
    Cancelled,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnError {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) retryable: bool,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ResolvedBy {
    User,
    Policy,
}

/// A verdict with what it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    pub(crate) decision: String,
    pub(crate) row: String,
    pub(crate) reason: String,
    pub(crate) rule: Option<String>,
    pub(crate) mode: Option<Mode>,
    pub(crate) answer: Option<ModeAnswer>,
    pub(crate) fault: Option<String>,
}

/// What a mode component answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModeAnswer {
    pub(crate) decision: String,
    pub(crate) reason: String,
}

/// Facts and verdict of a successor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Renewed {
    pub(crate) facts: Facts,
    pub(crate) verdict: Verdict,
}

/// Everything of an approval's request that does not change while it is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) turn: String,
    pub(crate) task: String,
    pub(crate) item: String,
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) args: String,
    pub(crate) subject: Subject,
    pub(crate) current: u32,
    pub(crate) menu: Vec<Choice>,
    pub(crate) protected: bool,
    pub(crate) agent_waits: bool,
    /// The working folder, where a lasting grant may depend on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) folder: String,
    /// Where a lasting grant of this request would count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<String>,
}

/// The rule that a decision made, as clients are told it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Amendment {
    pub(crate) durability: String,
    pub(crate) preview: String,
}

/// A session grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grant {
    pub(crate) kind: String,
    pub(crate) key: String,
}

/// A grant that outlives its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lasting {
    /// Where it counts.
    pub(crate) root: String,
    /// What the host keeps and brings back: see `saved`.
    pub(crate) text: String,
    pub(crate) preview: String,
    /// The mode in force when it was given.
    pub(crate) mode: Option<Mode>,
}

/// A tool call as the view shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    pub(crate) item: String,
    pub(crate) revision: u32,
    pub(crate) status: String,
    pub(crate) tool: String,
    pub(crate) call: String,
    pub(crate) args: String,
    pub(crate) approval: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) truncated: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) failure_kind: Option<String>,
    pub(crate) failure: Option<String>,
}

impl Body {
    /// The record's kind, as headers show it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Body::SessionStarted { .. } => "sessionStarted",
            Body::SessionLoaded { .. } => "sessionLoaded",
            Body::SessionClosed { .. } => "sessionClosed",
            Body::ModeChanged { .. } => "modeChanged",
            Body::CommandNoted { .. } => "commandNoted",
            Body::TurnQueued { .. } => "turnQueued",
            Body::TurnStarted { .. } => "turnStarted",
            Body::UserMessage { .. } => "userMessage",
            Body::AgentMessage { .. } => "agentMessage",
            Body::TurnStopRequested { .. } => "turnStopRequested",
            Body::TurnCompleted { .. } => "turnCompleted",
            Body::ActionProposed { .. } => "actionProposed",
            Body::ActionJudged { .. } => "actionJudged",
            Body::ApprovalOpened { .. } => "approvalOpened",
            Body::StageDecided { .. } => "stageDecided",
            Body::ApprovalResolved { .. } => "approvalResolved",
            Body::StagesCovered { .. } => "stagesCovered",
            Body::GrantSaved { .. } => "grantSaved",
            Body::GrantFailed { .. } => "grantFailed",
            Body::ExecutionStarted { .. } => "executionStarted",
            Body::ItemEnded { .. } => "itemEnded",
            Body::Redacted { .. } => "redacted",
        }
    }

    /// The bytes that are stored.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Refusal> {
        serde_json::to_vec(self)
            .map_err(|error| Refusal::Unreadable(format!("a record could not be written: {error}")))
    }
}

/// Reads a record's body; a body that was erased or cannot be read is a refusal that says so.
pub(crate) fn decode(record: &Logged) -> Result<Body, Refusal> {
    let Header { sequence, format, kind, .. } = &record.header;
    if !(1..=FORMAT).contains(format) {
        return Err(Refusal::Unreadable(format!(
            "record {sequence} ({kind}) has format {format}; this version reads formats up to {FORMAT}"
        )));
    }
    let Some(bytes) = &record.body else {
        return Err(Refusal::Unreadable(format!(
            "the body of record {sequence} ({kind}) was erased"
        )));
    };
    let body: Body = serde_json::from_slice(bytes).map_err(|error| {
        Refusal::Unreadable(format!("record {sequence} ({kind}) cannot be read: {error}"))
    })?;
    if body.kind() != kind {
        return Err(Refusal::Unreadable(format!(
            "record {sequence} is headed {kind} but holds {}",
            body.kind()
        )));
    }
    Ok(body)
}

/// A table row's word.
pub(crate) fn row_word(row: TableRow) -> &'static str {
    match row {
        TableRow::OwnFiles => "ownFiles",
        TableRow::DenyRule => "denyRule",
        TableRow::Protected => "protected",
        TableRow::UnknownKind => "unknownKind",
        TableRow::AskRule => "askRule",
        TableRow::Covered => "covered",
        TableRow::AskedFor => "askedFor",
        TableRow::Confined => "confined",
        TableRow::Unconfined => "unconfined",
    }
}

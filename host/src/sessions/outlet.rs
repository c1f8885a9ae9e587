//! What a session tells a connection, and what it knows of one.

use crate::engine::EngineError;
use crate::engine::types::{Event, Refusal};

/// Names the request that an answer belongs to. Opaque: the transport's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket(pub String);

impl Ticket {
    /// The ticket of an order that the host itself gives: nobody waits for its answer.
    #[must_use]
    pub fn nobody() -> Ticket {
        Ticket(String::new())
    }
}

/// Something that a connection is told. What is told in one order arrives in that order.
#[derive(Clone, Debug)]
pub enum Told {
    /// The answer to a request: UTF-8 JSON, or why there is none.
    Answer {
        /// The request.
        ticket: Ticket,
        /// The answer.
        result: Result<String, Fault>,
    },
    /// A view event.
    Event(Event),
    /// A request that a person must see: its parameters, UTF-8 JSON.
    Ask(String),
    /// More output of a running item.
    Delta {
        /// The session.
        session: String,
        /// The item.
        item: String,
        /// Its cursor: the head with a suffix.
        cursor: String,
        /// The member of the item that grows.
        field: &'static str,
        /// The text.
        text: String,
    },
    /// The agent begins to say something; no record holds that.
    MessageBegun {
        /// The session.
        session: String,
        /// The turn.
        turn: String,
        /// The item.
        item: String,
        /// Its cursor: the head with a suffix.
        cursor: String,
    },
    /// Status or attention changed.
    Status {
        /// The session.
        session: String,
        /// `idle` or `running`.
        status: String,
        /// Who is needed.
        attention: Vec<String>,
        /// The head.
        cursor: String,
    },
    /// A session began: its object, UTF-8 JSON.
    Started(String),
    /// A client's session/leave has come to its end.
    Left {
        /// The session.
        session: String,
        /// The command.
        command: String,
        /// Whether the lease was given back.
        released: bool,
        /// The head.
        cursor: String,
    },
    /// A session left this host.
    Closed {
        /// The session.
        session: String,
        /// Why.
        reason: String,
        /// The head.
        cursor: String,
    },
}

/// A connection.
pub trait Outlet: Send + Sync {
    /// Tells it something; never waits.
    fn tell(&self, told: Told);
    /// Who is at its other end.
    fn party(&self) -> &Party;
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// `clientInfo.name`.
    pub client: String,
    /// The connection's own name, for the record.
    pub connection: String,
    /// The listener's seal.
    pub seal: String,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The component refused.
    Refused {
        /// Why.
        refusal: Refusal,
        /// The command.
        command: String,
    },
    /// The same id with another payload.
    CommandConflict {
        /// The command.
        command: String,
    },
    /// Refused with a reason word.
    Rejected {
        /// The command.
        command: String,
        /// The word.
        reason: String,
        /// What happened and what to do next.
        message: String,
    },
    /// A parameter makes no sense.
    Invalid(String),
    /// No log of this session.
    NotFound(String),
    /// The log exists, but the session is not loaded here.
    NotLoaded(String),
    /// Another host holds the session.
    InUse(String),
    /// A cursor that was never minted here.
    MissingAnchor(String),
    /// An event that fits no page.
    EventTooLarge(String),
    /// Too busy; try again.
    Overloaded(String),
    /// As many commands wait for the session as may; try again.
    Backpressured(usize),
    /// Something failed that should not.
    Internal(String),
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Fault {
        match error {
            EngineError::Overloaded { .. } => Fault::Overloaded(error.to_string()),
            _ => Fault::Internal(error.to_string()),
        }
    }
}

impl Fault {
    /// What happened, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Fault::Rejected { message, .. }
            | Fault::Invalid(message)
            | Fault::Overloaded(message)
            | Fault::Internal(message) => message.clone(),
            Fault::Refused { refusal: Refusal::Misuse(why) | Refusal::Unreadable(why), .. } => {
                why.clone()
            }
            Fault::Refused { refusal, .. } => format!("refused: {refusal:?}"),
            Fault::CommandConflict { command } => format!("the command id {command} is taken"),
            Fault::Backpressured(capacity) => format!("{capacity} commands wait already"),
            Fault::NotFound(session) => format!("there is no session {session}"),
            Fault::NotLoaded(session) => format!("the session {session} is not loaded"),
            Fault::InUse(session) => format!("another host holds the session {session}"),
            Fault::MissingAnchor(cursor) => format!("the cursor {cursor} is unknown"),
            Fault::EventTooLarge(cursor) => format!("the event at {cursor} is too large"),
        }
    }

    /// A refusal of a read.
    pub(super) fn unreadable(refusal: Refusal) -> Fault {
        match refusal {
            Refusal::Unreadable(why) | Refusal::Misuse(why) => Fault::Internal(why),
            refusal => Fault::Refused { refusal, command: String::new() },
        }
    }
}

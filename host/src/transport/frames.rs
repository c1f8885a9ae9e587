//! Frames as they go out: results, errors, notifications, requests.

use crate::engine::types::Refusal;
use crate::limits;
use crate::sessions::{Fault, Ticket, Told};
use serde_json::{Map, Value, json};

/// An error as the wire has it: code, kind, message, further data.
pub(super) struct WireError {
    pub(super) code: i32,
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) data: Map<String, Value>,
}

impl WireError {
    pub(super) fn new(code: i32, kind: &'static str, message: impl Into<String>) -> WireError {
        WireError { code, kind, message: message.into(), data: Map::new() }
    }

    pub(super) fn with(mut self, member: &str, value: impl Into<Value>) -> WireError {
        self.data.insert(member.to_owned(), value.into());
        self
    }

    pub(super) fn parse(message: impl Into<String>) -> WireError {
        WireError::new(-32700, "parseError", message)
    }

    pub(super) fn request(message: impl Into<String>) -> WireError {
        WireError::new(-32600, "invalidRequest", message)
    }

    pub(super) fn params(message: impl Into<String>) -> WireError {
        WireError::new(-32602, "invalidParams", message)
    }

    pub(super) fn method(name: &str) -> WireError {
        WireError::new(-32601, "methodNotFound", format!("this host has no method `{name}`"))
    }

    pub(super) fn too_large(what: &str, limit_bytes: u64) -> WireError {
        let message = format!("{what} is larger than {limit_bytes} bytes");
        WireError::new(-32002, "inputTooLarge", message).with("limitBytes", limit_bytes)
    }

    /// The whole frame, for the request with this id.
    pub(super) fn frame(self, id: &Value) -> String {
        let WireError { code, kind, message, mut data } = self;
        let retryable = matches!(code, -32001 | -32031);
        data.insert("kind".to_owned(), json!(kind));
        data.insert("retryable".to_owned(), json!(retryable));
        json!({
            "jsonrpc": "2.0", "id": id,
            "error": {"code": code, "message": message, "data": data},
        })
        .to_string()
    }
}

impl From<Fault> for WireError {
    fn from(fault: Fault) -> WireError {
        match fault {
            Fault::Refused { refusal, command } => refused(refusal, &command),
            Fault::CommandConflict { command } => rejected(
                &command,
                "command_id_conflict",
                "this commandId was used for another command; use a new one",
            ),
            Fault::Rejected { command, reason, message } => rejected(&command, &reason, &message),
            Fault::Invalid(message) => WireError::params(message),
            Fault::NotFound(session) => WireError::new(
                -32020,
                "sessionNotFound",
                format!("there is no session {session} in this home"),
            )
            .with("sessionId", session),
            Fault::NotLoaded(session) => WireError::new(
                -32024,
                "sessionNotLoaded",
                format!("the session {session} is not loaded here; resume it first"),
            )
            .with("sessionId", session),
            Fault::InUse(session) => WireError::new(
                -32021,
                "sessionInUse",
                format!("another host holds the session {session}; try again when it has ended"),
            )
            .with("sessionId", session),
            Fault::MissingAnchor(cursor) => WireError::new(
                -32011,
                "notFound",
                format!("the cursor `{cursor}` was never minted here; start without one"),
            )
            .with("reason", "missingAnchor")
            .with("anchor", cursor),
            Fault::EventTooLarge(cursor) => WireError::new(
                -32603,
                "pageEventTooLarge",
                format!("the event at {cursor} fits no frame"),
            )
            .with("viewCursor", cursor),
            Fault::Backpressured(capacity) => WireError::new(
                -32031,
                "backpressured",
                format!("{capacity} commands wait for this session already; send it again"),
            )
            .with("capacity", capacity),
            Fault::Overloaded(message) => WireError::new(-32001, "overloaded", message),
            Fault::Internal(message) => WireError::new(-32603, "internal", message),
        }
    }
}

fn rejected(command: &str, reason: &str, message: &str) -> WireError {
    WireError::new(-32030, "commandRejected", message)
        .with("commandId", command)
        .with("reason", reason)
}

fn refused(refusal: Refusal, command: &str) -> WireError {
    match refusal {
        Refusal::ApprovalNotFound(approval) => WireError::new(
            -32050,
            "approvalNotFound",
            format!("this session has no approval {approval}"),
        )
        .with("approvalId", approval),
        Refusal::AlreadyResolved(winner) => WireError::new(
            -32051,
            "approvalAlreadyResolved",
            format!(
                "the approval was resolved already: {} by {}",
                winner.decision, winner.resolved_by
            ),
        )
        .with("approvalId", winner.approval_id)
        .with(
            "resolution",
            json!({
                "decision": winner.decision, "resolvedBy": winner.resolved_by,
                "viewCursor": winner.sequence.to_string(),
            }),
        ),
        Refusal::ChoiceInvalid(fault) => WireError::new(
            -32052,
            "approvalChoiceInvalid",
            format!("the choice `{}` cannot be used: {}", fault.choice_id, fault.why),
        )
        .with("approvalId", fault.approval_id)
        .with("choiceId", fault.choice_id),
        Refusal::RequirementStale(current) => WireError::new(
            -32053,
            "approvalRequirementStale",
            format!("requirement {} is the current one; look again", current.source_index),
        )
        .with("approvalId", current.approval_id.clone())
        .with(
            "currentRequirementId",
            json!({"approvalId": current.approval_id, "sourceIndex": current.source_index}),
        ),
        Refusal::ReviewerUnavailable(approval) => WireError::new(
            -32054,
            "approvalReviewerUnavailable",
            "a protected write is decided only by a subscribed connection; subscribe first",
        )
        .with("approvalId", approval),
        Refusal::Rejected(rejection) => rejected(command, &rejection.reason, &rejection.message),
        Refusal::Invalid(message) => WireError::params(message),
        Refusal::TooLarge(fault) => WireError::too_large(&fault.what, fault.limit_bytes),
        Refusal::Unreadable(message) | Refusal::Misuse(message) => {
            WireError::new(-32603, "internal", message)
        }
    }
}

/// A success: the result is JSON text already and goes out as it is.
pub(super) fn success(ticket: &Ticket, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, ticket.0)
}

fn notification(method: &str, params: &str, now_ms: u64) -> String {
    let method = json!(method);
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params},"emittedAtMs":{now_ms}}}"#)
}

/// The frame for something that a connection is told. `next_id` mints ids of our own requests.
pub(super) fn told(told: Told, now_ms: u64, next_id: impl FnOnce() -> u64) -> String {
    match told {
        Told::Answer { ticket, result: Ok(result) } => {
            let frame = success(&ticket, &result);
            if frame.len() <= limits::FRAME_BYTES_MAX {
                return frame;
            }
            let error = WireError::new(-32603, "outputResultTooLarge", "the result fits no frame");
            error.frame(&id(&ticket))
        }
        Told::Answer { ticket, result: Err(fault) } => WireError::from(fault).frame(&id(&ticket)),
        Told::Event(event) => notification(&event.method, &event.params, now_ms),
        Told::Ask(params) => {
            let id = next_id();
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"approval/request","params":{params}}}"#
            )
        }
        Told::Delta { session, item, cursor, field, text } => {
            let params = json!({
                "sessionId": session, "viewCursor": cursor, "itemId": item, "field": field,
                "delta": text,
            });
            notification("item/delta", &params.to_string(), now_ms)
        }
        Told::MessageBegun { session, turn, item, cursor } => {
            let params = json!({
                "sessionId": session, "viewCursor": cursor,
                "item": {
                    "itemId": item, "kind": "agentMessage", "turnId": turn, "revision": 1,
                    "status": "inProgress", "text": "",
                },
            });
            notification("item/started", &params.to_string(), now_ms)
        }
        Told::Left { session, command, released, cursor } => {
            let mut params = json!({
                "sessionId": session, "commandId": command, "viewCursor": cursor,
                "outcome": if released { "released" } else { "failed" },
            });
            if let (Value::Object(map), false) = (&mut params, released) {
                map.insert("reason".to_owned(), json!("persistenceFailed"));
            }
            notification("session/leaveCompleted", &params.to_string(), now_ms)
        }
        Told::Status { session, status, attention, cursor } => {
            let mut params = json!({"sessionId": session, "status": status, "viewCursor": cursor});
            if let (Value::Object(map), false) = (&mut params, attention.is_empty()) {
                map.insert("attention".to_owned(), json!(attention));
            }
            notification("session/statusChanged", &params.to_string(), now_ms)
        }
        Told::Started(session) => {
            notification("session/started", &format!(r#"{{"session":{session}}}"#), now_ms)
        }
        Told::Closed { session, reason, cursor } => {
            let params = json!({"sessionId": session, "reason": reason, "viewCursor": cursor});
            notification("session/closed", &params.to_string(), now_ms)
        }
    }
}

fn id(ticket: &Ticket) -> Value {
    serde_json::from_str(&ticket.0).unwrap_or(Value::Null)
}

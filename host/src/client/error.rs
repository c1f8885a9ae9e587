//! Why there is no answer.

use serde_json::Value;
use thiserror::Error;

/// An error as the host sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The error's code.
    pub code: i64,
    /// The error's kind, by which it is told apart.
    pub kind: String,
    /// What happened, for a person.
    pub message: String,
    /// All of the error's data.
    pub data: Value,
}

impl Refusal {
    pub(super) fn new(mut error: Value) -> Refusal {
        let data = error.get_mut("data").map(Value::take).unwrap_or(Value::Null);
        let text = |value: Option<&Value>| {
            value.and_then(Value::as_str).unwrap_or("(the host does not say)").to_owned()
        };
        Refusal {
            code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
            kind: text(data.get("kind")),
            message: text(error.get("message")),
            data,
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ClientError {
    /// The host refused.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The connection has ended.
    #[error("the host is gone")]
    Ended,
    /// What it says makes no sense.
    #[error("the other side is no host that this placet understands: {0}")]
    Protocol(String),
}

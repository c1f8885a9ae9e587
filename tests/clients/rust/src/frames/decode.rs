//! One line of a trace: its envelope, its payload, and what the types make of them.

use crate::types;
use muse_code_sdk::errors::{ErrorCode, MspError};
use muse_code_sdk::msp::{ErrorResponse, Notification, Request, RequestId, SuccessResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::{self, Debug, Display};

/// The four things that a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Result,
    Error,
    Notification,
    Request,
}

impl Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kind::Result => "result",
            Kind::Error => "error",
            Kind::Notification => "notification",
            Kind::Request => "request",
        })
    }
}

/// What is wrong with a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A type, a member or a word that the SDK does not know; by the name that the allow list uses.
    Unknown(String),
    /// It does not decode, or decodes to something else.
    Broken(String),
}

impl Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unknown(name) => write!(formatter, "the SDK has no {name}"),
            Fault::Broken(why) => formatter.write_str(why),
        }
    }
}

/// A frame that was looked at.
pub(crate) struct Decoded {
    pub(crate) method: String,
    pub(crate) kind: Kind,
    pub(crate) faults: Vec<Fault>,
}

/// Reads one line of a trace.
pub(crate) fn line(line: &[u8]) -> Result<Decoded, String> {
    let line: Value = serde_json::from_slice(line).map_err(|error| format!("no JSON: {error}"))?;
    let frame = line.get("frame").ok_or("the line has no member `frame`")?;
    let method = line.get("method").and_then(Value::as_str);
    let has = |member: &str| frame.get(member).is_some();
    let kind = match (has("method"), has("id"), has("result"), has("error")) {
        (true, true, false, false) => Kind::Request,
        (true, false, false, false) => Kind::Notification,
        (false, true, true, false) => Kind::Result,
        (false, true, false, true) => Kind::Error,
        _ => return Err(format!("neither request, notification, result nor error: {frame}")),
    };
    let mut faults = Vec::new();
    match (kind, method) {
        (Kind::Error, _) => error(frame, &mut faults),
        (Kind::Result, Some(method)) => {
            whole::<SuccessResponse>(frame, "frame", &mut faults);
            types::result(method, &frame["result"], &mut faults);
        }
        (Kind::Notification, Some(method)) => {
            whole::<Notification>(frame, "frame", &mut faults);
            types::event(method, kind, &frame["params"], &mut faults);
        }
        (Kind::Request, Some(method)) => {
            whole::<Request>(frame, "frame", &mut faults);
            let id = serde_json::from_value(frame["id"].clone());
            if !matches!(id, Ok(RequestId::Integer(id)) if id > 0) {
                faults.push(Fault::Broken("the id of a request is no positive integer".to_owned()));
            }
            types::event(method, kind, &frame["params"], &mut faults);
        }
        (_, None) => faults.push(Fault::Broken("it answers a request that nobody sent".to_owned())),
    }
    let method = method.unwrap_or("(unreadable request)").to_owned();
    Ok(Decoded { method, kind, faults })
}

/// An error must be a row of the SDK's registry: a code with a kind that belongs to it.
fn error(frame: &Value, faults: &mut Vec<Fault>) {
    whole::<ErrorResponse>(frame, "frame", faults);
    let Ok(response) = serde_json::from_value::<ErrorResponse>(frame.clone()) else { return };
    match MspError::try_from(response.error) {
        Ok(error) if ErrorCode::ALL.into_iter().any(|row| error.matches(row)) => {}
        Ok(error) => faults.push(Fault::Broken(format!(
            "code {} with kind {:?} is no row of the registry",
            error.code(),
            error.kind()
        ))),
        Err(error) => faults.push(Fault::Broken(error.to_string())),
    }
}

/// Decodes a value as a type and holds what the type kept against what came.
pub(crate) fn whole<T>(value: &Value, path: &str, faults: &mut Vec<Fault>)
where
    T: DeserializeOwned + Serialize + Debug,
{
    let typed = match T::deserialize(value) {
        Ok(typed) => typed,
        Err(error) => return faults.push(Fault::Broken(format!("{path}: {error}; in {value}"))),
    };
    let words = format!("{typed:?}");
    // Debug escapes quotes inside texts, so this is never the text of a member.
    for found in words.split("Unknown(\"").skip(1) {
        let word = found.split('"').next().unwrap_or_default();
        faults.push(Fault::Unknown(format!("word {word}")));
    }
    match serde_json::to_value(&typed) {
        Ok(kept) => compare(value, &kept, path, faults),
        Err(error) => faults.push(Fault::Broken(format!("{path}: {error}"))),
    }
}

/// Members that the type dropped, and values that it changed. A null member may be absent instead.
fn compare(came: &Value, kept: &Value, path: &str, faults: &mut Vec<Fault>) {
    match (came, kept) {
        (Value::Object(came), Value::Object(kept)) => {
            for (name, member) in came {
                match kept.get(name) {
                    Some(other) => compare(member, other, &format!("{path}.{name}"), faults),
                    None if member.is_null() => {}
                    None => faults.push(Fault::Unknown(format!("member {path}.{name}"))),
                }
            }
        }
        (Value::Array(came), Value::Array(kept)) if came.len() == kept.len() => {
            for (one, other) in came.iter().zip(kept) {
                compare(one, other, &format!("{path}[]"), faults);
            }
        }
        _ if came == kept => {}
        _ => faults.push(Fault::Broken(format!("{path}: {came} was decoded as {kept}"))),
    }
}

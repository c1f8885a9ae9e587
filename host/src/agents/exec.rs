//! The embedded default agent: a turn's text is a shell script.
//!
//! It proposes the script as one `shell` action in the working folder and, once
//! that is allowed, runs it under the supervisor. Its turn completes whatever
//! the exit status.

use crate::engine::types::{Action, EndStatus, ExecutionEnd, Waiter};
use crate::exec::{Job, Outcome, Status};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;

/// The profile that the policy component reads the action by.
pub const PROFILE: &str = "exec";

/// The ids of a new action.
pub struct Ids {
    /// The view item, and the task that runs it.
    pub item: String,
    /// The agent's own id of the call.
    pub call: String,
}

/// The one action that a turn of this agent consists of.
#[must_use]
pub fn propose(turn: &str, text: &str, folder: &str, ids: Ids) -> Action {
    Action {
        profile: PROFILE.to_owned(),
        turn_id: turn.to_owned(),
        task_id: ids.item.clone(),
        item_id: ids.item,
        call_id: ids.call,
        tool_name: "shell".to_owned(),
        raw_args: json!({"command": text}).to_string(),
        declared_kind: None,
        asked_for: false,
        confined: None,
        working_folder: folder.to_owned(),
        waiter: Waiter::Host,
    }
}

/// The job that an allowed action of this agent stands for.
///
/// # Errors
/// A sentence when the arguments are not this agent's.
pub fn job(action: &Action, environment: Vec<(OsString, OsString)>) -> Result<Job, String> {
    let args: serde_json::Value = serde_json::from_str(&action.raw_args)
        .map_err(|error| format!("the arguments cannot be read: {error}"))?;
    let command = args
        .get("command")
        .and_then(serde_json::Value::as_str)
        .filter(|_| action.profile == PROFILE && action.tool_name == "shell")
        .ok_or_else(|| format!("the exec agent has no tool {}", action.tool_name))?;
    Ok(Job { command: command.to_owned(), cwd: PathBuf::from(&action.working_folder), environment })
}

/// How an execution ended, for the policy component.
#[must_use]
pub fn end(item: &str, outcome: Outcome) -> ExecutionEnd {
    let (status, exit_code, failure) = match outcome.status {
        Status::Exited(code) => (EndStatus::Completed, Some(code), None),
        Status::Signalled(signal) => {
            // What a shell reports for a command that a signal ended.
            (EndStatus::Completed, Some(signal.saturating_add(128)), None)
        }
        Status::Interrupted => (EndStatus::Cancelled, None, None),
        Status::Failed(why) => (EndStatus::Failed, None, Some(why)),
    };
    ExecutionEnd {
        item_id: item.to_owned(),
        status,
        output: outcome.output,
        truncated: outcome.truncated,
        exit_code,
        failure,
    }
}

/// An execution that could not even begin.
#[must_use]
pub fn failed(item: &str, why: String) -> ExecutionEnd {
    ExecutionEnd {
        item_id: item.to_owned(),
        status: EndStatus::Failed,
        output: String::new(),
        truncated: false,
        exit_code: None,
        failure: Some(why),
    }
}

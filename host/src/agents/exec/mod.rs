//! The embedded default agent: a turn's text is a shell script, or a JSON turn.
//!
//! A script is proposed as one `shell` action in the working folder and, once that is
//! allowed, runs under the supervisor; its turn completes whatever the exit status. A
//! JSON turn ([`turn`]) says and proposes what it lists. Files are really read and
//! written ([`file`]); an action of any other tool, or with a subject of its own, is
//! reported as allowed or refused and not carried out: this agent has nothing to do it
//! with.

mod file;
mod turn;

pub use file::{FILE_TOOLS, FileHandle, FileWork};
pub use turn::{Piece, Plan, Say, plan};

use crate::engine::types::{Action, EndStatus, ExecutionEnd};
use crate::exec::{Job, Outcome, Status};
use std::ffi::OsString;
use std::path::PathBuf;

/// The profile that the policy component reads the action by.
pub const PROFILE: &str = "exec";

/// What an allowed action of this agent stands for.
pub enum Work {
    /// A command, to be run under the supervisor.
    Command(Job),
    /// A file tool, to be carried out on its handle.
    File(FileWork),
    /// Nothing that this agent carries out: a sentence that says so.
    Nothing(String),
}

/// What an allowed action of this agent stands for.
///
/// # Errors
/// A sentence when the arguments are not this agent's.
pub fn work(action: &Action, environment: Vec<(OsString, OsString)>) -> Result<Work, String> {
    if action.profile != PROFILE {
        return Err(format!("the exec agent has no profile {}", action.profile));
    }
    let tool = action.tool_name.as_str();
    if action.declared.is_some() || !(tool == "shell" || FILE_TOOLS.contains(&tool)) {
        let what = format!("allowed; the exec agent does not carry out `{tool}`\n");
        return Ok(Work::Nothing(what));
    }
    if tool != "shell" {
        return file::work(action).map(Work::File);
    }
    let args: serde_json::Value = serde_json::from_str(&action.raw_args)
        .map_err(|error| format!("the arguments cannot be read: {error}"))?;
    let command = args
        .get("command")
        .and_then(serde_json::Value::as_str)
        .ok_or_else(|| "the arguments have no text `command`".to_owned())?;
    let cwd = PathBuf::from(&action.working_folder);
    Ok(Work::Command(Job { command: command.to_owned(), cwd, environment }))
}

/// An execution that ended by itself, with what it has to say.
#[must_use]
pub fn completed(item: &str, output: String, truncated: bool) -> ExecutionEnd {
    ExecutionEnd {
        item_id: item.to_owned(),
        status: EndStatus::Completed,
        output,
        truncated,
        exit_code: None,
        failure: None,
    }
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

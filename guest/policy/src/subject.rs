//! From an action as an agent proposed it to what is being approved.

use crate::codec::{Resolution, Stage, Subject};
use crate::limits;
use crate::safe;
use crate::shell;
use crate::types::{Action, PathQuery};

/// An action, read.
pub(crate) struct Reading {
    pub(crate) subject: Subject,
    /// The stages as the shell reader found them; empty for kinds without stages.
    pub(crate) stages: Vec<shell::Stage>,
    /// Every word of the command, for rules that must not miss one.
    pub(crate) bare: shell::BareWords,
}

/// Reads an action. What its profile does not explain is of unknown kind.
pub(crate) fn subject(action: &Action) -> Reading {
    if action.profile != "exec" {
        return unknown(action.declared_kind.as_deref().unwrap_or(&action.profile), action);
    }
    match action.declared_kind.as_deref() {
        None | Some("shell") if action.tool_name == "shell" => match command(&action.raw_args) {
            Some(command) => shell_subject(&command),
            None => unknown("shell", action),
        },
        Some("tool") => without_stages(Subject::Tool { tool: action.tool_name.clone() }),
        None => unknown(&action.tool_name, action),
        Some(word) => unknown(word, action),
    }
}

fn shell_subject(command: &str) -> Reading {
    let parsed = shell::stages(command);
    let stages = parsed
        .stages
        .iter()
        .map(|stage| Stage {
            argv: stage.argv.clone(),
            complete: stage.complete,
            start: stage.start,
            end: stage.end,
            resolution: Resolution::Unresolved,
        })
        .collect();
    Reading {
        subject: Subject::Shell { command: command.to_owned(), workspace: None, stages },
        stages: parsed.stages,
        bare: shell::bare_words(command),
    }
}

fn unknown(word: &str, action: &Action) -> Reading {
    without_stages(Subject::Unknown { word: word.to_owned(), tool: action.tool_name.clone() })
}

fn without_stages(subject: Subject) -> Reading {
    Reading { subject, stages: Vec::new(), bare: shell::BareWords::default() }
}

/// The command in `{"command": "..."}`; none when the arguments have no such member
/// or are too large to look into.
fn command(args: &str) -> Option<String> {
    if args.len() > limits::SHELL_ARGS_BYTES_MAX {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(args).ok()?;
    Some(value.get("command")?.as_str()?.to_owned())
}

/// The paths that the evaluator will want facts about, each once, in order.
pub(crate) fn survey(action: &Action) -> Vec<PathQuery> {
    paths(action, &subject(action)).0
}

/// The paths of an action, and whether there are more than may be asked about.
///
/// A word counts as written unless its stage is known to read only. Where
/// words are not all known before running, every bare word with a slash counts
/// as written: what cannot be told must not soften.
pub(crate) fn paths(action: &Action, reading: &Reading) -> (Vec<PathQuery>, bool) {
    let mut paths = Paths { base: &action.working_folder, queries: Vec::new(), truncated: false };
    for stage in &reading.stages {
        let found = shell::word_paths(stage);
        let writes = !safe::known_safe(stage);
        for word in found.paths {
            paths.add(word.text, word.write || writes);
        }
        paths.truncated |= found.truncated;
    }
    if reading.stages.iter().any(|stage| !stage.complete) {
        paths.truncated |= reading.bare.truncated;
        for word in reading.bare.joined.iter().chain(&reading.bare.pieces) {
            if paths.truncated {
                break;
            }
            if word.contains('/') {
                paths.add(word.clone(), true);
            }
        }
    }
    (paths.queries, paths.truncated)
}

struct Paths<'a> {
    base: &'a str,
    queries: Vec<PathQuery>,
    truncated: bool,
}

impl Paths<'_> {
    fn add(&mut self, text: String, write: bool) {
        let query = PathQuery { text, base: self.base.to_owned(), write };
        if self.truncated || self.queries.contains(&query) {
            return;
        }
        if self.queries.len() >= limits::SURVEY_PATHS_MAX {
            self.truncated = true;
        } else {
            self.queries.push(query);
        }
    }
}

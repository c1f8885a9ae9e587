//! From an action as an agent proposed it to what is being approved.

mod declared;

use crate::codec::{Resolution, Stage, Subject};
use crate::cover;
use crate::limits;
use crate::safe::Table;
use crate::shell;
use crate::types::{Action, Facts, PathQuery};

/// An action, read.
pub(crate) struct Reading {
    pub(crate) subject: Subject,
    /// The stages as the shell reader found them; empty for kinds without stages.
    pub(crate) stages: Vec<shell::Stage>,
    /// Of an opaque command, the stages that were read before it was given up.
    pub(crate) found: Vec<shell::Stage>,
    /// Every word of the command, for rules that must not miss one.
    pub(crate) bare: shell::BareWords,
    /// The path that the action itself is about, as it was given.
    pub(crate) own_path: Option<PathQuery>,
    /// Every path that it names, each once, in order: what the host is asked about.
    pub(crate) paths: Vec<PathQuery>,
    /// It names more paths than may be asked about.
    pub(crate) truncated: bool,
}

/// Reads an action. What its profile does not explain is of unknown kind.
///
/// The exec agent's own tools are read from their arguments, which are what it will
/// run. A subject that it declared is taken at its word, and is never run by it.
fn subject(action: &Action) -> Reading {
    let mut reading = read(action);
    reading.own_path = named_path(&reading.subject, &action.working_folder);
    let Paths { queries, truncated } = paths(action, &reading);
    (reading.paths, reading.truncated) = (queries, truncated);
    reading
}

fn read(action: &Action) -> Reading {
    if action.profile != "exec" {
        let declared = action.declared.as_deref().and_then(|text| member(text, "kind"));
        return unknown(declared.as_deref().unwrap_or(&action.profile), action);
    }
    if let Some(text) = &action.declared {
        return match declared::subject(text, &action.tool_name) {
            declared::Declared::Command(command) => shell_subject(&command, action),
            declared::Declared::Subject(subject) => without_stages(subject),
        };
    }
    match action.tool_name.as_str() {
        "shell" => match member(&action.raw_args, "command") {
            Some(command) => shell_subject(&command, action),
            None => unknown("shell", action),
        },
        "read_file" => file(action, "read"),
        "write_file" => file(action, "write"),
        tool => without_stages(Subject::Tool { tool: tool.to_owned(), origin: None }),
    }
}

/// Reads an action with what the host found for it: paths are the canonical ones.
pub(crate) fn placed(action: &Action, facts: &Facts, workspace: Option<&str>) -> Reading {
    let mut reading = subject(action);
    let Some(query) = &reading.own_path else { return reading };
    let found = facts.paths.iter().find(|fact| fact.query == *query);
    let found = found.map(|fact| fact.canonical.clone()).filter(|path| !path.is_empty());
    match (&mut reading.subject, found) {
        (Subject::FileAccess { path, canonical, .. }, Some(found)) => {
            *path = relative(&found, workspace).unwrap_or_else(|| found.clone());
            *canonical = found;
        }
        (Subject::UnixSocket { path, .. }, Some(found)) => *path = found,
        _ => {}
    }
    reading
}

/// The part of a path below a folder.
fn relative(path: &str, folder: Option<&str>) -> Option<String> {
    let rest = path.strip_prefix(folder?)?;
    match rest.strip_prefix('/') {
        Some(inside) if !inside.is_empty() => Some(inside.to_owned()),
        _ => rest.is_empty().then(|| ".".to_owned()),
    }
}

/// The path that a subject itself is about.
fn named_path(subject: &Subject, folder: &str) -> Option<PathQuery> {
    let (text, write) = match subject {
        Subject::FileAccess { path, access, .. } => (path, access != "read"),
        // Whoever connects can write.
        Subject::UnixSocket { path, .. } => (path, true),
        _ => return None,
    };
    Some(PathQuery { text: text.clone(), base: folder.to_owned(), write })
}

fn file(action: &Action, access: &str) -> Reading {
    match member(&action.raw_args, "path") {
        Some(path) if declared::is_path(&path) => without_stages(Subject::FileAccess {
            tool: action.tool_name.clone(),
            path,
            canonical: String::new(),
            access: access.to_owned(),
            origin: None,
        }),
        _ => unknown("fileAccess", action),
    }
}

fn shell_subject(command: &str, action: &Action) -> Reading {
    let parsed = shell::stages(command, action.home.as_deref());
    let stages = parsed
        .stages
        .iter()
        .map(|stage| Stage {
            argv: stage.argv.clone(),
            complete: stage.complete,
            start: stage.start,
            end: stage.end,
            resolution: Resolution::Unresolved,
            prefix: Vec::new(),
            exact: false,
        })
        .collect();
    Reading {
        stages: parsed.stages,
        found: parsed.found,
        bare: shell::bare_words(command),
        ..without_stages(Subject::Shell { command: command.to_owned(), workspace: None, stages })
    }
}

fn unknown(word: &str, action: &Action) -> Reading {
    without_stages(Subject::Unknown { word: word.to_owned(), tool: action.tool_name.clone() })
}

fn without_stages(subject: Subject) -> Reading {
    Reading {
        subject,
        stages: Vec::new(),
        found: Vec::new(),
        bare: shell::BareWords::default(),
        own_path: None,
        paths: Vec::new(),
        truncated: false,
    }
}

/// A text member of the arguments; none when there is no such member or they are too
/// large to look into.
fn member(args: &str, name: &str) -> Option<String> {
    if args.len() > limits::SHELL_ARGS_BYTES_MAX {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(args).ok()?;
    Some(value.get(name)?.as_str()?.to_owned())
}

/// The paths that the evaluator will want facts about, each once, in order.
pub(crate) fn survey(action: &Action) -> Vec<PathQuery> {
    subject(action).paths
}

/// The paths that a reading names.
///
/// A word counts as written unless its stage is known to read only. Where
/// words are not all known before running, every bare word with a slash counts
/// as written: what cannot be told must not soften.
fn paths(action: &Action, reading: &Reading) -> Paths {
    let own = reading.own_path.iter().cloned().collect();
    let mut paths = Paths { queries: own, truncated: false };
    for stage in reading.stages.iter().flat_map(shell::Stage::every) {
        let found = shell::word_paths(stage);
        // What a user's file adds to the table softens no path.
        let reads = !found.paths.is_empty() && cover::reads_only(stage, Table::builtin());
        for word in found.paths {
            for query in queries(action, stage, &word.text, word.write || !reads) {
                paths.add(query);
            }
        }
        paths.truncated |= found.truncated;
        if runs_git(stage) {
            for query in queries(action, stage, REPOSITORY, false) {
                paths.add(query);
            }
        }
    }
    if reading.stages.iter().any(|stage| !stage.settled()) {
        paths.truncated |= reading.bare.truncated;
        for word in reading.bare.joined.iter().chain(&reading.bare.pieces) {
            if paths.truncated {
                break;
            }
            if word.contains('/') {
                let (text, base) = (word.clone(), action.working_folder.clone());
                paths.add(PathQuery { text, base, write: true });
            }
        }
    }
    paths
}

/// What is asked about a path that a stage names, from wherever it may start.
pub(crate) fn queries(
    action: &Action,
    stage: &shell::Stage,
    text: &str,
    write: bool,
) -> Vec<PathQuery> {
    let bases = bases(&action.working_folder, &stage.folder, text);
    bases.into_iter().map(|base| PathQuery { text: text.to_owned(), base, write }).collect()
}

/// Where a path that a stage names may start. Where that is not known the stage
/// is covered by nothing, and there is nothing to look up.
fn bases(start: &str, folder: &shell::Folder, path: &str) -> Vec<String> {
    match folder {
        _ if path.starts_with('/') => vec![start.to_owned()],
        shell::Folder::Unknown => Vec::new(),
        shell::Folder::Known(places) => places
            .iter()
            .map(|place| match place.as_str() {
                "" => start.to_owned(),
                place if place.starts_with('/') => place.to_owned(),
                place => format!("{start}/{place}"),
            })
            .collect(),
    }
}

/// What the host is asked about the repository that a folder belongs to.
pub(crate) const REPOSITORY: &str = ".git/config";

/// Whether a repository's configuration may have a stage run programs that only reads.
pub(crate) fn runs_git(stage: &shell::Stage) -> bool {
    stage.argv.first().is_some_and(|word| word.rsplit('/').next() == Some("git"))
}

struct Paths {
    queries: Vec<PathQuery>,
    truncated: bool,
}

impl Paths {
    fn add(&mut self, query: PathQuery) {
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

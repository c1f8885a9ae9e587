//! Grants that outlive their session, as the lines that the host keeps.
//!
//! A line is written here when a person chooses it and read here when the host brings
//! it back; the host understands nothing of it. A grant of one approval has a line for
//! each stage that it was given for. What cannot be read covers nothing.

use crate::codec::{Resolution, Subject};
use crate::display;
use crate::prefix;
use crate::shell;
use crate::state::State;
use crate::types::{Action, Context};
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SavedRule {
    /// The approval that gave it.
    pub(crate) id: String,
    /// Where it counts.
    pub(crate) root: String,
    pub(crate) rule: Covers,
}

/// What it covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Covers {
    /// Stages that start with these words, run in the session's workspace.
    Shell {
        argv_prefix: Vec<String>,
        /// The one folder that it counts in: where the program's own path starts from it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        folder: Option<String>,
    },
    /// A tool by its name, whatever its arguments.
    Tool { tool_name: String },
    /// A destination. No port is every port; no protocol is only that no protocol is named.
    Network { host: String, port: Option<u16>, protocol: Option<String> },
}

impl Covers {
    /// What stages that start with these words may be granted in a folder.
    pub(crate) fn prefix(words: &[String], folder: &str) -> Covers {
        let relative = |program: &&String| program.contains('/') && !program.starts_with('/');
        let folder = words.first().filter(relative).map(|_| folder.to_owned());
        Covers::Shell { argv_prefix: words.to_vec(), folder }
    }

    /// What a subject without stages may be granted; none where its kind has nothing that lasts.
    pub(crate) fn whole(subject: &Subject) -> Option<Covers> {
        match subject {
            Subject::Tool { tool, .. } => Some(Covers::Tool { tool_name: tool.clone() }),
            Subject::Network { host, port, protocol, .. } => Some(Covers::Network {
                host: host.clone(),
                port: *port,
                protocol: protocol.clone(),
            }),
            _ => None,
        }
    }

    /// In the words that a person is shown.
    pub(crate) fn preview(&self, root: &str) -> String {
        let place = format!("in {root} and its git worktrees");
        match self {
            Covers::Shell { argv_prefix, folder } => {
                let place = folder.as_ref().map_or(place, |folder| format!("in exactly {folder}"));
                let words = display::words(argv_prefix);
                format!("commands that start with `{words}`, whatever follows, run {place}")
            }
            Covers::Tool { tool_name } => {
                format!("tool `{tool_name}` with any arguments, {place}")
            }
            Covers::Network { host, port, protocol } => {
                format!("{}, {place}", display::destination(host, *port, protocol.as_deref()))
            }
        }
    }
}

/// The text and the preview of a grant; none when it covers nothing.
pub(crate) fn written(approval: &str, root: &str, covers: &[Covers]) -> Option<(String, String)> {
    if covers.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    for rule in covers {
        let (id, root, rule) = (approval.to_owned(), root.to_owned(), rule.clone());
        lines.push(serde_json::to_string(&SavedRule { id, root, rule }).ok()?);
    }
    let previews: Vec<String> = covers.iter().map(|rule| rule.preview(root)).collect();
    Some((lines.join("\n"), previews.join("; ")))
}

/// What the decided stages of a command are granted for longer, each once.
pub(crate) fn amended(stages: &[Resolution], folder: &str) -> Vec<Covers> {
    let mut covers: Vec<Covers> = Vec::new();
    for stage in stages {
        if let Resolution::PolicyAmendment { prefix } = stage {
            let rule = Covers::prefix(prefix, folder);
            if !covers.contains(&rule) {
                covers.push(rule);
            }
        }
    }
    covers
}

/// The grants that are in force where an action runs.
pub(crate) struct InForce<'a> {
    rules: Vec<SavedRule>,
    folder: &'a str,
    workspace: Option<&'a str>,
}

impl<'a> InForce<'a> {
    pub(crate) fn new(state: &'a State, context: &Context, action: &'a Action) -> InForce<'a> {
        let here = |rule: &SavedRule| Some(&rule.root) == context.grants_root.as_ref();
        let lines = context.grants.iter().flat_map(|text| text.lines());
        let rules = lines.filter_map(|line| serde_json::from_str(line).ok()).filter(here);
        InForce {
            rules: rules.collect(),
            folder: &action.working_folder,
            workspace: state.workspace.as_deref(),
        }
    }

    /// The grant that covers one of a command's stages.
    pub(crate) fn for_stage(&self, stages: &[shell::Stage], index: usize) -> Option<&str> {
        let stage = stages.get(index)?;
        let moved = stages.iter().take(index).any(may_move);
        if self.rules.is_empty() || moved || !prefix::coverable(stage) || !self.is_inside() {
            return None;
        }
        self.find(|rule| match rule {
            Covers::Shell { argv_prefix, folder } => {
                !argv_prefix.is_empty()
                    && stage.argv.starts_with(argv_prefix)
                    && folder.as_ref().is_none_or(|folder| folder == self.folder)
            }
            Covers::Tool { .. } | Covers::Network { .. } => false,
        })
    }

    /// The grant that covers an action of a kind without stages.
    pub(crate) fn for_subject(&self, subject: &Subject) -> Option<&str> {
        self.find(|rule| match (rule, subject) {
            (Covers::Tool { tool_name }, Subject::Tool { tool, .. }) => tool_name == tool,
            (
                Covers::Network { host, port, protocol },
                Subject::Network { host: wanted, port: at, protocol: by, .. },
            ) => host == wanted && (port.is_none() || port == at) && protocol == by,
            _ => false,
        })
    }

    fn find(&self, covers: impl Fn(&Covers) -> bool) -> Option<&str> {
        self.rules.iter().find(|saved| covers(&saved.rule)).map(|saved| saved.id.as_str())
    }

    fn is_inside(&self) -> bool {
        self.workspace.is_some_and(|workspace| is_inside(self.folder, workspace))
    }
}

/// Whether a folder is another one or lies in it.
pub(crate) fn is_inside(folder: &str, outer: &str) -> bool {
    folder
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || outer.ends_with('/'))
}

/// Whether what follows a stage may run in another folder.
fn may_move(stage: &shell::Stage) -> bool {
    const MOVES: [&str; 8] = ["cd", "pushd", "popd", "eval", "source", ".", "command", "builtin"];
    let unknown = stage.unknown.first() == Some(&0);
    unknown || stage.argv.first().is_some_and(|word| MOVES.contains(&word.as_str()))
}

//! What is to be explained, as one line of JSON says it.

use crate::engine::types::{
    Action, PathClass, PathFact, PathQuery, RuleLayer, RuleOrigin, RuleSet, Waiter,
};
use crate::sessions::Rulebook;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What holds where a line says nothing else.
pub(super) struct Defaults {
    pub(super) folder: String,
    pub(super) mode: String,
    pub(super) rules: Option<PathBuf>,
}

/// An action with the circumstances that it is judged in.
pub(super) struct Asked {
    pub(super) action: Action,
    pub(super) workspace: Option<String>,
    pub(super) mode: String,
    /// Instead of the files of the home and the workspace.
    pub(super) rules: Option<RuleSet>,
    pub(super) facts: Vec<Fact>,
}

/// What shall be taken for true of a path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fact {
    /// As the action names it.
    pub(super) path: String,
    canonical: Option<String>,
    #[serde(default)]
    class: Class,
    #[serde(default)]
    linked: bool,
    exists: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Class {
    #[default]
    Ordinary,
    Protected,
    Credential,
    PlacetOwn,
    RunsPrograms,
    /// As if the host could not tell.
    Unknown,
}

impl Fact {
    /// The fact that answers a query, if one does.
    pub(super) fn of(&self, query: PathQuery) -> Option<PathFact> {
        let class = match self.class {
            Class::Ordinary => PathClass::Ordinary,
            Class::Protected => PathClass::Protected,
            Class::Credential => PathClass::Credential,
            Class::RunsPrograms => PathClass::RunsPrograms,
            Class::PlacetOwn => PathClass::PlacetOwn,
            Class::Unknown => return None,
        };
        let named = Path::new(&query.base).join(&query.text).to_string_lossy().into_owned();
        Some(PathFact {
            canonical: self.canonical.clone().unwrap_or(named),
            exists: self.exists.unwrap_or(true),
            linked: self.linked,
            class,
            query,
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    command: Option<String>,
    subject: Option<Value>,
    tool: Option<String>,
    args: Option<Value>,
    cwd: Option<String>,
    workspace_root: Option<String>,
    home: Option<String>,
    mode: Option<String>,
    #[serde(default)]
    request_approval: bool,
    confined: Option<String>,
    rules: Option<PathBuf>,
    rules_text: Option<String>,
    #[serde(default)]
    facts: Vec<Fact>,
}

/// A command with nothing else said.
pub(super) fn command(command: &str, defaults: &Defaults) -> Asked {
    let line = Line { command: Some(command.to_owned()), ..Line::default() };
    asked(line, defaults)
}

/// Reads a line.
pub(super) fn line(text: &str, defaults: &Defaults) -> Result<Asked, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    if let Value::String(text) = value {
        return Ok(command(&text, defaults));
    }
    let line: Line = serde_json::from_value(value).map_err(|error| {
        format!("a line is a JSON string or an object of known members: {error}")
    })?;
    if line.command.is_none() && line.subject.is_none() && line.tool.is_none() {
        return Err("it has neither `command` nor `subject` nor `tool`".to_owned());
    }
    if line.command.is_some() && (line.subject.is_some() || line.tool.is_some()) {
        return Err("`command` stands alone; use `tool`, `args` and `subject` instead".to_owned());
    }
    Ok(asked(line, defaults))
}

fn asked(line: Line, defaults: &Defaults) -> Asked {
    let folder = line.cwd.unwrap_or_else(|| defaults.folder.clone());
    let args = match (&line.command, line.args) {
        (Some(command), _) => serde_json::json!({ "command": command }).to_string(),
        (None, Some(Value::String(text))) => text,
        (None, Some(args)) => args.to_string(),
        (None, None) => "{}".to_owned(),
    };
    let tool =
        if line.command.is_some() { "shell".to_owned() } else { line.tool.unwrap_or_default() };
    let kind = line.subject.as_ref().and_then(|subject| subject.get("kind")?.as_str());
    let action = Action {
        profile: "exec".to_owned(),
        turn_id: "turn".to_owned(),
        item_id: "item".to_owned(),
        task_id: "item".to_owned(),
        call_id: "call".to_owned(),
        tool_name: if tool.is_empty() { kind.unwrap_or("tool").to_owned() } else { tool },
        raw_args: args,
        declared: line.subject.map(|subject| subject.to_string()),
        asked_for: line.request_approval,
        confined: line.confined,
        working_folder: folder.clone(),
        home: line.home.or_else(super::home),
        waiter: Waiter::Host,
    };
    let file = line.rules.or_else(|| defaults.rules.clone());
    let rules = match (line.rules_text, file) {
        (Some(text), _) => Some(Rulebook::set(vec![RuleLayer {
            name: "rulesText".to_owned(),
            origin: RuleOrigin::User,
            text,
        }])),
        (None, Some(file)) => Some(Rulebook::file(&file)),
        (None, None) => None,
    };
    Asked {
        action,
        workspace: Some(line.workspace_root.unwrap_or(folder)),
        mode: line.mode.unwrap_or_else(|| defaults.mode.clone()),
        rules,
        facts: line.facts,
    }
}

//! The vectors in `tests/vectors/`, and how one becomes a session.

use crate::evaluator::Evaluator;
use crate::script::{Script, class, declared, shell, tool};
use crate::session::Session;
use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Action, Reply};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One cell of the decision table, with an action that falls into it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cell {
    /// What is particular about it.
    #[serde(default)]
    pub note: String,
    /// The row of the table.
    pub row: String,
    /// The column; none for a session whose seals have no mode in common.
    pub mode: Option<String>,
    /// The action.
    pub action: Proposed,
    /// Rules as `ID EFFECT KIND [WORDS]`.
    #[serde(default)]
    pub rules: Vec<String>,
    /// What is special about paths.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// Whether a person gave a session grant on this very action before.
    #[serde(default)]
    pub granted: bool,
    /// The sandbox.
    pub confined: Option<String>,
    /// Whether the agent asked for approval.
    pub asked_for: bool,
    /// What must come out.
    pub expect: Expected,
}

/// An action of a vector.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Proposed {
    /// A shell command.
    Shell {
        /// The command.
        shell: String,
    },
    /// A tool call.
    Tool {
        /// The tool's name.
        tool: String,
        /// Its arguments.
        args: String,
    },
    /// An action of a kind that the evaluator does not know.
    Unknown {
        /// The kind's word.
        unknown: String,
    },
}

/// A verdict.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Expected {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The row that decides.
    pub row: String,
}

/// Reads a file of `tests/vectors/`.
pub fn read<T: serde::de::DeserializeOwned>(name: &str) -> Result<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

impl Cell {
    /// The action of this cell, as the next one of the turn.
    pub fn action(&self) -> Action {
        let action = match &self.action {
            Proposed::Shell { shell: command } => shell(command),
            Proposed::Tool { tool: name, args } => tool(name, args),
            Proposed::Unknown { unknown } => {
                Action { declared: Some(declared(unknown)), ..shell("") }
            }
        };
        Action {
            turn_id: "one".to_owned(),
            item_id: "cell".to_owned(),
            asked_for: self.asked_for,
            confined: self.confined.clone(),
            ..action
        }
    }

    /// A session in which this cell's action may be proposed.
    pub fn session<E: Evaluator>(&self, evaluator: E) -> Result<Session<E>> {
        let mut script = Script::new(evaluator);
        let mut run = |line: &str| script.run(line);
        match &self.mode {
            Some(mode) => {
                run("start allowAll")?;
                if self.granted {
                    run("mode promptUnmatched")?;
                    run("turn before")?;
                    let given = Action { turn_id: "before".to_owned(), ..self.given() };
                    let reply = script.session.propose(&given, true)?;
                    ensure!(matches!(reply, Reply::Done(_)), "the grant's action: {reply:?}");
                    script.grant_pending()?;
                    script.run("release given")?;
                    script.run("ended given")?;
                }
                script.run(&format!("mode {mode}"))?;
            }
            // A host sealed at promptUnmatched takes over what was sealed at onRequest.
            None => {
                run("start onRequest")?;
                run("recover seal=promptUnmatched")?;
            }
        }
        script.run("turn one")?;
        for rule in &self.rules {
            script.session.rules.push(crate::rules::toml(rule)?);
        }
        for (path, word) in &self.facts {
            script.session.world.paths.insert(path.clone(), class(word)?);
        }
        Ok(script.session)
    }

    fn given(&self) -> Action {
        Action { item_id: "given".to_owned(), asked_for: false, confined: None, ..self.action() }
    }
}

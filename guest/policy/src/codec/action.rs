//! Actions and the facts about them, as records keep them.

use crate::types::{self, PathClass, Waiter};
use serde::{Deserialize, Serialize};

/// An action as it was proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Action {
    pub(crate) profile: String,
    pub(crate) turn: String,
    pub(crate) item: String,
    pub(crate) task: String,
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) args: String,
    /// Format 1 knew the declared kind only.
    #[serde(default, skip_serializing)]
    pub(crate) declared_kind: Option<String>,
    /// The declared subject, JSON as it came.
    #[serde(default)]
    pub(crate) declared: Option<String>,
    pub(crate) asked_for: bool,
    pub(crate) confined: Option<String>,
    pub(crate) folder: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) home: Option<String>,
    /// Whether only the agent's process can still do the work.
    pub(crate) agent_waits: bool,
}

/// What the host found for an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    pub(crate) paths: Vec<PathFact>,
    pub(crate) environment: String,
}

/// What the host found at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PathFact {
    pub(crate) text: String,
    pub(crate) base: String,
    pub(crate) write: bool,
    pub(crate) canonical: String,
    pub(crate) exists: bool,
    pub(crate) linked: bool,
    pub(crate) class: String,
}

/// A path class's word.
pub(crate) fn class_word(class: PathClass) -> &'static str {
    match class {
        PathClass::Ordinary => "ordinary",
        PathClass::Protected => "protected",
        PathClass::Credential => "credential",
        PathClass::RunsPrograms => "runsPrograms",
        PathClass::PlacetOwn => "placetOwn",
    }
}

impl From<&types::Action> for Action {
    fn from(action: &types::Action) -> Action {
        Action {
            profile: action.profile.clone(),
            turn: action.turn_id.clone(),
            item: action.item_id.clone(),
            task: action.task_id.clone(),
            call: action.call_id.clone(),
            tool: action.tool_name.clone(),
            args: action.raw_args.clone(),
            declared_kind: None,
            declared: action.declared.clone(),
            asked_for: action.asked_for,
            confined: action.confined.clone(),
            folder: action.working_folder.clone(),
            home: action.home.clone(),
            agent_waits: action.waiter == Waiter::Agent,
        }
    }
}

impl From<&Action> for types::Action {
    fn from(action: &Action) -> types::Action {
        types::Action {
            profile: action.profile.clone(),
            turn_id: action.turn.clone(),
            item_id: action.item.clone(),
            task_id: action.task.clone(),
            call_id: action.call.clone(),
            tool_name: action.tool.clone(),
            raw_args: action.args.clone(),
            declared: action.declared.clone().or_else(|| {
                let kind = action.declared_kind.as_ref()?;
                Some(serde_json::json!({ "kind": kind }).to_string())
            }),
            asked_for: action.asked_for,
            confined: action.confined.clone(),
            working_folder: action.folder.clone(),
            home: action.home.clone(),
            waiter: if action.agent_waits { Waiter::Agent } else { Waiter::Host },
        }
    }
}

impl From<&types::Facts> for Facts {
    fn from(facts: &types::Facts) -> Facts {
        let path = |fact: &types::PathFact| PathFact {
            text: fact.query.text.clone(),
            base: fact.query.base.clone(),
            write: fact.query.write,
            canonical: fact.canonical.clone(),
            exists: fact.exists,
            linked: fact.linked,
            class: class_word(fact.class).to_owned(),
        };
        Facts {
            paths: facts.paths.iter().map(path).collect(),
            environment: facts.environment.clone(),
        }
    }
}

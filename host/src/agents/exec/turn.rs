//! Turns of the exec agent as JSON: what it says, and the actions that it proposes.
//!
//! ```json
//! {"say": "I will look.", "actions": [
//!   {"tool": "read_file", "args": {"path": "README.md"}},
//!   {"tool": "fetch", "args": {"url": "https://example.org"}, "requestApproval": true,
//!    "subject": {"kind": "network", "host": "example.org", "port": 443, "protocol": "https"}}]}
//! ```
//!
//! One action may stand without the list. `say` may be a list of pieces, which are then
//! streamed; a number among them waits so many milliseconds. `pauseMs` waits first. A
//! text that is no JSON object is a shell script.

use super::PROFILE;
use crate::engine::types::{Action, Waiter};
use crate::exec::environment;
use crate::limits;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use uuid::Uuid;

/// What a turn comes to.
#[derive(Debug)]
pub struct Plan {
    /// How long the agent waits before it does anything.
    pub pause_ms: u64,
    /// What it says first.
    pub say: Option<Say>,
    /// What it then proposes, all at once.
    pub actions: Vec<Action>,
}

/// What the agent says.
#[derive(Debug)]
pub struct Say {
    /// The view item.
    pub item: String,
    /// Its whole text.
    pub text: String,
    /// Whether clients see it piece by piece.
    pub streamed: bool,
    /// Whether clients know of it already.
    pub begun: bool,
    /// What of it clients have not seen yet, piece by piece.
    pub ahead: VecDeque<Piece>,
}

/// A piece of what the agent says.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// Some of the text.
    Text(String),
    /// A time before the next piece, in milliseconds.
    Pause(u64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Turn {
    say: Option<Said>,
    pause_ms: Option<u64>,
    actions: Option<Vec<Proposed>>,
    tool: Option<String>,
    args: Option<Value>,
    subject: Option<Value>,
    request_approval: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Whole(String),
    Pieces(VecDeque<Piece>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Proposed {
    tool: String,
    args: Option<Value>,
    subject: Option<Value>,
    #[serde(default)]
    request_approval: bool,
}

/// What a turn's text comes to.
///
/// # Errors
/// A sentence when the text is a JSON object that is no turn.
pub fn plan(turn: &str, text: &str, folder: &str) -> Result<Plan, String> {
    let read = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let (pause_ms, say, proposed) = match read {
        Some(value) => json_turn(value)?,
        None => (0, None, vec![script(text)]),
    };
    let actions =
        proposed.into_iter().map(|one| action(turn, folder, one)).collect::<Result<_, _>>()?;
    Ok(Plan { pause_ms, say, actions })
}

fn script(text: &str) -> Proposed {
    Proposed {
        tool: "shell".to_owned(),
        args: Some(json!({ "command": text })),
        subject: None,
        request_approval: false,
    }
}

fn json_turn(value: Value) -> Result<(u64, Option<Say>, Vec<Proposed>), String> {
    let turn: Turn = serde_json::from_value(value).map_err(|error| {
        format!(
            "this is no JSON turn: {error}; use say, pauseMs, actions, or tool, args, subject, \
             requestApproval"
        )
    })?;
    let Turn { say, pause_ms, actions, tool, args, subject, request_approval } = turn;
    let single = args.is_some() || subject.is_some() || request_approval.is_some();
    let proposed = match (actions, tool) {
        (Some(_), Some(_)) => return Err("a turn has either `actions` or one `tool`".to_owned()),
        (_, None) if single => return Err("an action needs a `tool`".to_owned()),
        (Some(actions), None) => actions,
        (None, Some(tool)) => {
            let request_approval = request_approval.unwrap_or_default();
            vec![Proposed { tool, args, subject, request_approval }]
        }
        (None, None) if say.is_some() => Vec::new(),
        (None, None) => return Err("a turn needs `say`, `actions` or a `tool`".to_owned()),
    };
    if proposed.len() > limits::TURN_ACTIONS_MAX {
        return Err(format!("a turn has at most {} actions", limits::TURN_ACTIONS_MAX));
    }
    let pause_ms = pause_ms.unwrap_or(0);
    let say = say.map(saying);
    let pauses = say.iter().flat_map(|say| &say.ahead).map(|piece| match piece {
        Piece::Pause(ms) => *ms,
        Piece::Text(_) => 0,
    });
    if pauses.fold(pause_ms, u64::saturating_add) > limits::TURN_PAUSE_MS_MAX {
        return Err(format!("a turn pauses for at most {} ms", limits::TURN_PAUSE_MS_MAX));
    }
    Ok((pause_ms, say, proposed))
}

fn saying(said: Said) -> Say {
    let item = Uuid::new_v4().to_string();
    match said {
        Said::Whole(text) => {
            Say { item, text, streamed: false, begun: false, ahead: VecDeque::new() }
        }
        Said::Pieces(ahead) => {
            let texts = ahead.iter().map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Pause(_) => "",
            });
            Say { item, text: texts.collect(), streamed: true, begun: false, ahead }
        }
    }
}

fn action(turn: &str, folder: &str, proposed: Proposed) -> Result<Action, String> {
    let Proposed { tool, args, subject, request_approval } = proposed;
    if tool.is_empty() {
        return Err("a tool needs a name".to_owned());
    }
    let item = Uuid::new_v4().to_string();
    Ok(Action {
        profile: PROFILE.to_owned(),
        turn_id: turn.to_owned(),
        task_id: item.clone(),
        item_id: item,
        call_id: format!("call_{}", Uuid::new_v4()),
        tool_name: tool,
        // A text stands for itself: arguments need not be JSON.
        raw_args: match args {
            Some(Value::String(text)) => text,
            Some(args) => args.to_string(),
            None => "{}".to_owned(),
        },
        declared: match subject {
            Some(subject) if subject.is_object() => Some(subject.to_string()),
            Some(_) => return Err("a `subject` is an object with a `kind`".to_owned()),
            None => None,
        },
        asked_for: request_approval,
        confined: None,
        working_folder: folder.to_owned(),
        home: environment::home(),
        waiter: Waiter::Host,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::plan;

    /// What a turn's text comes to: `tool args subject asked` for each action.
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = match plan("t", text, "/w") {
            Ok(plan) => plan
                .actions
                .iter()
                .map(|one| {
                    let subject = one.declared.as_deref().unwrap_or("-");
                    let asked = if one.asked_for { " asked" } else { "" };
                    format!("{} {} {subject}{asked}", one.tool_name, one.raw_args)
                })
                .collect(),
            Err(why) => vec![format!("error: {why}")],
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_text_is_a_script_unless_it_is_a_json_object() {
        check("ls -l", &[r#"shell {"command":"ls -l"} -"#]);
        check("{ ls; }", &[r#"shell {"command":"{ ls; }"} -"#]);
        check("[1]", &[r#"shell {"command":"[1]"} -"#]);
        check(
            r#"{"tool":"shell","args":{"command":"{\"a\":1}"}}"#,
            &[r#"shell {"command":"{\"a\":1}"} -"#],
        );
        check(r#"{"say":"hello"}"#, &[]);
        check(
            r#"{"actions":[{"tool":"a"},{"tool":"b","args":"raw","requestApproval":true}]}"#,
            &["a {} -", "b raw - asked"],
        );
        check(r#"{"tool":"x","subject":{"kind":"tool"}}"#, &[r#"x {} {"kind":"tool"}"#]);
    }

    #[test]
    fn an_object_that_is_no_turn_says_why() {
        for text in [
            "{}",
            r#"{"tool":"a","actions":[]}"#,
            r#"{"args":{}}"#,
            r#"{"tool":""}"#,
            r#"{"tool":"a","subject":"tool"}"#,
            r#"{"tool":"a","extra":1}"#,
            r#"{"say":"a","pauseMs":9999999}"#,
            r#"{"say":["a",60000,"b"],"pauseMs":1}"#,
            r#"{"say":["a",-1]}"#,
        ] {
            assert!(plan("t", text, "/w").is_err(), "{text}");
        }
    }
}

//! What comes from outside, shown so that it cannot pass for something else.
//!
//! Everything of a request is shown by its shape: stages where it has stages,
//! every other member by its name. What a kind, a scope or a choice means is not
//! known here, so that one from a later day is shown like today's.

use placet_visible::unseen;
use serde_json::Value;
use std::fmt::{Display, Write as _};
use std::io::Write as _;

/// A line on stderr; whether anybody is there to read it changes nothing.
pub(super) fn tell(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A line on stdout, likewise.
pub(super) fn line(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A text on one line, with what cannot be seen written as `\u{202e}`.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        push(&mut shown, character);
    }
    shown
}

fn push(shown: &mut String, character: char) {
    if unseen(character) {
        let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
    } else {
        shown.push(character);
    }
}

/// The same in quotes: where it begins and ends, and what is escaped, is beyond doubt.
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => shown.extend(['\\', character]),
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            other => push(&mut shown, other),
        }
    }
    shown.push('"');
    shown
}

/// Members of a request that only name things, or that are shown in their own place.
const PLUMBING: [&str; 14] = [
    "sessionId",
    "approvalId",
    "turnId",
    "taskId",
    "itemId",
    "toolCallId",
    "viewCursor",
    "sourceRange",
    "subject",
    "currentRequirementId",
    "availableChoices",
    "toolName",
    "rawArgs",
    "change",
];

/// What a request is about, line by line.
pub(super) fn request(params: &Value) -> Vec<String> {
    let subject = &params["subject"];
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    let mut lines = vec![format!("kind: {}", text(&subject["kind"]))];
    match (&subject["command"], subject["stages"].as_array()) {
        (Value::String(command), Some(stages)) => {
            lines.push("command:".to_owned());
            // A bar before each, so that none can pass for a line of ours.
            lines.extend(command.split('\n').map(|line| format!("| {}", visible(line))));
            let current = &params["currentRequirementId"];
            lines.extend(stages.iter().map(|each| stage(each, current)));
        }
        _ => {
            lines
                .push(format!("tool: {}", quoted(params["toolName"].as_str().unwrap_or_default())));
            lines.push(format!("arguments: {}", text(&params["rawArgs"])));
        }
    }
    let of_subject = |name: &str| !["kind", "stages", "command", "toolName"].contains(&name);
    lines.extend(members(subject, of_subject));
    lines.extend(members(params, |name| !PLUMBING.contains(&name)));
    lines
}

/// Members by their names, those left out that say nothing.
fn members(object: &Value, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let members = object.as_object().into_iter().flatten();
    let telling = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    members
        .filter(|(name, value)| wanted(name) && telling(value))
        .map(|(name, value)| format!("{}: {}", visible(name), self::value(value)))
        .collect()
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Bool(true) => "yes".to_owned(),
        other => visible(&other.to_string()),
    }
}

fn stage(stage: &Value, current: &Value) -> String {
    let words: Vec<String> = stage["argv"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|word| quoted(word.as_str().unwrap_or_default()))
        .collect();
    let mut line = format!("stage {} of {}: ", stage["position"], stage["totalStages"]);
    line.push_str(&words.join(" "));
    if stage["argvComplete"] == Value::Bool(false) {
        line.push_str(" (incomplete: not all of it is known before it runs)");
    }
    let resolution = &stage["resolution"];
    let _ = write!(line, " [{}", visible(resolution["kind"].as_str().unwrap_or_default()));
    for detail in members(resolution, |name| name != "kind") {
        let _ = write!(line, ", {detail}");
    }
    line.push(']');
    if stage["requirementId"] == *current {
        line.push_str(" <- to decide");
    }
    line
}

/// The choices of a request.
pub(super) fn choices(params: &Value) -> &[Value] {
    params["availableChoices"].as_array().map_or(&[], Vec::as_slice)
}

/// The menu, line by line; `name` says by what a choice is taken.
pub(super) fn menu(params: &Value, name: impl Fn(usize, &Value) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, choice) in choices(params).iter().enumerate() {
        let text = |member: &str| visible(choice[member].as_str().unwrap_or_default());
        let name = name(index, choice);
        let mut line = format!("{name}  {}  (scope: {}", text("label"), text("scope"));
        if choice["acceptsFeedback"] == Value::Bool(true) {
            line.push_str("; takes feedback");
        }
        line.push(')');
        lines.push(line);
        if choice["rulePreview"].is_string() {
            lines.push(format!("   covers: {}", text("rulePreview")));
        }
    }
    lines
}

/// A request with its choices by their ids, as `placet decide` takes them.
pub(super) fn print(params: &Value) {
    let id = |choice: &Value| visible(choice["choiceId"].as_str().unwrap_or_default());
    for line in
        request(params).into_iter().chain(menu(params, |_, each| format!("choice {}:", id(each))))
    {
        self::line(format_args!("  {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::{menu, quoted, request, visible};
    use serde_json::json;

    #[test]
    fn what_is_not_seen_is_made_visible_and_the_rest_is_left_alone() {
        for (text, shown) in [
            ("ls -l 'é ü 漢字 🙂 — “x”'", "ls -l 'é ü 漢字 🙂 — “x”'"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\nb\r\t\u{1b}[2K\u{7f}\u{9b}", "a\\u{a}b\\u{d}\\u{9}\\u{1b}[2K\\u{7f}\\u{9b}"),
            ("\u{200b}\u{200d}\u{2060}\u{feff}", "\\u{200b}\\u{200d}\\u{2060}\\u{feff}"),
            ("\u{a0}\u{2003}\u{3000}", "\\u{a0}\\u{2003}\\u{3000}"),
            ("\u{2066}\u{2069}\u{61c}", "\\u{2066}\\u{2069}\\u{61c}"),
            ("\u{2028}\u{2029}\u{85}", "\\u{2028}\\u{2029}\\u{85}"),
            ("\u{ad}\u{fe0f}\u{e0041}\u{f8ff}", "\\u{ad}\\u{fe0f}\\u{e0041}\\u{f8ff}"),
            ("e\u{301}l\u{338}", "e\\u{301}l\\u{338}"),
            ("\u{3164}\u{115f}\u{2800}", "\\u{3164}\\u{115f}\\u{2800}"),
            ("C:\\path", "C:\\path"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(quoted("a \"b\"\\n\n\t\u{202e}"), r#""a \"b\"\\n\n\t\u{202e}""#);
    }

    #[test]
    fn stages_are_shown_with_what_resolved_them_and_the_one_to_decide() {
        let requirement = |index: u32| json!({"approvalId": "a", "sourceIndex": index});
        let params = json!({
            "approvalId": "a", "toolName": "shell", "rawArgs": "{}", "protectedWrite": true,
            "judgeEscalated": false, "currentRequirementId": requirement(1),
            "subject": {"kind": "shell", "command": "ls\nrm \"$(x)\"", "workspaceRoot": "/w", "stages": [
                {"requirementId": requirement(0), "position": 1, "totalStages": 2, "argv": ["ls"],
                 "argvComplete": true, "resolution": {"kind": "policyAllow", "diagnostic": "rule 7"}},
                {"requirementId": requirement(1), "position": 2, "totalStages": 2,
                 "argv": ["rm", "$(x) \u{202e}"], "argvComplete": false,
                 "resolution": {"kind": "unresolved"}},
            ]},
        });
        assert_eq!(
            request(&params),
            [
                "kind: shell",
                "command:",
                "| ls",
                "| rm \"$(x)\"",
                "stage 1 of 2: \"ls\" [policyAllow, diagnostic: \"rule 7\"]",
                "stage 2 of 2: \"rm\" \"$(x) \\u{202e}\" (incomplete: not all of it is known before \
                 it runs) [unresolved] <- to decide",
                "workspaceRoot: \"/w\"",
                "protectedWrite: yes",
            ]
        );
    }

    #[test]
    fn a_kind_of_a_later_day_is_shown_by_its_members() {
        let params = json!({
            "toolName": "beam\nup", "rawArgs": "{\"to\":\"\u{202e}x\"}", "reviewerReason": "odd",
            "subject": {"kind": "tele\u{200b}port", "toolName": "beam", "target": {"port": 1}, "on": "a\nb"},
            "availableChoices": [
                {"choiceId": "yes", "label": "Go\u{1b}[1m", "scope": "for\never",
                 "rulePreview": "all \u{202e}of it\n2  Reject"},
                {"choiceId": "no", "label": "Stay", "scope": "once", "acceptsFeedback": true},
            ],
        });
        assert_eq!(
            request(&params),
            [
                "kind: tele\\u{200b}port",
                "tool: \"beam\\nup\"",
                "arguments: {\"to\":\"\\u{202e}x\"}",
                "on: \"a\\nb\"",
                "target: {\"port\":1}",
                "reviewerReason: \"odd\"",
            ]
        );
        assert_eq!(
            menu(&params, |index, _| (index + 1).to_string()),
            [
                "1  Go\\u{1b}[1m  (scope: for\\u{a}ever)",
                "   covers: all \\u{202e}of it\\u{a}2  Reject",
                "2  Stay  (scope: once; takes feedback)",
            ]
        );
    }
}

//! A verdict for a person, and as JSON.

use crate::cli::show::visible;
use crate::engine::types::{Coverage, Decision, Explanation, StageVerdict, TableRow};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One line of JSON.
pub(super) fn json(explanation: &Explanation) -> Value {
    let stages: Vec<Value> = explanation
        .stages
        .iter()
        .map(|stage| {
            json!({
                "argv": stage.argv,
                "argvComplete": stage.complete,
                "resolution": resolution(&stage.coverage),
                "by": by(&stage.coverage),
                "bytes": [stage.start, stage.end],
                "why": stage.why,
                "smallest": stage.smallest,
                "inner": stage.inner,
            })
        })
        .collect();
    json!({
        "verdict": word(explanation.decision),
        "reason": explanation.reason,
        "row": row(explanation.row),
        "kind": explanation.kind,
        "rule": explanation.rule,
        "place": explanation.place,
        "near": explanation.near,
        "mode": explanation.mode,
        "fault": explanation.fault,
        "stages": stages,
    })
}

/// `AskedFor` as `askedFor`.
fn row(row: TableRow) -> String {
    let name = format!("{row:?}");
    let name = name.rsplit("::").next().unwrap_or_default();
    let (first, rest) = name.split_at_checked(1).unwrap_or_default();
    format!("{}{rest}", first.to_ascii_lowercase())
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

fn resolution(coverage: &Coverage) -> &'static str {
    match coverage {
        Coverage::Unmatched => "unresolved",
        Coverage::KnownSafe => "knownSafe",
        _ => "policyAllow",
    }
}

fn by(coverage: &Coverage) -> Option<String> {
    match coverage {
        Coverage::Unmatched | Coverage::KnownSafe => None,
        Coverage::Rule(id) => Some(format!("rule {id}")),
        Coverage::Grant(id) => Some(format!("grant of {id}")),
        Coverage::Kept(id) => Some(format!("saved grant of {id}")),
    }
}

/// Some lines for a person.
pub(super) fn text(explanation: &Explanation, command: &str) -> String {
    let mut text = format!("{}: {}", word(explanation.decision), visible(&explanation.reason));
    if let Some(place) = &explanation.place {
        let _ = write!(text, "\n  rule      {}", visible(place));
    }
    if let Some(mode) = &explanation.mode {
        let _ = write!(text, "\n  mode      {mode}");
    }
    for (index, stage) in (1_u64..).zip(&explanation.stages) {
        let _ = write!(text, "\n  stage {index}   {}", one(stage, command));
    }
    for near in &explanation.near {
        let _ = write!(text, "\n  nearly    {}", visible(near));
    }
    text
}

fn one(stage: &StageVerdict, command: &str) -> String {
    let range = stage.start as usize..stage.end as usize;
    let written = command.get(range).unwrap_or_default();
    let said = match &stage.coverage {
        Coverage::Unmatched => "not covered".to_owned(),
        Coverage::KnownSafe => "only reads".to_owned(),
        other => by(other).unwrap_or_default(),
    };
    let mut text = format!("[{}..{}] {} -- {said}", stage.start, stage.end, visible(written));
    if let Some(why) = &stage.why {
        let _ = write!(text, ": {}", visible(why));
    }
    for inner in &stage.inner {
        let _ = write!(text, "\n            runs {}", visible(inner));
    }
    if let Some(smallest) = &stage.smallest {
        let _ = write!(text, "\n            would be covered by the rule {}", visible(smallest));
    }
    text
}

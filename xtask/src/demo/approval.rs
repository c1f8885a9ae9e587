//! A turn in the demo: propose a command, see what is asked, decide stage by stage, see it run.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::Host;
use super::say::{fact, quote, tell};

/// What the demo always picks.
const CHOICE: &str = "allow_once";
/// More stages than any command of the demo has.
const STAGES_MAX: usize = 16;

/// The text of a member that must be there.
pub(crate) fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    Ok(found.with_context(|| format!("the host sent no `{pointer}` in {value}"))?.to_owned())
}

/// A fresh command id; the client mints them.
pub(crate) fn command_id() -> String {
    Uuid::now_v7().to_string()
}

/// `session/start`; returns the session's id and the path of its log.
pub(crate) fn start_session(host: &mut Host, folder: &Path) -> anyhow::Result<(String, String)> {
    let opening = host.call(
        "session/start",
        json!({
            "commandId": command_id(),
            "workspaceRoot": folder,
            "approvalMode": "promptUnmatched",
        }),
    )?;
    Ok((text(&opening, "/session/sessionId")?, text(&opening, "/session/path")?))
}

/// Starts a turn whose text is a shell script, waits until the host asks; returns turn and question.
pub(crate) fn propose(
    host: &mut Host,
    session: &str,
    script: &str,
) -> anyhow::Result<(String, Value)> {
    let ack = host.call(
        "turn/start",
        json!({
            "sessionId": session,
            "commandId": command_id(),
            "input": [{"type": "text", "text": script}],
        }),
    )?;
    let turn = text(&ack, "/turnId")?;
    let question = host.event("approval/request", |params| params["turnId"] == turn.as_str())?;
    Ok((turn, question))
}

/// Shows what a person would see: command, stages and menu.
pub(crate) fn show(question: &Value) -> anyhow::Result<()> {
    tell(&format!("The host asks: may `{}` run?", text(question, "/subject/command")?));
    for stage in question.pointer("/subject/stages").and_then(Value::as_array).into_iter().flatten()
    {
        let words: Vec<String> = stage["argv"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|word| format!("{word:?}"))
            .collect();
        let resolution = text(stage, "/resolution/kind")?;
        let (position, total) = (&stage["position"], &stage["totalStages"]);
        tell(&format!("  stage {position} of {total}: {} ({resolution})", words.join(" ")));
    }
    let choices: Vec<String> = question["availableChoices"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|choice| {
            Some(format!("{} ({})", choice["label"].as_str()?, choice["choiceId"].as_str()?))
        })
        .collect();
    tell(&format!("  menu: {}", choices.join(", ")));
    Ok(())
}

/// Decides every stage that is still open; returns how many decisions it took.
pub(crate) fn decide(host: &mut Host, session: &str, question: &Value) -> anyhow::Result<usize> {
    let approval = text(question, "/approvalId")?;
    let mut requirement = question["currentRequirementId"].clone();
    for count in 1..=STAGES_MAX {
        let ack = host.call("approval/decide", decision(session, &approval, &requirement))?;
        let stage = requirement["sourceIndex"].as_u64().unwrap_or(0) + 1;
        let terminal = ack["terminal"] == true;
        tell(&format!(
            "The person decides stage {stage}: {CHOICE}. {}",
            if terminal { "That was the last open stage." } else { "Another stage is open." }
        ));
        if terminal {
            return Ok(count);
        }
        let update = host.event("approval/updated", |params| {
            params["approvalId"] == approval.as_str()
                && params["change"]["requirementId"] == requirement
                && params["currentRequirementId"] != requirement
        })?;
        requirement = update["currentRequirementId"].clone();
    }
    bail!("the approval {approval} still has open stages after {STAGES_MAX} decisions")
}

/// Decides an approval that is closed already; returns the name of the refusal.
pub(crate) fn decide_late(
    host: &mut Host,
    session: &str,
    question: &Value,
) -> anyhow::Result<String> {
    let approval = text(question, "/approvalId")?;
    let params = decision(session, &approval, &question["currentRequirementId"]);
    let error = host.refused("approval/decide", params)?;
    Ok(format!("{} {}", error["code"], text(&error, "/data/kind")?))
}

fn decision(session: &str, approval: &str, requirement: &Value) -> Value {
    json!({
        "sessionId": session,
        "commandId": command_id(),
        "approvalId": approval,
        "requirementId": requirement,
        "choiceId": CHOICE,
    })
}

/// Waits for the decision's record, the command's end and the turn's end; shows and returns the output.
pub(crate) fn outcome(
    host: &mut Host,
    turn: &str,
    approval: &str,
    label: &str,
) -> anyhow::Result<String> {
    let resolved = host.event("approval/resolved", |params| params["approvalId"] == approval)?;
    tell(&format!(
        "The record says: {} by {}, policy result {}.",
        text(&resolved, "/decision")?,
        text(&resolved, "/resolvedBy")?,
        text(&resolved, "/policyResult")?
    ));
    let ended = host.event("item/completed", |params| {
        params["item"]["kind"] == "toolCall" && params["item"]["turnId"] == turn
    })?;
    let item = &ended["item"];
    ensure!(
        item["status"] == "completed",
        "the command ended as {} ({})",
        item["status"],
        item["failureReason"]
    );
    let turn_end = host.event("turn/completed", |params| params["turnId"] == turn)?;
    ensure!(turn_end["terminal"] == "completed", "the turn ended as {}", turn_end["terminal"]);
    let output = match item["visibleOutput"].as_str() {
        Some(output) => output.to_owned(),
        None => streamed(host, item),
    };
    let status = item.get("exitCode").unwrap_or(&Value::Null);
    fact(label, format!("exit status {status}, {} bytes of output", output.len()));
    quote(&output);
    Ok(output)
}

/// The item's output put together from what was streamed.
fn streamed(host: &Host, item: &Value) -> String {
    let deltas = host.seen("item/delta", |params| params["itemId"] == item["itemId"]);
    deltas.iter().filter_map(|params| params["delta"].as_str()).collect()
}

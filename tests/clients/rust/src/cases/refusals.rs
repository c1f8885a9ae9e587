//! Refusals with their typed data, races, and what stops a pending approval.

use crate::ground::{Outcome, Place, check, equal, new_id};
use crate::talk::{Talk, closed};
use crate::wire::Wire;
use muse_code_sdk::msp::{
    ApprovalDecideParams, ApprovalDecision, ApprovalMode, ApprovalResolvedBy,
    ApprovalResolvedParams, ApprovalUpdatedParams, ErrorData, ErrorKind, ItemStatus,
    TurnCancelParams, TurnCancelResult, TurnInterruptParams, TurnInterruptResult, TurnTerminal,
};
use serde_json::{Value, json};

crate::cases![
    error_32050_not_found,
    error_32051_already_resolved,
    error_32052_choice_invalid,
    feedback_refused,
    error_32053_requirement_stale,
    two_decides_race,
    a_receipt_is_no_decision,
    interrupt_pending,
    cancel_pending,
    interrupt_running,
    unknown_sessions_and_methods,
];

/// The data of -32051 must name this terminal.
fn names(data: &ErrorData, resolved: &ApprovalResolvedParams) -> Outcome {
    let summary = data.resolution.as_ref().ok_or("no `resolution` in the data")?;
    equal(
        (data.approval_id.as_ref(), json!(summary.decision), json!(summary.resolved_by)),
        (
            Some(&resolved.approval_id),
            serde_json::to_value(&resolved.decision)?,
            serde_json::to_value(&resolved.resolved_by)?,
        ),
        "the resolution in the data",
    )?;
    equal(&summary.view_cursor, &resolved.view_cursor, "the cursor of the terminal")
}

async fn error_32050_not_found(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let other = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch x").await?;
    for (speaker, stranger) in [(&talk, new_id()), (&other, ask.approval_id.clone())] {
        let mut params = speaker.decision(&ask, "allow_once");
        params.approval_id = stranger.clone();
        params.requirement_id.approval_id = stranger.clone();
        let kind = ErrorKind::ApprovalNotFound;
        let data = host.refused("approval/decide", &params, -32050, kind).await?;
        equal(data.approval_id, Some(stranger), "the approval in the data")?;
    }
    equal(talk.pending().await?, vec![ask], "what pends after the refusals")?;
    host.close().await
}

async fn error_32051_already_resolved(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    for (choice, decision) in
        [("allow_once", ApprovalDecision::Approved), ("abort", ApprovalDecision::Abort)]
    {
        let ask = talk.opened(&format!("echo ran >> {choice}.txt")).await?;
        let winner = talk.decision(&ask, choice);
        talk.decide(&winner, true).await?;
        talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
        let resolved = talk.resolved(&ask.approval_id).await?;
        closed(&resolved, decision, ApprovalResolvedBy::User, Some(&winner.command_id))?;
        for late in ["allow_once", "abort", "invented"] {
            let late = talk.decision(&ask, late);
            let kind = ErrorKind::ApprovalAlreadyResolved;
            names(&host.refused("approval/decide", &late, -32051, kind).await?, &resolved)?;
        }
    }
    equal(
        (place.lines("allow_once.txt"), place.lines("abort.txt").is_empty()),
        (vec!["ran".to_owned()], true),
        "what ran",
    )?;
    host.close().await
}

async fn error_32052_choice_invalid(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch x && touch y").await?;
    let command = new_id();
    for choice in ["invented", "allow_session", ""] {
        let mut params = talk.decision(&ask, choice);
        params.command_id.clone_from(&command);
        let kind = ErrorKind::ApprovalChoiceInvalid;
        let data = host.refused("approval/decide", &params, -32052, kind).await?;
        equal(
            (data.approval_id.as_ref(), data.choice_id.as_deref()),
            (Some(&ask.approval_id), Some(choice)),
            "the data",
        )?;
    }
    equal(talk.pending().await?, vec![ask.clone()], "what pends after the refusals")?;
    let mut params = talk.decision(&ask, "abort");
    params.command_id = command;
    talk.decide(&params, true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    host.close().await
}

async fn feedback_refused(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch x").await?;
    for choice in ["allow_once", "allow_session"] {
        let mut params = talk.decision(&ask, choice);
        params.feedback = Some("do it well".to_owned());
        let kind = ErrorKind::ApprovalChoiceInvalid;
        let data = host.refused("approval/decide", &params, -32052, kind).await?;
        equal(data.choice_id.as_deref(), Some(choice), "the choice in the data")?;
    }
    check(!place.path("workspace/x").exists(), "nothing to have run")?;
    let mut with_null = serde_json::to_value(talk.decision(&ask, "allow_once"))?;
    with_null["feedback"] = Value::Null;
    host.call::<Value>("approval/decide", &with_null).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    check(place.path("workspace/x").exists(), "null feedback to be no feedback")?;
    host.close().await
}

async fn error_32053_requirement_stale(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch a && ls && touch b").await?;
    let stale = async |params: ApprovalDecideParams, current: usize| -> Outcome {
        let kind = ErrorKind::ApprovalRequirementStale;
        let data = host.refused("approval/decide", &params, -32053, kind).await?;
        let named = data.current_requirement_id.ok_or("no current requirement in the data")?;
        equal(
            (named.approval_id, named.source_index),
            (ask.approval_id.clone(), current),
            "the data",
        )
    };
    for index in [1, 2, 3] {
        let mut params = talk.decision(&ask, "invented");
        params.requirement_id.source_index = index;
        stale(params, 0).await?;
    }
    talk.decide(&talk.decision(&ask, "allow_once"), false).await?;
    stale(talk.decision(&ask, "allow_once"), 2).await?;
    let updates: Vec<ApprovalUpdatedParams> = host.all("approval/updated")?;
    let changes: Vec<&str> = updates.iter().map(|update| update.change.kind.as_str()).collect();
    equal(changes, vec!["stageResolved"], "the updates")?;
    let last = talk.ask(&ask.turn_id, 2).await?;
    equal(talk.pending().await?, vec![last.clone()], "what pends after the refusals")?;
    talk.decide(&talk.decision(&last, "allow_once"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    check(place.path("workspace/b").exists(), "the command to run in the end")?;
    host.close().await
}

async fn two_decides_race(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("echo ran >> race.txt").await?;
    let (first, second) = (talk.decision(&ask, "allow_once"), talk.decision(&ask, "abort"));
    let kind = ErrorKind::ApprovalAlreadyResolved;
    // Polled in this order, so the first is written first; neither waits for the other.
    let (won, lost) = tokio::join!(
        biased;
        talk.decide(&first, true),
        host.refused("approval/decide", &second, -32051, kind),
    );
    won?;
    let resolved = talk.resolved(&ask.approval_id).await?;
    names(&lost?, &resolved)?;
    closed(
        &resolved,
        ApprovalDecision::Approved,
        ApprovalResolvedBy::User,
        Some(&first.command_id),
    )?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    equal(place.lines("race.txt"), vec!["ran"], "what ran")?;
    equal(host.all::<Value>("approval/resolved")?.len(), 1, "terminals")?;
    host.close().await
}

async fn a_receipt_is_no_decision(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch x").await?;
    // The bare connection has answered the request with an error by now: it presents nothing.
    equal(talk.pending().await?, vec![ask.clone()], "what pends behind the receipt")?;
    let ids: Vec<i64> = host
        .frames()
        .iter()
        .filter(|frame| frame["method"] == "approval/request")
        .filter_map(|frame| frame["id"].as_i64())
        .collect();
    check(ids.len() == 1 && ids[0] > 0, "one request with a positive id")?;
    talk.decide(&talk.decision(&ask, "allow_once"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    host.close().await
}

/// Ends a pending turn with this request, and looks at what that leaves.
async fn stopped(place: &Place, method: &str, turn: impl Fn(&str) -> Option<String>) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch never.txt").await?;
    let (session_id, command_id) = (talk.id.clone(), new_id());
    let turn_id = turn(&ask.turn_id);
    let stop = if method == "turn/cancel" {
        serde_json::to_value(TurnCancelParams { session_id, command_id, turn_id })?
    } else {
        serde_json::to_value(TurnInterruptParams {
            session_id,
            command_id,
            turn_id,
            retract: None,
        })?
    };
    let ended = if method == "turn/cancel" {
        host.call::<TurnCancelResult>(method, &stop).await?.turn_id
    } else {
        host.call::<TurnInterruptResult>(method, &stop).await?.turn_id
    };
    equal(&ended, &ask.turn_id, "the turn of the ack")?;
    talk.end(&ask.turn_id, TurnTerminal::Cancelled).await?;
    talk.item(&ask.turn_id, ItemStatus::Cancelled).await?;
    let resolved = talk.resolved(&ask.approval_id).await?;
    closed(&resolved, ApprovalDecision::Abort, ApprovalResolvedBy::User, None)?;
    let order: Vec<Value> = host
        .frames()
        .into_iter()
        .map(|frame| frame["method"].clone())
        .filter(|method| {
            ["approval/resolved", "item/completed", "turn/completed"]
                .contains(&method.as_str().unwrap_or(""))
        })
        .collect();
    // The user message of the turn is an item, too.
    let expected = ["approval/resolved", "item/completed", "turn/completed"];
    check(
        order.ends_with(&expected.map(Value::from)),
        format_args!("{expected:?}, got {order:?}"),
    )?;
    let late = talk.decision(&ask, "allow_once");
    let kind = ErrorKind::ApprovalAlreadyResolved;
    names(&host.refused("approval/decide", &late, -32051, kind).await?, &resolved)?;
    let again: Value = host.call(method, &stop).await?;
    equal(&again["turnId"], &json!(ask.turn_id), "the replayed stop")?;
    let idle = json!({"sessionId": talk.id, "commandId": new_id()});
    let data = host.refused(method, &idle, -32030, ErrorKind::CommandRejected).await?;
    equal(data.reason.as_deref(), Some("missing_run"), "the reason on an idle session")?;
    check(!place.path("workspace/never.txt").exists(), "nothing to have run")?;
    talk.run("pwd").await?;
    host.close().await
}

async fn interrupt_pending(place: &Place) -> Outcome {
    stopped(place, "turn/interrupt", |turn| Some(turn.to_owned())).await
}

async fn cancel_pending(place: &Place) -> Outcome {
    stopped(place, "turn/cancel", |_| None).await
}

async fn interrupt_running(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, Some(ApprovalMode::AllowAll)).await?;
    let turn = talk.turn("echo begun; exec sleep 300").await?;
    host.event("item/delta", |delta: &Value| delta["delta"] == "begun\n").await?;
    let params = TurnInterruptParams {
        session_id: talk.id.clone(),
        command_id: new_id(),
        turn_id: Some(turn.clone()),
        retract: None,
    };
    host.call::<TurnInterruptResult>("turn/interrupt", &params).await?;
    talk.item(&turn, ItemStatus::Cancelled).await?;
    talk.end(&turn, TurnTerminal::Cancelled).await?;
    talk.run("pwd").await?;
    host.close().await
}

async fn unknown_sessions_and_methods(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let nobody = new_id();
    let of_nobody = json!({"sessionId": nobody, "commandId": new_id(), "limit": 5});
    for method in
        ["session/resume", "session/read", "approval/listPending", "view/page", "turn/interrupt"]
    {
        let data = host.refused(method, &of_nobody, -32020, ErrorKind::SessionNotFound).await?;
        equal(data.session_id.as_ref(), Some(&nobody), "the session in the data")?;
    }
    host.refused("no/such", &of_nobody, -32601, ErrorKind::MethodNotFound).await?;
    host.refused("approval/decide", &of_nobody, -32602, ErrorKind::InvalidParams).await?;
    let talk = Talk::start(&host, place, None).await?;
    let id = talk.id.clone();
    host.close().await?;
    let host = Wire::spawn(place).await?;
    let params = json!({"sessionId": id, "commandId": new_id(), "mode": "denyUnmatched"});
    let kind = ErrorKind::SessionNotLoaded;
    let data = host.refused("session/setApprovalMode", &params, -32024, kind).await?;
    equal(data.session_id, Some(id), "the session in the data")?;
    host.close().await
}

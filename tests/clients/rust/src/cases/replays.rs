//! One command id, one effect: on the same connection, on the next one, after SIGKILL.

use crate::ground::{Outcome, Place, check, equal, successor_of};
use crate::talk::{Talk, start_params};
use crate::wire::Wire;
use muse_code_sdk::msp::{
    ApprovalDecideParams, ApprovalDecideResult, ErrorKind, SessionListResult, SessionStartResult,
    TurnStartResult, TurnStartedParams, TurnTerminal,
};
use serde::Serialize;
use serde_json::{Value, json};

crate::cases![
    replay_same_connection,
    replay_after_sigkill,
    replay_reject_with_feedback,
    replay_session_start,
    command_id_conflict,
];

/// The same decide, also with `feedback: null`, gives the first ack.
async fn again(host: &Wire, params: &ApprovalDecideParams, ack: &ApprovalDecideResult) -> Outcome {
    let mut spelled = serde_json::to_value(params)?;
    for _ in 0..2 {
        let replayed: ApprovalDecideResult = host.call("approval/decide", &spelled).await?;
        equal(&replayed, ack, "the replayed ack")?;
        if params.feedback.is_none() {
            spelled["feedback"] = Value::Null;
        }
    }
    Ok(())
}

async fn conflicts(host: &Wire, method: &str, params: &impl Serialize) -> Outcome {
    let data = host.refused(method, params, -32030, ErrorKind::CommandRejected).await?;
    let command = serde_json::to_value(params)?["commandId"].clone();
    equal(
        (data.reason.as_deref(), json!(data.command_id)),
        (Some("command_id_conflict"), command),
        "the data of the conflict",
    )
}

async fn replay_same_connection(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("echo ran >> twice.txt && touch other.txt").await?;
    let stage = talk.decision(&ask, "allow_once");
    let stage_ack = talk.decide(&stage, false).await?;
    again(&host, &stage, &stage_ack).await?;
    let second = talk.ask(&ask.turn_id, 1).await?;
    equal(talk.pending().await?, vec![second.clone()], "the stage that the replay left alone")?;
    let last = talk.decision(&second, "allow_once");
    let ack = talk.decide(&last, true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    let before = talk.pages(200, "forward").await?;
    again(&host, &last, &ack).await?;
    again(&host, &stage, &stage_ack).await?;
    equal(talk.pages(200, "forward").await?, before, "the log behind the replays")?;
    equal(host.all::<Value>("approval/resolved")?.len(), 1, "terminals")?;
    equal(place.lines("twice.txt"), vec!["ran"], "what ran")?;
    host.close().await
}

async fn replay_after_sigkill(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let turn = talk.turn_params("echo ran >> once.txt")?;
    let turn_ack: TurnStartResult = host.call("turn/start", &turn).await?;
    let ask = talk.ask(&turn_ack.turn_id, 0).await?;
    let decide = talk.decision(&ask, "allow_once");
    let ack = talk.decide(&decide, true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    let id = talk.id.clone();
    host.kill().await?;
    for _ in 0..2 {
        let host = Wire::spawn(place).await?;
        let (talk, opening) = Talk::resume(&host, &id).await?;
        check(opening.pending_requests.is_empty(), "nothing to pend")?;
        again(&host, &decide, &ack).await?;
        let replayed: TurnStartResult = host.call("turn/start", &turn).await?;
        equal(&replayed, &turn_ack, "the replayed turn/start")?;
        equal(talk.paged::<TurnStartedParams>("turn/started").await?.len(), 1, "turns")?;
        equal(place.lines("once.txt"), vec!["ran"], "what ran")?;
        host.kill().await?;
    }
    Ok(())
}

async fn replay_reject_with_feedback(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch never.txt").await?;
    let mut params = talk.decision(&ask, "abort");
    params.feedback = Some("use another file".to_owned());
    let ack = talk.decide(&params, true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    let id = talk.id.clone();
    host.close().await?;
    let host = Wire::spawn(place).await?;
    Talk::resume(&host, &id).await?;
    again(&host, &params, &ack).await?;
    for feedback in [None, Some("use another file!".to_owned())] {
        conflicts(&host, "approval/decide", &ApprovalDecideParams { feedback, ..params.clone() })
            .await?;
    }
    host.close().await
}

async fn replay_session_start(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let params = start_params(place, None)?;
    let first: SessionStartResult = host.call("session/start", &params).await?;
    let replayed: SessionStartResult = host.call("session/start", &params).await?;
    equal(&replayed, &first, "the replay on the same connection")?;
    let mut other = params.clone();
    other.approval_mode = Some(muse_code_sdk::msp::ApprovalMode::DenyUnmatched);
    conflicts(&host, "session/start", &other).await?;
    host.close().await?;
    let host = Wire::spawn(place).await?;
    let replayed: SessionStartResult = host.call("session/start", &params).await?;
    equal(&replayed, &first, "the replay on a fresh host")?;
    let listed: SessionListResult = host.call("session/list", &json!({})).await?;
    let ids: Vec<&str> = listed.sessions.iter().map(|row| row.session_id.as_str()).collect();
    equal(ids, vec![first.session.session_id.as_str()], "the sessions of the home")?;
    host.close().await
}

async fn command_id_conflict(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch a && touch b").await?;
    let used = talk.decision(&ask, "allow_once");
    talk.decide(&used, false).await?;
    let second = talk.ask(&ask.turn_id, 1).await?;
    let with_used = |choice: &str| ApprovalDecideParams {
        command_id: used.command_id.clone(),
        ..talk.decision(&second, choice)
    };
    conflicts(&host, "approval/decide", &with_used("allow_once")).await?;
    conflicts(&host, "approval/decide", &with_used("abort")).await?;
    let mode = json!({"sessionId": talk.id, "commandId": used.command_id, "mode": "denyUnmatched"});
    conflicts(&host, "session/setApprovalMode", &mode).await?;
    equal(talk.pending().await?, vec![second], "what pends after the conflicts")?;
    let id = talk.id.clone();
    host.kill().await?;

    let host = Wire::spawn(place).await?;
    let (talk, _) = Talk::resume(&host, &id).await?;
    let new = talk.ask(&ask.turn_id, 0).await?;
    equal(new.approval_id.as_str(), successor_of(&ask.approval_id)?.as_str(), "the successor")?;
    let mut params = talk.decision(&new, "allow_once");
    params.command_id = used.command_id;
    conflicts(&host, "approval/decide", &params).await?;
    equal(talk.pending().await?, vec![new.clone()], "the successor, untouched")?;
    talk.decide(&talk.decision(&new, "abort"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    check(!place.path("workspace/a").exists(), "nothing to have run")?;
    host.close().await
}

//! Reading back: what pends, pages in both directions, subscription, the suffix of a resume.

use crate::ground::{Outcome, Place, check, equal, new_id, successor_of};
use crate::talk::Talk;
use crate::wire::Wire;
use muse_code_sdk::msp::{
    ApprovalListPendingParams, ApprovalListPendingResult, ErrorKind, HistoryMode,
    HistoryNoneReason, SessionListResult, SessionReadResult, SessionResumeParams,
    SessionResumeResult, SessionStatus, TurnTerminal, ViewSubscribeParams, ViewSubscribeResult,
    ViewUnsubscribeParams, ViewUnsubscribeResult,
};
use serde_json::{Value, json};

crate::cases![list_pending, view_page, view_subscribe, resume_suffix, session_read_and_list];

/// The durable events of a session that were delivered live, as a page has them.
fn live(host: &Wire, session: &str) -> Vec<Value> {
    let durable = |frame: &Value| {
        frame.get("id").is_none()
            && frame["params"]["sessionId"] == session
            && frame["params"].get("sourceRange").is_some()
    };
    host.frames()
        .into_iter()
        .filter(durable)
        .map(|frame| json!({"method": frame["method"], "params": frame["params"]}))
        .collect()
}

fn cursor(event: &Value) -> Outcome<u64> {
    Ok(event["params"]["viewCursor"].as_str().ok_or("an event without cursor")?.parse()?)
}

/// One of everything: safe, stages, rejected, granted, covered, denied.
async fn history(talk: &Talk<'_>) -> Outcome {
    talk.run("pwd").await?;
    let ask = talk.opened("touch a && ls && touch b").await?;
    talk.decide(&talk.decision(&ask, "allow_once"), false).await?;
    let second = talk.ask(&ask.turn_id, 2).await?;
    talk.decide(&talk.decision(&second, "allow_once"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    for (text, choice) in [("touch c", "abort"), ("touch d", "allow_session")] {
        let ask = talk.opened(text).await?;
        talk.decide(&talk.decision(&ask, choice), true).await?;
        talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    }
    let covered = talk.turn("touch d").await?;
    talk.end(&covered, TurnTerminal::Completed).await?;
    let mode = json!({"sessionId": talk.id, "commandId": new_id(), "mode": "denyUnmatched"});
    talk.host.call::<Value>("session/setApprovalMode", &mode).await?;
    let denied = talk.turn("touch e").await?;
    talk.end(&denied, TurnTerminal::Completed).await?;
    talk.pending().await?;
    Ok(())
}

async fn list_pending(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    check(talk.pending().await?.is_empty(), "nothing to pend in a fresh session")?;
    let ask = talk.opened("touch x").await?;
    equal(talk.pending().await?, vec![ask.clone()], "what pends, loaded")?;
    let id = talk.id.clone();
    host.kill().await?;

    let host = Wire::spawn(place).await?;
    let params = ApprovalListPendingParams { session_id: id.clone() };
    for _ in 0..2 {
        let listed: ApprovalListPendingResult = host.call("approval/listPending", &params).await?;
        equal(listed.approvals, vec![ask.clone()], "what pends, not loaded")?;
    }
    check(host.all::<Value>("approval/request")?.is_empty(), "a read not to subscribe")?;
    let (talk, _) = Talk::resume(&host, &id).await?;
    let new = talk.ask(&ask.turn_id, 0).await?;
    equal(new.approval_id.as_str(), successor_of(&ask.approval_id)?.as_str(), "the successor")?;
    equal(talk.pending().await?, vec![new], "what pends, loaded again")?;
    host.close().await
}

async fn view_page(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    history(&talk).await?;
    let delivered = live(&host, &talk.id);
    for method in [
        "turn/started",
        "turn/completed",
        "item/started",
        "item/completed",
        "approval/requested",
        "approval/updated",
        "approval/resolved",
        "session/approvalModeChanged",
    ] {
        check(delivered.iter().any(|event| event["method"] == method), method)?;
    }
    let cursors = delivered.iter().map(cursor).collect::<Outcome<Vec<u64>>>()?;
    check(cursors.is_sorted_by(|one, next| one < next), "cursors that only grow")?;
    let pages = talk.pages(1000, "forward").await?;
    let first = cursors.first().copied().unwrap_or_default();
    let mut tail = Vec::new();
    for event in &pages {
        if cursor(event)? >= first {
            tail.push(event.clone());
        }
    }
    equal(&tail, &delivered, "what the pages hold of what was delivered")?;
    for limit in [1, 2, 7] {
        for direction in ["forward", "backward"] {
            equal(&talk.pages(limit, direction).await?, &pages, "the pages, cut differently")?;
        }
    }
    for wrong in [json!({"limit": 0}), json!({"limit": 1001}), json!({})] {
        let mut params = wrong;
        params["sessionId"] = json!(talk.id);
        host.refused("view/page", &params, -32602, ErrorKind::InvalidParams).await?;
    }
    let id = talk.id.clone();
    host.close().await?;

    let host = Wire::spawn(place).await?;
    let (cold, _) = Talk::resume(&host, &id).await?;
    let again = cold.pages(1000, "forward").await?;
    equal(again.get(..pages.len()), Some(&pages[..]), "the pages of a cold host")?;
    host.close().await
}

async fn view_subscribe(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    talk.run("pwd").await?;
    let ask = talk.opened("touch x").await?;
    talk.pending().await?;
    let delivered = live(&host, &talk.id);
    let request_ids = || -> Vec<i64> {
        let frames = host.frames();
        let asked = frames.iter().filter(|frame| frame["method"] == "approval/request");
        asked.filter_map(|frame| frame["id"].as_i64()).collect()
    };
    equal(request_ids().len(), 1, "requests so far")?;
    let leave = ViewUnsubscribeParams { session_id: talk.id.clone() };
    for _ in 0..2 {
        host.call::<ViewUnsubscribeResult>("view/unsubscribe", &leave).await?;
    }
    let after = delivered.get(1).ok_or("too few events")?["params"]["viewCursor"].as_str();
    let params =
        ViewSubscribeParams { session_id: talk.id.clone(), after: after.map(str::to_owned) };
    host.call::<ViewSubscribeResult>("view/subscribe", &params).await?;
    talk.pending().await?;
    let replayed = live(&host, &talk.id).split_off(delivered.len());
    equal(Some(&replayed[..]), delivered.get(2..), "what is replayed behind the cursor")?;
    let ids = request_ids();
    check(ids.len() == 2 && ids[1] > ids[0], "the request again, under a new id")?;
    equal(talk.pending().await?, vec![ask.clone()], "what pends")?;
    talk.decide(&talk.decision(&ask, "abort"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    host.close().await
}

async fn resume_suffix(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    talk.run("pwd").await?;
    let ask = talk.opened("touch x").await?;
    talk.pending().await?;
    let delivered = live(&host, &talk.id);
    let id = talk.id.clone();
    host.close().await?;

    let host = Wire::spawn(place).await?;
    let seen = delivered.get(1).ok_or("too few events")?["params"]["viewCursor"].clone();
    let params: SessionResumeParams =
        serde_json::from_value(json!({"commandId": new_id(), "sessionId": id, "cursor": seen}))?;
    let resumed: SessionResumeResult = host.call("session/resume", &params).await?;
    equal(
        (&resumed.history.mode, &resumed.history.none_reason),
        (&HistoryMode::None, &Some(HistoryNoneReason::CursorSuffix)),
        "the history of a resume behind a cursor",
    )?;
    let talk = Talk { host: &host, id: id.clone() };
    let new = talk.ask(&ask.turn_id, 0).await?;
    let suffix = live(&host, &id);
    let expected = delivered.get(2..).unwrap_or_default();
    equal(suffix.get(..expected.len()), Some(expected), "the suffix begins behind the cursor")?;
    talk.decide(&talk.decision(&new, "allow_once"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    host.close().await
}

async fn session_read_and_list(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    equal(host.opening.server_info.name.as_str(), "placet", "the name of the host")?;
    let talk = Talk::start(&host, place, None).await?;
    talk.run("pwd").await?;
    let params = json!({"sessionId": talk.id});
    let read: SessionReadResult = host.call("session/read", &params).await?;
    equal(&read.session.session_id, &talk.id, "the session that is read")?;
    equal((&read.session.status, read.session.turn_count), (&SessionStatus::Idle, 1), "its state")?;
    let listed: SessionListResult = host.call("session/list", &json!({})).await?;
    equal(listed.sessions.len(), 1, "sessions")?;
    host.close().await?;
    let host = Wire::spawn(place).await?;
    let listed: SessionListResult = host.call("session/list", &json!({})).await?;
    let rows: Vec<&SessionStatus> = listed.sessions.iter().map(|row| &row.status).collect();
    equal(rows, vec![&SessionStatus::NotLoaded], "the stored session")?;
    host.close().await
}

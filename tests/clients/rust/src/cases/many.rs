//! More than one thing at once: several actions of a turn, several turns, several kinds, one session twice.

use crate::facade::{Facade, Person, end, say};
use crate::ground::{Outcome, Place, check, equal, new_id};
use crate::talk::Talk;
use crate::wire::Wire;
use muse_code_sdk::msp::{
    ApprovalRequestParams, ApprovalSubject, SessionClosedParams, SessionClosedReason,
    SessionLeaveCompletedParams, SessionLeaveOutcome, SessionLeaveParams, SessionLeaveResult,
    SessionStatus, TurnTerminal,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

crate::cases![
    two_approvals_in_either_order,
    forty_proposals_through_the_client,
    forty_proposals_are_open_32_at_a_time,
    a_second_turn_waits_for_the_first,
    subjects_of_every_kind,
    resume_on_a_loaded_session_asks_again,
    leave,
];

/// The most approvals that the SDK keeps for a session.
const OPEN_MAX: usize = 32;

/// A turn that proposes these commands at once.
fn commands(texts: impl IntoIterator<Item = String>) -> String {
    let actions = texts.into_iter().map(|text| json!({"tool": "shell", "args": {"command": text}}));
    json!({"actions": actions.collect::<Vec<Value>>()}).to_string()
}

fn forty() -> String {
    commands((0..40).map(|number| format!("echo {number} >> many.txt")))
}

/// Whether all forty ran, each once.
fn all_ran(place: &Place) -> Outcome {
    let lines = place.lines("many.txt");
    let numbers: BTreeSet<usize> = lines.iter().filter_map(|line| line.parse().ok()).collect();
    equal((lines.len(), numbers.len()), (40, 40), "commands that ran, and different ones")
}

async fn two_approvals_in_either_order(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    for last_first in [false, true] {
        let name = format!("order-{last_first}.txt");
        let texts = ["one", "two"].map(|word| format!("echo {word} >> {name}"));
        let turn = talk.turn(&commands(texts)).await?;
        for word in ["one", "two"] {
            let about =
                |ask: &ApprovalRequestParams| ask.turn_id == turn && ask.raw_args.contains(word);
            host.event("approval/request", about).await?;
        }
        let mut open = talk.pending().await?;
        equal(open.len(), 2, "approvals that are open at once")?;
        if last_first {
            open.reverse();
        }
        for (ask, left) in open.iter().zip([1, 0]) {
            talk.decide(&talk.decision(ask, "allow_once"), true).await?;
            talk.resolved(&ask.approval_id).await?;
            equal(talk.pending().await?.len(), left, "approvals that are left")?;
        }
        talk.end(&turn, TurnTerminal::Completed).await?;
        let ran: BTreeSet<String> = place.lines(&name).into_iter().collect();
        equal(ran, BTreeSet::from(["one".to_owned(), "two".to_owned()]), "what ran")?;
    }
    host.close().await
}

async fn forty_proposals_through_the_client(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, &forty()).await?;
    let mut seen = BTreeSet::new();
    for _ in 0..40 {
        let question = person.question().await?;
        check(seen.insert(question.ask.approval_id.clone()), "each approval once")?;
        question.says("allow_once")?;
    }
    end(&turn).await?;
    person.quiet("forty approvals, forty questions")?;
    all_ran(place)?;
    host.close().await
}

async fn forty_proposals_are_open_32_at_a_time(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let turn = talk.turn(&forty()).await?;
    let mut decided = BTreeSet::new();
    while decided.len() < 40 {
        let fresh = |ask: &ApprovalRequestParams| !decided.contains(&ask.approval_id);
        let ask = host.event("approval/request", fresh).await?;
        let open = talk.pending().await?;
        check(open.len() <= OPEN_MAX, format_args!("at most {OPEN_MAX} open, got {}", open.len()))?;
        if open.len() < OPEN_MAX.min(40 - decided.len()) {
            // They are opened one after the other; look again when the next is there.
            tokio::task::yield_now().await;
            continue;
        }
        talk.decide(&talk.decision(&ask, "allow_once"), true).await?;
        decided.insert(ask.approval_id);
    }
    talk.end(&turn, TurnTerminal::Completed).await?;
    check(talk.pending().await?.is_empty(), "nothing to pend in the end")?;
    all_ran(place)?;
    host.close().await
}

async fn a_second_turn_waits_for_the_first(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let first = say(&session, "echo first >> order.txt").await?;
    let question = person.question().await?;
    let second = say(&session, "echo second >> order.txt").await?;
    check(first.turn_id() != second.turn_id(), "two turns")?;
    check(!second.observed_start(), "the second turn to wait")?;
    question.says("allow_once")?;
    end(&first).await?;
    let question = person.question().await?;
    equal(question.ask.turn_id.as_str(), second.turn_id(), "whose turn it is then")?;
    question.says("allow_once")?;
    end(&second).await?;
    equal(place.lines("order.txt"), vec!["first", "second"], "what ran")?;
    host.close().await
}

async fn subjects_of_every_kind(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let declared = [
        json!({"kind": "fileAccess", "path": "notes.txt", "access": "write"}),
        json!({"kind": "network", "host": "example.org", "port": 443, "protocol": "https"}),
        json!({"kind": "unixSocket", "path": "/run/example.sock"}),
        json!({"kind": "process", "target": "4711"}),
        json!({"kind": "tool"}),
        json!({"kind": "telepathy", "host": "example.org"}),
    ];
    for subject in declared {
        let word = subject["kind"].as_str().unwrap_or_default();
        let text = json!({"tool": "reach", "args": {}, "subject": subject}).to_string();
        let turn = talk.turn(&text).await?;
        let ask = talk.ask(&turn, 0).await?;
        let got: &ApprovalSubject = &ask.subject;
        equal(got.kind.as_str(), word, "the kind")?;
        if word == "telepathy" {
            let choices: Vec<&str> =
                ask.available_choices.iter().map(|choice| choice.choice_id.as_str()).collect();
            equal(choices, vec!["allow_once", "abort"], "the menu of an unknown kind")?;
        } else {
            equal(got.host.as_deref(), subject["host"].as_str(), "the host")?;
            equal(got.port.map(u64::from), subject["port"].as_u64(), "the port")?;
            equal(got.target.as_deref(), subject["target"].as_str(), "the target")?;
            equal(got.path.as_deref(), subject["path"].as_str(), "the path")?;
        }
        talk.decide(&talk.decision(&ask, "abort"), true).await?;
        talk.end(&turn, TurnTerminal::Completed).await?;
    }
    host.close().await
}

async fn resume_on_a_loaded_session_asks_again(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("touch x").await?;
    for count in 2..4 {
        let (_, opening) = Talk::resume(&host, &talk.id).await?;
        equal(&opening.session.status, &SessionStatus::Running, "the status")?;
        equal(opening.pending_requests.len(), 1, "pointers")?;
        talk.pending().await?;
        let frames = host.frames();
        let asked = frames.iter().filter(|frame| frame["method"] == "approval/request");
        let asked: Vec<&Value> = asked.collect();
        equal(asked.len(), count, "requests")?;
        let ids: BTreeSet<i64> = asked.iter().filter_map(|frame| frame["id"].as_i64()).collect();
        equal(ids.len(), count, "different ids, all of them numbers")?;
        for frame in asked {
            let again: ApprovalRequestParams = serde_json::from_value(frame["params"].clone())?;
            equal(again, ask.clone(), "what is asked")?;
        }
    }
    equal(talk.pending().await?, vec![ask.clone()], "what pends")?;
    talk.decide(&talk.decision(&ask, "abort"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    host.close().await
}

async fn leave(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    talk.run("pwd").await?;
    let mut params: SessionLeaveParams =
        serde_json::from_value(json!({"commandId": new_id(), "sessionId": talk.id}))?;
    params.command_id = new_id();
    host.call::<SessionLeaveResult>("session/leave", &params).await?;
    let of = |done: &SessionLeaveCompletedParams| done.command_id == params.command_id;
    let done = host.event("session/leaveCompleted", of).await?;
    equal(done.outcome.0.as_str(), SessionLeaveOutcome::RELEASED, "the outcome")?;
    let closed: Vec<SessionClosedParams> = host.all("session/closed")?;
    let reasons: Vec<&SessionClosedReason> = closed.iter().map(|row| &row.reason).collect();
    equal(reasons, vec![&SessionClosedReason::Leave], "why the session was closed")?;
    let (talk, opening) = Talk::resume(&host, &talk.id).await?;
    equal(opening.session.turn_count, 1, "turns of the session that comes back")?;
    talk.run("pwd").await?;
    host.close().await
}

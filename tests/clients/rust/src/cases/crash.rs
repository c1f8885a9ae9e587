//! SIGKILL and end of input under the SDK's client: what was pending is asked again, what ran is not run again.

use crate::facade::{Facade, Person, end, resolved_of, resume_options, say, tool_item};
use crate::ground::{Outcome, Place, WAIT, check, equal, successor_of, within};
use crate::talk::{Talk, closed, evidence, stages};
use crate::wire::Wire;
use muse_code_sdk::errors::MuseError;
use muse_code_sdk::msp::{
    ApprovalDecision, ApprovalMode, ApprovalResolvedBy, ApprovalResolvedParams,
    ItemCompletedParams, ItemStatus, PendingRequestKind, SessionResumeResult, SessionStatus,
    TurnStartedParams, TurnTerminal,
};
use muse_code_sdk::session::{Reconnected, Session, SessionOpening};
use muse_code_sdk::turn::{Turn, TurnOutcome};
use std::time::Instant;

crate::cases![
    sigkill_reask,
    kill_after_stage_0_of_three,
    resume_without_a_handler_rejects,
    reconnect_resends_a_turn_that_was_cancelled,
    reconnect_follows_a_turn_that_pends,
    kill_while_running,
];

fn resumed(session: &Session) -> Outcome<&SessionResumeResult> {
    match session.opening() {
        SessionOpening::Resume(result) => Ok(result),
        other => Err(format!("expected a resume, got {other:?}").into()),
    }
}

/// The turn that a resumed session still runs, by way of what it carried over.
async fn carried(
    session: &Session,
    old: Vec<muse_code_sdk::session::PendingTurn>,
) -> Outcome<Turn> {
    let resolved = within("the resend", session.resolve_reconnect(old)).await??;
    equal(resolved.len(), 1, "resent submissions")?;
    match resolved.into_iter().next().map(|resolution| resolution.result) {
        Some(Ok(Reconnected::Live(turn))) => Ok(turn),
        Some(Ok(_)) => Err("expected a live turn, it had ended".into()),
        Some(Err(error)) => Err(format!("the resend was refused: {error}").into()),
        None => Err("nothing was resent".into()),
    }
}

async fn sigkill_reask(place: &Place) -> Outcome {
    let (host, mut before) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, Some(ApprovalMode::PromptUnmatched), &before).await?;
    let turn = say(&session, "echo ran >> once.txt").await?;
    let old = before.question().await?.ask;
    host.kill().await?;
    match within("the turn of the dead host", turn.completed()).await? {
        Err(MuseError::TransportEnded) => {}
        other => return Err(format!("expected TransportEnded, got {other:?}").into()),
    }
    let pending = session.pending();
    equal(pending.len(), 1, "submissions whose end nobody saw")?;
    check(place.lines("once.txt").is_empty(), "nothing to have run before the crash")?;

    let (host, mut after) = (Facade::spawn(place).await?, Person::new());
    let session = host.resume(session.session_id(), &after).await?;
    let question = after.question().await?;
    let new = question.ask.clone();
    equal(
        new.approval_id.as_str(),
        successor_of(&old.approval_id)?.as_str(),
        "the successor's id",
    )?;
    equal(
        (&new.session_id, &new.turn_id, &new.item_id, &new.tool_call_id, &new.raw_args),
        (&old.session_id, &old.turn_id, &old.item_id, &old.tool_call_id, &old.raw_args),
        "the action of the successor",
    )?;
    let opening = resumed(&session)?;
    equal(&opening.session.status, &SessionStatus::Running, "the status")?;
    equal(opening.session.active_turn_id.as_ref(), Some(&old.turn_id), "the turn that runs")?;
    let pointers: Vec<_> = opening
        .pending_requests
        .iter()
        .map(|pointer| {
            (&pointer.kind, pointer.approval_id.as_deref(), pointer.view_cursor.as_str())
        })
        .collect();
    equal(
        pointers,
        vec![(
            &PendingRequestKind::Approval,
            Some(new.approval_id.as_str()),
            new.view_cursor.as_str(),
        )],
        "the pointers of the resume",
    )?;
    check(place.lines("once.txt").is_empty(), "nothing to run by itself after the crash")?;
    let turn = carried(&session, pending).await?;
    equal(turn.turn_id(), old.turn_id.as_str(), "the turn of the resend")?;
    question.says("allow_once")?;
    end(&turn).await?;
    let item = tool_item(&turn, ItemStatus::Completed).await?;
    equal(&item.item_id, &old.item_id, "the item that ran")?;
    equal(place.lines("once.txt"), vec!["ran"], "what ran")?;
    let resolved = resolved_of(&session, &new.approval_id)?;
    let winner = resolved.decided_by_command_id.as_deref();
    closed(&resolved, ApprovalDecision::Approved, ApprovalResolvedBy::User, winner)?;
    after.quiet("one approval is asked again once")?;
    host.close().await?;

    let host = Wire::spawn(place).await?;
    let (talk, _) = Talk::resume(&host, session.session_id()).await?;
    let terminals: Vec<ApprovalResolvedParams> = talk.paged("approval/resolved").await?;
    let ids: Vec<&str> = terminals.iter().map(|row| row.approval_id.as_str()).collect();
    equal(ids, vec![old.approval_id.as_str(), new.approval_id.as_str()], "one terminal each")?;
    closed(&terminals[0], ApprovalDecision::Abort, ApprovalResolvedBy::User, None)?;
    equal(talk.paged::<TurnStartedParams>("turn/started").await?.len(), 1, "turns that started")?;
    host.close().await
}

async fn kill_after_stage_0_of_three(place: &Place) -> Outcome {
    let (host, mut before) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &before).await?;
    let text = "echo 0 >> ran.txt && echo 1 >> ran.txt && echo 2 >> ran.txt";
    let turn = say(&session, text).await?;
    let first = before.question().await?;
    let old = first.ask.clone();
    first.says("allow_once")?;
    let second = before.question().await?;
    equal(second.ask.current_requirement_id.source_index, 1, "the second question")?;
    host.kill().await?;

    let (host, mut after) = (Facade::spawn(place).await?, Person::new());
    let pending = session.pending();
    drop(turn);
    let session = host.resume(session.session_id(), &after).await?;
    let turn = carried(&session, pending).await?;
    for stage in 0..3 {
        let question = after.question().await?;
        equal(question.ask.current_requirement_id.source_index, stage, "the stage asked about")?;
        let mut expected = vec!["allowOnce"; stage];
        expected.resize(3, "unresolved");
        equal(stages(&question.ask), expected, "the stages of the successor")?;
        check(place.lines("ran.txt").is_empty(), "nothing to run before the last stage")?;
        question.says("allow_once")?;
    }
    end(&turn).await?;
    equal(place.lines("ran.txt"), vec!["0", "1", "2"], "what ran")?;
    host.close().await?;

    let host = Wire::spawn(place).await?;
    let (talk, _) = Talk::resume(&host, session.session_id()).await?;
    let terminals: Vec<ApprovalResolvedParams> = talk.paged("approval/resolved").await?;
    let dead = terminals.iter().find(|row| row.approval_id == old.approval_id);
    let dead = dead.ok_or("the old approval has no terminal")?;
    closed(dead, ApprovalDecision::Abort, ApprovalResolvedBy::User, None)?;
    equal(
        evidence(dead),
        vec![(0, "allowOnce"), (1, "unresolved"), (2, "unresolved")],
        "the evidence as it stood at the crash",
    )?;
    host.close().await
}

async fn resume_without_a_handler_rejects(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, "touch never.txt").await?;
    let _open = person.question().await?;
    host.close().await?;
    let pending = session.pending();
    drop(turn);
    let host = Facade::spawn(place).await?;
    let options = resume_options(session.session_id());
    let session = within("session/resume", host.client.resume_session(options)).await??;
    let turn = carried(&session, pending).await?;
    end(&turn).await?;
    tool_item(&turn, ItemStatus::Rejected).await?;
    check(!place.path("workspace/never.txt").exists(), "nothing to have run")?;
    host.close().await
}

async fn reconnect_resends_a_turn_that_was_cancelled(place: &Place) -> Outcome {
    let (host, person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, Some(ApprovalMode::AllowAll), &person).await?;
    let turn = say(&session, "echo begun >> ran.txt; exec sleep 300").await?;
    let begin = Instant::now();
    while place.lines("ran.txt").is_empty() {
        check(begin.elapsed() < WAIT, "the command to begin")?;
        tokio::time::sleep(WAIT / 1000).await;
    }
    host.close().await?;
    let pending = session.pending();
    equal(pending.len(), 1, "submissions whose end nobody saw")?;

    let (host, person) = (Facade::spawn(place).await?, Person::new());
    let session = host.resume(session.session_id(), &person).await?;
    let last = resumed(&session)?.last_turn.clone().ok_or("no lastTurn")?;
    equal(
        (last.turn_id.as_str(), &last.terminal),
        (turn.turn_id(), &TurnTerminal::Cancelled),
        "lastTurn",
    )?;
    let resent = within("the resend", session.resolve_reconnect(pending)).await??;
    match resent.into_iter().next().map(|resolution| resolution.result) {
        Some(Ok(Reconnected::Ended { ack, last_turn })) => {
            equal((&ack.turn_id, &last_turn.turn_id), (&last.turn_id, &last.turn_id), "the turn")?;
        }
        Some(Ok(Reconnected::Live(turn))) => match within("its end", turn.completed()).await?? {
            TurnOutcome::Completed { params, .. } => {
                equal(params.terminal, TurnTerminal::Cancelled, "the terminal that is replayed")?;
            }
            other => return Err(format!("expected the cancelled turn, got {other:?}").into()),
        },
        Some(Ok(_)) => return Err("expected the ended turn".into()),
        Some(Err(error)) => return Err(error.into()),
        None => return Err("nothing was resent".into()),
    }
    equal(place.lines("ran.txt"), vec!["begun"], "the resend runs nothing")?;
    host.close().await
}

async fn reconnect_follows_a_turn_that_pends(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, "echo ran >> once.txt").await?;
    let open = person.question().await?;
    host.close().await?;
    let pending = session.pending();
    drop(open);
    for _ in 0..2 {
        let (host, mut person) = (Facade::spawn(place).await?, Person::new());
        let session = host.resume(session.session_id(), &person).await?;
        let followed = carried(&session, pending.clone()).await?;
        equal(followed.turn_id(), turn.turn_id(), "the turn that is followed")?;
        // Nobody answers: it is still there for the next host.
        let _open = person.question().await?;
        host.close().await?;
    }
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.resume(session.session_id(), &person).await?;
    let followed = carried(&session, pending).await?;
    person.question().await?.says("allow_once")?;
    end(&followed).await?;
    equal(place.lines("once.txt"), vec!["ran"], "what ran after three restarts")?;
    host.close().await
}

async fn kill_while_running(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, None).await?;
    let ask = talk.opened("sh -c 'echo ran >> once.txt; exec sleep 300'").await?;
    let decide = talk.decision(&ask, "allow_once");
    let ack = talk.decide(&decide, true).await?;
    let begin = Instant::now();
    while place.lines("once.txt").is_empty() {
        check(begin.elapsed() < WAIT, "the command to begin")?;
        tokio::time::sleep(WAIT / 1000).await;
    }
    let id = talk.id.clone();
    host.kill().await?;

    let host = Wire::spawn(place).await?;
    let (talk, opening) = Talk::resume(&host, &id).await?;
    check(opening.pending_requests.is_empty(), "nothing to pend: it was decided")?;
    let ended: Vec<ItemCompletedParams> = talk.paged("item/completed").await?;
    let item = ended.into_iter().map(|row| row.item).find(|item| item.item_id == ask.item_id);
    let item = item.ok_or("the item has no end")?;
    equal(
        (&item.status, item.tool_call.failure_kind.as_deref()),
        (&ItemStatus::Failed, Some("outcomeUnknown")),
        "the item that ran when the host died",
    )?;
    equal(talk.decide(&decide, true).await?, ack, "the decide, replayed")?;
    talk.run("pwd").await?;
    equal(place.lines("once.txt"), vec!["ran"], "what ran")?;
    host.close().await
}

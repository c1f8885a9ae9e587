//! What a session goes through while its host lives.

use crate::check;
use anyhow::{Result, ensure};

#[test]
fn one_stage_is_approved_released_and_ends() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > pending
        pending A1
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > pending
        pending nothing
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1 : done
        itemEnded(i1 completed ran) turnCompleted(one completed) -> settled(i1)
        # Once is once: the same command is asked about again.
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > propose i2 last : touch a
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        ",
    )?;
    Ok(())
}

#[test]
fn three_stages_skip_the_safe_one_in_the_middle() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a; ls; touch b
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1.1 allow_once
        refused requirementStale(A1 stage 0)
        > decide A1.0 allow_once
        stageDecided(A1 0 then 2) -> ask(A1 stage 2)
        > decide A1.0 allow_once
        refused requirementStale(A1 stage 2)
        > decide A1.2 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) turnCompleted(one completed) -> settled(i1)
        ",
    )?;
    // The first stage is safe, the last is under a rule: one decision for the middle.
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > rule make allow shell make
        > propose i1 last : ls; touch a; make all
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 1) -> ask(A1 stage 1)
        > decide A1.0 allow_once
        refused requirementStale(A1 stage 1)
        > decide A1.1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        ",
    )?;
    Ok(())
}

#[test]
fn a_rejection_at_any_stage_ends_the_whole() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 abort feedback
        approvalResolved(A1 abort user) itemEnded(i1 rejected denied) -> settled(i1)
        > propose i2 last : touch a; touch b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A2.0 allow_once
        stageDecided(A2 0 then 1) -> ask(A2 stage 1)
        > decide A2.1 abort
        approvalResolved(A2 abort user) itemEnded(i2 rejected denied) turnCompleted(one completed) -> settled(i2)
        > release i2
        refused misuse
        ",
    )?;
    Ok(())
}

#[test]
fn a_session_grant_settles_identical_bytes_with_a_terminal_record() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) turnCompleted(one completed) -> settled(i1)
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > propose i2 : touch a
        actionProposed(i2 allow covered) approvalResolved(A2 approvedForSession policy) executionStarted(i2) -> run(i2)
        > propose i3 : touch b
        actionProposed(i3 ask unconfined) approvalOpened(A3 stage 0) -> ask(A3 stage 0)
        > decide A2 abort
        refused alreadyResolved(A2 approvedForSession policy)
        # The grant is a decision of a person: it counts after a restart, in any mode.
        > recover
        sessionLoaded(allowAll) itemEnded(i2 failed outcomeUnknown) approvalResolved(A3 abort user) approvalOpened(A4 after A3 stage 0) -> settled(i2) ask(A4 stage 0)
        > mode denyUnmatched
        modeChanged(denyUnmatched)
        > explain i9 : touch a
        allow covered
        > explain i9 folder=/elsewhere : touch a
        deny unconfined
        ",
    )?;
    Ok(())
}

#[test]
fn an_interrupt_closes_what_is_pending_and_halts_what_runs() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > stop
        refused rejected(missing_run)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > stop
        turnStopRequested(one client) approvalResolved(A1 abort user) itemEnded(i1 cancelled interrupted) turnCompleted(one cancelled) -> settled(i1)
        > decide A1 allow_once
        refused alreadyResolved(A1 abort user)
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > propose i2 last : ls
        actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
        > stop two
        turnStopRequested(two client) -> halt(i2)
        > propose i3 : ls
        refused misuse
        > ended i2 cancelled
        itemEnded(i2 cancelled ran) turnCompleted(two cancelled) -> settled(i2)
        ",
    )?;
    // One runs, one is decided, one waits, and a turn is queued behind them.
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : ls
        actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
        > propose i2 : touch b
        actionProposed(i2 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i2)
        > propose i3 last : touch c
        actionProposed(i3 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > turn two
        turnQueued(two)
        > stop one
        turnStopRequested(one client) itemEnded(i2 cancelled interrupted) approvalResolved(A2 abort user) itemEnded(i3 cancelled interrupted) -> halt(i1) settled(i2) settled(i3)
        > release i2
        refused misuse
        > ended i1
        itemEnded(i1 cancelled ran) turnCompleted(one cancelled) turnStarted(two) userMessage -> settled(i1) begin(two)
        ",
    )?;
    Ok(())
}

#[test]
fn turns_queue_and_begin_in_order() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > turn two
        turnQueued(two)
        > turn three busy=queue
        turnQueued(three)
        > turn four busy=steer
        refused rejected(if_busy_unsupported)
        > finish two
        refused misuse
        > stop two
        turnCompleted(two cancelled)
        > finish one
        turnCompleted(one completed) turnStarted(three) userMessage -> begin(three)
        > propose i1 last : ls
        actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
        > finish three
        refused misuse
        > ended i1
        itemEnded(i1 completed ran) turnCompleted(three completed) -> settled(i1)
        > stop three
        refused rejected(missing_run)
        ",
    )?;
    Ok(())
}

#[test]
fn deny_unmatched_opens_nothing_and_the_next_turn_works() -> Result<()> {
    check(
        "
        > start denyUnmatched
        sessionStarted(denyUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 deny unconfined) itemEnded(i1 rejected denied) turnCompleted(one completed) -> settled(i1)
        > pending
        pending nothing
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > propose i2 last : ls
        actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
        > ended i2
        itemEnded(i2 completed ran) turnCompleted(two completed) -> settled(i2)
        ",
    )?;
    Ok(())
}

#[test]
fn what_changed_since_the_decision_does_not_run() -> Result<()> {
    for (change, words) in [
        ("path a protected", "decided: a is protected now, it was ordinary, so"),
        ("path a unknown", "decided: a cannot be told any more, so"),
        ("environment other", "decided: the environment, so"),
    ] {
        let session = check(&format!(
            "
            > start
            sessionStarted(promptUnmatched)
            > turn one
            turnStarted(one) userMessage -> begin(one)
            > propose i1 last : touch a
            actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
            > decide A1 allow_once
            approvalResolved(A1 approved user) -> prepare(i1)
            > {change}
            > release i1
            itemEnded(i1 failed changed) turnCompleted(one completed) -> settled(i1)
            > release i1
            refused misuse
            "
        ))?;
        let ended = session.log.iter().find(|record| record.header.kind == "itemEnded");
        let body = ended.and_then(|record| record.body.as_deref()).unwrap_or_default();
        let text = String::from_utf8_lossy(body);
        ensure!(text.contains(words), "{words:?} is not in {text}");
    }
    Ok(())
}

#[test]
fn an_execution_that_fails_or_is_cancelled_ends_the_item_so() -> Result<()> {
    for status in ["failed", "cancelled"] {
        check(&format!(
            "
            > start
            sessionStarted(promptUnmatched)
            > turn one
            turnStarted(one) userMessage -> begin(one)
            > propose i1 last : ls
            actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
            > ended i1 {status}
            itemEnded(i1 {status} ran) turnCompleted(one completed) -> settled(i1)
            > ended i1
            refused misuse
            "
        ))?;
    }
    Ok(())
}

#[test]
fn a_mode_change_counts_for_the_next_action_only() -> Result<()> {
    check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > mode promptUnmatched
        modeChanged(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > mode allowAll
        modeChanged(allowAll)
        > pending
        pending A1
        > propose i2 last : touch b
        actionProposed(i2 allow unconfined) executionStarted(i2) -> run(i2)
        > mode denyUnmatched
        modeChanged(denyUnmatched)
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        ",
    )?;
    Ok(())
}

#[test]
fn every_refusal_of_a_decide() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > path .git/config protected
        > propose i1 : touch .git/config
        actionProposed(i1 ask protected) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide nobody allow_once
        refused approvalNotFound
        > decide A1.1 allow_once
        refused requirementStale(A1 stage 0)
        > decide A1 allow_once requirement=other
        refused requirementStale(A1 stage 0)
        > decide A1 deny
        refused choiceInvalid(A1: it is not on this approval's menu)
        > decide A1 allow_session
        refused choiceInvalid(A1: it is not on this approval's menu)
        > decide A1 allow_once feedback
        refused choiceInvalid(A1: it takes no feedback)
        > decide A1 allow_once unsubscribed
        refused reviewerUnavailable(A1)
        > decide A1 abort unsubscribed
        refused reviewerUnavailable(A1)
        > pending
        pending A1
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > decide A1 allow_once
        refused alreadyResolved(A1 approved user)
        # Whatever else is wrong with it: the winner is named first.
        > decide A1.7 nonsense feedback unsubscribed
        refused alreadyResolved(A1 approved user)
        # What is not protected needs nobody to watch.
        > propose i2 : touch b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_once unsubscribed
        approvalResolved(A2 approved user) -> prepare(i2)
        ",
    )?;
    Ok(())
}

#[test]
fn what_no_host_should_ask_is_refused_as_misuse() -> Result<()> {
    check(
        "
        > turn one
        refused misuse
        > recover
        refused unreadable
        > start
        sessionStarted(promptUnmatched)
        > start
        refused misuse
        > propose i1 turn=none : ls
        refused misuse
        > release i1
        refused misuse
        > ended i1
        refused misuse
        > finish one
        refused misuse
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > release i1
        refused misuse
        > ended i1
        refused misuse
        > propose i2 last : ls
        actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
        > release i2
        refused misuse
        ",
    )?;
    Ok(())
}

/// Refused as a mistake of the caller; `unreadable` would quarantine a sound session.
#[test]
fn a_proposal_after_the_last_one_or_of_an_open_item_is_misuse() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i1 : touch b
        refused misuse
        > propose i2 last : touch b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > propose i3 : touch c
        refused misuse
        ",
    )?;
    Ok(())
}

#[test]
fn a_host_that_stops_in_order_cancels_what_runs_and_leaves_what_waits() -> Result<()> {
    let idle = "
        > start
        sessionStarted(promptUnmatched)
        > shutdown
        sessionClosed(hostShutdown)
        ";
    check(idle)?;
    let parked = "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > shutdown
        sessionClosed(hostShutdown)
        > pending
        pending A1
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        ";
    check(parked)?;
    let running = "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : ls
        actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
        > shutdown
        turnStopRequested(one shutdown) -> halt(i1)
        > ended i1 cancelled
        itemEnded(i1 cancelled ran) turnCompleted(one cancelled) sessionClosed(hostShutdown) -> settled(i1)
        ";
    check(running)?;
    Ok(())
}

/// A turn that waited was not started; it must not be begun by a host that is leaving.
#[test]
fn a_host_that_stops_begins_no_queued_turn() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : ls
        actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
        > turn two
        turnQueued(two)
        > shutdown
        turnStopRequested(one shutdown) -> halt(i1)
        > ended i1 cancelled
        itemEnded(i1 cancelled ran) turnCompleted(one cancelled) sessionClosed(hostShutdown) -> settled(i1)
        > recover
        sessionLoaded(allowAll) turnStarted(two) userMessage -> begin(two)
        ",
    )?;
    Ok(())
}

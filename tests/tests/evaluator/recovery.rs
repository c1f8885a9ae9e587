//! What a host that loads a session makes of what the last one left (msp.md 20).
//!
//! Every `recover` line does the recovery twice, as if the first had been cut
//! short before its batch was durable, and compares the successors; the
//! invariants check that a successor's id is UUIDv5 of the old one.

use crate::check;
use anyhow::Result;

/// A session with one pending approval of one unmatched stage.
const PENDING: &str = "
    > start
    sessionStarted(promptUnmatched)
    > turn one
    turnStarted(one) userMessage -> begin(one)
    > propose i1 last : touch a
    actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
    ";

fn after_pending(scenario: &str) -> Result<()> {
    check(&format!("{PENDING}\n{scenario}"))?;
    Ok(())
}

#[test]
fn what_was_pending_is_asked_again_and_approved_then_runs() -> Result<()> {
    after_pending(
        "
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > pending
        pending A2
        > decide A1 allow_once
        refused alreadyResolved(A1 abort user)
        > decide A2 allow_once
        approvalResolved(A2 approved user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) turnCompleted(one completed) -> settled(i1)
        ",
    )
}

#[test]
fn a_recovery_after_a_recovery_gives_the_successor_of_the_successor() -> Result<()> {
    after_pending(
        "
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > recover
        sessionLoaded(allowAll) approvalResolved(A2 abort user) approvalOpened(A3 after A2 stage 0) -> ask(A3 stage 0)
        > decide A1 allow_once
        refused alreadyResolved(A1 abort user)
        > decide A2 allow_once
        refused alreadyResolved(A2 abort user)
        > decide A3 abort
        approvalResolved(A3 abort user) itemEnded(i1 rejected denied) turnCompleted(one completed) -> settled(i1)
        ",
    )
}

#[test]
fn stages_that_were_approved_are_evidence_and_are_asked_again() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a; ls; touch b
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_once
        stageDecided(A1 0 then 2) -> ask(A1 stage 2)
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > decide A2.0 allow_once
        stageDecided(A2 0 then 2) -> ask(A2 stage 2)
        > decide A2.2 allow_once
        approvalResolved(A2 approved user) -> prepare(i1)
        ",
    )?;
    // Which stages policy satisfies is computed with today's rules.
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a; ls; make b
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > rule touch allow shell touch
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 2) -> ask(A2 stage 2)
        > decide A2.2 allow_once
        approvalResolved(A2 approved user) -> prepare(i1)
        ",
    )?;
    Ok(())
}

#[test]
fn evidence_shows_what_was_approved_before_the_stop() -> Result<()> {
    let session = check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a; ls; touch b
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_once
        stageDecided(A1 0 then 2) -> ask(A1 stage 2)
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        ",
    )?;
    let record = session.log.iter().find(|record| record.header.kind == "approvalResolved");
    let body = record.and_then(|record| record.body.as_deref()).unwrap_or_default();
    let body: serde_json::Value = serde_json::from_slice(body)?;
    let kinds: Vec<&str> = (0..3)
        .filter_map(|i| body.pointer(&format!("/evidence/{i}/resolution/kind"))?.as_str())
        .collect();
    anyhow::ensure!(kinds == ["allowOnce", "knownSafe", "unresolved"], "{kinds:?}");
    Ok(())
}

#[test]
fn what_was_decided_and_not_started_does_not_run_by_itself() -> Result<()> {
    after_pending(
        "
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > recover
        sessionLoaded(allowAll) itemEnded(i1 cancelled notStarted) turnCompleted(one cancelled) -> settled(i1)
        > release i1
        refused misuse
        ",
    )
}

#[test]
fn what_ran_is_never_run_again() -> Result<()> {
    after_pending(
        "
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > recover
        sessionLoaded(allowAll) itemEnded(i1 failed outcomeUnknown) turnCompleted(one failed) -> settled(i1)
        > release i1
        refused misuse
        > ended i1
        refused misuse
        > recover
        sessionLoaded(allowAll)
        ",
    )
}

#[test]
fn a_rule_that_denies_now_closes_the_successor_and_is_named() -> Result<()> {
    after_pending(
        "
        > rule no-touch deny shell touch : not here
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) approvalResolved(A2 denied policy) itemEnded(i1 rejected denied) turnCompleted(one cancelled) -> settled(i1)
        > decide A2 allow_once
        refused alreadyResolved(A2 denied policy)
        ",
    )
}

#[test]
fn a_rule_that_allows_now_settles_the_successor_and_it_is_released() -> Result<()> {
    after_pending(
        "
        > rule touch allow shell touch
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) approvalResolved(A2 approved policy) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) turnCompleted(one completed) -> settled(i1)
        ",
    )
}

#[test]
fn a_grant_that_covers_it_by_now_settles_the_successor() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i2 last : touch a
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        # It is not what was shown any more, so the grant leaves it to the person.
        > environment after-it-was-shown
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > recover
        sessionLoaded(allowAll) itemEnded(i1 cancelled notStarted) approvalResolved(A2 abort user) approvalOpened(A3 after A2 stage 0) approvalResolved(A3 approved policy) -> settled(i1) prepare(i2)
        > release i2
        executionStarted(i2) -> run(i2)
        ",
    )?;
    Ok(())
}

#[test]
fn recovery_is_never_judged_by_the_mode() -> Result<()> {
    // allowAll would run it, denyUnmatched would refuse it: a person was asked, a person is asked.
    for mode in ["allowAll", "onRequest", "denyUnmatched"] {
        check(&format!(
            "
            > start allowAll
            sessionStarted(allowAll)
            > mode promptUnmatched
            modeChanged(promptUnmatched)
            > turn one
            turnStarted(one) userMessage -> begin(one)
            > propose i1 last : touch a
            actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
            > mode {mode}
            modeChanged({mode})
            > mode-answers fault
            > recover
            sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
            "
        ))?;
    }
    Ok(())
}

#[test]
fn facts_are_taken_anew_and_bind_the_release() -> Result<()> {
    after_pending(
        "
        > environment after-the-restart
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_once
        approvalResolved(A2 approved user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        ",
    )?;
    after_pending(
        "
        > path a placetOwn
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) approvalResolved(A2 denied policy) itemEnded(i1 rejected denied) turnCompleted(one cancelled) -> settled(i1)
        ",
    )?;
    after_pending(
        "
        > path a protected
        > rule touch allow shell touch
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_session
        refused choiceInvalid(A2: it is not on this approval's menu)
        > decide A2 allow_once unsubscribed
        refused reviewerUnavailable(A2)
        ",
    )
}

#[test]
fn a_protected_write_stays_one_whatever_covers_it_by_now() -> Result<()> {
    let asked = "
        > start
        sessionStarted(promptUnmatched)
        > path a protected
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 ask protected) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > path a ordinary
        ";
    let check_again = |scenario: &str| check(&format!("{asked}\n{scenario}")).map(|_| ());
    check_again(
        "
        > rule touch allow shell touch
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_session
        refused choiceInvalid(A2: it is not on this approval's menu)
        > decide A2 allow_once unsubscribed
        refused reviewerUnavailable(A2)
        > recover
        sessionLoaded(allowAll) approvalResolved(A2 abort user) approvalOpened(A3 after A2 stage 0) -> ask(A3 stage 0)
        > decide A3 allow_once
        approvalResolved(A3 approved user) -> prepare(i1)
        ",
    )?;
    check_again(
        "
        > rule touch deny shell touch
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) approvalResolved(A2 denied policy) itemEnded(i1 rejected denied) turnCompleted(one cancelled) -> settled(i1)
        ",
    )
}

#[test]
fn work_of_an_agent_that_is_gone_is_closed_without_a_successor() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 agent : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i2 last : touch b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) itemEnded(i1 cancelled agentGone) approvalResolved(A2 abort user) approvalOpened(A3 after A2 stage 0) -> settled(i1) ask(A3 stage 0)
        > decide A1 allow_once
        refused alreadyResolved(A1 abort user)
        > decide A3 abort
        approvalResolved(A3 abort user) itemEnded(i2 rejected denied) turnCompleted(one completed) -> settled(i2)
        ",
    )?;
    Ok(())
}

#[test]
fn a_turn_without_work_is_closed_and_the_next_one_begins() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > turn two
        turnQueued(two)
        > recover
        sessionLoaded(allowAll) turnCompleted(one cancelled) turnStarted(two) userMessage -> begin(two)
        ",
    )?;
    // The turn with a pending approval stays open, so the next one goes on waiting.
    after_pending(
        "
        > turn two
        turnQueued(two)
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > stop one
        turnStopRequested(one client) approvalResolved(A2 abort user) itemEnded(i1 cancelled interrupted) turnCompleted(one cancelled) turnStarted(two) userMessage -> settled(i1) begin(two)
        ",
    )
}

#[test]
fn three_kinds_and_three_phases_at_once() -> Result<()> {
    check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 tool=search : {}
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i2 kind=browser : x
        actionProposed(i2 ask unknownKind) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > propose i3 : ls
        actionProposed(i3 allow covered) executionStarted(i3) -> run(i3)
        > propose i4 last : touch a
        actionProposed(i4 ask unconfined) approvalOpened(A3 stage 0) -> ask(A3 stage 0)
        > decide A3 allow_once
        approvalResolved(A3 approved user) -> prepare(i4)
        > recover
        sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A4 after A1 stage 0) approvalResolved(A2 abort user) approvalOpened(A5 after A2 stage 0) itemEnded(i3 failed outcomeUnknown) itemEnded(i4 cancelled notStarted) -> ask(A4 stage 0) ask(A5 stage 0) settled(i3) settled(i4)
        > decide A5 allow_once
        approvalResolved(A5 approved user) -> prepare(i2)
        > decide A4 allow_session
        approvalResolved(A4 approvedForSession user) -> prepare(i1)
        ",
    )?;
    Ok(())
}

#[test]
fn the_successors_record_names_the_row_that_applies() -> Result<()> {
    for (flags, row) in [("asked", "askedFor"), ("confined=bwrap", "confined"), ("", "unconfined")]
    {
        let session = check(&format!(
            "
            > start
            sessionStarted(promptUnmatched)
            > turn one
            turnStarted(one) userMessage -> begin(one)
            > propose i1 {flags} : touch a
            actionProposed(i1 ask {row}) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
            > recover
            sessionLoaded(allowAll) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
            "
        ))?;
        let body = session.log.last().and_then(|record| record.body.as_deref()).unwrap_or_default();
        let body: serde_json::Value = serde_json::from_slice(body)?;
        let found = body.pointer("/renewed/verdict/row").and_then(serde_json::Value::as_str);
        anyhow::ensure!(found == Some(row), "{found:?}");
    }
    Ok(())
}

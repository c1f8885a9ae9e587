//! Erased bodies: what may go leaves the same state behind, byte for byte; what may not says why.

use crate::check;
use anyhow::{Result, anyhow, ensure};
use placet_policy::types::{Decide, Input, Logged, Mark, Redaction, Refusal, Reply, Requirement};
use placet_tests::erasure::{erasable, erased};
use placet_tests::evaluator::Evaluator as _;
use placet_tests::pair::Pair;
use placet_tests::session::{Session, caller};

/// The sequences of the records of a kind.
fn of_kind(session: &Session<Pair>, kind: &str) -> Vec<u64> {
    let records = session.log.iter().filter(|record| record.header.kind == kind);
    records.map(|record| record.header.sequence).collect()
}

/// A turn with three tool calls: approved once, under a grant, and still open; another turn waits.
const BUSY: &str = "
    > start
    sessionStarted(promptUnmatched)
    > turn one : the first
    turnStarted(one) userMessage -> begin(one)
    > propose i1 last : touch a
    actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
    > decide A1 allow_once
    approvalResolved(A1 approved user) -> prepare(i1)
    > release i1
    executionStarted(i1) -> run(i1)
    > ended i1 : done
    itemEnded(i1 completed ran) turnCompleted(one completed) -> settled(i1)
    > turn two : the second
    turnStarted(two) userMessage -> begin(two)
    > propose i2 : touch b
    actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
    > decide A2 abort
    approvalResolved(A2 abort user) itemEnded(i2 rejected denied) -> settled(i2)
    > propose i3 last : touch c
    actionProposed(i3 ask unconfined) approvalOpened(A3 stage 0) -> ask(A3 stage 0)
    > turn three : the third
    turnQueued(three)
    ";

/// How the rest of it goes: a grant is given, and the waiting turn runs under it.
const CALM: &str = "
    > decide A3 allow_session
    approvalResolved(A3 approvedForSession user) -> prepare(i3)
    > release i3
    executionStarted(i3) -> run(i3)
    > ended i3
    itemEnded(i3 completed ran) turnCompleted(two completed) turnStarted(three) userMessage -> settled(i3) begin(three)
    > propose i4 last : touch c
    actionProposed(i4 allow covered) approvalResolved(A4 approvedForSession policy) executionStarted(i4) -> run(i4)
    > ended i4
    itemEnded(i4 completed ran) turnCompleted(three completed) -> settled(i4)
    ";

#[test]
fn what_has_ended_goes_together() -> Result<()> {
    let mut session = check(&format!("{BUSY}{CALM}"))?;
    let names = |session: &Session<Pair>, sequences: &[u64]| -> Vec<String> {
        let named = session.log.iter().filter(|r| sequences.contains(&r.header.sequence));
        named.map(|record| record.header.kind.clone()).collect()
    };
    let proposed = of_kind(&session, "actionProposed");
    let whole =
        ["actionProposed", "approvalOpened", "approvalResolved", "executionStarted", "itemEnded"];
    let first = erasable(&mut session, &proposed[..1])?;
    ensure!(names(&session, &first.sequences) == whole, "{first:?}");
    let ends = of_kind(&session, "itemEnded");
    let by_its_end = erasable(&mut session, &ends[..1])?;
    ensure!(by_its_end == first, "whichever is named, the same goes");
    // A call that a grant settled rests on the grant, not the other way round.
    let under_grant = erasable(&mut session, &proposed[3..])?;
    ensure!(names(&session, &under_grant.sequences).len() == 4, "{under_grant:?}");
    let queued = of_kind(&session, "turnQueued");
    ensure!(erasable(&mut session, &queued)?.sequences == queued);
    Ok(())
}

#[test]
fn what_the_session_rests_on_stays_and_says_why() -> Result<()> {
    let mut session = check(BUSY)?;
    let kept = |session: &mut Session<Pair>, kind: &str, index: usize, why: &str| {
        let sequence = of_kind(session, kind)[index];
        let erasure = erasable(session, &[sequence])?;
        ensure!(erasure.sequences.is_empty(), "{kind} can be erased: {erasure:?}");
        let [kept] = erasure.kept.as_slice() else { return Err(anyhow!("{erasure:?}")) };
        ensure!(kept.sequence == sequence && kept.why.contains(why), "{kind}: {kept:?}");
        Ok(())
    };
    kept(&mut session, "actionProposed", 1, "its turn has not ended")?;
    kept(&mut session, "actionProposed", 2, "its tool call has not ended")?;
    kept(&mut session, "approvalOpened", 2, "its tool call has not ended")?;
    kept(&mut session, "turnQueued", 0, "its turn has not ended")?;
    for kind in ["sessionStarted", "turnStarted", "turnCompleted"] {
        kept(&mut session, kind, 0, "rests on")?;
    }
    let mut session = check(&format!("{BUSY}{CALM}"))?;
    for kind in ["actionProposed", "approvalOpened", "approvalResolved", "itemEnded"] {
        kept(&mut session, kind, 2, "gave a grant")?;
    }
    let nowhere = erasable(&mut session, &[0, 999])?;
    ensure!(nowhere.kept.iter().all(|kept| kept.why == "there is no such record"));
    ensure!(nowhere.kept.len() == 2 && nowhere.sequences.is_empty(), "{nowhere:?}");
    Ok(())
}

#[test]
fn a_turn_that_waited_in_vain_can_be_erased() -> Result<()> {
    let mut session = check(&format!(
        "{BUSY}
        > stop three
        turnCompleted(three cancelled)
        "
    ))?;
    let queued = of_kind(&session, "turnQueued");
    ensure!(erasable(&mut session, &queued)?.sequences == queued);
    // One that was to replace another has its id in its body alone.
    let mut session = check(
        "
        > start
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : ls
        actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
        > turn two busy=replace
        turnStopRequested(one client) turnQueued(two) -> halt(i1)
        > stop two
        turnCompleted(two cancelled)
        ",
    )?;
    let queued = of_kind(&session, "turnQueued");
    let kept = erasable(&mut session, &queued)?.kept;
    ensure!(kept.len() == 1 && kept[0].why.contains("never began"), "{kept:?}");
    Ok(())
}

#[test]
fn a_body_that_nobody_said_was_erased_makes_the_session_unreadable() -> Result<()> {
    let mut session = check(&format!("{BUSY}{CALM}"))?;
    let mut unreadable = |log: &[Logged], word: &str| {
        let answer = session.evaluator.fold(None, log)?;
        match &answer {
            Err(Refusal::Unreadable(why)) if why.contains(word) => Ok(()),
            other => Err(anyhow!("{word}: {other:?}")),
        }
    };
    let log = session.log.clone();
    for (index, record) in log.iter().enumerate() {
        let mut log = log.clone();
        log[index].body = None;
        let word = format!("record {} was erased", record.header.sequence);
        unreadable(&log, &word)?;
    }
    Ok(())
}

#[test]
fn a_record_of_it_is_not_enough_for_what_may_not_go() -> Result<()> {
    let mut session = check(BUSY)?;
    let all: Vec<u64> = session.log.iter().map(|record| record.header.sequence).collect();
    let may = erasable(&mut session, &all)?.sequences;
    for sequence in all.iter().filter(|sequence| !may.contains(sequence)) {
        let (log, state) = erased(&mut session, &[*sequence])?;
        let folded = session.evaluator.fold(None, &log)?;
        let same = folded.as_ref().is_ok_and(|folded| *folded == state);
        ensure!(!same, "record {sequence} could have gone");
    }
    Ok(())
}

#[test]
fn a_late_decision_about_what_was_erased_is_answered() -> Result<()> {
    let mut session = check(&format!("{BUSY}{CALM}"))?;
    let proposed = of_kind(&session, "actionProposed");
    let first = erasable(&mut session, &proposed[..1])?;
    let (log, state) = erased(&mut session, &first.sequences)?;
    (session.log, session.state) = (log, Some(state));
    let closed = session.log.iter().find(|record| record.header.kind == "approvalResolved");
    let marks = closed.map(|record| record.header.marks.clone()).unwrap_or_default();
    let Some(Mark::Closes(approval)) = marks.first() else { return Err(anyhow!("{marks:?}")) };
    let decide = Decide {
        command: session.command(),
        caller: caller("allowAll"),
        approval_id: approval.clone(),
        requirement: Requirement { approval_id: approval.clone(), source_index: 0 },
        choice_id: "allow_once".to_owned(),
        feedback: false,
    };
    // It is closed, but nobody knows any more what was decided.
    let reply = session.step(&Input::Decide(decide))?;
    ensure!(reply == Reply::Refused(Refusal::ApprovalNotFound(approval.clone())), "{reply:?}");
    Ok(())
}

#[test]
fn a_redaction_names_records_in_order() -> Result<()> {
    let mut session = check(BUSY)?;
    let head = u64::try_from(session.log.len())?;
    for sequences in [vec![], vec![3, 2], vec![3, 3], vec![head + 1]] {
        let redaction = Redaction { client: "tests".to_owned(), sequences };
        let reply = session.step(&Input::Redact(redaction))?;
        ensure!(matches!(reply, Reply::Refused(Refusal::Misuse(_))), "{reply:?}");
    }
    let redaction = Redaction { client: "tests".to_owned(), sequences: vec![3, head] };
    let reply = session.step(&Input::Redact(redaction))?;
    ensure!(matches!(reply, Reply::Done(_)), "{reply:?}");
    Ok(())
}

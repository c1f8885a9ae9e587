//! Field reports that take several steps, each named by its report
//! (tests/vectors/field_reports.json says which case shows which report).

use crate::check;
use anyhow::{Context as _, Result, ensure};
use placet_policy::types::Logged;
use placet_tests::pair::Pair;
use placet_tests::script::Script;
use serde_json::Value;

/// A session in the default mode, in its first turn.
fn begun(scenario: &str) -> Result<Vec<Logged>> {
    let session = check(&format!(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        {scenario}"
    ))?;
    Ok(session.log)
}

fn bodies(log: &[Logged], kind: &str) -> Result<Vec<Value>> {
    let records = log.iter().filter(|record| record.header.kind == kind);
    let body =
        |record: &Logged| Ok(serde_json::from_slice(record.body.as_deref().unwrap_or_default())?);
    records.map(body).collect()
}

/// A command with a redirect is remembered as it is, and never as a prefix.
#[test]
fn sh_25() -> Result<()> {
    begun(
        "
        > propose i1 : gh run view 1 > log
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_local_prefix
        refused choiceInvalid(A1: it is not on this approval's menu)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > explain i2 : gh run view 1 > log
        allow covered
        > explain i2 : gh run view 1 > other
        ask unconfined
        ",
    )?;
    Ok(())
}

/// A grant for a program by its path holds for that path, the next time too.
#[test]
fn sh_30() -> Result<()> {
    begun(
        "
        > propose i1 : /opt/tool x
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_local_prefix
        approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i1)
        > kept A1
        grantSaved(A1)
        > propose i2 : /opt/tool x
        actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
        > explain i3 : tool x
        ask unconfined
        > explain i3 : /elsewhere/tool x
        ask unconfined
        ",
    )?;
    Ok(())
}

/// Once is once.
#[test]
fn gr_01() -> Result<()> {
    begun(
        "
        > propose i1 : rm -rf a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > explain i2 : rm -rf a
        ask unconfined
        > release i1
        executionStarted(i1) -> run(i1)
        > release i1
        refused misuse
        > ended i1
        itemEnded(i1 completed ran) -> settled(i1)
        > propose i2 : rm -rf a
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > propose i3 last : rm -rf b
        actionProposed(i3 ask unconfined) approvalOpened(A3 stage 0) -> ask(A3 stage 0)
        ",
    )?;
    Ok(())
}

/// A choice for the session answers what it covers and nothing else that is pending.
#[test]
fn gr_02() -> Result<()> {
    begun(
        "
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i2 agent last : touch b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > pending
        pending A2
        > decide A1 allow_session requirement=A2
        refused alreadyResolved(A1 approvedForSession user)
        > pending
        pending A2
        ",
    )?;
    Ok(())
}

/// A session grant is of its session; that outlives a restart, and no other has it.
#[test]
fn gr_03() -> Result<()> {
    let mut first = Script::new(Pair::new()?);
    for line in ["start promptUnmatched", "turn one", "propose i1 : touch a"] {
        first.run(line)?;
    }
    first.run("decide A1 allow_session")?;
    let answer = |script: &mut Script<Pair>| script.run("explain i2 : touch a");
    ensure!(answer(&mut first)?.as_deref() == Some("allow covered"));
    first.run("recover")?;
    ensure!(answer(&mut first)?.as_deref() == Some("allow covered"));
    let mut second = Script::new(Pair::new()?);
    for line in ["start promptUnmatched", "turn one"] {
        second.run(line)?;
    }
    ensure!(answer(&mut second)?.as_deref() == Some("ask unconfined"));
    Ok(())
}

/// What was just approved runs, and so does the same the next time.
#[test]
fn gr_04() -> Result<()> {
    begun(
        "
        > propose i1 : gh api -X POST x | base64 -d | head
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) -> settled(i1)
        > propose i2 : gh api -X POST x | base64 -d | head
        actionProposed(i2 allow covered) approvalResolved(A2 approvedForSession policy) executionStarted(i2) -> run(i2)
        ",
    )?;
    Ok(())
}

/// A session grant is handed to nobody who keeps it.
#[test]
fn gr_06() -> Result<()> {
    let log = begun(
        "
        > propose i1 : make build
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > kept A1
        refused misuse
        ",
    )?;
    let resolved = bodies(&log, "approvalResolved")?.pop().context("a record")?;
    ensure!(resolved.get("lasting").is_none(), "{resolved}");
    ensure!(resolved["amendment"]["durability"] == "session", "{resolved}");
    Ok(())
}

/// What a person answers to an agent in the background is remembered, a rejection in the log.
#[test]
fn gr_07() -> Result<()> {
    let log = begun(
        "
        > propose i1 agent : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > explain i9 : touch a
        allow covered
        > propose i2 agent last : rm b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A2 abort
        approvalResolved(A2 abort user) itemEnded(i2 rejected denied) -> settled(i2)
        > decide A2 allow_session
        refused alreadyResolved(A2 abort user)
        > explain i9 : rm b
        ask unconfined
        ",
    )?;
    ensure!(bodies(&log, "approvalResolved")?.iter().any(|body| body["decision"] == "abort"));
    Ok(())
}

/// What is taken back, a rule or a grant, counts from the next action on.
#[test]
fn gr_08() -> Result<()> {
    begun(
        "
        > rule make allow shell make
        > propose i1 : make build
        actionProposed(i1 allow covered) executionStarted(i1) -> run(i1)
        > no-rules
        > propose i2 : make build
        actionProposed(i2 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_local_prefix
        approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i2)
        > kept A1
        grantSaved(A1)
        > explain i3 : make build
        allow covered
        > revoke A1
        > explain i3 : make build
        ask unconfined
        ",
    )?;
    Ok(())
}

/// A command of several lines is not shown in one, so nothing that lasts is offered for it;
/// what the session keeps are its very bytes.
#[test]
fn gr_09() -> Result<()> {
    begun(
        r#"
        > propose i1 tool=shell : {"command":"make build\nmake test"}
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_local_prefix
        refused choiceInvalid(A1: it is not on this approval's menu)
        > decide A1 allow_once
        stageDecided(A1 0 then 1) -> ask(A1 stage 1)
        > propose i2 tool=shell : {"command":"make 'a\nb'"}
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_local_prefix
        refused choiceInvalid(A2: it is not on this approval's menu)
        > decide A2 allow_session
        approvalResolved(A2 approvedForSession user) -> prepare(i2)
        > explain i3 tool=shell : {"command":"make 'a\nb'"}
        allow covered
        > explain i3 tool=shell : {"command":"make 'a\nb'\nrm x"}
        ask unconfined
        "#,
    )?;
    Ok(())
}

/// Nothing but a command changes the mode, and that is recorded.
#[test]
fn mo_01() -> Result<()> {
    let session = check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 allow unconfined) executionStarted(i1) -> run(i1)
        > ended i1 failed
        itemEnded(i1 failed ran) turnCompleted(one completed) -> settled(i1)
        > unload
        sessionClosed(idle)
        > recover
        sessionLoaded(allowAll)
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > propose i2 : touch b
        actionProposed(i2 allow unconfined) executionStarted(i2) -> run(i2)
        > mode promptUnmatched
        modeChanged(promptUnmatched)
        > propose i3 : touch c
        actionProposed(i3 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        ",
    )?;
    ensure!(bodies(&session.log, "modeChanged")?.len() == 1);
    Ok(())
}

/// A protected write that was approved leaves the mode as it is.
#[test]
fn mo_02() -> Result<()> {
    let session = check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > path .git/config protected
        > propose i1 : touch .git/config
        actionProposed(i1 ask protected) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_once
        approvalResolved(A1 approved user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > propose i2 : touch b
        actionProposed(i2 allow unconfined) executionStarted(i2) -> run(i2)
        > propose i3 : touch .git/config
        actionProposed(i3 ask protected) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        ",
    )?;
    ensure!(bodies(&session.log, "modeChanged")?.is_empty());
    Ok(())
}

/// That a mode may be reached starts nothing in it.
#[test]
fn mo_05() -> Result<()> {
    check(
        "
        > start seal=allowAll
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        ",
    )?;
    Ok(())
}

/// A session that is loaded has the mode that its log says.
#[test]
fn mo_08() -> Result<()> {
    check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > mode onRequest
        modeChanged(onRequest)
        > recover
        sessionLoaded(allowAll)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > explain i1 : touch a
        deny unconfined
        > explain i1 confined=bwrap : touch a
        allow confined
        > explain i1 confined=bwrap asked : touch a
        ask askedFor
        ",
    )?;
    Ok(())
}

/// A grant says in which mode it was given, holds under every mode that may ask or must
/// refuse, and never stands above a rule.
#[test]
fn mo_10() -> Result<()> {
    let log = begun(
        "
        > propose i1 : make build
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > mode allowAll
        refused rejected(approval_mode_ceiling)
        > decide A1 allow_local_prefix
        approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i1)
        > kept A1
        grantSaved(A1)
        > mode denyUnmatched
        modeChanged(denyUnmatched)
        > explain i2 : make build
        allow covered
        > explain i2 : make test
        deny unconfined
        > rule no-make deny shell make
        > explain i2 : make build
        deny denyRule
        ",
    )?;
    let resolved = bodies(&log, "approvalResolved")?.pop().context("a record")?;
    ensure!(resolved["lasting"]["mode"] == "promptUnmatched", "{resolved}");
    Ok(())
}

//! What a session grant covers: equal bytes and folder for a command, equal
//! name and canonical arguments for a tool, nothing for an unknown kind.

use crate::check;
use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Action, Decision};
use placet_tests::pair::Pair;
use placet_tests::script::Script;
use serde::Deserialize;
use std::io::Write as _;

/// An action that gets a session grant, and what that covers and what it does not.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Grant {
    granted: String,
    covers: Vec<String>,
    not: Vec<String>,
}

#[test]
fn grants_cover_what_is_equivalent_and_nothing_else() -> Result<()> {
    let grants: Vec<Grant> = placet_tests::vectors::read("grants.json")?;
    let mut tried = 0;
    let mut wrong = Vec::new();
    for grant in &grants {
        for (lines, covered) in [(&grant.covers, true), (&grant.not, false)] {
            for line in lines {
                tried += 1;
                let what = format!("{} / {line}", grant.granted);
                let decision = after(&grant.granted, line).with_context(|| what.clone())?;
                if (decision == Decision::Allow) != covered {
                    wrong.push(format!("{what}: covered {covered} expected, {decision:?} found"));
                }
            }
        }
    }
    writeln!(std::io::stdout(), "grants: {tried} vectors")?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn after(granted: &str, line: &str) -> Result<Decision> {
    let mut script = Script::new(Pair::new()?);
    script.run("start promptUnmatched")?;
    script.run("turn one")?;
    let given = Action { item_id: "given".to_owned(), ..script.action_of(granted)? };
    script.session.propose(&given, false)?;
    script.grant_pending()?;
    script.run("release given")?;
    script.run("ended given")?;
    let action = script.action_of(line)?;
    let explained = script.session.explain(&action)?;
    Ok(explained.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?.decision)
}

#[test]
fn an_unknown_kind_and_a_protected_write_offer_no_grant() -> Result<()> {
    check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 kind=browser : x
        actionProposed(i1 ask unknownKind) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_session
        refused choiceInvalid(A1: it is not on this approval's menu)
        > path .git/config protected
        > propose i2 : touch .git/config
        actionProposed(i2 ask protected) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_session
        refused choiceInvalid(A2: it is not on this approval's menu)
        ",
    )?;
    Ok(())
}

#[test]
fn a_grant_never_covers_what_became_protected_or_denied() -> Result<()> {
    check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) -> settled(i1)
        > explain i2 : touch a
        allow covered
        > path a protected
        > explain i2 : touch a
        ask protected
        > path a placetOwn
        > explain i2 : touch a
        deny ownFiles
        > path a ordinary
        > rule touch ask shell touch
        > explain i2 : touch a
        ask askRule
        > rule no-touch deny shell touch
        > explain i2 : touch a
        deny denyRule
        ",
    )?;
    Ok(())
}

/// A session with a turn and some pending requests, A1, A2, ... on the items i1, i2, ...
fn pending(proposals: &[&str]) -> String {
    let mut lines = String::from(
        "> start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        ",
    );
    for (index, proposal) in (1..).zip(proposals) {
        let last = if index == proposals.len() { " last" } else { "" };
        lines.push_str(&format!("> propose i{index}{last}{proposal}\n"));
        let row = if proposal.contains("asked") { "askedFor" } else { "unconfined" };
        lines.push_str(&format!(
            "actionProposed(i{index} ask {row}) approvalOpened(A{index} stage 0) -> ask(A{index} stage 0)\n"
        ));
    }
    lines
}

#[test]
fn a_grant_settles_the_pending_requests_that_it_covers() -> Result<()> {
    let session = check(&format!(
        "{}
        > decide A2 allow_session
        approvalResolved(A2 approvedForSession user) approvalResolved(A1 approvedForSession policy) approvalResolved(A4 approvedForSession policy) -> prepare(i2) prepare(i1) prepare(i4)
        > decide A4 abort
        refused alreadyResolved(A4 approvedForSession policy)
        > pending
        pending A3
        > release i1
        executionStarted(i1) -> run(i1)
        > release i2
        executionStarted(i2) -> run(i2)
        > release i4
        executionStarted(i4) -> run(i4)
        ",
        pending(&[" : touch a", " : touch a", " : touch b", " asked agent : touch a"])
    ))?;
    let mut settled = 0;
    let granting = session.log.iter().find(|record| record.header.kind == "approvalResolved");
    let granting: serde_json::Value = body(granting)?;
    for record in session.log.iter().filter(|record| record.header.kind == "approvalResolved") {
        let resolved = body(Some(record))?;
        if resolved["by"] == "policy" {
            settled += 1;
            let grant = format!("session grant of {}", granting["approval"].as_str().unwrap_or(""));
            ensure!(resolved["why"] == grant, "{resolved}");
            ensure!(resolved["evidence"][0]["resolution"]["diagnostic"] == grant, "{resolved}");
            ensure!(resolved["command"].is_null() && resolved["grant"].is_null(), "{resolved}");
        }
    }
    ensure!(settled == 2, "{settled}");
    Ok(())
}

fn body(record: Option<&placet_policy::types::Logged>) -> Result<serde_json::Value> {
    let record = record.context("no such record")?;
    Ok(serde_json::from_slice(record.body.as_deref().unwrap_or_default())?)
}

#[test]
fn a_grant_settles_requests_of_every_kind_that_has_grants() -> Result<()> {
    for proposal in [
        " tool=search : {\"a\":1}",
        " tool=write_file : {\"path\":\"a\",\"content\":\"x\"}",
        " tool=t subject={\"kind\":\"network\",\"host\":\"example.org\",\"port\":443} : {}",
        " tool=t subject={\"kind\":\"process\",\"target\":\"7\"} : {}",
        " : # nothing at all",
    ] {
        check(&format!(
            "{}
            > decide A1 allow_session
            approvalResolved(A1 approvedForSession user) approvalResolved(A2 approvedForSession policy) -> prepare(i1) prepare(i2)
            ",
            pending(&[proposal, proposal])
        ))
        .with_context(|| proposal.to_owned())?;
    }
    Ok(())
}

#[test]
fn a_decision_for_once_settles_nothing_else() -> Result<()> {
    for decision in ["allow_once", "abort"] {
        let mut script = Script::new(Pair::new()?);
        for line in ["start promptUnmatched", "turn one", "propose i1 : touch a"] {
            script.run(line)?;
        }
        script.run("propose i2 last : touch a")?;
        let answer = script.run(&format!("decide A1 {decision}"))?.unwrap_or_default();
        ensure!(!answer.contains("A2"), "{answer}");
        ensure!(script.session.ledger().pending.len() == 1, "{answer}");
    }
    Ok(())
}

#[test]
fn a_grant_settles_stages_that_no_session_choice_was_offered_for() -> Result<()> {
    // The second asks about two stages, so its own menu has no session choice; the first
    // was asked about one, by a rule that is gone.
    check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > rule touch allow shell touch
        > propose i1 : touch a; make b
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 1) -> ask(A1 stage 1)
        > no-rules
        > propose i2 last : touch a; make b
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A2 allow_session
        refused choiceInvalid(A2: it is not on this approval's menu)
        > decide A1.1 allow_session
        approvalResolved(A1 approvedForSession user) approvalResolved(A2 approvedForSession policy) -> prepare(i1) prepare(i2)
        ",
    )?;
    Ok(())
}

#[test]
fn what_met_a_rule_or_became_protected_is_left_to_the_person() -> Result<()> {
    for (change, left) in [
        ("rule no-touch deny shell touch", true),
        ("rule touch ask shell touch", true),
        ("rule other deny shell make", false),
        ("path a protected", true),
        ("path a placetOwn", true),
        ("environment changed", true),
        ("mode denyUnmatched", false),
    ] {
        let mut script = Script::new(Pair::new()?);
        for line in ["start promptUnmatched", "turn one", "propose i1 : touch a"] {
            script.run(line)?;
        }
        script.run("propose i2 last : touch a")?;
        script.run(change)?;
        script.session.asked()?;
        let answer = script.run("decide A1 allow_session")?.unwrap_or_default();
        let settled = answer.contains("approvalResolved(A2 approvedForSession policy)");
        ensure!(settled != left, "{change}: {answer}");
        ensure!(script.session.asked()?.is_empty(), "{change}: a mode was asked");
    }
    Ok(())
}

#[test]
fn a_rule_that_came_meanwhile_settles_nothing_with_a_grant() -> Result<()> {
    // A grant of `touch a` covers no other command, whatever a new rule would allow.
    check(&format!(
        "{}
        > rule make allow shell make
        > decide A1 allow_session
        approvalResolved(A1 approvedForSession user) -> prepare(i1)
        > pending
        pending A2 A3
        ",
        pending(&[" : touch a", " : make b", " : touch a && make b"])
    ))?;
    Ok(())
}

#[test]
fn settled_requests_make_room_for_what_waits() -> Result<()> {
    let mut script = Script::new(Pair::new()?);
    script.session.whole_fold_every = 64;
    for line in ["start promptUnmatched", "turn one"] {
        script.run(line)?;
    }
    for index in 1..=32 {
        script.run(&format!("propose i{index} : touch a"))?;
    }
    script.run("propose i33 : touch a")?;
    script.run("propose i34 last : touch b")?;
    let answer = script.run("decide A1 allow_session")?.unwrap_or_default();
    ensure!(answer.matches("approvedForSession policy").count() == 32, "{answer}");
    ensure!(answer.contains("actionJudged(i33 allow covered)"), "{answer}");
    ensure!(answer.contains("actionJudged(i34 ask unconfined)"), "{answer}");
    ensure!(script.session.ledger().pending.len() == 1, "{answer}");
    Ok(())
}

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

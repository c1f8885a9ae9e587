//! Grants that outlive their session: which are offered, what they cover, and what
//! happens between the decision and the store that keeps them.

use crate::check;
use anyhow::{Context as _, Result, bail, ensure};
use placet_policy::types::{Action, Decision, Effect, Logged, Reply};
use placet_tests::pair::Pair;
use placet_tests::script::Script;
use serde::Deserialize;
use serde_json::{Value, json};

/// A command, and what a lasting grant for its first open stage would cover, as its label says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prefix {
    command: String,
    label: Option<String>,
}

/// An action that gets a lasting grant, and what that covers and what it does not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    granted: String,
    covers: Vec<String>,
    not: Vec<String>,
}

fn begun() -> Result<Script<Pair>> {
    let mut script = Script::new(Pair::new()?);
    script.run("start promptUnmatched")?;
    script.run("turn one")?;
    Ok(script)
}

/// The request that a proposal comes to.
fn asked(script: &mut Script<Pair>, action: &Action) -> Result<Value> {
    let Reply::Done(outcome) = script.session.propose(action, true)? else {
        bail!("the proposal was not taken")
    };
    match outcome.effects.first() {
        Some(Effect::Ask(asked)) => Ok(serde_json::from_str(&asked.params)?),
        other => bail!("nobody is asked: {other:?}"),
    }
}

fn choice<'a>(request: &'a Value, id: &str) -> Option<&'a Value> {
    request["availableChoices"].as_array()?.iter().find(|choice| choice["choiceId"] == id)
}

#[test]
fn a_lasting_grant_is_offered_where_its_words_say_what_is_done() -> Result<()> {
    let prefixes: Vec<Prefix> = placet_tests::vectors::read("prefixes.json")?;
    let mut wrong = Vec::new();
    for Prefix { command, label: wanted } in &prefixes {
        let mut script = begun()?;
        let asked = asked(&mut script, &placet_tests::script::shell(command));
        let Ok(request) = asked else {
            wrong.push(format!("{command}: nobody is asked"));
            continue;
        };
        let stage = request["currentRequirementId"]["sourceIndex"].as_u64().unwrap_or(0);
        let stage = &request["subject"]["stages"][usize::try_from(stage)?];
        let suggested = stage["suggestedPrefix"]["label"].as_str();
        let offered = choice(&request, "allow_local_prefix");
        let label = wanted.as_ref().map(|w| format!("Always allow in this workspace: {w}"));
        if suggested != wanted.as_deref()
            || offered.and_then(|choice| choice["label"].as_str()) != label.as_deref()
        {
            wrong.push(format!("{command}: wanted {wanted:?}, found {suggested:?}, {offered:?}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_saved_grant_covers_what_it_says_and_nothing_else() -> Result<()> {
    let grants: Vec<Saved> = placet_tests::vectors::read("saved_grants.json")?;
    let mut wrong = Vec::new();
    for Saved { granted, covers, not } in &grants {
        let mut script = begun().context("a session")?;
        // A folder of the workspace that leads out of it.
        script.session.world.links.insert("link".to_owned(), "/elsewhere".to_owned());
        let given = Action { item_id: "given".to_owned(), ..script.action_of(granted)? };
        let request = asked(&mut script, &given).with_context(|| granted.clone())?;
        let choices = request["availableChoices"].as_array().context("a menu")?;
        let lasting = choices.iter().find(|choice| choice["scope"] == "localPersistent");
        let lasting = lasting.and_then(|choice| choice["choiceId"].as_str()).context("no grant")?;
        let approval = request["approvalId"].as_str().context("an id")?.to_owned();
        script.run(&format!("decide {approval} {lasting}"))?;
        script.run(&format!("kept {approval}"))?;
        for (lines, covered) in [(covers, true), (not, false)] {
            for line in lines {
                let action = script.action_of(line)?;
                let explained = script.session.explain(&action)?;
                let decision = explained.map_err(|e| anyhow::anyhow!("{e:?}"))?.decision;
                if (decision == Decision::Allow) != covered {
                    wrong.push(format!("{granted} / {line}: {decision:?}"));
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A session in which `make build` was granted and the grant is yet to be kept.
const GIVEN: &str = "
    > start promptUnmatched
    sessionStarted(promptUnmatched)
    > turn one
    turnStarted(one) userMessage -> begin(one)
    > propose i1 : make build
    actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
    > decide A1 allow_local_prefix
    approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i1)
    ";

fn after_given(scenario: &str) -> Result<Vec<Logged>> {
    Ok(check(&format!("{GIVEN}\n{scenario}"))?.log)
}

fn bodies(log: &[Logged], kind: &str) -> Result<Vec<Value>> {
    let records = log.iter().filter(|record| record.header.kind == kind);
    let body =
        |record: &Logged| Ok(serde_json::from_slice(record.body.as_deref().unwrap_or_default())?);
    records.map(body).collect()
}

#[test]
fn a_grant_covers_nothing_before_it_is_kept() -> Result<()> {
    after_given(
        "
        > explain i2 : make build
        ask unconfined
        > kept A1
        grantSaved(A1)
        > explain i2 : make build
        allow covered
        > propose i2 : make build -j4
        actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
        > kept A1
        refused misuse
        > revoke A1
        > propose i3 : make build
        actionProposed(i3 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        ",
    )?;
    Ok(())
}

#[test]
fn a_grant_that_cannot_be_kept_leaves_the_decision_standing() -> Result<()> {
    let log = after_given(
        "
        > kept A1 : the disk is full
        grantFailed(A1)
        > release i1
        executionStarted(i1) -> run(i1)
        > ended i1
        itemEnded(i1 completed ran) -> settled(i1)
        > propose i2 : make build
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > recover
        sessionLoaded(allowAll) approvalResolved(A2 abort user) approvalOpened(A3 after A2 stage 0) -> ask(A3 stage 0)
        ",
    )?;
    let failed = bodies(&log, "grantFailed")?.pop().unwrap_or_default();
    ensure!(failed["reason"] == "the disk is full", "{failed}");
    Ok(())
}

#[test]
fn a_recovery_gives_the_host_what_nobody_knows_to_be_kept() -> Result<()> {
    after_given(
        "
        > shutdown
        turnStopRequested(one shutdown) itemEnded(i1 cancelled interrupted) turnCompleted(one cancelled) sessionClosed(hostShutdown) -> settled(i1)
        > recover
        sessionLoaded(allowAll) -> keep(A1)
        > recover
        sessionLoaded(allowAll) -> keep(A1)
        > kept A1
        grantSaved(A1)
        > recover
        sessionLoaded(allowAll)
        ",
    )?;
    Ok(())
}

#[test]
fn the_records_hold_the_rule_and_what_became_of_it() -> Result<()> {
    let log = after_given(
        "
        > kept A1
        grantSaved(A1)
        ",
    )?;
    let resolved = bodies(&log, "approvalResolved")?.pop().unwrap_or_default();
    let preview = "commands that start with `make build`, whatever follows, run in /work and its git worktrees";
    ensure!(
        resolved["amendment"] == json!({"durability": "localPersistent", "preview": preview}),
        "{resolved}"
    );
    let lasting = &resolved["lasting"];
    ensure!(lasting["root"] == "/work" && lasting["preview"] == preview, "{lasting}");
    ensure!(lasting["mode"] == "promptUnmatched", "{lasting}");
    let line: Value = serde_json::from_str(lasting["text"].as_str().unwrap_or_default())?;
    let wanted = json!({
        "id": resolved["approval"],
        "rule": {"kind": "shell", "argv": ["make", "build"], "exact": false, "root": "/work"},
    });
    ensure!(line == wanted, "{line}");
    let amended = json!({"kind": "policyAmendment", "argvPrefix": ["make", "build"]});
    ensure!(resolved["evidence"][0]["resolution"] == amended, "{resolved}");
    let saved = bodies(&log, "grantSaved")?.pop().unwrap_or_default();
    ensure!(saved["approval"] == resolved["approval"] && saved["item"] == "i1", "{saved}");
    ensure!(saved["subject"]["stages"][0]["resolution"] == amended, "{saved}");
    Ok(())
}

#[test]
fn every_stage_is_granted_by_itself() -> Result<()> {
    let session = check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : make build; rm a; make build -j4; make test
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        # What starts with the same words is answered with it.
        > decide A1 allow_local_prefix
        stageDecided(A1 0 then 1) -> ask(A1 stage 1)
        > explain i2 : make build
        ask unconfined
        > decide A1.1 allow_local_prefix
        refused choiceInvalid(A1: it is not on this approval's menu)
        > decide A1.1 allow_once
        stageDecided(A1 1 then 3) -> ask(A1 stage 3)
        # The word is that of the last choice; the grants are those of all of them.
        > decide A1.3 allow_once
        approvalResolved(A1 approved user) -> keep(A1) prepare(i1)
        > kept A1
        grantSaved(A1)
        > explain i2 : make build
        allow covered
        > explain i2 : make test
        ask unconfined
        > explain i2 : rm a
        ask unconfined
        ",
    )?;
    let resolved = bodies(&session.log, "approvalResolved")?.pop().unwrap_or_default();
    ensure!(resolved["amendment"]["durability"] == "localPersistent", "{resolved}");
    let kinds: Vec<&str> = (0..4)
        .filter_map(|i| resolved.pointer(&format!("/evidence/{i}/resolution/kind"))?.as_str())
        .collect();
    ensure!(kinds == ["policyAmendment", "allowOnce", "policyAmendment", "allowOnce"], "{kinds:?}");
    Ok(())
}

#[test]
fn several_stages_make_one_grant_that_says_all_of_it() -> Result<()> {
    let session = check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : make build && make test
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_local_prefix
        stageDecided(A1 0 then 1) -> ask(A1 stage 1)
        > decide A1.1 allow_local_prefix
        approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i1)
        > kept A1
        grantSaved(A1)
        > explain i2 : make test && make build
        allow covered
        > revoke A1
        > explain i2 : make test
        ask unconfined
        ",
    )?;
    let resolved = bodies(&session.log, "approvalResolved")?.pop().unwrap_or_default();
    let preview = resolved["amendment"]["preview"].as_str().unwrap_or_default();
    ensure!(preview.contains("`make build`") && preview.contains("`make test`"), "{preview}");
    ensure!(resolved["lasting"]["text"].as_str().unwrap_or_default().lines().count() == 2);
    Ok(())
}

#[test]
fn a_rejection_saves_nothing_of_the_stages_before() -> Result<()> {
    let session = check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : make build && make test
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > decide A1 allow_local_prefix
        stageDecided(A1 0 then 1) -> ask(A1 stage 1)
        > decide A1.1 abort
        approvalResolved(A1 abort user) itemEnded(i1 rejected denied) -> settled(i1)
        ",
    )?;
    let resolved = bodies(&session.log, "approvalResolved")?.pop().unwrap_or_default();
    ensure!(resolved["amendment"].is_null() && resolved.get("lasting").is_none(), "{resolved}");
    Ok(())
}

#[test]
fn a_kept_grant_settles_what_is_pending_and_covered() -> Result<()> {
    let session = check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : make build
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i2 : make build -j4
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > propose i3 : rm a; make build
        actionProposed(i3 ask unconfined) approvalOpened(A3 stage 0) -> ask(A3 stage 0)
        > propose i4 : make build; rm a
        actionProposed(i4 ask unconfined) approvalOpened(A4 stage 0) -> ask(A4 stage 0)
        > propose i5 last : make test
        actionProposed(i5 ask unconfined) approvalOpened(A5 stage 0) -> ask(A5 stage 0)
        > decide A1 allow_local_prefix
        approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i1)
        # One is settled, one has a stage less to come, one goes on with its next stage.
        > kept A1
        grantSaved(A1) approvalResolved(A2 approved policy) stagesCovered(A3 1 then 0) stagesCovered(A4 0 then 1) -> prepare(i2) ask(A4 stage 1)
        > decide A4.0 allow_once
        refused requirementStale(A4 stage 1)
        > decide A3 allow_once
        approvalResolved(A3 approved user) -> prepare(i3)
        > decide A4.1 allow_once
        approvalResolved(A4 approved user) -> prepare(i4)
        > pending
        pending A5
        > release i2
        executionStarted(i2) -> run(i2)
        ",
    )?;
    let resolved = bodies(&session.log, "approvalResolved")?;
    let saved = format!("saved grant of {}", resolved[0]["approval"].as_str().unwrap_or_default());
    ensure!(resolved[1]["why"] == saved, "{}", resolved[1]);
    let diagnostic = json!({"kind": "policyAllow", "diagnostic": saved});
    ensure!(resolved[1]["evidence"][0]["resolution"] == diagnostic, "{}", resolved[1]);
    ensure!(resolved[2]["evidence"][1]["resolution"] == diagnostic, "{}", resolved[2]);
    Ok(())
}

#[test]
fn a_grant_given_elsewhere_settles_what_is_pending_here() -> Result<()> {
    let mut script = begun()?;
    script.run("propose i1 : make build")?;
    script.run("propose i2 last tool=search : {}")?;
    let nothing = script.run("granted")?.unwrap_or_default();
    ensure!(nothing == "nothing", "{nothing}");
    let grant = |root: &str| {
        json!({
            "id": "other",
            "rule": {"kind": "shell", "argv": ["make", "build"], "root": root},
        })
        .to_string()
    };
    // One of another root, and one that this version cannot read, cover nothing.
    script.session.grants = vec![grant("/elsewhere"), "not a grant".to_owned()];
    let nothing = script.run("granted")?.unwrap_or_default();
    ensure!(nothing == "nothing", "{nothing}");
    script.session.grants.push(grant("/work"));
    let settled = script.run("granted")?.unwrap_or_default();
    ensure!(settled == "approvalResolved(A1 approved policy) -> prepare(i1)", "{settled}");
    Ok(())
}

#[test]
fn a_grant_for_a_tool_or_a_destination_is_kept_too() -> Result<()> {
    check(
        "
        > start promptUnmatched
        sessionStarted(promptUnmatched)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 tool=search : {}
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > propose i2 tool=search : {\"q\":1}
        actionProposed(i2 ask unconfined) approvalOpened(A2 stage 0) -> ask(A2 stage 0)
        > decide A1 allow_local_prefix
        refused choiceInvalid(A1: it is not on this approval's menu)
        > decide A1 allow_local_mcp_tool
        approvalResolved(A1 approvedPolicyAmendment user) -> keep(A1) prepare(i1)
        > kept A1
        grantSaved(A1) approvalResolved(A2 approved policy) -> prepare(i2)
        > propose i3 tool=fetch subject={\"kind\":\"network\",\"host\":\"example.org\",\"port\":443} : {}
        actionProposed(i3 ask unconfined) approvalOpened(A3 stage 0) -> ask(A3 stage 0)
        > decide A3 allow_local_network
        approvalResolved(A3 approvedPolicyAmendment user) -> keep(A3) prepare(i3)
        > kept A3
        grantSaved(A3)
        ",
    )?;
    Ok(())
}

#[test]
fn a_deny_and_an_ask_rule_stand_above_every_grant() -> Result<()> {
    after_given(
        "
        > kept A1
        grantSaved(A1)
        > rule ask-make ask shell make
        > explain i2 : make build
        ask askRule
        > rule no-make deny shell make
        > explain i2 : make build
        deny denyRule
        > no-rules
        > path out protected
        > explain i2 : make build out
        ask protected
        > explain i2 : make build other
        allow covered
        ",
    )?;
    Ok(())
}

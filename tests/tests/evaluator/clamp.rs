//! What a mode may answer under each name: 4 names × 3 answers × confined × asked for,
//! and what becomes of a mode that fails or answers outside.

use crate::check;
use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Action, Answer, Decision, Reply};
use placet_tests::evaluator::{Evaluator as _, Served};
use placet_tests::pair::Pair;
use placet_tests::script::{Script, shell};
use placet_tests::transcript::decision_word;
use serde::Deserialize;
use serde_json::Value;
use std::io::Write as _;

/// One answer of a mode, and whether it stands.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Clamp {
    mode: String,
    answer: String,
    confined: bool,
    asked_for: bool,
    taken: bool,
}

#[test]
fn every_answer_under_every_name() -> Result<()> {
    let vectors: Vec<Clamp> = placet_tests::vectors::read("clamp.json")?;
    ensure!(vectors.len() == 4 * 3 * 2 * 2);
    for vector in &vectors {
        holds(vector).with_context(|| format!("{vector:?}"))?;
    }
    writeln!(std::io::stdout(), "clamp: {} vectors", vectors.len())?;
    Ok(())
}

fn holds(vector: &Clamp) -> Result<()> {
    let mut script = Script::new(Pair::new()?);
    script.run(&format!("start {}", vector.mode))?;
    script.run("turn one")?;
    let decision = match vector.answer.as_str() {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        _ => Decision::Deny,
    };
    let answer = Answer { decision, reason: "the fake says so".to_owned() };
    let mut session = script.session;
    session.evaluator.serve(Served::Answer(answer.clone()));
    let action = Action {
        confined: vector.confined.then(|| "bwrap".to_owned()),
        asked_for: vector.asked_for,
        ..shell("ls; touch a; touch b")
    };
    let explained = session.explain(&action)?.map_err(|r| anyhow::anyhow!("{r:?}"))?;
    let asked = session.asked()?;
    let summary = asked.first().context("the mode was not asked")?;
    ensure!(asked.len() == 1 && summary.mode == vector.mode && summary.subject_kind == "shell");
    ensure!(summary.unmatched == [["touch", "a"], ["touch", "b"]], "{:?}", summary.unmatched);
    ensure!(summary.asked_for == vector.asked_for && summary.confined == action.confined);

    let expected = if vector.taken { decision } else { Decision::Deny };
    ensure!(explained.decision == expected, "{}", explained.reason);
    ensure!(explained.answer.as_ref() == Some(&answer), "the answer is not shown");
    ensure!(explained.fault.is_none() == vector.taken, "fault: {:?}", explained.fault);

    let Reply::Done(outcome) = session.propose(&action, false)? else {
        anyhow::bail!("the proposal was not taken")
    };
    let proposed = outcome.records.first().context("no record")?;
    let body: Value = serde_json::from_slice(proposed.body.as_deref().unwrap_or_default())?;
    let recorded = body.pointer("/verdict/answer/decision").and_then(Value::as_str);
    ensure!(recorded == Some(decision_word(decision)), "the answer is not recorded");
    let fault = body.pointer("/verdict/fault").is_some_and(|fault| !fault.is_null());
    ensure!(fault != vector.taken, "the fault is not recorded: {body}");
    ensure!(proposed.header.mode == format!("sha256:{}", vector.mode), "whose answer?");
    Ok(())
}

#[test]
fn a_mode_that_fails_denies_and_the_fault_is_recorded() -> Result<()> {
    for mode in ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"] {
        let session = check(&format!(
            "
            > start {mode}
            sessionStarted({mode})
            > turn one
            turnStarted(one) userMessage -> begin(one)
            > mode-answers fault
            > propose i1 confined=bwrap : touch a
            actionProposed(i1 deny confined) itemEnded(i1 rejected denied) -> settled(i1)
            > propose i2 : ls
            actionProposed(i2 allow covered) executionStarted(i2) -> run(i2)
            > mode-answers itself
            "
        ))?;
        let record = session.log.iter().find(|record| record.header.kind == "actionProposed");
        let body = record.and_then(|record| record.body.as_deref()).unwrap_or_default();
        let body: Value = serde_json::from_slice(body)?;
        let fault = body.pointer("/verdict/fault").and_then(Value::as_str).unwrap_or_default();
        ensure!(fault.contains("it trapped"), "{body}");
    }
    Ok(())
}

/// A trap of the evaluator, or facts that could not be taken: the host says so, and
/// nothing about the action is read again.
#[test]
fn an_action_that_could_not_be_judged_is_denied_and_recorded() -> Result<()> {
    for mode in ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"] {
        check(&format!(
            "
            > start {mode}
            sessionStarted({mode})
            > turn one
            turnStarted(one) userMessage -> begin(one)
            > unjudged i1 : ls
            actionProposed(i1 deny unconfined) itemEnded(i1 rejected denied) -> settled(i1)
            > unjudged i2 turn=none : ls
            refused misuse
            > unjudged i3 last confined=bwrap : ls
            actionProposed(i3 deny confined) itemEnded(i3 rejected denied) turnCompleted(one completed) -> settled(i3)
            > unjudged i4 : ls
            refused misuse
            "
        ))?;
    }
    Ok(())
}

#[test]
fn a_command_without_stages_runs_only_where_everything_does() -> Result<()> {
    for command in ["", "   ", "# a comment", "\\\n"] {
        for (mode, line) in [
            ("allowAll", "actionProposed(i1 allow unconfined) executionStarted(i1) -> run(i1)"),
            (
                "promptUnmatched",
                "actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)",
            ),
            (
                "onRequest",
                "actionProposed(i1 deny unconfined) itemEnded(i1 rejected denied) -> settled(i1)",
            ),
            (
                "denyUnmatched",
                "actionProposed(i1 deny unconfined) itemEnded(i1 rejected denied) -> settled(i1)",
            ),
        ] {
            let mut script = Script::new(Pair::new()?);
            script.run(&format!("start {mode}"))?;
            script.run("turn one")?;
            let reply = script.session.propose(&shell(command), false)?;
            let found = placet_tests::transcript::Names::default().reply(&reply)?;
            ensure!(found == line, "{command:?} under {mode}: {found}");
        }
    }
    Ok(())
}

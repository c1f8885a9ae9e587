//! Every cell of the decision table (decisions.md 1), by `explain` and by a proposal.

use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Effect, Outcome, Reply};
use placet_tests::pair::Pair;
use placet_tests::session::Session;
use placet_tests::transcript::{decision_word, row_word};
use placet_tests::vectors::{Cell, Expected, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

const ROWS: [&str; 9] = [
    "ownFiles",
    "denyRule",
    "protected",
    "unknownKind",
    "askRule",
    "covered",
    "askedFor",
    "confined",
    "unconfined",
];

const MODES: [&str; 4] = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"];

fn cells() -> Result<Vec<Cell>> {
    read("decision_table.json")
}

#[test]
fn every_vector_holds_by_explain_and_by_proposal() -> Result<()> {
    let cells = cells()?;
    let mut wrong = Vec::new();
    for cell in &cells {
        let what = format!("{} × {:?}: {:?} {}", cell.row, cell.mode, cell.action, cell.note);
        if let Err(error) = holds(cell).with_context(|| what) {
            wrong.push(format!("{error:#}"));
        }
    }
    writeln!(std::io::stdout(), "decision table: {} vectors", cells.len())?;
    ensure!(wrong.is_empty(), "{} vectors fail:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn holds(cell: &Cell) -> Result<()> {
    let mut session = cell.session(Pair::new()?)?;
    let action = cell.action();
    let explained = session.explain(&action)?;
    let explained = explained.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
    let found = Expected {
        decision: decision_word(explained.decision).to_owned(),
        row: row_word(explained.row).to_owned(),
    };
    ensure!(found == cell.expect, "explain says {found:?}: {}", explained.reason);
    ensure!(!explained.reason.is_empty(), "no reason is given");
    ensure!(explained.mode == cell.mode, "the mode in force is {:?}", explained.mode);
    match session.propose(&action, false)? {
        Reply::Done(outcome) => proposed(cell, &session, &outcome, &explained.reason),
        other => anyhow::bail!("the proposal was answered {other:?}"),
    }
}

/// The records of a proposal say what `explain` said, and the effects follow.
fn proposed(cell: &Cell, session: &Session<Pair>, outcome: &Outcome, reason: &str) -> Result<()> {
    let bodies: Vec<Value> = outcome
        .records
        .iter()
        .map(|record| serde_json::from_slice(record.body.as_deref().unwrap_or_default()))
        .collect::<Result<_, _>>()?;
    let kinds: Vec<&str> = outcome.records.iter().map(|r| r.header.kind.as_str()).collect();
    let text = |index: usize, pointer: &str| {
        let value = bodies.get(index).and_then(|body| body.pointer(pointer));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let found = Expected { decision: text(0, "/verdict/decision"), row: text(0, "/verdict/row") };
    ensure!(found == cell.expect, "the record says {found:?}");
    ensure!(text(0, "/verdict/reason") == reason, "the record gives another reason");
    match cell.expect.decision.as_str() {
        "deny" => {
            ensure!(kinds == ["actionProposed", "itemEnded"], "{kinds:?}");
            ensure!(text(1, "/item/status") == "rejected");
            ensure!(text(1, "/item/failureKind") == "approvalDenied");
            ensure!(text(1, "/item/failure") == reason, "the agent is told something else");
            ensure!(outcome.overview.active_turn.is_some(), "the turn ended with a denial");
        }
        "ask" => {
            ensure!(kinds == ["actionProposed", "approvalOpened"], "{kinds:?}");
            ensure!(matches!(outcome.effects.as_slice(), [Effect::Ask(_)]));
            ensure!(session.ledger().pending.len() == 1);
        }
        _ => {
            let settled = if cell.granted { "approvalResolved" } else { "executionStarted" };
            ensure!(kinds.get(1) == Some(&settled), "{kinds:?}");
            ensure!(kinds.last() == Some(&"executionStarted"), "{kinds:?}");
            ensure!(matches!(outcome.effects.as_slice(), [Effect::Run(_)]));
        }
    }
    Ok(())
}

#[test]
fn every_cell_is_there_and_no_two_modes_are_equal() -> Result<()> {
    let mut columns: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let cells = cells()?;
    for row in ROWS {
        for mode in MODES {
            let found: BTreeSet<&str> = cells
                .iter()
                .filter(|cell| cell.row == row && cell.mode.as_deref() == Some(mode))
                .map(|cell| cell.expect.decision.as_str())
                .collect();
            ensure!(found.len() == 1, "the cell {row} × {mode} says {found:?}");
            let decision = found.into_iter().collect();
            columns.entry(mode).or_default().push(decision);
        }
        let sealed_off = cells.iter().any(|cell| cell.row == row && cell.mode.is_none());
        ensure!(sealed_off, "{row} has no vector for a session that is sealed off");
    }
    let different: BTreeSet<&Vec<String>> = columns.values().collect();
    ensure!(different.len() == MODES.len(), "two modes have equal columns: {columns:?}");
    writeln!(std::io::stdout(), "decision table: {} cells", ROWS.len() * MODES.len())?;
    Ok(())
}

#[test]
fn a_denial_names_the_stage_and_the_way_out() -> Result<()> {
    for cell in cells()?.iter().filter(|cell| cell.expect.decision == "deny") {
        let mut session = cell.session(Pair::new()?)?;
        let explained = session.explain(&cell.action())?;
        let reason = explained.map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?.reason;
        ensure!(reason.contains('`') || cell.row == "unknownKind", "names nothing: {reason}");
        if cell.row == "unconfined" && cell.mode.as_deref() == Some("onRequest") {
            ensure!(reason.contains("ask for approval"), "does not say how to ask: {reason}");
        }
    }
    Ok(())
}

//! What must hold after every step, whatever the step was.
//!
//! Sequences are dense; folding the log gives the state, byte for byte (I1); an
//! approval opens and closes at most once (I6); work starts at most once (I10);
//! events are what `render` says of the records; the overview is that of
//! `describe`, and agrees with the marks; a successor's id follows from its
//! predecessor's; a command's mark holds the acknowledgement.

use crate::evaluator::Evaluator;
use crate::session::{SESSION, Session};
use anyhow::{Result, anyhow, bail, ensure};
use placet_policy::types::{Effect, Event, Logged, Mark, Outcome, Refusal};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// What the marks of a log say.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    head: u64,
    opened: BTreeSet<String>,
    closed: BTreeSet<String>,
    started: BTreeSet<String>,
    ended: BTreeSet<String>,
    commands: BTreeSet<String>,
    /// The revision of every item that was shown; none once it was completed.
    items: BTreeMap<String, Option<u64>>,
    turns: BTreeSet<String>,
    /// Pending approvals with their opening records, in opening order.
    pub pending: Vec<(String, u64)>,
}

impl Ledger {
    /// Takes a batch in, and refuses what a log may never hold.
    pub fn take(&mut self, records: &[Logged]) -> Result<()> {
        for record in records {
            let sequence = record.header.sequence;
            ensure!(sequence == self.head + 1, "record {sequence} follows {}", self.head);
            self.head = sequence;
            let views = record.header.marks.iter().filter(|mark| **mark == Mark::View).count();
            ensure!(views <= 1, "record {sequence} has {views} view marks");
            for mark in &record.header.marks {
                self.mark(sequence, mark)?;
            }
        }
        Ok(())
    }

    /// Takes the view events in: each has its record's cursor, a turn begins and
    /// ends once, an item's revisions grow, and nothing follows its end.
    pub fn show(&mut self, events: &[Event]) -> Result<()> {
        for event in events {
            let params: Value = serde_json::from_str(&event.params)?;
            let text = |pointer| params.pointer(pointer).and_then(Value::as_str);
            ensure!(text("/viewCursor") == Some(event.sequence.to_string().as_str()));
            ensure!(text("/sessionId") == Some(SESSION));
            match (event.method.as_str(), text("/turnId"), text("/item/itemId")) {
                ("turn/started" | "turn/completed", Some(turn), _) => {
                    let key = format!("{} {turn}", event.method);
                    ensure!(self.turns.insert(key.clone()), "{key} is shown twice");
                }
                (_, _, Some(item)) => {
                    let revision = params.pointer("/item/revision").and_then(Value::as_u64);
                    let before = self.items.get(item).copied().unwrap_or(Some(0));
                    ensure!(before.is_some(), "{item} is shown after its end");
                    ensure!(revision > before, "{item}: revision {revision:?} after {before:?}");
                    let ended = event.method == "item/completed";
                    self.items.insert(item.to_owned(), revision.filter(|_| !ended));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn mark(&mut self, sequence: u64, mark: &Mark) -> Result<()> {
        match mark {
            Mark::Opens(id) => {
                ensure!(!self.closed.contains(id), "{id} opens after it closed");
                ensure!(self.opened.insert(id.clone()), "{id} opens twice");
                self.pending.push((id.clone(), sequence));
            }
            Mark::Closes(id) => {
                ensure!(self.closed.insert(id.clone()), "{id} closes twice (I6)");
                self.pending.retain(|(open, _)| open != id);
            }
            Mark::Starts(id) => ensure!(self.started.insert(id.clone()), "{id} starts twice (I10)"),
            Mark::Ends(id) => {
                ensure!(self.started.contains(id), "{id} ends and never started");
                ensure!(self.ended.insert(id.clone()), "{id} ends twice");
            }
            Mark::Command(command) => {
                let key = format!("{}/{}", command.scope, command.id);
                ensure!(self.commands.insert(key.clone()), "the command {key} settles twice");
            }
            Mark::View => {}
        }
        Ok(())
    }
}

/// Checks an outcome against the log that it was just appended to.
pub fn check<E: Evaluator>(session: &mut Session<E>, outcome: &Outcome) -> Result<()> {
    let previous = session.state.clone();
    let Session { evaluator, log, context, whole_fold_every, .. } = session;
    for record in &outcome.records {
        bodies_name_their_successors(record)?;
        ensure!(record.header.time_ms == context.now_ms, "a record has another time");
        ensure!(record.header.logic == placet_policy::LOGIC, "a record has another logic");
    }
    if !outcome.records.is_empty() || previous.is_some() {
        let onwards = said(evaluator.fold(previous.as_deref(), &outcome.records)?)?;
        same("the fold of the new records over the old state", &onwards, &outcome.state)?;
        if log.len() % *whole_fold_every < outcome.records.len() {
            let whole = said(evaluator.fold(None, log)?)?;
            same("the fold of the whole log", &whole, &outcome.state)?;
        }
    }
    let mut events = Vec::new();
    for record in &outcome.records {
        events.extend(said(evaluator.render(SESSION, record)?)?);
    }
    ensure!(events == outcome.events, "the events are not the records rendered: {events:?}");
    let path = context.log_path.clone();
    let overview = said(evaluator.describe(SESSION, &path, &outcome.state, true)?)?;
    ensure!(overview == outcome.overview, "the overview is another than describe gives");
    let snapshot: Value = serde_json::from_str(&said(evaluator.snapshot(&outcome.state)?)?)?;
    let open = snapshot["pendingApprovals"].as_array().map_or(0, Vec::len);
    ensure!(open == overview.pending.len(), "the snapshot has other approvals: {snapshot}");
    acknowledged(outcome)?;
    pending(session, outcome)
}

fn same(what: &str, one: &[u8], other: &[u8]) -> Result<()> {
    if one == other {
        return Ok(());
    }
    let text = String::from_utf8_lossy;
    bail!("{what} is not the state (I1):\n{}\n{}", text(one), text(other))
}

fn said<T>(answer: Result<T, Refusal>) -> Result<T> {
    answer.map_err(|refusal| anyhow!("refused: {refusal:?}"))
}

fn acknowledged(outcome: &Outcome) -> Result<()> {
    let marks = outcome.records.iter().flat_map(|record| &record.header.marks);
    let acks: Vec<&str> = marks
        .filter_map(|mark| match mark {
            Mark::Command(command) => Some(command.ack.as_str()),
            _ => None,
        })
        .collect();
    match (&outcome.ack, acks.as_slice()) {
        (Some(ack), [marked]) => ensure!(ack == marked, "the mark holds another acknowledgement"),
        (None, []) => {}
        (_, several) => bail!("{} marks for one acknowledgement", several.len()),
    }
    Ok(())
}

/// The pending set is the same by the marks, by the overview and by `present`,
/// and what is asked is what `present` shows.
fn pending<E: Evaluator>(session: &mut Session<E>, outcome: &Outcome) -> Result<()> {
    let by_marks = session.ledger().pending.clone();
    let by_overview: Vec<(String, u64)> = outcome
        .overview
        .pending
        .iter()
        .map(|pointer| (pointer.approval_id.clone(), pointer.sequence))
        .collect();
    ensure!(by_marks == by_overview, "pending by marks {by_marks:?}, by overview {by_overview:?}");
    let opened: Vec<Logged> = session
        .log
        .iter()
        .filter(|record| by_marks.iter().any(|(_, sequence)| *sequence == record.header.sequence))
        .cloned()
        .collect();
    let presented = said(session.evaluator.present(SESSION, &outcome.state, &opened)?)?;
    let ids: Vec<&str> = presented.iter().map(|shown| shown.approval_id.as_str()).collect();
    ensure!(ids.iter().eq(by_marks.iter().map(|(id, _)| id)), "present shows {ids:?}");
    for effect in &outcome.effects {
        if let Effect::Ask(asked) = effect {
            ensure!(presented.contains(asked), "asked is not what present shows: {asked:?}");
            complete(&serde_json::from_str(&asked.params)?)?;
        }
    }
    Ok(())
}

/// A request has every member that a client parses (msp.md 5.1 and 5.2). A kind that
/// clients know must come with what they then expect.
fn complete(params: &Value) -> Result<()> {
    for name in ["sessionId", "approvalId", "turnId", "taskId", "itemId", "toolCallId"] {
        ensure!(params[name].is_string(), "{name} is missing: {params}");
    }
    for name in ["toolName", "rawArgs", "viewCursor"] {
        ensure!(params[name].is_string(), "{name} is missing: {params}");
    }
    let subject = &params["subject"];
    let wanted: &[&str] = match subject["kind"].as_str().unwrap_or_default() {
        "" => &["kind"],
        "shell" => &["command", "stages"],
        "fileAccess" => &["toolName", "path", "access"],
        "network" => &["toolName", "host"],
        "unixSocket" => &["toolName", "path"],
        "process" => &["toolName", "access", "target"],
        _ => &["toolName"],
    };
    for name in wanted {
        ensure!(!subject[name].is_null(), "a subject without {name}: {subject}");
    }
    let choices = params["availableChoices"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rejects = |choice: &Value| matches!(choice["decision"].as_str(), Some("denied" | "abort"));
    ensure!(choices.iter().any(rejects), "nothing to reject with: {params}");
    let stage = params["currentRequirementId"]["sourceIndex"].as_u64();
    if let Some(stages) = subject["stages"].as_array().filter(|stages| !stages.is_empty()) {
        let unresolved = |stage: &Value| stage["resolution"]["kind"] == "unresolved";
        let first = stages.iter().position(unresolved).and_then(|i| u64::try_from(i).ok());
        ensure!(stage == first, "the current stage is not the first unresolved one: {params}");
    } else {
        ensure!(stage == Some(0), "a stage without stages: {params}");
    }
    Ok(())
}

/// A successor's id is UUIDv5(old id, `placet/successor`).
fn bodies_name_their_successors(record: &Logged) -> Result<()> {
    let body: Value = serde_json::from_slice(record.body.as_deref().unwrap_or_default())?;
    let Some(old) = body.get("predecessor").and_then(Value::as_str) else { return Ok(()) };
    let expected = Uuid::new_v5(&Uuid::parse_str(old)?, b"placet/successor").to_string();
    let found = body.get("approval").and_then(Value::as_str).unwrap_or_default();
    ensure!(found == expected, "the successor of {old} is {found}, not {expected}");
    Ok(())
}

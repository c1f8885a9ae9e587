//! Erased bodies: which may go, what must go together, and what a record means without its body.
//!
//! Only what the state no longer rests on may go. That is a table by kind, and a
//! kind that is not in it stays. `redacted` records say what was erased; a body
//! that is gone without one makes its session unreadable.

use crate::codec::{self, Body};
use crate::fold;
use crate::state::{Queued, State};
use crate::step::{Draft, Stop, misuse};
use crate::types::{Erasure, KeptBody, Logged, Mark, Redaction, Refusal};
use std::collections::{BTreeMap, BTreeSet};

/// When the body of a record may go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// At any time: nothing reads it again.
    Alone,
    /// When its turn has ended.
    WithTurn,
    /// With every other body of its item, when the item and its turn have ended.
    WithItem,
    /// Never.
    Stays,
}

/// The table. What is not named here holds the seal, the mode, a turn or a
/// command, or is of a kind that nobody has thought about yet.
fn rule(kind: &str) -> Rule {
    match kind {
        "userMessage" | "agentMessage" => Rule::Alone,
        "turnQueued" => Rule::WithTurn,
        "actionProposed" | "actionJudged" | "approvalOpened" | "stageDecided" | "stagesCovered"
        | "approvalResolved" | "grantSaved" | "grantFailed" | "executionStarted" | "itemEnded" => {
            Rule::WithItem
        }
        _ => Rule::Stays,
    }
}

/// The item that a record is about, for the kinds that go with their item.
fn item(body: &Body) -> Option<&str> {
    match body {
        Body::ActionProposed { action, .. } => Some(&action.item),
        Body::ActionJudged { shown, .. } => Some(&shown.item),
        Body::ApprovalOpened { request, .. } => Some(&request.item),
        Body::StageDecided { item, .. }
        | Body::StagesCovered { item, .. }
        | Body::ApprovalResolved { item, .. }
        | Body::GrantSaved { item, .. }
        | Body::GrantFailed { item, .. }
        | Body::ExecutionStarted { item, .. } => Some(item),
        Body::ItemEnded { item, .. } => Some(&item.item),
        _ => None,
    }
}

/// Whether a record of this kind and format can be read without its body.
pub(crate) fn can_be(record: &Logged) -> bool {
    (1..=codec::FORMAT).contains(&record.header.format) && rule(&record.header.kind) != Rule::Stays
}

/// Refuses a log with a body that is gone and that no later record says was erased.
pub(crate) fn recorded(records: &[Logged]) -> Result<(), Refusal> {
    let gone = records.iter().filter(|record| record.body.is_none());
    let mut gone: BTreeSet<u64> = gone.map(|record| record.header.sequence).collect();
    if gone.is_empty() {
        return Ok(());
    }
    for record in records.iter().filter(|record| record.header.kind == "redacted") {
        if let Body::Redacted { sequences, .. } = codec::decode(record)? {
            for sequence in sequences.iter().filter(|erased| **erased < record.header.sequence) {
                gone.remove(sequence);
            }
        }
    }
    match gone.first() {
        None => Ok(()),
        Some(sequence) => Err(Refusal::Unreadable(format!(
            "the body of record {sequence} was erased and no record says so"
        ))),
    }
}

/// The state after a record whose body was erased. Everything that it opened is
/// closed further on, so it counts as nothing; only a turn that waited is kept
/// until then, from the header, for the record that ends its waiting.
pub(crate) fn passed(state: Option<State>, record: &Logged) -> Result<State, Refusal> {
    let header = &record.header;
    let Some(mut state) = state.filter(|_| can_be(record)) else {
        // Reading it gives the refusal that names it.
        codec::decode(record)?;
        return Err(fold::unreadable(header.sequence, "it has no body"));
    };
    if header.sequence != state.head.saturating_add(1) {
        return Err(fold::unreadable(
            header.sequence,
            &format!("it follows record {}", state.head),
        ));
    }
    state.head = header.sequence;
    state.updated_ms = header.time_ms;
    if let (Rule::WithTurn, Some(id)) = (rule(&header.kind), command(record)) {
        let (id, command) = (id.to_owned(), id.to_owned());
        state.queued.push(Queued { id, command, seal: None, sequence: header.sequence });
    }
    Ok(state)
}

/// The command that a record settles; a queued turn has its id.
fn command(record: &Logged) -> Option<&str> {
    record.header.marks.iter().find_map(|mark| match mark {
        Mark::Command(command) => Some(command.id.as_str()),
        _ => None,
    })
}

/// What the log says of one item.
#[derive(Default)]
struct Item {
    sequences: Vec<u64>,
    turn: Option<String>,
    ended: bool,
    granted: bool,
    /// It gave a lasting grant, and nothing says yet that the host keeps it.
    unsaved: bool,
}

/// What the log says about ends.
#[derive(Default)]
struct Ends {
    items: BTreeMap<String, Item>,
    started: BTreeSet<String>,
    ended: BTreeSet<String>,
}

impl Ends {
    fn read(records: &[Logged]) -> Result<Ends, Refusal> {
        let mut ends = Ends::default();
        for record in records.iter().filter(|record| record.body.is_some()) {
            let body = codec::decode(record)?;
            if let Some(item) = item(&body) {
                let item = ends.items.entry(item.to_owned()).or_default();
                item.sequences.push(record.header.sequence);
                match &body {
                    Body::ActionProposed { action, .. } => item.turn = Some(action.turn.clone()),
                    Body::ApprovalResolved { grant, lasting, .. } => {
                        item.granted |= grant.is_some();
                        item.unsaved |= lasting.is_some();
                    }
                    Body::GrantSaved { .. } | Body::GrantFailed { .. } => item.unsaved = false,
                    Body::ItemEnded { .. } => item.ended = true,
                    _ => {}
                }
            }
            match body {
                Body::TurnStarted { turn, .. } => _ = ends.started.insert(turn),
                Body::TurnCompleted { turn, .. } => _ = ends.ended.insert(turn),
                _ => {}
            }
        }
        Ok(ends)
    }

    /// What must go together with a record, or why it stays.
    fn together(&self, record: &Logged) -> Result<Result<Vec<u64>, String>, Refusal> {
        let sequence = record.header.sequence;
        let stays = |why: &str| Ok(Err(why.to_owned()));
        if record.body.is_none() {
            return Ok(Ok(Vec::new()));
        }
        let body = codec::decode(record)?;
        match rule(&record.header.kind) {
            Rule::Stays => stays("the state of the session rests on records of its kind"),
            Rule::Alone => Ok(Ok(vec![sequence])),
            Rule::WithTurn => match &body {
                // One that ended without a start is ended by a record that names it: it
                // must be known to have waited, from its header.
                Body::TurnQueued { turn, .. } => {
                    let known = self.started.contains(turn) || command(record).is_some();
                    match known && self.ended.contains(turn) {
                        true => Ok(Ok(vec![sequence])),
                        false => stays("its turn has not ended, or never began"),
                    }
                }
                _ => stays("it names no turn"),
            },
            Rule::WithItem => {
                let Some(item) = item(&body).and_then(|item| self.items.get(item)) else {
                    return stays("it names no tool call");
                };
                if item.granted {
                    return stays("its approval gave a grant for the session, which is in force");
                }
                if item.unsaved {
                    return stays("its approval gave a grant that is yet to be kept");
                }
                if !item.ended {
                    return stays("its tool call has not ended");
                }
                match &item.turn {
                    Some(turn) if self.ended.contains(turn) => Ok(Ok(item.sequences.clone())),
                    _ => stays("its turn has not ended"),
                }
            }
        }
    }
}

/// Which of the wanted bodies can be erased, and what must go together with them.
pub(crate) fn erasable(records: &[Logged], wanted: &[u64]) -> Result<Erasure, Refusal> {
    let state = fold(None, records)?;
    let ends = Ends::read(records)?;
    let log: BTreeMap<u64, &Logged> =
        records.iter().map(|record| (record.header.sequence, record)).collect();
    let (mut going, mut kept) = (BTreeSet::new(), Vec::new());
    for sequence in wanted.iter().copied().collect::<BTreeSet<u64>>() {
        let together = match log.get(&sequence) {
            Some(record) => ends.together(record)?,
            None => Err("there is no such record".to_owned()),
        };
        match together {
            Ok(sequences) => going.extend(sequences),
            Err(why) => kept.push(KeptBody { sequence, why }),
        }
    }
    check_same(records, &going, &state)?;
    Ok(Erasure { sequences: going.into_iter().collect(), kept })
}

/// Refuses to erase what would make the session another one: a record that the
/// table does not know may rest on one that it does.
fn check_same(records: &[Logged], going: &BTreeSet<u64>, state: &[u8]) -> Result<(), Refusal> {
    let mut current = None;
    for record in records {
        let mut record = record.clone();
        if going.contains(&record.header.sequence) {
            record.body = None;
        }
        let folded = fold::apply(current, &record).map_err(|refusal| {
            Refusal::Misuse(format!("the session could not be read without these: {refusal:?}"))
        })?;
        current = Some(folded);
    }
    match current {
        Some(folded) if folded.encode() == state => Ok(()),
        _ => Err(Refusal::Misuse("the session would be another one without these".to_owned())),
    }
}

/// Records that bodies are erased. The host erases them once this is durable.
pub(crate) fn redact(draft: &mut Draft<'_>, redaction: &Redaction) -> Result<(), Stop> {
    let sequences = &redaction.sequences;
    let head = draft.state()?.head;
    let in_order = sequences.is_sorted_by(|one, next| one < next);
    if !in_order || sequences.last().is_none_or(|last| *last > head) {
        return Err(misuse("a redaction names records of the log, ascending"));
    }
    draft.push(
        &Body::Redacted { sequences: sequences.clone(), client: redaction.client.clone() },
        Vec::new(),
    )?;
    Ok(())
}

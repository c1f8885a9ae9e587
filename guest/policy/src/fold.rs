//! What each record means for the state.
//!
//! `apply` is the only place where a state changes. `step` and `recover` call it
//! on what they propose, so that a record that cannot be folded cannot be
//! proposed, and a host that folds the log arrives at the very same state.

use crate::codec::{self, Body, Request, Resolution, StopBy, Subject, Terminal};
use crate::erase;
use crate::evaluate::facts_digest;
use crate::modes::Mode;
use crate::state::{
    Approval, FORMAT, Grant, Item, LastTurn, Phase, Queued, Source, State, Turn, Unsaved,
};
use crate::types::{Logged, Refusal};

/// The state after one more record.
pub(crate) fn apply(state: Option<State>, record: &Logged) -> Result<State, Refusal> {
    let sequence = record.header.sequence;
    let time = record.header.time_ms;
    if record.body.is_none() {
        return erase::passed(state, record);
    }
    let body = codec::decode(record)?;
    let Some(mut state) = state else {
        return start(sequence, time, body);
    };
    if sequence != state.head.saturating_add(1) {
        return Err(unreadable(sequence, &format!("it follows record {}", state.head)));
    }
    state.head = sequence;
    state.updated_ms = time;
    let bytes =
        record.body.as_ref().map_or(0, |body| u64::try_from(body.len()).unwrap_or(u64::MAX));
    change(&mut state, Place { sequence, time, bytes }, body)
        .map_err(|why| unreadable(sequence, &why))?;
    Ok(state)
}

pub(crate) fn unreadable(sequence: u64, why: &str) -> Refusal {
    Refusal::Unreadable(format!("record {sequence} does not fit the records before it: {why}"))
}

fn start(sequence: u64, time: u64, body: Body) -> Result<State, Refusal> {
    match body {
        Body::SessionStarted { mode, seal, workspace, provider, model, .. } if sequence == 1 => {
            Ok(State {
                format: FORMAT,
                head: 1,
                created_ms: time,
                updated_ms: time,
                workspace,
                provider,
                model,
                mode,
                source: Source::Startup,
                selected_by: None,
                seal,
                turn_count: 0,
                turn: None,
                queued: Vec::new(),
                items: Vec::new(),
                approvals: Vec::new(),
                grants: Vec::new(),
                unsaved: Vec::new(),
                last_turn: None,
            })
        }
        _ => Err(unreadable(sequence, "a session begins with sessionStarted as record 1")),
    }
}

/// Where a record stands, and how large its body is.
#[derive(Clone, Copy)]
struct Place {
    sequence: u64,
    time: u64,
    bytes: u64,
}

fn change(state: &mut State, place: Place, body: Body) -> Result<(), String> {
    let Place { sequence, time, .. } = place;
    match body {
        Body::SessionStarted { .. } => return Err("the session has started already".to_owned()),
        Body::SessionLoaded { seal, .. } => {
            state.seal = Mode::meet(state.seal, seal);
            state.source = Source::Replay;
            // The agent that ran the turn is gone with its host: nothing more comes from it.
            if let Some(turn) = &mut state.turn {
                turn.finished = true;
            }
        }
        Body::SessionClosed { .. } | Body::CommandNoted { .. } | Body::Redacted { .. } => {}
        Body::ModeChanged { mode, command, .. } => {
            state.mode = mode;
            state.source = Source::ApprovalReconfigure;
            state.selected_by = Some(command);
        }
        Body::TurnQueued { turn, command, seal, front, .. } => {
            let place = if front { 0 } else { state.queued.len() };
            state.queued.insert(place, Queued { id: turn, command, seal, sequence });
        }
        Body::TurnStarted { turn, command, seal } => {
            turn_started(state, time, turn, command, seal)?
        }
        Body::UserMessage { .. } | Body::AgentMessage { .. } => {}
        Body::TurnStopRequested { turn, by } => match &mut state.turn {
            Some(running) if running.id == turn => {
                running.leaving |= by != StopBy::Client;
                running.left |= by == StopBy::Leave;
                running.stopping = true;
                running.finished = true;
            }
            _ => return Err(format!("the turn {turn} does not run")),
        },
        Body::TurnCompleted { turn, terminal, reason, .. } => {
            turn_completed(state, turn, terminal, reason)?;
        }
        Body::ActionProposed { action, facts, last, approval, held, .. } => {
            proposed(state, place, action, facts, last, approval, held)?;
        }
        Body::ActionJudged { facts, approval, held, shown, .. } => {
            let item = find_item(state, &shown.item)?;
            if item.phase != Phase::Deferred {
                return Err(format!("the item {} does not wait for its turn", item.id));
            }
            item.phase = if held { Phase::Proposed } else { Phase::Decided };
            item.facts = facts_digest(&facts);
            item.approval = approval;
            item.held = held;
            item.revision = shown.revision;
        }
        Body::ApprovalOpened { approval, request, renewed, .. } => {
            opened(state, place, approval, request, renewed.map(|renewed| renewed.facts))?;
        }
        Body::StageDecided { approval, source_index, also, resolution, current, .. } => {
            let open = find_approval(state, &approval)?;
            for index in std::iter::once(source_index).chain(also) {
                let stage = usize::try_from(index).ok().and_then(|i| open.stages.get_mut(i));
                *stage.ok_or_else(|| format!("the approval {approval} has no such stage"))? =
                    resolution.clone();
            }
            open.current = current;
        }
        Body::StagesCovered { approval, stages, current, .. } => {
            let open = find_approval(state, &approval)?;
            if stages.len() != open.stages.len() {
                return Err(format!("the approval {approval} has other stages"));
            }
            open.stages = stages;
            open.current = current;
        }
        Body::ApprovalResolved { approval, item, decision, grant, lasting, .. } => {
            let opened = state.approval(&approval).map(|open| open.sequence);
            if lasting.is_some() {
                let opened = opened.ok_or_else(|| format!("{approval} was never asked about"))?;
                let approval = approval.clone();
                state.unsaved.push(Unsaved { approval, opened, sequence });
            }
            resolved(state, approval, &item, &decision, grant)?;
        }
        Body::GrantSaved { approval, .. } | Body::GrantFailed { approval, .. } => {
            if !state.unsaved.iter().any(|unsaved| unsaved.approval == approval) {
                return Err(format!("no grant of {approval} waits to be kept"));
            }
            state.unsaved.retain(|unsaved| unsaved.approval != approval);
        }
        Body::ExecutionStarted { item, shown, .. } => {
            let item = find_item(state, &item)?;
            if item.phase != Phase::Decided {
                return Err(format!("the item {} was not decided", item.id));
            }
            item.phase = Phase::Running;
            item.held = false;
            if let Some(shown) = shown {
                item.revision = shown.revision;
            }
        }
        Body::ItemEnded { item, .. } => {
            find_item(state, &item.item)?;
            if state.approvals.iter().any(|open| open.item == item.item) {
                return Err(format!("the item {} still waits for an approval", item.item));
            }
            state.items.retain(|held| held.id != item.item);
        }
    }
    Ok(())
}

fn turn_started(
    state: &mut State,
    time: u64,
    id: String,
    command: String,
    seal: Option<Mode>,
) -> Result<(), String> {
    if let Some(running) = &state.turn {
        return Err(format!("the turn {} still runs", running.id));
    }
    state.queued.retain(|queued| queued.id != id);
    state.turn_count = state.turn_count.saturating_add(1);
    state.turn = Some(Turn {
        id,
        command,
        seal,
        started_ms: time,
        finished: false,
        stopping: false,
        leaving: false,
        left: false,
    });
    Ok(())
}

fn turn_completed(
    state: &mut State,
    id: String,
    terminal: Terminal,
    reason: Option<String>,
) -> Result<(), String> {
    if state.items.iter().any(|item| item.turn == id) {
        return Err(format!("the turn {id} still has open items"));
    }
    if state.turn.as_ref().is_some_and(|turn| turn.id == id) {
        state.turn = None;
    } else if state.queued.iter().any(|queued| queued.id == id) {
        state.queued.retain(|queued| queued.id != id);
    } else {
        return Err(format!("the turn {id} neither runs nor waits"));
    }
    state.last_turn = Some(LastTurn { id, terminal, reason });
    Ok(())
}

fn proposed(
    state: &mut State,
    place: Place,
    action: codec::Action,
    facts: codec::Facts,
    last: bool,
    approval: Option<String>,
    held: bool,
) -> Result<(), String> {
    match &mut state.turn {
        Some(turn) if turn.id == action.turn && !turn.finished => turn.finished = last,
        _ => return Err(format!("the turn {} takes no more actions", action.turn)),
    }
    if state.item(&action.item).is_some() {
        return Err(format!("the item {} is open already", action.item));
    }
    state.items.push(Item {
        id: action.item,
        turn: action.turn,
        revision: 1,
        sequence: place.sequence,
        bytes: place.bytes,
        facts: facts_digest(&facts),
        // What runs without a person is decided by this record; what does not ends or
        // waits by the next, unless it waits for its turn.
        phase: match (held, &approval) {
            (true, Some(_)) => Phase::Proposed,
            (true, None) => Phase::Deferred,
            (false, _) => Phase::Decided,
        },
        approval,
        held,
    });
    Ok(())
}

fn opened(
    state: &mut State,
    place: Place,
    id: String,
    request: Request,
    facts: Option<codec::Facts>,
) -> Result<(), String> {
    if state.approval(&id).is_some() {
        return Err(format!("the approval {id} is open already"));
    }
    let item = find_item(state, &request.item)?;
    if !matches!(item.phase, Phase::Proposed | Phase::Waiting) {
        return Err(format!("the item {} does not wait", item.id));
    }
    item.phase = Phase::Waiting;
    item.approval = Some(id.clone());
    if let Some(facts) = facts {
        item.facts = facts_digest(&facts);
    }
    let evidence = match &request.subject {
        Subject::Shell { stages, .. } => serde_json::to_vec(stages).map_or(0, |json| json.len()),
        _ => 0,
    };
    let bytes = place.bytes.saturating_add(u64::try_from(evidence).unwrap_or(u64::MAX));
    let stages = match request.subject {
        Subject::Shell { stages, .. } => stages.into_iter().map(|stage| stage.resolution).collect(),
        _ => Vec::new(),
    };
    state.approvals.push(Approval {
        id,
        item: request.item,
        turn: request.turn,
        sequence: place.sequence,
        bytes,
        stages,
        current: request.current,
        protected: request.protected,
        agent_waits: request.agent_waits,
    });
    Ok(())
}

fn resolved(
    state: &mut State,
    id: String,
    item: &str,
    decision: &str,
    grant: Option<codec::Grant>,
) -> Result<(), String> {
    let was_open = state.approval(&id).is_some();
    state.approvals.retain(|open| open.id != id);
    let item = find_item(state, item)?;
    match decision {
        "approved" | "approvedForSession" | "approvedPolicyAmendment"
            if was_open && item.phase == Phase::Waiting =>
        {
            item.phase = Phase::Decided;
        }
        // Settled at once by a grant: nothing was opened, the proposal itself decided it.
        "approved" | "approvedForSession" if !was_open && item.phase == Phase::Decided => {}
        "abort" | "denied" if was_open => {}
        _ => return Err(format!("the approval {id} cannot end as {decision} here")),
    }
    if let Some(codec::Grant { kind, key }) = grant {
        state.grants.push(Grant { approval: id, kind, key });
    }
    Ok(())
}

fn find_item<'a>(state: &'a mut State, id: &str) -> Result<&'a mut Item, String> {
    state
        .items
        .iter_mut()
        .find(|item| item.id == id)
        .ok_or_else(|| format!("there is no open item {id}"))
}

fn find_approval<'a>(state: &'a mut State, id: &str) -> Result<&'a mut Approval, String> {
    state
        .approvals
        .iter_mut()
        .find(|open| open.id == id)
        .ok_or_else(|| format!("the approval {id} is not open"))
}

/// The index of the first stage that still needs a decision.
pub(crate) fn first_unresolved(stages: &[Resolution]) -> Option<u32> {
    let index = stages.iter().position(|stage| *stage == Resolution::Unresolved)?;
    u32::try_from(index).ok()
}

//! Turns: started, queued, stopped, completed.

use super::session::{listener_seal, rejected};
use super::{Draft, Stop, ended_item, misuse, resolve};
use crate::codec::{self, Body, ResolvedBy, StopBy, Terminal, TurnError};
use crate::limits;
use crate::modes::Mode;
use crate::state::{Phase, Turn};
use crate::types::{
    CommandId, Effect, LimitFault, Mark, Message, Refusal, TurnBegin, TurnFinish, TurnStart,
    TurnStop,
};
use serde_json::json;

pub(super) fn start(draft: &mut Draft<'_>, start: &TurnStart) -> Result<(), Stop> {
    check_text(&start.text)?;
    let state = draft.state()?;
    let seal = Mode::meet(listener_seal(&start.caller), state.seal);
    let busy = state.turn.is_some();
    let turn = start.command.id.clone();
    if busy {
        match start.if_busy.as_deref() {
            None | Some("queue") => {}
            Some(other) => {
                return Err(rejected(
                    "if_busy_unsupported",
                    format!("a turn is running and this agent cannot {other}; use queue"),
                ));
            }
        }
        let waiting = u64::try_from(state.queued.len()).unwrap_or(u64::MAX);
        if waiting >= limits::QUEUED_TURNS_MAX {
            return Err(rejected(
                "turn_queue_full",
                format!("{waiting} turns wait already; wait for one to end"),
            ));
        }
        draft.push(
            &Body::TurnQueued {
                turn: turn.clone(),
                command: turn.clone(),
                seal,
                text: start.text.clone(),
            },
            Vec::new(),
        )?;
    } else {
        begin(draft, &turn, &start.command.id, seal, &start.text)?;
    }
    let ack = json!({
        "commandId": start.command.id, "status": "accepted", "turnId": turn,
        "startedNewTurn": !busy, "disposition": if busy { "queued" } else { "started" },
    });
    let scope = draft.context.session_id.clone();
    draft.acknowledge(&scope, &start.command, ack.to_string());
    Ok(())
}

/// A turn's text is quoted twice when it becomes the arguments of an action, and
/// stands in a batch several times; what could not be written is refused here.
fn check_text(text: &str) -> Result<(), Stop> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let size = quoted(&quoted(text)).len();
    if size > limits::TURN_TEXT_BYTES_MAX {
        return Err(Stop::Refused(Refusal::TooLarge(LimitFault {
            what: "the turn's text, quoted as arguments".to_owned(),
            limit_bytes: u64::try_from(limits::TURN_TEXT_BYTES_MAX).unwrap_or(u64::MAX),
        })));
    }
    Ok(())
}

fn begin(
    draft: &mut Draft<'_>,
    turn: &str,
    command: &str,
    seal: Option<Mode>,
    text: &str,
) -> Result<(), Stop> {
    draft.push(
        &Body::TurnStarted { turn: turn.to_owned(), command: command.to_owned(), seal },
        vec![Mark::View],
    )?;
    let item = draft.fresh_id();
    draft.push(
        &Body::UserMessage {
            item,
            turn: turn.to_owned(),
            command: command.to_owned(),
            text: text.to_owned(),
        },
        vec![Mark::View],
    )?;
    draft
        .effects
        .push(Effect::Begin(TurnBegin { turn_id: turn.to_owned(), text: text.to_owned() }));
    Ok(())
}

/// Begins the turn that waits longest, if no turn runs.
pub(crate) fn begin_next_turn(draft: &mut Draft<'_>) -> Result<(), Stop> {
    let state = draft.state()?;
    if state.turn.is_some() {
        return Ok(());
    }
    let Some(next) = state.queued.first().cloned() else {
        return Ok(());
    };
    match codec::decode(draft.record(next.sequence)?)? {
        Body::TurnQueued { text, .. } => begin(draft, &next.id, &next.command, next.seal, &text),
        other => Err(misuse(format!("record {} is {}", next.sequence, other.kind()))),
    }
}

pub(super) fn stop(draft: &mut Draft<'_>, stop: &TurnStop) -> Result<(), Stop> {
    let state = draft.state()?;
    let running = state.turn.clone();
    let wanted = match (&stop.turn_id, &running) {
        (Some(id), _) => id.clone(),
        (None, Some(turn)) => turn.id.clone(),
        (None, None) => return Err(missing_run("no turn runs")),
    };
    match running {
        Some(turn) if turn.id == wanted => stop_running(draft, &turn, &stop.command),
        _ if state.queued.iter().any(|queued| queued.id == wanted) => {
            let reason = Some("interrupted before it began".to_owned());
            record_completion(draft, &wanted, Terminal::Cancelled, reason, None, 0)?;
            acknowledge(draft, &stop.command, &wanted);
            Ok(())
        }
        _ => Err(missing_run(&format!("the turn {wanted} does not run"))),
    }
}

fn missing_run(why: &str) -> Stop {
    rejected("missing_run", format!("there is nothing to interrupt: {why}"))
}

fn acknowledge(draft: &mut Draft<'_>, command: &CommandId, turn: &str) {
    let ack = json!({"commandId": command.id, "status": "accepted", "turnId": turn});
    let scope = draft.context.session_id.clone();
    draft.acknowledge(&scope, command, ack.to_string());
}

fn stop_running(draft: &mut Draft<'_>, turn: &Turn, command: &CommandId) -> Result<(), Stop> {
    super::gather(draft)?;
    draft.push(&Body::TurnStopRequested { turn: turn.id.clone(), by: StopBy::Client }, vec![])?;
    stop_items(draft, &turn.id, "interrupted")?;
    acknowledge(draft, command, &turn.id);
    if draft.state()?.turn.is_none() {
        begin_next_turn(draft)?;
    }
    Ok(())
}

/// Settles everything of a turn that does not run; what runs is halted and ends by itself.
pub(super) fn stop_items(draft: &mut Draft<'_>, turn: &str, why: &str) -> Result<(), Stop> {
    for item in draft.state()?.items.clone() {
        if let Some(open) = draft.state()?.approvals.iter().find(|open| open.item == item.id) {
            let open = open.clone();
            resolve(draft, &open, "abort", ResolvedBy::User, why, None)?;
        }
        if item.phase == Phase::Running {
            draft.effects.push(Effect::Halt(item.id.clone()));
        } else {
            ended_item(draft, &item.id, "cancelled", "interrupted", None, Some(why))?;
        }
    }
    if draft.state()?.items.is_empty() {
        complete_turn(draft, turn, Terminal::Cancelled, Some(why.to_owned()), None)?;
    }
    Ok(())
}

/// Completes the running turn. It does not begin the next one.
pub(crate) fn complete_turn(
    draft: &mut Draft<'_>,
    turn: &str,
    terminal: Terminal,
    reason: Option<String>,
    error: Option<TurnError>,
) -> Result<(), Stop> {
    let now = draft.context.now_ms;
    let started = draft.state()?.turn.as_ref().map_or(now, |turn| turn.started_ms);
    record_completion(draft, turn, terminal, reason, error, now.saturating_sub(started))
}

fn record_completion(
    draft: &mut Draft<'_>,
    turn: &str,
    terminal: Terminal,
    reason: Option<String>,
    error: Option<TurnError>,
    duration_ms: u64,
) -> Result<(), Stop> {
    draft.push(
        &Body::TurnCompleted { turn: turn.to_owned(), terminal, reason, error, duration_ms },
        vec![Mark::View],
    )?;
    Ok(())
}

/// The agent says something; it changes nothing but what clients see.
pub(super) fn say(draft: &mut Draft<'_>, message: &Message) -> Result<(), Stop> {
    match &draft.state()?.turn {
        Some(turn) if turn.id == message.turn_id && !turn.stopping => {}
        _ => return Err(misuse(format!("the turn {} does not run", message.turn_id))),
    }
    draft.push(
        &Body::AgentMessage {
            item: message.item_id.clone(),
            turn: message.turn_id.clone(),
            revision: message.revision.max(1),
            text: message.text.clone(),
        },
        vec![Mark::View],
    )?;
    Ok(())
}

/// The agent has nothing more for a turn that has no open items: it ends.
pub(super) fn finish(draft: &mut Draft<'_>, finish: &TurnFinish) -> Result<(), Stop> {
    let TurnFinish { turn_id: turn, failure } = finish;
    let state = draft.state()?;
    match &state.turn {
        Some(running) if running.id == *turn && state.items.is_empty() => {
            let (terminal, error) = match failure {
                Some(message) => {
                    let kind = "agentFailed".to_owned();
                    let message = message.clone();
                    (Terminal::Failed, Some(TurnError { kind, message, retryable: false }))
                }
                None => (Terminal::Completed, None),
            };
            complete_turn(draft, turn, terminal, None, error)?;
            begin_next_turn(draft)
        }
        Some(running) if running.id == *turn => {
            Err(misuse("the last proposal of a turn says that it is the last"))
        }
        _ => Err(misuse(format!("the turn {turn} does not run"))),
    }
}

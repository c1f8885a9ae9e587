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

/// What a turn is about to begin with.
struct Begun<'a> {
    turn: &'a str,
    command: &'a str,
    seal: Option<Mode>,
    text: &'a str,
    display: Option<&'a str>,
}

pub(super) fn start(draft: &mut Draft<'_>, start: &TurnStart) -> Result<(), Stop> {
    check_text(&start.text)?;
    check_text(start.display_text.as_deref().unwrap_or_default())?;
    let state = draft.state()?;
    let seal = Mode::meet(listener_seal(&start.caller), state.seal);
    let turn = start.command.id.clone();
    let replaced = match (state.turn.clone(), start.if_busy.as_deref()) {
        (_, None | Some("queue")) | (None, Some("steer" | "replace")) => None,
        (Some(running), Some("replace")) => Some(running),
        (Some(_), Some("steer")) => {
            let why = "a turn is running and this agent cannot be steered; use queue or replace";
            return Err(rejected("if_busy_unsupported", why.to_owned()));
        }
        (_, Some(other)) => {
            let why = format!("`ifBusy` must be queue, steer or replace, not `{other}`");
            return Err(Stop::Refused(Refusal::Invalid(why)));
        }
    };
    if let Some(running) = &replaced {
        super::gather(draft)?;
        request_stop(draft, running)?;
    }
    // A turn that was replaced may still have something to end.
    let busy = draft.state()?.turn.is_some();
    if busy {
        enqueue(draft, start, seal, replaced.is_some())?;
    } else {
        let (text, display) = (start.text.as_str(), start.display_text.as_deref());
        begin(draft, Begun { turn: &turn, command: &turn, seal, text, display })?;
    }
    let ack = json!({
        "commandId": start.command.id, "status": "accepted", "turnId": turn,
        "startedNewTurn": !busy, "disposition": if busy { "queued" } else { "started" },
    });
    let scope = draft.context.session_id.clone();
    draft.acknowledge(&scope, &start.command, ack.to_string());
    Ok(())
}

fn enqueue(
    draft: &mut Draft<'_>,
    start: &TurnStart,
    seal: Option<Mode>,
    front: bool,
) -> Result<(), Stop> {
    let waiting = u64::try_from(draft.state()?.queued.len()).unwrap_or(u64::MAX);
    if waiting >= limits::QUEUED_TURNS_MAX {
        return Err(rejected(
            "turn_queue_full",
            format!("{waiting} turns wait already; wait for one to end"),
        ));
    }
    draft.push(
        &Body::TurnQueued {
            turn: start.command.id.clone(),
            command: start.command.id.clone(),
            seal,
            text: start.text.clone(),
            display: start.display_text.clone(),
            front,
        },
        Vec::new(),
    )?;
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

fn begin(draft: &mut Draft<'_>, begun: Begun<'_>) -> Result<(), Stop> {
    let Begun { turn, command, seal, text, display } = begun;
    let (turn, command, text) = (turn.to_owned(), command.to_owned(), text.to_owned());
    draft.push(
        &Body::TurnStarted { turn: turn.clone(), command: command.clone(), seal },
        vec![Mark::View],
    )?;
    let item = draft.fresh_id();
    let display = display.map(str::to_owned);
    draft.push(
        &Body::UserMessage { item, turn: turn.clone(), command, text: text.clone(), display },
        vec![Mark::View],
    )?;
    draft.effects.push(Effect::Begin(TurnBegin { turn_id: turn, text }));
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
        Body::TurnQueued { text, display, .. } => {
            let (turn, command, seal) = (next.id.as_str(), next.command.as_str(), next.seal);
            let display = display.as_deref();
            begin(draft, Begun { turn, command, seal, text: &text, display })
        }
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
    request_stop(draft, turn)?;
    acknowledge(draft, command, &turn.id);
    if draft.state()?.turn.is_none() {
        begin_next_turn(draft)?;
    }
    Ok(())
}

fn request_stop(draft: &mut Draft<'_>, turn: &Turn) -> Result<(), Stop> {
    draft.push(&Body::TurnStopRequested { turn: turn.id.clone(), by: StopBy::Client }, vec![])?;
    stop_items(draft, &turn.id, "interrupted")
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
                    // The agent stands where a model does; the wire has no closer word.
                    let kind = "modelError".to_owned();
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

//! Opening a session, changing its mode, leaving it in order.

use super::{Draft, Stop, misuse};
use crate::codec::{Body, StopBy};
use crate::describe;
use crate::modes::Mode;
use crate::state::Phase;
use crate::types::{Caller, Effect, Mark, Refusal, Rejection, SessionLeave, SessionStart, SetMode};
use serde_json::json;

/// A refusal with a reason of its own.
pub(super) fn rejected(reason: &str, message: String) -> Stop {
    Stop::Refused(Refusal::Rejected(Rejection { reason: reason.to_owned(), message }))
}

/// A mode by the word that a client sent.
fn requested_mode(word: &str) -> Result<Mode, Stop> {
    Mode::parse(word).ok_or_else(|| {
        Stop::Refused(Refusal::Invalid(format!(
            "`{word}` is no approval mode; use allowAll, promptUnmatched, onRequest or denyUnmatched"
        )))
    })
}

/// The seal of the caller's listener. A word that is no mode seals everything off.
pub(super) fn listener_seal(caller: &Caller) -> Option<Mode> {
    Mode::parse(&caller.seal)
}

fn ceiling(mode: Mode, why: &str) -> Stop {
    rejected("approval_mode_ceiling", format!("the mode {} is refused: {why}", mode.name()))
}

/// Whether a caller may select a mode at all.
fn check_selectable(mode: Mode, caller: &Caller) -> Result<(), Stop> {
    if caller.withheld.iter().any(|name| name == mode.name()) {
        return Err(ceiling(mode, "placet.toml withholds it"));
    }
    match listener_seal(caller) {
        Some(seal) if mode.within(seal) => Ok(()),
        Some(seal) => Err(ceiling(mode, &format!("this connection is sealed at {}", seal.name()))),
        None => Err(ceiling(mode, "this connection has no seal that allows any mode")),
    }
}

pub(super) fn start(draft: &mut Draft<'_>, start: &SessionStart) -> Result<(), Stop> {
    if !draft.is_new() {
        return Err(misuse("the session has started already"));
    }
    let mode = match &start.mode {
        Some(word) => requested_mode(word)?,
        None => default_mode(&start.caller)?,
    };
    check_selectable(mode, &start.caller)?;
    draft.push(
        &Body::SessionStarted {
            mode,
            seal: Some(mode),
            workspace: start.workspace_root.clone(),
            provider: start.provider_id.clone(),
            model: start.model_id.clone(),
            client: start.caller.client.clone(),
            connection: start.caller.connection.clone(),
        },
        Vec::new(),
    )?;
    let context = draft.context;
    let overview = describe::overview(&context.session_id, &context.log_path, draft.state()?, true);
    let session: serde_json::Value =
        serde_json::from_str(&overview.session).map_err(|error| misuse(error.to_string()))?;
    let ack = json!({"session": session, "viewCursor": overview.head.to_string()}).to_string();
    draft.acknowledge("home", &start.command, ack);
    Ok(())
}

/// What a session starts in when nothing is said: promptUnmatched, or the
/// listener's own seal where that is lower.
fn default_mode(caller: &Caller) -> Result<Mode, Stop> {
    let seal = listener_seal(caller)
        .ok_or_else(|| ceiling(Mode::PromptUnmatched, "this connection has no seal"))?;
    if Mode::PromptUnmatched.within(seal) { Ok(Mode::PromptUnmatched) } else { Ok(seal) }
}

pub(super) fn set_mode(draft: &mut Draft<'_>, set: &SetMode) -> Result<(), Stop> {
    let mode = requested_mode(&set.mode)?;
    check_selectable(mode, &set.caller)?;
    let state = draft.state()?;
    match state.seal {
        Some(seal) if mode.within(seal) => {}
        Some(seal) => {
            let why = format!("the session started sealed at {}", seal.name());
            return Err(ceiling(mode, &why));
        }
        None => {
            return Err(ceiling(mode, "the seals of this session's hosts have no mode in common"));
        }
    }
    let noop = state.mode == mode;
    if noop {
        draft.push(&Body::CommandNoted { command: set.command.id.clone() }, vec![])?;
    } else {
        draft.push(
            &Body::ModeChanged {
                mode,
                command: set.command.id.clone(),
                client: set.caller.client.clone(),
            },
            vec![Mark::View],
        )?;
    }
    let ack = json!({
        "commandId": set.command.id, "status": "accepted",
        "applyOutcome": if noop { "noop" } else { "completed" },
        "effectiveMode": describe::mode_state(draft.state()?),
    });
    let scope = draft.context.session_id.clone();
    draft.acknowledge(&scope, &set.command, ack.to_string());
    Ok(())
}

/// A client gives the session up on this host.
pub(super) fn leave(draft: &mut Draft<'_>, leave: &SessionLeave) -> Result<(), Stop> {
    let state = draft.state()?;
    let runs = state.items.iter().any(|item| item.phase == Phase::Running);
    if (runs || state.turn.is_some() && state.approvals.is_empty()) && !leave.stop {
        let why = "a turn is running; wait for its end, or leave with `stop`".to_owned();
        return Err(rejected("turn_running", why));
    }
    draft.push(&Body::CommandNoted { command: leave.command.id.clone() }, vec![])?;
    close(draft, StopBy::Leave)?;
    let ack = json!({"commandId": leave.command.id, "status": "accepted"});
    let scope = draft.context.session_id.clone();
    draft.acknowledge(&scope, &leave.command, ack.to_string());
    Ok(())
}

/// Nobody watches and nothing is open: the host lets the session go.
pub(super) fn unload(draft: &mut Draft<'_>) -> Result<(), Stop> {
    if !draft.state()?.is_idle() {
        return Err(misuse("the session has open work and is not idle"));
    }
    draft.push(&Body::SessionClosed { reason: "idle".to_owned() }, vec![])?;
    Ok(())
}

/// The host stops in order: what runs is stopped, what waits for a person stays.
pub(super) fn close(draft: &mut Draft<'_>, by: StopBy) -> Result<(), Stop> {
    let (word, why) = match by {
        StopBy::Leave => ("leave", "the session was left"),
        StopBy::Shutdown | StopBy::Client => ("hostShutdown", "the host stopped"),
    };
    let state = draft.state()?;
    if let Some(turn) = state.turn.clone().filter(|_| state.approvals.is_empty()) {
        super::gather(draft)?;
        draft.push(&Body::TurnStopRequested { turn: turn.id.clone(), by }, vec![])?;
        super::turn::stop_items(draft, &turn.id, why)?;
    } else {
        // A parked turn stays, but nothing of it may outlive the host.
        let running = state.items.iter().filter(|item| item.phase == Phase::Running);
        let halts: Vec<Effect> = running.map(|item| Effect::Halt(item.id.clone())).collect();
        draft.effects.extend(halts);
    }
    let running = draft.state()?.items.iter().any(|item| item.phase == Phase::Running);
    let halting = draft.effects.iter().any(|effect| matches!(effect, Effect::Halt(_)));
    if !running && !halting {
        draft.push(&Body::SessionClosed { reason: word.to_owned() }, vec![])?;
    }
    Ok(())
}

//! What the host and the clients may know about a state.

use crate::codec::{self, Body, Request, Resolution, Stage, Subject};
use crate::menu;
use crate::render::{pending, terminal_word};
use crate::state::{Approval, Phase, State};
use crate::time::rfc3339;
use crate::types::{Logged, Overview, Pointer, Presented, Refusal};
use serde_json::{Value, json};

/// What the host may know about a state.
pub(crate) fn overview(session: &str, path: &str, state: &State, loaded: bool) -> Overview {
    let status = match (&state.turn, loaded) {
        (_, false) => "notLoaded",
        (Some(_), true) => "running",
        (None, true) => "idle",
    };
    let attention: Vec<String> = if state.approvals.is_empty() || !loaded {
        Vec::new()
    } else {
        vec!["approvalPending".to_owned()]
    };
    let active = state.turn.as_ref().map(|turn| turn.id.clone());
    let mut object = json!({
        "sessionId": session, "path": path, "status": status, "activeTurnId": active,
        "createdAt": rfc3339(state.created_ms), "updatedAt": rfc3339(state.updated_ms),
        "turnCount": state.turn_count, "workspaceRoot": state.workspace,
        "providerId": state.provider, "modelId": state.model, "forkedFrom": null,
        "sideFrom": null,
        "approvalMode": mode_state(state),
    });
    if let (Value::Object(map), false) = (&mut object, attention.is_empty()) {
        map.insert("attention".to_owned(), json!(attention));
    }
    Overview {
        session: object.to_string(),
        status: status.to_owned(),
        active_turn: active,
        attention,
        pending: state
            .approvals
            .iter()
            .map(|open| Pointer { approval_id: open.id.clone(), sequence: open.sequence })
            .collect(),
        running: state
            .items
            .iter()
            .filter(|item| item.phase == Phase::Running)
            .map(|item| item.id.clone())
            .collect(),
        parked: !state.approvals.is_empty(),
        head: state.head,
        last_turn: state.last_turn.as_ref().map(|last| {
            let mut value = json!({"turnId": last.id, "terminal": terminal_word(last.terminal)});
            if let (Value::Object(map), Some(reason)) = (&mut value, &last.reason) {
                map.insert("reason".to_owned(), json!(reason));
            }
            value.to_string()
        }),
        idle: state.is_idle(),
    }
}

/// The state of the wire's snapshot, without its items: they are the host's to collect.
pub(crate) fn snapshot(state: &State) -> String {
    json!({
        "activeTurn": state.turn.as_ref().map(|turn| json!({
            "turnId": turn.id, "commandId": turn.command,
        })),
        "queuedTurns": state.queued.iter().map(|queued| json!({
            "turnId": queued.id, "commandId": queued.command,
        })).collect::<Vec<_>>(),
        "pendingApprovals": state.approvals.iter().map(|open| json!({
            "approvalId": open.id, "itemId": open.item, "viewCursor": open.sequence.to_string(),
        })).collect::<Vec<_>>(),
        "pendingUserInputs": [], "approvalMode": mode_state(state), "effectiveModel": null,
        "goal": null, "todoList": null, "branch": null, "name": null,
        "tokenUsage": {"promptTokens": 0, "outputTokens": 0, "totalTokens": 0},
        "turnCount": state.turn_count,
    })
    .to_string()
}

/// The wire's `EffectiveApprovalModeState`.
pub(crate) fn mode_state(state: &State) -> Value {
    json!({
        "mode": state.mode.name(), "source": state.source, "lastCommandId": state.selected_by,
    })
}

/// The pending requests of a state, complete, in opening order.
pub(crate) fn present(
    session: &str,
    state: &State,
    opened: &[Logged],
) -> Result<Vec<Presented>, Refusal> {
    state
        .approvals
        .iter()
        .map(|open| {
            let record = opened
                .iter()
                .find(|record| record.header.sequence == open.sequence)
                .ok_or_else(|| Refusal::Misuse(format!("record {} is needed", open.sequence)))?;
            presented(session, open, record)
        })
        .collect()
}

/// One pending request with its stages as they stand now.
pub(crate) fn presented(
    session: &str,
    open: &Approval,
    record: &Logged,
) -> Result<Presented, Refusal> {
    let mut request = opening(open, record)?;
    request.menu = menu::at(&request, open.current);
    let subject = subject_now(&request.subject, &open.stages);
    Ok(Presented {
        approval_id: open.id.clone(),
        sequence: open.sequence,
        params: pending(session, open.sequence, &open.id, &request, &subject, open.current),
    })
}

/// The request that an opening record holds.
pub(crate) fn opening(open: &Approval, record: &Logged) -> Result<Request, Refusal> {
    match codec::decode(record)? {
        Body::ApprovalOpened { approval, request, .. } if approval == open.id => Ok(request),
        _ => Err(Refusal::Misuse(format!("record {} does not open {}", open.sequence, open.id))),
    }
}

/// A subject with the resolutions that its stages have by now.
pub(crate) fn subject_now(subject: &Subject, now: &[Resolution]) -> Subject {
    match subject {
        Subject::Shell { command, workspace, stages } => Subject::Shell {
            command: command.clone(),
            workspace: workspace.clone(),
            stages: stages_now(stages, now),
        },
        other => other.clone(),
    }
}

/// The stages of a subject as a terminal record shows them; none for kinds without stages.
pub(crate) fn evidence(subject: &Subject, now: &[Resolution]) -> Vec<Stage> {
    match subject {
        Subject::Shell { stages, .. } => stages_now(stages, now),
        _ => Vec::new(),
    }
}

/// The stages with the resolutions that they have by now.
fn stages_now(stages: &[Stage], now: &[Resolution]) -> Vec<Stage> {
    stages
        .iter()
        .zip(now)
        .map(|(stage, resolution)| Stage { resolution: resolution.clone(), ..stage.clone() })
        .collect()
}

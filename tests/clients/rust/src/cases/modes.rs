//! Modes on the wire: change, no-op, and the ceiling at the start and at every change.

use crate::ground::{Outcome, Place, check, equal, new_id};
use crate::talk::{Talk, start_params};
use crate::wire::{CLIENT_NAME, Wire};
use muse_code_sdk::msp::{
    ApprovalMode, ApprovalModeApplyOutcome, ApprovalModeSource, ErrorKind, ItemStatus,
    SessionApprovalModeChangedParams, SessionSetApprovalModeParams, SessionSetApprovalModeResult,
    SessionStartResult, TurnTerminal,
};

crate::cases![mode_change, mode_noop, mode_ceiling_at_change, mode_ceiling_at_start];

const MODES: [ApprovalMode; 4] = [
    ApprovalMode::AllowAll,
    ApprovalMode::PromptUnmatched,
    ApprovalMode::OnRequest,
    ApprovalMode::DenyUnmatched,
];

/// The order of the modes: `onRequest` stands beside the two that are below `allowAll` in a row.
fn at_most(mode: &ApprovalMode, seal: &ApprovalMode) -> bool {
    use ApprovalMode::{AllowAll, DenyUnmatched, PromptUnmatched};
    mode == seal || *seal == AllowAll || (*seal == PromptUnmatched && *mode == DenyUnmatched)
}

fn change(talk: &Talk<'_>, mode: &ApprovalMode) -> SessionSetApprovalModeParams {
    SessionSetApprovalModeParams { session_id: talk.id.clone(), command_id: new_id(), mode: *mode }
}

async fn set(talk: &Talk<'_>, mode: &ApprovalMode) -> Outcome<SessionSetApprovalModeResult> {
    let params = change(talk, mode);
    let ack: SessionSetApprovalModeResult =
        talk.host.call("session/setApprovalMode", &params).await?;
    equal(&ack.effective_mode.mode, mode, "the effective mode")?;
    if ack.apply_outcome == ApprovalModeApplyOutcome::Completed {
        equal(
            (&ack.effective_mode.source, ack.effective_mode.last_command_id.as_ref()),
            (&ApprovalModeSource::ApprovalReconfigure, Some(&params.command_id)),
            "how the mode took effect",
        )?;
        let of =
            |changed: &SessionApprovalModeChangedParams| changed.command_id == params.command_id;
        let event = talk.host.event("session/approvalModeChanged", of).await?;
        equal((&event.mode, event.client_name.as_str()), (mode, CLIENT_NAME), "the event")?;
    }
    Ok(ack)
}

async fn beyond(talk: &Talk<'_>, mode: &ApprovalMode) -> Outcome {
    let params = change(talk, mode);
    // The same command again: the same refusal.
    for _ in 0..2 {
        let kind = ErrorKind::CommandRejected;
        let data = talk.host.refused("session/setApprovalMode", &params, -32030, kind).await?;
        equal(data.reason.as_deref(), Some("approval_mode_ceiling"), "the reason")?;
    }
    Ok(())
}

async fn mode_change(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, Some(ApprovalMode::AllowAll)).await?;
    talk.run("touch free.txt").await?;
    set(&talk, &ApprovalMode::PromptUnmatched).await?;
    let ask = talk.opened("touch asked.txt").await?;
    set(&talk, &ApprovalMode::DenyUnmatched).await?;
    equal(talk.pending().await?, vec![ask.clone()], "what pends behind the change")?;
    talk.decide(&talk.decision(&ask, "allow_once"), true).await?;
    talk.end(&ask.turn_id, TurnTerminal::Completed).await?;
    check(place.path("workspace/asked.txt").exists(), "what a person allowed to run")?;
    for mode in [ApprovalMode::DenyUnmatched, ApprovalMode::OnRequest] {
        set(&talk, &mode).await?;
        let turn = talk.turn("touch denied.txt").await?;
        let item = talk.item(&turn, ItemStatus::Rejected).await?;
        equal(item.tool_call.failure_kind.as_deref(), Some("approvalDenied"), "failureKind")?;
        talk.end(&turn, TurnTerminal::Completed).await?;
    }
    set(&talk, &ApprovalMode::AllowAll).await?;
    talk.run("touch again.txt").await?;
    check(!place.path("workspace/denied.txt").exists(), "the denied ones not to have run")?;
    let changes: Vec<SessionApprovalModeChangedParams> =
        talk.paged("session/approvalModeChanged").await?;
    equal(changes.len(), 4, "durable changes")?;
    host.close().await
}

async fn mode_noop(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    let talk = Talk::start(&host, place, Some(ApprovalMode::AllowAll)).await?;
    let held = set(&talk, &ApprovalMode::AllowAll).await?;
    equal(&held.apply_outcome, &ApprovalModeApplyOutcome::Noop, "the outcome")?;
    equal(
        (&held.effective_mode.source, held.effective_mode.last_command_id.as_deref()),
        (&ApprovalModeSource::Startup, None),
        "how the mode took effect",
    )?;
    let changed = set(&talk, &ApprovalMode::DenyUnmatched).await?;
    let noop = set(&talk, &ApprovalMode::DenyUnmatched).await?;
    equal(&noop.apply_outcome, &ApprovalModeApplyOutcome::Noop, "the outcome behind a change")?;
    equal(noop.effective_mode, changed.effective_mode, "the effective mode of the no-op")?;
    talk.pending().await?;
    let events: Vec<SessionApprovalModeChangedParams> = host.all("session/approvalModeChanged")?;
    equal(events.len(), 1, "events for one change and two no-ops")?;
    host.close().await
}

async fn mode_ceiling_at_change(place: &Place) -> Outcome {
    let host = Wire::spawn(place).await?;
    for seal in &MODES {
        let talk = Talk::start(&host, place, Some(*seal)).await?;
        // Down and up again, twice: what counts is the seal, not the mode held now.
        let walk = MODES.iter().chain(MODES.iter().rev()).chain(&MODES);
        for mode in walk {
            if at_most(mode, seal) {
                set(&talk, mode).await?;
            } else {
                beyond(&talk, mode).await?;
            }
        }
        let changes: Vec<SessionApprovalModeChangedParams> =
            talk.paged("session/approvalModeChanged").await?;
        check(
            changes.iter().all(|changed| at_most(&changed.mode, seal)),
            "no change above the seal",
        )?;
    }
    host.close().await
}

async fn mode_ceiling_at_start(place: &Place) -> Outcome {
    for seal in &MODES {
        let name = serde_json::to_string(seal)?;
        place.configure(&format!("[authority]\nstdio = {name}\n"))?;
        let host = Wire::spawn(place).await?;
        for mode in &MODES {
            let params = start_params(place, Some(*mode))?;
            if at_most(mode, seal) {
                let started: SessionStartResult = host.call("session/start", &params).await?;
                let talk = Talk { host: &host, id: started.session.session_id };
                let held = set(&talk, mode).await?;
                equal(
                    &held.apply_outcome,
                    &ApprovalModeApplyOutcome::Noop,
                    "the mode at the start",
                )?;
            } else {
                let kind = ErrorKind::CommandRejected;
                let data = host.refused("session/start", &params, -32030, kind).await?;
                equal(data.reason.as_deref(), Some("approval_mode_ceiling"), "the reason")?;
            }
        }
        host.close().await?;
    }
    Ok(())
}

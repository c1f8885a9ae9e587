//! Decisions: checked against what is pending now, then recorded, then acknowledged.

use super::{Draft, Stop, close_turn, denied_item, misuse, settle};
use crate::codec::{self, Amendment, Body, Request, Resolution, ResolvedBy};
use crate::describe;
use crate::erase;
use crate::fold::first_unresolved;
use crate::grants;
use crate::menu::Choice;
use crate::render;
use crate::state::Approval;
use crate::types::{
    self, ChoiceFault, Decide, Effect, Mark, Refusal, Requirement, Resolution as Winner,
};
use serde_json::json;

pub(super) fn decide(draft: &mut Draft<'_>, decide: &Decide) -> Result<(), Stop> {
    let open = pending(draft, &decide.approval_id)?;
    let current = Requirement { approval_id: open.id.clone(), source_index: open.current };
    if decide.requirement != current {
        return Err(Stop::Refused(Refusal::RequirementStale(current)));
    }
    let request = describe::opening(&open, draft.record(open.sequence)?)?;
    let choice = chosen(&open, &request, decide)?;
    if open.protected && !decide.caller.subscribed {
        return Err(Stop::Refused(Refusal::ReviewerUnavailable(open.id)));
    }
    let terminal = if choice.decision == "approved" {
        approve_stage(draft, &open, &request, &choice, decide)?
    } else if choice.approves() {
        approve(draft, &open, &request, &choice, decide)?;
        true
    } else {
        resolve(draft, &open, &choice.decision, ResolvedBy::User, "rejected", Some(decide))?;
        denied_item(draft, &open.item, "approval aborted")?;
        close_turn(draft, &open.turn)?;
        true
    };
    let ack = json!({
        "commandId": decide.command.id, "status": "accepted", "approvalId": open.id,
        "terminal": terminal,
    });
    let scope = draft.context.session_id.clone();
    draft.acknowledge(&scope, &decide.command, ack.to_string());
    Ok(())
}

/// The approval if it is pending; otherwise the refusal that names the winner.
fn pending(draft: &Draft<'_>, approval: &str) -> Result<Approval, Stop> {
    if let Some(open) = draft.state()?.approval(approval) {
        return Ok(open.clone());
    }
    let Some(record) = draft.closing(approval)? else {
        return Err(Stop::Refused(Refusal::ApprovalNotFound(approval.to_owned())));
    };
    // What was decided was erased: nobody knows it any more.
    if record.body.is_none() && erase::can_be(record) {
        return Err(Stop::Refused(Refusal::ApprovalNotFound(approval.to_owned())));
    }
    match codec::decode(record)? {
        Body::ApprovalResolved { approval, decision, by, .. } => {
            Err(Stop::Refused(Refusal::AlreadyResolved(Winner {
                approval_id: approval,
                decision,
                resolved_by: render::resolver(by).to_owned(),
                sequence: record.header.sequence,
            })))
        }
        other => Err(misuse(format!("{} closes no approval", other.kind()))),
    }
}

fn chosen(open: &Approval, request: &Request, decide: &Decide) -> Result<Choice, Stop> {
    let fault = |why: &str| {
        Stop::Refused(Refusal::ChoiceInvalid(ChoiceFault {
            approval_id: open.id.clone(),
            choice_id: decide.choice_id.clone(),
            why: why.to_owned(),
        }))
    };
    let choice = request
        .menu
        .iter()
        .find(|choice| choice.id == decide.choice_id)
        .ok_or_else(|| fault("it is not on this approval's menu"))?;
    if decide.feedback && !choice.feedback {
        return Err(fault("it takes no feedback"));
    }
    Ok(choice.clone())
}

/// Allows the current stage once; terminal when no stage is left.
fn approve_stage(
    draft: &mut Draft<'_>,
    open: &Approval,
    request: &Request,
    choice: &Choice,
    decide: &Decide,
) -> Result<bool, Stop> {
    let mut stages = open.stages.clone();
    if let Some(stage) = usize::try_from(open.current).ok().and_then(|i| stages.get_mut(i)) {
        *stage = Resolution::AllowOnce;
    }
    let Some(next) = first_unresolved(&stages) else {
        approve(draft, open, request, choice, decide)?;
        return Ok(true);
    };
    draft.push(
        &Body::StageDecided {
            approval: open.id.clone(),
            item: open.item.clone(),
            source_index: open.current,
            choice: choice.id.clone(),
            decision: choice.decision.clone(),
            resolution: Resolution::AllowOnce,
            current: next,
            subject: describe::subject_now(&request.subject, &stages),
            menu: request.menu.clone(),
            command: decide.command.id.clone(),
            client: decide.caller.client.clone(),
            connection: decide.caller.connection.clone(),
        },
        vec![Mark::View],
    )?;
    let record = draft.record(open.sequence)?;
    let now = draft.state()?.approval(&open.id).cloned();
    let now = now.ok_or_else(|| misuse("the approval is gone"))?;
    let asked = describe::presented(&draft.context.session_id, &now, record)?;
    draft.effects.push(Effect::Ask(asked));
    Ok(false)
}

/// Approves the whole action and has it prepared; a grant that this gives settles what
/// else it covers.
fn approve(
    draft: &mut Draft<'_>,
    open: &Approval,
    request: &Request,
    choice: &Choice,
    decide: &Decide,
) -> Result<(), Stop> {
    let item = draft.state()?.item(&open.item).cloned();
    let item = item.ok_or_else(|| misuse("the item is gone"))?;
    let action = draft.action(item.sequence)?;
    let lasting = lasting(choice, request, &action);
    let gives = lasting.is_some();
    let by_hand = Ending { decide: Some(decide), lasting, ..Ending::approved(open) };
    close(draft, open, &choice.decision, ResolvedBy::User, "approved", by_hand)?;
    draft.effects.push(Effect::Prepare(action));
    if gives { settle::siblings(draft) } else { Ok(()) }
}

/// The amendment and the grant that a lasting choice makes.
///
/// The grant is on the subject that was shown, not on what the action would be read as now.
fn lasting(
    choice: &Choice,
    request: &Request,
    action: &types::Action,
) -> Option<(Amendment, codec::Grant)> {
    if choice.scope != "session" {
        return None;
    }
    let grant = grants::grant(&request.subject, action)?;
    let preview = choice.preview.clone()?;
    Some((Amendment { durability: choice.scope.clone(), preview }, grant))
}

/// Closes a pending approval without leaving a grant.
pub(crate) fn resolve(
    draft: &mut Draft<'_>,
    open: &Approval,
    decision: &str,
    by: ResolvedBy,
    why: &str,
    decide: Option<&Decide>,
) -> Result<(), Stop> {
    let approved = decision.starts_with("approved");
    let ending = if approved { Ending::approved(open) } else { Ending::unchanged(open) };
    close(draft, open, decision, by, why, Ending { decide, ..ending })
}

/// What a terminal record holds besides the decision.
pub(super) struct Ending<'a> {
    /// What has become of each stage.
    pub(super) stages: Vec<Resolution>,
    pub(super) decide: Option<&'a Decide>,
    pub(super) lasting: Option<(Amendment, codec::Grant)>,
}

impl Ending<'_> {
    /// Every stage as it is.
    pub(super) fn unchanged(open: &Approval) -> Self {
        Ending { stages: open.stages.clone(), decide: None, lasting: None }
    }

    /// What was still open is allowed once.
    fn approved(open: &Approval) -> Self {
        let mut ending = Ending::unchanged(open);
        for stage in ending.stages.iter_mut().filter(|stage| **stage == Resolution::Unresolved) {
            *stage = Resolution::AllowOnce;
        }
        ending
    }
}

pub(super) fn close(
    draft: &mut Draft<'_>,
    open: &Approval,
    decision: &str,
    by: ResolvedBy,
    why: &str,
    ending: Ending<'_>,
) -> Result<(), Stop> {
    let request = describe::opening(open, draft.drafted(open.sequence)?)?;
    let Ending { stages, decide, lasting } = ending;
    let evidence = describe::evidence(&request.subject, &stages);
    let (amendment, grant) = lasting.unzip();
    draft.push(
        &Body::ApprovalResolved {
            approval: open.id.clone(),
            item: open.item.clone(),
            turn: open.turn.clone(),
            decision: decision.to_owned(),
            by,
            why: why.to_owned(),
            amendment,
            grant,
            command: decide.map(|decide| decide.command.id.clone()),
            client: decide.map(|decide| decide.caller.client.clone()),
            connection: decide.map(|decide| decide.caller.connection.clone()),
            evidence,
        },
        vec![Mark::Closes(open.id.clone()), Mark::View],
    )?;
    Ok(())
}

//! Decisions: checked against what is pending now, then recorded, then acknowledged.

use super::{Draft, Stop, action, close_turn, denied_item, keeping, misuse, settle};
use crate::codec::{self, Amendment, Body, Lasting, Request, Resolution, ResolvedBy, Stage};
use crate::describe;
use crate::erase;
use crate::fold::first_unresolved;
use crate::grants;
use crate::menu::{self, Choice};
use crate::render;
use crate::saved;
use crate::state::{Approval, State};
use crate::types::{ChoiceFault, Decide, Effect, Mark, Refusal, Requirement, Resolution as Winner};
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
    let terminal = if !choice.approves() {
        resolve(draft, &open, &choice.decision, ResolvedBy::User, "rejected", Some(decide))?;
        denied_item(draft, &open.item, "approval aborted")?;
        close_turn(draft, &open.turn)?;
        true
    } else if choice.scope == "session" {
        let stages = Ending::approved(&open).stages;
        approve(draft, &open, &request, &choice, decide, stages)?;
        true
    } else {
        approve_stage(draft, &open, &request, &choice, decide)?
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
    let choice = menu::at(request, open.current)
        .into_iter()
        .find(|choice| choice.id == decide.choice_id)
        .ok_or_else(|| fault("it is not on this approval's menu"))?;
    if decide.feedback && !choice.feedback {
        return Err(fault("it takes no feedback"));
    }
    Ok(choice)
}

/// Allows the current stage, once or with a grant for what it starts with; terminal when
/// no stage is left.
fn approve_stage(
    draft: &mut Draft<'_>,
    open: &Approval,
    request: &Request,
    choice: &Choice,
    decide: &Decide,
) -> Result<bool, Stop> {
    let words = |index: u32| {
        let granted = |stage: &Stage| (stage.prefix.clone(), stage.exact);
        menu::stage(request, index).filter(|_| choice.scope == menu::LOCAL).map(granted)
    };
    let granted = words(open.current);
    let resolution = match &granted {
        Some((prefix, _)) => Resolution::PolicyAmendment { prefix: prefix.clone() },
        None => Resolution::AllowOnce,
    };
    let mut stages = open.stages.clone();
    let mut also = Vec::new();
    for (index, stage) in (0..).zip(stages.iter_mut()) {
        let same = granted.is_some() && words(index) == granted;
        if index == open.current {
            *stage = resolution.clone();
        } else if same && *stage == Resolution::Unresolved {
            *stage = resolution.clone();
            also.push(index);
        }
    }
    let Some(next) = first_unresolved(&stages) else {
        approve(draft, open, request, choice, decide, stages)?;
        return Ok(true);
    };
    draft.push(
        &Body::StageDecided {
            approval: open.id.clone(),
            item: open.item.clone(),
            source_index: open.current,
            also,
            choice: choice.id.clone(),
            decision: choice.decision.clone(),
            resolution,
            current: next,
            subject: describe::subject_now(&request.subject, &stages),
            menu: menu::at(request, next),
            command: decide.command.id.clone(),
            client: decide.caller.client.clone(),
            connection: decide.caller.connection.clone(),
        },
        vec![Mark::View],
    )?;
    action::ask(draft, &open.id)?;
    Ok(false)
}

/// Approves the whole action and has it prepared. A grant for the session settles what
/// else it covers; one that outlives it first has to be kept.
fn approve(
    draft: &mut Draft<'_>,
    open: &Approval,
    request: &Request,
    choice: &Choice,
    decide: &Decide,
    stages: Vec<Resolution>,
) -> Result<(), Stop> {
    let item = draft.state()?.item(&open.item).cloned();
    let item = item.ok_or_else(|| misuse("the item is gone"))?;
    let action = draft.action(item.sequence)?;
    let mut ending = Ending { stages, decide: Some(decide), ..Ending::unchanged(open) };
    if choice.scope == "session" {
        // The grant is on the subject that was shown, not on what the action would be read as now.
        ending.grant =
            grants::grant(&request.subject, &action).filter(|_| choice.preview.is_some());
        ending.amendment = amendment(choice, &ending.grant);
    } else {
        ending.lasting = lasting(draft.state()?, open, request, choice, &ending.stages);
        ending.amendment = ending.lasting.as_ref().map(|lasting| Amendment {
            durability: menu::LOCAL.to_owned(),
            preview: lasting.preview.clone(),
        });
    }
    let gives = ending.grant.is_some();
    close(draft, open, &choice.decision, ResolvedBy::User, "approved", ending)?;
    keeping::keep_new(draft, &open.id)?;
    draft.effects.push(Effect::Prepare(action));
    if gives { settle::siblings(draft) } else { Ok(()) }
}

/// The session grant as clients are told it.
fn amendment(choice: &Choice, grant: &Option<codec::Grant>) -> Option<Amendment> {
    let preview = choice.preview.clone().filter(|_| grant.is_some())?;
    Some(Amendment { durability: choice.scope.clone(), preview })
}

/// The grant that outlives the session, if this decision or one about an earlier stage
/// gave one.
fn lasting(
    state: &State,
    open: &Approval,
    request: &Request,
    choice: &Choice,
    stages: &[Resolution],
) -> Option<Lasting> {
    let root = request.root.clone()?;
    let given = match saved::of_subject(&request.subject) {
        Some(whole) if choice.scope == menu::LOCAL => vec![whole],
        Some(_) => Vec::new(),
        None => saved::given(request, stages, &root),
    };
    let (text, preview) = saved::written(&open.id, &root, &given)?;
    Some(Lasting { root, text, preview, mode: state.mode_in_force() })
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
    decide: Option<&'a Decide>,
    amendment: Option<Amendment>,
    grant: Option<codec::Grant>,
    lasting: Option<Lasting>,
}

impl Ending<'_> {
    /// Every stage as it is.
    pub(super) fn unchanged(open: &Approval) -> Self {
        Ending {
            stages: open.stages.clone(),
            decide: None,
            amendment: None,
            grant: None,
            lasting: None,
        }
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
    let Ending { stages, decide, amendment, grant, lasting } = ending;
    let evidence = describe::evidence(&request.subject, &stages);
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
            lasting,
            command: decide.map(|decide| decide.command.id.clone()),
            client: decide.map(|decide| decide.caller.client.clone()),
            connection: decide.map(|decide| decide.caller.connection.clone()),
            evidence,
        },
        vec![Mark::Closes(open.id.clone()), Mark::View],
    )?;
    Ok(())
}

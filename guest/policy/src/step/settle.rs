//! A grant that was just given settles the other pending requests that it covers.
//!
//! They are judged again as recovery judges them: with facts taken anew and never by
//! the mode. What became protected, or met a deny or ask rule meanwhile, is left to the
//! person who is asked; so is what is no longer what was shown. A rule that came meanwhile
//! only closes: what it denies is denied, and nothing is allowed by it.

use super::decide::{Ending, close};
use super::{Draft, Needs, Stop, action, misuse};
use crate::codec::{self, Body, Request, Resolution, ResolvedBy};
use crate::describe;
use crate::evaluate::{self, Verdict, facts_digest, kind};
use crate::fold::first_unresolved;
use crate::grants;
use crate::limits;
use crate::menu;
use crate::rules::Origin;
use crate::state::Approval;
use crate::subject;
use crate::types::{Action, Coverage, Effect, Mark, TableRow};

/// A pending request that a grant may cover.
struct Candidate {
    open: Approval,
    request: Request,
    action: Action,
}

/// Settles every pending request that a grant covers by now, each with a terminal record
/// of its own that names the grant; of several stages those that it covers.
pub(super) fn siblings(draft: &mut Draft<'_>) -> Result<(), Stop> {
    for candidate in coverable(draft)? {
        let reserved = u64::try_from(limits::RECOVERY_BYTES_RESERVED).unwrap_or(u64::MAX);
        if !draft.has_room_for(candidate.open.bytes.saturating_add(reserved)) {
            break;
        }
        settle(draft, &candidate)?;
    }
    Ok(())
}

/// The requests that a grant may cover.
fn coverable(draft: &Draft<'_>) -> Result<Vec<Candidate>, Stop> {
    let state = draft.state()?;
    let rules = draft.rules()?;
    let kept = rules.rules().iter().filter(|rule| rule.origin() == Origin::Grants);
    let kept: Vec<&str> = kept.map(|rule| rule.kind().word()).collect();
    gather(
        draft,
        |open| !open.protected,
        |request, action| {
            let subject = &request.subject;
            kept.contains(&kind(subject)) || grants::held(state, subject, action).is_some()
        },
    )
}

/// The pending requests that are worth judging, with everything that judging them reads:
/// of those that are `looked` at, the ones that are `worth` it.
fn gather(
    draft: &Draft<'_>,
    looked: impl Fn(&Approval) -> bool,
    worth: impl Fn(&Request, &Action) -> bool,
) -> Result<Vec<Candidate>, Stop> {
    let state = draft.state()?;
    let pending = || state.approvals.iter().filter(|open| looked(open));
    let mut needs = Needs::default();
    for open in pending() {
        needs.of(draft.record(open.sequence))?;
        needs.of(draft.record(proposed(draft, open)?))?;
    }
    needs.ask()?;
    let mut candidates = Vec::new();
    for open in pending() {
        let request = describe::opening(open, draft.record(open.sequence)?)?;
        let action = draft.action(proposed(draft, open)?)?;
        if worth(&request, &action) {
            needs.of(draft.facts(&action))?;
            candidates.push(Candidate { open: open.clone(), request, action });
        }
    }
    needs.ask()?;
    Ok(candidates)
}

/// Closes every pending request that a deny rule covers by now, each with a terminal
/// record of its own that names the rule.
pub(super) fn denied(draft: &mut Draft<'_>) -> Result<(), Stop> {
    for Candidate { open, action, .. } in gather(draft, |_| true, |_, _| true)? {
        let verdict = judged(draft, &action)?;
        if verdict.row == TableRow::DenyRule {
            let ending = Ending::unchanged(&open);
            close(draft, &open, "denied", ResolvedBy::Policy, &verdict.reason, ending)?;
            action::denied_item(draft, &open.item, &verdict.reason)?;
            action::close_turn(draft, &open.turn)?;
        }
    }
    Ok(())
}

/// What rules and grants say of an action now, with its facts of now.
fn judged(draft: &Draft<'_>, action: &Action) -> Result<Verdict, Stop> {
    let (state, facts) = (draft.state()?, draft.facts(action)?);
    let reading = subject::placed(action, facts, state.workspace.as_deref());
    let rules = draft.rules()?;
    Ok(evaluate::without_mode(state, draft.context, &rules, action, &reading, facts))
}

/// The record that holds the action of an approval.
fn proposed(draft: &Draft<'_>, open: &Approval) -> Result<u64, Stop> {
    let item = draft.state()?.item(&open.item);
    item.map(|item| item.sequence).ok_or_else(|| misuse("the item is gone"))
}

fn settle(draft: &mut Draft<'_>, candidate: &Candidate) -> Result<(), Stop> {
    let Candidate { open, request, action } = candidate;
    let facts = draft.facts(action)?;
    let state = draft.state()?;
    let shown = state.item(&open.item).map(|item| item.facts.as_str());
    if shown != Some(facts_digest(&codec::Facts::from(facts)).as_str()) {
        return Ok(());
    }
    let verdict = judged(draft, action)?;
    let by_grant = |coverage: &&Coverage| grants::named(coverage).is_some();
    let Some(grant) = verdict.coverage.iter().find(by_grant).cloned() else { return Ok(()) };
    let why = grants::named(&grant).unwrap_or_default();
    let decision = match grant {
        Coverage::Grant(_) => "approvedForSession",
        _ => "approved",
    };
    let mut ending = Ending::unchanged(open);
    let mut covered = None;
    let now = verdict.resolutions().into_iter().zip(&verdict.coverage);
    for (index, (stage, (now, coverage))) in (0..).zip(ending.stages.iter_mut().zip(now)) {
        if *stage == Resolution::Unresolved && by_grant(&coverage) {
            *stage = now;
            covered = covered.or(Some(index));
        }
    }
    match (first_unresolved(&ending.stages), covered) {
        (None, _) => {
            close(draft, open, decision, ResolvedBy::Policy, &why, ending)?;
            draft.effects.push(Effect::Prepare(action.clone()));
            Ok(())
        }
        (Some(next), Some(first)) => {
            cover(draft, open, request, Covered { stages: ending.stages, first, next, why })
        }
        (Some(_), None) => Ok(()),
    }
}

/// Stages of a request that stays open.
struct Covered {
    stages: Vec<Resolution>,
    first: u32,
    next: u32,
    why: String,
}

fn cover(
    draft: &mut Draft<'_>,
    open: &Approval,
    request: &Request,
    covered: Covered,
) -> Result<(), Stop> {
    let Covered { stages, first, next, why } = covered;
    draft.push(
        &Body::StagesCovered {
            approval: open.id.clone(),
            item: open.item.clone(),
            subject: describe::subject_now(&request.subject, &stages),
            stages,
            source_index: first,
            current: next,
            menu: menu::at(request, next),
            why,
        },
        vec![Mark::View],
    )?;
    // Asked again only where the question is another one.
    if next == open.current { Ok(()) } else { action::ask(draft, &open.id) }
}

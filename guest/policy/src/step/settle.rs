//! A grant that was just given settles the other pending requests that it covers.
//!
//! They are judged again as recovery judges them: with facts taken anew and never by
//! the mode. What became protected, or met a deny or ask rule meanwhile, is left to the
//! person who is asked; so is what is no longer what was shown.

use super::decide::{Ending, close};
use super::{Draft, Needs, Stop, misuse};
use crate::codec::{self, Request, Resolution, ResolvedBy};
use crate::describe;
use crate::evaluate::{self, facts_digest};
use crate::grants;
use crate::state::Approval;
use crate::subject;
use crate::types::{Action, Coverage, Effect};

/// A pending request that a grant may cover.
struct Candidate {
    open: Approval,
    action: Action,
}

/// Settles every pending request that a grant of this session covers by now, each with
/// a terminal record of its own that names the grant.
pub(super) fn siblings(draft: &mut Draft<'_>) -> Result<(), Stop> {
    for candidate in gather(draft)? {
        settle(draft, &candidate)?;
    }
    Ok(())
}

/// The requests that are worth judging, with everything that judging them reads.
fn gather(draft: &Draft<'_>) -> Result<Vec<Candidate>, Stop> {
    let state = draft.state()?;
    let pending = || state.approvals.iter().filter(|open| !open.protected);
    let mut needs = Needs::default();
    for open in pending() {
        needs.of(draft.record(open.sequence))?;
        needs.of(draft.record(proposed(draft, open)?))?;
    }
    needs.ask()?;
    let mut candidates = Vec::new();
    for open in pending() {
        let Request { subject, .. } = describe::opening(open, draft.record(open.sequence)?)?;
        let action = draft.action(proposed(draft, open)?)?;
        if grants::held(state, &subject, &action).is_some() {
            needs.of(draft.facts(&action))?;
            candidates.push(Candidate { open: open.clone(), action });
        }
    }
    needs.ask()?;
    Ok(candidates)
}

/// The record that holds the action of an approval.
fn proposed(draft: &Draft<'_>, open: &Approval) -> Result<u64, Stop> {
    let item = draft.state()?.item(&open.item);
    item.map(|item| item.sequence).ok_or_else(|| misuse("the item is gone"))
}

fn settle(draft: &mut Draft<'_>, candidate: &Candidate) -> Result<(), Stop> {
    let Candidate { open, action } = candidate;
    let facts = draft.facts(action)?;
    let state = draft.state()?;
    let shown = state.item(&open.item).map(|item| item.facts.as_str());
    if shown != Some(facts_digest(&codec::Facts::from(facts)).as_str()) {
        return Ok(());
    }
    let reading = subject::placed(action, facts, state.workspace.as_deref());
    let verdict = evaluate::without_mode(state, draft.context, action, &reading, facts);
    let Some(grant) = verdict.granted_by().map(str::to_owned) else { return Ok(()) };
    let mut ending = Ending::unchanged(open);
    let resolutions = verdict.resolutions();
    for (stage, (now, covered)) in
        ending.stages.iter_mut().zip(resolutions.into_iter().zip(&verdict.coverage))
    {
        if *stage == Resolution::Unresolved && matches!(covered, Coverage::Grant(_)) {
            *stage = now;
        }
    }
    // What is left to the person is not settled by a rule that came meanwhile.
    if ending.stages.contains(&Resolution::Unresolved) {
        return Ok(());
    }
    let why = format!("session grant of {grant}");
    close(draft, open, "approvedForSession", ResolvedBy::Policy, &why, ending)?;
    draft.effects.push(Effect::Prepare(action.clone()));
    Ok(())
}

//! More than may be asked about at once: what waits for its turn, and what it then comes to.

use super::action::{ask_or_deny, needs_approval, record_grant};
use super::{Draft, Needs, Stop};
use crate::codec::{Body, Item};
use crate::evaluate;
use crate::ids;
use crate::limits;
use crate::state;
use crate::subject;
use crate::types::{Decision, Effect, Mark};

/// Judges again, in order, what had waited for its turn, while there is room.
///
/// `by_mode` is false at recovery: what a restart finds is never settled by the mode.
pub(crate) fn promote(draft: &mut Draft<'_>, by_mode: bool) -> Result<(), Stop> {
    // First as many as there is room for, then, if not all of them took a place, any.
    for all in [false, true] {
        for item in gather_waiting(draft, all)? {
            if !draft.state()?.has_room() {
                return Ok(());
            }
            judge_again(draft, &item, by_mode)?;
        }
    }
    Ok(())
}

fn judge_again(draft: &mut Draft<'_>, item: &state::Item, by_mode: bool) -> Result<(), Stop> {
    let action = draft.action(item.sequence)?;
    let facts = draft.facts(&action)?;
    let state = draft.state()?.clone();
    let reading = subject::placed(&action, facts, state.workspace.as_deref());
    let verdict = if by_mode {
        evaluate::evaluate(
            &state,
            draft.context,
            &*draft.rules()?,
            &action,
            &reading,
            facts,
            &mut *draft.ask,
        )
    } else {
        evaluate::without_mode(&state, draft.context, &*draft.rules()?, &action, &reading, facts)
    };
    // Of the item, so that a recovery that is done again opens the same one.
    let approval = needs_approval(&verdict).then(|| ids::judged(&item.id));
    draft.asked = verdict.asked.clone();
    let mut shown = Item::started(&(&action).into(), approval.clone());
    shown.revision = item.revision.saturating_add(1);
    draft.push(
        &Body::ActionJudged {
            facts: facts.into(),
            verdict: verdict.stored(),
            approval: approval.clone(),
            held: verdict.decision != Decision::Allow,
            shown,
            turn: item.turn.clone(),
        },
        vec![Mark::View],
    )?;
    if verdict.decision == Decision::Allow {
        record_grant(draft, approval, &action, &reading, &verdict)?;
        draft.effects.push(Effect::Prepare(action));
        return Ok(());
    }
    ask_or_deny(draft, approval, &action, reading, &verdict)
}

/// The items that wait, as many as there is room for or all, with everything that
/// judging them reads.
fn gather_waiting(draft: &Draft<'_>, all: bool) -> Result<Vec<state::Item>, Stop> {
    let state = draft.state()?;
    if !state.has_room() || state.turn.as_ref().is_some_and(|turn| turn.stopping) {
        return Ok(Vec::new());
    }
    let most = usize::try_from(limits::OPEN_APPROVALS_MAX).unwrap_or(0);
    let room = if all { usize::MAX } else { most.saturating_sub(state.approvals.len()) };
    let waiting: Vec<state::Item> = state.deferred().take(room).cloned().collect();
    let mut needs = Needs::default();
    for item in &waiting {
        needs.of(draft.drafted(item.sequence))?;
    }
    needs.ask()?;
    for item in &waiting {
        needs.of(draft.facts(&draft.action(item.sequence)?))?;
    }
    needs.ask()?;
    Ok(waiting)
}

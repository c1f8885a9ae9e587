//! Recovery when a session is loaded: nothing that was pending keeps its old
//! identity, nothing that was given before the stop is used again by itself.
//!
//! Pending approvals close and their successors open; what today's rules and
//! grants settle is settled by a record of its own that names them, never by
//! the mode. Decided but not started work is cancelled, started but not ended
//! work is never run again. A lasting grant of which nobody knows whether the host keeps
//! it is given to the host once more. A function of the state and of today's facts only,
//! in one batch: cut short and done again it comes out the same.

use crate::codec::{Body, Renewed, ResolvedBy, Terminal, TurnError};
use crate::evaluate;
use crate::ids;
use crate::modes::Mode;
use crate::state::{Approval, Item, Phase};
use crate::step::{self, Draft, Needs, Stop, misuse};
use crate::subject;
use crate::types::{
    Action, Answer, Context, Decision, Effect, Mark, Recovery, Reply, Summary, Supply, Waiter,
};

pub(crate) fn recover<'a>(
    state: &[u8],
    context: &'a Context,
    recovery: &'a Recovery,
    supplied: &'a [Supply],
    ask: &'a mut (dyn FnMut(&Summary) -> Result<Answer, String> + 'a),
) -> Result<Reply, Stop> {
    let mut draft = Draft::new(Some(state), context, supplied, ask)?;
    gather(&draft)?;
    let caller = &recovery.caller;
    draft.push(
        &Body::SessionLoaded {
            seal: Mode::parse(&caller.seal),
            client: caller.client.clone(),
            connection: caller.connection.clone(),
        },
        Vec::new(),
    )?;
    for unsaved in draft.state()?.unsaved.clone() {
        step::keep(&mut draft, &unsaved)?;
    }
    let mut lost = false;
    for item in draft.state()?.items.clone() {
        match item.phase {
            Phase::Waiting => reopen(&mut draft, &item)?,
            Phase::Deferred if draft.action(item.sequence)?.waiter == Waiter::Agent => {
                agent_gone(&mut draft, &item.id)?;
            }
            // It was not asked about yet, and goes on waiting for its turn.
            Phase::Deferred => {}
            Phase::Proposed | Phase::Decided => {
                let why = "its host stopped before it started; propose it again";
                let kind = Some("notStarted");
                step::ended_item(&mut draft, &item.id, "cancelled", "notStarted", kind, Some(why))?;
            }
            Phase::Running => {
                lost = true;
                let why = "its host stopped while it ran, so its outcome is unknown; \
                           it is not run again";
                let kind = Some("outcomeUnknown");
                step::ended_item(
                    &mut draft,
                    &item.id,
                    "failed",
                    "outcomeUnknown",
                    kind,
                    Some(why),
                )?;
            }
        }
    }
    step::promote(&mut draft, false)?;
    close_orphaned_turn(&mut draft, lost)?;
    step::begin_next_turn(&mut draft)?;
    draft.done()
}

/// Asks for everything at once that recovery will read: the records first, then
/// the facts of the actions in them.
fn gather(draft: &Draft<'_>) -> Result<(), Stop> {
    step::gather(draft)?;
    let state = draft.state()?;
    let mut needs = Needs::default();
    for unsaved in &state.unsaved {
        needs.of(draft.record(unsaved.sequence))?;
    }
    for item in state.items.iter().filter(|item| item.phase == Phase::Waiting) {
        let open = state.approvals.iter().find(|open| open.item == item.id);
        if open.is_some_and(|open| open.agent_waits) {
            continue;
        }
        needs.of(draft.facts(&draft.action(item.sequence)?))?;
    }
    needs.ask()
}

fn reopen(draft: &mut Draft<'_>, item: &Item) -> Result<(), Stop> {
    let open = draft.state()?.approvals.iter().find(|open| open.item == item.id).cloned();
    let open = open.ok_or_else(|| misuse(format!("the item {} waits for nothing", item.id)))?;
    if open.agent_waits {
        step::resolve(draft, &open, "abort", ResolvedBy::User, "agentGone", None)?;
        return agent_gone(draft, &item.id);
    }
    let action = draft.action(item.sequence)?;
    let facts = draft.facts(&action)?;
    step::resolve(draft, &open, "abort", ResolvedBy::User, "hostRestarted", None)?;
    let workspace = draft.state()?.workspace.clone();
    let reading = subject::placed(&action, facts, workspace.as_deref());
    let verdict = evaluate::without_mode(
        draft.state()?,
        draft.context,
        &*draft.rules()?,
        &action,
        &reading,
        facts,
    );
    // A protected write is for a person also where its path is ordinary by now.
    let verdict = if open.protected { verdict.for_a_person() } else { verdict };
    let approval = ids::successor(&open.id);
    let request = step::request(draft.state()?, draft.context, &action, reading, &verdict);
    draft.push(
        &Body::ApprovalOpened {
            approval: approval.clone(),
            request,
            predecessor: Some(open.id.clone()),
            renewed: Some(Renewed { facts: facts.into(), verdict: verdict.stored() }),
        },
        vec![Mark::Opens(approval.clone()), Mark::View],
    )?;
    let successor = draft.state()?.approval(&approval).cloned();
    let successor = successor.ok_or_else(|| misuse("the successor is gone"))?;
    settle(draft, &successor, &action, verdict.decision, &verdict.reason)
}

fn agent_gone(draft: &mut Draft<'_>, item: &str) -> Result<(), Stop> {
    let why = "the agent that asked is gone; it may ask again";
    step::ended_item(draft, item, "cancelled", "agentGone", Some("agentGone"), Some(why))
}

/// Settles a successor by today's policy, or asks.
fn settle(
    draft: &mut Draft<'_>,
    successor: &Approval,
    action: &Action,
    decision: Decision,
    reason: &str,
) -> Result<(), Stop> {
    match decision {
        Decision::Ask => step::ask(draft, &successor.id),
        Decision::Allow => {
            step::resolve(draft, successor, "approved", ResolvedBy::Policy, reason, None)?;
            draft.effects.push(Effect::Prepare(action.clone()));
            Ok(())
        }
        Decision::Deny => {
            step::resolve(draft, successor, "denied", ResolvedBy::Policy, reason, None)?;
            step::denied_item(draft, &successor.item, reason)
        }
    }
}

/// A turn without open items has nobody left to go on with it.
fn close_orphaned_turn(draft: &mut Draft<'_>, lost: bool) -> Result<(), Stop> {
    let state = draft.state()?;
    let Some(turn) = state.turn.clone().filter(|_| state.items.is_empty()) else {
        return Ok(());
    };
    let (terminal, error) = if lost {
        let error = TurnError {
            kind: "outcomeUnknown".to_owned(),
            message: "the host stopped while a command ran".to_owned(),
            retryable: false,
        };
        (Terminal::Failed, Some(error))
    } else {
        (Terminal::Cancelled, None)
    };
    let reason = Some("the host stopped before the turn ended".to_owned());
    step::complete_turn(draft, &turn.id, terminal, reason, error)
}

//! Actions: proposed and judged, released, ended.

use super::{Draft, Stop, begin_next_turn, complete_turn, misuse};
use crate::codec::{self, Body, Item, Request, Resolution, ResolvedBy, Subject, Terminal};
use crate::describe;
use crate::display;
use crate::evaluate::{self, Verdict, facts_digest};
use crate::fold::first_unresolved;
use crate::ids;
use crate::judge;
use crate::limits;
use crate::menu;
use crate::prefix::{self, Words};
use crate::saved;
use crate::shell::{Folder, Stage};
use crate::state::{self, Phase};
use crate::subject::{self, Reading};
use crate::types::{
    Action, Context, Decision, Effect, EndStatus, Execution, ExecutionEnd, Mark, Proposal, Release,
    TableRow, Unjudged, Waiter,
};

pub(super) fn propose(draft: &mut Draft<'_>, proposal: &Proposal) -> Result<(), Stop> {
    let Proposal { action, facts, last } = proposal;
    let state = draft.state()?.clone();
    match &state.turn {
        Some(turn) if turn.id == action.turn_id && !turn.finished => {}
        _ => return Err(misuse(format!("the turn {} takes no actions", action.turn_id))),
    }
    if state.item(&action.item_id).is_some() {
        return Err(misuse(format!("the item {} is open already", action.item_id)));
    }
    let reading = subject::placed(action, facts, state.workspace.as_deref());
    let verdict = evaluate::evaluate(
        &state,
        draft.context,
        &*draft.rules()?,
        action,
        &reading,
        facts,
        &mut *draft.ask,
    );
    // Those that wait already go first.
    let waits = verdict.decision == Decision::Ask
        && (!state.has_room() || state.deferred().next().is_some());
    let approval = (!waits && needs_approval(&verdict)).then(|| draft.fresh_id());
    draft.asked = verdict.asked.clone();
    draft.push(
        &Body::ActionProposed {
            action: action.into(),
            facts: facts.into(),
            last: *last,
            verdict: verdict.stored(),
            approval: approval.clone(),
            held: verdict.decision == Decision::Ask,
        },
        vec![Mark::View],
    )?;
    if waits {
        return check_recoverable(draft);
    }
    if verdict.decision == Decision::Allow {
        record_grant(draft, approval, action, &reading, &verdict)?;
        return start(draft, action, None);
    }
    ask_or_deny(draft, approval, action, reading, &verdict)
}

/// Whether a verdict needs an approval: one to ask about, or one that a grant settles at once.
pub(super) fn needs_approval(verdict: &Verdict) -> bool {
    verdict.decision == Decision::Ask || verdict.granted_by().is_some()
}

pub(super) fn record_grant(
    draft: &mut Draft<'_>,
    approval: Option<String>,
    action: &Action,
    reading: &Reading,
    verdict: &Verdict,
) -> Result<(), Stop> {
    match (approval, verdict.granted_by()) {
        (Some(approval), Some(grant)) => {
            settled_by_grant(draft, &approval, grant, action, reading, verdict)
        }
        _ => Ok(()),
    }
}

pub(super) fn ask_or_deny(
    draft: &mut Draft<'_>,
    approval: Option<String>,
    action: &Action,
    reading: Reading,
    verdict: &Verdict,
) -> Result<(), Stop> {
    match approval.filter(|_| verdict.decision == Decision::Ask) {
        Some(approval) => {
            open_approval(draft, &approval, action, reading, verdict)?;
            check_recoverable(draft)
        }
        None => {
            denied_item(draft, &action.item_id, &verdict.reason)?;
            close_turn(draft, &action.turn_id)
        }
    }
}

/// Records a denial for an action that could not be judged.
pub(super) fn unjudged(draft: &mut Draft<'_>, unjudged: &Unjudged) -> Result<(), Stop> {
    let Unjudged { action, last, fault } = unjudged;
    let verdict = evaluate::unjudged(action, fault);
    draft.push(
        &Body::ActionProposed {
            action: action.into(),
            facts: codec::Facts { paths: Vec::new(), environment: String::new() },
            last: *last,
            verdict: verdict.stored(),
            approval: None,
            held: false,
        },
        vec![Mark::View],
    )?;
    denied_item(draft, &action.item_id, &verdict.reason)?;
    close_turn(draft, &action.turn_id)
}

/// What is pending must always fit the one batch that recovers it: a session
/// that no host can load would have lost everything in it.
fn check_recoverable(draft: &Draft<'_>) -> Result<(), Stop> {
    let bytes = draft.state()?.recovery_bytes();
    if bytes <= u64::try_from(limits::BATCH_BYTES_MAX).unwrap_or(u64::MAX) {
        return Ok(());
    }
    Err(misuse(format!(
        "{bytes} bytes would be pending, more than one batch recovers; decide what is open first"
    )))
}

fn open_approval(
    draft: &mut Draft<'_>,
    approval: &str,
    action: &Action,
    reading: Reading,
    verdict: &Verdict,
) -> Result<(), Stop> {
    let request = request(draft.state()?, draft.context, action, reading, verdict);
    draft.push(
        &Body::ApprovalOpened {
            approval: approval.to_owned(),
            request,
            predecessor: None,
            renewed: None,
        },
        vec![Mark::Opens(approval.to_owned()), Mark::View],
    )?;
    ask(draft, approval)
}

/// Everything of a request that does not change while it is open.
pub(crate) fn request(
    state: &state::State,
    context: &Context,
    action: &Action,
    reading: Reading,
    verdict: &Verdict,
) -> Request {
    let Reading { mut subject, stages: read, .. } = reading;
    let protected = verdict.row == TableRow::Protected;
    // What no grant covers is offered none.
    let lasting =
        !matches!(verdict.row, TableRow::Protected | TableRow::UnknownKind | TableRow::AskRule);
    let mut root = context.grants_root.clone().filter(|_| lasting);
    let mut current = 0;
    if let Subject::Shell { command, stages, workspace } = &mut subject {
        workspace.clone_from(&state.workspace);
        let resolutions = verdict.resolutions();
        for (stage, resolution) in stages.iter_mut().zip(&resolutions) {
            stage.resolution = resolution.clone();
        }
        current = first_unresolved(&resolutions).unwrap_or(0);
        root = root.filter(|_| menu::may_grant_prefixes(command, action, workspace.as_deref()));
        for (stage, read) in stages.iter_mut().zip(&read).filter(|_| root.is_some()) {
            if stage.resolution == Resolution::Unresolved
                && let Some(Words { words, exact }) = suggested(read, action, workspace.as_deref())
            {
                (stage.prefix, stage.exact) = (words, exact);
            }
        }
    }
    let mut request = Request {
        turn: action.turn_id.clone(),
        task: action.task_id.clone(),
        item: action.item_id.clone(),
        call: action.call_id.clone(),
        tool: action.tool_name.clone(),
        args: action.raw_args.clone(),
        subject,
        current,
        menu: Vec::new(),
        protected,
        agent_waits: action.waiter == Waiter::Agent,
        folder: action.working_folder.clone(),
        root: root.filter(|root| menu::is_shown_in_one_line(root)),
    };
    request.menu = menu::menu(&request, lasting);
    request
}

/// The words that a lasting grant for a stage would cover.
fn suggested(stage: &Stage, action: &Action, workspace: Option<&str>) -> Option<Words> {
    let Folder::Known(places) = &stage.folder else { return None };
    let workspace = workspace?;
    // By the text alone: what it then covers is looked at with the facts.
    let counts = |place: &String| {
        saved::counts_in(&stage.argv, &judge::lexical(&action.working_folder, place), workspace)
    };
    prefix::suggest(stage).filter(|_| places.iter().all(counts))
}

/// Asks every subscribed connection about an approval that was just opened.
pub(crate) fn ask(draft: &mut Draft<'_>, approval: &str) -> Result<(), Stop> {
    let open = draft.state()?.approval(approval).cloned();
    let open = open.ok_or_else(|| misuse("the approval is gone"))?;
    let record = draft.drafted(open.sequence)?;
    let asked = describe::presented(&draft.context.session_id, &open, record)?;
    draft.effects.push(Effect::Ask(asked));
    Ok(())
}

/// An action that a session grant covers still gets its terminal record.
fn settled_by_grant(
    draft: &mut Draft<'_>,
    approval: &str,
    grant: &str,
    action: &Action,
    reading: &Reading,
    verdict: &Verdict,
) -> Result<(), Stop> {
    let evidence = describe::evidence(&reading.subject, &verdict.resolutions());
    draft.push(
        &Body::ApprovalResolved {
            approval: approval.to_owned(),
            item: action.item_id.clone(),
            turn: action.turn_id.clone(),
            decision: "approvedForSession".to_owned(),
            by: ResolvedBy::Policy,
            why: format!("session grant of {grant}"),
            amendment: None,
            grant: None,
            lasting: None,
            command: None,
            client: None,
            connection: None,
            evidence,
        },
        vec![Mark::Closes(approval.to_owned()), Mark::View],
    )?;
    Ok(())
}

/// Records that an execution starts; durable before its first effect.
fn start(draft: &mut Draft<'_>, action: &Action, shown: Option<Item>) -> Result<(), Stop> {
    let facts = draft.state()?.item(&action.item_id).map(|item| item.facts.clone());
    let stored = codec::Action::from(action);
    let mut marks = vec![Mark::Starts(action.item_id.clone())];
    if shown.is_some() {
        marks.push(Mark::View);
    }
    draft.push(
        &Body::ExecutionStarted {
            item: action.item_id.clone(),
            turn: action.turn_id.clone(),
            action: action_digest(&stored),
            facts: facts.unwrap_or_default(),
            shown,
        },
        marks,
    )?;
    draft
        .effects
        .push(Effect::Run(Execution { item_id: action.item_id.clone(), action: action.clone() }));
    Ok(())
}

fn action_digest(action: &codec::Action) -> String {
    ids::digest(&[&serde_json::to_vec(action).unwrap_or_default()])
}

/// Starts decided work, if what was decided is still what would start.
pub(super) fn release(draft: &mut Draft<'_>, release: &Release) -> Result<(), Stop> {
    let item = draft.state()?.item(&release.item_id).cloned();
    let item = item.ok_or_else(|| misuse(format!("the item {} is not open", release.item_id)))?;
    if item.phase != Phase::Decided {
        return Err(misuse(format!("the item {} was not decided", item.id)));
    }
    let action = draft.action(item.sequence)?;
    if facts_digest(&(&release.facts).into()) != item.facts {
        let what = changed(draft, &item, &(&release.facts).into())?;
        let why = format!(
            "what it would touch changed after it was decided{what}, so it did not run; \
             propose it again"
        );
        let kind = Some("changedSinceDecision");
        ended_item(draft, &item.id, "failed", "changed", kind, Some(&why))?;
        return close_turn(draft, &item.turn);
    }
    let mut shown = Item::started(&(&action).into(), item.approval.clone());
    shown.revision = item.revision.saturating_add(1);
    start(draft, &action, item.held.then_some(shown))
}

/// What changed first, in a few words; nothing where the facts of the decision are not those
/// of the proposal any more, or where a path cannot be shown in full.
fn changed(draft: &Draft<'_>, item: &state::Item, now: &codec::Facts) -> Result<String, Stop> {
    let Body::ActionProposed { facts: before, .. } = codec::decode(draft.drafted(item.sequence)?)?
    else {
        return Ok(String::new());
    };
    if facts_digest(&before) != item.facts {
        return Ok(String::new());
    }
    let same_query = |one: &codec::PathFact, other: &codec::PathFact| {
        (&one.text, &one.base, one.write) == (&other.text, &other.base, other.write)
    };
    for fact in &before.paths {
        let found = now.paths.iter().find(|other| same_query(fact, other));
        let (text, words) = match found {
            Some(found) if found.canonical != fact.canonical => {
                (&fact.text, format!("leads to {} now", found.canonical))
            }
            Some(found) if found.class != fact.class => {
                (&fact.text, format!("is {} now, it was {}", found.class, fact.class))
            }
            Some(found) if found.linked != fact.linked => {
                (&fact.text, "is reached another way".to_owned())
            }
            Some(_) => continue,
            None => (&fact.text, "cannot be told any more".to_owned()),
        };
        let words = format!(": {text} {words}");
        let shown = display::in_full(&words, limits::CHANGED_CHARS_MAX);
        return Ok(if shown { words } else { String::new() });
    }
    if before.environment != now.environment {
        return Ok(": the environment".to_owned());
    }
    Ok(String::new())
}

pub(super) fn ended(draft: &mut Draft<'_>, end: &ExecutionEnd) -> Result<(), Stop> {
    let state = draft.state()?;
    let item = state.item(&end.item_id).cloned();
    let item = item.ok_or_else(|| misuse(format!("the item {} is not open", end.item_id)))?;
    if item.phase != Phase::Running {
        return Err(misuse(format!("the item {} does not run", item.id)));
    }
    let stopping = state.turn.as_ref().is_some_and(|turn| turn.stopping);
    let status = match end.status {
        _ if stopping => "cancelled",
        EndStatus::Completed => "completed",
        EndStatus::Failed => "failed",
        EndStatus::Cancelled => "cancelled",
    };
    let mut shown = shown(draft, &item)?;
    shown.status = status.to_owned();
    shown.output = Some(end.output.clone());
    shown.truncated = end.truncated;
    shown.exit_code = end.exit_code;
    shown.failure.clone_from(&end.failure);
    shown.failure_kind = end.failure.as_ref().map(|_| "executionFailed".to_owned());
    record_end(draft, &item, shown, "ran")?;
    close_turn(draft, &item.turn)
}

/// The item as it ends: the action's own words with the next revision.
fn shown(draft: &Draft<'_>, item: &state::Item) -> Result<Item, Stop> {
    let mut shown = Item::started(&(&draft.action(item.sequence)?).into(), item.approval.clone());
    shown.revision = item.revision.saturating_add(1);
    Ok(shown)
}

fn record_end(
    draft: &mut Draft<'_>,
    item: &state::Item,
    shown: Item,
    cause: &str,
) -> Result<(), Stop> {
    let mut marks = vec![Mark::View];
    if item.phase == Phase::Running {
        marks.push(Mark::Ends(item.id.clone()));
    }
    draft.push(
        &Body::ItemEnded { turn: item.turn.clone(), item: shown, cause: cause.to_owned() },
        marks,
    )?;
    draft.effects.push(Effect::Settled(item.id.clone()));
    Ok(())
}

/// Ends an item that was refused; the agent is told why.
pub(crate) fn denied_item(draft: &mut Draft<'_>, id: &str, reason: &str) -> Result<(), Stop> {
    ended_item(draft, id, "rejected", "denied", Some("approvalDenied"), Some(reason))
}

/// Ends an item that did not run to its end.
pub(crate) fn ended_item(
    draft: &mut Draft<'_>,
    id: &str,
    status: &str,
    cause: &str,
    kind: Option<&str>,
    failure: Option<&str>,
) -> Result<(), Stop> {
    let item = draft.state()?.item(id).cloned();
    let item = item.ok_or_else(|| misuse(format!("the item {id} is not open")))?;
    let mut shown = shown(draft, &item)?;
    shown.status = status.to_owned();
    shown.failure_kind = kind.map(str::to_owned);
    shown.failure = failure.map(str::to_owned);
    record_end(draft, &item, shown, cause)
}

/// Ends the turn with its last item, and begins the next one.
pub(crate) fn close_turn(draft: &mut Draft<'_>, turn: &str) -> Result<(), Stop> {
    let state = draft.state()?;
    let Some(running) = state.turn.clone().filter(|running| running.id == turn) else {
        return Ok(());
    };
    if !state.items.is_empty() || !running.finished {
        return Ok(());
    }
    if running.stopping {
        let reason = Some("interrupted".to_owned());
        complete_turn(draft, turn, Terminal::Cancelled, reason, None)?;
    } else {
        complete_turn(draft, turn, Terminal::Completed, None, None)?;
    }
    if running.leaving {
        let reason = if running.left { "leave" } else { "hostShutdown" };
        draft.push(&Body::SessionClosed { reason: reason.to_owned() }, Vec::new())?;
        return Ok(());
    }
    begin_next_turn(draft)
}

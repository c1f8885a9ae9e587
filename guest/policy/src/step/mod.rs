//! What may happen in a session: one input, the records that it makes, and the state after them.
//!
//! A step drafts records one by one and folds each into its working state at
//! once, so what it proposes is what the log will say. It keeps nothing of
//! itself: what it must know of the past it asks for (`Needs`) and is then
//! called again from the beginning.

mod action;
mod decide;
mod keeping;
mod queue;
mod session;
mod settle;
mod turn;

use crate::codec::{self, Body, StopBy};
use crate::describe;
use crate::erase;
use crate::fold;
use crate::ids;
use crate::limits;
use crate::render;
use crate::state::State;
use crate::types::{
    Action, Answer, CommandId, CommandMark, Context, Effect, Event, Facts, Header, Input,
    LimitFault, Logged, Mark, Need, Outcome, Refusal, Reply, Summary, Supply,
};

pub(crate) use action::{ask, close_turn, denied_item, ended_item, request};
pub(crate) use decide::resolve;
pub(crate) use keeping::keep;
pub(crate) use queue::promote;
pub(crate) use turn::{begin_next_turn, complete_turn};

/// Why a step has no outcome.
pub(crate) enum Stop {
    Refused(Refusal),
    Needs(Vec<Need>),
}

impl Stop {
    pub(crate) fn into_reply(self) -> Reply {
        match self {
            Stop::Refused(refusal) => Reply::Refused(refusal),
            Stop::Needs(needs) => Reply::Needs(needs),
        }
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

/// A refusal that says the host asked for something that cannot be.
pub(crate) fn misuse(why: impl Into<String>) -> Stop {
    Stop::Refused(Refusal::Misuse(why.into()))
}

/// Answers one input.
pub(crate) fn step<'a>(
    state: Option<&[u8]>,
    context: &'a Context,
    input: &'a Input,
    supplied: &'a [Supply],
    ask: &'a mut (dyn FnMut(&Summary) -> Result<Answer, String> + 'a),
) -> Result<Reply, Stop> {
    let mut draft = Draft::new(state, context, supplied, ask)?;
    match input {
        Input::Start(start) => session::start(&mut draft, start)?,
        Input::Turn(start) => turn::start(&mut draft, start)?,
        Input::Stop(stop) => turn::stop(&mut draft, stop)?,
        Input::Decide(decide) => decide::decide(&mut draft, decide)?,
        Input::Mode(set) => session::set_mode(&mut draft, set)?,
        Input::Propose(proposal) => action::propose(&mut draft, proposal)?,
        Input::Unjudged(unjudged) => action::unjudged(&mut draft, unjudged)?,
        Input::Release(release) => action::release(&mut draft, release)?,
        Input::Ended(end) => action::ended(&mut draft, end)?,
        Input::Say(message) => turn::say(&mut draft, message)?,
        Input::Finish(finish) => turn::finish(&mut draft, finish)?,
        Input::Shutdown => session::close(&mut draft, StopBy::Shutdown)?,
        Input::Leave(leave) => session::leave(&mut draft, leave)?,
        Input::Unload => session::unload(&mut draft)?,
        Input::Redact(redaction) => erase::redact(&mut draft, redaction)?,
        Input::Kept(kept) => keeping::kept(&mut draft, kept)?,
        Input::Granted => settle::siblings(&mut draft)?,
        Input::Ruled => settle::denied(&mut draft)?,
    }
    // Whatever made room: those that waited for it are next, unless the host leaves.
    if !matches!(input, Input::Shutdown | Input::Leave(_) | Input::Unload | Input::Redact(_)) {
        promote(&mut draft, true)?;
    }
    draft.done()
}

/// Records in the making, and the state as it is after them.
pub(crate) struct Draft<'a> {
    state: Option<State>,
    pub(crate) context: &'a Context,
    supplied: &'a [Supply],
    pub(crate) ask: &'a mut (dyn FnMut(&Summary) -> Result<Answer, String> + 'a),
    records: Vec<Logged>,
    events: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) ack: Option<String>,
    minted: u32,
    /// Digest of the mode component whose answer the next record rests on.
    pub(crate) asked: Option<String>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        state: Option<&[u8]>,
        context: &'a Context,
        supplied: &'a [Supply],
        ask: &'a mut (dyn FnMut(&Summary) -> Result<Answer, String> + 'a),
    ) -> Result<Draft<'a>, Stop> {
        let state = match state {
            Some(bytes) => Some(State::decode(bytes)?),
            None => None,
        };
        Ok(Draft {
            state,
            context,
            supplied,
            ask,
            records: Vec::new(),
            events: Vec::new(),
            effects: Vec::new(),
            ack: None,
            minted: 0,
            asked: None,
        })
    }

    /// The state after what was drafted so far.
    pub(crate) fn state(&self) -> Result<&State, Stop> {
        self.state.as_ref().ok_or_else(|| misuse("the session has not started"))
    }

    pub(crate) fn is_new(&self) -> bool {
        self.state.is_none()
    }

    /// A fresh id, different from every other one of this and of every other step.
    pub(crate) fn fresh_id(&mut self) -> String {
        self.minted = self.minted.saturating_add(1);
        ids::fresh(self.context.now_ms, &self.context.entropy, self.minted)
    }

    /// Drafts one record and folds it.
    pub(crate) fn push(&mut self, body: &Body, marks: Vec<Mark>) -> Result<u64, Stop> {
        let sequence = self.state.as_ref().map_or(0, |state| state.head).saturating_add(1);
        let record = Logged {
            header: Header {
                sequence,
                time_ms: self.context.now_ms,
                kind: body.kind().to_owned(),
                format: codec::FORMAT,
                component: self.context.component.clone(),
                rules: self.context.rules_digest.clone(),
                mode: self.asked.take().unwrap_or_default(),
                logic: crate::LOGIC,
                marks,
            },
            body: Some(body.encode()?),
        };
        let folded = fold::apply(self.state.take(), &record).map_err(|refusal| match refusal {
            // The log is readable; what was asked for is what does not fit it.
            Refusal::Unreadable(why) => Refusal::Misuse(why),
            other => other,
        })?;
        self.state = Some(folded);
        self.events.extend(render::render(&self.context.session_id, &record)?);
        self.records.push(record);
        Ok(sequence)
    }

    /// Gives the command's acknowledgement and puts it where replays find it: into
    /// the mark of the first record that was drafted.
    pub(crate) fn acknowledge(&mut self, scope: &str, command: &CommandId, ack: String) {
        if let Some(first) = self.records.first_mut() {
            first.header.marks.push(Mark::Command(CommandMark {
                scope: scope.to_owned(),
                id: command.id.clone(),
                payload: command.payload.clone(),
                ack: ack.clone(),
            }));
        }
        self.ack = Some(ack);
    }

    /// The record with this sequence, or the need for it.
    pub(crate) fn record(&self, sequence: u64) -> Result<&'a Logged, Stop> {
        let drafted = |supply: &'a Supply| match supply {
            Supply::Record(record) if record.header.sequence == sequence => Some(record),
            _ => None,
        };
        self.supplied
            .iter()
            .find_map(drafted)
            .ok_or_else(|| Stop::Needs(vec![Need::Record(sequence)]))
    }

    /// The record that closed an approval, none if there is none, or the need to know.
    pub(crate) fn closing(&self, approval: &str) -> Result<Option<&'a Logged>, Stop> {
        for supply in self.supplied {
            match supply {
                Supply::Record(record)
                    if record
                        .header
                        .marks
                        .iter()
                        .any(|mark| matches!(mark, Mark::Closes(id) if id == approval)) =>
                {
                    return Ok(Some(record));
                }
                Supply::Nothing(id) if id == approval => return Ok(None),
                Supply::Record(_) | Supply::Nothing(_) | Supply::Facts(_) | Supply::Rules(_) => {}
            }
        }
        Err(Stop::Needs(vec![Need::Closing(approval.to_owned())]))
    }

    /// The rules in force, or the need for them.
    pub(crate) fn rules(&self) -> Result<std::rc::Rc<crate::rules::RuleSet>, Stop> {
        let digest = &self.context.rules_digest;
        crate::rulebook::find(digest, self.supplied)
            .ok_or_else(|| Stop::Needs(vec![Need::Rules(digest.clone())]))
    }

    /// The facts of an action as they are now, or the need for them.
    pub(crate) fn facts(&self, action: &Action) -> Result<&'a Facts, Stop> {
        let found = |supply: &'a Supply| match supply {
            Supply::Facts(found) if found.item_id == action.item_id => Some(&found.facts),
            _ => None,
        };
        self.supplied
            .iter()
            .find_map(found)
            .ok_or_else(|| Stop::Needs(vec![Need::Facts(action.clone())]))
    }

    /// A record of this very draft, or a supplied one, or the need for it.
    pub(crate) fn drafted(&self, sequence: u64) -> Result<&Logged, Stop> {
        match self.records.iter().find(|record| record.header.sequence == sequence) {
            Some(record) => Ok(record),
            None => self.record(sequence),
        }
    }

    /// The action of an item, from the record that proposed it.
    pub(crate) fn action(&self, sequence: u64) -> Result<Action, Stop> {
        match codec::decode(self.drafted(sequence)?)? {
            Body::ActionProposed { action, .. } => Ok((&action).into()),
            other => Err(misuse(format!("record {sequence} is {}, no action", other.kind()))),
        }
    }

    /// Whether a batch that is half full would still hold this much more: what is done
    /// besides must not make too large what was asked for.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        let size = self.records.iter().map(record_bytes).fold(0, usize::saturating_add);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        size.saturating_add(bytes) <= limits::BATCH_BYTES_MAX / 2
    }

    /// Closes the draft: everything goes out together or not at all.
    pub(crate) fn done(self) -> Result<Reply, Stop> {
        let size: usize = self.records.iter().map(record_bytes).fold(0, usize::saturating_add);
        if size > limits::BATCH_BYTES_MAX {
            return Err(Stop::Refused(Refusal::TooLarge(LimitFault {
                what: "what this writes at once".to_owned(),
                limit_bytes: u64::try_from(limits::BATCH_BYTES_MAX).unwrap_or(u64::MAX),
            })));
        }
        let Some(state) = self.state else {
            return Err(misuse("the session has not started"));
        };
        let context = self.context;
        let overview = describe::overview(&context.session_id, &context.log_path, &state, true);
        Ok(Reply::Done(Outcome {
            records: self.records,
            state: state.encode(),
            events: self.events,
            effects: self.effects,
            ack: self.ack,
            overview,
        }))
    }
}

/// Several needs, asked for at once.
#[derive(Default)]
pub(crate) struct Needs(Vec<Need>);

impl Needs {
    /// Takes what is missing; any other end is passed on.
    pub(crate) fn of<T>(&mut self, found: Result<T, Stop>) -> Result<(), Stop> {
        match found {
            Err(Stop::Needs(more)) => self.0.extend(more),
            found => drop(found?),
        }
        Ok(())
    }

    /// Asks for what is missing, if anything is.
    pub(crate) fn ask(&mut self) -> Result<(), Stop> {
        if self.0.is_empty() { Ok(()) } else { Err(Stop::Needs(std::mem::take(&mut self.0))) }
    }
}

/// Asks at once for every record that settling all open work will read.
pub(crate) fn gather(draft: &Draft<'_>) -> Result<(), Stop> {
    let state = draft.state()?;
    let items = state.items.iter().map(|item| item.sequence);
    let approvals = state.approvals.iter().map(|open| open.sequence);
    let next = state.queued.first().map(|next| next.sequence);
    let mut needs = Needs::default();
    for sequence in items.chain(approvals).chain(next) {
        needs.of(draft.record(sequence))?;
    }
    needs.ask()
}

/// About what a record takes in a batch: its body, and its header with the longest marks.
fn record_bytes(record: &Logged) -> usize {
    let marks = record.header.marks.iter().map(|mark| match mark {
        Mark::Command(command) => command.ack.len().saturating_mul(2),
        Mark::Opens(_) | Mark::Closes(_) | Mark::Starts(_) | Mark::Ends(_) | Mark::View => 0,
    });
    let body = record.body.as_ref().map_or(0, Vec::len);
    marks.fold(body.saturating_add(limits::HEADER_BYTES_RESERVED), usize::saturating_add)
}

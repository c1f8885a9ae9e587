//! Placet's policy logic as pure functions: no clock, no randomness, no I/O.
//!
//! `step` and `recover` turn a state and one input into records and the next
//! state; `fold` rebuilds that state from the records alone; `render` and
//! `present` give the wire's view of them. The types are those of `wit/`, so
//! the component around this crate only forwards.
//!
//! Read `evaluate` for what decides an action, `step` for what may happen in a
//! session, `fold` for what a record means, `codec` for how it is stored.

#[allow(missing_docs, clippy::all, reason = "generated from wit/")]
pub mod wit {
    //! Bindings of the world `policy`.
    wit_bindgen::generate!({
        path: "../../wit",
        world: "policy",
        pub_export_macro: true,
        default_bindings_module: "placet_policy::wit",
        additional_derives: [PartialEq, Eq, serde::Serialize, serde::Deserialize],
    });
}

pub mod limits;
pub mod rules;
pub mod safe;
pub mod shell;

mod canonical;
mod codec;
mod cover;
mod describe;
mod display;
mod erase;
mod evaluate;
mod explain;
mod fold;
mod grants;
mod ids;
mod judge;
mod menu;
mod modes;
mod prefix;
mod recover;
mod render;
mod rulebook;
mod saved;
mod state;
mod step;
mod subject;
mod time;

/// The types of the contract, by their WIT names.
pub mod types {
    pub use crate::wit::placet::policy::mode::{Answer, Decision, Summary};
    pub use crate::wit::placet::policy::types::*;
}

use types::*;

/// Raised with every change of verdicts; stands in every record's header.
pub const LOGIC: u32 = 4;

/// Asks the mode component that serves a summary's mode name. An error is a fault and denies.
pub type AskMode<'a> = &'a mut dyn FnMut(&Summary) -> Result<Answer, String>;

/// Lists the paths that the evaluator will want facts about.
pub fn survey(action: &Action) -> Vec<PathQuery> {
    subject::survey(action)
}

/// Answers one input: a refusal, needs, or records with the state that follows from them.
pub fn step(
    state: Option<&[u8]>,
    context: &Context,
    input: &Input,
    supplied: &[Supply],
    ask: AskMode<'_>,
) -> Reply {
    step::step(state, context, input, supplied, ask).unwrap_or_else(step::Stop::into_reply)
}

/// Closes what was pending under its old identity and opens its successors.
pub fn recover(
    state: &[u8],
    context: &Context,
    recovery: &Recovery,
    supplied: &[Supply],
    ask: AskMode<'_>,
) -> Reply {
    recover::recover(state, context, recovery, supplied, ask).unwrap_or_else(step::Stop::into_reply)
}

/// Folds records into a state, from the beginning where `state` is none.
pub fn fold(state: Option<&[u8]>, records: &[Logged]) -> Result<Vec<u8>, Refusal> {
    erase::recorded(records)?;
    let mut current = match state {
        Some(bytes) => Some(state::State::decode(bytes)?),
        None => None,
    };
    for record in records {
        current = Some(fold::apply(current, record)?);
    }
    match current {
        Some(folded) => Ok(folded.encode()),
        None => Err(Refusal::Unreadable("there is no record to fold".to_owned())),
    }
}

/// The view event of a record, if it has one.
pub fn render(session: &str, record: &Logged) -> Result<Option<Event>, Refusal> {
    render::render(session, record)
}

/// The pending requests of a state, complete, in opening order.
pub fn present(session: &str, state: &[u8], opened: &[Logged]) -> Result<Vec<Presented>, Refusal> {
    describe::present(session, &state::State::decode(state)?, opened)
}

/// What the host may know about a state.
pub fn describe(
    session: &str,
    path: &str,
    state: &[u8],
    loaded: bool,
) -> Result<Overview, Refusal> {
    Ok(describe::overview(session, path, &state::State::decode(state)?, loaded))
}

/// The state of the wire's snapshot, without its items.
pub fn snapshot(state: &[u8]) -> Result<String, Refusal> {
    Ok(describe::snapshot(&state::State::decode(state)?))
}

/// What would happen to an action now, and why.
pub fn explain(
    state: &[u8],
    context: &Context,
    proposal: &Proposal,
    supplied: &[Supply],
    ask: AskMode<'_>,
) -> Result<Explained, Refusal> {
    explain::explain(&state::State::decode(state)?, context, proposal, supplied, ask)
}

/// What is wrong with layers of rules.
pub fn check_rules(layers: &[RuleLayer]) -> Vec<Finding> {
    rulebook::check(layers)
}

/// Which of the wanted bodies can be erased, and what must go together with them.
pub fn erasable(records: &[Logged], wanted: &[u64]) -> Result<Erasure, Refusal> {
    erase::erasable(records, wanted)
}

//! What the evaluator decides and what a session goes through, natively and in
//! the component at once: every call is compared byte for byte.

mod brackets;
mod ceiling;
mod clamp;
mod decision_table;
mod differential;
mod field;
mod formats;
mod grants;
mod known_safe;
mod limits;
mod menus;
mod queue;
mod recovery;
mod redaction;
mod saved;
mod scenarios;

use placet_tests::erasure;
use placet_tests::pair::Pair;
use placet_tests::script;
use placet_tests::session::Session;

/// Runs a scenario on both evaluators; whatever of it may be erased changes nothing.
fn check(scenario: &str) -> anyhow::Result<Session<Pair>> {
    let mut session = script::check(Pair::new()?, scenario)?;
    erasure::changes_nothing(&mut session, true)?;
    Ok(session)
}

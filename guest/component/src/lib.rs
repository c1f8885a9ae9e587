//! The policy component: `placet-policy` exported, with the mode import as its only way out.

use placet_policy::types::{
    Action, Answer, Context, Erasure, Event, Explained, Finding, Input, Logged, Overview,
    PathQuery, Presented, Proposal, Recovery, Refusal, Reply, RuleLayer, Summary, Supply,
};
use placet_policy::wit;

struct Component;

/// Asks the mode component that the host serves behind the import.
fn ask(summary: &Summary) -> Result<Answer, String> {
    wit::placet::policy::mode::unmatched(summary)
}

impl wit::exports::placet::policy::evaluator::Guest for Component {
    fn survey(action: Action) -> Vec<PathQuery> {
        placet_policy::survey(&action)
    }

    fn step(
        state: Option<Vec<u8>>,
        context: Context,
        input: Input,
        supplied: Vec<Supply>,
    ) -> Reply {
        placet_policy::step(state.as_deref(), &context, &input, &supplied, &mut ask)
    }

    fn recover(
        state: Vec<u8>,
        context: Context,
        recovery: Recovery,
        supplied: Vec<Supply>,
    ) -> Reply {
        placet_policy::recover(&state, &context, &recovery, &supplied, &mut ask)
    }

    fn fold(state: Option<Vec<u8>>, records: Vec<Logged>) -> Result<Vec<u8>, Refusal> {
        placet_policy::fold(state.as_deref(), &records)
    }

    fn render(session_id: String, logged: Logged) -> Result<Option<Event>, Refusal> {
        placet_policy::render(&session_id, &logged)
    }

    fn present(
        session_id: String,
        state: Vec<u8>,
        opened: Vec<Logged>,
    ) -> Result<Vec<Presented>, Refusal> {
        placet_policy::present(&session_id, &state, &opened)
    }

    fn describe(
        session_id: String,
        log_path: String,
        state: Vec<u8>,
        loaded: bool,
    ) -> Result<Overview, Refusal> {
        placet_policy::describe(&session_id, &log_path, &state, loaded)
    }

    fn snapshot(state: Vec<u8>) -> Result<String, Refusal> {
        placet_policy::snapshot(&state)
    }

    fn explain(
        state: Vec<u8>,
        context: Context,
        proposal: Proposal,
        supplied: Vec<Supply>,
    ) -> Result<Explained, Refusal> {
        placet_policy::explain(&state, &context, &proposal, &supplied, &mut ask)
    }

    fn check_rules(layers: Vec<RuleLayer>) -> Vec<Finding> {
        placet_policy::check_rules(&layers)
    }

    fn erasable(records: Vec<Logged>, wanted: Vec<u64>) -> Result<Erasure, Refusal> {
        placet_policy::erasable(&records, &wanted)
    }
}

wit::export!(Component with_types_in placet_policy::wit);

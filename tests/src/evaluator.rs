//! The evaluator as the tests use it, whatever it runs in.
//!
//! The common form is the native crate's types. A runner that has types of its
//! own converts by serde, so that a difference in any member is a difference.

use anyhow::Result;
use placet_policy::types::{
    Action, Answer, Context, Erasure, Event, Explained, Input, Logged, Overview, PathQuery,
    Presented, Proposal, Recovery, Refusal, Reply, Summary, Supply,
};

/// What stands behind the mode import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Served {
    /// The mode that really serves the name.
    #[default]
    Real,
    /// A mode that answers this, whatever it is asked.
    Answer(Answer),
    /// A mode that fails with this sentence.
    Fault(String),
}

/// Every function of the contract. An error is a trap or a broken boundary: no
/// answer of the evaluator is one.
pub trait Evaluator {
    /// Chooses what stands behind the mode import from now on.
    fn serve(&mut self, served: Served);

    /// What modes were asked since this was called last.
    fn asked(&mut self) -> Result<Vec<Summary>>;

    /// The paths that the evaluator wants facts about.
    fn survey(&mut self, action: &Action) -> Result<Vec<PathQuery>>;

    /// Answers one input.
    fn step(
        &mut self,
        state: Option<&[u8]>,
        context: &Context,
        input: &Input,
        supplied: &[Supply],
    ) -> Result<Reply>;

    /// Closes what was pending and opens its successors.
    fn recover(
        &mut self,
        state: &[u8],
        context: &Context,
        recovery: &Recovery,
        supplied: &[Supply],
    ) -> Result<Reply>;

    /// Folds records into a state.
    fn fold(
        &mut self,
        state: Option<&[u8]>,
        records: &[Logged],
    ) -> Result<Result<Vec<u8>, Refusal>>;

    /// The view event of a record.
    fn render(&mut self, session: &str, record: &Logged) -> Result<Result<Option<Event>, Refusal>>;

    /// The pending requests of a state.
    fn present(
        &mut self,
        session: &str,
        state: &[u8],
        opened: &[Logged],
    ) -> Result<Result<Vec<Presented>, Refusal>>;

    /// What the host may know about a state.
    fn describe(
        &mut self,
        session: &str,
        path: &str,
        state: &[u8],
        loaded: bool,
    ) -> Result<Result<Overview, Refusal>>;

    /// The state of the wire's snapshot.
    fn snapshot(&mut self, state: &[u8]) -> Result<Result<String, Refusal>>;

    /// What would happen to an action now.
    fn explain(
        &mut self,
        state: &[u8],
        context: &Context,
        proposal: &Proposal,
        supplied: &[Supply],
    ) -> Result<Result<Explained, Refusal>>;

    /// Which bodies can be erased.
    fn erasable(&mut self, records: &[Logged], wanted: &[u64]) -> Result<Result<Erasure, Refusal>>;
}

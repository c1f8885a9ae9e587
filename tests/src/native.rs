//! The evaluator as native code: `placet-policy` with the modes of `placet-modes`.

use crate::evaluator::{Evaluator, Served};
use anyhow::Result;
use placet_modes::wit::exports::placet::policy::mode as served;
use placet_policy::types::{
    Action, Answer, Context, Decision, Erasure, Event, Explained, Input, Logged, Overview,
    PathQuery, Presented, Proposal, Recovery, Refusal, Reply, Summary, Supply,
};

/// The native evaluator.
#[derive(Debug, Default)]
pub struct Native {
    served: Served,
    asked: Vec<Summary>,
}

impl Native {
    /// The native evaluator with the real modes.
    pub fn new() -> Native {
        Native::default()
    }

    fn ask(served: &Served, asked: &mut Vec<Summary>, summary: &Summary) -> Result<Answer, String> {
        asked.push(summary.clone());
        match served {
            Served::Real => mode(summary),
            Served::Answer(answer) => Ok(answer.clone()),
            Served::Fault(why) => Err(why.clone()),
        }
    }
}

/// The answer of the mode that serves a name.
fn mode(summary: &Summary) -> Result<Answer, String> {
    let function = match summary.mode.as_str() {
        "allowAll" => placet_modes::allow_all,
        "promptUnmatched" => placet_modes::prompt_unmatched,
        "onRequest" => placet_modes::on_request,
        "denyUnmatched" => placet_modes::deny_unmatched,
        other => return Err(format!("nothing serves the mode {other}")),
    };
    let answer = function(&served::Summary {
        mode: summary.mode.clone(),
        subject_kind: summary.subject_kind.clone(),
        tool_name: summary.tool_name.clone(),
        asked_for: summary.asked_for,
        confined: summary.confined.clone(),
        unmatched: summary.unmatched.clone(),
        now_ms: summary.now_ms,
    });
    let decision = match answer.decision {
        served::Decision::Allow => Decision::Allow,
        served::Decision::Ask => Decision::Ask,
        served::Decision::Deny => Decision::Deny,
    };
    Ok(Answer { decision, reason: answer.reason })
}

impl Evaluator for Native {
    fn serve(&mut self, served: Served) {
        self.served = served;
    }

    fn asked(&mut self) -> Result<Vec<Summary>> {
        Ok(std::mem::take(&mut self.asked))
    }

    fn survey(&mut self, action: &Action) -> Result<Vec<PathQuery>> {
        Ok(placet_policy::survey(action))
    }

    fn step(
        &mut self,
        state: Option<&[u8]>,
        context: &Context,
        input: &Input,
        supplied: &[Supply],
    ) -> Result<Reply> {
        let Native { served, asked } = self;
        let mut ask = |summary: &Summary| Native::ask(served, asked, summary);
        Ok(placet_policy::step(state, context, input, supplied, &mut ask))
    }

    fn recover(
        &mut self,
        state: &[u8],
        context: &Context,
        recovery: &Recovery,
        supplied: &[Supply],
    ) -> Result<Reply> {
        let Native { served, asked } = self;
        let mut ask = |summary: &Summary| Native::ask(served, asked, summary);
        Ok(placet_policy::recover(state, context, recovery, supplied, &mut ask))
    }

    fn fold(
        &mut self,
        state: Option<&[u8]>,
        records: &[Logged],
    ) -> Result<Result<Vec<u8>, Refusal>> {
        Ok(placet_policy::fold(state, records))
    }

    fn render(&mut self, session: &str, record: &Logged) -> Result<Result<Option<Event>, Refusal>> {
        Ok(placet_policy::render(session, record))
    }

    fn present(
        &mut self,
        session: &str,
        state: &[u8],
        opened: &[Logged],
    ) -> Result<Result<Vec<Presented>, Refusal>> {
        Ok(placet_policy::present(session, state, opened))
    }

    fn describe(
        &mut self,
        session: &str,
        path: &str,
        state: &[u8],
        loaded: bool,
    ) -> Result<Result<Overview, Refusal>> {
        Ok(placet_policy::describe(session, path, state, loaded))
    }

    fn explain(
        &mut self,
        state: &[u8],
        context: &Context,
        proposal: &Proposal,
        supplied: &[Supply],
    ) -> Result<Result<Explained, Refusal>> {
        let Native { served, asked } = self;
        let mut ask = |summary: &Summary| Native::ask(served, asked, summary);
        Ok(placet_policy::explain(state, context, proposal, supplied, &mut ask))
    }

    fn snapshot(&mut self, state: &[u8]) -> Result<Result<String, Refusal>> {
        Ok(placet_policy::snapshot(state))
    }

    fn erasable(&mut self, records: &[Logged], wanted: &[u64]) -> Result<Result<Erasure, Refusal>> {
        Ok(placet_policy::erasable(records, wanted))
    }
}

//! Both evaluators at once: they must agree, byte for byte, on everything.

use crate::component::InComponent;
use crate::evaluator::{Evaluator, Served};
use crate::native::Native;
use anyhow::{Result, bail};
use placet_policy::types::{
    Action, Context, Erasure, Event, Explained, Input, Logged, Overview, PathQuery, Presented,
    Proposal, Recovery, Refusal, Reply, Summary, Supply,
};
use serde::Serialize;

/// The native evaluator and the component, given the same and compared.
pub struct Pair {
    native: Native,
    component: InComponent,
    /// How many calls were compared.
    pub compared: u64,
}

impl Pair {
    /// Both, with the real modes.
    pub fn new() -> Result<Pair> {
        Ok(Pair { native: Native::new(), component: InComponent::new()?, compared: 0 })
    }

    fn same<T: Serialize>(&mut self, function: &str, native: T, component: &T) -> Result<T> {
        self.compared = self.compared.saturating_add(1);
        let (here, there) = (serde_json::to_string(&native)?, serde_json::to_string(component)?);
        if here != there {
            bail!("{function} differs\n   native: {here}\ncomponent: {there}");
        }
        Ok(native)
    }
}

impl Evaluator for Pair {
    fn serve(&mut self, served: Served) {
        self.native.serve(served.clone());
        self.component.serve(served);
    }

    fn asked(&mut self) -> Result<Vec<Summary>> {
        let (native, component) = (self.native.asked()?, self.component.asked()?);
        self.same("what the mode was asked", native, &component)
    }

    fn survey(&mut self, action: &Action) -> Result<Vec<PathQuery>> {
        let (native, component) = (self.native.survey(action)?, self.component.survey(action)?);
        self.same("survey", native, &component)
    }

    fn step(
        &mut self,
        state: Option<&[u8]>,
        context: &Context,
        input: &Input,
        supplied: &[Supply],
    ) -> Result<Reply> {
        let native = self.native.step(state, context, input, supplied)?;
        let component = self.component.step(state, context, input, supplied)?;
        self.same("step", native, &component)
    }

    fn recover(
        &mut self,
        state: &[u8],
        context: &Context,
        recovery: &Recovery,
        supplied: &[Supply],
    ) -> Result<Reply> {
        let native = self.native.recover(state, context, recovery, supplied)?;
        let component = self.component.recover(state, context, recovery, supplied)?;
        self.same("recover", native, &component)
    }

    fn fold(
        &mut self,
        state: Option<&[u8]>,
        records: &[Logged],
    ) -> Result<Result<Vec<u8>, Refusal>> {
        let native = self.native.fold(state, records)?;
        let component = self.component.fold(state, records)?;
        self.same("fold", native, &component)
    }

    fn render(&mut self, session: &str, record: &Logged) -> Result<Result<Option<Event>, Refusal>> {
        let native = self.native.render(session, record)?;
        let component = self.component.render(session, record)?;
        self.same("render", native, &component)
    }

    fn present(
        &mut self,
        session: &str,
        state: &[u8],
        opened: &[Logged],
    ) -> Result<Result<Vec<Presented>, Refusal>> {
        let native = self.native.present(session, state, opened)?;
        let component = self.component.present(session, state, opened)?;
        self.same("present", native, &component)
    }

    fn describe(
        &mut self,
        session: &str,
        path: &str,
        state: &[u8],
        loaded: bool,
    ) -> Result<Result<Overview, Refusal>> {
        let native = self.native.describe(session, path, state, loaded)?;
        let component = self.component.describe(session, path, state, loaded)?;
        self.same("describe", native, &component)
    }

    fn explain(
        &mut self,
        state: &[u8],
        context: &Context,
        proposal: &Proposal,
        supplied: &[Supply],
    ) -> Result<Result<Explained, Refusal>> {
        let native = self.native.explain(state, context, proposal, supplied)?;
        let component = self.component.explain(state, context, proposal, supplied)?;
        self.same("explain", native, &component)
    }

    fn snapshot(&mut self, state: &[u8]) -> Result<Result<String, Refusal>> {
        let native = self.native.snapshot(state)?;
        let component = self.component.snapshot(state)?;
        self.same("snapshot", native, &component)
    }

    fn erasable(&mut self, records: &[Logged], wanted: &[u64]) -> Result<Result<Erasure, Refusal>> {
        let native = self.native.erasable(records, wanted)?;
        let component = self.component.erasable(records, wanted)?;
        self.same("erasable", native, &component)
    }
}

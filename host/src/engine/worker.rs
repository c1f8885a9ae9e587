//! One instance of the policy component, and the modes behind its import.

use super::bindings::types::{
    Action, Context, Erasure, Event, Explained, Finding, Input, Logged, Overview, PathQuery,
    Presented, Proposal, Recovery, Refusal, Reply, RuleLayer, Supply,
};
use super::bindings::{ApprovalMode, Policy, mode_export, mode_import};
use super::catalog::{Catalog, Mode};
use super::fence::{self, Fenced};
use crate::limits;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Engine, Store};

/// The mode components by the name that they stand behind.
pub(super) struct Modes {
    pub(super) engine: Engine,
    pub(super) served: BTreeMap<String, Mode>,
}

impl Modes {
    /// Asks a mode in a fresh instance, so that it can remember nothing. Traps
    /// and fences become the error case.
    fn ask(&self, summary: mode_import::Summary) -> Result<mode_import::Answer, String> {
        let mode = self
            .served
            .get(&summary.mode)
            .ok_or_else(|| format!("no component stands behind {}", summary.mode))?;
        self.call(mode, summary).unwrap_or_else(|fault| Err(super::sentence(&fault)))
    }

    fn call(
        &self,
        mode: &Mode,
        summary: mode_import::Summary,
    ) -> wasmtime::Result<Result<mode_import::Answer, String>> {
        let mut store = fence::store(&self.engine, limits::MODE_MEMORY_BYTES_MAX, ());
        fence::arm(&mut store, limits::MODE_FUEL_PER_CALL, limits::MODE_TICKS_PER_CALL)?;
        let instance: ApprovalMode = mode.pre.instantiate(&mut store)?;
        let summary = mode_export::Summary {
            mode: summary.mode,
            subject_kind: summary.subject_kind,
            tool_name: summary.tool_name,
            asked_for: summary.asked_for,
            confined: summary.confined,
            unmatched: summary.unmatched,
            now_ms: summary.now_ms,
        };
        let answer = instance.placet_policy_mode().call_unmatched(&mut store, &summary)?;
        Ok(answer.map(|answer| mode_import::Answer {
            decision: match answer.decision {
                mode_export::Decision::Allow => mode_import::Decision::Allow,
                mode_export::Decision::Ask => mode_import::Decision::Ask,
                mode_export::Decision::Deny => mode_import::Decision::Deny,
            },
            reason: answer.reason,
        }))
    }
}

impl mode_import::Host for Fenced<Arc<Modes>> {
    fn unmatched(&mut self, summary: mode_import::Summary) -> Result<mode_import::Answer, String> {
        self.data.ask(summary)
    }
}

/// Puts the modes behind the policy's import.
pub(super) fn serve_modes(linker: &mut Linker<Fenced<Arc<Modes>>>) -> wasmtime::Result<()> {
    mode_import::add_to_linker::<_, HasSelf<Fenced<Arc<Modes>>>>(linker, |fenced| fenced)
}

/// One live instance. It remembers nothing about a session between calls.
pub(super) struct PolicyInstance {
    store: Store<Fenced<Arc<Modes>>>,
    policy: Policy,
    pub(super) calls: u64,
}

macro_rules! call {
    ($self:ident, $function:ident, $($argument:expr),*) => {{
        $self.arm()?;
        let PolicyInstance { store, policy, .. } = $self;
        policy.placet_policy_evaluator().$function(store, $($argument),*)
    }};
}

impl PolicyInstance {
    pub(super) fn new(catalog: &Catalog) -> wasmtime::Result<PolicyInstance> {
        let modes = Arc::clone(&catalog.modes);
        let mut store = fence::store(&catalog.engine, limits::POLICY_MEMORY_BYTES_MAX, modes);
        fence::arm(&mut store, limits::POLICY_FUEL_PER_CALL, limits::POLICY_TICKS_PER_CALL)?;
        let policy = catalog.policy.instantiate(&mut store)?;
        Ok(PolicyInstance { store, policy, calls: 0 })
    }

    fn arm(&mut self) -> wasmtime::Result<()> {
        self.calls = self.calls.saturating_add(1);
        fence::arm(&mut self.store, limits::POLICY_FUEL_PER_CALL, limits::POLICY_TICKS_PER_CALL)
    }

    pub(super) fn survey(&mut self, action: &Action) -> wasmtime::Result<Vec<PathQuery>> {
        call!(self, call_survey, action)
    }

    pub(super) fn step(
        &mut self,
        state: Option<&[u8]>,
        context: &Context,
        input: &Input,
        supplied: &[Supply],
    ) -> wasmtime::Result<Reply> {
        call!(self, call_step, state, context, input, supplied)
    }

    pub(super) fn recover(
        &mut self,
        state: &[u8],
        context: &Context,
        recovery: &Recovery,
        supplied: &[Supply],
    ) -> wasmtime::Result<Reply> {
        call!(self, call_recover, state, context, recovery, supplied)
    }

    pub(super) fn fold(
        &mut self,
        state: Option<&[u8]>,
        records: &[Logged],
    ) -> wasmtime::Result<Result<Vec<u8>, Refusal>> {
        call!(self, call_fold, state, records)
    }

    pub(super) fn render(
        &mut self,
        session: &str,
        record: &Logged,
    ) -> wasmtime::Result<Result<Option<Event>, Refusal>> {
        call!(self, call_render, session, record)
    }

    pub(super) fn present(
        &mut self,
        session: &str,
        state: &[u8],
        opened: &[Logged],
    ) -> wasmtime::Result<Result<Vec<Presented>, Refusal>> {
        call!(self, call_present, session, state, opened)
    }

    pub(super) fn describe(
        &mut self,
        session: &str,
        path: &str,
        state: &[u8],
        loaded: bool,
    ) -> wasmtime::Result<Result<Overview, Refusal>> {
        call!(self, call_describe, session, path, state, loaded)
    }

    pub(super) fn snapshot(&mut self, state: &[u8]) -> wasmtime::Result<Result<String, Refusal>> {
        call!(self, call_snapshot, state)
    }

    pub(super) fn explain(
        &mut self,
        state: &[u8],
        context: &Context,
        proposal: &Proposal,
        supplied: &[Supply],
    ) -> wasmtime::Result<Result<Explained, Refusal>> {
        call!(self, call_explain, state, context, proposal, supplied)
    }

    pub(super) fn check_rules(&mut self, layers: &[RuleLayer]) -> wasmtime::Result<Vec<Finding>> {
        call!(self, call_check_rules, layers)
    }

    pub(super) fn erasable(
        &mut self,
        records: &[Logged],
        wanted: &[u64],
    ) -> wasmtime::Result<Result<Erasure, Refusal>> {
        call!(self, call_erasable, records, wanted)
    }
}

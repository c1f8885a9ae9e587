//! The evaluator as the policy component, embedded on wasmtime a second time.
//!
//! On purpose this shares nothing with the host's engine: two embeddings that
//! agree say more than one. The modes are components too, each asked in a fresh
//! instance in a store of its own.

use crate::evaluator::{Evaluator, Served};
use anyhow::{Context as _, Result, anyhow};
use placet_policy::types::{
    Action, Context, Erasure, Event, Explained, Input, Logged, Overview, PathQuery, Presented,
    Proposal, Recovery, Refusal, Reply, Summary, Supply,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Engine, Store};

#[allow(missing_docs, clippy::all, reason = "generated from wit/")]
mod policy {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "policy",
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    });
}

#[allow(missing_docs, clippy::all, reason = "generated from wit/")]
mod mode {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "approval-mode",
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    });
}

use policy::placet::policy::{mode as import, types};

/// The mode names; each is served by the file of its name.
const MODES: [&str; 4] = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"];

/// Where the components are: `$PLACET_COMPONENTS`, else `target/components` of this workspace.
pub fn folder() -> PathBuf {
    match std::env::var_os("PLACET_COMPONENTS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components"),
    }
}

/// The compiled components: made once in a process, shared by all tests.
struct Compiled {
    engine: Engine,
    policy: InstancePre<Modes>,
    modes: BTreeMap<String, InstancePre<()>>,
}

fn compiled() -> Result<Arc<Compiled>> {
    static COMPILED: OnceLock<Result<Arc<Compiled>, String>> = OnceLock::new();
    COMPILED
        .get_or_init(|| compile().map(Arc::new).map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(|why| anyhow!(why))
}

fn compile() -> Result<Compiled> {
    let engine = Engine::default();
    let mut linker: Linker<Modes> = Linker::new(&engine);
    ran(import::add_to_linker::<_, HasSelf<_>>(&mut linker, |modes| modes))?;
    let policy = ran(linker.instantiate_pre(&load(&engine, "policy")?))?;
    let mut modes = BTreeMap::new();
    for name in MODES {
        let pre = ran(Linker::new(&engine).instantiate_pre(&load(&engine, name)?))?;
        modes.insert(name.to_owned(), pre);
    }
    Ok(Compiled { engine, policy, modes })
}

fn load(engine: &Engine, name: &str) -> Result<Component> {
    let path = folder().join(format!("{name}.wasm"));
    let bytes = std::fs::read(&path).with_context(|| {
        format!(
            "the component {} cannot be read; build it with `cargo xtask components`",
            path.display()
        )
    })?;
    ran(Component::new(engine, bytes))
}

/// What serves the mode import of one policy instance.
struct Modes {
    compiled: Arc<Compiled>,
    served: Served,
    asked: Vec<Summary>,
}

impl Modes {
    fn real(&self, summary: &import::Summary) -> Result<import::Answer> {
        let pre = self
            .compiled
            .modes
            .get(&summary.mode)
            .ok_or_else(|| anyhow!("nothing serves the mode {}", summary.mode))?;
        let mut store = Store::new(&self.compiled.engine, ());
        let instance = ran(pre.instantiate(&mut store))?;
        let instance = ran(mode::ApprovalMode::new(&mut store, &instance))?;
        let functions = instance.placet_policy_mode();
        let answer = ran(functions.call_unmatched(&mut store, &convert(summary)?))?;
        convert(&answer.map_err(|why| anyhow!(why))?)
    }
}

impl import::Host for Modes {
    fn unmatched(&mut self, summary: import::Summary) -> Result<import::Answer, String> {
        let recorded = convert(&summary).map_err(|error| error.to_string())?;
        self.asked.push(recorded);
        match &self.served {
            Served::Real => self.real(&summary).map_err(|error| error.to_string()),
            Served::Answer(answer) => convert(answer).map_err(|error| error.to_string()),
            Served::Fault(why) => Err(why.clone()),
        }
    }
}

impl types::Host for Modes {}

/// wasmtime's errors as ours.
fn ran<T>(result: wasmtime::Result<T>) -> Result<T> {
    result.map_err(|error| anyhow!("{error:?}"))
}

/// From one embedding's types to the other's: they are one contract, so what
/// serialises equally is equal.
fn convert<A: Serialize + ?Sized, B: DeserializeOwned>(from: &A) -> Result<B> {
    Ok(serde_json::from_slice(&serde_json::to_vec(from)?)?)
}

fn convert_all<A: Serialize, B: DeserializeOwned>(from: &[A]) -> Result<Vec<B>> {
    from.iter().map(convert).collect()
}

fn answer<A: Serialize, B: DeserializeOwned>(
    from: Result<A, types::Refusal>,
) -> Result<Result<B, Refusal>> {
    Ok(match from {
        Ok(value) => Ok(convert(&value)?),
        Err(refusal) => Err(convert(&refusal)?),
    })
}

/// The component evaluator: one instance that serves any session.
pub struct InComponent {
    store: Store<Modes>,
    instance: policy::Policy,
}

impl InComponent {
    /// An instance of the policy component with the real modes behind it.
    pub fn new() -> Result<InComponent> {
        let compiled = compiled()?;
        let modes =
            Modes { compiled: compiled.clone(), served: Served::default(), asked: Vec::new() };
        let mut store = Store::new(&compiled.engine, modes);
        let instance = ran(compiled.policy.instantiate(&mut store))?;
        let instance = ran(policy::Policy::new(&mut store, &instance))?;
        Ok(InComponent { store, instance })
    }
}

/// A call with its arguments as the component takes them, so that a bench
/// measures the call and not the conversion.
pub struct Prepared(Call);

enum Call {
    Step(Option<Vec<u8>>, types::Context, types::Input, Vec<types::Supply>),
    Explain(Vec<u8>, types::Context, types::Proposal, Vec<types::Supply>),
}

impl Prepared {
    /// A call of `step`.
    pub fn step(
        state: Option<&[u8]>,
        context: &Context,
        input: &Input,
        supplied: &[Supply],
    ) -> Result<Prepared> {
        let supplied = convert_all(supplied)?;
        let state = state.map(<[u8]>::to_vec);
        Ok(Prepared(Call::Step(state, convert(context)?, convert(input)?, supplied)))
    }

    /// A call of `explain`.
    pub fn explain(
        state: &[u8],
        context: &Context,
        proposal: &Proposal,
        supplied: &[Supply],
    ) -> Result<Prepared> {
        let supplied = convert_all(supplied)?;
        Ok(Prepared(Call::Explain(state.to_vec(), convert(context)?, convert(proposal)?, supplied)))
    }
}

impl InComponent {
    /// Makes a prepared call and drops its answer.
    pub fn call(&mut self, prepared: &Prepared) -> Result<()> {
        let functions = self.instance.placet_policy_evaluator();
        match &prepared.0 {
            Call::Step(state, context, input, supplied) => {
                let state = state.as_deref();
                ran(functions.call_step(&mut self.store, state, context, input, supplied))?;
            }
            Call::Explain(state, context, proposal, supplied) => {
                let store = &mut self.store;
                let answer = ran(functions.call_explain(store, state, context, proposal, supplied));
                answer?.map_err(|refusal| anyhow!("{refusal:?}"))?;
            }
        }
        self.store.data_mut().asked.clear();
        Ok(())
    }
}

impl Evaluator for InComponent {
    fn serve(&mut self, served: Served) {
        self.store.data_mut().served = served;
    }

    fn asked(&mut self) -> Result<Vec<Summary>> {
        Ok(std::mem::take(&mut self.store.data_mut().asked))
    }

    fn survey(&mut self, action: &Action) -> Result<Vec<PathQuery>> {
        let functions = self.instance.placet_policy_evaluator();
        convert_all(&ran(functions.call_survey(&mut self.store, &convert(action)?))?)
    }

    fn step(
        &mut self,
        state: Option<&[u8]>,
        context: &Context,
        input: &Input,
        supplied: &[Supply],
    ) -> Result<Reply> {
        let functions = self.instance.placet_policy_evaluator();
        let (context, input) = (convert(context)?, convert(input)?);
        let supplied = convert_all(supplied)?;
        convert(&ran(functions.call_step(&mut self.store, state, &context, &input, &supplied))?)
    }

    fn recover(
        &mut self,
        state: &[u8],
        context: &Context,
        recovery: &Recovery,
        supplied: &[Supply],
    ) -> Result<Reply> {
        let functions = self.instance.placet_policy_evaluator();
        let (context, recovery) = (convert(context)?, convert(recovery)?);
        let supplied = convert_all(supplied)?;
        convert(&ran(functions.call_recover(
            &mut self.store,
            state,
            &context,
            &recovery,
            &supplied,
        ))?)
    }

    fn fold(
        &mut self,
        state: Option<&[u8]>,
        records: &[Logged],
    ) -> Result<Result<Vec<u8>, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        answer(ran(functions.call_fold(&mut self.store, state, &convert_all(records)?))?)
    }

    fn render(&mut self, session: &str, record: &Logged) -> Result<Result<Option<Event>, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        answer(ran(functions.call_render(&mut self.store, session, &convert(record)?))?)
    }

    fn present(
        &mut self,
        session: &str,
        state: &[u8],
        opened: &[Logged],
    ) -> Result<Result<Vec<Presented>, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        answer(ran(functions.call_present(&mut self.store, session, state, &convert_all(opened)?))?)
    }

    fn describe(
        &mut self,
        session: &str,
        path: &str,
        state: &[u8],
        loaded: bool,
    ) -> Result<Result<Overview, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        answer(ran(functions.call_describe(&mut self.store, session, path, state, loaded))?)
    }

    fn explain(
        &mut self,
        state: &[u8],
        context: &Context,
        proposal: &Proposal,
        supplied: &[Supply],
    ) -> Result<Result<Explained, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        let (context, proposal) = (convert(context)?, convert(proposal)?);
        let supplied = convert_all(supplied)?;
        answer(ran(functions.call_explain(&mut self.store, state, &context, &proposal, &supplied))?)
    }

    fn snapshot(&mut self, state: &[u8]) -> Result<Result<String, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        answer(ran(functions.call_snapshot(&mut self.store, state))?)
    }

    fn erasable(&mut self, records: &[Logged], wanted: &[u64]) -> Result<Result<Erasure, Refusal>> {
        let functions = self.instance.placet_policy_evaluator();
        answer(ran(functions.call_erasable(&mut self.store, &convert_all(records)?, wanted))?)
    }
}

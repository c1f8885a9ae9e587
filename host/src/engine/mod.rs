//! The policy component at work: loaded, pooled, fenced, off the async workers.
//!
//! Only this module knows wasmtime. Everything else sees `Engine`, whose calls
//! are pure functions of their arguments: any worker may serve any session, and
//! a trap costs one call and one instance.

mod bindings;
mod catalog;
mod fence;
mod pool;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use bindings::types;
pub use catalog::{Catalog, MODES, POLICY};
use types::{
    Action, Context, Erasure, Event, Explained, Finding, Input, Logged, Overview, PathQuery,
    Presented, Proposal, Recovery, Refusal, Reply, RuleLayer, Supply,
};

/// Why a call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A component is missing or is not what it should be.
    #[error("{0}")]
    Component(String),
    /// The queue before the workers is full.
    #[error("the policy workers are busy with {queued} calls; try again")]
    Overloaded {
        /// How many calls wait.
        queued: usize,
    },
    /// The component trapped or met a fence; its instance is gone.
    #[error("the policy component failed: {0}")]
    Fault(String),
    /// The workers are gone.
    #[error("the policy workers have stopped")]
    Stopped,
}

impl From<wasmtime::Error> for EngineError {
    fn from(error: wasmtime::Error) -> EngineError {
        EngineError::Fault(sentence(&error))
    }
}

/// What went wrong, in one line: a trap's own words without the calls that led
/// to it, else the whole chain of causes.
fn sentence(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<wasmtime::Trap>() {
        Some(trap) => trap.to_string(),
        None => format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// The policy component and the four modes behind it.
#[derive(Clone)]
pub struct Engine {
    pool: Arc<pool::Pool>,
    catalog: Arc<Catalog>,
}

impl Engine {
    /// Loads the components of a folder; compiled code is kept in `cache`.
    ///
    /// # Errors
    /// When a component is missing, cannot be read, or imports what it must not.
    pub fn load(components: &Path, cache: &Path) -> Result<Engine, EngineError> {
        let catalog = Arc::new(Catalog::load(components, cache)?);
        let pool = Arc::new(pool::Pool::start(&catalog)?);
        Ok(Engine { pool, catalog })
    }

    /// What was loaded, by name and digest.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Lists the paths that the evaluator will want facts about.
    ///
    /// # Errors
    /// See [`EngineError`]; the same holds for every call below.
    pub async fn survey(&self, action: Action) -> Result<Vec<PathQuery>, EngineError> {
        self.pool.call(move |policy| policy.survey(&action)).await
    }

    /// Answers one input of a session.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn step(
        &self,
        state: Option<Arc<[u8]>>,
        context: Context,
        input: Input,
        supplied: Vec<Supply>,
    ) -> Result<Reply, EngineError> {
        self.pool
            .call(move |policy| policy.step(state.as_deref(), &context, &input, &supplied))
            .await
    }

    /// Recovers a session that is being loaded.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn recover(
        &self,
        state: Arc<[u8]>,
        context: Context,
        recovery: Recovery,
        supplied: Vec<Supply>,
    ) -> Result<Reply, EngineError> {
        self.pool.call(move |policy| policy.recover(&state, &context, &recovery, &supplied)).await
    }

    /// Folds records into a state.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn fold(
        &self,
        state: Option<Arc<[u8]>>,
        records: Vec<Logged>,
    ) -> Result<Result<Vec<u8>, Refusal>, EngineError> {
        self.pool.call(move |policy| policy.fold(state.as_deref(), &records)).await
    }

    /// The view events of records, in order, leaving out what has none.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn render(
        &self,
        session: String,
        records: Vec<Logged>,
    ) -> Result<Result<Vec<Event>, Refusal>, EngineError> {
        self.pool
            .call(move |policy| {
                let mut events = Vec::new();
                for record in &records {
                    match policy.render(&session, record)? {
                        Ok(event) => events.extend(event),
                        Err(refusal) => return Ok(Err(refusal)),
                    }
                }
                Ok(Ok(events))
            })
            .await
    }

    /// The pending requests of a state.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn present(
        &self,
        session: String,
        state: Arc<[u8]>,
        opened: Vec<Logged>,
    ) -> Result<Result<Vec<Presented>, Refusal>, EngineError> {
        self.pool.call(move |policy| policy.present(&session, &state, &opened)).await
    }

    /// What the host may know about a state.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn describe(
        &self,
        session: String,
        path: String,
        state: Arc<[u8]>,
        loaded: bool,
    ) -> Result<Result<Overview, Refusal>, EngineError> {
        self.pool.call(move |policy| policy.describe(&session, &path, &state, loaded)).await
    }

    /// The state of the wire's snapshot, without its items: UTF-8 JSON.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn snapshot(&self, state: Arc<[u8]>) -> Result<Result<String, Refusal>, EngineError> {
        self.pool.call(move |policy| policy.snapshot(&state)).await
    }

    /// What would happen to an action now, and why.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn explain(
        &self,
        state: Arc<[u8]>,
        context: Context,
        proposal: Proposal,
        supplied: Vec<Supply>,
    ) -> Result<Result<Explained, Refusal>, EngineError> {
        self.pool.call(move |policy| policy.explain(&state, &context, &proposal, &supplied)).await
    }

    /// What is wrong with layers of rules.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn check_rules(&self, layers: Vec<RuleLayer>) -> Result<Vec<Finding>, EngineError> {
        self.pool.call(move |policy| policy.check_rules(&layers)).await
    }

    /// Which bodies of a session can be erased, given its whole log.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub async fn erasable(
        &self,
        records: Vec<Logged>,
        wanted: Vec<u64>,
    ) -> Result<Result<Erasure, Refusal>, EngineError> {
        self.pool.call(move |policy| policy.erasable(&records, &wanted)).await
    }
}

/// Where the components are: what `$PLACET_COMPONENTS` names, else `components`
/// beside the program or one folder up.
///
/// # Errors
/// When none of these places has a policy component.
pub fn components_folder() -> Result<PathBuf, EngineError> {
    if let Some(named) = std::env::var_os("PLACET_COMPONENTS") {
        return Ok(PathBuf::from(named));
    }
    let program = std::env::current_exe()
        .map_err(|error| EngineError::Component(format!("cannot tell where placet is: {error}")))?;
    let places: Vec<PathBuf> =
        program.ancestors().skip(1).take(2).map(|folder| folder.join("components")).collect();
    places
        .iter()
        .find(|folder| folder.join(POLICY).with_extension("wasm").is_file())
        .cloned()
        .ok_or_else(|| {
            let tried: Vec<String> =
                places.iter().map(|place| place.display().to_string()).collect();
            EngineError::Component(format!(
                "there is no policy component in {}; run `cargo xtask components`, or set \
                 PLACET_COMPONENTS to the folder that holds policy.wasm",
                tried.join(" or ")
            ))
        })
}

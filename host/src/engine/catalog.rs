//! The components by name: read, digested, inspected, compiled once and cached.

use super::EngineError;
use super::bindings::{ApprovalModePre, PolicyPre};
use super::fence::{self, Fenced, Ticker};
use super::worker::{self, Modes};
use crate::hex::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

/// The policy component's name.
pub const POLICY: &str = "policy";

/// The names that mode components stand behind.
pub const MODES: [&str; 4] = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"];

/// The only interface with functions that the policy component may import.
const MODE_INTERFACE: &str = "placet:policy/mode@0.1.0";

/// A mode component, ready to instantiate.
pub(super) struct Mode {
    pub(super) pre: ApprovalModePre<Fenced<()>>,
}

/// Everything that was loaded.
pub struct Catalog {
    pub(super) engine: Engine,
    pub(super) policy: PolicyPre<Fenced<Arc<Modes>>>,
    pub(super) modes: Arc<Modes>,
    digests: BTreeMap<String, String>,
    _ticker: Ticker,
}

impl Catalog {
    pub(super) fn load(components: &Path, cache: &Path) -> Result<Catalog, EngineError> {
        let engine = fence::engine()?;
        let mut digests = BTreeMap::new();
        let mut read = |name: &str| -> Result<Component, EngineError> {
            let (component, digest) = compile(&engine, components, cache, name)?;
            digests.insert(name.to_owned(), digest);
            Ok(component)
        };
        let component = read(POLICY)?;
        expect_imports(&engine, &component, POLICY, &[MODE_INTERFACE])?;
        let mut served = BTreeMap::new();
        for name in MODES {
            let component = read(name)?;
            expect_imports(&engine, &component, name, &[])?;
            let pre = Linker::new(&engine).instantiate_pre(&component);
            let pre = pre.and_then(ApprovalModePre::new).map_err(|error| unfit(name, &error))?;
            served.insert(name.to_owned(), Mode { pre });
        }
        let mut linker = Linker::new(&engine);
        worker::serve_modes(&mut linker)?;
        let policy = linker.instantiate_pre(&component).and_then(PolicyPre::new);
        let policy = policy.map_err(|error| unfit(POLICY, &error))?;
        let ticker = fence::tick(&engine).map_err(|error| {
            EngineError::Component(format!("cannot start the epoch thread: {error}"))
        })?;
        Ok(Catalog {
            modes: Arc::new(Modes { engine: engine.clone(), served }),
            engine,
            policy,
            digests,
            _ticker: ticker,
        })
    }

    /// The digest of a component by its name, `sha256:` and hexadecimal digits.
    #[must_use]
    pub fn digest(&self, name: &str) -> &str {
        self.digests.get(name).map_or("", String::as_str)
    }

    /// Names and digests, in name order.
    pub fn digests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.digests.iter().map(|(name, digest)| (name.as_str(), digest.as_str()))
    }
}

fn unfit(name: &str, error: &wasmtime::Error) -> EngineError {
    let why = super::sentence(error);
    EngineError::Component(format!("the component {name} is not what its name says: {why}"))
}

/// Reads a component and compiles it, or takes the compiled code of an earlier start.
fn compile(
    engine: &Engine,
    components: &Path,
    cache: &Path,
    name: &str,
) -> Result<(Component, String), EngineError> {
    let path = components.join(name).with_extension("wasm");
    let bytes = std::fs::read(&path).map_err(|error| {
        EngineError::Component(format!(
            "cannot read the component {name} at {}: {error}; run `cargo xtask components`",
            path.display()
        ))
    })?;
    let digest = hex(&Sha256::digest(&bytes));
    let compiled = cache.join(format!("{digest}-{}.cwasm", compatibility(engine)));
    let component = match cached(engine, &compiled) {
        Some(component) => component,
        None => {
            let component = Component::new(engine, &bytes).map_err(|error| {
                EngineError::Component(format!(
                    "{} is no component that this host can run: {}",
                    path.display(),
                    super::sentence(&error)
                ))
            })?;
            // A cache that cannot be written costs time at the next start, nothing else.
            let _ = keep(&component, &compiled);
            component
        }
    };
    Ok((component, format!("sha256:{digest}")))
}

fn cached(engine: &Engine, path: &Path) -> Option<Component> {
    if !path.is_file() {
        return None;
    }
    // SAFETY: the file lies in the home, which only this user can write, and was
    // written by `keep` below for this very engine configuration; whoever could
    // change it could as well change the program.
    unsafe { Component::deserialize_file(engine, path) }.ok()
}

fn keep(component: &Component, path: &Path) -> anyhow::Result<()> {
    let bytes = component.serialize().map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, bytes)?;
    std::fs::rename(&part, path)?;
    Ok(())
}

fn compatibility(engine: &Engine) -> String {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A component may import functions only from the interfaces named; imports
/// that carry types alone do not count.
fn expect_imports(
    engine: &Engine,
    component: &Component,
    name: &str,
    allowed: &[&str],
) -> Result<(), EngineError> {
    use wasmtime::component::types::ComponentItem;
    for (import, item) in component.component_type().imports(engine) {
        let types_only = match &item.ty {
            ComponentItem::ComponentInstance(instance) => instance
                .exports(engine)
                .all(|(_, export)| matches!(export.ty, ComponentItem::Type(_))),
            ComponentItem::Type(_) => true,
            _ => false,
        };
        if !types_only && !allowed.contains(&import) {
            return Err(EngineError::Component(format!(
                "the component {name} imports {import}; it may import {}",
                if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") }
            )));
        }
    }
    Ok(())
}

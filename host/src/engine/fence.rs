//! Fences around every call: fuel, time and memory.
//!
//! They stand far above what the guest's own limits allow, so that meeting one
//! is a fault and never a verdict.

use crate::limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wasmtime::{Config, Engine, PoolingAllocationConfig, Store, StoreLimits, StoreLimitsBuilder};

/// Stops the ticking when the last engine is gone.
pub(super) struct Ticker(Arc<AtomicBool>);

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A wasmtime engine with fuel and epochs, and instances from a pool.
pub(super) fn engine() -> wasmtime::Result<Engine> {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(limits::ENGINE_INSTANCES_MAX);
    pool.total_core_instances(limits::ENGINE_INSTANCES_MAX);
    pool.total_memories(limits::ENGINE_INSTANCES_MAX);
    pool.total_tables(limits::ENGINE_INSTANCES_MAX);
    pool.max_memory_size(limits::POLICY_MEMORY_BYTES_MAX);
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .allocation_strategy(pool);
    Engine::new(&config)
}

/// Advances an engine's epoch at a fixed pace for as long as the ticker lives.
pub(super) fn tick(engine: &Engine) -> std::io::Result<Ticker> {
    let stop = Arc::new(AtomicBool::new(false));
    let (engine, stopped) = (engine.weak(), Arc::clone(&stop));
    std::thread::Builder::new().name("placet-epoch".to_owned()).spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(limits::EPOCH_TICK_MS));
            match engine.upgrade() {
                Some(engine) => engine.increment_epoch(),
                None => return,
            }
        }
    })?;
    Ok(Ticker(stop))
}

/// What a store carries: its limits.
pub(super) struct Fenced<T> {
    /// Whatever the store's host functions need.
    pub(super) data: T,
    limits: StoreLimits,
}

/// A store with a memory limit; fuel and deadline are set for each call.
pub(super) fn store<T: 'static>(engine: &Engine, memory_bytes: usize, data: T) -> Store<Fenced<T>> {
    let limits = StoreLimitsBuilder::new().memory_size(memory_bytes).build();
    let mut store = Store::new(engine, Fenced { data, limits });
    store.limiter(|fenced| &mut fenced.limits);
    store
}

/// Gives a store what one call may use.
pub(super) fn arm<T>(store: &mut Store<Fenced<T>>, fuel: u64, ticks: u64) -> wasmtime::Result<()> {
    store.set_fuel(fuel)?;
    store.set_epoch_deadline(ticks);
    Ok(())
}

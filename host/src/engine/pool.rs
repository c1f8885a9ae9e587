//! A small pool of threads that hold policy instances, behind a bounded queue.

use super::EngineError;
use super::catalog::Catalog;
use super::worker::PolicyInstance;
use crate::limits;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce(&mut Worker) + Send>;

/// The queue and the threads behind it; they end when the pool is dropped.
pub(super) struct Pool {
    jobs: SyncSender<Job>,
}

/// What a thread holds: an instance, made anew after a fault.
pub(super) struct Worker {
    catalog: Arc<Catalog>,
    instance: Option<PolicyInstance>,
}

impl Pool {
    pub(super) fn start(catalog: &Arc<Catalog>) -> Result<Pool, EngineError> {
        let (jobs, queue) = sync_channel::<Job>(limits::POLICY_CALLS_QUEUED_MAX);
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..limits::POLICY_WORKERS {
            let mut worker = Worker { catalog: Arc::clone(catalog), instance: None };
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name(format!("placet-policy-{number}"))
                .spawn(move || {
                    while let Some(job) = next(&queue) {
                        job(&mut worker);
                    }
                })
                .map_err(|error| {
                    EngineError::Component(format!("cannot start a policy worker: {error}"))
                })?;
        }
        Ok(Pool { jobs })
    }

    /// Runs one call on some worker.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut PolicyInstance) -> wasmtime::Result<T> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |worker| {
            // Nobody waits any more: nothing to tell.
            let _ = reply.send(worker.run(call));
        });
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => {
                EngineError::Overloaded { queued: limits::POLICY_CALLS_QUEUED_MAX }
            }
            TrySendError::Disconnected(_) => EngineError::Stopped,
        })?;
        answer.await.map_err(|_| EngineError::Stopped)?
    }
}

fn next(queue: &Mutex<Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Worker {
    fn run<T>(
        &mut self,
        call: impl FnOnce(&mut PolicyInstance) -> wasmtime::Result<T>,
    ) -> Result<T, EngineError> {
        let mut instance = match self.instance.take() {
            Some(instance) => instance,
            None => PolicyInstance::new(&self.catalog)?,
        };
        let answer = call(&mut instance)?;
        // A fault drops the instance on the way out above; a healthy one serves
        // again until its memory may have grown for long enough.
        if instance.calls < limits::POLICY_CALLS_PER_INSTANCE {
            self.instance = Some(instance);
        }
        Ok(answer)
    }
}

//! The connections that read, a few of them, opened when they are needed.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::schema;
use crate::limits::LOG_READ_CONNECTIONS_MAX;
use crate::log::error::LogError;
use crate::log::home::Home;

/// A pool of read connections.
pub(super) struct Readers {
    idle: Mutex<Idle>,
    permits: Arc<Semaphore>,
}

#[derive(Default)]
struct Idle {
    connections: Vec<Connection>,
    /// Raised when the open connections are not to be used again.
    generation: u64,
}

impl Default for Readers {
    fn default() -> Self {
        let permits = Arc::new(Semaphore::new(LOG_READ_CONNECTIONS_MAX));
        Self { idle: Mutex::default(), permits }
    }
}

impl Readers {
    /// Waits for a connection to be free.
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, LogError> {
        Arc::clone(&self.permits).acquire_owned().await.map_err(|_| LogError::Stopped)
    }

    /// Puts in a connection that is open already.
    pub(super) fn put_first(&self, connection: Connection) {
        self.lock().connections.push(connection);
    }

    /// Runs `work` on a connection; the caller holds a permit.
    pub(super) fn with<T>(
        &self,
        home: &Home,
        work: impl FnOnce(&Connection) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let (idle, generation) = {
            let mut idle = self.lock();
            (idle.connections.pop(), idle.generation)
        };
        let connection = match idle {
            Some(connection) => connection,
            None => schema::open_reader(home)?,
        };
        let result = work(&connection);
        let mut idle = self.lock();
        if idle.generation == generation {
            idle.connections.push(connection);
        }
        result
    }

    /// Closes the connections, those that are in use when they come back.
    pub(super) fn forget(&self) {
        let mut idle = self.lock();
        idle.connections.clear();
        idle.generation = idle.generation.wrapping_add(1);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

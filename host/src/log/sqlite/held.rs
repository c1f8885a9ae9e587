//! The leases that somebody in this process has.
//!
//! The leases table alone cannot tell: after a commit with an unknown end it may
//! name this host for a lease that was never handed out.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::log::error::LogError;
use crate::log::store::Lease;

/// Session and epoch of every lease that was handed out and not given back.
#[derive(Default)]
pub(super) struct Held(Mutex<HashMap<String, u64>>);

impl Held {
    /// Whether somebody here has the session's lease.
    pub(super) fn has(&self, session: &str) -> bool {
        self.lock().contains_key(session)
    }

    /// Hands out a lease. It is called inside the transaction that takes it, so that
    /// a second taker in the same process is refused at once.
    pub(super) fn hand_out(&self, lease: &Lease) {
        self.lock().insert(lease.session.clone(), lease.epoch);
    }

    /// Forgets a lease, if it is still the one that was handed out.
    pub(super) fn forget(&self, lease: &Lease) {
        let mut held = self.lock();
        if held.get(&lease.session) == Some(&lease.epoch) {
            held.remove(&lease.session);
        }
    }

    /// Forgets a lease that was given back, unless nothing was changed.
    pub(super) fn given_back<T>(&self, lease: &Lease, result: &Result<T, LogError>) {
        let kept =
            matches!(result, Err(LogError::Io { .. } | LogError::Busy { .. } | LogError::Stopped));
        if !kept {
            self.forget(lease);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

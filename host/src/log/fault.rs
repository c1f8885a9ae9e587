//! Numbered places at which a test can end the process or make a commit fail.
//!
//! Every place where a crash makes a difference is a *boundary* with a name. A
//! test runs once with `PLACET_FAULT_LOG=path` to count them, then once for each
//! k with `PLACET_FAULT_AT=k`, which aborts the process at the k-th. Nothing
//! reads these variables but [`Faults::from_env`].

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::error::LogError;

/// A commit that answers with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// Nothing was written.
    Lost,
    /// Everything was written, and yet the answer is an error.
    Written,
}

/// The boundaries that were passed, and what happens at them.
#[derive(Debug, Default)]
pub struct Faults {
    passed: AtomicU64,
    at: Option<u64>,
    log: Option<Mutex<File>>,
    commits: Mutex<VecDeque<CommitFault>>,
    disk_full: std::sync::atomic::AtomicBool,
}

impl Faults {
    /// No faults.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Faults as `PLACET_FAULT_AT` and `PLACET_FAULT_LOG` ask for them.
    ///
    /// # Errors
    /// When a variable is set to something that cannot be used.
    pub fn from_env() -> Result<Self, LogError> {
        let bad = |why: String| LogError::CannotOpen { path: "the fault plan".to_owned(), why };
        let at = match std::env::var("PLACET_FAULT_AT") {
            Err(_) => None,
            Ok(text) => Some(text.parse().map_err(|_| bad(format!("PLACET_FAULT_AT={text}")))?),
        };
        let log = match std::env::var_os("PLACET_FAULT_LOG") {
            None => None,
            Some(path) => {
                let opened = OpenOptions::new().create(true).append(true).open(&path);
                Some(Mutex::new(opened.map_err(|e| bad(format!("PLACET_FAULT_LOG: {e}")))?))
            }
        };
        Ok(Self { at, log, ..Self::default() })
    }

    /// Passes a boundary. The line is written before the process is aborted.
    pub fn hit(&self, name: &str) {
        if self.at.is_none() && self.log.is_none() {
            return;
        }
        let number = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(log) = &self.log {
            let mut file = log.lock().unwrap_or_else(PoisonError::into_inner);
            // A test reads this file; if it cannot be written the test sees that.
            let _ = file.write_all(format!("{number} {name}\n").as_bytes());
        }
        if self.at == Some(number) {
            std::process::abort();
        }
    }

    /// Makes a commit fail, after those that were asked for before.
    pub fn fail_commit(&self, fault: CommitFault) {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner).push_back(fault);
    }

    /// Says from now on that the disk is full, or that it is not.
    pub fn disk_full(&self, full: bool) {
        self.disk_full.store(full, Ordering::SeqCst);
    }

    pub(super) fn next_commit(&self) -> Option<CommitFault> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(super) fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::SeqCst)
    }
}

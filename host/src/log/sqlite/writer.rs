//! The one thread that writes: it commits what has queued up while the last
//! commit ran as one group.
//!
//! A job is checked and run inside the group's transaction, each in a savepoint,
//! so that one that conflicts or fails leaves the others alone. Nobody is answered
//! before the commit. A commit that fails leaves a file of which nobody knows what
//! the disk holds: it is never tried again; everybody who waits is told `unknown`
//! and the connections are opened anew before anything else happens.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{Shared, from_sqlite, schema};
use crate::limits::{LOG_DISK_FREE_BYTES_MIN, LOG_GROUP_BYTES_MAX, LOG_GROUP_JOBS_MAX};
use crate::log::error::LogError;
use crate::log::fault::CommitFault;

/// Why a job did not do what it was for.
pub(super) enum Failure {
    /// Version or epoch differ.
    Conflict,
    /// Nothing was written.
    Refused(String),
    /// Perhaps it was written.
    Unknown(String),
    /// Nothing was written, for a reason that has a name.
    Error(LogError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Error(from_sqlite(&error))
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::Error(error)
    }
}

impl Failure {
    /// The failure as an error of an operation that is not an append.
    pub(super) fn into_error(self, session: &str) -> LogError {
        match self {
            Self::Conflict => LogError::lease_lost(session),
            Self::Refused(why) => LogError::Io { why },
            Self::Unknown(why) => LogError::Unknown { why },
            Self::Error(error) => error,
        }
    }
}

/// What a job sees of the group that it is in.
pub(super) struct Group<'a> {
    pub(super) connection: &'a Connection,
    pub(super) shared: &'a Shared,
    /// Heads to tell about when the group is durable.
    pub(super) raised: Vec<(String, u64)>,
    /// Something was erased that must not stay in the write-ahead file either.
    pub(super) scrub: bool,
}

/// How the commit ended.
enum Fate {
    Committed,
    NotWritten(String),
    Unknown(String),
}

/// How a job's run left the transaction.
#[derive(PartialEq, Eq)]
enum Ran {
    Kept,
    Undone,
    /// The transaction cannot be committed any more.
    Broken,
}

/// Something to be written.
pub(super) trait Job: Send {
    fn bytes(&self) -> usize;
    /// Does the work; `false` when it failed and is to be undone.
    fn run(&mut self, group: &mut Group<'_>) -> bool;
    fn answer(self: Box<Self>, fate: &Fated);
}

/// What a job is told at its end.
pub(super) struct Fated(Fate);

/// A job made of a closure and somebody who waits for what it returns.
pub(super) struct Task<T, F> {
    bytes: usize,
    work: Option<F>,
    outcome: Option<Result<T, Failure>>,
    reply: oneshot::Sender<Result<T, Failure>>,
}

impl<T, F> Task<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut Group<'_>) -> Result<T, Failure> + Send + 'static,
{
    /// The job, and where its answer arrives.
    pub(super) fn boxed(
        bytes: usize,
        work: F,
    ) -> (Box<dyn Job>, oneshot::Receiver<Result<T, Failure>>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(Self { bytes, work: Some(work), outcome: None, reply }), answer)
    }
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnOnce(&mut Group<'_>) -> Result<T, Failure> + Send,
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn run(&mut self, group: &mut Group<'_>) -> bool {
        let Some(work) = self.work.take() else { return false };
        let outcome = work(group);
        let done = outcome.is_ok();
        self.outcome = Some(outcome);
        done
    }

    fn answer(self: Box<Self>, fate: &Fated) {
        let answer = match (&fate.0, self.outcome) {
            (Fate::Committed, Some(outcome)) => outcome,
            (Fate::Committed, None) => Err(Failure::Refused("the job was not run".to_owned())),
            // A job that failed by itself keeps its own reason.
            (Fate::NotWritten(_), Some(Err(failure))) => Err(failure),
            (Fate::NotWritten(why), _) => Err(Failure::Refused(why.clone())),
            (Fate::Unknown(why), _) => Err(Failure::Unknown(why.clone())),
        };
        // Who asked may have stopped waiting; what was written stays written.
        let _ = self.reply.send(answer);
    }
}

/// The thread's own state.
pub(super) struct Writer {
    connection: Connection,
    commit_lock: File,
    shared: Arc<Shared>,
    jobs: mpsc::Receiver<Box<dyn Job>>,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        commit_lock: File,
        shared: Arc<Shared>,
        jobs: mpsc::Receiver<Box<dyn Job>>,
    ) -> Self {
        Self { connection, commit_lock, shared, jobs }
    }

    /// Runs until the last handle is gone and the queue is empty.
    pub(super) fn run(mut self) {
        while let Some(first) = self.jobs.blocking_recv() {
            let mut bytes = first.bytes();
            let mut group = vec![first];
            while group.len() < LOG_GROUP_JOBS_MAX && bytes < LOG_GROUP_BYTES_MAX {
                let Ok(job) = self.jobs.try_recv() else { break };
                bytes = bytes.saturating_add(job.bytes());
                group.push(job);
            }
            let (fate, raised) = self.commit_group(&mut group, bytes);
            if let Fate::Unknown(_) = fate {
                self.shared.broken.store(true, Ordering::SeqCst);
                while let Ok(job) = self.jobs.try_recv() {
                    group.push(job);
                }
            }
            for (session, head) in &raised {
                self.shared.watchers.raise(session, *head);
            }
            self.shared.faults.hit("before-reply");
            let fate = Fated(fate);
            for job in group {
                job.answer(&fate);
            }
        }
    }

    fn commit_group(
        &mut self,
        group: &mut [Box<dyn Job>],
        bytes: usize,
    ) -> (Fate, Vec<(String, u64)>) {
        let not_written = |why: String| (Fate::NotWritten(why), Vec::new());
        if let Some(why) = self.disk_is_full(bytes) {
            return not_written(why);
        }
        self.shared.faults.hit("before-lock");
        if let Err(error) = self.commit_lock.lock() {
            return not_written(format!("the commit lock cannot be taken: {error}"));
        }
        let result = self.locked(group);
        // It can only fail when it was not held; a later lock would tell.
        let _ = self.commit_lock.unlock();
        self.shared.faults.hit("after-commit");
        result
    }

    fn locked(&mut self, group: &mut [Box<dyn Job>]) -> (Fate, Vec<(String, u64)>) {
        let not_written = |why: String| (Fate::NotWritten(why), Vec::new());
        if self.shared.broken.load(Ordering::SeqCst)
            && let Err(error) = self.reopen()
        {
            return not_written(format!("the log could not be opened again: {error}"));
        }
        if let Err(error) = self.connection.execute_batch("BEGIN IMMEDIATE") {
            return not_written(from_sqlite(&error).to_string());
        }
        let shared = Arc::clone(&self.shared);
        shared.faults.hit("after-begin");
        let mut transaction = Group {
            connection: &self.connection,
            shared: &shared,
            raised: Vec::new(),
            scrub: false,
        };
        let mut kept = 0_usize;
        for job in group.iter_mut() {
            match run_in_savepoint(job.as_mut(), &mut transaction) {
                Ran::Kept => kept += 1,
                Ran::Undone => {}
                Ran::Broken => {
                    self.roll_back();
                    self.shared.broken.store(true, Ordering::SeqCst);
                    return not_written("the disk is full or failed while writing".to_owned());
                }
            }
        }
        let (raised, scrub) = (transaction.raised, transaction.scrub);
        if kept == 0 {
            self.roll_back();
            return (Fate::Committed, Vec::new());
        }
        shared.faults.hit("before-commit");
        match self.commit() {
            Ok(()) => {
                shared.commits.fetch_add(1, Ordering::Relaxed);
                if scrub {
                    self.scrub();
                }
                (Fate::Committed, raised)
            }
            Err(why) => {
                self.roll_back();
                (Fate::Unknown(format!("the commit failed: {why}")), Vec::new())
            }
        }
    }

    fn commit(&self) -> Result<(), String> {
        let fault = self.shared.faults.next_commit();
        if fault == Some(CommitFault::Lost) {
            self.roll_back();
            return Err("a test asked for it".to_owned());
        }
        self.connection.execute_batch("COMMIT").map_err(|error| error.to_string())?;
        match fault {
            Some(_) => Err("a test asked for it".to_owned()),
            None => Ok(()),
        }
    }

    /// Empties the write-ahead file. If a reader is in the way the old pages stay
    /// until a later checkpoint; what was committed is committed.
    fn scrub(&self) {
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // If this fails the transaction is still open, BEGIN fails next and
            // nothing is written.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    /// Opens everything anew after a failed commit. What a fresh connection shows
    /// may be in the system's cache alone: the checkpoint writes it to the main
    /// file and syncs that, so that from here on what can be read is durable.
    fn reopen(&mut self) -> Result<(), LogError> {
        self.shared.readers.forget();
        self.connection = Connection::open_in_memory().map_err(|error| from_sqlite(&error))?;
        let connection = schema::open_writer(&self.shared.home)?;
        let busy: i64 = connection
            .query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get(0))
            .map_err(|error| from_sqlite(&error))?;
        if busy != 0 {
            return Err(LogError::Busy { why: "a reader keeps the checkpoint waiting".to_owned() });
        }
        self.connection = connection;
        self.shared.broken.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn disk_is_full(&self, bytes: usize) -> Option<String> {
        // Every byte is written to the write-ahead file and later to the main one.
        let needed = (bytes as u64).saturating_mul(2).saturating_add(LOG_DISK_FREE_BYTES_MIN);
        let free = self.shared.home.free_bytes().unwrap_or(u64::MAX);
        if free >= needed && !self.shared.faults.is_disk_full() {
            return None;
        }
        Some(format!("the disk is full: {needed} bytes are needed; make room and try again"))
    }
}

fn run_in_savepoint(job: &mut dyn Job, group: &mut Group<'_>) -> Ran {
    let raised = group.raised.len();
    if group.connection.execute_batch("SAVEPOINT job").is_err() {
        return Ran::Broken;
    }
    let (end, ran) = match job.run(group) {
        true => ("RELEASE job", Ran::Kept),
        false => ("ROLLBACK TO job; RELEASE job", Ran::Undone),
    };
    if ran == Ran::Undone {
        group.raised.truncate(raised);
    }
    // After some errors SQLite has rolled back the whole transaction by itself.
    if group.connection.is_autocommit() || group.connection.execute_batch(end).is_err() {
        return Ran::Broken;
    }
    ran
}

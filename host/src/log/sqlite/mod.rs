//! The engine that the hosts of one machine share: one SQLite file per home.
//!
//! [`writer`] is the thread through which every write goes, [`jobs`] what it does
//! inside a transaction, [`read`] what needs none, [`hosts`] how a host begins,
//! and [`schema`] the tables.

mod grants;
mod held;
mod hosts;
mod jobs;
mod read;
mod readers;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::{mpsc, watch};

use self::held::Held;
use self::readers::Readers;
use self::writer::{Failure, Group, Job, Task};
use super::error::LogError;
use super::fault::Faults;
use super::grants::GrantStore;
use super::header::{Draft, Header, Stored, encode_batch};
use super::home::{Home, Life};
use super::store::{
    Append, CommandRow, Head, Lease, Log, PendingRow, SessionMeta, SessionRow, Snapshot,
    Verification, Version,
};
use super::watchers::Watchers;

/// A host in the hosts table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// The host's id.
    pub host: String,
    /// The socket at which it can be reached.
    pub socket: Option<String>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// Whether it is running.
    pub alive: bool,
}

/// What the handle, the writer's thread and the readers share.
struct Shared {
    home: Home,
    host: String,
    faults: Arc<Faults>,
    watchers: Watchers,
    readers: Readers,
    held: Held,
    commits: AtomicU64,
    /// A commit failed: nothing is read or written before everything is opened anew.
    broken: AtomicBool,
}

/// The log in the home folder.
pub struct SqliteLog {
    shared: Arc<Shared>,
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    /// Ends after the writer's thread: nobody takes over while it still writes.
    _life: Option<Life>,
}

impl SqliteLog {
    /// Opens the log in `home` as a new host, creating what is missing.
    ///
    /// # Errors
    /// When the home or the file in it cannot be used; nothing of it was changed then.
    pub fn open(home: &Path) -> Result<Arc<Self>, LogError> {
        Self::open_with(home, Arc::new(Faults::none()))
    }

    /// Opens the log with faults that a test asks for.
    ///
    /// # Errors
    /// As [`SqliteLog::open`].
    pub fn open_with(home: &Path, faults: Arc<Faults>) -> Result<Arc<Self>, LogError> {
        hosts::start(home, faults).map(Arc::new)
    }

    /// Opens the log for reading only. It becomes no host and migrates nothing; every
    /// write is refused. (SQLite itself may create its index file beside the log.)
    ///
    /// # Errors
    /// When there is no log in `home` or it has another format.
    pub fn open_read_only(home: &Path) -> Result<Arc<Self>, LogError> {
        let home = Home::existing(home)?;
        let first = schema::open_inspector(&home)?;
        let shared = Shared::new(home, String::new(), Arc::new(Faults::none()));
        shared.readers.put_first(first);
        Ok(Arc::new(Self { shared: Arc::new(shared), jobs: None, thread: None, _life: None }))
    }

    /// What is wrong with the file, also where no record lies.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub async fn damage(&self) -> Result<Option<String>, LogError> {
        self.read(read::damage).await
    }

    /// How many transactions were committed; fewer than jobs when they share one.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// Tells the other processes at which socket this host can be reached.
    ///
    /// # Errors
    /// When that cannot be written.
    pub async fn set_socket(&self, socket: Option<&str>) -> Result<(), LogError> {
        let socket = socket.map(str::to_owned);
        self.write("", 0, move |group| jobs::set_socket(group, socket.as_deref())).await
    }

    /// Makes the lookups (`pending`, `command`) anew from the records.
    ///
    /// # Errors
    /// When a header cannot be read or the result cannot be written.
    pub async fn rebuild_lookups(&self) -> Result<(), LogError> {
        self.write("", 0, jobs::rebuild_lookups).await
    }

    /// The hosts of this home.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn hosts(&self) -> Result<Vec<HostRow>, LogError> {
        let shared = Arc::clone(&self.shared);
        self.read(move |db| {
            let mut rows = read::hosts(db)?;
            for row in &mut rows {
                row.alive = row.host == shared.host || shared.home.is_alive(&row.host);
            }
            Ok(rows)
        })
        .await
    }

    /// The live host that holds a session.
    ///
    /// # Errors
    /// When there is no such session or the log cannot be read.
    pub async fn holder(&self, session: &str) -> Result<Option<HostRow>, LogError> {
        let session = session.to_owned();
        let holder = self.read(move |db| read::holder(db, &session)).await?;
        let Some(holder) = holder else { return Ok(None) };
        Ok(self.hosts().await?.into_iter().find(|row| row.host == holder && row.alive))
    }

    /// Runs `work` on a read connection, on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, LogError> {
        if self.shared.broken.load(Ordering::SeqCst) {
            // Any job makes the writer open the file anew first.
            self.write("", 0, |_| Ok(())).await?;
        }
        let shared = Arc::clone(&self.shared);
        let permit = self.shared.readers.permit().await?;
        let joined = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            shared.readers.with(&shared.home, work)
        });
        joined.await.map_err(|error| LogError::Io { why: format!("a reader ended: {error}") })?
    }

    /// Queues a job and waits for its answer.
    async fn queue<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Group<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let Some(jobs) = &self.jobs else { return Err(LogError::ReadOnly.into()) };
        let (job, answer) = Task::boxed(bytes, work);
        if jobs.send(job).await.is_err() {
            return Err(LogError::Stopped.into());
        }
        answer.await.unwrap_or_else(|_| Err(Failure::Unknown("the writer has stopped".to_owned())))
    }

    async fn write<T: Send + 'static>(
        &self,
        session: &str,
        bytes: usize,
        work: impl FnOnce(&mut Group<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, LogError> {
        self.queue(bytes, work).await.map_err(|failure| failure.into_error(session))
    }
}

impl SqliteLog {
    /// Takes a lease by `work` and remembers that it was handed out.
    async fn take(
        &self,
        session: &str,
        work: impl FnOnce(&mut Group<'_>) -> Result<Lease, Failure> + Send + 'static,
    ) -> Result<Lease, LogError> {
        let taken = Arc::new(OnceLock::new());
        let inside = Arc::clone(&taken);
        let result = self.write(session, 0, move |group| {
            let lease = work(group)?;
            group.shared.held.hand_out(&lease);
            let _ = inside.set(lease.clone());
            Ok(lease)
        });
        let result = result.await;
        if let (Err(_), Some(lease)) = (&result, taken.get()) {
            self.shared.held.forget(lease);
        }
        result
    }
}

impl Shared {
    fn new(home: Home, host: String, faults: Arc<Faults>) -> Self {
        let (watchers, readers) = (Watchers::default(), Readers::default());
        let (commits, broken) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { home, host, faults, watchers, readers, held: Held::default(), commits, broken }
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        // The writer closes last: it is the one that can empty the write-ahead file.
        self.shared.readers.forget();
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has answered nobody; there is nothing to add.
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl Log for SqliteLog {
    fn host(&self) -> &str {
        &self.shared.host
    }

    async fn create(&self, session: &str, meta: SessionMeta) -> Result<Lease, LogError> {
        let id = session.to_owned();
        self.take(session, move |group| jobs::create(group, &id, &meta)).await
    }

    async fn lease(&self, session: &str) -> Result<Lease, LogError> {
        let id = session.to_owned();
        self.take(session, move |group| jobs::lease(group, &id)).await
    }

    async fn release(&self, lease: Lease) -> Result<(), LogError> {
        let theirs = lease.clone();
        let work = move |group: &mut Group<'_>| jobs::release(group, &theirs);
        let result = self.write(&lease.session, 0, work).await;
        self.shared.held.given_back(&lease, &result);
        result
    }

    async fn head(&self, session: &str) -> Result<Head, LogError> {
        let id = session.to_owned();
        let (sequence, chain) = self.read(move |db| read::existing_head(db, &id)).await?;
        Ok(Head { version: read::version(sequence, &chain), sequence, chain })
    }

    async fn append(&self, lease: &Lease, expected: &Version, batch: Vec<Draft>) -> Append {
        let (batch, bytes) = match encode_batch(batch) {
            Ok(encoded) => encoded,
            Err(why) => return Append::Refused(why),
        };
        let (lease, expected) = (lease.clone(), expected.clone());
        self.shared.faults.hit("append-queued");
        let work = move |group: &mut Group<'_>| jobs::append(group, &lease, &expected, &batch);
        match self.queue(bytes, work).await {
            Ok((version, head_sequence)) => Append::Durable { version, head_sequence },
            Err(Failure::Conflict) => Append::Conflict,
            Err(Failure::Refused(why)) => Append::Refused(why),
            Err(Failure::Unknown(why)) => Append::Unknown(why),
            Err(Failure::Error(error)) => Append::Refused(error.to_string()),
        }
    }

    async fn read(
        &self,
        session: &str,
        after: u64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<Stored>, LogError> {
        let id = session.to_owned();
        SqliteLog::read(self, move |db| read::records(db, &id, after, limit, max_bytes)).await
    }

    async fn headers(&self, session: &str) -> Result<Vec<Header>, LogError> {
        let id = session.to_owned();
        SqliteLog::read(self, move |db| read::headers(db, &id)).await
    }

    async fn record(&self, session: &str, sequence: u64) -> Result<Option<Stored>, LogError> {
        let id = session.to_owned();
        SqliteLog::read(self, move |db| read::record(db, &id, sequence)).await
    }

    async fn tail(&self, session: &str, after: u64) -> Result<watch::Receiver<u64>, LogError> {
        let mut receiver = self.shared.watchers.subscribe(session);
        let head = self.head(session).await?;
        self.shared.watchers.raise(session, head.sequence);
        Watchers::seen(&mut receiver, after);
        Ok(receiver)
    }

    async fn snapshot_put(
        &self,
        lease: &Lease,
        sequence: u64,
        format: u32,
        bytes: Vec<u8>,
    ) -> Result<(), LogError> {
        let (session, lease, size) = (lease.session.clone(), lease.clone(), bytes.len());
        let work = move |group: &mut Group<'_>| {
            jobs::snapshot_put(group, &lease, sequence, format, &bytes)
        };
        self.write(&session, size, work).await
    }

    async fn snapshot_get(&self, session: &str) -> Result<Option<Snapshot>, LogError> {
        let id = session.to_owned();
        SqliteLog::read(self, move |db| read::snapshot(db, &id)).await
    }

    async fn erase(&self, lease: &Lease, sequences: &[u64]) -> Result<u64, LogError> {
        let (session, lease, sequences) =
            (lease.session.clone(), lease.clone(), sequences.to_vec());
        self.write(&session, 0, move |group| jobs::erase(group, &lease, &sequences)).await
    }

    async fn delete(&self, lease: Lease) -> Result<(), LogError> {
        let theirs = lease.clone();
        let work = move |group: &mut Group<'_>| jobs::delete(group, &theirs);
        let result = self.write(&lease.session, 0, work).await;
        self.shared.held.given_back(&lease, &result);
        result
    }

    async fn pending(&self) -> Result<Vec<PendingRow>, LogError> {
        SqliteLog::read(self, read::pending).await
    }

    async fn command(&self, scope: &str, id: &str) -> Result<Option<CommandRow>, LogError> {
        let (scope, id) = (scope.to_owned(), id.to_owned());
        SqliteLog::read(self, move |db| read::command(db, &scope, &id)).await
    }

    async fn sessions(&self) -> Result<Vec<SessionRow>, LogError> {
        SqliteLog::read(self, read::sessions).await
    }

    async fn session(&self, session: &str) -> Result<Option<SessionRow>, LogError> {
        let id = session.to_owned();
        SqliteLog::read(self, move |db| read::session(db, &id)).await
    }

    async fn verify(&self, session: &str) -> Result<Verification, LogError> {
        let id = session.to_owned();
        SqliteLog::read(self, move |db| read::verify(db, &id)).await
    }

    fn grants(&self) -> &dyn GrantStore {
        self
    }
}

/// SQLite's error as ours.
fn from_sqlite(error: &rusqlite::Error) -> LogError {
    use rusqlite::ErrorCode;
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LogError::Busy { why },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            LogError::Corrupt { what: "the log".to_owned(), why }
        }
        Some(_) => LogError::Io { why },
        // What is left are values of another type than we wrote.
        None => LogError::Corrupt { what: "the log".to_owned(), why },
    }
}

/// SQLite's integers are signed; ours never come near the limit.
fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn uint(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

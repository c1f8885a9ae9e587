//! All sessions of one host: which are loaded, and how one becomes loaded.

use super::actor::{Actor, Message};
use super::advance::Ground;
use super::outlet::{Fault, Outlet, Ticket, Told};
use super::rulebook::Rulebook;
use super::{Attach, Listing, Order, PageRequest, Start, history, opening, saving};
use crate::config::UserConfig;
use crate::engine::Engine;
use crate::engine::types::{Logged, Overview};
use crate::home::Home;
use crate::log::{Log, LogError, SessionRow};
use crate::reviewer::Reviewer;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The system's time, milliseconds since the Unix epoch.
pub(crate) fn system_now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Time and randomness, given from outside so that a test can give its own.
pub struct Clock {
    /// Milliseconds since the Unix epoch.
    pub now_ms: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Sixteen random bytes.
    pub entropy: Box<dyn Fn() -> [u8; 16] + Send + Sync>,
    /// Ends after a time. None of the times that are waited for decides an approval.
    pub sleep: Box<dyn Fn(Duration) -> Pause + Send + Sync>,
}

/// A time that passes.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Clock {
    /// The system's.
    #[must_use]
    pub fn system() -> Clock {
        Clock {
            now_ms: Box::new(system_now_ms),
            entropy: Box::new(|| uuid::Uuid::new_v4().into_bytes()),
            sleep: Box::new(|time| Box::pin(tokio::time::sleep(time))),
        }
    }
}

/// What a hub is made of.
pub struct HubOptions {
    /// The policy component and its modes.
    pub engine: Engine,
    /// The durable log.
    pub log: Arc<dyn Log>,
    /// The state folder.
    pub home: Home,
    /// The user's configuration.
    pub config: UserConfig,
    /// Time and randomness.
    pub clock: Clock,
    /// The program that supervises commands, as `PROGRAM __exec`.
    pub supervisor: PathBuf,
    /// JSON turns by the text that stands for them, for tests and demonstrations.
    pub script: HashMap<String, String>,
    /// A rule file for the sessions of this host alone.
    pub rules: Option<PathBuf>,
}

/// All sessions of one host.
pub struct Hub {
    pub(super) engine: Engine,
    pub(super) log: Arc<dyn Log>,
    pub(super) home: Home,
    pub(super) config: UserConfig,
    pub(super) reviewer: Reviewer,
    pub(super) rules: Rulebook,
    pub(super) watches: OnceLock<()>,
    pub(super) clock: Clock,
    pub(super) supervisor: PathBuf,
    pub(super) script: HashMap<String, String>,
    pub(super) grants: saving::Cache,
    loaded: tokio::sync::Mutex<HashMap<String, Loaded>>,
    outlets: Mutex<Vec<Weak<dyn Outlet>>>,
}

/// A session that is loaded.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) mailbox: mpsc::Sender<Message>,
    pub(super) ground: Arc<Ground>,
}

impl Hub {
    /// A host without loaded sessions.
    #[must_use]
    pub fn new(options: HubOptions) -> Arc<Hub> {
        let HubOptions { engine, log, home, config, clock, supervisor, script, rules } = options;
        Arc::new(Hub {
            reviewer: Reviewer::new(home.folder()),
            rules: Rulebook::new(home.folder(), rules),
            watches: OnceLock::new(),
            engine,
            log,
            home,
            config,
            clock,
            supervisor,
            script,
            grants: saving::Cache::default(),
            loaded: tokio::sync::Mutex::default(),
            outlets: Mutex::default(),
        })
    }

    /// The state folder.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The user's configuration.
    #[must_use]
    pub fn config(&self) -> &UserConfig {
        &self.config
    }

    /// Makes a connection hear what goes to all.
    pub fn connect(&self, outlet: &Arc<dyn Outlet>) {
        let mut outlets = self.outlets.lock().unwrap_or_else(PoisonError::into_inner);
        outlets.retain(|known| known.strong_count() > 0);
        outlets.push(Arc::downgrade(outlet));
    }

    /// Ends the subscriptions of a connection that has ended; the sessions go on.
    pub async fn disconnect(&self, outlet: &Arc<dyn Outlet>) {
        let loaded: Vec<_> = self.loaded.lock().await.values().cloned().collect();
        for Loaded { mailbox, .. } in loaded {
            let outlet = Arc::clone(outlet);
            // An actor that is gone has let go of it.
            let _ = mailbox.send(Message::Unsubscribe { outlet, ticket: Ticket::nobody() }).await;
        }
    }

    /// Tells every connection.
    pub(super) fn broadcast(&self, told: &Told) {
        let outlets = self.outlets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for outlet in outlets.iter().filter_map(Weak::upgrade) {
            outlet.tell(told.clone());
        }
    }

    /// How clients are shown where a session's log is.
    pub(super) fn log_path(&self, session: &str) -> String {
        format!("{}#{session}", self.home.folder().join("placet.db").display())
    }

    /// Opens a session and subscribes the connection.
    pub async fn start(self: &Arc<Hub>, start: Start, outlet: Arc<dyn Outlet>, ticket: Ticket) {
        self.watch_rules();
        let mut loaded = self.loaded.lock().await;
        match opening::start(self, start, &outlet).await {
            Ok(opening::Started::Fresh(opened, ack)) => {
                let session = opened.session.clone();
                self.broadcast(&Told::Started(session_member(&ack)));
                outlet.tell(Told::Answer { ticket, result: Ok(ack) });
                let ground = Arc::clone(&opened.ground);
                let mailbox = Actor::spawn(Arc::clone(self), *opened, Some(outlet));
                loaded.insert(session, Loaded { mailbox, ground });
            }
            Ok(opening::Started::Replay(ack)) => {
                outlet.tell(Told::Answer { ticket, result: Ok(ack) });
            }
            Err(fault) => outlet.tell(Told::Answer { ticket, result: Err(fault) }),
        }
    }

    /// Loads a session where it is not loaded, and attaches the connection to it.
    pub async fn resume(
        self: &Arc<Hub>,
        session: String,
        command: (String, String),
        attach: Attach,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    ) {
        let mailbox = match self.load(&session, &outlet, &command.0).await {
            Ok(mailbox) => mailbox,
            Err(fault) => return outlet.tell(Told::Answer { ticket, result: Err(fault) }),
        };
        let message = Message::Attach { command, attach, outlet, ticket };
        send(&mailbox, &session, message);
    }

    async fn load(
        self: &Arc<Hub>,
        session: &str,
        outlet: &Arc<dyn Outlet>,
        command: &str,
    ) -> Result<mpsc::Sender<Message>, Fault> {
        self.watch_rules();
        let mut loaded = self.loaded.lock().await;
        loaded.retain(|_, loaded| !loaded.mailbox.is_closed());
        if let Some(held) = loaded.get(session) {
            return Ok(held.mailbox.clone());
        }
        let opened = opening::load(self, session, outlet, command).await?;
        let ground = Arc::clone(&opened.ground);
        let mailbox = Actor::spawn(Arc::clone(self), opened, None);
        loaded.insert(session.to_owned(), Loaded { mailbox: mailbox.clone(), ground });
        Ok(mailbox)
    }

    /// The loaded sessions.
    pub(super) async fn loaded(&self) -> HashMap<String, Loaded> {
        self.loaded.lock().await.clone()
    }

    async fn mailbox(&self, session: &str) -> Option<mpsc::Sender<Message>> {
        let loaded = self.loaded.lock().await;
        let mailbox = &loaded.get(session)?.mailbox;
        (!mailbox.is_closed()).then(|| mailbox.clone())
    }

    /// Hands a command to a loaded session.
    pub async fn order(
        &self,
        session: &str,
        order: Order,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    ) {
        self.send(session, outlet, ticket, |outlet, ticket| Message::Order {
            order,
            outlet,
            ticket,
        })
        .await;
    }

    /// Subscribes a connection to a loaded session, replaying what came after a cursor.
    pub async fn subscribe(
        &self,
        session: &str,
        after: Option<String>,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    ) {
        self.send(session, outlet, ticket, |outlet, ticket| Message::Subscribe {
            after,
            outlet,
            ticket,
        })
        .await;
    }

    /// Ends a connection's subscription.
    pub async fn unsubscribe(&self, session: &str, outlet: Arc<dyn Outlet>, ticket: Ticket) {
        match self.mailbox(session).await {
            Some(_) => {
                self.send(session, outlet, ticket, |outlet, ticket| Message::Unsubscribe {
                    outlet,
                    ticket,
                })
                .await;
            }
            None => {
                let result = self.known(session).await.map(|()| "{}".to_owned());
                outlet.tell(Told::Answer { ticket, result });
            }
        }
    }

    async fn send(
        &self,
        session: &str,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
        message: impl FnOnce(Arc<dyn Outlet>, Ticket) -> Message,
    ) {
        match self.mailbox(session).await {
            Some(mailbox) => send(&mailbox, session, message(outlet, ticket)),
            None => {
                let fault = match self.known(session).await {
                    Ok(()) => Fault::NotLoaded(session.to_owned()),
                    Err(fault) => fault,
                };
                outlet.tell(Told::Answer { ticket, result: Err(fault) });
            }
        }
    }

    async fn known(&self, session: &str) -> Result<(), Fault> {
        self.row(session).await.map(drop)
    }

    async fn row(&self, session: &str) -> Result<SessionRow, Fault> {
        match self.log.session(session).await {
            Ok(Some(row)) if row.head_sequence > 0 => Ok(row),
            Ok(_) => Err(Fault::NotFound(session.to_owned())),
            Err(error) => Err(log_fault(session, &error)),
        }
    }

    /// The pending requests of a session, loaded or not: UTF-8 JSON.
    ///
    /// # Errors
    /// A fault for the client.
    pub async fn pending(&self, session: &str) -> Result<String, Fault> {
        let (state, overview) = self.peek(session).await?;
        let mut opened = Vec::new();
        for pointer in &overview.pending {
            opened.push(history::record(self, session, pointer.sequence).await?);
        }
        let presented = self
            .engine
            .present(session.to_owned(), state.into(), opened)
            .await?
            .map_err(Fault::unreadable)?;
        let approvals: Vec<Value> = presented
            .iter()
            .filter_map(|presented| serde_json::from_str(&presented.params).ok())
            .collect();
        Ok(json!({"approvals": approvals, "userInputs": []}).to_string())
    }

    /// State and overview of a session as the log has it, without loading it.
    async fn peek(&self, session: &str) -> Result<(Vec<u8>, Overview), Fault> {
        self.known(session).await?;
        let loaded = self.mailbox(session).await.is_some();
        let records = history::records(self, session, 0).await?;
        let state = fold(self, records).await?;
        let overview = self
            .engine
            .describe(session.to_owned(), self.log_path(session), state.clone().into(), loaded)
            .await?
            .map_err(Fault::unreadable)?;
        Ok((state, overview))
    }

    /// A session as `session/read` shows it: UTF-8 JSON.
    ///
    /// # Errors
    /// A fault for the client.
    pub async fn read(&self, session: &str, exclude_items: bool) -> Result<String, Fault> {
        let (_, overview) = self.peek(session).await?;
        let history = if exclude_items {
            history::none("excluded")
        } else {
            history::history(self, session, overview.head, None).await?
        };
        Ok(history::envelope(&overview, &history))
    }

    /// A page of the sessions of this home, the last used first: UTF-8 JSON. One that
    /// cannot be read is listed all the same, with the reason.
    ///
    /// # Errors
    /// A fault for the client.
    pub async fn list(&self, listing: &Listing) -> Result<String, Fault> {
        let rows = self.log.sessions().await.map_err(|error| log_fault("", &error))?;
        let (rows, next) = listing.page(rows)?;
        let mut sessions: Vec<Value> = Vec::new();
        for row in &rows {
            let object = match self.peek(&row.session).await {
                Ok((_, overview)) => serde_json::from_str(&overview.session).unwrap_or(Value::Null),
                Err(fault) => history::unreadable_session(self, row, &fault),
            };
            sessions.push(object);
        }
        Ok(json!({"sessions": sessions, "nextCursor": next}).to_string())
    }

    /// A page of a session's view, loaded or not: UTF-8 JSON.
    ///
    /// # Errors
    /// A fault for the client.
    pub async fn page(&self, session: &str, request: &PageRequest) -> Result<String, Fault> {
        self.known(session).await?;
        history::page(self, session, request).await
    }

    /// Leaves every session in order: what runs is cancelled durably, what waits stays.
    pub async fn shutdown(&self) {
        let mut loaded = self.loaded.lock().await;
        let mut leaving = Vec::new();
        for (_, Loaded { mailbox, .. }) in loaded.drain() {
            let (done, left) = oneshot::channel();
            if mailbox.send(Message::Shutdown { done }).await.is_ok() {
                // The mailbox stays open until its actor has left: what runs still reports there.
                leaving.push((mailbox, left));
            }
        }
        for (_mailbox, left) in leaving {
            // An actor that is gone has nothing left to leave.
            let _ = left.await;
        }
    }
}

/// Sends to an actor; one that is gone or has too much to do answers nothing, so the
/// sender is told.
fn send(mailbox: &mpsc::Sender<Message>, session: &str, message: Message) {
    use mpsc::error::TrySendError::{Closed, Full};
    let (message, fault) = match mailbox.try_send(message) {
        Ok(()) => return,
        Err(Closed(message)) => (message, Fault::NotLoaded(session.to_owned())),
        Err(Full(message)) => (message, Fault::Backpressured(mailbox.max_capacity())),
    };
    if let Some((outlet, ticket)) = message.sender() {
        outlet.tell(Told::Answer { ticket, result: Err(fault) });
    }
}

/// Folds a session's records; a session that cannot be read is quarantined: nothing in it is allowed.
pub(super) async fn fold(hub: &Hub, records: Vec<Logged>) -> Result<Vec<u8>, Fault> {
    hub.engine.fold(None, records).await?.map_err(Fault::unreadable)
}

/// The fault that a failure of the log is to a client.
pub(super) fn log_fault(session: &str, error: &LogError) -> Fault {
    match error {
        LogError::NotFound { .. } => Fault::NotFound(session.to_owned()),
        LogError::InUse { .. } => Fault::InUse(session.to_owned()),
        _ => Fault::Internal(error.to_string()),
    }
}

fn session_member(ack: &str) -> String {
    let value: Value = serde_json::from_str(ack).unwrap_or(Value::Null);
    value.get("session").cloned().unwrap_or(Value::Null).to_string()
}

//! How a session leaves its host: left by a client, let go, or with the host itself.

use super::actor::{Actor, Message};
use super::hub::{Hub, Pause};
use super::outlet::{Fault, Outlet, Told};
use crate::limits;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Why an actor leaves its session.
pub(super) enum Leaving {
    /// The host stops.
    Shutdown,
    /// A client said so, with this command.
    Left(Arc<dyn Outlet>, String),
    /// Nobody watched and nothing was open.
    Idle,
}

impl Leaving {
    /// The reason's word on the wire.
    fn reason(&self) -> &'static str {
        match self {
            Leaving::Shutdown => "hostShutdown",
            Leaving::Left(..) => "leave",
            Leaving::Idle => "idle",
        }
    }
}

impl Actor {
    /// When this session may be let go, if nothing happens before: nobody watches it,
    /// and nothing in it runs, waits or is asked.
    pub(super) fn unload_after(&self) -> Option<Duration> {
        let unwatched = self.subscribers.is_empty() && self.leaving.is_none();
        self.hub.config.idle_unload().filter(|_| unwatched && self.overview.idle)
    }

    /// Whether a client, or nobody at all, has given the session up; what still runs may go on.
    pub(super) fn is_left(&self) -> bool {
        matches!(self.leaving, Some(Leaving::Left(..) | Leaving::Idle))
    }

    /// Keeps what is for the session as it will be loaded next.
    pub(super) fn receive_late(&mut self, message: Message) {
        if self.late.len() < limits::SESSION_COMMANDS_QUEUED_MAX {
            self.late.push(message);
        } else if let Some((outlet, ticket)) = message.sender() {
            let result = Err(Fault::Backpressured(limits::SESSION_COMMANDS_QUEUED_MAX));
            outlet.tell(Told::Answer { ticket, result });
        }
    }

    /// Gives the session back, says so, and answers whoever wrote meanwhile.
    pub(super) async fn leave(mut self, mut receiver: mpsc::Receiver<Message>) {
        // What runs must not go on beside another host that may hold the session by now.
        self.interrupt_all();
        // A lease that cannot be given back ends with the host's life lock.
        let released = self.hub.log.release(self.lease).await;
        let cursor = self.overview.head.to_string();
        self.hub.broadcast(&Told::Closed {
            session: self.session.clone(),
            reason: self.leaving.as_ref().map_or("hostShutdown", Leaving::reason).to_owned(),
            cursor: cursor.clone(),
        });
        if let Some(Leaving::Left(outlet, command)) = self.leaving {
            let session = self.session.clone();
            let released = self.lost || released.is_ok();
            outlet.tell(Told::Left { session, command, released, cursor });
        }
        if let Some(done) = self.done {
            let _ = done.send(());
        }
        receiver.close();
        let mut late = self.late;
        while let Some(message) = receiver.recv().await {
            late.push(message);
        }
        for message in late {
            match message {
                // Whoever wants the session gets it: it is loaded anew.
                Message::Attach { command, attach, outlet, ticket } => {
                    let (hub, session) = (Arc::clone(&self.hub), self.session.clone());
                    tokio::spawn(async move {
                        hub.resume(session, command, attach, outlet, ticket).await;
                    });
                }
                other => {
                    if let Some((outlet, ticket)) = other.sender() {
                        let result = Err(Fault::NotLoaded(self.session.clone()));
                        outlet.tell(Told::Answer { ticket, result });
                    }
                }
            }
        }
    }
}

/// Waits for the end of a pause; for ever where there is none.
pub(super) async fn until(pause: &mut Option<Pause>) {
    match pause {
        Some(pause) => pause.await,
        None => std::future::pending().await,
    }
}

/// Waits for a time; for ever where there is none.
pub(super) async fn wait(hub: &Hub, time: Option<Duration>) {
    match time {
        Some(time) => (hub.clock.sleep)(time).await,
        None => std::future::pending().await,
    }
}

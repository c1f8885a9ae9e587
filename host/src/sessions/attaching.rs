//! How a connection comes to a loaded session: what it is answered, what is replayed,
//! and what is asked again.

use super::actor::{Actor, same};
use super::outlet::{Fault, Outlet, Ticket, Told};
use super::{Attach, history};
use crate::engine::types::{Event, Logged, Presented};
use std::sync::Arc;

impl Actor {
    /// Answers, replays what came after the client's cursor, and asks again.
    pub(super) async fn replayed(
        &mut self,
        result: Result<(String, Vec<Event>), Fault>,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    ) {
        let presented = match self.presented().await {
            Ok(presented) => presented,
            Err(fault) => return outlet.tell(Told::Answer { ticket, result: Err(fault) }),
        };
        match result {
            Ok((answer, suffix)) => {
                if !self.subscribers.iter().any(|known| same(known, &outlet)) {
                    self.subscribers.push(Arc::clone(&outlet));
                }
                outlet.tell(Told::Answer { ticket, result: Ok(answer) });
                for event in suffix {
                    outlet.tell(Told::Event(event));
                }
                for asked in presented {
                    outlet.tell(Told::Ask(asked.params));
                }
            }
            Err(fault) => outlet.tell(Told::Answer { ticket, result: Err(fault) }),
        }
    }

    pub(super) async fn attach(
        &self,
        command: &(String, String),
        attach: &Attach,
    ) -> Result<(String, Vec<Event>), Fault> {
        // A resume is not kept in the ledger, but its id may not be another command's.
        self.ledger.replay(&command.0, &command.1)?;
        let suffix = self.suffix(attach.cursor.as_deref()).await?;
        let history = if attach.cursor.is_some() {
            history::none("cursorSuffix")
        } else if attach.exclude_items {
            history::none("excluded")
        } else {
            let snapshot = self.snapshot(attach.snapshot).await?;
            history::history(&self.hub, &self.session, self.overview.head, snapshot).await?
        };
        Ok((history::envelope(&self.overview, &history), suffix))
    }

    /// The state for a snapshot, where one is wanted.
    async fn snapshot(&self, wanted: bool) -> Result<Option<String>, Fault> {
        if !wanted {
            return Ok(None);
        }
        let state = Arc::clone(&self.state);
        self.hub.engine.snapshot(state).await?.map_err(Fault::unreadable).map(Some)
    }

    pub(super) async fn suffix(&self, cursor: Option<&str>) -> Result<Vec<Event>, Fault> {
        match cursor {
            Some(cursor) => {
                let after = history::sequence(cursor, self.overview.head)?;
                history::events(&self.hub, &self.session, after).await
            }
            None => Ok(Vec::new()),
        }
    }

    async fn presented(&self) -> Result<Vec<Presented>, Fault> {
        let mut opened: Vec<Logged> = Vec::new();
        for pointer in &self.overview.pending {
            opened.push(history::record(&self.hub, &self.session, pointer.sequence).await?);
        }
        self.hub
            .engine
            .present(self.session.clone(), Arc::clone(&self.state), opened)
            .await?
            .map_err(Fault::unreadable)
    }
}

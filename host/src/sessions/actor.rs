//! The actor of one loaded session: a mailbox, a state, one batch in flight.

use super::advance::{self, Appended, Question};
use super::effects::Next;
use super::hub::Hub;
use super::ledger::Ledger;
use super::opening::{self, Opened};
use super::outlet::{Fault, Outlet, Ticket, Told};
use super::{Attach, Order, OrderKind, history};
use crate::agents::exec::{FileHandle, Plan};
use crate::engine::types::{
    CommandId, Decide, Effect, Event, ExecutionEnd, Input, Logged, Outcome, Overview, Presented,
    Proposal, SessionLeave, SetMode, TurnStart, TurnStop, Unjudged,
};
use crate::exec::Interrupter;
use crate::limits;
use crate::log::{Lease, Version};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What an actor is sent.
pub(super) enum Message {
    Order {
        order: Order,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    },
    Attach {
        command: (String, String),
        attach: Attach,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    },
    Subscribe {
        after: Option<String>,
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    },
    Unsubscribe {
        outlet: Arc<dyn Outlet>,
        ticket: Ticket,
    },
    /// The agent of a turn goes on after its pause.
    Proceed {
        turn: String,
        plan: Plan,
    },
    /// More output of a running item.
    Delta {
        item: String,
        text: String,
    },
    /// A running command ended.
    Ended(ExecutionEnd),
    /// The work on a file ended.
    FileEnded(ExecutionEnd),
    Shutdown {
        done: oneshot::Sender<()>,
    },
}

impl Message {
    /// Who waits for an answer, if anybody does.
    pub(super) fn sender(self) -> Option<(Arc<dyn Outlet>, Ticket)> {
        match self {
            Message::Order { outlet, ticket, .. }
            | Message::Attach { outlet, ticket, .. }
            | Message::Subscribe { outlet, ticket, .. }
            | Message::Unsubscribe { outlet, ticket } => Some((outlet, ticket)),
            Message::Proceed { .. }
            | Message::Delta { .. }
            | Message::Ended(_)
            | Message::FileEnded(_)
            | Message::Shutdown { .. } => None,
        }
    }
}

/// Who waits for what a step does.
pub(super) struct Waiting {
    outlet: Arc<dyn Outlet>,
    ticket: Ticket,
    command: String,
}

pub(super) struct Actor {
    pub(super) hub: Arc<Hub>,
    pub(super) session: String,
    lease: Lease,
    version: Version,
    state: Arc<[u8]>,
    pub(super) overview: Overview,
    ledger: Ledger,
    withheld: Vec<String>,
    pub(super) folder: PathBuf,
    subscribers: Vec<Arc<dyn Outlet>>,
    /// What is our own to do, before the mailbox.
    pub(super) queue: VecDeque<Next>,
    pub(super) running: HashMap<String, Interrupter>,
    /// Files that are being worked on.
    pub(super) files: usize,
    /// The handle that the last facts were taken from, for the item that they are about.
    pub(super) file: Option<(String, FileHandle)>,
    pub(super) mailbox: mpsc::WeakSender<Message>,
    deltas: u64,
    leaving: Option<Leaving>,
    /// Who wants the session while it is being left.
    late: Vec<Message>,
    lost: bool,
}

/// Why an actor leaves its session.
enum Leaving {
    /// The host stops, and waits for it.
    Shutdown(oneshot::Sender<()>),
    /// A client said so, with this command.
    Left(Arc<dyn Outlet>, String),
    /// Nobody watched and nothing was open.
    Idle,
}

impl Leaving {
    /// The reason's word on the wire.
    fn reason(&self) -> &'static str {
        match self {
            Leaving::Shutdown(_) => "hostShutdown",
            Leaving::Left(..) => "leave",
            Leaving::Idle => "idle",
        }
    }
}

impl Actor {
    pub(super) fn spawn(
        hub: Arc<Hub>,
        opened: Opened,
        subscriber: Option<Arc<dyn Outlet>>,
    ) -> mpsc::Sender<Message> {
        let (sender, receiver) = mpsc::channel(limits::SESSION_COMMANDS_QUEUED_MAX);
        let Opened { session, lease, version, state, overview, ledger, withheld, folder, effects } =
            opened;
        let actor = Actor {
            hub,
            session,
            lease,
            version,
            state,
            overview,
            ledger,
            withheld,
            folder,
            subscribers: subscriber.into_iter().collect(),
            queue: VecDeque::new(),
            running: HashMap::new(),
            files: 0,
            file: None,
            mailbox: sender.downgrade(),
            deltas: 0,
            leaving: None,
            late: Vec::new(),
            lost: false,
        };
        tokio::spawn(actor.live(receiver, effects));
        sender
    }

    async fn live(mut self, mut receiver: mpsc::Receiver<Message>, effects: Vec<Effect>) {
        // The asks of recovery reach nobody yet: they are issued again to whoever attaches.
        self.perform(effects).await;
        loop {
            while let Some(next) = self.queue.pop_front() {
                if let Some(input) = self.input(next).await {
                    self.advance(input, None).await;
                }
            }
            let works = !self.running.is_empty() || self.files > 0;
            if self.lost || (self.leaving.is_some() && !works) {
                break;
            }
            let unload = self.unload_after();
            tokio::select! {
                biased;
                message = receiver.recv() => match message {
                    Some(message) => self.receive(message).await,
                    None => break,
                },
                () = wait(&self.hub, unload) => {
                    self.leaving = Some(Leaving::Idle);
                    self.queue.push_back(Next::Input(Input::Unload));
                }
            }
        }
        self.leave(receiver).await;
    }

    /// When this session may be let go, if nothing happens before: nobody watches it,
    /// and nothing in it runs, waits or is asked.
    fn unload_after(&self) -> Option<Duration> {
        let unwatched = self.subscribers.is_empty() && self.leaving.is_none();
        self.hub.config.idle_unload().filter(|_| unwatched && self.overview.idle)
    }

    /// Whether a client, or nobody at all, has given the session up; what still runs may go on.
    fn is_left(&self) -> bool {
        matches!(self.leaving, Some(Leaving::Left(..) | Leaving::Idle))
    }

    /// Keeps what is for the session as it will be loaded next.
    fn receive_late(&mut self, message: Message) {
        if self.late.len() < limits::SESSION_COMMANDS_QUEUED_MAX {
            self.late.push(message);
        } else if let Some((outlet, ticket)) = message.sender() {
            let result = Err(Fault::Backpressured(limits::SESSION_COMMANDS_QUEUED_MAX));
            outlet.tell(Told::Answer { ticket, result });
        }
    }

    async fn receive(&mut self, message: Message) {
        match message {
            Message::Order { order, outlet, ticket } => self.order(order, outlet, ticket).await,
            Message::Attach { .. } if self.is_left() => self.receive_late(message),
            Message::Attach { command, attach, outlet, ticket } => {
                let result = self.attach(&command, &attach).await;
                self.replayed(result, outlet, ticket).await;
            }
            Message::Subscribe { after, outlet, ticket } => {
                let result = self.suffix(after.as_deref()).await.map(|suffix| {
                    let cursor = self.overview.head.to_string();
                    (serde_json::json!({"viewCursor": cursor}).to_string(), suffix)
                });
                self.replayed(result, outlet, ticket).await;
            }
            Message::Unsubscribe { outlet, ticket } => {
                self.subscribers.retain(|known| !same(known, &outlet));
                outlet.tell(Told::Answer { ticket, result: Ok("{}".to_owned()) });
            }
            Message::Proceed { turn, plan } => self.proceed(turn, plan),
            Message::Delta { item, text } => self.delta(item, "visibleOutput", text),
            Message::Ended(end) => {
                self.running.remove(&end.item_id);
                self.queue.push_back(Next::Input(Input::Ended(end)));
            }
            Message::FileEnded(end) => {
                self.files = self.files.saturating_sub(1);
                self.queue.push_back(Next::Input(Input::Ended(end)));
            }
            Message::Shutdown { done } => {
                self.queue.push_back(Next::Input(Input::Shutdown));
                self.leaving = Some(Leaving::Shutdown(done));
            }
        }
    }

    /// Answers, replays what came after the client's cursor, and asks again.
    async fn replayed(
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

    async fn attach(
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
            history::history(&self.hub, &self.session, &self.overview, attach.snapshot).await?
        };
        Ok((history::envelope(&self.overview, &history), suffix))
    }

    async fn suffix(&self, cursor: Option<&str>) -> Result<Vec<Event>, Fault> {
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

    async fn order(&mut self, order: Order, outlet: Arc<dyn Outlet>, ticket: Ticket) {
        match self.ledger.replay(&order.id, &order.payload) {
            Ok(None) => {}
            Ok(Some(ack)) => return outlet.tell(Told::Answer { ticket, result: Ok(ack) }),
            Err(fault) => return outlet.tell(Told::Answer { ticket, result: Err(fault) }),
        }
        if self.is_left() {
            let result = Err(Fault::NotLoaded(self.session.clone()));
            return outlet.tell(Told::Answer { ticket, result });
        }
        let subscribed = self.subscribers.iter().any(|known| same(known, &outlet));
        let caller = opening::caller(&self.hub, &outlet, &self.withheld, subscribed);
        let waiting = Waiting { outlet, ticket, command: order.id.clone() };
        let command = CommandId { id: order.id, payload: order.payload };
        let input = match order.kind {
            OrderKind::Turn { text, if_busy, display } => {
                let display_text = display;
                Input::Turn(TurnStart { command, caller, text, if_busy, display_text })
            }
            OrderKind::Stop { turn } => Input::Stop(TurnStop { command, caller, turn_id: turn }),
            OrderKind::Decide { approval, requirement, choice, feedback } => {
                Input::Decide(Decide {
                    command,
                    caller,
                    approval_id: approval,
                    requirement,
                    choice_id: choice,
                    feedback,
                })
            }
            OrderKind::Mode { mode } => Input::Mode(SetMode { command, caller, mode }),
            OrderKind::Leave { stop } => Input::Leave(SessionLeave { command, caller, stop }),
        };
        let left = match &input {
            Input::Leave(_) => {
                Some(Leaving::Left(Arc::clone(&waiting.outlet), waiting.command.clone()))
            }
            _ => None,
        };
        if self.advance(input, Some(waiting)).await && self.leaving.is_none() {
            self.leaving = left;
        }
    }

    /// One step: asked, appended, adopted, told. Says whether it was taken.
    async fn advance(&mut self, input: Input, waiting: Option<Waiting>) -> bool {
        let proposed = match &input {
            Input::Propose(Proposal { action, last, .. }) => Some((action.clone(), *last)),
            _ => None,
        };
        let question = Question::Step(Some(Arc::clone(&self.state)), input);
        let outcome = match advance::ask(&self.hub, &self.session, &self.ledger, &question).await {
            Ok(outcome) => outcome,
            Err(halted) if proposed.is_some() => {
                // What cannot be judged is denied, and the log says so.
                let fault = opening::fault(halted, "").sentence();
                let unjudged =
                    |(action, last)| Next::Input(Input::Unjudged(Unjudged { action, last, fault }));
                // Before what the agent proposes next: their order is the turn's.
                if let Some(unjudged) = proposed.map(unjudged) {
                    self.queue.push_front(unjudged);
                }
                return false;
            }
            Err(halted) => {
                let command = waiting.as_ref().map_or("", |waiting| waiting.command.as_str());
                self.refuse(waiting.as_ref(), opening::fault(halted, command));
                return false;
            }
        };
        if let Some(approval) = advance::closes_twice(&self.ledger, &outcome.records) {
            let why = format!("the approval {approval} would be closed twice");
            self.refuse(waiting.as_ref(), Fault::Internal(why));
            return false;
        }
        if outcome.records.is_empty() {
            self.adopted(outcome, waiting).await;
            return true;
        }
        let records = &outcome.records;
        match advance::append(&self.hub, &self.lease, &self.version, records).await {
            Appended::Durable(version) => {
                self.version = version;
                self.adopted(outcome, waiting).await;
                true
            }
            other => {
                // Without its lease, or without knowing its own log, the session cannot go on here.
                self.lost = matches!(other, Appended::Lost | Appended::Unknown(_));
                self.refuse(waiting.as_ref(), advance::append_fault(&self.session, &other));
                false
            }
        }
    }

    fn refuse(&self, waiting: Option<&Waiting>, fault: Fault) {
        match waiting {
            Some(waiting) => waiting
                .outlet
                .tell(Told::Answer { ticket: waiting.ticket.clone(), result: Err(fault) }),
            None => eprintln!(
                "placet: session {}: a step was refused: {}",
                self.session,
                fault.sentence()
            ),
        }
    }

    /// The records are durable: adopt the state, then let everything out in its order.
    async fn adopted(&mut self, outcome: Outcome, waiting: Option<Waiting>) {
        for record in &outcome.records {
            self.ledger.add(&advance::header(&record.header));
        }
        self.state = outcome.state.into();
        let before = std::mem::replace(&mut self.overview, outcome.overview);
        self.deltas = 0;
        if let Some(Waiting { outlet, ticket, .. }) = waiting {
            let ack = outcome.ack.unwrap_or_else(|| "{}".to_owned());
            outlet.tell(Told::Answer { ticket, result: Ok(ack) });
        }
        for event in outcome.events {
            self.tell(&Told::Event(event));
        }
        for effect in &outcome.effects {
            if let Effect::Ask(asked) = effect {
                self.tell(&Told::Ask(asked.params.clone()));
            }
        }
        let now = (&self.overview.status, &self.overview.attention);
        if now != (&before.status, &before.attention) {
            self.hub.broadcast(&Told::Status {
                session: self.session.clone(),
                status: self.overview.status.clone(),
                attention: self.overview.attention.clone(),
                cursor: self.overview.head.to_string(),
            });
        }
        self.perform(outcome.effects).await;
    }

    pub(super) fn tell(&self, told: &Told) {
        for subscriber in &self.subscribers {
            subscriber.tell(told.clone());
        }
    }

    /// The cursor of the next thing that no record holds.
    pub(super) fn ephemeral(&mut self) -> String {
        self.deltas = self.deltas.saturating_add(1);
        format!("{}.{}", self.overview.head, self.deltas)
    }

    pub(super) fn delta(&mut self, item: String, field: &'static str, text: String) {
        let cursor = self.ephemeral();
        self.tell(&Told::Delta { session: self.session.clone(), item, cursor, field, text });
    }

    /// Gives the session back, says so, and answers whoever wrote meanwhile.
    async fn leave(self, mut receiver: mpsc::Receiver<Message>) {
        let released = match self.lost {
            true => Ok(()),
            // A lease that cannot be given back ends with the host's life lock.
            false => self.hub.log.release(self.lease).await,
        };
        let cursor = self.overview.head.to_string();
        self.hub.broadcast(&Told::Closed {
            session: self.session.clone(),
            reason: self.leaving.as_ref().map_or("hostShutdown", Leaving::reason).to_owned(),
            cursor: cursor.clone(),
        });
        match self.leaving {
            Some(Leaving::Shutdown(done)) => {
                let _ = done.send(());
            }
            Some(Leaving::Left(outlet, command)) => {
                let session = self.session.clone();
                outlet.tell(Told::Left { session, command, released: released.is_ok(), cursor });
            }
            Some(Leaving::Idle) | None => {}
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

/// Waits for a time; for ever where there is none.
async fn wait(hub: &Hub, time: Option<Duration>) {
    match time {
        Some(time) => (hub.clock.sleep)(time).await,
        None => std::future::pending().await,
    }
}

fn same(a: &Arc<dyn Outlet>, b: &Arc<dyn Outlet>) -> bool {
    a.party().connection == b.party().connection
}

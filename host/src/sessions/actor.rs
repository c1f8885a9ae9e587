//! The actor of one loaded session: a mailbox, a state, one batch in flight.

use super::advance::{self, Appended, Ground, Question};
use super::effects::Next;
use super::hub::Hub;
use super::leaving::{self, Leaving};
use super::ledger::Ledger;
use super::opening::{self, Opened};
use super::outlet::{Fault, Outlet, Ticket, Told};
use super::{Attach, Order, OrderKind};
use crate::agents::exec::{FileHandle, Plan};
use crate::engine::types::{
    CommandId, Decide, Effect, ExecutionEnd, Input, Outcome, Overview, Proposal, SessionLeave,
    SetMode, TurnStart, TurnStop, Unjudged,
};
use crate::exec::Interrupter;
use crate::limits;
use crate::log::{Lease, Version};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
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
    /// The rules changed.
    Ruled,
    /// A grant was given in another session.
    Granted {
        root: String,
    },
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
            | Message::Ruled
            | Message::Granted { .. }
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

/// What became of a step.
pub(super) enum Stepped {
    /// Its records are durable.
    Taken,
    /// It was refused, and would be again.
    Refused,
    /// The log or the machine failed, which may pass: nothing was written.
    Failed,
}

pub(super) struct Actor {
    pub(super) hub: Arc<Hub>,
    pub(super) session: String,
    pub(super) lease: Lease,
    version: Version,
    pub(super) state: Arc<[u8]>,
    pub(super) overview: Overview,
    pub(super) ledger: Ledger,
    withheld: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) ground: Arc<Ground>,
    pub(super) subscribers: Vec<Arc<dyn Outlet>>,
    /// What is our own to do, before the mailbox.
    pub(super) queue: VecDeque<Next>,
    /// How often the first of it has been tried in vain.
    pub(super) tries: u32,
    pub(super) running: HashMap<String, Interrupter>,
    /// Files that are being worked on.
    pub(super) files: usize,
    /// The handle that the last facts were taken from, for the item that they are about.
    pub(super) file: Option<(String, FileHandle)>,
    pub(super) mailbox: mpsc::WeakSender<Message>,
    deltas: u64,
    pub(super) leaving: Option<Leaving>,
    /// Who waits for the session to have left.
    pub(super) done: Option<oneshot::Sender<()>>,
    /// Who wants the session while it is being left.
    pub(super) late: Vec<Message>,
    pub(super) lost: bool,
}

impl Actor {
    pub(super) fn spawn(
        hub: Arc<Hub>,
        opened: Opened,
        subscriber: Option<Arc<dyn Outlet>>,
    ) -> mpsc::Sender<Message> {
        let (sender, receiver) = mpsc::channel(limits::SESSION_COMMANDS_QUEUED_MAX);
        let Opened {
            session,
            lease,
            version,
            state,
            overview,
            ledger,
            withheld,
            folder,
            ground,
            effects,
        } = opened;
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
            ground,
            subscribers: subscriber.into_iter().collect(),
            queue: VecDeque::new(),
            tries: 0,
            running: HashMap::new(),
            files: 0,
            file: None,
            mailbox: sender.downgrade(),
            deltas: 0,
            leaving: None,
            done: None,
            late: Vec::new(),
            lost: false,
        };
        tokio::spawn(actor.live(receiver, effects));
        sender
    }

    async fn live(mut self, mut receiver: mpsc::Receiver<Message>, effects: Vec<Effect>) {
        // The asks of recovery reach nobody yet: they are issued again to whoever attaches.
        self.perform(effects).await;
        let mut pause = None;
        loop {
            if pause.is_none() {
                pause = self.do_own().await;
            }
            if self.is_over() {
                break;
            }
            let unload = self.unload_after().filter(|_| pause.is_none());
            tokio::select! {
                biased;
                message = receiver.recv() => match message {
                    Some(message) => self.receive(message).await,
                    None => break,
                },
                () = leaving::until(&mut pause) => pause = None,
                () = leaving::wait(&self.hub, unload) => {
                    self.leaving = Some(Leaving::Idle);
                    self.queue.push_back(Next::Input(Input::Unload));
                }
            }
        }
        self.leave(receiver).await;
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
            Message::Ruled => {
                if !self.is_left() {
                    self.queue.push_back(Next::Input(Input::Ruled));
                }
            }
            Message::Granted { root } => {
                if self.ground.grants_root.as_ref() == Some(&root) && !self.is_left() {
                    self.queue.push_back(Next::Input(Input::Granted));
                }
            }
            Message::Shutdown { done } => {
                self.done = Some(done);
                // One that is being left already is on its way, and whoever asked is told.
                if self.leaving.is_none() {
                    self.queue.push_back(Next::Input(Input::Shutdown));
                    self.leaving = Some(Leaving::Shutdown);
                }
                self.tries = 0;
            }
        }
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
        let stepped = self.advance(input, Some(waiting)).await;
        if matches!(stepped, Stepped::Taken) && self.leaving.is_none() {
            self.leaving = left;
        }
    }

    /// One step: asked, appended, adopted, told.
    pub(super) async fn advance(&mut self, input: Input, waiting: Option<Waiting>) -> Stepped {
        let proposed = match &input {
            Input::Propose(Proposal { action, last, .. }) => Some((action.clone(), *last)),
            _ => None,
        };
        let question = Question::Step(Some(Arc::clone(&self.state)), Box::new(input));
        let asked =
            advance::ask(&self.hub, &self.session, &self.ground, &self.ledger, &question).await;
        let outcome = match asked {
            Ok(outcome) => outcome,
            // A fault that passes is no verdict.
            Err(halted) if proposed.is_some() && !halted.passes() => {
                // What cannot be judged is denied, and the log says so.
                let fault = opening::fault(halted, "").sentence();
                let unjudged =
                    |(action, last)| Next::Input(Input::Unjudged(Unjudged { action, last, fault }));
                // Before what the agent proposes next: their order is the turn's.
                if let Some(unjudged) = proposed.map(unjudged) {
                    self.queue.push_front(unjudged);
                }
                return Stepped::Refused;
            }
            Err(halted) => {
                let again = matches!(halted, advance::Halted::Fault(_));
                let command = waiting.as_ref().map_or("", |waiting| waiting.command.as_str());
                self.refuse(waiting.as_ref(), opening::fault(halted, command));
                return if again { Stepped::Failed } else { Stepped::Refused };
            }
        };
        if let Some(approval) = advance::closes_twice(&self.ledger, &outcome.records) {
            let why = format!("the approval {approval} would be closed twice");
            self.refuse(waiting.as_ref(), Fault::Internal(why));
            return Stepped::Refused;
        }
        if outcome.records.is_empty() {
            self.adopted(outcome, waiting).await;
            return Stepped::Taken;
        }
        let records = &outcome.records;
        match advance::append(&self.hub, &self.lease, &self.version, records).await {
            Appended::Durable(version) => {
                self.version = version;
                self.adopted(outcome, waiting).await;
                Stepped::Taken
            }
            other => {
                // Without its lease, or without knowing its own log, the session cannot go on here.
                self.lost = matches!(other, Appended::Lost | Appended::Unknown(_));
                self.refuse(waiting.as_ref(), advance::append_fault(&self.session, &other));
                Stepped::Failed
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
}

pub(super) fn same(a: &Arc<dyn Outlet>, b: &Arc<dyn Outlet>) -> bool {
    a.party().connection == b.party().connection
}

//! What is done once the records that say so are durable.

use super::actor::{Actor, Message};
use super::advance;
use crate::agents::exec as agent;
use crate::engine::types::{
    Action, Effect, Execution, Input, Proposal, Release, TurnBegin, Unjudged,
};
use crate::exec::{self, environment};
use tokio::sync::mpsc;
use uuid::Uuid;

impl Actor {
    pub(super) async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Begin(turn) => self.begin(turn).await,
                Effect::Prepare(action) => self.prepare(action).await,
                Effect::Run(execution) => self.run(execution),
                Effect::Halt(item) => {
                    if let Some(running) = self.running.get(&item) {
                        running.interrupt();
                    }
                }
                // Asks went out with the events; nobody waits for a settled item here.
                Effect::Ask(_) | Effect::Settled(_) => {}
            }
        }
    }

    /// Hands a turn to the exec agent, which proposes its one action.
    async fn begin(&mut self, turn: TurnBegin) {
        let id = || Uuid::new_v4().to_string();
        let folder = self.folder.to_string_lossy();
        let ids = agent::Ids { item: id(), call: format!("call_{}", id()) };
        let action = agent::propose(&turn.turn_id, &turn.text, &folder, ids);
        match advance::facts(&self.hub, action.clone()).await {
            Ok(facts) => {
                self.queue.push_back(Input::Propose(Proposal { action, facts, last: true }));
            }
            Err(fault) => {
                let fault = fault.sentence();
                self.queue.push_back(Input::Unjudged(Unjudged { action, last: true, fault }));
            }
        }
    }

    /// Takes the facts again for work that was decided, and asks to start it.
    async fn prepare(&mut self, action: Action) {
        let item_id = action.item_id.clone();
        match advance::facts(&self.hub, action).await {
            Ok(facts) => self.queue.push_back(Input::Release(Release { item_id, facts })),
            // The work stays decided and is not started; the next load settles it.
            Err(fault) => {
                eprintln!("placet: session {}: no facts: {}", self.session, fault.sentence())
            }
        }
    }

    /// Starts work that the log says has started.
    fn run(&mut self, execution: Execution) {
        let Execution { item_id, action } = execution;
        let environment = environment::prepare(std::env::vars_os());
        let started = agent::job(&action, environment).and_then(|job| {
            exec::start(job, &self.hub.supervisor).map_err(|error| error.to_string())
        });
        let mut running = match started {
            Ok(running) => running,
            Err(why) => {
                return self.queue.push_back(Input::Ended(agent::failed(&item_id, why)));
            }
        };
        self.running.insert(item_id.clone(), running.interrupter());
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            while let Some(text) = running.chunk().await {
                send(&mailbox, Message::Delta { item: item_id.clone(), text }).await;
            }
            let outcome = running.outcome().await;
            send(&mailbox, Message::Ended(agent::end(&item_id, outcome))).await;
        });
    }
}

/// An actor that is gone takes no more messages; its log says what is unknown.
async fn send(mailbox: &mpsc::WeakSender<Message>, message: Message) {
    if let Some(mailbox) = mailbox.upgrade() {
        let _ = mailbox.send(message).await;
    }
}

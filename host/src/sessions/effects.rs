//! What is done once the records that say so are durable.

use super::actor::{Actor, Message};
use super::advance;
use super::outlet::Told;
use crate::agents::exec::{self as agent, FileHandle, Piece, Plan, Say, Work};
use crate::engine::types::{
    self, Action, Effect, Execution, ExecutionEnd, Facts, Input, LastingGrant, Proposal, Release,
    TurnBegin, TurnFinish, Unjudged,
};
use crate::exec::{self, environment};
use std::time::Duration;
use tokio::sync::mpsc;

/// Something of our own that comes before the mailbox.
#[derive(Clone)]
pub(super) enum Next {
    Input(Input),
    /// Propose an action, with the facts of that moment.
    Propose {
        action: Action,
        last: bool,
    },
    /// Start decided work, with the facts of that moment.
    Release(Action),
    /// Keep a grant that outlives the session, and say what became of it.
    Keep(LastingGrant),
}

impl Actor {
    pub(super) async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Begin(turn) => self.begin(&turn),
                Effect::Prepare(action) => self.queue.push_back(Next::Release(action)),
                Effect::Keep(grant) => self.queue.push_back(Next::Keep(grant)),
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

    /// Hands a turn to the exec agent.
    fn begin(&mut self, turn: &TurnBegin) {
        let id = turn.turn_id.clone();
        let text = self.hub.script.get(&turn.text).unwrap_or(&turn.text);
        match agent::plan(&id, text, &self.folder.to_string_lossy()) {
            Ok(plan) if plan.pause_ms > 0 => self.proceed_later(id, plan.pause_ms, plan),
            Ok(plan) => self.proceed(id, plan),
            Err(why) => self.finish(id, Some(why)),
        }
    }

    fn proceed_later(&self, turn: String, pause_ms: u64, plan: Plan) {
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            send(&mailbox, Message::Proceed { turn, plan }).await;
        });
    }

    /// What the agent of a turn does, after a pause.
    pub(super) fn proceed(&mut self, turn: String, mut plan: Plan) {
        if self.overview.active_turn.as_ref() != Some(&turn) {
            return;
        }
        if let Some(pause_ms) = plan.say.as_mut().and_then(|say| self.stream(&turn, say)) {
            return self.proceed_later(turn, pause_ms, plan);
        }
        let Plan { say, actions, pause_ms: _ } = plan;
        if let Some(say) = say {
            self.say(&turn, say);
        }
        if actions.is_empty() {
            return self.finish(turn, None);
        }
        let count = actions.len();
        let proposals = actions.into_iter().enumerate().map(|(index, action)| Next::Propose {
            action,
            last: index.saturating_add(1) == count,
        });
        self.queue.extend(proposals);
    }

    fn finish(&mut self, turn_id: String, failure: Option<String>) {
        let finish = Input::Finish(TurnFinish { turn_id, failure });
        self.queue.push_back(Next::Input(finish));
    }

    /// Streams what is said up to its next pause, and says how long that is.
    fn stream(&mut self, turn: &str, say: &mut Say) -> Option<u64> {
        if say.streamed && !say.begun {
            say.begun = true;
            let cursor = self.ephemeral();
            self.tell(&Told::MessageBegun {
                session: self.session.clone(),
                turn: turn.to_owned(),
                item: say.item.clone(),
                cursor,
            });
        }
        while let Some(piece) = say.ahead.pop_front() {
            match piece {
                Piece::Text(text) => self.delta(say.item.clone(), "text", text),
                Piece::Pause(pause_ms) => return Some(pause_ms),
            }
        }
        None
    }

    fn say(&mut self, turn: &str, say: Say) {
        let message = types::Message {
            turn_id: turn.to_owned(),
            item_id: say.item,
            revision: if say.streamed { 2 } else { 1 },
            text: say.text,
        };
        self.queue.push_back(Next::Input(Input::Say(message)));
    }

    /// The input that something of our own comes to, or why there is none now.
    pub(super) async fn input(&mut self, next: Next) -> Result<Input, String> {
        Ok(match next {
            Next::Input(input) => input,
            Next::Keep(grant) => Input::Kept(self.keep(grant).await),
            Next::Propose { action, last } => match self.facts(&action).await {
                Ok(facts) => Input::Propose(Proposal { action, facts, last }),
                Err(fault) => Input::Unjudged(Unjudged { action, last, fault }),
            },
            Next::Release(action) => {
                let facts = self.facts(&action).await?;
                Input::Release(Release { item_id: action.item_id, facts })
            }
        })
    }

    /// The facts of an action now; those of a file tool are its handle's, which is
    /// kept for the work until the next facts are taken.
    async fn facts(&mut self, action: &Action) -> Result<Facts, String> {
        self.file = None;
        let facts = advance::facts(&self.hub, &self.ground, action.clone()).await;
        let mut facts = facts.map_err(|fault| fault.sentence())?;
        if action.declared.is_some() || !agent::FILE_TOOLS.contains(&action.tool_name.as_str()) {
            return Ok(facts);
        }
        let Some(fact) = facts.paths.pop() else { return Ok(facts) };
        let reviewer = self.hub.reviewer.at(self.ground.workspace.as_deref());
        let opened =
            tokio::task::spawn_blocking(move || FileHandle::open(&reviewer, fact.query)).await;
        if let Some((handle, fact)) = opened.map_err(|error| error.to_string())? {
            facts.paths.push(fact);
            self.file = Some((action.item_id.clone(), handle));
        }
        Ok(facts)
    }

    /// Starts work that the log says has started.
    fn run(&mut self, execution: Execution) {
        let Execution { item_id, action } = execution;
        let environment = environment::prepare(std::env::vars_os());
        let end = match agent::work(&action, environment) {
            Ok(Work::Command(job)) => match exec::start(job, &self.hub.supervisor) {
                Ok(running) => return self.watch(item_id, running),
                Err(error) => agent::failed(&item_id, error.to_string()),
            },
            Ok(Work::File(work)) => match self.file.take().filter(|(item, _)| *item == item_id) {
                Some((_, handle)) => return self.perform_file(item_id, handle, work),
                None => agent::failed(&item_id, "the file is not there".to_owned()),
            },
            Ok(Work::Nothing(said)) => agent::completed(&item_id, said, false),
            Err(why) => agent::failed(&item_id, why),
        };
        self.queue.push_back(Next::Input(Input::Ended(end)));
    }

    fn watch(&mut self, item: String, mut running: exec::Running) {
        self.running.insert(item.clone(), running.interrupter());
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            while let Some(text) = running.chunk().await {
                send(&mailbox, Message::Delta { item: item.clone(), text }).await;
            }
            let outcome = running.outcome().await;
            send(&mailbox, Message::Ended(agent::end(&item, outcome))).await;
        });
    }

    fn perform_file(&mut self, item: String, handle: FileHandle, work: agent::FileWork) {
        let mailbox = self.mailbox.clone();
        self.files = self.files.saturating_add(1);
        tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(move || handle.perform(work)).await;
            let end: ExecutionEnd = match done {
                Ok(Ok((said, cut))) => agent::completed(&item, said, cut),
                Ok(Err(why)) => agent::failed(&item, why),
                Err(error) => agent::failed(&item, error.to_string()),
            };
            send(&mailbox, Message::FileEnded(end)).await;
        });
    }
}

/// An actor that is gone takes no more messages; its log says what is unknown.
async fn send(mailbox: &mpsc::WeakSender<Message>, message: Message) {
    if let Some(mailbox) = mailbox.upgrade() {
        let _ = mailbox.send(message).await;
    }
}

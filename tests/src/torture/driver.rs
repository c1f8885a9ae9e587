//! One client on one connection: it keeps its own sessions at work, answers what it is asked
//! there, and races for the answer in sessions of others, until its host is gone.

use super::turns::{Slot, Work};
use crate::live::client::{Client, Gone};
use crate::live::steps::{self, command_id};
use crate::live::told::{Sent, Told};
use crate::random::Random;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a driver waits for a frame before it looks at what it has put off.
const TICK: Duration = Duration::from_millis(10);

/// How long an answer is put off at most.
const PAUSE_MS_MAX: usize = 200;

/// How long a host that lives may say nothing while something is owed.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// A request that was not answered, and when it was sent.
pub(super) struct Unanswered {
    pub(super) sent: Sent,
    pub(super) at: Instant,
}

/// What became of a connection.
pub(super) struct Life {
    pub(super) client: Client,
    waiting: HashMap<u64, Unanswered>,
    /// What the client was waiting for in vain, on a host that lived.
    pub(super) stuck: Option<String>,
}

impl Life {
    /// What was told, and what was not answered, by a host that has ended.
    pub(super) fn end(mut self) -> (Told, Vec<Unanswered>) {
        self.client.join_reader();
        let told = self.client.told();
        for frame in told.frames.iter().filter(|frame| frame.get("method").is_none()) {
            self.waiting.remove(&frame["id"].as_u64().unwrap_or_default());
        }
        (told, self.waiting.into_values().collect())
    }
}

/// One client.
pub(super) struct Driver<'a> {
    pub(super) work: &'a Work,
    pub(super) client: Client,
    pub(super) random: Random,
    pub(super) slots: &'a mut [Slot],
    /// Sessions of others that it also watches.
    pub(super) others: Vec<String>,
    /// Commands of earlier lives that are sent again.
    pub(super) again: Vec<Sent>,
    /// Whether everything is to come to its end.
    pub(super) last: bool,
    /// Decisions on their way, of all connections.
    pub(super) in_flight: &'a AtomicUsize,
    waiting: HashMap<u64, Unanswered>,
    /// Decisions that are put off.
    later: Vec<(Instant, Value)>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        work: &'a Work,
        client: Client,
        random: Random,
        slots: &'a mut [Slot],
        in_flight: &'a AtomicUsize,
    ) -> Driver<'a> {
        Driver {
            work,
            client,
            random,
            slots,
            others: Vec::new(),
            again: Vec::new(),
            last: false,
            in_flight,
            waiting: HashMap::new(),
            later: Vec::new(),
        }
    }

    /// Goes on until the host is gone, or in the last life until nothing is left to do.
    pub(super) fn run(mut self) -> Life {
        let stuck = self.drive().unwrap_or_default();
        Life { client: self.client, waiting: self.waiting, stuck }
    }

    /// What it waits for in vain, if it does.
    fn drive(&mut self) -> Result<Option<String>, Gone> {
        steps::greet(&mut self.client)?;
        for slot in 0..self.slots.len() {
            self.enter(slot)?;
        }
        for session in std::mem::take(&mut self.others) {
            self.send("session/resume", json!({"commandId": command_id(), "sessionId": session}))?;
        }
        let (mut seen, mut heard) = (0, Instant::now());
        loop {
            let frames = self.client.after(seen, TICK)?;
            if !frames.is_empty() {
                heard = Instant::now();
            }
            seen += frames.len();
            for frame in &frames {
                self.frame(frame)?;
            }
            self.put_off()?;
            let owed = self.slots.iter().any(|slot| slot.busy) || !self.waiting.is_empty();
            if self.last && !owed {
                return Ok(None);
            }
            if owed && heard.elapsed() > SILENCE_MAX {
                let waiting = self.waiting.values().map(|one| (&one.sent.method, &one.sent.params));
                let waiting: Vec<_> = waiting.collect();
                let busy = self.slots.iter().filter(|slot| slot.busy);
                let busy: Vec<_> = busy.map(|slot| slot.session.as_deref()).collect();
                return Ok(Some(format!("no answer to {waiting:?}, no end of a turn in {busy:?}")));
            }
        }
    }

    fn enter(&mut self, slot: usize) -> Result<(), Gone> {
        let Some(slot) = self.slots.get_mut(slot) else { return Ok(()) };
        (slot.busy, slot.fresh) = (true, false);
        let (method, params) = match &slot.session {
            Some(session) => {
                ("session/resume", json!({"commandId": command_id(), "sessionId": session}))
            }
            None => ("session/start", slot.start.clone()),
        };
        self.send(method, params)
    }

    fn send(&mut self, method: &str, params: Value) -> Result<(), Gone> {
        let is_decision = method == "approval/decide";
        if is_decision {
            self.in_flight.fetch_add(1, Ordering::SeqCst);
        }
        let at = Instant::now();
        let id = self.client.send(method, params.clone())?;
        let sent = Sent { id, method: method.to_owned(), params };
        self.waiting.insert(id, Unanswered { sent, at });
        Ok(())
    }

    fn frame(&mut self, frame: &Value) -> Result<(), Gone> {
        let params = &frame["params"];
        match frame["method"].as_str() {
            Some("approval/request") => self.asked(params),
            Some("turn/completed") => {
                let session = params["sessionId"].as_str().unwrap_or_default();
                match self.slot(session) {
                    Some(slot) => self.go_on(slot),
                    None => Ok(()),
                }
            }
            Some(_) => Ok(()),
            None => self.answered(frame),
        }
    }

    fn slot(&self, session: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.session.as_deref() == Some(session))
    }

    fn answered(&mut self, frame: &Value) -> Result<(), Gone> {
        let answer = self.waiting.remove(&frame["id"].as_u64().unwrap_or_default());
        let Some(Unanswered { sent, .. }) = answer else { return Ok(()) };
        let result = &frame["result"];
        let session = result["session"]["sessionId"].as_str().unwrap_or_default();
        match sent.method.as_str() {
            "approval/decide" => {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
            "session/start" => {
                let id = &sent.params["commandId"];
                let started = |slot: &Slot| slot.start["commandId"] == *id;
                let Some(slot) = self.slots.iter().position(started) else { return Ok(()) };
                let Some(known) = self.slots.get_mut(slot) else { return Ok(()) };
                known.session = Some(session.to_owned()).filter(|session| !session.is_empty());
                match (&known.session, known.fresh) {
                    (None, _) => Ok(()),
                    (Some(_), true) => self.go_on(slot),
                    // One that an earlier life may have begun: this host has not loaded it then.
                    (Some(_), false) => {
                        let params = json!({"commandId": command_id(), "sessionId": session});
                        self.send("session/resume", params)
                    }
                }
            }
            "session/resume" => {
                let is_here = |sent: &mut Sent| sent.params["sessionId"] == session;
                let now: Vec<Sent> = self.again.extract_if(.., is_here).collect();
                for sent in now {
                    self.send(&sent.method, sent.params)?;
                }
                match self.slot(session) {
                    Some(slot) if result["session"]["status"] == "idle" => self.go_on(slot),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// A session of its own rests: the next turn.
    fn go_on(&mut self, slot: usize) -> Result<(), Gone> {
        let Some(slot) = self.slots.get_mut(slot) else { return Ok(()) };
        if self.last {
            slot.busy = false;
            return Ok(());
        }
        let (method, params) = slot.next(self.work, &mut self.random);
        self.send(method, params)
    }

    fn asked(&mut self, params: &Value) -> Result<(), Gone> {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let is_own = self.slot(session).is_some();
        if !is_own && self.random.once_in(2) {
            return Ok(());
        }
        if is_own && !self.last && self.random.once_in(40) {
            let turn = &params["turnId"];
            let stop = json!({"sessionId": session, "commandId": command_id(), "turnId": turn});
            return self.send("turn/interrupt", stop);
        }
        let choice = if self.random.once_in(4) { "abort" } else { "allow_once" };
        let decision = steps::decision(session, params, choice);
        if self.random.once_in(6) {
            let pause = 1 + self.random.below(PAUSE_MS_MAX) as u64;
            self.later.push((Instant::now() + Duration::from_millis(pause), decision));
            return Ok(());
        }
        self.send("approval/decide", decision)
    }

    fn put_off(&mut self) -> Result<(), Gone> {
        let now = Instant::now();
        let due = |one: &mut (Instant, Value)| one.0 <= now;
        let due: Vec<_> = self.later.extract_if(.., due).collect();
        due.into_iter().try_for_each(|(_, decision)| self.send("approval/decide", decision))
    }
}

//! What the records of all sessions say, taken one by one, and what they must not say.

use super::records::{Chain, Record, pending, sessions};
use super::wrong::{Kind, Wrong};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The word of the records with which a restart closes what was pending.
pub(super) const RESTARTED: &str = "hostRestarted";

/// All that was read so far.
#[derive(Default)]
pub(super) struct Book {
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) approvals: HashMap<String, Approval>,
    pub(super) items: HashMap<String, Item>,
    /// By scope and id.
    pub(super) commands: HashMap<(String, String), Command>,
    /// Turns that are over.
    pub(super) over: BTreeSet<String>,
    pub(super) records: u64,
    pub(super) wrongs: Vec<Wrong>,
    /// Items of which a record was read since this was last emptied.
    pub(super) touched: BTreeSet<String>,
}

/// One session.
pub(super) struct Session {
    chain: Chain,
    /// Every approval, in order.
    pub(super) asked: Vec<String>,
    /// Those that are open.
    pub(super) open: BTreeSet<String>,
    /// Items that were proposed and have not ended.
    at_work: BTreeSet<String>,
    turns: BTreeSet<String>,
    /// Where a host took it over last.
    pub(super) loaded: u64,
    /// What the restart that was read last owes: approvals closed and asked again, items ended.
    owed: (BTreeSet<String>, BTreeSet<String>),
}

impl Session {
    pub(super) fn new(name: &str) -> Session {
        Session {
            chain: Chain::new(name),
            asked: Vec::new(),
            open: BTreeSet::new(),
            at_work: BTreeSet::new(),
            turns: BTreeSet::new(),
            loaded: 0,
            owed: Default::default(),
        }
    }
}

/// An approval and how it ended.
pub(super) struct Approval {
    pub(super) session: String,
    pub(super) item: String,
    pub(super) opened: u64,
    /// Whether it was asked again.
    pub(super) succeeded: bool,
    pub(super) closed: Option<Closed>,
}

/// How an approval ended.
pub(super) struct Closed {
    pub(super) at: u64,
    pub(super) decision: String,
    pub(super) why: String,
    pub(super) command: Option<String>,
}

/// A command of a turn.
#[derive(Default)]
pub(super) struct Item {
    /// The command line.
    pub(super) line: String,
    /// Its approvals, the last one last.
    pub(super) approvals: Vec<String>,
    pub(super) started: Option<u64>,
    pub(super) status: Option<String>,
}

/// A command that the log took.
pub(super) struct Command {
    pub(super) ack: Value,
    /// Its record.
    pub(super) body: Value,
}

impl Book {
    /// Reads what was appended since; nobody may be writing.
    pub(super) fn read(&mut self, db: &Connection) -> rusqlite::Result<()> {
        for name in sessions(db)? {
            let new = || Session::new(&name);
            let session = self.sessions.entry(name.clone()).or_insert_with(new);
            let (records, wrongs) = session.chain.follow(db, &name)?;
            self.wrongs.extend(wrongs);
            self.take(&name, &records);
        }
        let mut lookup = pending(db)?;
        for (name, session) in &self.sessions {
            let open = &session.open;
            let found = lookup.remove(name).unwrap_or_default();
            if *open != found {
                let what = format!("{name}: pending are {open:?}, the lookup says {found:?}");
                self.wrongs.push(Wrong::new(Kind::PendingLost, what));
            }
        }
        Ok(())
    }

    /// Takes records of one session.
    pub(super) fn take(&mut self, name: &str, records: &[Record]) {
        for record in records {
            self.records += 1;
            if record.body["record"] == "sessionLoaded" {
                self.settle(name);
                if let Some(session) = self.sessions.get_mut(name) {
                    session.loaded = record.sequence;
                    session.owed = (session.open.clone(), session.at_work.clone());
                }
            }
            self.words(name, record);
            for mark in record.marks("command") {
                self.command(mark, record);
            }
            // A successor opens in the batch that closes the one before, behind it.
            for mark in record.marks("closes") {
                self.closes(name, mark["approval"].as_str().unwrap_or_default(), record);
            }
            for mark in record.marks("opens") {
                self.opens(name, mark["approval"].as_str().unwrap_or_default(), record);
            }
            for mark in record.marks("starts") {
                self.starts(name, mark["execution"].as_str().unwrap_or_default(), record);
            }
        }
        self.settle(name);
    }

    /// What a restart owes was done in its one batch.
    fn settle(&mut self, name: &str) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        let (approvals, items) = std::mem::take(&mut session.owed);
        let loaded = session.loaded;
        for id in approvals {
            let Some(approval) = self.approvals.get(&id) else { continue };
            let closed = approval.closed.as_ref().is_some_and(|closed| closed.why == RESTARTED);
            if !closed || !approval.succeeded {
                self.wrong(Kind::PendingLost, name, &format!("{id} was pending at a restart"));
            }
        }
        let left = |item: &String| {
            let Some(item) = self.items.get(item) else { return false };
            let last = item.approvals.last().and_then(|id| self.approvals.get(id));
            // A successor may wait, and later records of the same read may have gone on with it.
            item.status.is_none() && last.is_none_or(|last| last.opened <= loaded)
        };
        let left: Vec<String> = items.into_iter().filter(left).collect();
        for item in left {
            self.wrong(Kind::Unfinished, name, &format!("a restart left {item} as it was"));
        }
    }

    fn words(&mut self, name: &str, record: &Record) {
        let Some(session) = self.sessions.get_mut(name) else { return };
        match record.text("/record") {
            "turnStarted" => {
                session.turns.insert(record.text("/turn").to_owned());
            }
            "turnCompleted" => {
                let turn = record.text("/turn").to_owned();
                session.turns.remove(&turn);
                if !self.over.insert(turn.clone()) {
                    self.wrong(Kind::DoubleTerminal, name, &format!("turn {turn} ends twice"));
                }
            }
            "actionProposed" => {
                let id = record.text("/action/item").to_owned();
                let line = record.text("/action/args").to_owned();
                session.at_work.insert(id.clone());
                self.touched.insert(id.clone());
                if self.items.insert(id.clone(), Item { line, ..Item::default() }).is_some() {
                    self.wrong(Kind::DoubleStart, name, &format!("item {id} is proposed twice"));
                }
            }
            "itemEnded" => {
                let id = record.text("/item/item").to_owned();
                let status = record.text("/item/status").to_owned();
                session.at_work.remove(&id);
                self.touched.insert(id.clone());
                let item = self.items.entry(id.clone()).or_default();
                let ran = record.marks("ends").next().is_some();
                let fine = ran == item.started.is_some() && item.status.is_none();
                item.status = Some(status);
                if !fine {
                    self.wrong(Kind::DoubleTerminal, name, &format!("how item {id} ended"));
                }
            }
            _ => {}
        }
    }

    /// The approvals of a session that were open behind a record.
    pub(super) fn open_at(&self, name: &str, sequence: u64) -> BTreeSet<String> {
        let asked = self.sessions.get(name).map(|session| session.asked.as_slice());
        let open = asked.unwrap_or_default().iter().filter(|id| {
            self.approvals.get(*id).is_some_and(|approval| {
                let closed = approval.closed.as_ref().map_or(u64::MAX, |closed| closed.at);
                approval.opened <= sequence && closed > sequence
            })
        });
        open.cloned().collect()
    }

    /// What has not come to its end.
    pub(super) fn unfinished(&self) -> Vec<String> {
        let of = |(name, session): (&String, &Session)| {
            let (open, work) = (&session.open, &session.at_work);
            let rests = open.is_empty() && work.is_empty() && session.turns.is_empty();
            let turns = &session.turns;
            (!rests).then(|| format!("{name}: open {open:?}, at work {work:?}, turns {turns:?}"))
        };
        self.sessions.iter().filter_map(of).collect()
    }

    /// The sessions with records.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.sessions.iter().filter(|(_, one)| one.chain.sequence > 0).map(|(name, _)| name)
    }

    pub(super) fn wrong(&mut self, kind: Kind, session: &str, what: &str) {
        self.wrongs.push(Wrong::new(kind, format!("{session}: {what}")));
    }
}

//! What marks say: that something is taken, asked, answered, begun, and never a second time.

use super::book::{Approval, Book, Closed, Command, RESTARTED};
use super::records::Record;
use super::wrong::Kind;
use serde_json::Value;

/// The id under which an approval is asked again.
pub(super) fn successor(approval: &str) -> Option<String> {
    let old = uuid::Uuid::parse_str(approval).ok()?;
    Some(uuid::Uuid::new_v5(&old, b"placet/successor").to_string())
}

impl Book {
    pub(super) fn command(&mut self, mark: &Value, record: &Record) {
        let text = |member: &str| mark[member].as_str().unwrap_or_default().to_owned();
        let key = (text("scope"), text("id"));
        let ack = serde_json::from_str(&text("ack")).unwrap_or_default();
        let taken = Command { ack, body: record.body.clone() };
        if self.commands.insert(key.clone(), taken).is_some() {
            let what = format!("the command {} is taken twice", key.1);
            self.wrong(Kind::DoubleTerminal, &key.0, &what);
        }
    }

    pub(super) fn closes(&mut self, name: &str, id: &str, record: &Record) {
        if let Some(session) = self.sessions.get_mut(name) {
            session.open.remove(id);
        }
        let command = record.body["command"].as_str().map(str::to_owned);
        let (decision, why) = (record.text("/decision").to_owned(), record.text("/why").to_owned());
        let closed = Closed { at: record.sequence, decision, why, command };
        let fine = record.text("/approval") == id
            && self.approvals.get_mut(id).is_some_and(|approval| {
                let first = approval.closed.is_none();
                approval.closed.get_or_insert(closed);
                first
            });
        if !fine {
            let what = format!("record {} ends {id} again, or what never began", record.sequence);
            self.wrong(Kind::DoubleTerminal, name, &what);
        }
    }

    pub(super) fn opens(&mut self, name: &str, id: &str, record: &Record) {
        let item = record.text("/request/item").to_owned();
        let before = self.items.entry(item.clone()).or_default();
        let last = before.approvals.last().cloned();
        before.approvals.push(id.to_owned());
        self.touched.insert(item.clone());
        let predecessor = record.body["predecessor"].as_str();
        let fine = match (predecessor, last) {
            (None, None) => true,
            (Some(old), Some(last)) => {
                let old_one = self.approvals.get_mut(old);
                let first = old_one.is_some_and(|old| {
                    let restarted = old.closed.as_ref().is_some_and(|it| it.why == RESTARTED);
                    !std::mem::replace(&mut old.succeeded, true) && restarted
                });
                first && old == last && successor(old).as_deref() == Some(id)
            }
            _ => false,
        };
        let (session, opened) = (name.to_owned(), record.sequence);
        let approval = Approval { session, item, opened, succeeded: false, closed: None };
        let known = self.approvals.insert(id.to_owned(), approval).is_some();
        if !fine || known {
            let what = format!("record {opened} asks {id} after {predecessor:?}");
            self.wrong(Kind::DuplicateSuccessor, name, &what);
        }
        if let Some(session) = self.sessions.get_mut(name) {
            session.asked.push(id.to_owned());
            session.open.insert(id.to_owned());
        }
    }

    pub(super) fn starts(&mut self, name: &str, id: &str, record: &Record) {
        let loaded = self.sessions.get(name).map_or(0, |session| session.loaded);
        self.touched.insert(id.to_owned());
        let item = self.items.entry(id.to_owned()).or_default();
        let first = item.started.is_none() && item.status.is_none();
        item.started.get_or_insert(record.sequence);
        let last = item.approvals.last().and_then(|approval| self.approvals.get(approval));
        let closed = last.filter(|last| last.item == id).and_then(|last| last.closed.as_ref());
        let answer = closed.filter(|closed| closed.decision == "approved").map(|closed| closed.at);
        let wrong = match answer {
            _ if !first => Some((Kind::DoubleStart, "again")),
            None => Some((Kind::Unasked, "without an answer")),
            Some(at) if at < loaded => Some((Kind::DoubleStart, "by an answer before a restart")),
            Some(_) => None,
        };
        if let Some((kind, how)) = wrong {
            self.wrong(kind, name, &format!("record {} starts {id} {how}", record.sequence));
        }
    }
}

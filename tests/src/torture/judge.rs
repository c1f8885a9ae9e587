//! What clients were told, and what commands really did, held against the book.

use super::book::{Book, Closed};
use super::wrong::{Kind, Wrong};
use crate::live::told::{COMMANDS, Sent, Told};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// What may be refused: a decision where somebody else, or a restart, was first, also on one
/// stage of several, and the interruption of a turn that is over.
const EXPECTED: [(&str, &str); 3] = [
    ("approval/decide", "approvalAlreadyResolved"),
    ("approval/decide", "approvalRequirementStale"),
    ("turn/interrupt", "commandRejected"),
];

/// What was told in all lives.
#[derive(Default)]
pub(super) struct Judge {
    /// The decisions that were acknowledged, and by which command each stage was.
    decided: HashMap<(String, u64), String>,
    pub(super) decisions: u64,
    pub(super) replayed: u64,
    pub(super) refused: u64,
    pub(super) frames: u64,
    pub(super) wrongs: Vec<Wrong>,
}

impl Judge {
    /// Holds everything that a connection was told against the book.
    pub(super) fn told(&mut self, told: &Told, book: &Book) {
        let sent: HashMap<u64, &Sent> = told.sent.iter().map(|sent| (sent.id, sent)).collect();
        self.frames += told.frames.len() as u64;
        for frame in &told.frames {
            let params = &frame["params"];
            let asked = frame["id"].as_u64().and_then(|id| sent.get(&id));
            match (frame["method"].as_str(), asked) {
                (Some("approval/request" | "approval/requested"), _) => {
                    let id = params["approvalId"].as_str().unwrap_or_default();
                    let known = book.approvals.get(id);
                    if known.is_none_or(|known| params["sessionId"] != known.session.as_str()) {
                        self.wrong(Kind::PendingLost, "asked, and not in the log", frame);
                    }
                }
                (Some("approval/resolved"), _) => {
                    if !is_closed(book, params) {
                        self.wrong(Kind::Lost, "resolved, and not in the log", frame);
                    }
                }
                (Some("item/completed"), _) => {
                    let item = &params["item"];
                    let known = item["itemId"].as_str().and_then(|id| book.items.get(id));
                    let status = known.and_then(|known| known.status.as_deref());
                    if item["kind"] == "toolCall" && item["status"].as_str() != status {
                        self.wrong(Kind::Untrue, "ended, and not in the log", frame);
                    }
                }
                (Some("turn/completed"), _) => {
                    if !book.over.contains(params["turnId"].as_str().unwrap_or_default()) {
                        self.wrong(Kind::Untrue, "over, and not in the log", frame);
                    }
                }
                (Some(_), _) => {}
                (None, Some(sent)) if frame.get("result").is_some() => {
                    self.result(sent, frame, book);
                }
                (None, Some(sent)) => self.refusal(sent, frame, book),
                (None, None) => self.wrong(Kind::Untrue, "an answer to nothing", frame),
            }
        }
    }

    fn result(&mut self, sent: &Sent, frame: &Value, book: &Book) {
        let result = &frame["result"];
        let session = sent.params["sessionId"].as_str().unwrap_or_default();
        let id = sent.params["commandId"].as_str().unwrap_or_default();
        if COMMANDS.contains(&sent.method.as_str()) {
            let scope = if sent.method == "session/start" { "home" } else { session };
            let taken = book.commands.get(&(scope.to_owned(), id.to_owned()));
            let is_decision = sent.method == "approval/decide";
            let kind = if is_decision { Kind::Lost } else { Kind::Untrue };
            let fine = taken.is_some_and(|taken| {
                taken.ack == *result && (!is_decision || is_as_decided(sent, &taken.body))
            });
            if !fine {
                let what = format!("acknowledged, and not so in the log: {} {}", sent.method, id);
                self.wrong(kind, &what, frame);
            }
            if is_decision {
                self.decision(sent, id);
            }
        }
        if sent.method == "session/resume" {
            let cursor = result["viewCursor"].as_str().and_then(|cursor| cursor.parse().ok());
            let pointers = result["pendingRequests"].as_array().cloned().unwrap_or_default();
            let ids = pointers.iter().filter_map(|pointer| pointer["approvalId"].as_str());
            let shown: BTreeSet<String> = ids.map(str::to_owned).collect();
            let open = book.open_at(session, cursor.unwrap_or_default());
            if shown != open {
                let what = format!("resumed {session} with {shown:?}, in the log {open:?}");
                self.wrong(Kind::PendingLost, &what, frame);
            }
        }
    }

    fn decision(&mut self, sent: &Sent, id: &str) {
        let approval = sent.params["approvalId"].as_str().unwrap_or_default().to_owned();
        let stage = sent.params["requirementId"]["sourceIndex"].as_u64().unwrap_or_default();
        match self.decided.insert((approval.clone(), stage), id.to_owned()) {
            None => self.decisions += 1,
            Some(before) if before == id => self.replayed += 1,
            Some(before) => {
                let what = format!("{approval}, stage {stage}: both {before} and {id} were taken");
                self.wrongs.push(Wrong::new(Kind::DoubleTerminal, what));
            }
        }
    }

    fn refusal(&mut self, sent: &Sent, frame: &Value, book: &Book) {
        self.refused += 1;
        let data = &frame["error"]["data"];
        let kind = data["kind"].as_str().unwrap_or_default();
        if !EXPECTED.contains(&(sent.method.as_str(), kind)) {
            let what = format!("{} {} is refused", sent.method, sent.params);
            self.wrong(Kind::Untrue, &what, frame);
        }
        if kind == "approvalAlreadyResolved" {
            let mut told = data["resolution"].clone();
            told["approvalId"] = data["approvalId"].clone();
            if !is_closed(book, &told) {
                self.wrong(Kind::Lost, "a winner, and not in the log", frame);
            }
        }
    }

    /// The files that commands append to, one for each: of these items, or of all that ran.
    pub(super) fn effects<'a>(
        &mut self,
        folder: &Path,
        mark: &str,
        items: impl Iterator<Item = &'a String>,
        book: &Book,
    ) -> u64 {
        let mut lines = 0;
        for id in items {
            let Some(item) = book.items.get(id) else { continue };
            let Some(name) = file_of(&item.line) else { continue };
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            let (ran, started) = (text.lines().count(), item.started.is_some());
            lines += ran as u64;
            let seen = format!(
                "{name} holds {text:?}; item {id}, started {:?}, status {:?}",
                item.started, item.status
            );
            if ran > 1 {
                self.wrongs.push(Wrong::new(Kind::DoubleStart, &seen));
            }
            if ran > 0 && !started {
                self.wrongs.push(Wrong::new(Kind::Unasked, &seen));
            }
            let whole = text.lines().all(|line| line == format!("{mark}-{name}"));
            if !whole || (item.status.as_deref() == Some("completed") && ran == 0) {
                self.wrongs.push(Wrong::new(Kind::Untrue, &seen));
            }
        }
        lines
    }

    fn wrong(&mut self, kind: Kind, what: &str, frame: &Value) {
        self.wrongs.push(Wrong::new(kind, format!("{what}: {frame}")));
    }
}

/// The name behind `ran/`, where a command appends its line.
fn file_of(line: &str) -> Option<&str> {
    let name = line.split_once("ran/")?.1;
    name.split(|c: char| !c.is_ascii_digit()).next().filter(|name| !name.is_empty())
}

/// Whether the record of a decision says what was decided.
fn is_as_decided(sent: &Sent, body: &Value) -> bool {
    let decision = if sent.params["choiceId"] == "abort" { "abort" } else { "approved" };
    body["approval"] == sent.params["approvalId"]
        && body["command"] == sent.params["commandId"]
        && body["decision"] == decision
}

/// Whether an approval ended as somebody was told.
fn is_closed(book: &Book, told: &Value) -> bool {
    let id = told["approvalId"].as_str().unwrap_or_default();
    let closed = book.approvals.get(id).and_then(|approval| approval.closed.as_ref());
    closed.is_some_and(|Closed { decision, command, .. }| {
        told["decision"] == decision.as_str()
            && told.get("decidedByCommandId").is_none_or(|by| *by == json!(command))
    })
}

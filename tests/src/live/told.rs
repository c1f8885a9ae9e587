//! The checker: nothing that a client was told may be missing from the log.

use placet::log::{Header, Mark};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A request that a client sent.
#[derive(Clone)]
pub struct Sent {
    /// The id of the request.
    pub id: u64,
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

/// All that was said on one connection.
#[derive(Clone)]
pub struct Told {
    /// What the client asked.
    pub sent: Vec<Sent>,
    /// What it was told.
    pub frames: Vec<Value>,
}

impl Told {
    /// The answer to a request, if one came.
    pub fn answer(&self, id: u64) -> Option<&Value> {
        self.frames.iter().find(|frame| frame.get("method").is_none() && frame["id"] == id)
    }
}

/// The methods whose ids and acks the ledger keeps.
pub const COMMANDS: [&str; 6] = [
    "session/start",
    "turn/start",
    "turn/interrupt",
    "turn/cancel",
    "approval/decide",
    "session/setApprovalMode",
];

/// Told of a moment, with the head as cursor; they are no events of the view.
const MOMENTARY: [&str; 3] = ["session/started", "session/statusChanged", "session/closed"];

/// What the log of one session holds.
#[derive(Default)]
pub struct Held {
    /// The headers of its records.
    pub headers: Vec<Header>,
    /// What view/page shows: `{method, params}`.
    pub events: Vec<Value>,
}

impl Held {
    fn head(&self) -> u64 {
        self.headers.last().map_or(0, |header| header.sequence)
    }

    fn marks(&self) -> impl Iterator<Item = (u64, &Mark)> {
        self.headers
            .iter()
            .flat_map(|header| header.marks.iter().map(move |mark| (header.sequence, mark)))
    }

    /// The acks of the ledger by command id. Of two records for one id the first counts.
    pub fn acks(&self) -> BTreeMap<String, Value> {
        let mut acks = BTreeMap::new();
        for (_, mark) in self.marks() {
            if let Mark::Command { id, ack, .. } = mark {
                acks.entry(id.clone()).or_insert_with(|| serde_json::from_str(ack).unwrap());
            }
        }
        acks
    }

    /// Where approvals open, in order.
    pub fn opens(&self) -> Vec<(u64, String)> {
        self.marks()
            .filter_map(|(at, mark)| match mark {
                Mark::Opens { approval } => Some((at, approval.clone())),
                _ => None,
            })
            .collect()
    }

    /// Where approvals close, in order.
    pub fn closes(&self) -> Vec<(u64, String)> {
        self.marks()
            .filter_map(|(at, mark)| match mark {
                Mark::Closes { approval } => Some((at, approval.clone())),
                _ => None,
            })
            .collect()
    }

    /// Approvals that are open and not closed.
    pub fn pending(&self) -> BTreeSet<String> {
        let closed: BTreeSet<String> = self.closes().into_iter().map(|(_, id)| id).collect();
        let opened = self.opens().into_iter().map(|(_, id)| id);
        opened.filter(|id| !closed.contains(id)).collect()
    }

    fn has(&self, event: &Value) -> bool {
        let wanted = json!({"method": event["method"], "params": event["params"]});
        self.events.contains(&wanted)
    }

    /// What no log may hold: an id opened, closed, resolved, started or taken twice.
    pub fn doubles(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut twice = Vec::new();
        for (at, mark) in self.marks() {
            let key = match mark {
                Mark::Opens { approval } => format!("opens {approval}"),
                Mark::Closes { approval } => format!("closes {approval}"),
                Mark::Starts { execution } => format!("starts {execution}"),
                Mark::Ends { execution } => format!("ends {execution}"),
                Mark::Command { scope, id, .. } => format!("command {scope} {id}"),
                Mark::View => continue,
            };
            if !seen.insert(key.clone()) {
                twice.push(format!("record {at}: twice: {key}"));
            }
        }
        for event in self.events.iter().filter(|event| event["method"] == "approval/resolved") {
            let key = format!("approval/resolved {}", event["params"]["approvalId"]);
            if !seen.insert(key.clone()) {
                twice.push(format!("twice on a page: {key}"));
            }
        }
        twice
    }
}

/// What a client was told that the log does not hold, a sentence each.
pub fn violations(told: &Told, held: &Held) -> Vec<String> {
    let checker = Checker { held, acks: held.acks(), opens: held.opens() };
    let mut found = Vec::new();
    for frame in &told.frames {
        let fine = match (frame["method"].as_str(), frame.get("result"), frame.get("error")) {
            (Some("approval/request"), ..) => checker.request(&frame["params"]),
            (Some(method), ..) => checker.notification(method, frame),
            (None, Some(result), _) => {
                let sent = told.sent.iter().find(|sent| frame["id"] == sent.id);
                sent.is_none_or(|sent| checker.result(sent, result))
            }
            (None, None, Some(error)) => checker.error(error),
            (None, None, None) => false,
        };
        if !fine {
            found.push(format!("told, and not in the log: {frame}"));
        }
    }
    found
}

struct Checker<'a> {
    held: &'a Held,
    acks: BTreeMap<String, Value>,
    opens: Vec<(u64, String)>,
}

impl Checker<'_> {
    /// Whether the log reaches as far as a cursor; the second part counts what is not kept.
    fn reaches(&self, cursor: &Value) -> bool {
        let Some(cursor) = cursor.as_str() else { return false };
        let sequence = cursor.split_once('.').map_or(cursor, |(sequence, _)| sequence);
        sequence.parse::<u64>().is_ok_and(|sequence| sequence <= self.held.head())
    }

    fn notification(&self, method: &str, frame: &Value) -> bool {
        let params = &frame["params"];
        if method == "session/started" {
            return !self.held.headers.is_empty();
        }
        if MOMENTARY.contains(&method) || method == "item/delta" {
            return self.reaches(&params["viewCursor"]);
        }
        self.held.has(frame)
    }

    /// A request: its opening is an event, and so is the state of its stages.
    fn request(&self, params: &Value) -> bool {
        const MOVING: [&str; 3] = ["subject", "currentRequirementId", "availableChoices"];
        let fixed = |params: &Value| {
            let mut params = params.as_object().cloned().unwrap_or_default();
            params.retain(|name, _| !MOVING.contains(&name.as_str()));
            params
        };
        let of_it = |method: &'static str| {
            self.held.events.iter().filter(move |event| {
                event["method"] == method && event["params"]["approvalId"] == params["approvalId"]
            })
        };
        of_it("approval/requested").any(|event| fixed(&event["params"]) == fixed(params))
            && of_it("approval/requested")
                .chain(of_it("approval/updated"))
                .any(|event| MOVING.iter().all(|name| event["params"][name] == params[name]))
    }

    fn result(&self, sent: &Sent, result: &Value) -> bool {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        match sent.method.as_str() {
            method if COMMANDS.contains(&method) => {
                let id = sent.params["commandId"].as_str().unwrap_or_default();
                self.acks.get(id) == Some(result)
            }
            "session/resume" | "session/read" => {
                self.reaches(&result["viewCursor"])
                    && list(&result["pendingRequests"]).iter().all(|pending| self.pointer(pending))
                    && list(&result["history"]["items"]).iter().all(|item| self.item(item))
            }
            "approval/listPending" => {
                list(&result["approvals"]).iter().all(|one| self.request(one))
            }
            "view/page" => list(&result["events"]).iter().all(|event| self.held.has(event)),
            _ => true,
        }
    }

    fn pointer(&self, pointer: &Value) -> bool {
        self.opens.iter().any(|(at, approval)| {
            pointer["approvalId"] == *approval
                && pointer["viewCursor"].as_str() == Some(&at.to_string())
        })
    }

    fn item(&self, item: &Value) -> bool {
        self.held.events.iter().any(|event| event["params"]["item"] == *item)
    }

    /// A refusal that names a winner: the winner is in the log.
    fn error(&self, error: &Value) -> bool {
        if error["code"] != -32051 {
            return true;
        }
        let data = &error["data"];
        self.held.events.iter().any(|event| {
            let params = &event["params"];
            event["method"] == "approval/resolved"
                && params["approvalId"] == data["approvalId"]
                && ["decision", "resolvedBy", "viewCursor"]
                    .iter()
                    .all(|name| params[name] == data["resolution"][name])
        })
    }
}

//! After the end of a host: what a fresh one on the same home must find and do.

use crate::client::Client;
use crate::place::{Place, rows};
use crate::replays;
use crate::steps;
use crate::told::{Held, Told, violations};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Everything that is wrong after the hosts that said `told`, a sentence each.
pub(crate) fn wrongs(place: &Place, mut told: Vec<Told>) -> Vec<String> {
    place.no_survivor();
    let mut wrong = Vec::new();
    let mut host = place.host();
    let client = &mut host.client;
    // As the crash left it: nothing is loaded, so nothing is recovered yet.
    let left = held(place, client);
    wrong.extend(said(&told, &left));
    wrong.extend(left.doubles());
    wrong.extend(lookup(place, &left));
    wrong.extend(kept(place, &left, false));
    if let Some((session, headers)) = place.session() {
        if headers.is_empty() {
            let params = json!({"commandId": steps::command_id(), "sessionId": session});
            let refused = client.call("session/resume", params).unwrap();
            if !refused.as_ref().is_err_and(|error| error["code"] == -32020) {
                wrong.push(format!("a session without records was resumed: {refused:?}"));
            }
        } else {
            steps::resume(client, &session).unwrap();
            wrong.extend(succession(&left, &held(place, client)));
        }
    }
    let mut again = replays::of(&told, &left);
    wrong.extend(replays::send(client, &mut again).unwrap());
    let session = place.session().filter(|(_, headers)| !headers.is_empty()).map(|(id, _)| id);
    if let Some(session) = &session {
        steps::settle(place, client, session).unwrap();
        wrong.extend(replays::send(client, &mut again).unwrap());
    }
    let mut end = held(place, client);
    let (status, last) = host.close();
    told.push(last);
    if status.code() != Some(0) {
        wrong.push(format!("the fresh host ended with {status}"));
    }
    if let Some((_, headers)) = place.session() {
        end.headers = headers;
    }
    wrong.extend(said(&told, &end));
    wrong.extend(end.doubles());
    wrong.extend(lineage(&end));
    wrong.extend(kept(place, &end, true));
    if !end.pending().is_empty() {
        wrong.push(format!("still pending at the end: {:?}", end.pending()));
    }
    wrong.extend(runs(place, &told));
    wrong.extend(session.and_then(|session| place.verify(&session)));
    place.no_survivor();
    wrong
}

/// Marks and view of the one session, if there is one.
fn held(place: &Place, client: &mut Client) -> Held {
    match place.session() {
        Some((session, headers)) if !headers.is_empty() => {
            Held { headers, events: steps::view(client, &session).unwrap() }
        }
        _ => Held::default(),
    }
}

fn said(told: &[Told], held: &Held) -> Vec<String> {
    told.iter().flat_map(|told| violations(told, held)).collect()
}

/// Recovery closes what was pending and opens one successor of each, under the
/// id that follows from the old one.
fn succession(before: &Held, after: &Held) -> Vec<String> {
    let new = |all: Vec<(u64, String)>, old: usize| -> Vec<String> {
        all.into_iter().skip(old).map(|(_, id)| id).collect()
    };
    let closed = new(after.closes(), before.closes().len());
    let opened = new(after.opens(), before.opens().len());
    let pending = before.pending();
    let successors: Vec<String> = pending.iter().map(|id| successor(id)).collect();
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<String>>();
    let mut wrong = Vec::new();
    if closed.len() != pending.len() || set(&closed) != pending {
        wrong.push(format!("pending were {pending:?}, recovery closed {closed:?}"));
    }
    if opened.len() != successors.len() || set(&opened) != set(&successors) {
        wrong.push(format!("the successors are {successors:?}, recovery opened {opened:?}"));
    }
    wrong
}

/// Over the whole log, every recovery included: what a restart closed has its one
/// successor, and only the first approval is nobody's successor.
fn lineage(held: &Held) -> Option<String> {
    let aborted = held.events.iter().filter(|event| {
        event["method"] == "approval/resolved" && event["params"]["decision"] == "abort"
    });
    let mut expected: Vec<String> =
        aborted.map(|event| successor(event["params"]["approvalId"].as_str().unwrap())).collect();
    let mut opened: Vec<String> = held.opens().into_iter().map(|(_, id)| id).skip(1).collect();
    expected.sort();
    opened.sort();
    (expected != opened).then(|| format!("successors should be {expected:?}, are {opened:?}"))
}

/// The lookup of what is pending agrees with the records.
fn lookup(place: &Place, held: &Held) -> Option<String> {
    let query = "SELECT approval FROM pending";
    let found: BTreeSet<String> =
        rows(&place.database(), query, |row| row.get(0)).into_iter().collect();
    let pending = held.pending();
    (found != pending).then(|| format!("pending: {pending:?}, in the lookup {found:?}"))
}

/// What is kept was given by a record before, and once a fresh host has loaded the
/// session all that was given is kept, and said so once.
fn kept(place: &Place, held: &Held, settled: bool) -> Option<String> {
    let of = |method: &str, wanted: &dyn Fn(&Value) -> bool| -> Vec<String> {
        let events = held.events.iter().filter(|event| event["method"] == method);
        let events = events.filter(|event| wanted(&event["params"]));
        events.map(|event| event["params"]["approvalId"].as_str().unwrap().to_owned()).collect()
    };
    let given =
        of("approval/resolved", &|params| params["amendment"]["durability"] == "localPersistent");
    let said = of("approval/updated", &|params| {
        let change = &params["change"];
        change["kind"] == "policyPersistence" && change["status"] == "succeeded"
    });
    let query = "SELECT id FROM grants WHERE NOT revoked";
    let rows: Vec<String> = rows(&place.database(), query, |row| row.get(0));
    let order = rows.iter().all(|id| given.contains(id)) && said.iter().all(|id| rows.contains(id));
    let whole = rows == given && said == given;
    let fine = if settled { whole } else { order };
    (!fine).then(|| format!("given {given:?}, kept {rows:?}, said {said:?}"))
}

/// The id under which an approval is asked again.
pub(crate) fn successor(approval: &str) -> String {
    let old = uuid::Uuid::parse_str(approval).unwrap();
    uuid::Uuid::new_v5(&old, b"placet/successor").to_string()
}

/// The command ran at most once, and once if anybody was told that it completed.
fn runs(place: &Place, told: &[Told]) -> Option<String> {
    let completed = told.iter().flat_map(|told| &told.frames).any(|frame| {
        let item = &frame["params"]["item"];
        frame["method"] == "item/completed"
            && item["kind"] == "toolCall"
            && item["status"] == "completed"
    });
    let runs = place.runs();
    let fine = if completed { runs == 1 } else { runs <= 1 };
    (!fine).then(|| format!("the command ran {runs} times; told that it completed: {completed}"))
}

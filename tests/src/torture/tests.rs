//! The checker, checked: a small honest log passes, and each fault in it is found as what it is.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use super::book::{Book, Session};
use super::judge::Judge;
use super::marks::successor;
use super::records::{Chain, Record};
use super::wrong::Kind;
use crate::live::told::{Sent, Told};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const SESSION: &str = "s";
const FIRST: &str = "01a22ff7-b11a-7026-910a-5285206c1d4a";
const ACK: &str = r#"{"status":"accepted","terminal":true}"#;

fn record(body: Value, marks: &[Value]) -> Record {
    Record { sequence: 0, header: json!({ "marks": marks }), body }
}

fn command(id: &str) -> Value {
    json!({"mark": "command", "scope": SESSION, "id": id, "ack": ACK})
}

fn loaded() -> Record {
    record(json!({"record": "sessionLoaded"}), &[])
}

fn proposed() -> Record {
    let action = json!({"item": "i", "args": "echo m-1 >> ran/1"});
    record(json!({"record": "actionProposed", "action": action}), &[])
}

fn opened(id: &str, predecessor: Option<&str>) -> Record {
    let body = json!({
        "record": "approvalOpened", "predecessor": predecessor, "request": {"item": "i"},
    });
    record(body, &[json!({"mark": "opens", "approval": id})])
}

fn closed(id: &str, decision: &str, why: &str, by: Option<&str>) -> Record {
    let body = json!({
        "record": "approvalResolved", "approval": id, "decision": decision, "why": why,
        "command": by,
    });
    let mut marks = vec![json!({"mark": "closes", "approval": id})];
    marks.extend(by.map(command));
    record(body, &marks)
}

fn started() -> Record {
    let mark = json!({"mark": "starts", "execution": "i"});
    record(json!({"record": "executionStarted", "item": "i"}), &[mark])
}

fn ended(status: &str) -> Record {
    let body = json!({"record": "itemEnded", "item": {"item": "i", "status": status}});
    record(body, &[json!({"mark": "ends", "execution": "i"})])
}

/// Asked, pending at a restart, asked again, allowed, run.
fn honest() -> Vec<Record> {
    let second = successor(FIRST).unwrap();
    vec![
        proposed(),
        opened(FIRST, None),
        loaded(),
        closed(FIRST, "abort", "hostRestarted", None),
        opened(&second, Some(FIRST)),
        closed(&second, "approved", "approved", Some("d")),
        started(),
        ended("completed"),
    ]
}

/// Places in `honest`.
const LOADED: usize = 2;
const CLOSED: usize = 3;
const OPENED: usize = 4;
const DECIDED: usize = 5;
const STARTED: usize = 6;
const ENDED: usize = 7;

fn decide(id: u64, command: &str) -> Sent {
    let params = json!({
        "sessionId": SESSION, "commandId": command, "approvalId": successor(FIRST),
        "requirementId": {"sourceIndex": 0}, "choiceId": "allow_once",
    });
    Sent { id, method: "approval/decide".to_owned(), params }
}

fn answer(id: u64) -> Value {
    json!({"id": id, "result": serde_json::from_str::<Value>(ACK).unwrap()})
}

/// What an honest host told of it.
fn told() -> Told {
    let resolved = json!({
        "approvalId": successor(FIRST), "decision": "approved", "decidedByCommandId": "d",
    });
    let item = json!({"itemId": "i", "kind": "toolCall", "status": "completed"});
    Told {
        sent: vec![decide(1, "d")],
        frames: vec![
            json!({"method": "approval/request", "id": 1,
                "params": {"approvalId": FIRST, "sessionId": SESSION}}),
            answer(1),
            json!({"method": "approval/resolved", "params": resolved}),
            json!({"method": "item/completed", "params": {"item": item}}),
        ],
    }
}

/// The kinds of what is found, each once.
fn found(records: Vec<Record>, told: &Told, lines: &str) -> Vec<Kind> {
    let mut book = Book::default();
    book.sessions.insert(SESSION.to_owned(), Session::new(SESSION));
    let records: Vec<Record> =
        (1..).zip(records).map(|(sequence, one)| Record { sequence, ..one }).collect();
    book.take(SESSION, &records);
    let mut judge = Judge::default();
    judge.told(told, &book);
    let folder = tempfile::tempdir().unwrap();
    if !lines.is_empty() {
        std::fs::write(folder.path().join("1"), lines).unwrap();
    }
    judge.effects(folder.path(), "m", ["i".to_owned()].iter(), &book);
    let wrongs = book.wrongs.iter().chain(&judge.wrongs);
    let mut kinds: Vec<Kind> = wrongs.map(|wrong| wrong.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// A log that was changed, under what an honest host told.
fn check(change: impl Fn(&mut Vec<Record>), expected: &[Kind]) {
    let mut records = honest();
    change(&mut records);
    let shown = format!("{records:#?}");
    assert_eq!(found(records, &told(), "m-1\n"), expected, "{shown}");
}

#[test]
fn an_honest_log_passes() {
    check(|_| {}, &[]);
}

#[test]
fn a_lost_decision_is_found() {
    // The log ends before the decision, with everything behind it.
    check(|records| records.truncate(DECIDED), &[Kind::Lost, Kind::Unasked, Kind::Untrue]);
    // Another ack, another decision, another approval.
    let second = successor(FIRST).unwrap();
    let other = |records: &mut Vec<Record>, decision: &str, by: &str| {
        records[DECIDED] = closed(&second, decision, "x", Some(by));
    };
    check(|records| other(records, "approved", "e"), &[Kind::Lost]);
    check(|records| other(records, "abort", "d"), &[Kind::Lost, Kind::Unasked]);
    check(|records| records[DECIDED].header["marks"][1]["ack"] = json!("{}"), &[Kind::Lost]);
}

#[test]
fn a_double_terminal_is_found() {
    let again = |records: &mut Vec<Record>, place: usize| {
        let mut one = records[place].clone();
        one.header["marks"].as_array_mut().unwrap().truncate(1);
        records.push(one);
    };
    check(|records| again(records, DECIDED), &[Kind::DoubleTerminal]);
    check(|records| again(records, CLOSED), &[Kind::DoubleTerminal]);
    check(|records| again(records, ENDED), &[Kind::DoubleTerminal]);
    // Two decisions that were both acknowledged, the log holding both commands.
    let mut records = honest();
    records.push(record(records[DECIDED].body.clone(), &[command("e")]));
    records.last_mut().unwrap().body["command"] = json!("e");
    let mut told = told();
    told.sent.push(decide(2, "e"));
    told.frames.push(answer(2));
    assert_eq!(found(records, &told, "m-1\n"), [Kind::DoubleTerminal]);
}

#[test]
fn a_duplicate_successor_is_found() {
    let second = successor(FIRST).unwrap();
    let random = "01a22ff7-b11a-7026-910a-5285206c1d4b";
    // Opened twice, a second one beside it, one that does not follow, one of what was answered.
    check(
        |records| records.insert(DECIDED, opened(&second, Some(FIRST))),
        &[Kind::DuplicateSuccessor],
    );
    check(|records| records.push(opened(random, Some(FIRST))), &[Kind::DuplicateSuccessor]);
    check(
        |records| {
            records[OPENED] = opened(random, Some(FIRST));
            records[DECIDED] = closed(random, "approved", "approved", Some("d"));
        },
        &[Kind::Lost, Kind::DuplicateSuccessor],
    );
    let third = successor(&second).unwrap();
    check(|records| records.push(opened(&third, Some(&second))), &[Kind::DuplicateSuccessor]);
}

#[test]
fn a_double_start_is_found() {
    check(|records| records.insert(ENDED, started()), &[Kind::DoubleStart]);
    check(|records| records.push(started()), &[Kind::DoubleStart]);
    assert_eq!(found(honest(), &told(), "m-1\nm-1\n"), [Kind::DoubleStart]);
    // By an answer from before a restart, that a host should have let go.
    check(|records| records.insert(STARTED, loaded()), &[Kind::DoubleStart]);
}

#[test]
fn a_start_that_nobody_allowed_is_found() {
    let second = successor(FIRST).unwrap();
    check(
        |records| records[DECIDED] = closed(&second, "abort", "rejected", Some("d")),
        &[Kind::Lost, Kind::Unasked],
    );
    // A line of a command that no record starts.
    let silent = Told { sent: Vec::new(), frames: Vec::new() };
    let mut records = honest();
    records.truncate(DECIDED);
    assert_eq!(found(records, &silent, "m-1\n"), [Kind::Unasked]);
}

#[test]
fn a_lost_pending_approval_is_found() {
    // A restart that neither closes nor asks again, or closes and does not ask again.
    let silent = Told { sent: Vec::new(), frames: Vec::new() };
    for kept in [LOADED + 1, CLOSED + 1] {
        let mut records = honest();
        records.truncate(kept);
        let expected = [Kind::PendingLost, Kind::Unfinished];
        assert_eq!(found(records, &silent, ""), expected, "{kept} records");
    }
    // A session that is resumed without it.
    let resume = |pending: Value| Told {
        sent: vec![Sent {
            id: 1,
            method: "session/resume".to_owned(),
            params: json!({"sessionId": SESSION}),
        }],
        frames: vec![json!({"id": 1, "result": {"viewCursor": "5", "pendingRequests": pending}})],
    };
    let second = successor(FIRST).unwrap();
    assert_eq!(found(honest(), &resume(json!([{"approvalId": second}])), "m-1\n"), []);
    assert_eq!(found(honest(), &resume(json!([])), "m-1\n"), [Kind::PendingLost]);
    // A question that the log does not know.
    let mut unknown = told();
    unknown.frames[0]["params"]["approvalId"] = json!("other");
    assert_eq!(found(honest(), &unknown, "m-1\n"), [Kind::PendingLost]);
}

#[test]
fn what_is_not_so_is_found() {
    assert_eq!(found(honest(), &told(), ""), [Kind::Untrue]);
    assert_eq!(found(honest(), &told(), "m-2\n"), [Kind::Untrue]);
    let mut refused = told();
    refused.frames[1] = json!({"id": 1, "error": {"data": {"kind": "overloaded"}}});
    assert_eq!(found(honest(), &refused, "m-1\n"), [Kind::Untrue]);
    // A restart that leaves a running command as it was.
    check(|records| records[ENDED] = loaded(), &[Kind::Untrue, Kind::Unfinished]);
}

/// A database with one session of two records, and the chain that belongs to them.
fn database() -> rusqlite::Connection {
    let db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute_batch(
        "CREATE TABLE sessions (session TEXT, head_sequence INTEGER, head_chain BLOB);
         CREATE TABLE records (session TEXT, sequence INTEGER, header BLOB, salt BLOB,
             body_hash BLOB, chain BLOB, body BLOB);",
    )
    .unwrap();
    let hash = |parts: &[&[u8]]| Sha256::digest(parts.concat()).to_vec();
    let mut chain = hash(&[b"placet.log.start.1\0", SESSION.as_bytes()]);
    for sequence in [1_i64, 2] {
        let header = json!({"sequence": sequence, "kind": "k"}).to_string().into_bytes();
        let (body, salt) = (json!({"record": "k"}).to_string().into_bytes(), vec![7_u8; 16]);
        let body_hash = hash(&[&salt, &body]);
        let length = (header.len() as u64).to_be_bytes();
        chain = hash(&[b"placet.log.record.1\0", &chain, &length, &header, &body_hash]);
        let row = rusqlite::params![SESSION, sequence, header, salt, body_hash, chain, body];
        db.execute("INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", row).unwrap();
    }
    let head = rusqlite::params![SESSION, 2, chain];
    db.execute("INSERT INTO sessions VALUES (?1, ?2, ?3)", head).unwrap();
    db
}

#[test]
fn a_record_that_is_not_as_it_was_written_is_found() {
    let faults = |change: &str| {
        let db = database();
        db.execute_batch(change).unwrap();
        let (records, wrongs) = Chain::new(SESSION).follow(&db, SESSION).unwrap();
        assert!(wrongs.iter().all(|wrong| wrong.kind == Kind::Record));
        (records.len(), wrongs.len())
    };
    assert_eq!(faults(""), (2, 0));
    for (change, expected) in [
        (r#"UPDATE records SET body = '{"record": "k"}' WHERE sequence = 1"#, (2, 1)),
        ("UPDATE records SET header = replace(header, 'k', 'q') WHERE sequence = 2", (2, 1)),
        ("UPDATE records SET chain = zeroblob(32) WHERE sequence = 1", (2, 2)),
        ("DELETE FROM records WHERE sequence = 2", (1, 1)),
        ("DELETE FROM records WHERE sequence = 1", (1, 1)),
        ("UPDATE sessions SET head_sequence = 1", (2, 1)),
    ] {
        let change = change.replace("'{", "CAST('{").replace("}'", "}' AS BLOB)");
        let change =
            change.replace("replace(header, 'k', 'q')", "CAST(replace(header, 'k', 'q') AS BLOB)");
        assert_eq!(faults(&change), expected, "{change}");
    }
}

//! A receipt says that somebody saw a request. It is no decision, whatever is in it.

use crate::place::{Host, Place, rows};
use crate::steps;
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};

/// Every row of every table that says what was decided or is open, bytes and all.
fn log(place: &Place) -> Vec<Vec<Cell>> {
    let db = place.database();
    let tables = ["sessions", "records", "pending", "commands", "snapshots", "leases"];
    let mut all = Vec::new();
    for table in tables {
        all.extend(rows(&db, &format!("SELECT '{table}', * FROM {table} ORDER BY 2, 3"), |row| {
            (0..row.as_ref().column_count()).map(|at| row.get::<_, Cell>(at)).collect()
        }));
    }
    all
}

/// A host with an action that waits for a person: session, turn, request and its frame's id.
fn waiting(place: &Place) -> (Host, String, String, Value, u64) {
    let mut host = place.host();
    let client = &mut host.client;
    let session = steps::start(place, client, "promptUnmatched").unwrap();
    let turn = steps::turn(client, &session, &steps::command(place)).unwrap();
    let asked = steps::asked(client, &turn, 0).unwrap();
    let frame = client.wait("the request", |frame| frame["method"] == "approval/request").unwrap();
    let id = frame["id"].as_u64().unwrap();
    (host, session, turn, asked, id)
}

#[test]
fn no_receipt_changes_anything() {
    let place = Place::new();
    let (mut host, session, turn, asked, id) = waiting(&place);
    let client = &mut host.client;
    // None so far: the request is pending, and the log as it is now.
    let (log_before, pending_before) = (log(&place), steps::pending(client, &session).unwrap());
    assert_eq!(pending_before, std::slice::from_ref(&asked));
    let answer = |member: &str, value: Value| json!({"jsonrpc": "2.0", "id": id, member: value});
    let decide = steps::decision(&session, &asked, "allow_once");
    let approved = json!({"decision": "approved", "choiceId": "allow_once"});
    let failure = json!({"code": -32000, "message": "no", "data": {"kind": "refused"}});
    let receipts = [
        ("{}", vec![answer("result", json!({}))]),
        ("a decide body", vec![answer("result", decide.clone())]),
        ("an approval", vec![answer("result", approved)]),
        ("null", vec![answer("result", Value::Null)]),
        ("an error", vec![answer("error", failure.clone())]),
        ("{} twice", vec![answer("result", json!({})); 2]),
        ("a decide body twice", vec![answer("result", decide); 2]),
        ("an error, then a result", vec![answer("error", failure), answer("result", json!({}))]),
        ("of a request never sent", vec![json!({"jsonrpc": "2.0", "id": 4711, "result": {}})]),
    ];
    for (what, frames) in receipts {
        for frame in frames {
            client.line(&frame.to_string()).unwrap();
        }
        // Frames are taken in order: this answer says that the receipts were.
        assert_eq!(steps::pending(client, &session).unwrap(), pending_before, "{what}: pending");
        assert_eq!(log(&place), log_before, "{what}: the log");
    }
    assert_eq!(place.runs(), 0, "something ran without a decision");
    // And the request can still be decided.
    steps::allow(&place, client, &session, &turn).unwrap();
    assert_ne!(log(&place), log_before, "a decision, which this comparison has to see");
    assert_eq!(host.close().0.code(), Some(0));
    assert_eq!(place.runs(), 1);
}

//! Two hosts on one home: side by side, in each other's way, and one after the other.

use crate::client::{Client, PATIENCE};
use crate::place::Place;
use crate::processes;
use crate::steps;
use serde_json::json;
use std::io::Write as _;
use std::time::Instant;

/// Takes a command of a session of its own from the question to its end.
fn whole_turn(place: &Place, client: &mut Client, file: &str) -> String {
    let session = steps::start(place, client, "promptUnmatched").unwrap();
    let text = format!("echo {} >> {file}", place.id);
    let turn = steps::turn(client, &session, &text).unwrap();
    let asked = steps::asked(client, &turn, 0).unwrap();
    client.ok("approval/decide", steps::decision(&session, &asked, "allow_once")).unwrap();
    assert_eq!(steps::ended(client, &turn).unwrap(), "completed");
    session
}

#[test]
fn different_sessions_side_by_side() {
    let place = Place::new();
    let (mut first, mut second) = (place.host(), place.host());
    std::thread::scope(|scope| {
        scope.spawn(|| whole_turn(&place, &mut first.client, "first.txt"));
        scope.spawn(|| whole_turn(&place, &mut second.client, "second.txt"));
    });
    for file in ["first.txt", "second.txt"] {
        let text = std::fs::read_to_string(place.workspace().join(file)).unwrap();
        assert_eq!(text, format!("{}\n", place.id), "{file}");
    }
    assert_eq!(first.close().0.code(), Some(0));
    assert_eq!(second.close().0.code(), Some(0));
}

#[test]
fn the_same_session_is_taken_over_after_sigkill() {
    let place = Place::new();
    let (mut first, mut second) = (place.host(), place.host());
    let session = steps::start(&place, &mut first.client, "promptUnmatched").unwrap();
    let turn = steps::turn(&mut first.client, &session, &steps::command(&place)).unwrap();
    let asked = steps::asked(&first.client, &turn, 0).unwrap();

    let client = &mut second.client;
    let resume = |client: &mut Client| {
        let params = json!({"commandId": steps::command_id(), "sessionId": session});
        client.call("session/resume", params).unwrap()
    };
    for _ in 0..2 {
        let error = resume(client).unwrap_err();
        assert_eq!(error["code"], -32021, "{error}");
        assert_eq!(error["data"]["kind"], "sessionInUse", "{error}");
        assert_eq!(error["data"]["sessionId"], session.as_str(), "{error}");
    }
    // A host that may not write may read, and a session of its own it has all the same.
    assert_eq!(steps::pending(client, &session).unwrap(), std::slice::from_ref(&asked));
    whole_turn(&place, client, "other.txt");

    first.kill();
    let killed = Instant::now();
    let resumed = loop {
        match resume(client) {
            Ok(resumed) => break resumed,
            Err(error) => assert_eq!(error["code"], -32021, "{error}"),
        }
        assert!(killed.elapsed() < PATIENCE, "the lease of a killed host is not taken over");
        processes::pause();
    };
    let taken = killed.elapsed();
    let _ = writeln!(std::io::stderr(), "take-over after SIGKILL: {taken:.1?}");
    assert_eq!(resumed["session"]["activeTurnId"], turn.as_str());
    let pending = steps::pending(client, &session).unwrap();
    let old = asked["approvalId"].as_str().unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    assert_eq!(pending[0]["approvalId"], crate::aftermath::successor(old).as_str());
    steps::allow(&place, client, &session, &turn).unwrap();
    assert_eq!(place.runs(), 1);
    assert_eq!(second.close().0.code(), Some(0));
}

//! A session that cannot be read is left as it is; the others of its home go on.

use crate::common::{Home, Host, command_id};
use placet::log::{Append, Draft, Header, Log as _, SqliteLog};
use serde_json::{Value, json};

/// Appends a record to a session that no host holds, with a chain that is in order.
fn append(home: &Home, session: &str, kind: &str, format: u32, body: &[u8]) {
    let last = home.records(session).pop().unwrap().header;
    let (sequence, kind) = (last.sequence + 1, kind.to_owned());
    let header = Header { sequence, kind, format, marks: Vec::new(), ..last };
    let draft = Draft { header, body: body.to_vec() };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let log = SqliteLog::open(&home.path()).unwrap();
        let lease = log.lease(session).await.unwrap();
        let head = log.head(session).await.unwrap();
        let end = log.append(&lease, &head.version, vec![draft]).await;
        assert!(matches!(end, Append::Durable { .. }), "{end:?}");
        log.release(lease).await.unwrap();
    });
}

/// A session with something pending is spoiled; nothing in it is allowed any more.
fn check(words: &[&str], spoil: impl FnOnce(&Home, &str)) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let (bad, good) = (host.session(&home, "allowAll"), host.session(&home, "allowAll"));
    let mode = json!({"sessionId": bad, "commandId": command_id(), "mode": "promptUnmatched"});
    host.call("session/setApprovalMode", mode);
    let turn = host.turn(&bad, "touch bad");
    let ask = host.event("approval/requested", &turn);
    assert_eq!(host.close(), (0, String::new()));
    spoil(&home, &bad);
    let before: Vec<_> = stored(&home, &bad);

    let mut host = Host::start(&home);
    for _ in 0..2 {
        let resume = json!({"sessionId": bad, "commandId": command_id()});
        quarantined(&host.refused("session/resume", resume), words);
    }
    let input = json!([{"type": "text", "text": "touch bad"}]);
    let command = json!({"sessionId": bad, "commandId": command_id(), "input": input});
    let mode = json!({"sessionId": bad, "commandId": command_id(), "mode": "allowAll"});
    for (method, params) in [
        ("approval/decide", Host::decision(&ask, "allow_once")),
        ("turn/start", command),
        ("session/setApprovalMode", mode),
    ] {
        let error = host.refused(method, params);
        assert_eq!((&error["code"], &error["data"]["sessionId"]), (&json!(-32024), &json!(bad)));
    }
    let sessions = host.call("session/list", json!({}))["sessions"].clone();
    let listed: Vec<&Value> =
        sessions.as_array().unwrap().iter().map(|session| &session["sessionId"]).collect();
    assert!(listed.len() == 2 && listed.contains(&&json!(bad)), "{sessions}");
    assert!(listed.contains(&&json!(good)), "{sessions}");

    host.resume(&good);
    let turn = host.turn(&good, "touch good");
    assert_eq!(host.ended(&turn)["status"], "completed");
    let fresh = host.session(&home, "allowAll");
    let turn = host.turn(&fresh, "touch fresh");
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert_eq!(host.close(), (0, String::new()));

    let ran = |name: &str| home.workspace().join(name).exists();
    assert_eq!((ran("bad"), ran("good"), ran("fresh")), (false, true, true));
    assert!(stored(&home, &bad) == before, "the quarantined session was changed");
}

/// The error of a session that cannot be read: internal, in one sentence.
fn quarantined(error: &Value, words: &[&str]) {
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32603), &json!("internal")));
    assert_eq!(error["data"]["retryable"], false);
    let message = error["message"].as_str().unwrap();
    assert_eq!(message.lines().count(), 1, "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` in: {message}");
    }
}

/// Sequence, header, body and chain of a record.
type Row = (i64, Vec<u8>, Vec<u8>, Vec<u8>);

/// Everything that the log has of a session, as it lies there.
fn stored(home: &Home, session: &str) -> Vec<Row> {
    let sql = home.sql();
    let query = "SELECT sequence, header, body, chain FROM records WHERE session = ?1 ORDER BY 1";
    let mut statement = sql.prepare(query).unwrap();
    let rows = statement
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_session_whose_chain_fails() {
    check(&["record 1", "placet log verify"], |home, session| {
        // The seal of the session, raised behind the log's back.
        let statement = "UPDATE records SET body = \
                         CAST(replace(CAST(body AS TEXT), 'allowAll', 'onRequest') AS BLOB) \
                         WHERE session = ?1 AND sequence = 1";
        assert_eq!(home.sql().execute(statement, [session]).unwrap(), 1);
    });
}

#[test]
fn a_session_that_lost_its_last_record() {
    check(&["placet log verify"], |home, session| {
        let statement = "DELETE FROM records WHERE session = ?1 AND sequence = \
                         (SELECT max(sequence) FROM records WHERE session = ?1)";
        assert_eq!(home.sql().execute(statement, [session]).unwrap(), 1);
    });
}

#[test]
fn a_record_of_a_later_format() {
    check(&["turnCompleted", "format 99", "up to"], |home, session| {
        append(home, session, "turnCompleted", 99, b"what a later placet may write");
    });
}

#[test]
fn a_record_of_a_kind_that_is_not_known() {
    check(&["turnPostponed", "cannot be read"], |home, session| {
        append(home, session, "turnPostponed", 1, br#"{"record":"turnPostponed","turn":"x"}"#);
    });
}

#[test]
fn a_record_whose_body_is_unreadable() {
    check(&["modeChanged", "cannot be read"], |home, session| {
        append(home, session, "modeChanged", 1, b"\xff\xfe\0 no JSON");
    });
}

#[test]
fn a_record_under_another_record_s_name() {
    check(&["turnStarted", "modeChanged"], |home, session| {
        let body =
            json!({"record": "modeChanged", "mode": "allowAll", "command": "c", "client": "c"});
        append(home, session, "turnStarted", 1, body.to_string().as_bytes());
    });
}

#[test]
fn a_record_that_does_not_fit_the_ones_before_it() {
    check(&["does not fit"], |home, session| {
        let body = json!({"record": "turnStarted", "turn": "t", "command": "c", "seal": null});
        append(home, session, "turnStarted", 1, body.to_string().as_bytes());
    });
}

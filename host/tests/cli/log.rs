//! `placet log`: what is shown, and that nothing can be changed behind its back.

use crate::common::{Home, Host};
use crate::{ok, refused};
use std::fs;

/// A home with a session that ran one command and rejected another, and an empty one beside it.
fn home() -> (Home, String, String) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let other = host.session(&home, "denyUnmatched");
    let turn = host.turn(&session, "touch asked");
    let ask = host.event("approval/requested", &turn);
    host.call("approval/decide", Host::decision(&ask, "allow_once"));
    host.ended(&turn);
    assert_eq!(host.close(), (0, String::new()));
    (home, session, other)
}

/// The second word of a line, a time.
fn rfc3339(line: &str) -> String {
    line.split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn a_session_is_listed_shown_and_verified() {
    let (home, session, other) = home();
    let records = home.records(&session);
    let count = records.len();

    let list = home.run(&["log", "show"]);
    let line = |id: &str| ok(&list).lines().find(|line| line.starts_with(id)).unwrap().to_owned();
    assert!(line(&session).contains(&format!("{count} records   0 pending")), "{}", list.out);
    let time = rfc3339(&line(&session));
    assert!(time.starts_with("20") && time.ends_with('Z') && time.len() == 24, "{time}");
    assert!(line(&session).ends_with(home.workspace().canonicalize().unwrap().to_str().unwrap()));
    assert!(line(&other).contains("pending"), "{}", list.out);
    assert!(list.out.ends_with("2 sessions\n"), "{}", list.out);

    let shown = home.run(&["log", "show", &session]);
    let times: Vec<String> = ok(&shown).lines().map(rfc3339).collect();
    assert!(times.is_sorted() && times.last() == Some(&time), "{times:?} end at {time}");
    let kinds: Vec<&str> =
        ok(&shown).lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(kinds, records.iter().map(|r| r.header.kind.as_str()).collect::<Vec<_>>());
    for kind in ["sessionStarted", "actionProposed", "approvalResolved", "executionStarted"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    assert!(shown.out.contains("opens ") && shown.out.contains("closes "), "{}", shown.out);
    assert!(!shown.out.contains("touch asked"), "no bodies unless they are asked for");

    let bodies = home.run(&["log", "show", &session, "--bodies"]);
    assert_eq!(ok(&bodies).lines().count(), 2 * count);
    assert!(bodies.out.contains("touch asked"), "{}", bodies.out);

    let verified = home.run(&["log", "verify", &session]);
    assert!(ok(&verified).starts_with(&format!("{session}: intact, {count} records, 0 erased")));
    let all = home.run(&["log", "verify"]);
    assert!(ok(&all).contains(&other) && all.out.ends_with("2 sessions, all intact\n"));
}

#[test]
fn a_log_in_use_can_be_looked_at() {
    let (home, session, _) = home();
    let mut host = Host::start(&home);
    host.resume(&session);
    let turn = host.turn(&session, "touch more");
    host.event("approval/requested", &turn);
    ok(&home.run(&["log", "verify", &session]));
    assert!(ok(&home.run(&["log", "show"])).contains("1 pending"));
    assert_eq!(host.close().0, 0);
}

#[test]
fn a_session_that_is_not_there_is_a_usage_error() {
    let (home, session, _) = home();
    for verb in ["show", "verify", "export", "delete"] {
        for nobody in ["nobody", &session[1..], &session.to_uppercase(), "", "../placet.db"] {
            refused(&home.run(&["log", verb, nobody]), 2, &["no session", "placet log show"]);
        }
    }
}

/// Changes the bytes in one column of one record.
fn flip(home: &Home, column: &str, session: &str, sequence: i64) {
    let sql = home.sql();
    let place = (session, sequence);
    let query = format!("SELECT {column} FROM records WHERE session = ?1 AND sequence = ?2");
    let mut bytes: Vec<u8> = sql.query_row(&query, place, |row| row.get(0)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let update = format!("UPDATE records SET {column} = ?1 WHERE session = ?2 AND sequence = ?3");
    assert_eq!(sql.execute(&update, (bytes, session, sequence)).unwrap(), 1);
}

/// Runs one statement about a record; it changes `rows` rows.
fn execute(home: &Home, statement: &str, session: &str, sequence: i64, rows: usize) {
    let sql = home.sql();
    sql.pragma_update(None, "foreign_keys", false).unwrap();
    assert_eq!(sql.execute(statement, (session, sequence)).unwrap(), rows, "{statement}");
}

#[test]
fn whatever_is_changed_is_found_and_its_record_named() {
    let (intact, session, other) = home();
    let head = intact.records(&session).len() as i64;
    let check = |what: &str, named: i64, change: &dyn Fn(&Home)| {
        println!("{what}");
        let home = intact.copy();
        change(&home);
        let before = fs::read(home.database()).unwrap();
        let named = format!("record {named}:");
        refused(&home.run(&["log", "verify", &session]), 3, &[&session, &named]);
        ok(&home.run(&["log", "verify", &other]));
        let all = home.run(&["log", "verify"]);
        assert_ne!(all.code, 0, "{what}: {}", all.out);
        assert!(all.err.contains(&named), "{what}: {}", all.err);
        assert!(all.out.contains(&other), "{what}: the other is intact: {}", all.out);
        assert!(fs::read(home.database()).unwrap() == before, "{what}: the log was changed");
    };
    for sequence in [1, 3, head] {
        for column in ["header", "salt", "body_hash", "chain", "body"] {
            check(&format!("{column} of {sequence}"), sequence, &|home| {
                flip(home, column, &session, sequence);
            });
        }
    }
    let one = "WHERE session = ?1 AND sequence = ?2";
    let on_record = |statement: &'static str, sequence: i64| {
        let (statement, session) = (statement.replace("$ONE", one), session.clone());
        move |home: &Home| execute(home, &statement, &session, sequence, 1)
    };
    check("the first is gone", 1, &on_record("DELETE FROM records $ONE", 1));
    check("one is gone", 4, &on_record("DELETE FROM records $ONE", 4));
    check("the last is gone", head, &on_record("DELETE FROM records $ONE", head));
    check("no body", 4, &on_record("UPDATE records SET body = NULL $ONE", 4));
    check("no salt", 4, &on_record("UPDATE records SET salt = NULL $ONE", 4));
    check("an empty body", 4, &on_record("UPDATE records SET body = x'' $ONE", 4));
    check("moved to the end", 2, &|home: &Home| {
        let statement = format!("UPDATE records SET sequence = sequence + {head} {one}");
        execute(home, &statement, &session, 2, 1);
    });
    check("one more", head + 1, &|home: &Home| {
        let statement = "INSERT INTO records SELECT session, sequence + 1, header, salt, \
                         body_hash, chain, body FROM records WHERE session = ?1 AND sequence = ?2";
        execute(home, statement, &session, head, 1);
    });
    check("the last forgotten with its head", head - 1, &|home: &Home| {
        execute(home, &format!("DELETE FROM records {one}"), &session, head, 1);
        let statement = "UPDATE sessions SET head_sequence = ?2 - 1 WHERE session = ?1";
        execute(home, statement, &session, head, 1);
    });
    check("another head", head, &|home: &Home| {
        let statement =
            "UPDATE sessions SET head_chain = zeroblob(32) WHERE session = ?1 AND ?2 > 0";
        execute(home, statement, &session, head, 1);
    });
}

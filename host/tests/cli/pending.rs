//! `placet pending` and `placet decide`: what waits, and deciding it from another process.

use crate::common::{CHOICE, Ended, Home, Host, Terminal, components, is_method, program};
use crate::refused;
use serde_json::Value;
use std::fs;

/// A host with a session in which this command waits; the request.
fn asked(home: &Home, command: &str) -> (Host, String, Value) {
    let mut host = Host::start(home);
    let session = host.session(home, "promptUnmatched");
    let turn = host.turn(&session, command);
    let ask = host.event("approval/requested", &turn);
    (host, turn, ask)
}

fn id(ask: &Value) -> &str {
    ask["approvalId"].as_str().unwrap()
}

fn decide(home: &Home, ask: &Value, rest: &[&str]) -> Ended {
    home.run(&[&["decide", id(ask)], rest].concat())
}

/// Ended with this code and these words on stderr.
fn check(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, code, "{}{}", ended.out, ended.err);
    for word in words {
        assert!(ended.err.contains(word), "`{word}` in: {}", ended.err);
    }
}

/// The approvals that `placet pending --json` lists.
fn listed(home: &Home) -> Vec<Value> {
    let ended = home.run(&["pending", "--json"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let mut listed: Value = serde_json::from_str(&ended.out).unwrap();
    serde_json::from_value(listed["approvals"].take()).unwrap()
}

#[test]
fn where_nothing_ever_was_nothing_is_pending() {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    let ended = home.run_on(&nowhere, &["pending"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "nothing is pending\n"));
    assert!(ended.err.contains("there is no log in"), "{}", ended.err);
    let ended = home.run_on(&nowhere, &["pending", "--json"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "{\"approvals\":[]}\n"));
    refused(&home.run_on(&nowhere, &["decide", "x", "y"]), 2, &["nothing is pending"]);
    assert!(!nowhere.exists(), "no home was made");
}

#[test]
fn what_waits_is_listed_over_all_sessions_with_who_holds_it() {
    let home = Home::new();
    let (mut left, _, orphan) = asked(&home, "touch of_nobody");
    assert_eq!(left.close(), (0, String::new()));
    let (mut one, turn, first) = asked(&home, "touch first");
    let (mut two, _, second) = asked(&home, "touch s\u{202e}econd");
    let all = listed(&home);
    let entry = |ask: &Value| {
        let entry = all.iter().find(|entry| entry["approvalId"] == ask["approvalId"]);
        entry.unwrap_or_else(|| panic!("{ask} in {all:?}"))
    };
    assert_eq!(all.len(), 3);
    for ask in [&first, &second, &orphan] {
        assert_eq!(entry(ask)["request"], *ask, "the request is the one that clients got");
        assert_eq!(entry(ask)["sessionId"], ask["sessionId"]);
        let since = entry(ask)["since"].as_str().unwrap();
        assert!(since.starts_with("20") && since.ends_with('Z') && since.len() == 24, "{since}");
    }
    assert_eq!(entry(&orphan)["holder"], Value::Null);
    let (host_one, host_two) = (&entry(&first)["holder"], &entry(&second)["holder"]);
    assert!(host_one["host"].is_string() && host_one["host"] != host_two["host"], "{all:?}");
    assert_eq!(host_one["unreachable"], Value::Null);

    let text = home.run(&["pending"]).out;
    assert!(text.ends_with("3 approvals are pending\n"), "{text}");
    assert!(text.contains(&format!("placet decide {} CHOICE", id(&first))), "{text}");
    let session = orphan["sessionId"].as_str().unwrap();
    assert!(text.contains(&format!("held by: nobody; `placet run --session {session}`")), "{text}");
    assert!(text.contains("| touch s\\u{202e}econd") && !text.contains('\u{202e}'), "{text}");
    assert!(text.contains("choice allow_once:  Allow once"), "{text}");

    one.call("approval/decide", Host::decision(&first, "abort"));
    one.ended(&turn);
    assert_eq!(listed(&home).len(), 2);
    for host in [&mut one, &mut two] {
        assert_eq!(host.close(), (0, String::new()));
    }
    assert!(listed(&home).iter().all(|entry| entry["holder"].is_null()));
}

#[test]
fn one_is_decided_here_while_the_holders_client_looks_on() {
    let home = Home::new();
    let (mut host, turn, ask) = asked(&home, "touch made");
    let ended = decide(&home, &ask, &["allow_session"]);
    check(&ended, 0, &[]);
    assert!(ended.out.starts_with("decided: approvedForSession (allow)\n"), "{}", ended.out);
    assert!(ended.out.contains("(session): exactly `touch made`"), "{}", ended.out);
    let resolved = host.event("approval/resolved", &turn);
    assert_eq!(
        (&resolved["decision"], &resolved["resolvedBy"]),
        (&"approvedForSession".into(), &"user".into())
    );
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert!(home.workspace().join("made").exists());

    let late = host.refused("approval/decide", Host::decision(&ask, "abort"));
    assert_eq!(late["data"]["kind"], "approvalAlreadyResolved");
    check(&decide(&home, &ask, &["abort"]), 14, &["approvedForSession by user", "placet log show"]);
    assert_eq!(host.close(), (0, String::new()));
    check(&decide(&home, &ask, &["abort"]), 14, &["approvedForSession by user"]);
}

#[test]
fn a_rejection_takes_feedback_and_nothing_runs() {
    let home = Home::new();
    let (mut host, turn, ask) = asked(&home, "touch made");
    check(&decide(&home, &ask, &["allow_once", "--feedback", "no"]), 2, &["feedback"]);
    let ended = decide(&home, &ask, &["abort", "--feedback", "not here"]);
    check(&ended, 0, &[]);
    assert_eq!(ended.out, "decided: abort (deny)\n");
    assert_eq!(host.ended(&turn)["status"], "rejected");
    assert!(!home.workspace().join("made").exists());
}

#[test]
fn what_is_not_offered_is_not_decided() {
    let home = Home::new();
    let (_host, _, ask) = asked(&home, "touch made");
    let shown = decide(&home, &ask, &[]);
    check(&shown, 2, &["name the choice"]);
    for line in
        ["  | touch made", "  choice allow_session:  Allow for this session  (scope: session)"]
    {
        assert!(shown.out.lines().any(|shown| shown == line), "{}", shown.out);
    }
    for choice in ["allow_everything", "1", "", "ALLOW_ONCE"] {
        let ended = decide(&home, &ask, &[choice]);
        check(&ended, 2, &["menu"]);
        assert!(ended.out.contains("choice allow_once:"), "{}", ended.out);
    }
    refused(
        &home.run(&["decide", "nobody", "abort"]),
        2,
        &["no approval nobody", "placet pending"],
    );
    assert_eq!(home.run(&["decide", id(&ask), "--stage", "1"]).code, 2);
    assert_eq!(listed(&home).len(), 1);
}

#[test]
fn of_several_stages_the_one_that_is_decided_is_named() {
    let home = Home::new();
    let (mut host, turn, ask) = asked(&home, "touch a && touch b");
    check(&decide(&home, &ask, &["allow_once"]), 2, &["2 stages wait", "--stage 1"]);
    check(&decide(&home, &ask, &["allow_once", "--stage", "2"]), 2, &["that is stage 1"]);
    let ended = decide(&home, &ask, &["allow_once", "--stage", "1"]);
    check(&ended, 0, &[]);
    assert!(
        ended.out.contains("stage 2 of 2: \"touch\" \"b\" [unresolved] <- to decide"),
        "{}",
        ended.out
    );
    host.wait("the update", 0, |frame| {
        is_method(frame, "approval/updated") && frame["params"]["approvalId"] == ask["approvalId"]
    });
    check(&decide(&home, &ask, &["allow_once", "--stage", "1"]), 2, &["that is stage 2"]);
    check(&decide(&home, &ask, &["allow_once"]), 0, &[]);
    assert_eq!(host.ended(&turn)["status"], "completed");
}

#[test]
fn where_nobody_can_be_reached_the_way_out_is_said() {
    let home = Home::new();
    fs::write(home.path().join("placet.toml"), "[serve]\nsocket = false\n").unwrap();
    let (mut host, _, ask) = asked(&home, "touch made");
    check(&decide(&home, &ask, &["allow_once"]), 12, &["no socket", "socket"]);
    let text = home.run(&["pending"]).out;
    assert!(text.contains("which cannot be reached: it has no socket"), "{text}");
    assert_eq!(host.close(), (0, String::new()));
    let session = ask["sessionId"].as_str().unwrap();
    let way_out = format!("placet run --session {session}");
    check(&decide(&home, &ask, &["allow_once"]), 12, &["no host holds", &way_out]);
    assert_eq!(listed(&home).len(), 1, "it still waits");
}

#[test]
fn a_command_that_placet_runs_decides_nothing_and_reaches_no_host() {
    let home = Home::new();
    let (_waiting, _, ask) = asked(&home, "touch made");
    // Another home runs the command, for which the files of this one are ordinary.
    let other = Home::new();
    let mut host = Host::start(&other);
    let session = host.session(&other, "allowAll");
    let placet = format!(
        "PLACET_HOME={} PLACET_COMPONENTS={} {}",
        home.path().display(),
        components().canonicalize().unwrap().display(),
        program().display()
    );
    let mut inside = |command: String| {
        let turn = host.turn(&session, &command);
        let item = host.ended(&turn);
        (item["exitCode"].as_i64().unwrap(), item["visibleOutput"].as_str().unwrap().to_owned())
    };
    let (code, text) = inside(format!("{placet} decide {} allow_once 2>&1", id(&ask)));
    assert!(code == 10 && text.contains("do it from outside"), "{text}");
    let pending = ask["sessionId"].as_str().unwrap();
    let (code, text) = inside(format!("{placet} run --session {pending} 2>&1"));
    assert!(code == 10 && text.contains("do it from outside"), "{text}");
    // The list is read from the log; the host itself refuses the peer, and one whose parent is gone too.
    for command in [
        format!("{placet} pending"),
        format!("({placet} pending >out &); until grep pending out; do sleep 0.01; done; cat out"),
    ] {
        let (_, text) = inside(command);
        assert!(text.contains("cannot be reached: a command that placet runs"), "{text}");
    }
    assert_eq!(listed(&home).len(), 1, "it still waits");
}

#[test]
fn a_question_at_a_terminal_is_decided_elsewhere() {
    let home = Home::new();
    let mut terminal = Terminal::open(&home, &["run", "touch a && touch b && ls"]);
    terminal.shows(CHOICE);
    let ask = listed(&home).remove(0)["request"].take();
    check(&decide(&home, &ask, &["allow_once", "--stage", "1"]), 0, &[]);
    let shown = terminal.shows(CHOICE);
    assert!(shown.contains("somebody else decided a stage"), "{shown}");
    assert!(shown.contains("stage 2 of 3: \"touch\" \"b\" [unresolved] <- to decide"), "{shown}");
    check(&decide(&home, &ask, &["allow_once"]), 0, &[]);
    terminal.shows("decided elsewhere meanwhile: approved by user");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("a\nb\n"), "{shown}");
}

//! `placet log export`: what is written can be checked without any code of Placet.
//!
//! The program that checks is the one in docs/log-export.md, taken out of that page.

use crate::common::{Ended, Home, Host};
use crate::refused;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const SECRET: &str = "hunter2-in-a-turn";

/// A home with a session of one allowed and one rejected command that name a secret.
fn home() -> (Home, String) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    for (name, choice) in [("a", "allow_once"), ("b", "abort")] {
        let turn = host.turn(&session, &format!("touch {name}-{SECRET} && echo say-{SECRET}"));
        let ask = host.event("approval/requested", &turn);
        host.call("approval/decide", Host::decision(&ask, choice));
        host.ended(&turn);
    }
    assert_eq!(host.close(), (0, String::new()));
    (home, session)
}

fn export(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let ended = home.run(&[&["log", "export"], arguments].concat());
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the program of docs/log-export.md on these lines.
fn check(lines: &[Value]) -> Ended {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/log-export.md");
    let page = std::fs::read_to_string(page).unwrap();
    let program = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    let folder = tempfile::tempdir().unwrap();
    let (script, export) = (folder.path().join("check.py"), folder.path().join("e.ndjson"));
    std::fs::write(&script, program.expect("the page has a program")).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&export, text).unwrap();
    let output = Command::new("python3").arg(script).arg(export).output().expect("python3");
    Ended {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn an_export_is_checked_without_any_code_of_placet() {
    let (home, session) = home();
    let lines = export(&home, &[&session]);
    let stored = home.records(&session);
    assert_eq!(lines.len(), stored.len() + 1);
    assert_eq!((&lines[0]["session"], &lines[0]["redacted"]), (&json!(session), &json!(false)));
    for (line, record) in lines[1..].iter().zip(&stored) {
        assert_eq!(line["header"].as_str().unwrap().as_bytes(), record.header_bytes);
        assert_eq!(line["body"].as_str().unwrap().as_bytes(), record.body.as_ref().unwrap());
    }
    let checked = check(&lines);
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));
    let verified = home.run(&["log", "verify", &session]);
    assert_eq!(verified.out, format!("{session}: {}", checked.out), "both say the same");
}

#[test]
fn a_redacted_export_is_checked_too_and_holds_no_body() {
    let (home, session) = home();
    let whole = export(&home, &[&session]);
    assert!(whole.iter().any(|line| line.to_string().contains(SECRET)));
    let lines = export(&home, &[&session, "--redact"]);
    let text: String = lines.iter().map(Value::to_string).collect();
    // Neither a turn's text nor what was made of it; a folder's name is no secret here.
    for word in [SECRET, "touch", "allow_once", "rejected", "visibleOutput"] {
        assert!(!text.contains(word), "`{word}` is still there");
    }
    assert!(lines[1..].iter().all(|line| line["body"].is_null() && line["salt"].is_null()));
    let checked = check(&lines);
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));
    let erased = format!("{0} records, {0} erased", lines.len() - 1);
    assert!(checked.out.contains(&erased), "{}", checked.out);
    assert_eq!(lines[0]["chain"], whole[0]["chain"], "the chain is the same");
}

#[test]
fn whatever_is_changed_in_an_export_is_found() {
    let (home, session) = home();
    let lines = export(&home, &[&session]);
    let other = |text: &Value| {
        let text = text.as_str().unwrap();
        let last = if text.ends_with('0') { "1" } else { "0" };
        json!(format!("{}{last}", &text[..text.len() - 1]))
    };
    let refused = |what: &str, lines: &[Value], word: &str| {
        let checked = check(lines);
        assert_ne!(checked.code, 0, "{what} was not found");
        assert!(checked.err.contains(word), "{what}: {}", checked.err);
    };
    for member in ["bodyHash", "salt", "body", "chain"] {
        let mut lines = lines.clone();
        lines[3][member] = other(&lines[3][member]);
        refused(member, &lines, "record 3:");
    }
    let mut changed = lines.clone();
    let header = lines[3]["header"].as_str().unwrap().replacen("\"timeMs\":", "\"timeMs\":1", 1);
    changed[3]["header"] = json!(header);
    refused("header", &changed, "record 3:");
    let mut changed = lines.clone();
    changed.remove(3);
    changed[0]["records"] = json!(changed.len() - 1);
    refused("a record left out", &changed, "record 3:");
    let mut changed = lines.clone();
    changed.swap(3, 4);
    refused("two records in another order", &changed, "record 3:");
    refused("the last left out", &lines[..lines.len() - 1], "missing");
    let mut changed = lines.clone();
    changed[0]["session"] = json!("another");
    refused("another session", &changed, "record 1:");
}

#[test]
fn a_session_in_use_is_exported_and_a_broken_one_is_told_of() {
    let (home, session) = home();
    refused(&home.run(&["log", "export", "nobody"]), 2, &["no session", "placet log show"]);
    let mut host = Host::start(&home);
    host.resume(&session);
    assert_eq!(check(&export(&home, &[&session])).code, 0);
    assert_eq!(host.close().0, 0);
    let statement = "UPDATE records SET body = x'fffe' WHERE session = ?1 AND sequence = 2";
    assert_eq!(home.sql().execute(statement, [&session]).unwrap(), 1);
    let ended = home.run(&["log", "export", &session]);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("record 2:"), "{}", ended.err);
    let lines: Vec<Value> =
        ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), home.records(&session).len() + 1, "it is written all the same");
    assert_eq!(lines[2]["bodyHex"], "fffe");
}

//! `placet log delete`: everything of one session goes, and nothing of another.

use crate::common::{Home, Host, Terminal, command_id, program};
use crate::refused;
use serde_json::json;
use std::fs;

const SECRET: &str = "hunter2-in-a-turn";

/// A session without a workspace that named the secret and has a question open.
fn pending(host: &mut Host) -> String {
    let params = json!({"commandId": command_id(), "approvalMode": "promptUnmatched"});
    let started = host.call("session/start", params);
    let session = started["session"]["sessionId"].as_str().unwrap().to_owned();
    let turn = host.turn(&session, &format!("touch {SECRET}"));
    host.event("approval/requested", &turn);
    session
}

/// Tables of the log that still name a session.
fn tables_with(home: &Home, session: &str) -> Vec<&'static str> {
    let sql = home.sql();
    let names = ["sessions", "records", "pending", "commands", "snapshots", "leases"];
    let count = |table: &&str| {
        let query = format!("SELECT count(*) FROM {table} WHERE session = ?1");
        sql.query_row(&query, [session], |row| row.get::<_, i64>(0)).unwrap() > 0
    };
    names.into_iter().filter(count).collect()
}

/// The log's files that hold these bytes.
fn files_with(home: &Home, text: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let names = ["placet.db", "placet.db-wal", "placet.db-shm", "placet.db-journal"];
    let found = names
        .into_iter()
        .filter(|name| fs::read(home.path().join(name)).is_ok_and(|bytes| holds(&bytes)));
    found.map(str::to_owned).collect()
}

#[test]
fn a_session_is_gone_with_everything_of_it() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let kept = host.session(&home, "allowAll");
    let session = pending(&mut host);
    assert_eq!(host.close(), (0, String::new()));
    let scratch = home.path().join("scratch").join(&session);
    assert!(scratch.is_dir());
    assert!(!files_with(&home, SECRET).is_empty());
    assert_eq!(tables_with(&home, &session).len(), 5);
    let count = home.records(&session).len();

    let ended = home.run(&["log", "delete", &session, "--yes"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let said = format!("{session}: deleted, {count} records, 1 pending approvals\n");
    assert!(ended.out.starts_with(&said), "{}", ended.out);
    assert!(ended.out.contains("working folder"), "{}", ended.out);
    assert_eq!(tables_with(&home, &session), Vec::<&str>::new());
    assert_eq!(files_with(&home, SECRET), Vec::<String>::new());
    assert!(!scratch.exists());

    refused(&home.run(&["log", "delete", &session, "--yes"]), 2, &["no session"]);
    assert_eq!(home.run(&["log", "verify", &kept]).code, 0);
    let mut host = Host::start(&home);
    let resume = json!({"sessionId": session, "commandId": command_id()});
    assert_eq!(host.refused("session/resume", resume)["data"]["kind"], "sessionNotFound");
    host.resume(&kept);
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn the_bytes_are_gone_while_another_host_has_the_log_open() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = pending(&mut host);
    assert_eq!(host.close(), (0, String::new()));
    let mut host = Host::start(&home);
    let other = host.session(&home, "allowAll");
    let ended = home.run(&["log", "delete", &session, "--yes"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert_eq!(files_with(&home, SECRET), Vec::<String>::new());
    let turn = host.turn(&other, "true");
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_session_that_a_host_holds_stays() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = pending(&mut host);
    for arguments in [["log", "delete", &session, "--yes"].as_slice(), &["log", "delete", &session]]
    {
        refused(&home.run(arguments), 4, &[&session, "in use by host", "running"]);
    }
    assert_eq!(host.close(), (0, String::new()));
    assert_eq!(tables_with(&home, &session).len(), 5);
}

#[test]
fn without_a_terminal_nothing_is_deleted_unless_it_is_said() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = pending(&mut host);
    assert_eq!(host.close(), (0, String::new()));
    let before = fs::read(home.database()).unwrap();
    refused(&home.run(&["log", "delete", &session]), 2, &["no terminal", "--yes"]);
    refused(&home.run(&["log", "delete", "nobody", "--yes"]), 2, &["no session"]);
    assert!(fs::read(home.database()).unwrap() == before, "the log was changed");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = pending(&mut host);
    assert_eq!(host.close(), (0, String::new()));
    let ask = || {
        let mut terminal = Terminal::open(&home, &["log", "delete", &session]);
        let asked = terminal.shows("y/n: ");
        assert!(asked.contains(&session) && asked.contains("1 pending"), "{asked}");
        terminal
    };
    let mut terminal = ask();
    terminal.types("\n");
    terminal.shows("y/n: ");
    terminal.types("n\n");
    let (code, shown) = terminal.ends();
    assert!(code == 1 && shown.contains("was not deleted"), "{code}: {shown}");
    assert_eq!(tables_with(&home, &session).len(), 5);
    let mut terminal = ask();
    terminal.types("y\n");
    let (code, shown) = terminal.ends();
    assert!(code == 0 && shown.contains("deleted"), "{code}: {shown}");
    assert_eq!(tables_with(&home, &session), Vec::<&str>::new());
}

#[test]
fn a_command_that_placet_runs_takes_nothing_out_of_the_log() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let other = pending(&mut host);
    assert_eq!(host.close(), (0, String::new()));
    let count = home.records(&other).len();
    let mut host = Host::start(&home);
    let session = host.session(&home, "allowAll");
    let placet = program().display();
    for verb in [format!("delete {other} --yes"), format!("redact {other} --pattern {SECRET}")] {
        let turn = host.turn(&session, &format!("'{placet}' log {verb} 2>&1; echo code $?"));
        let item = host.ended(&turn);
        let output = item["visibleOutput"].as_str().unwrap();
        assert!(output.contains("refused") && output.ends_with("code 10\n"), "{verb}: {item}");
    }
    assert_eq!(host.close(), (0, String::new()));
    assert_eq!(home.records(&other).len(), count);
    assert_eq!(home.run(&["log", "delete", &other, "--yes"]).code, 0, "from outside it works");
}

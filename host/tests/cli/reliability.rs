//! The tables of docs/reliability.md, and what of the field reports no other case shows.

use crate::common::{Home, Host, command_id, is_method};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The names of all cases.
fn cases() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let lists =
        ["tests/cases.txt", "tests/clients/python/cases.txt", "tests/clients/rust/cases.txt"];
    let read = |list: &str| fs::read_to_string(root.join(list)).unwrap();
    lists
        .iter()
        .flat_map(|list| read(list).lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The rows of the table whose first line begins like this: their cells.
fn rows(header: &str) -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let document = fs::read_to_string(root.join("docs/reliability.md")).unwrap();
    let table = document.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows = table.take_while(|line| line.starts_with("| "));
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|c| c.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "no table begins with {header}");
    rows
}

/// The last cell of a row names cases, and none that is invented; how many.
fn named(row: &[String], cases: &BTreeSet<String>) -> usize {
    let named: Vec<&str> = row.last().unwrap().split('`').skip(1).step_by(2).collect();
    for case in &named {
        assert!(cases.contains(*case), "{case} is no case: {row:?}");
    }
    named.len()
}

#[test]
fn every_report_of_the_two_kinds_has_a_row() {
    let cases = cases();
    let rows = rows("| report | ");
    let ids: Vec<String> = rows.iter().map(|row| row[0].clone()).collect();
    let lifecycle = (1..=24).map(|number| format!("LI-{number:02}"));
    let headless = (1..=8).map(|number| format!("HE-{number:02}"));
    assert_eq!(ids, lifecycle.chain(headless).collect::<Vec<_>>());
    for row in &rows {
        let not_yet = row[1].starts_with("not yet");
        assert!(not_yet || named(row, &cases) > 0, "neither a case nor `not yet`: {row:?}");
    }
}

#[test]
fn every_cell_of_the_other_tables_has_its_case() {
    let cases = cases();
    for (header, count) in [("| a protected write, and | ", 8), ("| what is wrong | ", 6)] {
        let rows = rows(header);
        assert!(rows.len() >= count, "{} rows under {header}", rows.len());
        for row in &rows {
            assert!(named(row, &cases) > 0, "no case: {row:?}");
        }
    }
}

/// LI-13.
#[test]
fn an_interrupt_reaches_what_runs_after_its_session_was_resumed_again() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "allowAll");
    let turn = host.turn(&session, "echo begun && sleep 600");
    host.wait("output", 0, |frame| is_method(frame, "item/delta"));
    let resumed = host.resume(&session);
    assert_eq!(resumed["session"]["activeTurnId"], turn.as_str());
    let interrupt = json!({"sessionId": session, "commandId": command_id(), "turnId": turn});
    host.call("turn/interrupt", interrupt);
    assert_eq!(host.ended(&turn)["status"], "cancelled");
    assert_eq!(host.close(), (0, String::new()));
}

/// LI-05.
#[test]
fn what_is_asked_again_comes_behind_the_answer_to_the_resume() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "touch made");
    host.event("approval/requested", &turn);
    host.signal(rustix::process::Signal::KILL);
    host.exit();
    let mut host = Host::start(&home);
    let resume =
        host.send("session/resume", json!({"sessionId": session, "commandId": command_id()}));
    host.wait("the request", 0, |frame| is_method(frame, "approval/request"));
    let place =
        |wanted: &dyn Fn(&serde_json::Value) -> bool| host.frames.iter().position(wanted).unwrap();
    let answer = place(&|frame| frame.get("method").is_none() && frame["id"] == resume);
    assert!(answer < place(&|frame| is_method(frame, "approval/request")), "{host}");
    assert_eq!(host.close(), (0, String::new()));
}

/// HE-02: standard input is open, and nobody will ever write to it.
#[test]
fn an_open_input_that_is_no_terminal_is_not_waited_for() {
    let home = Home::new();
    let mut command = home.command(&["run", "touch made"]);
    command.current_dir(home.workspace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = child.stdin.take();
    let until = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it waits for its input");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    drop(input);
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((status.code(), out.as_str()), (Some(10), ""), "{err}");
    assert!(err.contains("--mode promptUnmatched") && err.contains("no terminal"), "{err}");
    assert!(!home.workspace().join("made").exists());
}

/// HE-03: what is printed is the command's own output and nothing else.
#[test]
fn without_a_terminal_only_the_command_prints() {
    let home = Home::new();
    let run = |text: &str| {
        let mut command = home.command(&["run", text]);
        let output = command.current_dir(home.workspace()).stdin(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run("echo gone > /dev/null && echo '{\"a\":1}'"), (0, "{\"a\":1}\n".to_owned()));
    assert_eq!(run("echo gone > made"), (10, String::new()));
}

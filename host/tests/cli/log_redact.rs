//! `placet log redact`: the bytes are gone, the chain holds, and the session goes on.

use crate::common::{Ended, Home, Host, command_id};
use crate::refused;
use placet::log::{Append, Draft, Log as _, SqliteLog, Stored};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

const SECRET: &str = "hunter2-\"quoted\"";

/// A session, and what was decided in it.
struct Scene {
    home: Home,
    session: String,
    /// The decision that allowed the command with the secret, and its ack.
    decision: Value,
    ack: Value,
    /// The approval that is open.
    open: String,
}

/// One turn with the secret in its command and its output, one that was queued
/// with it, and one that waits for a person and knows nothing of it.
fn scene() -> Scene {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, &format!("touch one && echo '{SECRET}'"));
    let queued = host.turn(&session, &format!("echo '{SECRET}'"));
    let ask = host.event("approval/requested", &turn);
    let decision = Host::decision(&ask, "allow_once");
    let ack = host.call("approval/decide", decision.clone());
    let item = host.ended(&turn);
    assert!(item["visibleOutput"].as_str().unwrap().contains(SECRET), "{item}");
    assert_eq!(host.ended(&queued)["status"], "completed");
    let turn = host.turn(&session, "touch two");
    let open = host.event("approval/requested", &turn)["approvalId"].as_str().unwrap().to_owned();
    assert_eq!(host.close(), (0, String::new()));
    Scene { home, session, decision, ack, open }
}

/// The log's files that hold the secret, as it is or as JSON quotes it once or twice.
fn holds_secret(home: &Home) -> Vec<String> {
    let once = json!(SECRET).to_string();
    let forms = ["hunter2".to_owned(), SECRET.to_owned(), once.trim_matches('"').to_owned()];
    let holds = |bytes: &[u8], form: &str| bytes.windows(form.len()).any(|p| p == form.as_bytes());
    let names = ["placet.db", "placet.db-wal", "placet.db-shm", "placet.db-journal"];
    let found = names.into_iter().filter(|name| {
        let bytes = fs::read(home.path().join(name)).unwrap_or_default();
        forms.iter().any(|form| holds(&bytes, form))
    });
    found.map(str::to_owned).collect()
}

fn redact(scene: &Scene, arguments: &[&str]) -> Ended {
    scene.home.run(&[&["log", "redact", &scene.session], arguments].concat())
}

/// The sequences of the records of a kind.
fn of_kind(records: &[Stored], kind: &str) -> Vec<String> {
    let records = records.iter().filter(|record| record.header.kind == kind);
    records.map(|record| record.header.sequence.to_string()).collect()
}

/// Every view event of a session, through pages.
fn events(host: &mut Host, session: &str) -> Vec<Value> {
    let page = json!({"sessionId": session, "limit": 1000});
    host.call("view/page", page)["events"].as_array().unwrap().clone()
}

#[test]
fn a_text_is_erased_wherever_it_may_and_the_session_goes_on() {
    let scene = scene();
    let (home, session) = (&scene.home, scene.session.as_str());
    let before = home.records(session);
    assert!(!holds_secret(home).is_empty());

    let planned = redact(&scene, &["--pattern", SECRET, "--dry-run"]);
    assert_eq!((planned.code, planned.err.as_str()), (0, ""));
    assert!(planned.out.contains("would erase"), "{}", planned.out);
    assert_eq!(home.records(session), before, "nothing was erased");

    let ended = redact(&scene, &["--pattern", SECRET]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert_eq!(holds_secret(home), Vec::<String>::new());
    let after = home.records(session);
    let erased: Vec<&Stored> = after.iter().filter(|record| record.body.is_none()).collect();
    let said = format!("erased the bodies of {} records (", erased.len());
    assert!(ended.out.contains(&said) && ended.out.lines().count() == 1, "{}", ended.out);
    let kinds: BTreeSet<&str> = erased.iter().map(|r| r.header.kind.as_str()).collect();
    let whole = [
        "actionProposed",
        "approvalOpened",
        "approvalResolved",
        "executionStarted",
        "itemEnded",
        "turnQueued",
        "userMessage",
    ];
    assert_eq!(kinds, BTreeSet::from(whole));
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(after.last().unwrap().header.kind, "redacted");
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((&old.header_bytes, &old.chain), (&new.header_bytes, &new.chain));
    }
    let verified = home.run(&["log", "verify", session]);
    let words = format!("intact, {} records, {} erased", after.len(), erased.len());
    assert!(verified.code == 0 && verified.out.contains(&words), "{}", verified.out);
    let shown = home.run(&["log", "show", session, "--bodies"]);
    assert_eq!(shown.out.matches("(erased)").count(), erased.len());

    let again = redact(&scene, &["--pattern", SECRET]);
    assert_eq!((again.code, again.err.as_str()), (0, ""));
    assert!(again.out.contains("no body to erase"), "{}", again.out);
    assert_eq!(home.records(session), after, "done again it changes nothing");
    goes_on(&scene);
}

/// The session is read, listed, loaded and recovered; what was open is asked again and runs.
fn goes_on(scene: &Scene) {
    let (home, session) = (&scene.home, scene.session.as_str());
    let mut host = Host::start(home);
    let id = json!({"sessionId": session});
    let pending = host.call("approval/listPending", id.clone())["approvals"].clone();
    assert_eq!(pending[0]["approvalId"], scene.open.as_str(), "{pending}");
    let read = json!({"sessionId": session, "excludeItems": false});
    let read = host.call("session/read", read);
    let sessions = host.call("session/list", json!({}))["sessions"].clone();
    assert_eq!(sessions[0]["sessionId"], session);
    assert_eq!(sessions[0].get("quarantined"), None, "{sessions}");
    let unloaded = events(&mut host, session);
    let resumed = host.resume(session);
    for history in [&read["history"], &resumed["history"]] {
        let items = history["items"].as_array().unwrap();
        assert!(!items.is_empty() && !history.to_string().contains("hunter2"), "{history}");
    }
    let loaded = events(&mut host, session);
    assert_eq!(loaded[..unloaded.len()], unloaded, "a page is the same on a loaded session");
    assert!(!json!(loaded).to_string().contains("hunter2"));
    let methods = |method: &str| loaded.iter().filter(|event| event["method"] == method).count();
    assert_eq!((methods("turn/started"), methods("turn/completed")), (3, 2), "turns stay");

    // The decision is replayed from its header; a new one finds nothing any more.
    assert_eq!(host.call("approval/decide", scene.decision.clone()), scene.ack);
    let mut late = scene.decision.clone();
    late["commandId"] = json!(command_id());
    assert_eq!(host.refused("approval/decide", late)["data"]["kind"], "approvalNotFound");

    let pending = host.call("approval/listPending", id)["approvals"].clone();
    let ask = &pending[0];
    assert_ne!(ask["approvalId"], scene.open.as_str(), "recovery opened its successor");
    host.call("approval/decide", Host::decision(ask, "allow_once"));
    let turn = ask["turnId"].as_str().unwrap();
    assert_eq!(host.ended(turn)["status"], "completed");
    let turn = host.turn(session, "ls");
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert_eq!(host.close(), (0, String::new()));
    assert!(home.workspace().join("two").exists());
}

#[test]
fn records_that_are_named_take_their_call_along_or_say_why_they_stay() {
    let scene = scene();
    let session = scene.session.as_str();
    let before = scene.home.records(session);
    let kind = |kind: &str, index: usize| of_kind(&before, kind)[index].clone();
    for (sequences, words) in [
        (vec![kind("turnStarted", 0)], vec!["rests on"]),
        (vec!["1".to_owned()], vec!["record 1 stays"]),
        (vec![kind("approvalOpened", 1)], vec!["has not ended"]),
        (vec!["999".to_owned()], vec!["no such record"]),
        (vec![kind("itemEnded", 0), kind("turnCompleted", 0)], vec!["rests on"]),
    ] {
        let arguments: Vec<&str> = sequences.iter().map(String::as_str).collect();
        let words = [words, vec!["nothing was erased"]].concat();
        refused(&redact(&scene, &arguments), 1, &words);
    }
    assert_eq!(scene.home.records(session), before, "nothing was erased");

    let ended = redact(&scene, &[&kind("itemEnded", 0)]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.out.contains("erased the bodies of 5 records"), "{}", ended.out);
    let after = scene.home.records(session);
    let erased: Vec<&str> =
        after.iter().filter(|r| r.body.is_none()).map(|r| r.header.kind.as_str()).collect();
    let whole =
        ["actionProposed", "approvalOpened", "approvalResolved", "executionStarted", "itemEnded"];
    assert_eq!(erased, whole);
    refused(&redact(&scene, &["--pattern", ""]), 2, &["empty"]);
    refused(&scene.home.run(&["log", "redact", "nobody", "1"]), 2, &["no session"]);
}

#[test]
fn what_still_holds_a_text_is_told_of() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "touch granted-secret");
    let ask = host.event("approval/requested", &turn);
    host.call("approval/decide", Host::decision(&ask, "allow_session"));
    host.ended(&turn);
    assert_eq!(host.close(), (0, String::new()));
    let ended = home.run(&["log", "redact", &session, "--pattern", "granted-secret"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("still hold the text"), "{}", ended.err);
    assert!(ended.out.contains("stays: its approval gave a grant"), "{}", ended.out);
    assert!(ended.out.contains("erased the bodies of 1 records"), "the turn's text: {}", ended.out);
    let mut host = Host::start(&home);
    host.resume(&session);
    let turn = host.turn(&session, "touch granted-secret");
    assert_eq!(host.ended(&turn)["status"], "completed", "the grant is still in force");
    assert_eq!(host.close(), (0, String::new()));
    let folder = home.workspace().canonicalize().unwrap();
    let ended = home.run(&["log", "redact", &session, "--pattern", folder.to_str().unwrap()]);
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("headers too, which stay: records 1\n"), "{}", ended.out);
}

#[test]
fn a_text_is_read_from_stdin() {
    let scene = scene();
    let mut command = scene.home.command(&["log", "redact", &scene.session, "--pattern", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{SECRET}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(holds_secret(&scene.home), Vec::<String>::new());
}

#[test]
fn a_session_that_a_host_holds_is_left_alone_and_others_may_run() {
    let scene = scene();
    let mut host = Host::start(&scene.home);
    host.resume(&scene.session);
    let count = scene.home.records(&scene.session).len();
    let held = redact(&scene, &["--pattern", SECRET]);
    refused(&held, 4, &[&scene.session, "in use by host", "running"]);
    let planned = redact(&scene, &["--pattern", SECRET, "--dry-run"]);
    assert_eq!(planned.code, 0, "a plan needs no lease: {}", planned.err);
    assert_eq!(scene.home.records(&scene.session).len(), count);
    assert_eq!(host.close(), (0, String::new()));

    let mut host = Host::start(&scene.home);
    let other = host.session(&scene.home, "allowAll");
    assert_eq!(redact(&scene, &["--pattern", SECRET]).code, 0);
    assert_eq!(holds_secret(&scene.home), Vec::<String>::new(), "with the log open elsewhere");
    let turn = host.turn(&other, "true");
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn cut_short_between_the_record_and_the_erasing_it_is_finished_by_doing_it_again() {
    let scene = scene();
    let (home, session) = (&scene.home, scene.session.as_str());
    let copy = home.copy();
    let ended = copy.run(&["log", "redact", session, "--pattern", SECRET]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    // What the log holds when the host dies right after the record is durable.
    let record = copy.records(session).pop().unwrap();
    let draft = Draft { header: record.header, body: record.body.unwrap() };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let log = SqliteLog::open(&home.path()).unwrap();
        let lease = log.lease(session).await.unwrap();
        let head = log.head(session).await.unwrap();
        let end = log.append(&lease, &head.version, vec![draft]).await;
        assert!(matches!(end, Append::Durable { .. }), "{end:?}");
    });
    assert!(!holds_secret(home).is_empty());
    assert_eq!(home.run(&["log", "verify", session]).code, 0);
    let ended = redact(&scene, &["--pattern", SECRET]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert_eq!(holds_secret(home), Vec::<String>::new());
    goes_on(&scene);
}

#[test]
fn a_body_that_is_gone_without_a_record_quarantines() {
    let scene = scene();
    let (home, session) = (&scene.home, scene.session.as_str());
    let records = home.records(session);
    let message = of_kind(&records, "userMessage")[0].parse::<i64>().unwrap();
    let statement =
        "UPDATE records SET body = NULL, salt = NULL WHERE session = ?1 AND sequence = ?2";
    assert_eq!(home.sql().execute(statement, (session, message)).unwrap(), 1);
    assert_eq!(home.run(&["log", "verify", session]).code, 0, "the chain alone cannot tell");
    refused(&redact(&scene, &["--pattern", SECRET]), 3, &["cannot be read", "was erased"]);
    let mut host = Host::start(home);
    let resume = json!({"sessionId": session, "commandId": command_id()});
    let error = host.refused("session/resume", resume);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("was erased and no record says so"), "{message}");
    assert_eq!(host.close(), (0, String::new()));
}

//! Grants that outlive their session, on the wire and at the command line.

use crate::common::{Ended, Home, Host, command_id, components, is_method, program};
use crate::refused;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEPT: &str = "allow_local_prefix";

/// Starts a session in a folder.
fn session_in(host: &mut Host, folder: &Path) -> String {
    let params = json!({
        "commandId": command_id(), "workspaceRoot": folder, "approvalMode": "promptUnmatched",
    });
    host.call("session/start", params)["session"]["sessionId"].as_str().unwrap().to_owned()
}

/// Runs a turn and says whether a person was asked: the request, or none where it just ran.
fn asked(host: &mut Host, session: &str, text: &str) -> (String, Option<Value>) {
    let turn = host.turn(session, text);
    let frame = host.wait("a request or the end", 0, |frame| {
        let params = &frame["params"];
        params["turnId"] == turn.as_str()
            && (is_method(frame, "approval/requested") || is_method(frame, "turn/completed"))
    });
    let ask = is_method(&frame, "approval/requested").then(|| frame["params"].clone());
    (turn, ask)
}

/// Whether this is asked about in a new session of the folder; whatever is asked is rejected.
fn asks(host: &mut Host, folder: &Path, text: &str) -> bool {
    let session = session_in(host, folder);
    let (turn, ask) = asked(host, &session, text);
    if let Some(ask) = &ask {
        host.call("approval/decide", Host::decision(ask, "abort"));
    }
    host.event("turn/completed", &turn);
    ask.is_some()
}

/// Gives a grant for the first open stage of a command and allows the others once; the
/// approval that gave it, and what became of it.
fn give(host: &mut Host, folder: &Path, text: &str) -> (String, Value) {
    let session = session_in(host, folder);
    let (turn, ask) = asked(host, &session, text);
    let mut ask = ask.expect("it is asked about");
    let id = ask["approvalId"].as_str().unwrap().to_owned();
    let mut choice = KEPT;
    while host.call("approval/decide", Host::decision(&ask, choice))["terminal"] != true {
        let before = ask["currentRequirementId"].clone();
        let next = host.wait("the next stage", 0, |frame| {
            let params = &frame["params"];
            is_method(frame, "approval/request")
                && params["approvalId"] == id.as_str()
                && params["currentRequirementId"]["sourceIndex"].as_u64()
                    > before["sourceIndex"].as_u64()
        });
        (ask, choice) = (next["params"].clone(), "allow_once");
    }
    let resolved = host.event("approval/resolved", &turn);
    assert_eq!(resolved["amendment"]["durability"], "localPersistent", "{resolved}");
    let persistence = host.wait("policyPersistence", 0, |frame| {
        frame["params"]["approvalId"] == id.as_str()
            && frame["params"]["change"]["kind"] == "policyPersistence"
    });
    assert_eq!(host.ended(&turn)["status"], "completed");
    (id, persistence["params"]["change"].clone())
}

/// The grants that `placet grants list --json` lists.
fn listed(home: &Home) -> Vec<Value> {
    let ended = home.run(&["grants", "list", "--json"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let mut listed: Value = serde_json::from_str(&ended.out).unwrap();
    serde_json::from_value(listed["grants"].take()).unwrap()
}

fn revoke(home: &Home, rest: &[&str]) -> Ended {
    home.run(&[&["grants", "revoke"], rest].concat())
}

fn succeeded(change: &Value) {
    assert_eq!(*change, json!({"kind": "policyPersistence", "status": "succeeded"}));
}

fn folder(home: &Home, name: &str) -> PathBuf {
    let folder = home.workspace().with_file_name(name);
    fs::create_dir(&folder).unwrap();
    folder
}

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_saved_grant_counts_in_new_sessions_and_after_a_restart_in_its_workspace_only() {
    let home = Home::new();
    git(&home.workspace(), &["init", "-q"]);
    git(&home.workspace(), &["commit", "-q", "--allow-empty", "-m", "first"]);
    let other = folder(&home, "other");
    git(&other, &["clone", "-q", home.workspace().to_str().unwrap(), "clone"]);
    let mut host = Host::start(&home);
    let (id, change) = give(&mut host, &home.workspace(), "touch made");
    succeeded(&change);
    assert!(!asks(&mut host, &home.workspace(), "touch made"));
    assert!(asks(&mut host, &home.workspace(), "touch made more"), "nothing may follow");
    assert_eq!(host.close(), (0, String::new()));

    let mut host = Host::start(&home);
    assert!(!asks(&mut host, &home.workspace(), "touch made"), "after a restart");
    assert!(asks(&mut host, &other, "touch made"), "in another workspace");
    assert!(asks(&mut host, &other.join("clone"), "touch made"), "in a clone");
    let ended = revoke(&home, &[&id]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(ended.out.starts_with(&format!("{id}: revoked; it covered exactly")), "{}", ended.out);
    assert!(asks(&mut host, &home.workspace(), "touch made"), "it is revoked");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn what_is_in_force_is_listed_and_revoked() {
    let home = Home::new();
    let other = folder(&home, "other");
    let mut host = Host::start(&home);
    let (one, _) = give(&mut host, &home.workspace(), "touch a");
    let (two, _) = give(&mut host, &home.workspace(), "git add x");
    let (three, _) = give(&mut host, &other, "touch c");
    let grants = listed(&home);
    let ids: Vec<&str> = grants.iter().map(|grant| grant["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [one.as_str(), &two, &three]);
    let root = home.workspace().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    assert_eq!((&grants[0]["root"], &grants[0]["client"]), (&root.into(), &"rust_client".into()));
    assert_eq!(grants[0]["mode"], "promptUnmatched");
    let preview = format!("exactly `touch a`, run in {root} and its git worktrees");
    assert_eq!(grants[0]["preview"], preview.as_str());
    assert!(grants[1]["preview"].as_str().unwrap().contains("start with `git add`"), "{grants:?}");
    assert!(grants[0]["session"].is_string() && grants[0]["text"].is_string());
    let given = grants[0]["givenAt"].as_str().unwrap();
    assert!(given.starts_with("20") && given.ends_with('Z'), "{given}");

    let text = home.run(&["grants", "list"]).out;
    for line in [&one, &format!("  covers: {preview}"), &format!("  where: {root}")] {
        assert!(text.lines().any(|found| found == line.as_str()), "{line} in {text}");
    }
    assert!(text.ends_with("3 grants are in force\n"), "{text}");

    let ended = revoke(&home, &[&one, "nobody's"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.out.contains(&one) && ended.err.contains("has the id nobody's"), "{}", ended.err);
    refused(&revoke(&home, &[&one]), 2, &["no grant in force has the id", &one]);
    let ended = revoke(&home, &["--workspace", other.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.lines().count()), (0, 1), "{}", ended.err);
    assert_eq!(listed(&home).len(), 1);
    let ended = revoke(&home, &["--all"]);
    assert!(ended.code == 0 && ended.out.contains(&two), "{}", ended.err);
    assert_eq!(revoke(&home, &["--all"]).out, "nothing to revoke: no such grant is in force\n");
    assert_eq!(home.run(&["grants", "list"]).out, "no grant outlives its session\n");
    for (folder, text) in
        [(&home.workspace(), "touch a"), (&home.workspace(), "git add x"), (&other, "touch c")]
    {
        assert!(asks(&mut host, folder, text), "{text}");
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn where_nothing_ever_was_nothing_is_granted() {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    let ended = home.run_on(&nowhere, &["grants", "list", "--json"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "{\"grants\":[]}\n"));
    assert!(ended.err.contains("there is no log in"), "{}", ended.err);
    assert_eq!(home.run_on(&nowhere, &["grants", "revoke", "--all"]).code, 0);
    refused(&home.run_on(&nowhere, &["grants", "revoke", "x"]), 2, &["has the id x"]);
    assert!(!nowhere.exists(), "no home was made");
}

#[test]
fn a_revocation_binds_every_host_of_the_home() {
    let home = Home::new();
    let (mut one, mut two) = (Host::start(&home), Host::start(&home));
    let (id, _) = give(&mut one, &home.workspace(), "touch made");
    let sessions = [&mut one, &mut two].map(|host| session_in(host, &home.workspace()));
    for (host, session) in [&mut one, &mut two].into_iter().zip(&sessions) {
        let (turn, ask) = asked(host, session, "touch made");
        assert!(ask.is_none(), "the grant of one host counts in the other");
        host.event("turn/completed", &turn);
    }
    assert_eq!(revoke(&home, &[&id]).code, 0);
    for (host, session) in [&mut one, &mut two].into_iter().zip(&sessions) {
        let (_, ask) = asked(host, session, "touch made");
        assert!(ask.is_some(), "in a session that was loaded before");
    }
    for host in [&mut one, &mut two] {
        assert_eq!(host.close(), (0, String::new()));
    }
}

#[test]
fn a_grant_that_cannot_be_kept_runs_once_and_is_asked_about_again() {
    let home = Home::new();
    let mut host = Host::start(&home);
    // The log can be written, the table of grants cannot.
    let full =
        "CREATE TRIGGER full BEFORE INSERT ON grants BEGIN SELECT RAISE(ABORT, 'no room'); END";
    home.sql().execute_batch(full).unwrap();
    let (id, change) = give(&mut host, &home.workspace(), "touch made; echo once >> said.txt");
    assert_eq!(change["status"], "failed");
    assert!(change["reason"].as_str().unwrap().contains("no room"), "{change}");
    let said = fs::read_to_string(home.workspace().join("said.txt")).unwrap();
    assert_eq!(said, "once\n", "it ran, and once");
    assert!(asks(&mut host, &home.workspace(), "touch made"));
    assert_eq!(listed(&home), Vec::<Value>::new());
    assert_eq!(host.close(), (0, String::new()));

    // It failed, and that is recorded: nothing is kept by a later load.
    home.sql().execute_batch("DROP TRIGGER full").unwrap();
    let session: String = home
        .sql()
        .query_row("SELECT session FROM sessions ORDER BY created_ms LIMIT 1", [], |row| row.get(0))
        .unwrap();
    let failed = home.bodies(&session, "grantFailed");
    assert_eq!((failed.len(), &failed[0]["approval"]), (1, &id.into()));
    let mut host = Host::start(&home);
    host.resume(&session);
    assert!(asks(&mut host, &home.workspace(), "touch made"));
    assert_eq!(listed(&home), Vec::<Value>::new());
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_grant_in_one_worktree_counts_in_all_and_in_no_forged_one() {
    let home = Home::new();
    git(&home.workspace(), &["init", "-q"]);
    git(&home.workspace(), &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&home.workspace(), &["worktree", "add", "-q", "../tree"]);
    let tree = home.workspace().with_file_name("tree");
    let forged = folder(&home, "forged");
    fs::copy(tree.join(".git"), forged.join(".git")).unwrap();
    let mut host = Host::start(&home);
    let (_, change) = give(&mut host, &tree, "touch made");
    succeeded(&change);
    let root = home.workspace().canonicalize().unwrap();
    assert_eq!(listed(&home)[0]["root"], root.to_str().unwrap(), "one rule, at the repository");
    assert!(!asks(&mut host, &tree, "touch made"));
    assert!(!asks(&mut host, &home.workspace(), "touch made"));
    assert!(asks(&mut host, &forged, "touch made"));
    let ended = revoke(&home, &["--workspace", tree.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.lines().count()), (0, 1), "{}", ended.err);
    assert!(asks(&mut host, &home.workspace(), "touch made"));
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_grant_settles_what_is_pending_in_other_sessions_of_its_root() {
    let home = Home::new();
    let other = folder(&home, "other");
    let mut host = Host::start(&home);
    let mut waiting = Vec::new();
    for folder in [&home.workspace(), &other] {
        let session = session_in(&mut host, folder);
        waiting.push(asked(&mut host, &session, "touch made"));
    }
    give(&mut host, &home.workspace(), "touch made");
    let (turn, ask) = &waiting[0];
    let resolved = host.event("approval/resolved", turn);
    assert_eq!(resolved["approvalId"], ask.as_ref().unwrap()["approvalId"]);
    assert_eq!(
        (&resolved["decision"], &resolved["resolvedBy"]),
        (&"approved".into(), &"policy".into())
    );
    assert_eq!(host.ended(turn)["status"], "completed");
    let elsewhere = waiting[1].1.as_ref().unwrap();
    let pending = host.call("approval/listPending", json!({"sessionId": elsewhere["sessionId"]}));
    assert_eq!(pending["approvals"].as_array().unwrap().len(), 1, "another workspace");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_grant_for_the_session_is_nowhere_but_in_its_log() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = session_in(&mut host, &home.workspace());
    let (turn, ask) = asked(&mut host, &session, "touch made");
    host.call("approval/decide", Host::decision(&ask.unwrap(), "allow_session"));
    host.ended(&turn);
    assert!(asked(&mut host, &session, "touch made").1.is_none());
    assert!(asks(&mut host, &home.workspace(), "touch made"), "another session asks");
    assert_eq!(listed(&home), Vec::<Value>::new());
    let names = fs::read_dir(home.workspace()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["made"], "nothing was written beside what the command made");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn what_is_not_offered_cannot_be_chosen() {
    let home = Home::new();
    let mut host = Host::start(&home);
    for text in ["touch made\ntouch more", "rm made", "bash x.sh", "touch made > log"] {
        let session = session_in(&mut host, &home.workspace());
        let (_, ask) = asked(&mut host, &session, text);
        let ask = ask.unwrap();
        let choices = ask["availableChoices"].as_array().unwrap();
        assert!(choices.iter().all(|choice| choice["scope"] != "localPersistent"), "{text}: {ask}");
        let error = host.refused("approval/decide", Host::decision(&ask, KEPT));
        assert_eq!(error["data"]["kind"], "approvalChoiceInvalid", "{text}");
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn an_action_revokes_nothing() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let (id, _) = give(&mut host, &home.workspace(), "touch made");
    // Another home runs the command, for which the files of this one are ordinary.
    let other = Home::new();
    let mut runner = Host::start(&other);
    let session = runner.session(&other, "allowAll");
    for rest in [id.as_str(), "--all"] {
        let command = format!(
            "PLACET_HOME={} PLACET_COMPONENTS={} {} grants revoke {rest} 2>&1",
            home.path().display(),
            components().canonicalize().unwrap().display(),
            program().display()
        );
        let turn = runner.turn(&session, &command);
        let item = runner.ended(&turn);
        let text = item["visibleOutput"].as_str().unwrap();
        assert!(item["exitCode"] == 10 && text.contains("revokes nothing"), "{text}");
    }
    assert_eq!(listed(&home).len(), 1, "it is in force");
    for host in [&mut host, &mut runner] {
        assert_eq!(host.close(), (0, String::new()));
    }
}

//! What is protected besides the built-in list, and Placet's own files by other names.

use crate::common::{Home, Host};
use crate::damage::on_a_small_disk;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

fn host() -> (Home, Host, String) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "allowAll");
    (home, host, session)
}

/// The command runs unasked.
fn runs(host: &mut Host, session: &str, command: &str) {
    let turn = host.turn(session, command);
    assert_eq!(host.ended(&turn)["status"], "completed", "{command}");
}

/// The command is asked about as a protected write; it is rejected.
fn asks(host: &mut Host, session: &str, command: &str) {
    let turn = host.turn(session, command);
    let ask = host.event("approval/requested", &turn);
    assert_eq!(ask["protectedWrite"], true, "{command}");
    host.call("approval/decide", Host::decision(&ask, "abort"));
    assert_eq!(host.ended(&turn)["status"], "rejected", "{command}");
}

fn denied(host: &mut Host, session: &str, command: &str) -> Value {
    let turn = host.turn(session, command);
    let item = host.ended(&turn);
    assert_eq!(
        (&item["status"], &item["failureKind"]),
        (&json!("rejected"), &json!("approvalDenied")),
        "{command}"
    );
    item["failureReason"].clone()
}

#[test]
fn what_files_add_counts_from_the_next_action_on() {
    let (home, mut host, session) = host();
    runs(&mut host, &session, "echo 1 > plain");
    let own = home.path().join("placet.toml");
    fs::write(&own, "[protected]\npaths = [\"plain\"]\n").unwrap();
    asks(&mut host, &session, "echo 2 > plain");
    runs(&mut host, &session, "echo 1 > Makefile");
    let here = home.workspace().join("placet.toml");
    fs::write(&here, "[protected]\npaths = [\"makefile\"]\ncredentials = [\"box\"]\n").unwrap();
    asks(&mut host, &session, "echo 2 > Makefile");
    asks(&mut host, &session, "echo 2 > box/x");
    asks(&mut host, &session, "echo 2 > plain");
    // A workspace adds; it takes nothing away.
    fs::write(&here, "[protected]\npaths = []\ncredentials = []\n").unwrap();
    asks(&mut host, &session, "echo 2 > plain");
    asks(&mut host, &session, "echo 2 > .vscode/tasks.json");
    runs(&mut host, &session, "echo 3 > Makefile");
    assert_eq!(fs::read_to_string(home.workspace().join("plain")).unwrap(), "1\n");
    assert_eq!(fs::read_to_string(home.workspace().join("Makefile")).unwrap(), "3\n");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_hard_link_to_an_own_file_is_denied() {
    let (home, mut host, session) = host();
    fs::hard_link(home.path().join("home.key"), home.workspace().join("notes")).unwrap();
    fs::hard_link(home.database(), home.workspace().join("data")).unwrap();
    for command in ["cat notes", "cp notes stolen", "echo x >> data", "cat ./data | wc -c"] {
        let why = denied(&mut host, &session, command);
        assert!(why.as_str().unwrap().contains("belongs to Placet"), "{command}: {why}");
    }
    assert!(!home.workspace().join("stolen").exists());
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn another_spelling_of_the_home_is_denied() {
    let (home, mut host, session) = host();
    let state = home.path().display().to_string();
    let shouted = state.replace("/state", "/STATE");
    for command in [format!("cat {shouted}/home.key"), format!("echo x >> {shouted}/placet.toml")] {
        let why = denied(&mut host, &session, &command);
        assert!(why.as_str().unwrap().contains("belongs to Placet"), "{command}: {why}");
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn another_mount_of_the_home_is_denied() {
    // There it may mount.
    if !on_a_small_disk("protected::another_mount_of_the_home_is_denied") {
        return;
    }
    let (home, mut host, session) = host();
    assert_eq!(host.close(), (0, String::new()));
    let (folder, file) = (home.workspace().join("other"), home.workspace().join("file"));
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "").unwrap();
    for (from, to) in [(home.path(), folder), (home.path().join("home.key"), file)] {
        let mounted = Command::new("mount").arg("--bind").args([from, to]).status().unwrap();
        assert!(mounted.success());
    }
    host = Host::start(&home);
    host.resume(&session);
    for command in ["cat other/home.key", "echo x > other/new", "cat file", "ls other/hosts"] {
        let why = denied(&mut host, &session, command);
        assert!(why.as_str().unwrap().contains("belongs to Placet"), "{command}: {why}");
    }
    runs(&mut host, &session, "echo x > plain");
    assert_eq!(host.close(), (0, String::new()));
}

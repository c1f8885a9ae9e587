//! A home that cannot be used: the host says so and leaves everything as it is.

use crate::common::{Home, Host};
use crate::refused;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Prepares a home; the host and `placet log` refuse it, and nothing that was there is changed.
fn check(what: &str, words: &[&str], prepare: impl FnOnce(&Home)) {
    println!("{what}");
    let home = Home::new();
    prepare(&home);
    let before = contents(&home.path());
    refused(&home.run(&["serve"]), 3, words);
    let mut after = contents(&home.path());
    after.retain(|path, _| before.contains_key(path));
    assert!(after == before, "{what}: the files are not as they were");
}

/// The same for what `placet log` finds wrong too.
fn check_log(what: &str, words: &[&str], prepare: impl Fn(&Home)) {
    check(what, words, &prepare);
    let home = Home::new();
    prepare(&home);
    let before = contents(&home.path());
    for arguments in [["log", "show"], ["log", "verify"]] {
        refused(&home.run(&arguments), 3, words);
    }
    assert!(contents(&home.path()) == before, "{what}: `placet log` changed something");
}

fn sqlite(home: &Home, statements: &str) {
    Connection::open(home.database()).unwrap().execute_batch(statements).unwrap();
}

#[test]
fn a_file_that_is_no_log_is_left_alone() {
    let noise: Vec<u8> =
        (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    check_log("noise", &["placet.db", "not a placet log"], |home| {
        fs::write(home.database(), &noise).unwrap();
    });
    check_log("a short text", &["placet.db", "not a placet log"], |home| {
        fs::write(home.database(), "dear diary\n").unwrap();
    });
    check_log("another application's database", &["another program", "7"], |home| {
        sqlite(home, "CREATE TABLE notes (text TEXT); PRAGMA application_id = 7;");
    });
    check_log("a database of nobody", &["another program"], |home| {
        sqlite(home, "CREATE TABLE sessions (session TEXT); PRAGMA user_version = 1;");
    });
    check_log("a folder", &["placet.db", "not a file"], |home| {
        fs::create_dir(home.database()).unwrap();
    });
}

#[test]
fn a_log_of_a_newer_placet_is_left_alone() {
    check_log("newer", &["placet.db", "format 999", "newer placet"], |home| {
        assert_eq!(Host::start(home).close().0, 0);
        sqlite(home, "PRAGMA user_version = 999;");
    });
}

#[test]
fn a_link_is_not_followed_to_a_log_elsewhere() {
    check("a link", &["placet.db", "symbolic link"], |home| {
        let elsewhere = home.workspace().join("other.db");
        fs::write(&elsewhere, "").unwrap();
        symlink(elsewhere, home.database()).unwrap();
    });
}

#[test]
fn half_a_key_is_left_alone() {
    check("half a key", &["key"], |home| fs::write(home.path().join("home.key"), "short").unwrap());
}

#[test]
fn a_home_that_others_can_write_is_refused() {
    check("open to others", &["chmod 700"], |home| {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    });
}

#[test]
fn a_home_that_cannot_be_written_is_refused() {
    let home = Home::new();
    let file = home.workspace().join("file");
    fs::write(&file, "a file").unwrap();
    // Nobody, not even root, makes files in the last two.
    for path in [file.clone(), file.join("below"), "/proc/placet".into(), "/proc/self".into()] {
        println!("{}", path.display());
        refused(&home.run_on(&path, &["serve"]), 3, &[&path.display().to_string(), "PLACET_HOME"]);
        refused(&home.run_on(&path, &["log", "show"]), 3, &[&path.display().to_string()]);
    }
    assert_eq!(fs::read(&file).unwrap(), b"a file");
}

#[test]
fn placet_log_makes_no_home() {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    for arguments in [["log", "show"], ["log", "verify"]] {
        refused(&home.run_on(&nowhere, &arguments), 3, &["nowhere"]);
    }
    assert!(!nowhere.exists());
}

#[test]
fn a_configuration_that_is_not_understood_is_refused_with_its_place() {
    let check = |text: &str, words: &[&str]| {
        let home = Home::new();
        let path = home.path().join("placet.toml");
        fs::write(&path, text).unwrap();
        let ended = home.run(&["serve"]);
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{text}: {}", ended.err);
        for word in words.iter().chain(&[path.canonicalize().unwrap().to_str().unwrap()]) {
            assert!(ended.err.contains(word), "`{word}` for `{text}` in: {}", ended.err);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(!home.database().exists(), "no log was made");
    };
    check("[serve]\nfingerprnt = \"x\"\n", &["fingerprnt", "line 2"]);
    check("\n[sreve]\n", &["sreve", "line 2"]);
    check("[authority]\n\nstdio = 3\n", &["line 3"]);
    check("[authority\n", &["line 1"]);
    check("[authority]\nstdio = \"askMe\"\n", &["askMe", "promptUnmatched", "line 2"]);
    check(
        "[authority]\nwithhold = [\"onRequest\", \"allowall\"]\n",
        &["allowall", "onRequest", "line 2"],
    );
}

//! What a person types: exit codes, help, and no state where nothing was asked of it.

use crate::common::{Ended, Home};

/// Runs the program where no home is; none may come to be.
fn check(arguments: &[&str], code: i32) -> Ended {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    let ended = home.run_on(&nowhere, arguments);
    assert_eq!(ended.code, code, "{arguments:?}: {}{}", ended.out, ended.err);
    assert!(!nowhere.exists(), "{arguments:?} made a home");
    ended
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    for arguments in [
        [].as_slice(),
        &["frobnicate"],
        &["--frobnicate"],
        &["serve", "--nope"],
        &["serve", "extra"],
        &["serve", "--fingerprint"],
        &["log"],
        &["log", "erase"],
        &["log", "show", "a", "b"],
        &["log", "show", "--nope"],
        &["log", "verify", "a", "--bodies"],
        &["log", "export"],
        &["log", "export", "a", "--yes"],
        &["log", "delete", "--yes"],
        &["log", "redact", "a"],
        &["log", "redact", "a", "one"],
        &["log", "redact", "a", "1", "--pattern", "b"],
        &["grants"],
        &["grants", "list", "extra"],
        &["grants", "revoke"],
        &["grants", "revoke", "a", "--all"],
        &["grants", "revoke", "--all", "--workspace", "."],
        &["help", "frobnicate"],
    ] {
        let ended = check(arguments, 2);
        assert_eq!(ended.out, "", "{arguments:?}");
        assert_ne!(ended.err.trim(), "", "{arguments:?}");
    }
}

#[test]
fn an_argument_that_is_not_known_is_named() {
    let ended = check(&["serve", "--nope"], 2);
    assert!(ended.err.contains("--nope") && ended.err.contains("Usage"), "{}", ended.err);
    let ended = check(&["frobnicate"], 2);
    assert!(ended.err.contains("frobnicate"), "{}", ended.err);
    let ended = check(&[], 2);
    assert!(ended.err.contains("placet serve"), "{}", ended.err);
}

#[test]
fn help_has_examples() {
    for (arguments, example) in [
        (["--help"].as_slice(), "placet log verify SESSION"),
        (&["-h"], "PLACET_HOME"),
        (&["help"], "placet serve"),
        (&["grants", "list", "--help"], "placet grants list --json"),
        (&["grants", "revoke", "--help"], "placet grants revoke --workspace ."),
        (&["log", "show", "--help"], "placet log show SESSION --bodies"),
        (&["log", "verify", "--help"], "placet log verify SESSION"),
        (&["log", "export", "--help"], "placet log export SESSION --redact"),
        (&["log", "delete", "--help"], "placet log delete SESSION --yes"),
        (&["log", "redact", "--help"], "placet log redact SESSION --pattern"),
    ] {
        let ended = check(arguments, 0);
        assert_eq!(ended.err, "", "{arguments:?}");
        assert!(ended.out.contains("Examples:") && ended.out.contains(example), "{}", ended.out);
    }
    for arguments in [["serve", "--help"].as_slice(), &["log", "--help"]] {
        assert!(check(arguments, 0).out.contains("Usage: placet"), "{arguments:?}");
    }
}

#[test]
fn the_version_is_printed() {
    assert_eq!(check(&["--version"], 0).out, concat!("placet ", env!("CARGO_PKG_VERSION"), "\n"));
}

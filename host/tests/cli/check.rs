//! `placet check`: what is wrong with rule files, and with which exit code that ends.

use crate::common::{Ended, Home};
use std::fs;

/// The check of a file, and of the same text as the user's own rules.
fn check(text: &str, code: i32, words: &[&str]) {
    let home = Home::new();
    let file = home.workspace().join("draft.toml");
    fs::write(&file, text).unwrap();
    let named = home.run(&["check", file.to_str().unwrap()]);
    fs::write(home.path().join("placet.toml"), text).unwrap();
    let output = home.command(&["check"]).current_dir(home.workspace()).output().unwrap();
    let own = Ended {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    for ended in [named, own] {
        assert_eq!(ended.code, code, "{text}: {}{}", ended.out, ended.err);
        assert_eq!(code == 0, ended.out.contains("nothing wrong"), "{}", ended.out);
        for word in words {
            assert!(ended.err.contains(word), "{word:?} is not in {}", ended.err);
        }
    }
}

const GOOD: &str = "[[rule]]\neffect = \"allow\"\nshell = [\"make\"]\n";

#[test]
fn what_is_right_ends_with_zero() {
    check("", 0, &[]);
    check(GOOD, 0, &[]);
    check(&format!("[serve]\n\n{GOOD}"), 0, &[]);
}

#[test]
fn a_warning_alone_ends_with_zero() {
    check(&format!("{GOOD}\n{GOOD}"), 0, &[":5:1: warning: "]);
}

#[test]
fn a_broken_file_is_told_with_line_and_column() {
    check("[[rule]]\neffect = \"allow\nshell = [\"make\"]\n", 3, &[":2:16: error: "]);
    check("[[rule]]\neffect = \"alow\"\nshell = [\"make\"]\n", 3, &[":2:10: error: ", "`allow`"]);
    check("[[rule]]\neffect = \"deny\"\nnetwork = \"*\"\n", 3, &[":3:11: error: ", "everything"]);
    check(
        "[[rule]]\neffect = \"deny\"\ntool = \"Bash\"\nwhen = \"rm\"\n",
        3,
        &[":4:1: error: ", "when"],
    );
}

#[test]
fn a_kind_that_is_not_known_is_told_with_line_and_column() {
    check("[[rule]]\neffect = \"allow\"\nkind = \"browser\"\n", 3, &[":3:8: error: ", "browser"]);
    check("[[rule]]\neffect = \"allow\"\nbrowser = \"*\"\n", 3, &[":3:1: error: ", "browser"]);
}

#[test]
fn everything_wrong_is_told_at_once() {
    let two = "[[rule]]\neffect = \"alow\"\nshell = [\"make\"]\n\n[[rule]]\neffect = \"deny\"\n";
    check(two, 3, &[":2:10: ", ":5:1: ", "2 errors"]);
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let home = Home::new();
    let ended = home.run(&["check", "nowhere.toml"]);
    assert_eq!((ended.code, ended.out.as_str()), (3, ""));
    assert!(ended.err.contains("nowhere.toml"), "{}", ended.err);
}

#[test]
fn a_workspaces_file_is_checked_too_and_may_only_narrow() {
    let home = Home::new();
    fs::write(home.workspace().join("placet.toml"), GOOD).unwrap();
    let ended = home.command(&["check"]).current_dir(home.workspace()).output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{err}");
    assert!(err.contains("placet.toml:1:1: error: ") && err.contains("trust"), "{err}");
}

#[test]
fn known_safe_commands_of_a_file_are_checked_with_line_and_column() {
    check("[[safe]]\ncommand = \"mytool {list,show}\"\noperands = \"any\"\n", 0, &[]);
    check("[[safe]]\ncommand = \"mytool\"\nflgs = \"-n\"\n", 3, &[":3:1: error: ", "flgs"]);
    check("[[safe]]\nflags = \"-n\"\n", 3, &[":1:1: error: ", "command"]);
    check("[[safe]]\ncommand = \"mytool\"\nflags = \"-n -n\"\n", 3, &[":2:1: error: ", "twice"]);
    check("[safe]\ncommand = \"mytool\"\n", 3, &[":1:1: error: ", "[[safe]]"]);
}

#[test]
fn a_workspace_calls_nothing_safe_unless_it_is_trusted() {
    let home = Home::new();
    let text = "[[safe]]\ncommand = \"mytool\"\n";
    fs::write(home.workspace().join("placet.toml"), text).unwrap();
    let explained = || {
        let ended = home.command(&["explain", "mytool"]).current_dir(home.workspace()).output();
        String::from_utf8(ended.unwrap().stdout).unwrap()
    };
    let ended = home.command(&["check"]).current_dir(home.workspace()).output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{err}");
    assert!(err.contains("placet.toml:1:1: warning: ") && err.contains("trust"), "{err}");
    assert!(explained().starts_with("ask"), "{}", explained());
    let folder = home.workspace().to_str().unwrap().to_owned();
    assert_eq!(home.run(&["trust", &folder]).code, 0);
    assert!(explained().starts_with("allow"), "{}", explained());
    fs::write(home.workspace().join("placet.toml"), format!("# pulled\n{text}")).unwrap();
    assert!(explained().starts_with("ask"), "{}", explained());
    let listed = home.run(&["trust", "--list"]);
    assert!(listed.out.contains("has changed"), "{}", listed.out);
    assert_eq!(home.run(&["trust", "--end", &folder]).code, 0);
    assert_eq!(home.run(&["trust", "--end", &folder]).code, 2);
    fs::write(home.workspace().join("placet.toml"), "[[rule]]\neffect = \"alow\"\n").unwrap();
    assert_eq!(home.run(&["trust", &folder]).code, 3);
}

#[test]
fn the_lists_in_force_are_printed_with_where_each_entry_is_from() {
    let home = Home::new();
    let user = "[protected]\npaths = [\"Deploy/\"]\ncredentials = [\"~/box\"]\n";
    fs::write(home.path().join("placet.toml"), user).unwrap();
    let here = home.workspace().join("placet.toml");
    fs::write(&here, "[protected]\npaths = [\"*.pem\"]\n").unwrap();
    let run = || home.command(&["check", "--protected"]).current_dir(home.workspace()).output();
    let output = run().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let root = |path: std::path::PathBuf| path.canonicalize().unwrap().display().to_string();
    let (own, user, workspace) =
        (root(home.path()), root(home.path().join("placet.toml")), root(here.clone()));
    for line in [
        format!("denied      {own}  (Placet's own home)"),
        "credential  .ssh  (built in, keys)".to_owned(),
        format!("credential  ~/box  ({user})"),
        "protected   placet.toml  (built in, placet)".to_owned(),
        format!("protected   Deploy/  ({user})"),
        format!("protected   *.pem  ({workspace})"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is not in {text}");
    }
    fs::write(&here, "[protected]\npaths = [\"../x\"]\n").unwrap();
    let output = run().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("`../x`") && err.contains("line 2"), "{err}");
    let plain = home.command(&["check"]).current_dir(home.workspace()).output().unwrap();
    assert_eq!(plain.status.code(), Some(3), "what is wrong there is told by `check` as well");
}

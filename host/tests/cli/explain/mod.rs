//! `placet explain`: what other products' users reported, line by line, and what a person reads.

mod mutations;
mod reports;

use crate::common::Home;
use reports::{Line, World};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The kinds of reports that these tests answer for.
const KINDS: [&str; 6] = ["shell", "cve", "path", "network", "grants", "modes"];

/// Whether mutations are tried for a report: shell and cve.
fn is_mutated(id: &str) -> bool {
    id.starts_with("SH-") || id.starts_with("CV-")
}

/// Runs lines that are named and says which do not come out as they must.
fn compare(named: Vec<(String, Line)>) {
    let world = World::new();
    let (names, lines): (Vec<String>, Vec<Line>) = named.into_iter().unzip();
    let mut wrong = Vec::new();
    for ((name, line), found) in names.iter().zip(&lines).zip(world.explain(&lines)) {
        let failures = line.wrong(&found, world.root());
        match (&line.open, failures.is_empty()) {
            (None, true) | (Some(_), false) => {}
            (None, false) => wrong.push(format!(
                "{name} {}\n    {}\n    {}",
                Value::Object(line.say.clone()),
                failures.join("\n    "),
                found["reason"]
            )),
            (Some(open), true) => {
                wrong.push(format!("{name} comes out right, and is marked as open: {open}"));
            }
        }
    }
    println!("field reports: {} lines", lines.len());
    assert!(wrong.is_empty(), "{} of {} are wrong\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}

#[test]
fn every_line_of_the_field_reports_comes_out_as_said() {
    let lines = reports::read().reports.into_iter().flat_map(|report| {
        (1..).zip(report.lines).map(move |(index, line)| (format!("{}.{index}", report.id), line))
    });
    compare(lines.collect());
}

#[test]
fn spacing_wrappers_and_quoting_keep_the_verdict() {
    let mut mutated = Vec::new();
    for report in reports::read().reports.into_iter().filter(|report| is_mutated(&report.id)) {
        let commands = report.lines.iter().filter(|line| line.command().is_some());
        assert!(commands.count() > 0, "{} has no command", report.id);
        for (index, line) in (1..).zip(&report.lines) {
            let mutations = line.command().map(|command| mutations::of(&command));
            for (name, command) in mutations.into_iter().flatten() {
                if !line.mutations.contains_key(name) {
                    let changed = Line::verdict_only(line.with(command));
                    mutated.push((format!("{}.{index} {name}", report.id), changed));
                }
            }
            for (name, reason) in &line.mutations {
                assert!(["spacing", "wrapper", "quoting"].contains(&name.as_str()), "{name}");
                assert!(reason.as_str().is_some_and(|reason| !reason.is_empty()), "{name}");
            }
        }
    }
    compare(mutated);
}

#[test]
fn every_field_report_is_accounted_for_once() {
    let reports = reports::read();
    let mut named: Vec<&str> = Vec::new();
    named.extend(reports.reports.iter().map(|report| report.id.as_str()));
    named.extend(reports.cases.iter().map(|case| case.id.as_str()));
    named.extend(reports.systems.iter().map(|system| system.id.as_str()));
    named.sort_unstable();
    let mut ids: Vec<&str> = reports.ids.iter().map(String::as_str).collect();
    ids.sort_unstable();
    assert_eq!(named, ids);
    assert!(reports.reports.iter().all(|report| !report.lines.is_empty()));
    assert!(reports.systems.iter().all(|system| !system.why.is_empty()));

    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let listed: BTreeSet<String> = ["tests/cases.txt", "tests/clients/python/cases.txt"]
        .into_iter()
        .flat_map(|file| {
            let text = fs::read_to_string(repository.join(file)).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    for case in &reports.cases {
        assert!(listed.contains(&case.case), "{}: there is no case {}", case.id, case.case);
        assert!(!case.why.is_empty(), "{}", case.id);
    }

    let corpus = repository.join("../shared/corpus/field_reports.jsonl");
    if let Ok(text) = fs::read_to_string(&corpus) {
        let found = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ours = found.filter(|report| KINDS.iter().any(|kind| report["kind"] == *kind));
        let mut theirs: Vec<String> =
            ours.map(|report| report["id"].as_str().unwrap().to_owned()).collect();
        theirs.sort_unstable();
        assert_eq!(theirs, ids, "{}", corpus.display());
    }
}

/// What a person reads about a command in an empty workspace.
fn read(home: &Home, arguments: &[&str]) -> String {
    let ended = home.command(arguments).current_dir(home.workspace()).output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), err.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn a_person_reads_the_verdict_its_rule_and_every_stage() {
    let home = Home::new();
    let rules = "[[rule]]\nid = \"build\"\neffect = \"allow\"\nshell = [\"make\", \"build\"]\n\n\
                 [[rule]]\neffect = \"deny\"\nshell = [\"rm\"]\nmessage = \"move it away\"\n";
    fs::write(home.path().join("placet.toml"), rules).unwrap();
    let check = |command: &str, words: &[&str]| {
        let text = read(&home, &["explain", command]);
        for word in words {
            assert!(text.contains(word), "{command}: {word:?} is not in\n{text}");
        }
        text
    };
    check("ls | head", &["allow: ", "stage 1   [0..2] ls -- only reads", "stage 2   [5..9] head"]);
    check("make build", &["allow: ", "rule build"]);
    check(
        "make test; git push",
        &[
            "ask: `make test` is not covered",
            "mode      promptUnmatched",
            "not covered",
            "git push",
        ],
    );
    check("ls && rm x", &["deny: ", "move it away", "placet.toml:6"]);
    check("timeout 9 rm x", &["deny: ", "runs rm x"]);
    check("echo x > out", &["ask: ", "it writes to `out`"]);
    let text = check("echo a\u{200b}\u{202e}b\t; touch x", &["\\u{200b}", "\\u{202e}", "touch x"]);
    assert!(!text.contains(['\u{200b}', '\u{202e}', '\t']), "{text}");
    let text = read(&home, &["explain", "--mode", "denyUnmatched", "make test"]);
    assert!(text.starts_with("deny: "), "{text}");
    let found: Value = serde_json::from_str(&read(&home, &["explain", "--json", "rm x"])).unwrap();
    assert_eq!((&found["verdict"], &found["row"]), (&"deny".into(), &"denyRule".into()), "{found}");
    assert!(!home.workspace().join("out").exists() && !home.database().exists(), "nothing ran");
}

#[test]
fn a_draft_is_used_instead_of_the_rules_in_force() {
    let home = Home::new();
    let rule = |effect: &str| format!("[[rule]]\neffect = \"{effect}\"\nshell = [\"make\"]\n");
    fs::write(home.path().join("placet.toml"), rule("deny")).unwrap();
    fs::write(home.workspace().join("draft.toml"), rule("allow")).unwrap();
    assert!(read(&home, &["explain", "make"]).starts_with("deny: "));
    let text = read(&home, &["explain", "--rules", "draft.toml", "make"]);
    assert!(text.starts_with("allow: "), "{text}");
}

#[test]
fn a_line_that_makes_no_sense_is_named() {
    let home = Home::new();
    let check = |lines: &str, words: &[&str]| {
        let file = home.workspace().join("lines");
        fs::write(&file, lines).unwrap();
        let mut command = home.command(&["explain", "--jsonl"]);
        let ended = command.stdin(fs::File::open(file).unwrap()).output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{lines}: {err}");
        for word in words {
            assert!(err.contains(word), "{lines}: {word:?} is not in {err}");
        }
    };
    check("\"ls\"\n\nls\n", &["line 3", "no JSON"]);
    check("{\"command\":\"ls\",\"frob\":1}", &["line 1", "frob"]);
    check("{}", &["line 1", "neither"]);
    check("{\"command\":\"ls\",\"tool\":\"x\"}", &["line 1", "stands alone"]);
    check("{\"command\":\"ls\",\"mode\":\"yolo\"}", &["yolo"]);
    check(
        "{\"command\":\"ls\",\"facts\":[{\"path\":\"a\",\"class\":\"mine\"}]}",
        &["line 1", "mine"],
    );
}

/// What is said first about a command, with these rules as the user's own.
fn verdict(rules: &str, command: &str, word: &str) {
    let home = Home::new();
    fs::write(home.path().join("placet.toml"), rules).unwrap();
    let said = read(&home, &["explain", command]);
    assert!(said.starts_with(word), "{rules}\n{command}\n{said}");
}

#[test]
fn a_users_own_commands_are_safe_and_lift_nothing() {
    let rules = "[[safe]]\ncommand = \"mytool list\"\nflags = \"-n=\"\n\n\
                 [[safe]]\ncommand = \"git frobnicate\"\n\n\
                 [[safe]]\ncommand = \"sort\"\nflags = \"-o=\"\noperands = \"any\"\n";
    let check = |command: &str, word: &str| verdict(rules, command, word);
    check("mytool list -n 5 | head", "allow");
    check("mytool list --all", "ask");
    check("mytool list > out", "ask");
    check("git frobnicate", "allow");
    check("sort -o out in", "ask");
    verdict("", "mytool list", "ask");
    // A file that cannot be relied on calls nothing safe.
    verdict(&format!("{rules}\n[[safe]]\nflags = \"-n\"\n"), "mytool list", "ask");
}

#[test]
fn what_xargs_adds_may_only_be_read() {
    verdict("", "ls | xargs cat", "allow");
    verdict("", "ls | xargs -n 1 wc -l", "allow");
    verdict("", "ls | xargs sort", "ask");
    verdict("", "ls | xargs rm", "ask");
    verdict("", "ls | xargs -I{} cat {}", "ask");
    // A rule about files cannot see them.
    let rules = "[[rule]]\neffect = \"deny\"\nfile = \"~/.ssh/**\"\n";
    verdict(rules, "ls | xargs cat", "ask");
}

//! A fixed list of tricks, each with what bash really starts: the oracle must see
//! it, and the stages must cover it.

use placet_tests::oracle::check::{Report, check};
use placet_tests::oracle::cover::Shown;
use placet_tests::oracle::names::names;
use placet_tests::oracle::sandbox::{Sandbox, Start};
use placet_tests::vectors;
use serde::Deserialize;

use super::{inside, nothing_uncovered};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trick {
    command: String,
    /// The programs that start, sorted: their words.
    runs: Vec<Vec<String>>,
    /// Whether every stage is complete, where that is what the line is about.
    complete: Option<bool>,
}

/// The bash whose starts are listed; others differ here and there.
const LISTED_FOR: &str = "5.2.";

#[test]
fn every_trick_runs_what_is_listed_and_nothing_that_was_not_shown() {
    let tricks: Vec<Trick> = vectors::read("oracle.json").unwrap();
    let mut sandbox = Sandbox::start(inside()).unwrap();
    let version = sandbox.run("echo $BASH_VERSION >&2", &[], false).unwrap().errors;
    let mut report = Report::default();
    let mut wrong = Vec::new();
    for trick in &tricks {
        if version.starts_with(LISTED_FOR) {
            let ran = sandbox.run(&trick.command, &names(&trick.command), false).unwrap();
            let mut started: Vec<_> = ran.starts.iter().map(words).collect();
            started.sort();
            if started != trick.runs {
                wrong.push(format!("{:?} ran {started:?}: {}", trick.command, ran.errors));
            }
        }
        if trick.complete.is_some_and(|wanted| Shown::of(&trick.command).complete() != wanted) {
            wrong.push(format!("{:?} is complete or not", trick.command));
        }
        report.add(check(&mut sandbox, &trick.command, true).unwrap());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    nothing_uncovered("tricks", &report);
}

fn words(start: &Start) -> Vec<String> {
    start.argv.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

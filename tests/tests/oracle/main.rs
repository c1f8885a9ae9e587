//! What ran is what was shown: commands run in real bash, in a sandbox of stubs,
//! and every program that started must be covered by a stage.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod corpus;
mod fuel;
mod fuzz;
mod generated;
mod sandbox;
mod tricks;

use std::path::Path;

use placet_tests::oracle::check::Report;
use placet_tests::oracle::minimize::minimize;
use placet_tests::oracle::sandbox::Sandbox;

/// Findings that are made smaller and shown.
const FINDINGS_SHOWN_MAX: usize = 60;

/// Commands of which every stage must be complete, of a thousand.
const PLAIN_COMPLETE_PERMILLE: usize = 990;
const GENERATED_COMPLETE_PERMILLE: usize = 600;

/// The program inside the sandbox.
fn inside() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_oracle-inside"))
}

/// Prints the figures, and fails with what nobody was shown.
fn nothing_uncovered(what: &str, report: &Report) {
    println!("{what}: {}", report.figures());
    let found = &report.uncovered;
    if found.is_empty() {
        return;
    }
    let mut sandbox = Sandbox::start(inside()).unwrap();
    let mut told = std::collections::BTreeSet::new();
    for finding in found.iter().take(FINDINGS_SHOWN_MAX) {
        let (command, ran) = minimize(&mut sandbox, &finding.command).unwrap();
        if told.insert(command.clone()) {
            println!("  {command:?} ran {ran}; found in {:?}", finding.command);
        }
    }
    panic!("{what}: {} commands ran what was not shown", found.len());
}

fn enough_complete(what: &str, report: &Report, permille: usize) {
    let enough = report.complete_commands * 1_000 >= report.commands * permille;
    assert!(enough, "{what}: too few complete: {}", report.figures());
}

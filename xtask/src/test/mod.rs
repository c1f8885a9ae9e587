//! `cargo xtask test`: every stage in order, a table at the end, and the line that CI reads.

pub(crate) mod clients;
mod libtest;
mod stages;
mod tally;

use std::io::stdout;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::stream::{End, stream};
use crate::workspace::Workspace;
use libtest::Libtest;
use stages::{Format, RUST_CASES, STAGES, Stage, cargo_test};
use tally::{Tally, plain_line};

/// What a cold run on two cores should take.
const BUDGET: Duration = Duration::from_secs(45 * 60);
/// What no run may take.
const LIMIT: Duration = Duration::from_secs(75 * 60);

/// How a stage went.
struct Row {
    name: &'static str,
    tally: Tally,
    took: Duration,
}

/// The names for `--only`.
pub(crate) fn stage_names() -> Vec<&'static str> {
    STAGES.iter().map(|stage| stage.name).collect()
}

/// Runs the stages, or those named with what they need; whether every case passed.
pub(crate) fn run(workspace: &Workspace, only: &[String]) -> anyhow::Result<bool> {
    // Asked before cargo links this program anew: afterwards the path would name a deleted file.
    let xtask = std::env::current_exe().context("this program does not know its own path")?;
    let chosen = with_needs(only);
    let begin = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    for stage in STAGES.iter().filter(|stage| chosen.contains(&stage.name)) {
        println!("\n==== {} ====", stage.name);
        let start = Instant::now();
        let broken: Vec<&str> = stage
            .needs
            .iter()
            .filter(|need| {
                rows.iter().any(|row| row.name == **need && !row.tally.failed.is_empty())
            })
            .copied()
            .collect();
        let tally = if broken.is_empty() {
            run_stage(workspace, &xtask, stage, begin + LIMIT).unwrap_or_else(|error| {
                let mut tally = Tally::default();
                tally.problem(format!("{error:#}"));
                tally
            })
        } else {
            let mut tally = Tally::default();
            tally.problem(format!("not run, because {} failed", broken.join(" and ")));
            tally
        };
        rows.push(Row { name: stage.name, tally, took: start.elapsed() });
    }
    Ok(report(&rows, begin.elapsed()))
}

/// Lists the cases of the Rust tests and writes them to the list file.
pub(crate) fn write_cases(workspace: &Workspace) -> anyhow::Result<()> {
    let mut libtest = Libtest::default();
    let end = stream(cargo_test(workspace, &["--list"]), None, &mut stdout(), |line| {
        libtest.line(line);
    })?;
    if let End::Failure(why) = end {
        bail!("the cases could not be listed: {why}");
    }
    let names = libtest.tally.sorted_names();
    if names.is_empty() {
        bail!("cargo listed no case at all");
    }
    std::fs::write(workspace.root.join(RUST_CASES), names.join("\n") + "\n")
        .with_context(|| format!("could not write {RUST_CASES}"))?;
    println!("test: {} cases written to {RUST_CASES}", names.len());
    Ok(())
}

fn with_needs(only: &[String]) -> Vec<&'static str> {
    if only.is_empty() {
        return stage_names();
    }
    let mut chosen = Vec::new();
    for stage in STAGES.iter().rev() {
        let needed = chosen.iter().any(|name| {
            STAGES.iter().any(|other| other.name == *name && other.needs.contains(&stage.name))
        });
        if needed || only.iter().any(|name| name == stage.name) {
            chosen.push(stage.name);
        }
    }
    chosen
}

fn run_stage(
    workspace: &Workspace,
    xtask: &Path,
    stage: &Stage,
    deadline: Instant,
) -> anyhow::Result<Tally> {
    let mut libtest = Libtest::default();
    let end =
        stream(
            stage.command(workspace, xtask)?,
            Some(deadline),
            &mut stdout(),
            |line| match stage.format {
                Format::Whole => {}
                Format::Libtest => libtest.line(line),
                Format::Plain => plain_line(&mut libtest.tally, line),
            },
        )?;
    libtest.finish();
    let mut tally = libtest.tally;
    if let Some((listed, list)) = stage.listed(&workspace.root)? {
        tally.compare(&listed, list);
    }
    match end {
        End::Success if stage.format == Format::Whole => tally.pass(stage.name),
        End::Success => {}
        // A failed case explains the exit status; anything else must be told.
        End::Failure(_) if !tally.failed.is_empty() => {}
        End::Failure(why) => tally.problem(why),
    }
    Ok(tally)
}

/// The table, what failed, and as the very last line the counts that CI reads.
fn report(rows: &[Row], took: Duration) -> bool {
    println!("\n{:<12} {:<7} {:>7} {:>7} {:>9}", "stage", "result", "passed", "failed", "seconds");
    for row in rows {
        let (passed, failed) = (row.tally.passed.len(), row.tally.failed.len());
        let result = if failed == 0 { "ok" } else { "FAILED" };
        let seconds = row.took.as_secs_f64();
        println!("{:<12} {result:<7} {passed:>7} {failed:>7} {seconds:>9.1}", row.name);
    }
    let minutes = |time: Duration| time.as_secs_f64() / 60.0;
    println!(
        "total {:.1} min; budget {:.0} min cold on two cores, limit {:.0} min",
        minutes(took),
        minutes(BUDGET),
        minutes(LIMIT)
    );
    let mut failed: Vec<String> = rows
        .iter()
        .flat_map(|row| row.tally.failed.iter().map(|what| format!("{}: {what}", row.name)))
        .collect();
    if took > LIMIT {
        failed.push(format!("the run took longer than {:.0} min", minutes(LIMIT)));
    } else if took > BUDGET {
        println!("warning: the run is over its budget");
    }
    if !failed.is_empty() {
        println!("\nfailed:\n  {}", failed.join("\n  "));
    }
    let passed: usize = rows.iter().map(|row| row.tally.passed.len()).sum();
    println!("\n{passed} passed, {} failed", failed.len());
    failed.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brings_what_a_stage_needs() {
        let chosen = |name: &str| {
            let mut chosen = with_needs(&[name.to_owned()]);
            chosen.reverse();
            chosen
        };
        assert_eq!(chosen("tidy"), ["tidy"]);
        assert_eq!(chosen("rust"), ["setup", "components", "build", "rust"]);
        assert_eq!(with_needs(&[]).len(), STAGES.len());
    }

    #[test]
    fn the_report_fails_for_a_failed_case_and_for_time() {
        let row = |failed: bool| {
            let mut tally = Tally::default();
            if failed {
                tally.fail("a", "")
            } else {
                tally.pass("a")
            }
            [Row { name: "rust", tally, took: Duration::ZERO }]
        };
        assert!(report(&row(false), BUDGET));
        assert!(!report(&row(true), BUDGET));
        assert!(!report(&row(false), LIMIT + Duration::from_secs(1)));
    }
}

//! Real-client cases against a `placet` program: the Rust SDK's client, its connection, and its own examples.
//!
//!     cases --placet PATH --examples FOLDER [--only NAME]... [--list]
//!
//! One line for each case, `ok NAME  SECONDS` or `FAILED NAME: why`, then the
//! counts. Exit code 1 if a case failed or the cases differ from cases.txt, 2 for
//! a usage error.

mod approvals;
mod crash;
mod examples;
mod facade;
mod ground;
mod many;
mod modes;
mod refusals;
mod replays;
mod talk;
mod views;
mod wire;

use ground::{Outcome, Place};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

const LISTED: &str = include_str!("../../cases.txt");

/// The limit of one case.
const CASE: Duration = Duration::from_secs(180);

type Run = fn(Rc<Place>) -> Pin<Box<dyn Future<Output = Outcome>>>;
type Case = (&'static str, Run);

/// Registers functions under their own names.
#[macro_export]
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] =
            &[$((stringify!($name), |place| Box::pin(async move { $name(&place).await }))),+];
    };
}

struct Options {
    placet: PathBuf,
    examples: PathBuf,
    only: Vec<String>,
}

fn main() -> ExitCode {
    let groups = [
        approvals::CASES,
        crash::CASES,
        refusals::CASES,
        replays::CASES,
        modes::CASES,
        views::CASES,
        many::CASES,
        examples::CASES,
    ];
    let cases: Vec<Case> = groups.concat();
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["--list"] {
        cases.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let options = match options(&words, &cases) {
        Ok(options) => options,
        Err(mistake) => {
            eprintln!("cases: {mistake}");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cases: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let drift = drift(&cases);
    drift.iter().for_each(|line| println!("FAILED cases.txt: {line}"));
    let (mut passed, mut failed) = (0, drift.len());
    for (name, run) in cases {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        let begin = Instant::now();
        let outcome = Place::new(&options.placet, &options.examples).and_then(|place| {
            runtime.block_on(async {
                tokio::time::timeout(CASE, run(Rc::new(place)))
                    .await
                    .unwrap_or_else(|_| Err("the case took too long".into()))
            })
        });
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                passed += 1;
                println!("ok {name}  {seconds:.2}");
            }
            Err(error) => {
                failed += 1;
                println!("FAILED {name}: {error}");
            }
        }
    }
    ground::clean();
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options(words: &[String], cases: &[Case]) -> Result<Options, String> {
    let (mut placet, mut examples, mut only) = (None, None, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        let path = || std::path::absolute(value).map_err(|error| format!("{value}: {error}"));
        match word.as_str() {
            "--placet" => placet = Some(path()?),
            "--examples" => examples = Some(path()?),
            "--only" if cases.iter().any(|(name, _)| name == value) => only.push(value.clone()),
            "--only" => return Err(format!("there is no case {value}")),
            other => return Err(format!("there is no option {other}")),
        }
    }
    let placet = placet.ok_or("--placet names the program to test")?;
    let examples = examples.ok_or("--examples names the folder of the SDK's built examples")?;
    if !placet.is_file() {
        return Err(format!("there is no program at {}", placet.display()));
    }
    Ok(Options { placet, examples, only })
}

/// How cases.txt and the registered cases differ.
fn drift(cases: &[Case]) -> Vec<String> {
    let listed: Vec<&str> = LISTED.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let registered: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
    let absent = listed.iter().filter(|name| !registered.contains(name));
    let unlisted = registered.iter().filter(|name| !listed.contains(name));
    absent
        .map(|name| format!("it lists {name}, which no module registers"))
        .chain(unlisted.map(|name| format!("{name} is registered but not listed")))
        .collect()
}

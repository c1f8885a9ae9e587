//! Everything a developer of Placet runs; `cargo xtask help` lists the verbs.

mod components;
mod demo;
mod process;
mod setup;
mod stream;
mod test;
mod tidy;
mod usage;
mod wasm;
mod workspace;

use std::process::{Command, ExitCode};

use usage::{USAGE, Verb, parse};
use workspace::{Workspace, cargo};

/// Whether everything that the verb looked at was fine.
fn run(verb: Verb) -> anyhow::Result<bool> {
    let workspace = Workspace::locate()?;
    match verb {
        Verb::Help => print!("{USAGE}"),
        Verb::Setup => setup::run_all(&workspace)?,
        Verb::Components => components::run(&workspace)?,
        Verb::Tidy => tidy::run(&workspace)?,
        Verb::Test { only } => return test::run(&workspace, &only),
        Verb::WriteCases => test::write_cases(&workspace)?,
        Verb::Demo { placet, check: false } => demo::run(&workspace, placet)?,
        Verb::Demo { placet, check: true } => demo::check(&workspace, placet)?,
        Verb::Torture { rest } => {
            components::run(&workspace)?;
            process::run(process::cargo_in(&workspace.root, cargo()).args(["build", "--locked"]))?;
            process::run(Command::new(workspace.torture()).args(rest))?;
        }
        Verb::Bench { rest } => {
            components::run(&workspace)?;
            // The dev profile and the default members: what `test` has built is used again.
            let mut bench = process::cargo_in(&workspace.root, cargo());
            bench.args(["bench", "--locked", "--profile", "dev", "--bench", "*"]).args(rest);
            process::run(&mut bench)?;
        }
    }
    Ok(true)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verb = match parse(&arguments) {
        Ok(verb) => verb,
        Err(mistake) => {
            eprintln!("error: {mistake}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

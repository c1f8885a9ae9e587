//! Everything a developer of Placet runs; `cargo xtask help` lists the verbs.

mod components;
mod process;
mod wasm;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask VERB

  components   build, encode and inspect the policy component and the four modes

examples:
  cargo xtask components
  PLACET_WASM_TOOLCHAIN=debian cargo xtask components   force one wasm toolchain (rustup or debian)
";

/// What the command line asks for.
enum Verb {
    Help,
    Components,
}

fn parse(arguments: &[String]) -> Result<Verb, String> {
    let Some((verb, rest)) = arguments.split_first() else {
        return Err("a verb is missing".to_owned());
    };
    let parsed = match verb.as_str() {
        "help" | "--help" | "-h" => return Ok(Verb::Help),
        "components" => Verb::Components,
        other => return Err(format!("there is no verb `{other}`")),
    };
    match rest.first() {
        Some(extra) => Err(format!("`{verb}` takes no argument `{extra}`")),
        None => Ok(parsed),
    }
}

fn run(verb: Verb) -> anyhow::Result<()> {
    let workspace = Workspace::locate()?;
    match verb {
        Verb::Help => print!("{USAGE}"),
        Verb::Components => components::run(&workspace)?,
    }
    Ok(())
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
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

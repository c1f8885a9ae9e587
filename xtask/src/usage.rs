//! The command line: verbs, their options and the text that explains them.

use std::path::PathBuf;

use crate::test::stage_names;

/// What `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
usage: cargo xtask VERB [OPTIONS]

  setup                    install what the other verbs need: wasm toolchain, Python environment, Rust SDK
  components               build, encode and inspect the policy component and the four modes
  demo                     ask, decide, run, kill, recover, verify: the main job, told step by step
      --placet PATH        use this binary and build nothing
      --check              run the demo and check each of its claims
  test                     run every stage and print a table of cases and seconds
      --only STAGE         this stage and what it needs; may be repeated
      --write-cases        list the Rust cases and write them to tests/cases.txt
  torture                  kill hosts under load at random moments, and hold what they told against the log
      --seconds N          for so long (30)
      --kills N            or until so many kills
      --seed N             where choices come from, also $PLACET_SEED
  tidy                     check boundaries, layout and left-overs
  bench [-- OPTIONS]       run the benches; OPTIONS go to criterion
  help                     print this text

environment:
  PLACET_WASM_TOOLCHAIN    rustup or debian: use this wasm toolchain and no other

examples:
  cargo xtask demo
  cargo xtask test
  cargo xtask test --only python
  PLACET_WASM_TOOLCHAIN=debian cargo xtask components
";

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Print the usage.
    Help,
    /// Install what the others need.
    Setup,
    /// Build and inspect the components.
    Components,
    /// Run the checks on the sources.
    Tidy,
    /// Run the stages, or some.
    Test {
        /// Names of stages; empty means all.
        only: Vec<String>,
    },
    /// Write the list of Rust cases.
    WriteCases,
    /// Run the demo.
    Demo {
        /// The binary to use, built when none is given.
        placet: Option<PathBuf>,
        /// Whether the demo's output is checked.
        check: bool,
    },
    /// Kill hosts and check what is left.
    Torture {
        /// What is handed on to the torturer.
        rest: Vec<String>,
    },
    /// Run the benches.
    Bench {
        /// What is handed on to cargo.
        rest: Vec<String>,
    },
}

/// Reads the command line; the error is a sentence for the person who typed it.
pub(crate) fn parse(arguments: &[String]) -> Result<Verb, String> {
    let Some((verb, rest)) = arguments.split_first() else {
        return Err("a verb is missing".to_owned());
    };
    if rest.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        return Ok(Verb::Help);
    }
    match verb.as_str() {
        "help" | "--help" | "-h" => Ok(Verb::Help),
        "setup" => alone(verb, rest, Verb::Setup),
        "components" => alone(verb, rest, Verb::Components),
        "tidy" => alone(verb, rest, Verb::Tidy),
        "test" => test(rest),
        "demo" => demo(rest),
        "torture" => torture(rest),
        "bench" => Ok(Verb::Bench { rest: rest.to_vec() }),
        other => Err(format!("there is no verb `{other}`")),
    }
}

fn alone(name: &str, rest: &[String], verb: Verb) -> Result<Verb, String> {
    match rest.first() {
        Some(extra) => Err(format!("`{name}` takes no argument `{extra}`")),
        None => Ok(verb),
    }
}

fn test(rest: &[String]) -> Result<Verb, String> {
    let (mut only, mut write) = (Vec::new(), false);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--write-cases" => write = true,
            "--only" => {
                let stages = stage_names().join(", ");
                let name = words.next().ok_or(format!("--only needs a stage: {stages}"))?;
                if !stage_names().contains(&name.as_str()) {
                    return Err(format!("there is no stage `{name}`; the stages are {stages}"));
                }
                only.push(name.clone());
            }
            other => return Err(format!("`test` takes no argument `{other}`")),
        }
    }
    match (write, only.is_empty()) {
        (true, false) => Err("--write-cases runs no stage, so --only makes no sense".to_owned()),
        (true, true) => Ok(Verb::WriteCases),
        (false, _) => Ok(Verb::Test { only }),
    }
}

fn torture(rest: &[String]) -> Result<Verb, String> {
    for pair in rest.chunks(2) {
        let (name, number) = match pair {
            [name, number] => (name, number.parse::<u64>().is_ok()),
            [name] => (name, false),
            _ => continue,
        };
        match (name.as_str(), number) {
            ("--seconds" | "--kills" | "--seed", true) => {}
            ("--seconds" | "--kills" | "--seed", false) => {
                return Err(format!("{name} needs a number"));
            }
            (other, _) => return Err(format!("`torture` takes no argument `{other}`")),
        }
    }
    Ok(Verb::Torture { rest: rest.to_vec() })
}

fn demo(rest: &[String]) -> Result<Verb, String> {
    let (mut placet, mut check) = (None, false);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => check = true,
            "--placet" => {
                placet = Some(PathBuf::from(words.next().ok_or("--placet needs a path")?));
            }
            other => return Err(format!("`demo` takes no argument `{other}`")),
        }
    }
    Ok(Verb::Demo { placet, check })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Verb, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn good_lines() {
        assert_eq!(parsed("test"), Ok(Verb::Test { only: Vec::new() }));
        let two = vec!["tidy".to_owned(), "rust".to_owned()];
        assert_eq!(parsed("test --only tidy --only rust"), Ok(Verb::Test { only: two }));
        let placet = Some(PathBuf::from("p"));
        assert_eq!(parsed("demo --check --placet p"), Ok(Verb::Demo { placet, check: true }));
        let rest = ["--kills", "9", "--seed", "4"].map(str::to_owned).to_vec();
        assert_eq!(parsed("torture --kills 9 --seed 4"), Ok(Verb::Torture { rest }));
        assert_eq!(parsed("test --help"), Ok(Verb::Help));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, part) in [
            ("", "a verb is missing"),
            ("tets", "no verb `tets`"),
            ("tidy now", "no argument `now`"),
            ("test --only", "needs a stage"),
            ("test --only nothing", "the stages are setup"),
            ("demo --placet", "needs a path"),
            ("torture --kills", "needs a number"),
            ("torture --seconds soon", "needs a number"),
            ("torture now", "no argument `now`"),
        ] {
            let mistake = parsed(line).unwrap_err();
            assert!(mistake.contains(part), "{line}: {mistake}");
        }
    }

    #[test]
    fn the_usage_names_every_verb() {
        for verb in ["setup", "components", "demo", "test", "torture", "tidy", "bench", "help"] {
            assert!(USAGE.contains(&format!("\n  {verb}")), "{verb}");
        }
    }
}

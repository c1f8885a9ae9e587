//! `cargo xtask demo --check`: what the demo's output claims, held against the world.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use uuid::Uuid;

use super::say::Told;
use crate::stream::{End, stream};

/// What the demo said, and the program to ask again.
struct Scene<'a> {
    told: &'a Told,
    placet: &'a Path,
}

type Claim = fn(&Scene<'_>) -> Result<(), String>;

const CLAIMS: [(&str, Claim); 10] = [
    ("asked_before_it_ran", asked_before_it_ran),
    ("output_is_the_files_content", output_is_the_files_content),
    ("nothing_ran_while_pending", nothing_ran_while_pending),
    ("another_process_took_over", another_process_took_over),
    ("old_approval_closed", old_approval_closed),
    ("late_decision_refused", late_decision_refused),
    ("successor_follows_from_the_old_id", successor_follows_from_the_old_id),
    ("second_command_ran_exactly_once", second_command_ran_exactly_once),
    ("chain_is_intact", chain_is_intact),
    ("log_shows_the_session", log_shows_the_session),
];

/// The name of every claim.
pub(crate) fn names() -> Vec<String> {
    CLAIMS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Runs the demo as a process of its own and checks each claim; removes its folder when all hold.
pub(crate) fn check(placet: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program does not know its own path")?;
    let mut command = Command::new(program);
    command.arg("demo").arg("--placet").arg(placet);
    let mut told = Told::default();
    let end = stream(command, None, &mut std::io::stdout(), |line| told.line(line))?;
    println!();
    let scene = Scene { told: &told, placet };
    let mut failed = 0_usize;
    for (name, claim) in CLAIMS {
        match claim(&scene) {
            Ok(()) => println!("ok {name}"),
            Err(why) => {
                failed += 1;
                println!("FAILED {name}\n  {why}");
            }
        }
    }
    if let End::Failure(why) = end {
        bail!("{why}");
    }
    if failed > 0 {
        bail!("{failed} of {} claims do not hold", CLAIMS.len());
    }
    let home = Path::new(told.fact("home").unwrap_or_default());
    if let Some(root) = home.parent() {
        std::fs::remove_dir_all(root)
            .with_context(|| format!("could not remove {}", root.display()))?;
    }
    Ok(())
}

fn equal(what: &str, found: &str, expected: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is {found:?}, expected {expected:?}"))
}

fn fact_is(scene: &Scene<'_>, name: &str, expected: &str) -> Result<(), String> {
    equal(name, scene.told.fact(name)?, expected)
}

fn file(scene: &Scene<'_>, name: &str) -> Result<String, String> {
    let path = Path::new(scene.told.fact("workspace")?).join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

fn asked_before_it_ran(scene: &Scene<'_>) -> Result<(), String> {
    fact_is(scene, "greeting.txt before the decision", "absent")?;
    let decisions: usize =
        scene.told.fact("decisions")?.parse().map_err(|_| "no number of decisions")?;
    if decisions == 0 { Err("nobody decided".to_owned()) } else { Ok(()) }
}

fn output_is_the_files_content(scene: &Scene<'_>) -> Result<(), String> {
    let content = file(scene, "greeting.txt")?;
    equal("greeting.txt", &content, "hello from placet\n")?;
    equal("the output of the first command", scene.told.quote("first command")?, &content)
}

fn nothing_ran_while_pending(scene: &Scene<'_>) -> Result<(), String> {
    fact_is(scene, "survivor.txt after the kill", "absent")?;
    fact_is(scene, "survivor.txt before the decision", "absent")
}

fn another_process_took_over(scene: &Scene<'_>) -> Result<(), String> {
    let (first, second) = (scene.told.fact("first host")?, scene.told.fact("second host")?);
    fact_is(scene, "killed with SIGKILL", first)?;
    if first == second { Err(format!("both hosts are {first}")) } else { Ok(()) }
}

fn old_approval_closed(scene: &Scene<'_>) -> Result<(), String> {
    let old = scene.told.fact("pending approval")?;
    fact_is(scene, "old approval", &format!("{old} abort"))?;
    fact_is(scene, "pending requests after the restart", "1")
}

fn late_decision_refused(scene: &Scene<'_>) -> Result<(), String> {
    fact_is(scene, "late decision", "-32051 approvalAlreadyResolved")
}

fn successor_follows_from_the_old_id(scene: &Scene<'_>) -> Result<(), String> {
    let old = scene.told.fact("pending approval")?;
    let id = Uuid::parse_str(old).map_err(|error| format!("{old}: {error}"))?;
    let expected = Uuid::new_v5(&id, b"placet/successor").to_string();
    fact_is(scene, "successor approval", &expected)?;
    if expected == old { Err("the id did not change".to_owned()) } else { Ok(()) }
}

fn second_command_ran_exactly_once(scene: &Scene<'_>) -> Result<(), String> {
    fact_is(scene, "executions of the second command", "1")?;
    equal("survivor.txt", &file(scene, "survivor.txt")?, "approved after the crash\n")
}

fn chain_is_intact(scene: &Scene<'_>) -> Result<(), String> {
    fact_is(scene, "log verify", "exit status: 0")?;
    let said = scene.told.quote("log verify")?;
    if !said.contains("intact") {
        return Err(format!("verify did not say that the chain is intact: {said}"));
    }
    let again = Command::new(scene.placet)
        .args(["log", "verify", scene.told.fact("session")?])
        .env("PLACET_HOME", scene.told.fact("home")?)
        .output()
        .map_err(|error| error.to_string())?;
    equal("a second log verify", &String::from_utf8_lossy(&again.stdout), said)
}

fn log_shows_the_session(scene: &Scene<'_>) -> Result<(), String> {
    fact_is(scene, "log show", "exit status: 0")?;
    let shown = scene.told.quote("log show")?;
    for name in ["first approval", "pending approval", "successor approval"] {
        let id = scene.told.fact(name)?;
        for mark in ["opens", "closes"] {
            let count = shown.matches(&format!("{mark} {id}")).count();
            equal(&format!("records where the log {mark} the {name}"), &count.to_string(), "1")?;
        }
    }
    let starts = shown.matches(" starts ").count();
    equal("executions in the log", &starts.to_string(), "2")?;
    let database = Path::new(scene.told.fact("database")?);
    if database.is_file() { Ok(()) } else { Err(format!("there is no {}", database.display())) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const OLD: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn verdict(claim: Claim, output: &str) -> Result<(), String> {
        let mut told = Told::default();
        output.lines().for_each(|line| told.line(line));
        claim(&Scene { told: &told, placet: Path::new("no-such-program") })
    }

    #[test]
    fn every_claim_fails_when_nothing_was_told() {
        for (name, claim) in CLAIMS {
            assert!(verdict(claim, "").is_err(), "{name}");
        }
    }

    #[test]
    fn only_the_derived_successor_is_accepted() {
        let derived = Uuid::new_v5(&Uuid::parse_str(OLD).unwrap(), b"placet/successor");
        let output =
            |id: &str| format!("   - pending approval: {OLD}\n   - successor approval: {id}\n");
        let claim = successor_follows_from_the_old_id;
        assert_eq!(verdict(claim, &output(&derived.to_string())), Ok(()));
        assert!(verdict(claim, &output(OLD)).is_err());
        assert!(verdict(claim, &output("01890a5d-ac96-774b-bcce-b302099a8058")).is_err());
    }

    #[test]
    fn a_second_execution_is_found() {
        let folder = std::env::temp_dir().join(format!("placet-claims-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let claim = second_command_ran_exactly_once;
        let output = format!(
            "   - workspace: {}\n   - executions of the second command: 1\n",
            folder.display()
        );
        std::fs::write(folder.join("survivor.txt"), "approved after the crash\n").unwrap();
        assert_eq!(verdict(claim, &output), Ok(()));
        std::fs::write(folder.join("survivor.txt"), "approved after the crash\n".repeat(2))
            .unwrap();
        assert!(verdict(claim, &output).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

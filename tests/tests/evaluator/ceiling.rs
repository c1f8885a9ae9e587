//! The order of authority (msp.md 16.3) as 4 × 4 vectors, for the start of a
//! session and for a change of its mode.

use crate::check;
use anyhow::{Result, ensure};
use placet_tests::pair::Pair;
use placet_tests::script::Script;
use serde::Deserialize;
use std::io::Write as _;

#[derive(Deserialize)]
struct Ceiling {
    sealed: String,
    reachable: Vec<String>,
}

const MODES: [&str; 4] = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"];

#[test]
fn sixteen_pairs_at_the_start_and_as_a_change() -> Result<()> {
    let ceilings: Vec<Ceiling> = placet_tests::vectors::read("ceiling.json")?;
    ensure!(ceilings.len() == MODES.len());
    let mut pairs = 0;
    for Ceiling { sealed, reachable } in &ceilings {
        for mode in MODES {
            let allowed = reachable.iter().any(|word| word == mode);
            let refused = "refused rejected(approval_mode_ceiling)".to_owned();

            let mut script = Script::new(Pair::new()?);
            let started = script.run(&format!("start {mode} seal={sealed}"))?.unwrap_or_default();
            let expected =
                if allowed { format!("sessionStarted({mode})") } else { refused.clone() };
            ensure!(started == expected, "start {mode} under {sealed}: {started}");

            // The session's own seal is what it started in, whatever the caller may.
            let mut script = Script::new(Pair::new()?);
            script.run(&format!("start {sealed}"))?;
            let changed = script.run(&format!("mode {mode}"))?.unwrap_or_default();
            let expected = match (allowed, mode == sealed) {
                (true, true) => "commandNoted".to_owned(),
                (true, false) => format!("modeChanged({mode})"),
                (false, _) => refused.clone(),
            };
            ensure!(changed == expected, "mode {mode} in a session of {sealed}: {changed}");

            // The caller's seal bounds it too.
            let mut script = Script::new(Pair::new()?);
            script.run("start allowAll")?;
            let changed = script.run(&format!("mode {mode} seal={sealed}"))?.unwrap_or_default();
            let accepted = changed != refused;
            ensure!(accepted == allowed, "mode {mode} from a caller of {sealed}: {changed}");
            pairs += 1;
        }
    }
    writeln!(std::io::stdout(), "ceiling: {pairs} pairs, three ways each")?;
    Ok(())
}

#[test]
fn the_seal_and_not_the_held_mode_is_the_ceiling() -> Result<()> {
    check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > mode denyUnmatched
        modeChanged(denyUnmatched)
        > mode onRequest
        modeChanged(onRequest)
        > mode allowAll
        modeChanged(allowAll)
        > mode allowAll
        commandNoted
        > mode allowAll withheld=allowAll
        refused rejected(approval_mode_ceiling)
        > mode yolo
        refused invalid
        ",
    )?;
    Ok(())
}

#[test]
fn the_default_is_prompt_unmatched_or_the_lower_seal() -> Result<()> {
    for (seal, mode) in [
        ("allowAll", "promptUnmatched"),
        ("promptUnmatched", "promptUnmatched"),
        ("onRequest", "onRequest"),
        ("denyUnmatched", "denyUnmatched"),
    ] {
        check(&format!("> start seal={seal}\nsessionStarted({mode})"))?;
    }
    check("> start seal=nonsense\nrefused rejected(approval_mode_ceiling)")?;
    check(
        "> start seal=allowAll withheld=promptUnmatched\nrefused rejected(approval_mode_ceiling)",
    )?;
    Ok(())
}

#[test]
fn a_turn_runs_under_the_seal_of_the_connection_that_started_it() -> Result<()> {
    check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > turn one seal=denyUnmatched
        turnStarted(one) userMessage -> begin(one)
        > propose i1 last : touch a
        actionProposed(i1 deny unconfined) itemEnded(i1 rejected denied) turnCompleted(one completed) -> settled(i1)
        > turn two
        turnStarted(two) userMessage -> begin(two)
        > propose i2 last : touch a
        actionProposed(i2 allow unconfined) executionStarted(i2) -> run(i2)
        ",
    )?;
    // A seal that has nothing in common with the session's: sealed off.
    check(
        "
        > start onRequest
        sessionStarted(onRequest)
        > turn one seal=denyUnmatched
        turnStarted(one) userMessage -> begin(one)
        > propose i1 asked : touch a
        actionProposed(i1 deny askedFor) itemEnded(i1 rejected denied) -> settled(i1)
        > propose i2 confined=bwrap : touch a
        actionProposed(i2 deny confined) itemEnded(i2 rejected denied) -> settled(i2)
        > propose i3 : ls
        actionProposed(i3 allow covered) executionStarted(i3) -> run(i3)
        ",
    )?;
    Ok(())
}

#[test]
fn the_lower_of_the_old_seal_and_todays_binds_after_a_restart() -> Result<()> {
    check(
        "
        > start allowAll
        sessionStarted(allowAll)
        > recover seal=promptUnmatched
        sessionLoaded(promptUnmatched)
        > mode allowAll
        refused rejected(approval_mode_ceiling)
        > turn one
        turnStarted(one) userMessage -> begin(one)
        > propose i1 : touch a
        actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
        > recover seal=onRequest
        sessionLoaded(onRequest) approvalResolved(A1 abort user) approvalOpened(A2 after A1 stage 0) -> ask(A2 stage 0)
        > mode denyUnmatched
        refused rejected(approval_mode_ceiling)
        ",
    )?;
    Ok(())
}

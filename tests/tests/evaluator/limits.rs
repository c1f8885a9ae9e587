//! Sessions at their limits: they can still be interrupted and loaded, within
//! what a host allows one input.

use anyhow::{Result, ensure};
use placet_policy::types::{Action, Reply};
use placet_tests::evaluator::Evaluator as _;
use placet_tests::pair::Pair;
use placet_tests::script::{Script, tool};
use placet_tests::session::caller;

/// A session with so many approvals open, each with so many bytes of arguments, or
/// with as many as are accepted.
fn pending(approvals: usize, bytes: usize) -> Result<Script<Pair>> {
    let mut script = Script::new(Pair::new()?);
    script.run("start promptUnmatched")?;
    script.run("turn one")?;
    script.session.whole_fold_every = 64;
    for index in 0..approvals {
        let args = format!("{{\"n\":{index},\"text\":\"{}\"}}", "x".repeat(bytes));
        let action = Action { item_id: format!("i{index}"), ..tool("search", &args) };
        if let Reply::Refused(_) = script.session.propose(&action, false)? {
            break;
        }
    }
    Ok(script)
}

#[test]
fn thirty_two_open_approvals_are_interrupted_and_recovered_in_few_calls() -> Result<()> {
    let calls_max = placet::limits::STEP_ROUNDS_MAX;
    let mut script = pending(32, 10)?;
    ensure!(script.session.ledger().pending.len() == 32);
    let loaded = script.session.recover(caller("allowAll"))?;
    ensure!(matches!(loaded, Reply::Done(_)), "{loaded:?}");
    let rounds = script.session.rounds_max;
    ensure!(rounds <= calls_max, "recovery took {rounds} calls of {calls_max}");

    let mut script = pending(32, 10)?;
    let stopped = script.run("stop")?.unwrap_or_default();
    ensure!(stopped.starts_with("turnStopRequested"), "{stopped}");
    let rounds = script.session.rounds_max;
    ensure!(rounds <= calls_max, "the interrupt took {rounds} calls of {calls_max}");
    Ok(())
}

/// What was accepted must never make a session that no host can load or stop.
#[test]
fn what_is_pending_always_fits_the_batch_that_recovers_it() -> Result<()> {
    let mut script = pending(32, 28 * 1024)?;
    script.session.asked()?;
    let loaded = script.session.recover(caller("allowAll"))?;
    ensure!(matches!(loaded, Reply::Done(_)), "recovery was answered {loaded:?}");
    let stopped = script.run("stop")?.unwrap_or_default();
    ensure!(stopped.starts_with("turnStopRequested"), "{stopped}");
    script.session.evaluator.asked()?;
    Ok(())
}

/// The largest turn that is accepted can be proposed, asked about, recovered,
/// granted for the session and ended.
#[test]
fn the_largest_turn_goes_all_the_way() -> Result<()> {
    // Quoted twice, as arguments in JSON in JSON, a quotation mark is four bytes.
    for (unit, bytes) in [("x", 1), ("\"", 4)] {
        let text = unit.repeat((placet_policy::limits::TURN_TEXT_BYTES_MAX - 64) / bytes);
        let mut script = Script::new(Pair::new()?);
        script.run("start")?;
        let begun = script.run(&format!("turn one : {text}"))?.unwrap_or_default();
        ensure!(begun.starts_with("turnStarted"), "{begun}");
        let mut run = |line: &str| -> Result<String> {
            let answer = script.run(line)?.unwrap_or_default();
            let verb = line.split(' ').next().unwrap_or_default();
            ensure!(!answer.starts_with("refused"), "{verb}: {answer}");
            Ok(answer)
        };
        run(&format!("propose i1 last : {text}"))?;
        run("recover")?;
        // A grant repeats the command once more; it may not be offered for one so large.
        if run("decide A2 allow_session").is_err() {
            run("decide A2 allow_once")?;
        }
        run("release i1")?;
        run(&format!("ended i1 : {}", "\u{1}".repeat(16 * 1024)))?;
    }
    Ok(())
}

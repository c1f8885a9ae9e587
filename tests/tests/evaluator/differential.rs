//! Generated cases, natively and in the component: the same bytes, or the test
//! fails with both and the seed. `PLACET_SEED` chooses another run.

use anyhow::{Context as _, Result, ensure};
use placet_policy::types::{Action, Explained};
use placet_tests::evaluator::Evaluator as _;
use placet_tests::generate::tally::Tally;
use placet_tests::generate::{commands, walk};
use placet_tests::pair::Pair;
use placet_tests::random::Random;
use placet_tests::script::{Script, shell};
use std::io::Write as _;

/// Cases at least, over both tests.
const CASES_MIN: u64 = 40_000;

/// Of these, mutated commands.
const COMMANDS: u64 = 10_000;

/// Steps of one random session.
const STEPS: usize = 40;

#[test]
fn generated_cases_are_equal_and_nothing_is_left_out() -> Result<()> {
    let seed = Random::seed();
    writeln!(std::io::stdout(), "differential: PLACET_SEED={seed}")?;
    let mut tally = Tally::default();
    let mut pair = Pair::new()?;
    mutated_commands(&mut pair, seed, &mut tally).with_context(|| format!("seed {seed}"))?;
    let mut walks = 0;
    while tally.cases < CASES_MIN {
        walks += 1;
        let seed = seed.wrapping_add(walks);
        pair = walk::walk(pair, seed, STEPS, &mut tally).with_context(|| format!("walk {seed}"))?;
    }
    writeln!(std::io::stdout(), "{tally}{walks} sessions, {} calls compared", pair.compared)?;
    let missing = tally.missing();
    ensure!(missing.is_empty(), "never came out: {missing:?}");
    Ok(())
}

/// What the reader makes of commands that are nearly right: survey and explain,
/// with a deny rule, an ask rule and an allow rule that they may or may not meet.
fn mutated_commands(pair: &mut Pair, seed: u64, tally: &mut Tally) -> Result<()> {
    let mut script = Script::new(Pair::new()?);
    script.run("start onRequest")?;
    script.run("turn one")?;
    for rule in ["no-rm deny shell rm", "push ask shell git push", "git allow shell git"] {
        script.session.rules.push(placet_tests::rules::toml(rule)?);
    }
    let state = script.session.state.clone().unwrap_or_default();
    let rules = [script.session.supplied_rules()];
    let context = script.session.context.clone();
    let mut random = Random::new(seed);
    for _ in 0..COMMANDS {
        let command = commands::command(&mut random);
        let action = Action {
            confined: random.once_in(3).then(|| "bwrap".to_owned()),
            asked_for: random.once_in(5),
            ..shell(&command)
        };
        let facts = script.session.world.facts(pair, &action)?;
        let proposal = placet_policy::types::Proposal { action, facts, last: false };
        let explained = pair.explain(&state, &context, &proposal, &rules)?;
        pair.asked()?;
        tally.cases += 1;
        if let Ok(Explained::Done(explained)) = explained {
            tally.explained(&explained);
        }
    }
    Ok(())
}

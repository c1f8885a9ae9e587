//! Generated commands, and variations of them and of the corpus.

use placet_tests::oracle::check::check_all;
use placet_tests::oracle::corpus;
use placet_tests::oracle::generate::{Generator, mutate, soup};
use placet_tests::random::Random;

use super::{GENERATED_COMPLETE_PERMILLE, enough_complete, inside, nothing_uncovered};

/// Commands, and programs that they must start between them.
const GENERATED: usize = 12_000;
const MUTATED: usize = 5_000;
const SOUP: usize = 3_000;
const STARTS: usize = 30_000;
/// Every fourth runs again with bash's own trace.
const TRACED: usize = 4;
/// Commands that bash must have traced between them.
const TRACED_MIN: usize = 5_000;

/// `$PLACET_ORACLE_PERCENT` makes a run shorter or longer.
fn percent() -> usize {
    std::env::var("PLACET_ORACLE_PERCENT").ok().and_then(|text| text.parse().ok()).unwrap_or(100)
}

#[test]
fn twenty_thousand_commands_run_nothing_that_was_not_shown() {
    let seed = Random::seed();
    let mut generator = Generator::new(seed);
    let generated: Vec<String> =
        (0..GENERATED * percent() / 100).map(|_| generator.command()).collect();
    let report = check_all(inside(), &generated, TRACED).unwrap();
    nothing_uncovered("generated", &report);
    enough_complete("generated", &report, GENERATED_COMPLETE_PERMILLE);

    let mut random = Random::new(seed ^ 1);
    let known = [corpus::commands().unwrap(), corpus::reported().unwrap(), generated].concat();
    let mutated: Vec<String> = (0..MUTATED * percent() / 100)
        .map(|_| {
            let command = &known[random.below(known.len())];
            mutate(&mut random, command)
        })
        .collect();
    let other = check_all(inside(), &mutated, TRACED).unwrap();
    nothing_uncovered("mutated", &other);

    let soups: Vec<String> = (0..SOUP * percent() / 100).map(|_| soup(&mut random)).collect();
    let rest = check_all(inside(), &soups, TRACED).unwrap();
    nothing_uncovered("tokens in any order", &rest);

    let starts = report.starts + other.starts + rest.starts;
    assert!(starts >= STARTS * percent() / 100, "only {starts} programs started");
    let traced = report.traced + other.traced + rest.traced;
    assert!(traced >= TRACED_MIN * percent() / 100, "bash traced only {traced} commands");
}

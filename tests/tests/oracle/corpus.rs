//! The corpus beside the repository, as it is. Without it only tricks and generated
//! commands run.

use placet_tests::oracle::check::check_all;
use placet_tests::oracle::corpus;

use super::{PLAIN_COMPLETE_PERMILLE, enough_complete, inside, nothing_uncovered};

#[test]
fn corpus_commands_run_nothing_that_was_not_shown() {
    let commands = corpus::commands().unwrap();
    let (plain, others): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|command| corpus::is_plain(command));
    let report = check_all(inside(), &plain, 4).unwrap();
    nothing_uncovered("plain corpus", &report);
    enough_complete("plain corpus", &report, PLAIN_COMPLETE_PERMILLE);
    nothing_uncovered("other corpus", &check_all(inside(), &others, 1).unwrap());
}

#[test]
fn commands_of_field_reports_run_nothing_that_was_not_shown() {
    let report = check_all(inside(), &corpus::reported().unwrap(), 1).unwrap();
    nothing_uncovered("field reports", &report);
}

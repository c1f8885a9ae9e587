//! Code for what flags alone do not tell: programs in little languages, and
//! values that decide. The data names the check. All of them read once from
//! left to right and refuse what they do not understand.

mod awk;
mod scan;
mod sed;
mod sql;
mod tools;

use super::entry::Check;
use super::read::{Reading, Stop};
use super::{Kind, Table};

/// Judges a command whose flags all read.
pub(super) fn check(reading: &Reading<'_>, table: &Table, kind: Kind) -> Result<(), Stop> {
    let Some(check) = reading.entry.check else { return Ok(()) };
    // Behind find's `-exec`, what a file is called would be a program.
    let code = reading.flags.iter().filter_map(|(_, value)| *value);
    let mut code = code.chain(reading.operands.first().copied());
    if kind == Kind::Inner && code.any(|text| text.contains("{}")) {
        let command = &reading.command;
        return Err(Stop::Unknown(format!("`{command}` would take a file's name for a program")));
    }
    let verdict = match check {
        Check::Awk => awk::check(reading),
        Check::Dscl => tools::dscl(reading),
        Check::Find => return runs(reading, table, kind),
        Check::Fzf => tools::fzf(reading),
        Check::Gh => tools::gh(reading),
        Check::GhApi => tools::gh_api(reading),
        Check::GitConfig => tools::git_config(reading),
        Check::Jq => tools::jq(reading),
        Check::KubectlGet => tools::kubectl_get(reading),
        Check::Ps => tools::ps(reading),
        Check::Sed => sed::check(reading),
        Check::Sql => sql::check(reading),
        Check::SqlFile => sql::file(reading),
        Check::Tar => tools::tar(reading),
        Check::Test => tools::test(reading),
    };
    verdict.map_err(|why| Stop::Refused(format!("`{}` {why}", reading.command)))
}

/// Commands behind find's `-exec`: safe ones, and none that runs others in turn.
/// The files that find puts in begin with a folder, so that none is a flag.
fn runs(reading: &Reading<'_>, table: &Table, kind: Kind) -> Result<(), Stop> {
    if reading.runs.is_empty() {
        return Ok(());
    }
    if kind == Kind::Inner {
        return Err(Stop::Unknown("find within find is not looked into".to_owned()));
    }
    for command in &reading.runs {
        let words: Vec<String> = command.iter().map(|word| word.replace("{}", "./{}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        super::decide(&words, table, Kind::Inner)?;
    }
    Ok(())
}

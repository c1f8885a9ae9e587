//! What bash's own commands and variables do to the commands beside them.

use super::{Stage, What};

/// Options of `set` that change neither how words are read nor what runs.
const SET_HARMLESS: [&str; 4] = ["errexit", "nounset", "pipefail", "xtrace"];

/// Variables after which bash reads or runs other than it did.
const READING: [&str; 9] = [
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_XTRACEFD",
    "ENV",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
];

/// Upper-case variables that no program takes for more than how it prints.
const PRINTING: [&str; 24] = [
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLOR",
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "DEBUG",
    "FORCE_COLOR",
    "I",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "TERM",
    "TZ",
    "VERBOSE",
];

/// Builtins that change nothing but the shell that ends with the command.
const HARMLESS: [&str; 17] = [
    ":", "[", "break", "cd", "continue", "dirs", "echo", "exit", "false", "popd", "pushd", "pwd",
    "return", "shift", "test", "true", "wait",
];

/// Whether setting a variable changes no other program: names that only print, and
/// small ones, which are a script's own unless they name a proxy or a path.
pub fn harmless_variable(name: &str) -> bool {
    let own = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !name.contains("proxy")
        && !name.contains("path");
    own || PRINTING.contains(&name)
}

/// Whether a complete stage is a builtin that changes nothing outside its shell.
pub fn harmless_builtin(stage: &Stage) -> bool {
    let Some((name, words)) = stage.argv.split_first() else { return false };
    match name.as_str() {
        "set" => words.iter().all(|word| set_is_harmless(word)),
        "type" => true,
        "command" => words.first().is_some_and(|word| word == "-v" || word == "-V"),
        "printf" => !words.iter().any(|word| word.starts_with("-v")),
        "export" | "local" | "readonly" => {
            !words.is_empty()
                && words.iter().all(|word| {
                    let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
                    harmless_variable(name.strip_suffix('+').unwrap_or(name))
                })
        }
        "read" => words.iter().all(|word| word == "-r" || harmless_variable(word)),
        "unset" => words.iter().all(|word| harmless_variable(word)),
        name => HARMLESS.contains(&name),
    }
}

fn set_is_harmless(word: &str) -> bool {
    SET_HARMLESS.contains(&word)
        || word.strip_prefix(['-', '+']).is_some_and(|flags| {
            !flags.is_empty() && flags.bytes().all(|flag| b"euxo".contains(&flag))
        })
}

/// Marks what may run code that no stage shows, and what can no longer be told
/// because another stage changes how bash reads the rest.
pub(super) fn taint(stages: &mut [Stage]) {
    for stage in stages.iter_mut() {
        note(stage);
    }
    let changing: Vec<bool> = stages.iter().map(changes_reading).collect();
    let count = changing.iter().filter(|changes| **changes).count();
    for (stage, changes) in stages.iter_mut().zip(&changing) {
        if count > usize::from(*changes) {
            stage.hides_code();
        }
    }
}

/// Variables whose values bash computes, and so runs what stands in them.
const COMPUTED: [&str; 9] = [
    "BASHPID",
    "EPOCHSECONDS",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
];

/// Whether a stage gives such a variable something else than a number.
fn computes(stage: &Stage) -> bool {
    let number = |value: &String| value.bytes().all(|byte| byte.is_ascii_digit());
    stage
        .assignments
        .iter()
        .any(|set| COMPUTED.contains(&set.name.as_str()) && !set.value.as_ref().is_some_and(number))
}

/// Marks a builtin that may run code by its arguments, or a stage by what it assigns.
pub(super) fn note(stage: &mut Stage) {
    if computes(stage) || stage.what == What::Command && runs_code(stage) {
        stage.hides_code();
    }
}

fn runs_code(stage: &Stage) -> bool {
    let Some((name, words)) = stage.argv.split_first() else { return false };
    // A program is no builtin; which of the two a name is cannot be told where it is unknown.
    let has = |flag: char| {
        words.iter().any(|word| {
            word.strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
        })
    };
    // A subscript is computed, and runs what stands in it; so are some variables.
    let subscript = || {
        words.iter().any(|word| {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            word.contains('[') || COMPUTED.contains(&name)
        })
    };
    let unclear = !stage.unknown.is_empty();
    match name.as_str() {
        "source" | "." | "bind" | "complete" | "compgen" | "compopt" | "enable" | "fc" => true,
        "let" => words.iter().any(|word| word.bytes().any(|b| !b.is_ascii_digit() && b != b'=')),
        "mapfile" | "readarray" => has('C') || unclear || subscript(),
        "jobs" => has('x') || unclear,
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            has('i') || has('n') || unclear || subscript()
        }
        "test" | "[" => {
            // `[` closes with `]`; only `-v` and `-R` compute a name.
            words.iter().any(|word| word == "-v" || word == "-R") && (unclear || subscript())
        }
        "printf" => has('v') && (unclear || subscript()),
        "read" | "unset" | "getopts" => unclear || subscript(),
        "wait" => has('p') && (unclear || subscript()),
        _ => false,
    }
}

/// Whether bash may read or run what stands beside a stage by other rules.
fn changes_reading(stage: &Stage) -> bool {
    if stage.assignments.iter().any(|set| READING.contains(&set.name.as_str())) {
        return true;
    }
    if stage.what != What::Command {
        return false;
    }
    let mut words = stage.argv.iter().zip(0_u32..);
    let unknown = |index: u32| stage.unknown.contains(&index);
    let mut name = words.next();
    while matches!(name, Some((word, index)) if !unknown(index) && (word == "command" || word == "builtin"))
    {
        name = words.find(|(word, index)| unknown(*index) || !word.starts_with('-'));
    }
    let Some((name, index)) = name else { return false };
    if unknown(index) {
        return true;
    }
    match name.as_str() {
        "alias" | "shopt" | "enable" | "source" | "." => true,
        // With `-p` a name is another program from then on.
        "hash" => words.any(|(word, index)| unknown(index) || word.starts_with("-p")),
        "set" => !words.all(|(word, index)| !unknown(index) && set_is_harmless(word)),
        // What it runs is looked at where it is read in turn.
        "eval" => true,
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            stage.code
                || words.any(|(word, _)| {
                    let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
                    READING.contains(&name)
                })
        }
        "read" | "printf" | "mapfile" | "readarray" | "unset" | "getopts" | "trap" => {
            stage.code || words.any(|(word, _)| READING.contains(&word.as_str()))
        }
        _ => false,
    }
}

//! Whether what ran is what was shown: each recorded start against the stages.
//!
//! A complete stage covers a start whose words are its words. An incomplete one
//! covers a start that its known words fit, an unknown word standing for any
//! words; and anything at all when what it does not know may be code.

use placet_policy::shell::{self, Stage};

use super::places;
use super::sandbox::Start;

/// How a start is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// By a complete stage, word for word.
    Complete,
    /// By a stage that said that it does not know everything.
    Incomplete,
    /// By none: something ran that nobody was shown.
    None,
}

/// The stages of a command, as far as the oracle needs them.
pub struct Shown {
    stages: Vec<Line>,
}

struct Line {
    /// None for a word that is not known.
    words: Vec<Option<String>>,
    complete: bool,
    anything: bool,
    /// Everything that the stage shows, as one text.
    text: String,
}

/// Builtins that run code which is not a word of theirs: an incomplete stage of one
/// may start anything.
const RUN_CODE: [&str; 31] = [
    ".",
    "[",
    "alias",
    "bind",
    "builtin",
    "command",
    "compgen",
    "complete",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "hash",
    "jobs",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "set",
    "source",
    "test",
    "trap",
    "typeset",
    "unset",
    "wait",
];

/// Whether the parser looks through these builtins and variables. Until it does,
/// the stage that names one is all that is shown, complete or not, and covers
/// what it runs.
const LOOKED_THROUGH: bool = false;

/// Variables through which an assignment runs code, or changes what a name means;
/// the value of some is computed, and arithmetic runs code.
const RUN_BY_NAME: [&str; 12] = [
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "ENV",
    "IFS",
    "OPTIND",
    "PATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "RANDOM",
];

/// Variables that change what a program does; they must have been shown.
const CHANGE_PROGRAMS: [&str; 12] = [
    "BASH_ENV",
    "EDITOR",
    "ENV",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_SSH_COMMAND",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PAGER",
    "PATH",
    "PYTHONPATH",
    "SHELLOPTS",
];

impl Shown {
    /// What the parser shows of a command.
    pub fn of(command: &str) -> Shown {
        Shown { stages: shell::stages(command).stages.iter().map(line).collect() }
    }

    /// Whether everything about the command is known before it runs.
    pub fn complete(&self) -> bool {
        self.stages.iter().all(|line| line.complete)
    }

    /// How a program that started is covered.
    pub fn covers(&self, start: &Start) -> Cover {
        let words: Vec<_> = start.argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let cover = self.covers_words(&words);
        let seen = self.explains_program(start, &words) && self.explains_variables(start);
        if seen { cover } else { Cover::None }
    }

    /// How a simple command with these words is covered.
    pub fn covers_words(&self, words: &[&str]) -> Cover {
        let covers: Vec<_> = self.stages.iter().filter(|line| line.covers(words)).collect();
        match covers.iter().any(|line| line.complete) {
            _ if covers.is_empty() => Cover::None,
            true => Cover::Complete,
            false => Cover::Incomplete,
        }
    }

    /// Whether a stage covers a declaration builtin, whose words bash traces changed.
    pub fn covers_name(&self, name: &str) -> bool {
        self.stages.iter().any(|line| {
            line.anything
                || line.words.first().is_some_and(|w| w.as_deref().is_none_or(|w| w == name))
        })
    }

    /// Another file than `PATH` had for that name: something that was shown must be
    /// able to change it.
    fn explains_program(&self, start: &Start, words: &[&str]) -> bool {
        let name = words.first().copied().unwrap_or_default();
        let program = String::from_utf8_lossy(&start.program);
        name.contains('/')
            || [places::STUBS, places::SCRATCH_STUBS]
                .iter()
                .any(|f| program == format!("{f}/{name}"))
            || self.stages.iter().any(|line| {
                line.anything
                    || !line.complete
                    || ["PATH", "BASH_CMDS"].iter().any(|name| line.text.contains(name))
                    || matches!(line.words.first(), Some(Some(w)) if w == "hash" || w == "exec")
            })
    }

    fn explains_variables(&self, start: &Start) -> bool {
        start
            .changed
            .iter()
            .filter(|name| CHANGE_PROGRAMS.contains(&name.as_str()))
            .all(|name| self.stages.iter().any(|line| line.anything || line.text.contains(name)))
    }
}

impl Line {
    fn covers(&self, words: &[&str]) -> bool {
        self.anything || fits(&self.words, words)
    }
}

fn line(stage: &Stage) -> Line {
    let unknown = |at: usize| stage.unknown.iter().any(|u| usize::try_from(*u) == Ok(at));
    let words: Vec<Option<String>> =
        (0..).zip(&stage.argv).map(|(at, word)| (!unknown(at)).then(|| word.clone())).collect();
    let text = [stage.argv.join(" "), stage.assignments.join(" ")].join(" ");
    let by_name = matches!(words.first(), Some(Some(name)) if RUN_CODE.contains(&name.as_str()));
    let assigns = stage.assignments.iter().any(|assignment| {
        RUN_BY_NAME.iter().any(|name| {
            assignment.strip_prefix(name).is_some_and(|rest| rest.starts_with(['=', '+', '[']))
        })
    });
    let raw = (0..).zip(&stage.argv).filter(|(at, _)| unknown(*at)).map(|(_, word)| word);
    let code = raw.chain(&stage.assignments).any(|word| may_run_code(word));
    let blind = !LOOKED_THROUGH && (by_name || assigns);
    Line {
        anything: blind || !stage.complete && (by_name || assigns || code),
        complete: stage.complete,
        words,
        text,
    }
}

/// Whether expanding this text may run code that is not in it: arithmetic and
/// subscripts evaluate what variables hold, `@P` expands it, `!` names it.
fn may_run_code(raw: &str) -> bool {
    raw.contains("$((")
        || raw.contains("$[")
        || raw.contains("@P")
        || raw.contains("${!")
        || raw.match_indices("${").any(|(at, _)| {
            let inner = raw.get(at..).unwrap_or_default();
            let inner = inner.split('}').next().unwrap_or_default();
            inner.contains('[') || inner.contains(':')
        })
        || raw.split_once('=').is_some_and(|(name, _)| name.contains('['))
}

/// Whether known words fit, an unknown one standing for any number of words.
fn fits(shown: &[Option<String>], words: &[&str]) -> bool {
    match shown.split_first() {
        None => words.is_empty(),
        Some((Some(known), rest)) => {
            words.split_first().is_some_and(|(word, more)| word == known && fits(rest, more))
        }
        Some((None, rest)) => {
            (0..=words.len()).any(|skip| words.get(skip..).is_some_and(|more| fits(rest, more)))
        }
    }
}

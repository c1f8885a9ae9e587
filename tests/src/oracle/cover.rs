//! Whether what ran is what was shown: each recorded start against the stages.
//!
//! A complete stage covers a start whose words are its words. An incomplete one
//! covers a start that its known words fit, an unknown word standing for any
//! words; and anything at all when it says that it may run code.

use placet_policy::shell::{self, Stage, What};

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
    complete: bool,
}

struct Line {
    /// None for a word that is not known; no words where it is no command.
    words: Vec<Option<String>>,
    complete: bool,
    /// It may run code that no stage shows.
    code: bool,
    /// Everything that the stage shows, as one text.
    text: String,
}

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
        let home = places::ENVIRONMENT.iter().find(|(name, _)| *name == "HOME");
        let parsed = shell::stages(command, home.map(|(_, value)| *value));
        let every = parsed.stages.iter().flat_map(Stage::every);
        let complete = parsed.stages.iter().all(|stage| stage.complete && !stage.code);
        Shown { stages: every.map(line).collect(), complete }
    }

    /// Whether everything is known before it runs about what the shell itself runs
    /// (what `xargs` then makes of it is another matter).
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// How a program that started is covered.
    pub fn covers(&self, start: &Start) -> Cover {
        let words: Vec<_> = start.argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        match self.covers_words(&words) {
            Cover::Complete if !self.explains_program(start, &words) => Cover::None,
            cover if self.explains_variables(start) => cover,
            _ => Cover::None,
        }
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
            let first = line.words.first();
            line.code || first.is_some_and(|word| word.as_deref().is_none_or(|word| word == name))
        })
    }

    /// Another file than `PATH` had for that name: something that was shown must be
    /// able to change it.
    fn explains_program(&self, start: &Start, words: &[&str]) -> bool {
        let name = words.first().copied().unwrap_or_default();
        let usual = |folder: &str| start.program == format!("{folder}/{name}").into_bytes();
        name.contains('/')
            || [places::STUBS, places::SCRATCH_STUBS].into_iter().any(usual)
            || self.stages.iter().any(|line| {
                let hash = line.words.first().is_some_and(|word| word.as_deref() == Some("hash"));
                line.code || hash || line.text.contains("PATH") || line.text.contains("BASH_CMDS")
            })
    }

    fn explains_variables(&self, start: &Start) -> bool {
        start
            .changed
            .iter()
            .filter(|name| CHANGE_PROGRAMS.contains(&name.as_str()))
            .all(|name| self.stages.iter().any(|line| line.code || line.text.contains(name)))
    }
}

impl Line {
    fn covers(&self, words: &[&str]) -> bool {
        self.code || (!self.words.is_empty() && fits(&self.words, words))
    }
}

fn line(stage: &Stage) -> Line {
    let unknown = |at: usize| stage.unknown.iter().any(|u| usize::try_from(*u) == Ok(at));
    let word = |(at, word): (usize, &String)| (!unknown(at)).then(|| word.clone());
    let mut words = Vec::new();
    if stage.what == What::Command {
        words.extend((0..).zip(&stage.argv).map(word));
    }
    let assigned = stage.assignments.iter().map(|assignment| assignment.name.as_str());
    let shown = stage.argv.iter().map(String::as_str);
    Line {
        words,
        complete: stage.complete && !stage.code,
        code: stage.code,
        text: assigned.chain(shown).collect::<Vec<_>>().join(" "),
    }
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

//! From a shell command to its stages.
//!
//! A parser of our own, one pass and linear, with its depth counted. It knows
//! bash's grammar; what it does not fully understand makes the *whole* command
//! one opaque stage. It must never split wrongly. In order:
//!
//! 1. `scan` walks the text once and refuses size and control characters.
//! 2. `list`, `compound`, `simple`, `redirect` and `heredoc` read the grammar,
//!    `word`, `expansion` and `braces` the words. Every simple command, also in
//!    a substitution, a function or a here-document, becomes a stage.
//! 3. `through` looks at what a stage runs in turn (`timeout`, `bash -c`,
//!    `eval`, `find -exec`): its inner stages.
//! 4. `folder` follows `cd` on the way.
//!
//! A stage whose words are all known before it runs is complete. One that may run code
//! that no stage shows says so (`code`).
//!
//! The reading is that of `bash -c -- COMMAND`, not interactive, in a UTF-8
//! locale, with no alias and no shell option set before.

mod arithmetic;
mod bare;
mod braces;
mod builtins;
mod compound;
mod cursor;
mod expansion;
mod folder;
mod heredoc;
mod list;
mod numbers;
mod paths;
mod redirect;
mod scan;
mod simple;
mod through;
mod word;
mod wrappers;

pub use bare::{BareWords, bare_words};
pub use builtins::{harmless_builtin, harmless_variable};
pub use folder::{Folder, joined};
pub use paths::{PathWord, PathWords, word_paths};
pub use through::Through;

/// What a stage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    /// A simple command: a program, a builtin or a function's call.
    #[default]
    Command,
    /// Assignments without a command; `argv` shows them as written.
    Assignment,
    /// Redirects without a command, or those of a compound command.
    Redirect,
    /// `[[ .. ]]`, `(( .. ))`, or a word that only expands.
    Expression,
    /// A command that was not understood, as a whole.
    Opaque,
}

/// A simple command, or what else bash does by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// What it is.
    pub what: What,
    /// The words, quotes removed. A word listed in `unknown` is raw text.
    pub argv: Vec<String>,
    /// Whether its words are all known before it runs. What is redirected and assigned
    /// may still not be: see there.
    pub complete: bool,
    /// It may run code that no stage shows: nothing can be told from its words.
    pub code: bool,
    /// It runs in the background: nobody waits for it.
    pub background: bool,
    /// First byte of the stage in the command.
    pub start: u32,
    /// The byte after the stage.
    pub end: u32,
    /// Redirects to and from files, in order. Those between descriptors
    /// (`2>&1`, `<&-`) name no file and are left out.
    pub redirects: Vec<Redirect>,
    /// What it assigns: `NAME=value` before the command, `${NAME:=value}` in it.
    pub assignments: Vec<Assignment>,
    /// Indexes into `argv` of the words whose value is not known: ascending.
    pub unknown: Vec<u32>,
    /// Where its relative paths start.
    pub folder: Folder,
    /// What a here-document or here-string feeds it, where that is known.
    pub input: Option<String>,
    /// How the commands of `inner` relate to this one.
    pub through: Through,
    /// The commands that this one runs in turn, as stages.
    pub inner: Vec<Stage>,
}

impl Stage {
    /// Whether nothing about it can turn out to be something else.
    pub fn settled(&self) -> bool {
        self.complete
            && !self.code
            && self.redirects.iter().all(|redirect| redirect.target.is_some())
            && self.assignments.iter().all(|set| set.value.is_some())
    }

    /// Whether all its words are known but those that `xargs` adds behind them.
    pub fn is_added_to(&self) -> bool {
        let last = self.argv.len().checked_sub(1).map(offset);
        self.unknown.as_slice() == last.as_slice()
            && self.argv.last().is_some_and(|word| word == ADDED)
            && !self.code
    }

    /// It may run code that no stage shows, in the shell itself.
    fn hides_code(&mut self) {
        self.code = true;
        self.complete = false;
    }

    /// The variables that it sets and that can change what programs do.
    pub fn harmful_variables(&self) -> impl Iterator<Item = &str> {
        let names = self.assignments.iter().map(|set| set.name.as_str());
        names.filter(|name| !harmless_variable(name))
    }

    /// This stage and all that it runs in turn.
    pub fn every(&self) -> Vec<&Stage> {
        let mut all = vec![self];
        let mut next = 0_usize;
        while let Some(stage) = all.get(next).copied() {
            all.extend(&stage.inner);
            next = next.saturating_add(1);
        }
        all
    }
}

/// Stands for the words that `xargs` adds.
const ADDED: &str = "\u{2026}";

/// A redirect to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Whether the file may be written (`<>` counts).
    pub write: bool,
    /// The file, or nothing when it is not known before the stage runs.
    pub target: Option<String>,
    /// Whether what is written is appended.
    pub append: bool,
}

/// An assignment to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The value, or nothing when it is not known before the stage runs.
    pub value: Option<String>,
}

/// What [`stages`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the text. None at all for blanks and comments.
    pub stages: Vec<Stage>,
    /// The command was not understood: it is the only stage, one blob.
    pub opaque: bool,
    /// For an opaque command, the stages that were read before it was given up:
    /// what a deny rule is tried against besides the bare words.
    pub found: Vec<Stage>,
}

/// The command is not understood, as a whole.
#[derive(Clone, Copy, Debug)]
struct Opaque;

/// Splits a command into its stages. Total, and linear in the command's length.
/// `home` is what `~` and `$HOME` stand for, where that is known.
pub fn stages(command: &str, home: Option<&str>) -> Parsed {
    let (read, mut stages) = list::read(command, home, &Folder::default());
    if read.is_ok() {
        stages.sort_by_key(|stage| stage.start);
        let mut left = crate::limits::SHELL_STAGES_MAX.saturating_sub(stages.len());
        for stage in &mut stages {
            through::look(stage, home, 0, &mut left);
        }
        return Parsed { stages, opaque: false, found: Vec::new() };
    }
    Parsed { stages: vec![blob(command)], opaque: true, found: stages }
}

fn blob(command: &str) -> Stage {
    Stage {
        what: What::Opaque,
        argv: vec![command.to_owned()],
        code: true,
        end: offset(command.len()),
        unknown: vec![0],
        folder: Folder::Unknown,
        ..Stage::default()
    }
}

/// A text position as it is stored.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

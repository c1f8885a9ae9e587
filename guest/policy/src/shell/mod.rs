//! From a shell command to its stages.
//!
//! A small parser of our own, linear and without recursion, that is narrow on
//! purpose: it knows lists and pipelines of simple commands, and whatever it
//! does not fully understand makes the *whole* command one opaque stage. It may
//! be asked to understand more; it must never split wrongly. In order:
//!
//! 1. `scan` walks the text once and refuses size, control characters and depth.
//! 2. `parse` reads lists, pipelines and redirects over `cursor` and `word`.
//! 3. Code that could run inside a word (`$(..)`, backticks, `<(..)`, here
//!    documents) and compound commands are refused; values that are only known
//!    later (`$NAME`, globs, braces, `~`) leave their stage incomplete.
//!
//! The reading is that of `bash -c -- COMMAND`, not interactive, in a UTF-8
//! locale, with no alias and no shell option set before.

mod bare;
mod cursor;
mod parse;
mod paths;
mod scan;
mod word;

pub use bare::{BareWords, bare_words};
pub use paths::{PathWord, PathWords, word_paths};

/// A simple command of a list or pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// The words, quotes removed. A word listed in `unknown` is raw text.
    pub argv: Vec<String>,
    /// Whether everything about this stage is known before it runs: its words,
    /// its redirects and its assignments.
    pub complete: bool,
    /// First byte of the stage in the command.
    pub start: u32,
    /// The byte after the stage.
    pub end: u32,
    /// Redirects to and from files, in order. Those between descriptors
    /// (`2>&1`, `<&-`) name no file and are left out.
    pub redirects: Vec<Redirect>,
    /// Prefixes `NAME=value`, with the value as it was written.
    pub assignments: Vec<String>,
    /// Indexes into `argv` of the words whose value is not known: ascending.
    pub unknown: Vec<u32>,
}

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

/// What [`stages`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the text. None at all for blanks and comments.
    pub stages: Vec<Stage>,
    /// The command was not understood: it is the only stage, one blob.
    pub opaque: bool,
}

/// The command is not understood, as a whole.
#[derive(Clone, Copy, Debug)]
struct Opaque;

/// Splits a command into its stages. Total, and linear in the command's length.
pub fn stages(command: &str) -> Parsed {
    match scan::check(command).and_then(|()| parse::parse(command)) {
        Ok(stages) => Parsed { stages, opaque: false },
        Err(Opaque) => Parsed { stages: vec![blob(command)], opaque: true },
    }
}

fn blob(command: &str) -> Stage {
    Stage {
        argv: vec![command.to_owned()],
        end: offset(command.len()),
        unknown: vec![0],
        ..Stage::default()
    }
}

/// A text position as it is stored.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

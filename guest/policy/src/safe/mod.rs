//! The table of known-safe commands: what reads, and nothing else.
//!
//! What writes, sends to a host that the command names, runs other code or
//! prints a credential is not safe. The data is `guest/policy/known-safe/`
//! (`docs/known-safe.md` explains it); `read` takes a command apart as far as
//! the data tells, `check` looks at little languages. What neither knows is
//! not safe.

mod check;
pub mod entry;
pub mod file;
mod read;
mod table;

pub use entry::Entry;
pub use table::Table;

use crate::shell;
use read::Stop;

/// What is known about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It reads, and nothing else.
    Safe,
    /// It does more, or that is not known.
    Not {
        /// What takes the label away, or what is not known: one sentence for people.
        why: String,
    },
}

/// Folders whose programs are the ones of the same bare name.
const SYSTEM_FOLDERS: [&str; 2] = ["/bin/", "/usr/bin/"];

/// Judges one simple command, all of whose words are known.
pub fn judge(argv: &[String], table: &Table) -> Judgement {
    judged(argv, table, Kind::Whole)
}

/// Judges a command to which words are added that nobody knows yet, as `xargs`
/// does: safe only if no such word could do more than be read.
pub fn judge_open(argv: &[String], table: &Table) -> Judgement {
    judged(argv, table, Kind::Open)
}

/// What else there is about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Whole,
    /// Words follow.
    Open,
    /// find runs it.
    Inner,
}

fn judged(argv: &[String], table: &Table, kind: Kind) -> Judgement {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match decide(&words, table, kind) {
        Ok(()) => Judgement::Safe,
        Err(Stop::Refused(why) | Stop::Unknown(why)) => Judgement::Not { why },
    }
}

/// The built-in table first: what it refuses, no user's entry allows.
fn decide(words: &[&str], table: &Table, kind: Kind) -> Result<(), Stop> {
    let Some((first, rest)) = words.split_first() else {
        return Err(Stop::Unknown("there is no command".to_owned()));
    };
    let bare = SYSTEM_FOLDERS.iter().find_map(|folder| first.strip_prefix(folder));
    let program = bare.unwrap_or(first);
    if program.is_empty() || program.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'/') {
        return Err(Stop::Unknown(format!("`{first}` is a program that the table cannot name")));
    }
    let mut unknown = None;
    for layer in table.layers() {
        let read = read::read(program, rest, layer).and_then(|reading| {
            if kind == Kind::Open && !reading.is_open() {
                let command = &reading.command;
                return Err(Stop::Unknown(format!(
                    "`{command}` may do more with words that are added"
                )));
            }
            check::check(&reading, table, kind)
        });
        match read {
            Ok(()) => return Ok(()),
            Err(Stop::Refused(why)) => return Err(Stop::Refused(why)),
            Err(Stop::Unknown(why)) => unknown = unknown.or(Some(why)),
        }
    }
    Err(Stop::Unknown(unknown.unwrap_or_default()))
}

/// Whether the words of a stage only read: all known, or added to by `xargs`.
pub(crate) fn known_safe(stage: &shell::Stage, table: &Table) -> bool {
    judgement(stage, table) == Judgement::Safe
}

fn judgement(stage: &shell::Stage, table: &Table) -> Judgement {
    match stage.argv.split_last() {
        Some((_, known)) if stage.is_added_to() => judge_open(known, table),
        _ => judge(&stage.argv, table),
    }
}

/// Why they do not, or are not known to.
pub(crate) fn why_not(stage: &shell::Stage, table: &Table) -> String {
    match judgement(stage, table) {
        Judgement::Safe => "it only reads".to_owned(),
        Judgement::Not { why } => why,
    }
}

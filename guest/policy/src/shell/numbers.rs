//! Variables that hold a number wherever arithmetic reads them.
//!
//! Arithmetic evaluates what its variables *hold*: with `i='a[$(rm x)]'`, `((i))` runs
//! `rm`. A counter is harmless, though: it was given a number before, on every way
//! that leads to the place, and nothing in the command gives it anything else. The
//! first is followed while the command is read (`held`); the second is only known at
//! its end. Where it turns out wrong, the command is read again and trusts no variable.

use std::collections::BTreeSet;

use super::{Stage, What, harmless_variable};

/// What is known about the variables of a command.
#[derive(Default)]
pub(super) struct Numbers {
    /// Given a number before whatever is read now runs.
    held: Vec<Held>,
    /// Read by arithmetic that was taken for harmless.
    relied: BTreeSet<String>,
    /// Given something else by a loop or a coprocess.
    other: BTreeSet<String>,
    /// No variable is trusted.
    pub(super) distrusts: bool,
}

struct Held {
    name: String,
    /// Also where an error has ended the line that gave it.
    lasting: bool,
}

impl Numbers {
    /// The place to go back to with [`Numbers::leave`].
    pub(super) fn mark(&self) -> usize {
        self.held.len()
    }

    /// Forgets what may not have run.
    pub(super) fn leave(&mut self, mark: usize) {
        self.held.truncate(mark);
    }

    /// Behind a line: an error in it may have ended it early.
    pub(super) fn line_ends(&mut self) {
        self.held.retain(|held| held.lasting);
    }

    /// What was held, while something is read that runs at another time.
    pub(super) fn aside(&mut self) -> Aside {
        Aside(std::mem::take(&mut self.held))
    }

    pub(super) fn back(&mut self, aside: Aside) {
        self.held = aside.0;
    }

    /// From here on it holds a number.
    pub(super) fn hold(&mut self, name: &str, lasting: bool) {
        if may_count(name) {
            self.held.push(Held { name: name.to_owned(), lasting });
        }
    }

    /// It is given anything.
    pub(super) fn give(&mut self, name: &str) {
        self.other.insert(name.to_owned());
    }

    /// Whether it can be read here; if so, the command is held to that.
    pub(super) fn rely(&mut self, name: &str) -> bool {
        self.held.iter().any(|held| held.name == name) && self.trusts(name)
    }

    /// Whether it can be read behind what gave it a number; the command is held to it.
    pub(super) fn trusts(&mut self, name: &str) -> bool {
        if !self.distrusts && may_count(name) {
            self.relied.insert(name.to_owned());
            return true;
        }
        false
    }

    /// Whether any stage may give something else to a variable that was relied on.
    pub(super) fn betrayed(&self, stages: &[Stage]) -> bool {
        !self.relied.is_empty()
            && (self.relied.iter().any(|name| self.other.contains(name))
                || stages.iter().any(|stage| self.is_betrayed_by(stage)))
    }

    fn is_betrayed_by(&self, stage: &Stage) -> bool {
        let gives = |set: &super::Assignment| {
            self.relied.contains(&set.name) && !set.value.as_deref().is_some_and(is_number)
        };
        stage.code
            || stage.assignments.iter().any(gives)
            || (stage.what == What::Command && self.is_set_by(stage))
    }

    /// Whether it is a builtin that may set one of them.
    fn is_set_by(&self, stage: &Stage) -> bool {
        let known = |at: usize| !stage.unknown.contains(&super::offset(at));
        let mut words = stage.argv.iter().enumerate();
        let mut name = words.next();
        while matches!(name, Some((at, word)) if known(at) && (word == "command" || word == "builtin"))
        {
            name = words.find(|(at, word)| !known(*at) || !word.starts_with('-'));
        }
        let Some((at, name)) = name else { return false };
        if !known(at) || ANY.contains(&name.as_str()) {
            return true;
        }
        let declares = DECLARING.contains(&name.as_str());
        let counts = |word: &str| {
            let pair = word.split_once('=').filter(|_| declares);
            pair.is_some_and(|(name, value)| self.relied.contains(name) && is_number(value))
        };
        (declares || NAMED.contains(&name.as_str()))
            && words.any(|(at, word)| !known(at) || (self.is_named_in(word) && !counts(word)))
    }

    /// Whether a word contains one of the names by itself.
    fn is_named_in(&self, word: &str) -> bool {
        let part = |byte: char| !byte.is_ascii_alphanumeric() && byte != '_';
        word.split(part).any(|name| self.relied.contains(name))
    }
}

/// What was held elsewhere.
pub(super) struct Aside(Vec<Held>);

/// Builtins that may give anything to any variable.
const ANY: [&str; 13] = [
    ".", "alias", "bind", "compgen", "complete", "enable", "eval", "fc", "let", "shopt", "source",
    "trap", "unalias",
];

/// Those that set the variables that they name.
const NAMED: [&str; 7] = ["getopts", "mapfile", "printf", "read", "readarray", "unset", "wait"];

/// Those of them that take `NAME=value`.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// Whether a variable may be a counter: bash gives it no meaning of its own, and
/// neither do the programs that it may be exported to.
pub(super) fn may_count(name: &str) -> bool {
    let own = name.starts_with(|first: char| first.is_ascii_lowercase());
    (own && harmless_variable(name)) || (name.len() == 1 && name != "_")
}

/// Digits only.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

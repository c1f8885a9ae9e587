//! The words of a stage that could name a path, for the survey: the host is
//! asked for facts about them. Naming too many costs a look, not a verdict.

use super::{Stage, Through, What};
use crate::limits::SURVEY_PATHS_MAX;

/// A word that could name a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathWord {
    /// As the stage will see it, not yet resolved.
    pub text: String,
    /// The shell itself opens it for writing. What a command does with its
    /// arguments is not known here.
    pub write: bool,
}

/// What [`word_paths`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathWords {
    /// Targets of redirects first, then the command, then its arguments.
    pub paths: Vec<PathWord>,
    /// The limit was met and words are missing: fail closed.
    pub truncated: bool,
}

impl PathWords {
    fn push(&mut self, text: &str, write: bool) {
        if text.is_empty() {
            return;
        }
        if self.paths.len() >= SURVEY_PATHS_MAX {
            self.truncated = true;
        } else {
            self.paths.push(PathWord { text: text.to_owned(), write });
        }
    }

    fn argument(&mut self, word: &str, options: bool) {
        let option = options && word.starts_with('-');
        if !option {
            self.push(word, false);
        }
        match word.split_once('=') {
            Some((_, value)) => self.push(value, false),
            // `-o/tmp/x`: a value that is glued to a short option.
            None if option && word.contains('/') => {
                self.push(word.get(2..).unwrap_or_default(), false);
            }
            None => {}
        }
    }
}

/// The words of a stage that could name a path. Words whose value is not known
/// are left out: their stage is incomplete and covered by nothing.
pub fn word_paths(stage: &Stage) -> PathWords {
    let mut found = PathWords::default();
    for redirect in &stage.redirects {
        if let Some(target) = &redirect.target {
            found.push(target, redirect.write);
        }
    }
    // What is no command shows its text as one word; what a wrapper runs is a
    // stage of its own.
    if stage.what != What::Command || stage.through == Through::Alone {
        return found;
    }
    let mut unknown = stage.unknown.iter().copied().peekable();
    let mut options = true;
    for (index, word) in (0_u32..).zip(&stage.argv) {
        if unknown.next_if_eq(&index).is_some() {
            continue;
        }
        if index == 0 {
            if word.contains('/') {
                found.push(word, false);
            }
        } else if options && word == "--" {
            options = false;
        } else {
            found.argument(word, options);
        }
        if found.truncated {
            break;
        }
    }
    found
}

//! Whether a rule's words occur among the bare words of a command that was not
//! understood. Finding too much is fine.

use super::Effect;
use super::shell::{Place, Shell, is_program};
use super::text::Text;
use crate::shell;

/// Whether all words of a rule occur, in order. Words between them are passed over,
/// so that quoting and wrapping cannot hide one.
pub(crate) fn occurs(rule: &Shell, joined: &[String], pieces: &[String]) -> bool {
    in_order(rule, joined) || in_order(rule, pieces)
}

fn in_order(rule: &Shell, words: &[String]) -> bool {
    let mut at = 0;
    for (index, place) in rule.words.iter().enumerate() {
        let Place::Word(texts) = place else { continue };
        // Of several alternatives the one that occurs first leaves most for the rest.
        let next = texts.iter().filter_map(|text| after(text, index == 0, words, at)).min();
        match next {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

/// Where to go on behind a pattern's words, from a place in the bare words on.
fn after(text: &Text, program: bool, words: &[String], at: usize) -> Option<usize> {
    let rest = words.get(at..)?;
    let Some(literal) = text.literal() else {
        // What a star stands for may hold any separator: every piece between stars must
        // stand somewhere, and nothing is used up.
        let pieces: Vec<String> = text.pieces().iter().flat_map(|piece| split(piece)).collect();
        let stands = |piece: &String| words.iter().any(|word| word.contains(piece.as_str()));
        return pieces.iter().all(stands).then_some(at);
    };
    let mut wanted = split(literal);
    if wanted.len() <= 1 {
        let fits = |word: &String| match program {
            true => is_program(Effect::Deny, text, word),
            false => text.matches(word),
        };
        if let Some(found) = rest.iter().position(fits) {
            return Some(at + found + 1);
        }
    }
    // A word with separators in it was split into several.
    wanted.reverse();
    let mut at = at;
    while let Some(next) = wanted.pop() {
        at += words.get(at..)?.iter().position(|word| *word == next)? + 1;
    }
    Some(at)
}

/// A word of a rule as the bare words have it.
fn split(word: &str) -> Vec<String> {
    shell::bare_words(word).joined
}

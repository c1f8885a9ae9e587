//! Brace expansion, which happens before anything else and needs no values.

use super::word::Word;
use crate::limits::{SHELL_BRACE_WORDS_MAX, SHELL_NESTING_MAX};

/// One byte of a word and whether it was quoted.
type Byte = (u8, bool);

/// The words that a literal word with braces makes; none where that is not certain.
pub(super) fn expand(word: &Word) -> Option<Vec<String>> {
    let bytes: Vec<Byte> =
        word.text.bytes().zip(word.quoted.iter().copied().chain(std::iter::repeat(true))).collect();
    // `{1..9}` and everything else with two dots is left alone.
    let dots = bytes.windows(2).any(|pair| matches!(pair, [(b'.', false), (b'.', false)]));
    if dots || word.quoted.len() != word.text.len() {
        return None;
    }
    let mut found = Vec::new();
    for bytes in group(&bytes, 0)? {
        if bytes.is_empty() {
            // An empty word that nobody quoted is no word; one that was is.
            return None;
        }
        found.push(String::from_utf8(bytes.into_iter().map(|(byte, _)| byte).collect()).ok()?);
    }
    Some(found)
}

/// All that one text stands for.
fn group(text: &[Byte], depth: usize) -> Option<Vec<Vec<Byte>>> {
    if depth > SHELL_NESTING_MAX {
        return None;
    }
    let Some(open) = text.iter().position(|byte| *byte == (b'{', false)) else {
        return Some(vec![text.to_vec()]);
    };
    let (before, rest) = text.split_at_checked(open)?;
    let inside = rest.get(1..)?;
    let mut level = 0_u32;
    let mut cuts = vec![0_usize];
    let mut close = None;
    for (at, byte) in inside.iter().enumerate() {
        match byte {
            (b'{', false) => level = level.saturating_add(1),
            (b'}', false) if level == 0 => {
                close = Some(at);
                break;
            }
            (b'}', false) => level = level.saturating_sub(1),
            (b',', false) if level == 0 => cuts.push(at.saturating_add(1)),
            _ => {}
        }
    }
    // `{a}`, `{a,b` and their mixtures mean what a version says they mean.
    let close = close.filter(|_| cuts.len() > 1)?;
    let tails = group(inside.get(close.saturating_add(1)..)?, depth.saturating_add(1))?;
    let mut found = Vec::new();
    for (index, from) in cuts.iter().enumerate() {
        let to = cuts.get(index.saturating_add(1)).map_or(close, |next| next.saturating_sub(1));
        for middle in group(inside.get(*from..to)?, depth.saturating_add(1))? {
            for tail in &tails {
                if found.len() >= SHELL_BRACE_WORDS_MAX {
                    return None;
                }
                found.push([before, &middle, tail].concat());
            }
        }
    }
    Some(found)
}

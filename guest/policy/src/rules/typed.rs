//! Which rule matches a stage or an action.
//!
//! Rules are typed inputs here; the language a person writes them in comes
//! with the evaluator. Deny beats ask beats allow, in any order of the rules.

use crate::shell;
use crate::types::{EffectWord, Rule};

/// The first rule of an effect that matches one stage.
///
/// A deny or ask rule also matches a stage whose words are not all known, by
/// its bare words: not knowing must never soften a refusal. An allow rule
/// needs every word.
pub(crate) fn for_stage<'a>(
    rules: &'a [Rule],
    effect: EffectWord,
    stage: &shell::Stage,
    bare: &shell::BareWords,
) -> Option<&'a Rule> {
    rules.iter().find(|rule| {
        rule.effect == effect && rule.kind == "shell" && matches_stage(rule, effect, stage, bare)
    })
}

fn matches_stage(
    rule: &Rule,
    effect: EffectWord,
    stage: &shell::Stage,
    bare: &shell::BareWords,
) -> bool {
    let prefix = rule.argv_prefix.as_slice();
    if stage.complete {
        return stage.argv.starts_with(prefix)
            && (effect != EffectWord::Allow
                || (stage.assignments.is_empty() && stage.redirects.iter().all(|r| !r.write)));
    }
    if effect == EffectWord::Allow {
        // A rule for the whole kind needs no words; one with a prefix does.
        return prefix.is_empty();
    }
    prefix.is_empty()
        || bare.truncated
        || contains(&bare.joined, prefix)
        || contains(&bare.pieces, prefix)
}

/// Whether all words of a prefix occur, in order. Words between them are passed
/// over, so that quoting and wrapping cannot hide one.
fn contains(words: &[String], prefix: &[String]) -> bool {
    let mut wanted = prefix.iter();
    let mut next = wanted.next();
    for word in words {
        match next {
            Some(want) if word == want => next = wanted.next(),
            Some(_) => {}
            None => break,
        }
    }
    next.is_none()
}

/// The first rule of an effect that matches an action of a kind without stages: one
/// for the whole kind, or for this tool. An allow rule never covers a kind that the
/// evaluator does not know; deny and ask rules may name any.
pub(crate) fn for_kind<'a>(
    rules: &'a [Rule],
    effect: EffectWord,
    kind: &str,
    tool: &str,
) -> Option<&'a Rule> {
    rules.iter().find(|rule| {
        rule.effect == effect
            && rule.kind == kind
            && (effect != EffectWord::Allow || rule.argv_prefix.is_empty())
            && rule.tool_name.as_ref().is_none_or(|name| name == tool)
    })
}

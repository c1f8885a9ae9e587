//! What covers a stage: the table of known-safe commands, a rule, or what covers
//! everything that it runs in turn. Whatever is not known is covered by nothing.

use crate::rules;
use crate::safe;
use crate::shell::{self, Stage, Through, What};
use crate::types::{Coverage, EffectWord, Rule};

/// Files that take everything and keep nothing.
const SINKS: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];

/// Whether a stage changes nothing by its own words: it reads, or it is bash's own.
pub(crate) fn reads_only(stage: &Stage) -> bool {
    match stage.what {
        What::Command => {
            stage.complete && (shell::harmless_builtin(stage) || safe::known_safe(stage))
        }
        What::Assignment => stage.assignments.iter().all(|set| shell::harmless_variable(&set.name)),
        What::Redirect | What::Expression => true,
        What::Opaque => false,
    }
}

/// Whether a redirect leaves every file as it is.
pub(crate) fn keeps_files(redirect: &shell::Redirect) -> bool {
    match &redirect.target {
        Some(target) => !redirect.write || SINKS.contains(&target.as_str()),
        None => false,
    }
}

/// What covers a stage with all that it runs in turn.
pub(crate) fn stage(rules: &[Rule], stage: &Stage, bare: &shell::BareWords) -> Coverage {
    if stage.background || !stage.redirects.iter().all(keeps_files) || lost(stage) {
        return Coverage::Unmatched;
    }
    if !stage.code && stage.assignments.iter().all(|set| shell::harmless_variable(&set.name)) {
        // What only expands may still not be known: `x=$(date)` runs nothing by itself.
        let settled = match stage.what {
            What::Command | What::Expression | What::Redirect => stage.complete,
            What::Assignment => true,
            What::Opaque => false,
        };
        if settled && reads_only(stage) {
            return Coverage::KnownSafe;
        }
        if settled && stage.through == Through::Alone && !stage.inner.is_empty() {
            let covered = inner(rules, stage, bare);
            if covered != Coverage::Unmatched {
                return covered;
            }
        }
    }
    match rules::for_stage(rules, EffectWord::Allow, stage, bare) {
        Some(rule) => Coverage::Rule(rule.id.clone()),
        None => Coverage::Unmatched,
    }
}

/// What covers all inner stages: a rule where one is needed.
fn inner(rules: &[Rule], outer: &Stage, bare: &shell::BareWords) -> Coverage {
    let mut all = Coverage::KnownSafe;
    for found in outer.inner.iter().map(|inner| stage(rules, inner, bare)) {
        match found {
            Coverage::Unmatched => return Coverage::Unmatched,
            Coverage::KnownSafe => {}
            other => all = other,
        }
    }
    all
}

/// Whether a stage names a relative path, and nobody knows relative to what.
fn lost(stage: &Stage) -> bool {
    stage.folder == shell::Folder::Unknown
        && shell::word_paths(stage).paths.iter().any(|word| !word.text.starts_with('/'))
}

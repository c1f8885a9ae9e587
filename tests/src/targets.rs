//! What a fuzzer calls: each target takes any bytes and fails by panicking when a
//! promise is broken. The same functions are driven by `fuzz/` (libFuzzer, needs a
//! nightly toolchain) and, from a seed, by an ordinary test.

#![allow(clippy::panic, reason = "a fuzzer is told of a finding by a panic")]

use placet_policy::limits::{SHELL_BRACE_WORDS_MAX, SHELL_STAGES_MAX, SHELL_WRAPPERS_MAX};
use placet_policy::rules::{Compiled, Layer, Origin, compile};
use placet_policy::shell::{Parsed, Stage, What, bare_words, stages};

/// A command: an answer always, always the same, and of a size that the command's
/// size bounds.
pub fn shell_stages(data: &[u8]) {
    let command = String::from_utf8_lossy(data);
    let home = data.len().is_multiple_of(2).then_some("/home/user");
    let parsed = stages(&command, home);
    assert!(parsed == stages(&command, home), "another answer for {command:?}");
    assert!(!parsed.opaque || parsed.stages.len() == 1, "opaque in parts: {command:?}");
    let every: Vec<&Stage> = all(&parsed).collect();
    assert!(every.len() <= SHELL_STAGES_MAX * 2 + 1, "{} stages: {command:?}", every.len());
    for stage in &parsed.stages {
        assert!(within(stage, &command), "{stage:?} is outside {command:?}");
    }
    // Those that an opaque command leaves behind need not be finished.
    for stage in parsed.stages.iter().flat_map(Stage::every) {
        consistent(stage, &command);
    }
    let shown: usize = every.iter().flat_map(|stage| &stage.argv).map(String::len).sum();
    let most = command.len().saturating_add(64).saturating_mul(SHELL_BRACE_WORDS_MAX);
    let most = most.saturating_mul(usize::try_from(SHELL_WRAPPERS_MAX).unwrap_or(1) + 1);
    assert!(shown <= most, "{shown} bytes of words: {command:?}");
    let _ = bare_words(&command);
}

fn all(parsed: &Parsed) -> impl Iterator<Item = &Stage> {
    parsed.stages.iter().chain(&parsed.found).flat_map(Stage::every)
}

fn within(stage: &Stage, command: &str) -> bool {
    let at = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
    command.get(at(stage.start)..at(stage.end)).is_some()
}

fn consistent(stage: &Stage, command: &str) {
    let words = u32::try_from(stage.argv.len()).unwrap_or(u32::MAX);
    let ascending = stage.unknown.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    let inside = stage.unknown.iter().all(|at| *at < words);
    assert!(ascending && inside, "unknown words of {stage:?} in {command:?}");
    let known = stage.unknown.is_empty() && stage.what != What::Opaque;
    assert!(known || !stage.complete, "complete and unknown: {stage:?} in {command:?}");
    assert!(!stage.code || !stage.settled(), "settled and unknown: {stage:?} in {command:?}");
}

/// A rule file: a set and findings always, always the same, and findings that point
/// into the text.
pub fn rule_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let origins = [
        Origin::User,
        Origin::Workspace,
        Origin::TrustedWorkspace,
        Origin::Session,
        Origin::Grants,
    ];
    let origin = origins.get(data.len() % origins.len()).copied().unwrap_or(Origin::User);
    let layers = [Layer { name: "placet.toml".into(), origin, text }];
    let compiled = compile(&layers);
    let again = compile(&layers);
    assert!(told(&compiled) == told(&again), "another answer for {layers:?}");
    let lines = layers.iter().map(|layer| layer.text.split('\n').count()).max().unwrap_or(0);
    for finding in &compiled.findings {
        let line = usize::try_from(finding.line).unwrap_or(usize::MAX);
        assert!(line <= lines.max(1), "{finding:?} is outside {layers:?}");
    }
}

fn told(compiled: &Compiled) -> String {
    let rules: Vec<_> = compiled.set.rules().iter().map(|rule| (rule.id(), rule.line())).collect();
    format!("{rules:?} {:?} {:?}", compiled.set.broken(), compiled.findings)
}

//! The shell parser: a table of cases, real commands, bash itself, and bounds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic, also in its helpers"
)]

mod bounds;
mod corpus;
mod differential;
mod oracle;
mod paths;
mod table;
mod words;

use placet_policy::shell::{Parsed, Stage, What, stages};

/// How the tables write what was parsed: `[word]`, `<word>` for a word that is
/// not known, `w:file`, `a:file`, `r:file` for redirects, `NAME=value`, a `?`
/// at the end of an incomplete stage, `!` where code may run unseen, `&` in the
/// background, inner stages in brackets, and ` / ` between stages.
fn render(parsed: &Parsed) -> String {
    if parsed.opaque {
        return "opaque".to_owned();
    }
    parsed.stages.iter().map(render_stage).collect::<Vec<_>>().join(" / ")
}

fn render_stage(stage: &Stage) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
    let mut parts: Vec<String> =
        stage.assignments.iter().map(|set| format!("{}={}", set.name, value(&set.value))).collect();
    let shown = stage.what == What::Assignment || stage.what == What::Redirect;
    for (index, word) in (0_u32..).zip(&stage.argv) {
        if shown {
            break;
        }
        let known = !stage.unknown.contains(&index);
        parts.push(if known { format!("[{word}]") } else { format!("<{word}>") });
    }
    for redirect in &stage.redirects {
        let mode = match (redirect.write, redirect.append) {
            (true, true) => "a",
            (true, false) => "w",
            _ => "r",
        };
        parts.push(format!("{mode}:{}", redirect.target.as_deref().unwrap_or("?")));
    }
    if !stage.complete {
        parts.push("?".to_owned());
    }
    if stage.code {
        parts.push("!".to_owned());
    }
    if stage.background {
        parts.push("&".to_owned());
    }
    if !stage.inner.is_empty() {
        let inner = stage.inner.iter().map(render_stage).collect::<Vec<_>>().join(" / ");
        parts.push(format!("({inner})"));
    }
    parts.join(" ")
}

/// What holds for every answer, whatever the command.
fn check_shape(command: &str) -> Parsed {
    let parsed = stages(command, None);
    let mut last = 0;
    for stage in &parsed.stages {
        let (start, end) = (stage.start as usize, stage.end as usize);
        // A substitution's stages lie inside the one that it is part of.
        assert!(last <= start && start <= end, "{command:?}: {parsed:?}");
        assert!(command.get(start..end).is_some(), "{command:?}: {parsed:?}");
        assert!(parsed.opaque || start < end, "{command:?}: {parsed:?}");
        assert!(stage.unknown.is_empty() || !stage.complete, "{command:?}: {parsed:?}");
        assert!(stage.unknown.is_sorted(), "{command:?}: {parsed:?}");
        last = start;
    }
    if parsed.opaque {
        assert_eq!(parsed.stages.len(), 1);
        let blob = &parsed.stages[0];
        assert_eq!(blob.argv, [command]);
        assert_eq!((blob.start, blob.end as usize), (0, command.len()));
        assert!(!blob.complete);
    }
    parsed
}

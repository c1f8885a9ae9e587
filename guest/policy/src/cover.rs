//! What covers a stage: the table of known-safe commands, a rule, or what covers
//! everything that it runs in turn. Whatever is not known is covered by nothing.

use crate::judge::{Case, shell_rule};
use crate::rules::{Effect, Hit, Origin};
use crate::safe::{self, Table};
use crate::shell::{self, Stage, Through, What};
use crate::subject;
use crate::types::{Coverage, PathClass};

/// Files that take everything and keep nothing.
const SINKS: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];

/// Whether a stage changes nothing by its own words: it reads, or it is bash's own.
pub(crate) fn reads_only(stage: &Stage, table: &Table) -> bool {
    match stage.what {
        What::Command => {
            (stage.complete && shell::harmless_builtin(stage))
                || (stage.complete || stage.is_added_to()) && safe::known_safe(stage, table)
        }
        What::Assignment => stage.harmful_variables().next().is_none(),
        What::Redirect | What::Expression => true,
        What::Opaque => false,
    }
}

/// What covers a stage with all that it runs in turn, or why nothing does.
pub(crate) fn stage(case: &Case<'_>, stage: &Stage) -> Result<Coverage, String> {
    let said = |why: &str| Err(why.to_owned());
    let words = words(case, stage)?;
    if stage.background {
        return said("it runs in the background, where nobody waits for it");
    }
    if lost(stage) {
        return said("nobody knows in which folder it would run");
    }
    let mut covered = words;
    if stage.redirects.iter().any(|redirect| redirect.target.is_none()) {
        return said("it opens a file that is not known before it runs");
    }
    let written = stage.redirects.iter().filter(|redirect| redirect.write);
    let written = written.filter_map(|redirect| redirect.target.as_deref());
    for target in written.filter(|target| !keeps_nothing(target)) {
        match writable(case, stage, target) {
            Some(hit) => covered = by(hit),
            None => {
                let elsewhere = elsewhere(case, stage, target);
                return Err(format!("it writes to `{target}`{elsewhere}"));
            }
        }
    }
    Ok(covered)
}

/// Whether nothing of what is written to a file can be read again.
pub(crate) fn keeps_nothing(target: &str) -> bool {
    SINKS.contains(&target)
}

/// What covers the words of a stage, its redirects apart.
fn words(case: &Case<'_>, stage: &Stage) -> Result<Coverage, String> {
    let harmful = stage.harmful_variables().next();
    // What only expands may still not be known: `x=$(date)` runs nothing by itself.
    // What `xargs` adds may be any file, so no rule may be about files then.
    let added = stage.is_added_to() && !case.rules.narrows_files();
    let settled = !stage.code && (stage.complete || added || stage.what == What::Assignment);
    let mut why = None;
    if settled && harmful.is_none() {
        if reads_only(stage, case.rules.safe()) {
            match configured(case, stage) {
                false => return Ok(Coverage::KnownSafe),
                true => why = Some(CONFIGURED.to_owned()),
            }
        }
        if stage.through == Through::Alone && !stage.inner.is_empty() {
            match inner(case, stage) {
                Ok(covered) => return Ok(covered),
                Err(said) => why = Some(said),
            }
        }
    }
    // A rule that looks at words needs all of them; one for the whole kind needs none.
    if stage.what == What::Command && stage.complete && !stage.code {
        if let Some(hit) = shell_rule(case, Effect::Allow, stage) {
            return Ok(by(hit));
        }
    } else if let Some(hit) = whole_kind(case) {
        return Ok(by(hit));
    }
    Err(match (why, harmful) {
        (Some(why), _) => why,
        _ if stage.what == What::Opaque => "it could not be read as a command".to_owned(),
        _ if stage.code => "it may run code that cannot be seen before it runs".to_owned(),
        (None, Some(name)) => format!("it sets `{name}`, which can change what programs do"),
        _ if !stage.complete => "its words are not all known before it runs".to_owned(),
        _ if stage.through == Through::Besides => "no rule covers it".to_owned(),
        _ => safe::why_not(stage, case.rules.safe()),
    })
}

const CONFIGURED: &str = "the configuration of its repository makes git run programs";

/// Whether a repository's configuration has a stage run programs that only reads, or
/// nobody knows which repository it is.
fn configured(case: &Case<'_>, stage: &Stage) -> bool {
    if !subject::runs_git(stage) {
        return false;
    }
    let queries = subject::queries(case.action, stage, subject::REPOSITORY, false);
    let runs = |query| case.fact(query).is_none_or(|fact| fact.class == PathClass::RunsPrograms);
    queries.is_empty() || queries.iter().any(runs)
}

/// A rule for everything of the kind needs no words.
fn whole_kind<'a>(case: &Case<'a>) -> Option<Hit<'a>> {
    let bare = &case.reading.bare;
    case.rules.bare(Effect::Allow, &bare.joined, &bare.pieces)
}

/// The coverage that a rule gives: a saved grant is named by its approval.
pub(crate) fn by(hit: Hit<'_>) -> Coverage {
    match hit.rule.origin() {
        Origin::Grants => Coverage::Kept(hit.rule.id().to_owned()),
        _ => Coverage::Rule(hit.rule.id().to_owned()),
    }
}

/// What covers all inner stages: a rule where one is needed.
fn inner(case: &Case<'_>, outer: &Stage) -> Result<Coverage, String> {
    let mut all = Coverage::KnownSafe;
    for inner in &outer.inner {
        match stage(case, inner) {
            Ok(Coverage::KnownSafe) => {}
            Ok(other) => all = other,
            Err(why) => return Err(format!("it runs `{}`: {why}", inner.argv.join(" "))),
        }
    }
    Ok(all)
}

/// The rule that lets a stage write a file, from wherever it may start.
fn writable<'a>(case: &Case<'a>, stage: &Stage, target: &str) -> Option<Hit<'a>> {
    let mut found = None;
    for query in subject::queries(case.action, stage, target, true) {
        found = Some(case.path_rule(Effect::Allow, &query)?);
    }
    found
}

/// Where a link leads what a stage writes, for a person to see.
fn elsewhere(case: &Case<'_>, stage: &Stage, target: &str) -> String {
    let queries = subject::queries(case.action, stage, target, true);
    let linked = queries.iter().filter_map(|query| case.fact(query)).find(|fact| fact.linked);
    linked.map(|fact| format!(", which is `{}`", fact.canonical)).unwrap_or_default()
}

/// Whether a stage names a relative path, and nobody knows relative to what.
fn lost(stage: &Stage) -> bool {
    stage.folder == shell::Folder::Unknown
        && shell::word_paths(stage).paths.iter().any(|word| !word.text.starts_with('/'))
}

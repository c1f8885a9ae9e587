//! What decides an action: the decision table, tried from the top.
//!
//! Rules, grants and the table of known-safe commands decide first; the mode is
//! asked only about what is left. Every row that allows names its reason, and
//! there is no way out of the table without a row: no reason, no run.

use crate::codec::{self, Resolution, Subject};
use crate::grants;
use crate::judge::{self, Case};
use crate::limits;
use crate::modes::{self, Mode};
use crate::rules::{Certainty, RuleSet};
use crate::state::State;
use crate::subject::Reading;
use crate::types::{
    Action, Answer, Context, Coverage, Decision, Facts, PathClass, Summary, TableRow,
};

/// A verdict with everything that it rests on.
pub(crate) struct Verdict {
    pub(crate) decision: Decision,
    pub(crate) row: TableRow,
    pub(crate) reason: String,
    pub(crate) rule: Option<String>,
    /// What covers each stage; one entry for kinds without stages.
    pub(crate) coverage: Vec<Coverage>,
    /// The mode in force, after the seals.
    pub(crate) mode: Option<Mode>,
    pub(crate) answer: Option<Answer>,
    pub(crate) fault: Option<String>,
    /// Digest of the mode component that was asked.
    pub(crate) asked: Option<String>,
}

/// A mode component, or what stands for one in a test.
type Ask<'a, 'b> = &'a mut (dyn FnMut(&Summary) -> Result<Answer, String> + 'b);

/// Decides an action.
pub(crate) fn evaluate(
    state: &State,
    context: &Context,
    rules: &RuleSet,
    action: &Action,
    reading: &Reading,
    facts: &Facts,
    ask: Ask<'_, '_>,
) -> Verdict {
    let mode = state.mode_in_force();
    let root = context.grants_root.as_deref();
    match by_policy(&Case { state, rules, root, action, reading, facts }) {
        Ok(verdict) => settle(verdict, mode),
        Err(coverage) => by_mode(mode, context, action, reading, coverage, ask),
    }
}

/// Decides an action by rules, grants and the safe table alone, as recovery
/// does; what they leave open is asked about.
pub(crate) fn without_mode(
    state: &State,
    context: &Context,
    rules: &RuleSet,
    action: &Action,
    reading: &Reading,
    facts: &Facts,
) -> Verdict {
    let root = context.grants_root.as_deref();
    by_policy(&Case { state, rules, root, action, reading, facts }).unwrap_or_else(|coverage| {
        Verdict {
            coverage,
            ..row(
                Decision::Ask,
                unmatched_row(action),
                "it was pending when its host stopped, so a person is asked again".to_owned(),
            )
        }
    })
}

/// The verdict on an action that could not be judged. It reads nothing of the
/// action: that may be what failed.
pub(crate) fn unjudged(action: &Action, fault: &str) -> Verdict {
    let table_row = unmatched_row(action);
    row(Decision::Deny, table_row, format!("nothing may run on a fault: {fault}"))
        .with_fault(fault.to_owned())
}

/// The row of an unmatched action.
fn unmatched_row(action: &Action) -> TableRow {
    if action.asked_for {
        TableRow::AskedFor
    } else if action.confined.is_some() {
        TableRow::Confined
    } else {
        TableRow::Unconfined
    }
}

fn row(decision: Decision, row: TableRow, reason: String) -> Verdict {
    Verdict {
        decision,
        row,
        reason,
        rule: None,
        coverage: Vec::new(),
        mode: None,
        answer: None,
        fault: None,
        asked: None,
    }
}

/// Rows that want a person become a denial where nobody may be asked.
fn settle(mut verdict: Verdict, mode: Option<Mode>) -> Verdict {
    verdict.mode = mode;
    if verdict.decision == Decision::Ask && matches!(mode, None | Some(Mode::DenyUnmatched)) {
        verdict.decision = Decision::Deny;
        verdict.reason = format!("{}, and {}", verdict.reason, never_asks(mode));
    }
    verdict
}

fn never_asks(mode: Option<Mode>) -> &'static str {
    match mode {
        None => "the seals of this session's hosts have no mode in common, so nobody may be asked",
        Some(_) => "the mode denyUnmatched never asks",
    }
}

/// The rows above the mode: a verdict, or what covers each stage where some is unmatched.
fn by_policy(case: &Case<'_>) -> Result<Verdict, Vec<Coverage>> {
    let Case { rules, reading, facts, .. } = case;
    if let Some(fact) = facts.paths.iter().find(|fact| fact.class == PathClass::PlacetOwn) {
        let reason = format!(
            "`{}` belongs to Placet itself, which no action may touch; leave it out",
            fact.query.text
        );
        return Ok(row(Decision::Deny, TableRow::OwnFiles, reason));
    }
    let denied = judge::denied(case);
    if let Some(found) = denied.as_ref().filter(|found| found.certainty == Certainty::Certain) {
        let said = found.rule.message().unwrap_or("use another way");
        let reason = format!("the rule {} denies {}: {said}", found.rule.id(), found.what);
        return Ok(Verdict {
            rule: Some(found.rule.id().to_owned()),
            ..row(Decision::Deny, TableRow::DenyRule, reason)
        });
    }
    if let Some(reason) = protected(case) {
        return Ok(Verdict {
            coverage: nothing_covered(reading),
            ..row(Decision::Ask, TableRow::Protected, reason)
        });
    }
    if let Subject::Unknown { word, .. } = &reading.subject {
        let reason = format!("this version does not know actions of the kind `{word}`");
        return Ok(row(Decision::Ask, TableRow::UnknownKind, reason));
    }
    let asked = |rule: Option<String>, reason: String| Verdict {
        rule,
        coverage: nothing_covered(reading),
        ..row(Decision::Ask, TableRow::AskRule, reason)
    };
    if let Some(broken) = rules.broken() {
        let reason = format!("the rules cannot be relied on until they are mended: {broken}");
        return Ok(asked(None, reason));
    }
    if let Some(found) = denied {
        let reason = format!(
            "the rule {} may deny {}: it cannot be told before it runs",
            found.rule.id(),
            found.what
        );
        return Ok(asked(Some(found.rule.id().to_owned()), reason));
    }
    if let Some(found) = judge::asked(case) {
        let said = found.rule.message().map(|said| format!(": {said}")).unwrap_or_default();
        let reason =
            format!("the rule {} wants a person for {}{said}", found.rule.id(), found.what);
        return Ok(asked(Some(found.rule.id().to_owned()), reason));
    }
    let coverage = judge::coverage(case);
    // Nothing that covers is no reason, and without a reason nothing runs.
    if coverage.is_empty() || coverage.contains(&Coverage::Unmatched) {
        return Err(coverage);
    }
    let reason = format!("every stage is covered: {}", listed(&coverage));
    Ok(Verdict { coverage, ..row(Decision::Allow, TableRow::Covered, reason) })
}

/// Where a person must see the action, no stage is covered by anything else.
fn nothing_covered(reading: &Reading) -> Vec<Coverage> {
    reading.stages.iter().map(|_| Coverage::Unmatched).collect()
}

/// Why a person must see this for its paths, if one must. A path without a
/// fact is unknown and treated as the worst that a person may still allow.
fn protected(case: &Case<'_>) -> Option<String> {
    if case.reading.truncated {
        return Some("it names more paths than can be checked".to_owned());
    }
    for query in &case.reading.paths {
        let Some(fact) = case.fact(query) else {
            return Some(format!("the host could not tell what `{}` is", query.text));
        };
        match fact.class {
            PathClass::Credential => {
                return Some(format!("`{}` holds credentials", query.text));
            }
            PathClass::Protected if query.write => {
                return Some(format!("`{}` is a protected file", query.text));
            }
            PathClass::Protected
            | PathClass::Ordinary
            | PathClass::RunsPrograms
            | PathClass::PlacetOwn => {}
        }
    }
    None
}

/// The rule or grant that covers something, as records and reasons name it.
fn named(coverage: &Coverage) -> String {
    match coverage {
        Coverage::Rule(id) => format!("rule {id}"),
        by => grants::named(by).unwrap_or_default(),
    }
}

fn listed(coverage: &[Coverage]) -> String {
    let mut words: Vec<String> = Vec::new();
    for covered in coverage {
        let word = match covered {
            Coverage::Unmatched => "nothing".to_owned(),
            Coverage::KnownSafe => "known to be safe".to_owned(),
            by => named(by),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(", ")
}

fn by_mode(
    mode: Option<Mode>,
    context: &Context,
    action: &Action,
    reading: &Reading,
    coverage: Vec<Coverage>,
    ask: Ask<'_, '_>,
) -> Verdict {
    let table_row = unmatched_row(action);
    let Some(mode) = mode else {
        return Verdict {
            coverage,
            ..row(
                Decision::Deny,
                table_row,
                format!("{}: {}", unmatched(reading), never_asks(None)),
            )
        };
    };
    let summary = Summary {
        mode: mode.name().to_owned(),
        subject_kind: kind(&reading.subject).to_owned(),
        tool_name: action.tool_name.clone(),
        asked_for: action.asked_for,
        confined: action.confined.clone(),
        unmatched: reading
            .stages
            .iter()
            .zip(&coverage)
            .filter(|(_, covered)| **covered == Coverage::Unmatched)
            .map(|(stage, _)| stage.argv.clone())
            .collect(),
        now_ms: context.now_ms,
    };
    let asked = context
        .modes
        .iter()
        .find(|component| component.name == mode.name())
        .map(|component| component.digest.clone());
    let mut verdict = match mode.clamp(ask(&summary), &summary) {
        Ok(answer) => {
            let what = unmatched_stage(reading, &coverage);
            let reason = format!("{what}: {}", answer.reason);
            Verdict { answer: Some(answer.clone()), ..row(answer.decision, table_row, reason) }
        }
        Err((answer, fault)) => Verdict {
            answer,
            ..row(Decision::Deny, table_row, format!("nothing may run on a fault: {fault}"))
                .with_fault(fault)
        },
    };
    verdict.mode = Some(mode);
    verdict.coverage = coverage;
    verdict.asked = asked;
    verdict
}

fn unmatched(reading: &Reading) -> String {
    match &reading.subject {
        // Where a link leads elsewhere, both names are said.
        Subject::FileAccess { canonical, .. } if !canonical.is_empty() => {
            let given = reading.own_path.as_ref();
            let given =
                given.filter(|query| judge::lexical(&query.base, &query.text) != *canonical);
            let named = given
                .map(|query| format!(", given as `{}`,", short(&query.text)))
                .unwrap_or_default();
            format!("{}{named} is not covered", what(&reading.subject))
        }
        Subject::Shell { command, .. } => format!("`{}` is not covered", short(command)),
        Subject::Unknown { word, .. } => format!("the kind `{word}` is not known"),
        subject => format!("{} is not covered", what(subject)),
    }
}

/// An action of a kind without stages, as a reason names it.
pub(crate) fn what(subject: &Subject) -> String {
    match subject {
        Subject::Shell { command, .. } => format!("`{}`", short(command)),
        Subject::FileAccess { path, access, .. } => format!("to {access} `{}`", short(path)),
        Subject::Network { host, .. } => format!("the host `{}`", short(host)),
        Subject::UnixSocket { path, .. } => format!("the socket `{}`", short(path)),
        Subject::Process { target, .. } => format!("to control `{}`", short(target)),
        Subject::Tool { tool, .. } => format!("the tool `{}`", short(tool)),
        Subject::Unknown { word, .. } => format!("the kind `{}`", short(word)),
    }
}

/// A command as a reason names it: its beginning, where the whole would fill the record.
pub(crate) fn short(command: &str) -> String {
    match command.char_indices().nth(limits::REASON_CHARS_MAX) {
        Some((end, _)) => format!("{}\u{2026}", command.get(..end).unwrap_or_default()),
        None => command.to_owned(),
    }
}

/// Names the first stage that nothing covers.
fn unmatched_stage(reading: &Reading, coverage: &[Coverage]) -> String {
    let stage = reading.stages.iter().zip(coverage).find(|(_, c)| **c == Coverage::Unmatched);
    match stage {
        Some((stage, _)) => format!("`{}` is not covered", short(&stage.argv.join(" "))),
        None => unmatched(reading),
    }
}

/// The kind's word on the wire.
pub(crate) fn kind(subject: &Subject) -> &str {
    match subject {
        Subject::Shell { .. } => "shell",
        Subject::FileAccess { .. } => "fileAccess",
        Subject::Network { .. } => "network",
        Subject::UnixSocket { .. } => "unixSocket",
        Subject::Process { .. } => "process",
        Subject::Tool { .. } => "tool",
        Subject::Unknown { word, .. } => word,
    }
}

/// Digest of what a decision rests on. That something exists now, or no longer,
/// does not change whose path it is, so it is left out.
pub(crate) fn facts_digest(facts: &codec::Facts) -> String {
    let mut parts: Vec<Vec<u8>> = vec![facts.environment.clone().into_bytes()];
    for fact in &facts.paths {
        let codec::PathFact { text, base, write, canonical, linked, class, exists: _ } = fact;
        let line = (text, base, write, canonical, linked, class);
        parts.push(serde_json::to_vec(&line).unwrap_or_default());
    }
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    crate::ids::digest(&parts)
}

impl Verdict {
    /// The same where a person must see it as a protected write: no rule and no grant
    /// settles it, and what refuses still does.
    pub(crate) fn for_a_person(self) -> Verdict {
        if self.decision == Decision::Deny || self.row == TableRow::Protected {
            return self;
        }
        Verdict {
            decision: Decision::Ask,
            row: TableRow::Protected,
            reason: "it was about a protected file when a person was asked".to_owned(),
            rule: None,
            coverage: self.coverage.iter().map(|_| Coverage::Unmatched).collect(),
            ..self
        }
    }

    fn with_fault(mut self, fault: String) -> Verdict {
        self.fault = Some(fault);
        self
    }

    /// The session grant that allowed the action, if one did.
    pub(crate) fn granted_by(&self) -> Option<&str> {
        if self.decision != Decision::Allow {
            return None;
        }
        self.coverage.iter().find_map(|covered| match covered {
            Coverage::Grant(approval) => Some(approval.as_str()),
            Coverage::Unmatched | Coverage::KnownSafe | Coverage::Rule(_) | Coverage::Kept(_) => {
                None
            }
        })
    }

    /// What is left of each stage to decide.
    pub(crate) fn resolutions(&self) -> Vec<Resolution> {
        self.coverage
            .iter()
            .map(|covered| match covered {
                Coverage::Unmatched => Resolution::Unresolved,
                Coverage::KnownSafe => Resolution::KnownSafe,
                by => Resolution::PolicyAllow { diagnostic: named(by) },
            })
            .collect()
    }

    /// The verdict as it is stored.
    pub(crate) fn stored(&self) -> codec::Verdict {
        codec::Verdict {
            decision: modes::word(self.decision).to_owned(),
            row: codec::row_word(self.row).to_owned(),
            reason: self.reason.clone(),
            rule: self.rule.clone(),
            mode: self.mode,
            answer: self.answer.as_ref().map(|answer| codec::ModeAnswer {
                decision: modes::word(answer.decision).to_owned(),
                reason: answer.reason.clone(),
            }),
            fault: self.fault.clone(),
        }
    }
}

//! Why an action is allowed, asked about or denied, for people and for programs.

use crate::codec::Subject;
use crate::cover;
use crate::evaluate::{self, Verdict, kind};
use crate::judge::Case;
use crate::rulebook;
use crate::rules::{Effect, Kind, Origin};
use crate::shell::{Stage, Through, What};
use crate::state::State;
use crate::subject;
use crate::types::{
    Context, Coverage, Decision, Explained, Explanation, Need, Proposal, Refusal, StageVerdict,
    Supply,
};

/// Rules that are named as near at most.
const NEAR_MAX: usize = 5;

/// What would happen to an action now.
pub(crate) fn explain(
    state: &State,
    context: &Context,
    proposal: &Proposal,
    supplied: &[Supply],
    ask: crate::AskMode<'_>,
) -> Result<Explained, Refusal> {
    let Some(rules) = rulebook::find(&context.rules_digest, supplied) else {
        return Ok(Explained::Needs(vec![Need::Rules(context.rules_digest.clone())]));
    };
    let Proposal { action, facts, .. } = proposal;
    let reading = subject::placed(action, facts, state.workspace.as_deref());
    let verdict = evaluate::evaluate(state, context, &rules, action, &reading, facts, ask);
    let root = context.grants_root.as_deref();
    let case = Case { state, rules: &rules, root, action, reading: &reading, facts };
    Ok(Explained::Done(explanation(&case, verdict)))
}

fn explanation(case: &Case<'_>, verdict: Verdict) -> Explanation {
    let stages = case
        .reading
        .stages
        .iter()
        .enumerate()
        .map(|(index, stage)| {
            let coverage = verdict.coverage.get(index).cloned();
            stage_verdict(case, stage, coverage.unwrap_or(Coverage::Unmatched))
        })
        .collect();
    let place = verdict.rule.as_deref().and_then(|id| place(case, id));
    Explanation {
        decision: verdict.decision,
        row: verdict.row,
        reason: verdict.reason,
        kind: kind(&case.reading.subject).to_owned(),
        rule: verdict.rule,
        place,
        // Where everything is covered nothing was near.
        near: if verdict.decision == Decision::Allow { Vec::new() } else { near(case) },
        stages,
        mode: verdict.mode.map(|mode| mode.name().to_owned()),
        answer: verdict.answer,
        fault: verdict.fault,
    }
}

/// `FILE:LINE` of a rule that stands in a file.
fn place(case: &Case<'_>, id: &str) -> Option<String> {
    let rule = case.rules.rule(id).filter(|rule| rule.origin() != Origin::Grants)?;
    Some(format!("{}:{}", rule.file(), rule.line()))
}

fn stage_verdict(case: &Case<'_>, stage: &Stage, coverage: Coverage) -> StageVerdict {
    let uncovered = coverage == Coverage::Unmatched;
    let why = uncovered.then(|| match cover::stage(case, stage) {
        Err(why) => why,
        Ok(_) => "a person has to see the whole command".to_owned(),
    });
    StageVerdict {
        argv: stage.argv.clone(),
        complete: stage.complete,
        start: stage.start,
        end: stage.end,
        coverage,
        why,
        smallest: uncovered.then(|| smallest(stage)).flatten(),
        inner: stage.inner.iter().map(|inner| inner.argv.join(" ")).collect(),
    }
}

/// The smallest rule that would cover a stage, where one may.
fn smallest(stage: &Stage) -> Option<String> {
    // A wrapper's own words need no rule: what it runs does.
    if stage.through == Through::Alone
        && let [only] = stage.inner.as_slice()
    {
        return smallest(only);
    }
    let plain = stage.what == What::Command
        && stage.complete
        && !stage.code
        && !stage.background
        && stage.redirects.iter().all(|redirect| !redirect.write);
    if !plain {
        return None;
    }
    let words = serde_json::to_string(&stage.argv).ok()?;
    let env: Vec<&str> = stage.harmful_variables().collect();
    let env = match env.as_slice() {
        [] => String::new(),
        names => format!(", env = {}", serde_json::to_string(names).ok()?),
    };
    Some(format!("{{ effect = \"allow\", shell = {words}, exact = true{env} }}"))
}

/// Allow rules for the same program that did not match.
fn near(case: &Case<'_>) -> Vec<String> {
    let Subject::Shell { .. } = case.reading.subject else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for stage in case.reading.stages.iter().flat_map(Stage::every) {
        let Some(program) = stage.argv.first() else { continue };
        if cover::stage(case, stage).is_ok() {
            continue;
        }
        let rules = case.rules.rules().iter().filter(|rule| {
            rule.effect() == Effect::Allow
                && rule.kind() == Kind::Shell
                && rule.begins_with(program)
        });
        for rule in rules {
            let line = format!("{} ({rule})", rule.id());
            if found.len() < NEAR_MAX && !found.contains(&line) {
                found.push(line);
            }
        }
    }
    found
}

//! What rules, grants and the table of known-safe commands say of an action.
//!
//! Deny and ask rules see every stage, also those that a wrapper runs in turn, those
//! that were read before a command was given up, and every path that is named. Where
//! a value is not known before it runs, a rule may match: then a person is asked.

use crate::codec::Subject;
use crate::cover;
use crate::evaluate::{short, what};
use crate::grants;
use crate::rules::{
    Certainty, Effect, Hit, NetworkSubject, PathSubject, Places, Rule, RuleSet, ToolSubject, Words,
};
use crate::saved;
use crate::shell::{Folder, Stage, What, joined};
use crate::state::State;
use crate::subject::Reading;
use crate::types::{Action, Coverage, Facts, PathFact, PathQuery};

/// Everything that a verdict above the mode rests on.
pub(crate) struct Case<'a> {
    pub(crate) state: &'a State,
    pub(crate) rules: &'a RuleSet,
    /// Where saved grants count.
    pub(crate) root: Option<&'a str>,
    pub(crate) action: &'a Action,
    pub(crate) reading: &'a Reading,
    pub(crate) facts: &'a Facts,
}

/// A rule that matches some part of an action.
pub(crate) struct Found<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) certainty: Certainty,
    /// The part, as a reason names it.
    pub(crate) what: String,
}

impl<'a> Case<'a> {
    /// What patterns are relative to.
    pub(crate) fn places(&self) -> Places<'a> {
        Places { workspace: self.state.workspace.as_deref(), home: self.action.home.as_deref() }
    }

    /// The root that saved grants must name to cover a stage: none where it may run
    /// outside of the workspace, or its program is another one in another folder.
    fn grants_root(&self, stage: &Stage) -> Option<&'a str> {
        let workspace = self.state.workspace.as_deref()?;
        let Folder::Known(places) = &stage.folder else { return None };
        let start = &self.action.working_folder;
        let inside = |folder: &str| saved::counts_in(&stage.argv, folder, workspace);
        let placed = |place: &String| {
            if place.is_empty() {
                return inside(start);
            }
            // What is only read off the command may be a link to anywhere.
            let typed = lexical(start, place);
            let mut paths = self.facts.paths.iter();
            paths.any(|fact| {
                lexical(&fact.query.base, &fact.query.text) == typed && inside(&fact.canonical)
            })
        };
        self.root.filter(|_| !places.is_empty() && places.iter().all(placed))
    }

    /// Every stage that a deny or ask rule must see.
    fn stages(&self) -> impl Iterator<Item = &'a Stage> + use<'a> {
        self.reading.stages.iter().chain(&self.reading.found).flat_map(Stage::every)
    }

    /// What the host found for a path.
    pub(crate) fn fact(&self, query: &PathQuery) -> Option<&'a PathFact> {
        self.facts.paths.iter().find(|fact| fact.query == *query)
    }

    /// The rule of an effect that matches access to a path, or to a socket there.
    pub(crate) fn path_rule(&self, effect: Effect, query: &PathQuery) -> Option<Hit<'a>> {
        let typed = lexical(&query.base, &query.text);
        // Without a fact only the text can be looked at, which never allows.
        let canonical = match self.fact(query) {
            Some(fact) => fact.canonical.as_str(),
            None if effect == Effect::Allow => return None,
            None => typed.as_str(),
        };
        let places = self.places();
        let subject = PathSubject {
            typed: &typed,
            canonical,
            write: query.write,
            places: &places,
            insensitive: false,
        };
        match self.reading.subject {
            Subject::UnixSocket { .. } => self.rules.socket(effect, &subject),
            _ => self.rules.path(effect, &subject),
        }
    }
}

/// The deny rule that matches, one that does for certain first.
pub(crate) fn denied<'a>(case: &Case<'a>) -> Option<Found<'a>> {
    ruled(case, Effect::Deny)
}

/// The ask rule that matches, or may.
pub(crate) fn asked<'a>(case: &Case<'a>) -> Option<Found<'a>> {
    ruled(case, Effect::Ask)
}

fn ruled<'a>(case: &Case<'a>, effect: Effect) -> Option<Found<'a>> {
    if !case.rules.has(effect) {
        return None;
    }
    let mut best = None;
    let mut consider = |hit: Option<Hit<'a>>, what: &dyn Fn() -> String| {
        if let Some(Hit { rule, certainty }) = hit {
            let better = match &best {
                None => true,
                Some(Found { certainty: held, .. }) => {
                    *held == Certainty::Possible && certainty == Certainty::Certain
                }
            };
            if better {
                best = Some(Found { rule, certainty, what: what() });
            }
        }
    };
    match &case.reading.subject {
        Subject::Shell { command, .. } => {
            for stage in case.stages().filter(|stage| stage.what == What::Command) {
                consider(shell_rule(case, effect, stage), &|| {
                    format!("`{}`", short(&stage.argv.join(" ")))
                });
            }
            // What runs unseen may be anything that the text holds.
            if case.stages().any(unseen) {
                let bare = &case.reading.bare;
                if bare.truncated {
                    let mut shell = case.rules.rules().iter().filter(|rule| {
                        rule.effect() == effect && rule.kind() == crate::rules::Kind::Shell
                    });
                    let hit = shell.next().map(|rule| Hit { rule, certainty: Certainty::Certain });
                    consider(hit, &|| format!("`{}`", short(command)));
                }
                let hit = case.rules.bare(effect, &bare.joined, &bare.pieces);
                // It stands there in words, so it counts as found.
                let hit = hit.map(|hit| Hit { certainty: Certainty::Certain, ..hit });
                consider(hit, &|| format!("`{}`", short(command)));
            }
        }
        // What they are about are paths.
        Subject::FileAccess { .. } | Subject::UnixSocket { .. } => {}
        Subject::Network { host, port, protocol, .. } => {
            let subject = NetworkSubject { host, port: *port, protocol: protocol.as_deref() };
            consider(case.rules.network(effect, &subject), &|| what(&case.reading.subject));
        }
        Subject::Process { target, .. } => {
            consider(case.rules.process(effect, target), &|| what(&case.reading.subject));
        }
        Subject::Tool { tool, .. } => {
            let args = arguments(case.action);
            let subject = ToolSubject { name: tool, server: None, args: &args };
            consider(case.rules.tool(effect, &subject), &|| what(&case.reading.subject));
        }
        // What was declared as a known kind and could not be read as one must not be
        // looser for it.
        Subject::Unknown { word, .. } => {
            let mut rules = case.rules.rules().iter();
            let found = rules.find(|rule| rule.effect() == effect && rule.kind().word() == word);
            let hit = found.map(|rule| Hit { rule, certainty: Certainty::Certain });
            consider(hit, &|| what(&case.reading.subject));
        }
    }
    let paths: &[PathQuery] = if case.rules.has_paths(effect) { &case.reading.paths } else { &[] };
    for query in paths {
        consider(case.path_rule(effect, query), &|| match &case.reading.subject {
            subject @ Subject::UnixSocket { .. } => what(subject),
            _ if query.write => format!("to write `{}`", short(&query.text)),
            _ => format!("to read `{}`", short(&query.text)),
        });
    }
    best
}

/// Whether a stage may run what no stage shows, or its program is not known.
fn unseen(stage: &Stage) -> bool {
    stage.code || stage.unknown.first() == Some(&0)
}

/// The rule of an effect that matches the words of a stage.
pub(crate) fn shell_rule<'a>(case: &Case<'a>, effect: Effect, stage: &Stage) -> Option<Hit<'a>> {
    // What only prints need not be named by a rule.
    let assignments: Vec<String> = stage.harmful_variables().map(str::to_owned).collect();
    let words = Words {
        argv: &stage.argv,
        unknown: &stage.unknown,
        assignments: &assignments,
        root: case.grants_root(stage),
    };
    case.rules.shell(effect, &words)
}

fn arguments(action: &Action) -> serde_json::Value {
    if action.raw_args.len() > crate::limits::SHELL_ARGS_BYTES_MAX {
        return serde_json::Value::Null;
    }
    serde_json::from_str(&action.raw_args).unwrap_or(serde_json::Value::Null)
}

/// What covers each stage, or an action of a kind without stages.
pub(crate) fn coverage(case: &Case<'_>) -> Vec<Coverage> {
    let granted = grants::held(case.state, &case.reading.subject, case.action)
        .map(|held| Coverage::Grant(held.approval.clone()));
    match &case.reading.subject {
        // A command without stages has nothing that a rule or the table could
        // cover; the grant of exactly these bytes still does.
        Subject::Shell { .. } if case.reading.stages.is_empty() => granted.into_iter().collect(),
        Subject::Shell { .. } => case
            .reading
            .stages
            .iter()
            .map(|stage| match &granted {
                Some(grant) => grant.clone(),
                None => cover::stage(case, stage).unwrap_or(Coverage::Unmatched),
            })
            .collect(),
        Subject::Unknown { .. } => vec![Coverage::Unmatched],
        subject => {
            let covered = granted.or_else(|| allowed(case, subject).map(cover::by));
            vec![covered.unwrap_or(Coverage::Unmatched)]
        }
    }
}

/// The allow rule that covers an action of a kind without stages.
fn allowed<'a>(case: &Case<'a>, subject: &Subject) -> Option<Hit<'a>> {
    let allow = Effect::Allow;
    match subject {
        Subject::FileAccess { .. } | Subject::UnixSocket { .. } => {
            case.path_rule(allow, case.reading.own_path.as_ref()?)
        }
        Subject::Network { host, port, protocol, .. } => {
            let subject = NetworkSubject { host, port: *port, protocol: protocol.as_deref() };
            case.rules.network(allow, &subject)
        }
        Subject::Process { target, .. } => case.rules.process(allow, target),
        Subject::Tool { tool, .. } => {
            let args = arguments(case.action);
            case.rules.tool(allow, &ToolSubject { name: tool, server: None, args: &args })
        }
        Subject::Shell { .. } | Subject::Unknown { .. } => None,
    }
}

/// A path made absolute by its text alone.
pub(crate) fn lexical(base: &str, text: &str) -> String {
    joined(&format!("/{base}"), text)
}

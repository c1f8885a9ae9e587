//! How often what came out; a name that never came is a hole in the generator.

use crate::transcript::{decision_word, effect_word, refusal_word, row_word};
use placet_policy::types::{Explanation, Outcome, Reply};
use std::collections::BTreeMap;
use std::fmt;

/// Everything that must come out at least once, by group.
const WANTED: [(&str, &[&str]); 8] = [
    (
        "record",
        &[
            "sessionStarted",
            "sessionLoaded",
            "sessionClosed",
            "modeChanged",
            "commandNoted",
            "turnQueued",
            "turnStarted",
            "userMessage",
            "agentMessage",
            "turnStopRequested",
            "turnCompleted",
            "actionProposed",
            "actionJudged",
            "approvalOpened",
            "stageDecided",
            "stagesCovered",
            "approvalResolved",
            "grantSaved",
            "grantFailed",
            "executionStarted",
            "itemEnded",
        ],
    ),
    (
        "verdict",
        &[
            "ownFiles deny",
            "denyRule deny",
            "protected ask",
            "protected deny",
            "unknownKind ask",
            "unknownKind deny",
            "askRule ask",
            "askRule deny",
            "covered allow",
            "askedFor allow",
            "askedFor ask",
            "askedFor deny",
            "confined allow",
            "confined ask",
            "confined deny",
            "unconfined allow",
            "unconfined ask",
            "unconfined deny",
        ],
    ),
    ("kind", &["shell", "fileAccess", "network", "unixSocket", "process", "tool", "unknown"]),
    ("mode", &["allowAll", "promptUnmatched", "onRequest", "denyUnmatched", "none in common"]),
    ("mode fault", &["answer not taken", "failed"]),
    (
        "refusal",
        &[
            "approvalNotFound",
            "alreadyResolved",
            "choiceInvalid",
            "requirementStale",
            "reviewerUnavailable",
            "rejected",
            "invalid",
            "tooLarge",
            "unreadable",
            "misuse",
        ],
    ),
    ("need", &["record", "closing", "facts"]),
    ("effect", &["begin", "ask", "prepare", "run", "halt", "settled", "keep"]),
];

/// Counts by group and name.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases in all.
    pub cases: u64,
    /// The most calls that one input took, with what was needed before.
    pub rounds_max: usize,
    counts: BTreeMap<(String, String), u64>,
}

impl Tally {
    /// Counts one of a group.
    pub fn count(&mut self, group: &str, name: &str) {
        *self.counts.entry((group.to_owned(), name.to_owned())).or_default() += 1;
    }

    /// Counts a verdict with its kind and mode.
    pub fn explained(&mut self, explained: &Explanation) {
        let verdict = format!("{} {}", row_word(explained.row), decision_word(explained.decision));
        self.count("verdict", &verdict);
        let kind = match explained.kind.as_str() {
            known @ ("shell" | "fileAccess" | "network" | "unixSocket" | "process" | "tool")
                if row_word(explained.row) != "unknownKind" =>
            {
                known
            }
            _ => "unknown",
        };
        self.count("kind", kind);
        self.count("mode", explained.mode.as_deref().unwrap_or("none in common"));
        if explained.fault.is_some() {
            let taken = if explained.answer.is_some() { "answer not taken" } else { "failed" };
            self.count("mode fault", taken);
        }
    }

    /// Counts what a step or a recovery gave.
    pub fn reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Refused(refusal) => self.count("refusal", refusal_word(refusal)),
            Reply::Needs(_) => {}
            Reply::Done(outcome) => self.outcome(outcome),
        }
    }

    fn outcome(&mut self, outcome: &Outcome) {
        for record in &outcome.records {
            self.count("record", &record.header.kind);
        }
        for effect in &outcome.effects {
            self.count("effect", effect_word(effect));
        }
    }

    /// What should have come out and did not.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for (group, names) in WANTED {
            for name in names {
                if !self.counts.contains_key(&(group.to_owned(), (*name).to_owned())) {
                    missing.push(format!("{group}: {name}"));
                }
            }
        }
        missing
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} cases, at most {} calls for one", self.cases, self.rounds_max)?;
        let mut last = "";
        for ((group, name), count) in &self.counts {
            let title = if group == last { "" } else { group.as_str() };
            last = group;
            writeln!(f, "{title:>12}  {name:<20} {count:>7}")?;
        }
        Ok(())
    }
}

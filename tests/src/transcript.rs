//! Outcomes as one line of text: the records, then what the host must do.
//!
//! Approvals are called A1, A2, ... in the order in which records name them.

use anyhow::{Context as _, Result};
use placet_policy::types::{Effect, Explanation, Logged, Outcome, Refusal, Reply, TableRow};
use serde_json::Value;

/// Short names for approvals.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<String>);

impl Names {
    /// The short name of an approval; new ones are counted on.
    pub fn short(&mut self, id: &str) -> String {
        let index = self.0.iter().position(|known| known == id).unwrap_or_else(|| {
            self.0.push(id.to_owned());
            self.0.len().saturating_sub(1)
        });
        format!("A{}", index.saturating_add(1))
    }

    /// The approval behind a short name; any other text stands for itself.
    pub fn id(&self, short: &str) -> String {
        let index = short.strip_prefix('A').and_then(|number| number.parse::<usize>().ok());
        let known = index.and_then(|index| self.0.get(index.checked_sub(1)?));
        known.cloned().unwrap_or_else(|| short.to_owned())
    }

    /// One line for a reply.
    pub fn reply(&mut self, reply: &Reply) -> Result<String> {
        match reply {
            Reply::Done(outcome) => self.outcome(outcome),
            Reply::Refused(refusal) => Ok(format!("refused {}", self.refusal(refusal))),
            Reply::Needs(needs) => Ok(format!("needs {needs:?}")),
        }
    }

    fn outcome(&mut self, outcome: &Outcome) -> Result<String> {
        let mut words = Vec::new();
        for record in &outcome.records {
            words.push(self.record(record)?);
        }
        if words.is_empty() {
            words.push("nothing".to_owned());
        }
        let effects: Vec<String> = outcome.effects.iter().map(|e| self.effect(e)).collect();
        if !effects.is_empty() {
            words.push(format!("-> {}", effects.join(" ")));
        }
        Ok(words.join(" "))
    }

    fn record(&mut self, record: &Logged) -> Result<String> {
        let body: Value = serde_json::from_slice(record.body.as_deref().unwrap_or_default())
            .context("a record's body is JSON")?;
        let text = |pointer: &str| {
            let value = body.pointer(pointer).unwrap_or(&Value::Null);
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        };
        let detail = match record.header.kind.as_str() {
            "sessionStarted" | "modeChanged" => text("/mode"),
            "sessionLoaded" => text("/seal"),
            "turnQueued" | "turnStarted" => text("/turn"),
            "turnStopRequested" => format!("{} {}", text("/turn"), text("/by")),
            "turnCompleted" => format!("{} {}", text("/turn"), text("/terminal")),
            "actionProposed" => format!(
                "{} {} {}",
                text("/action/item"),
                text("/verdict/decision"),
                text("/verdict/row")
            ),
            "actionJudged" => format!(
                "{} {} {}",
                text("/shown/item"),
                text("/verdict/decision"),
                text("/verdict/row")
            ),
            "agentMessage" => text("/item"),
            "sessionClosed" => text("/reason"),
            "approvalOpened" => {
                let name = self.short(&text("/approval"));
                match text("/predecessor").as_str() {
                    "null" => format!("{name} stage {}", text("/request/current")),
                    old => {
                        format!(
                            "{name} after {} stage {}",
                            self.short(old),
                            text("/request/current")
                        )
                    }
                }
            }
            "grantSaved" | "grantFailed" => self.short(&text("/approval")),
            "stageDecided" | "stagesCovered" => format!(
                "{} {} then {}",
                self.short(&text("/approval")),
                text("/sourceIndex"),
                text("/current")
            ),
            "approvalResolved" => {
                format!("{} {} {}", self.short(&text("/approval")), text("/decision"), text("/by"))
            }
            "executionStarted" => text("/item"),
            "itemEnded" => {
                format!("{} {} {}", text("/item/item"), text("/item/status"), text("/cause"))
            }
            _ => return Ok(record.header.kind.clone()),
        };
        Ok(format!("{}({detail})", record.header.kind))
    }

    fn effect(&mut self, effect: &Effect) -> String {
        match effect {
            Effect::Begin(begin) => format!("begin({})", begin.turn_id),
            Effect::Ask(asked) => {
                let params: Value = serde_json::from_str(&asked.params).unwrap_or_default();
                let stage = params.pointer("/currentRequirementId/sourceIndex");
                let stage = stage.unwrap_or(&Value::Null);
                format!("ask({} stage {stage})", self.short(&asked.approval_id))
            }
            Effect::Prepare(action) => format!("prepare({})", action.item_id),
            Effect::Run(run) => format!("run({})", run.item_id),
            Effect::Halt(item) => format!("halt({item})"),
            Effect::Settled(item) => format!("settled({item})"),
            Effect::Keep(grant) => format!("keep({})", self.short(&grant.approval_id)),
        }
    }

    /// A refusal with what tells it apart.
    pub fn refusal(&mut self, refusal: &Refusal) -> String {
        let word = refusal_word(refusal);
        match refusal {
            Refusal::AlreadyResolved(winner) => format!(
                "{word}({} {} {})",
                self.short(&winner.approval_id),
                winner.decision,
                winner.resolved_by
            ),
            Refusal::ChoiceInvalid(fault) => {
                format!("{word}({}: {})", self.short(&fault.approval_id), fault.why)
            }
            Refusal::RequirementStale(current) => format!(
                "{word}({} stage {})",
                self.short(&current.approval_id),
                current.source_index
            ),
            Refusal::Rejected(rejection) => format!("{word}({})", rejection.reason),
            Refusal::ReviewerUnavailable(id) => format!("{word}({})", self.short(id)),
            _ => word.to_owned(),
        }
    }
}

/// A refusal's word.
pub fn refusal_word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::ApprovalNotFound(_) => "approvalNotFound",
        Refusal::AlreadyResolved(_) => "alreadyResolved",
        Refusal::ChoiceInvalid(_) => "choiceInvalid",
        Refusal::RequirementStale(_) => "requirementStale",
        Refusal::ReviewerUnavailable(_) => "reviewerUnavailable",
        Refusal::Rejected(_) => "rejected",
        Refusal::Invalid(_) => "invalid",
        Refusal::TooLarge(_) => "tooLarge",
        Refusal::Unreadable(_) => "unreadable",
        Refusal::Misuse(_) => "misuse",
    }
}

/// An effect's word.
pub fn effect_word(effect: &Effect) -> &'static str {
    match effect {
        Effect::Begin(_) => "begin",
        Effect::Ask(_) => "ask",
        Effect::Prepare(_) => "prepare",
        Effect::Run(_) => "run",
        Effect::Halt(_) => "halt",
        Effect::Settled(_) => "settled",
        Effect::Keep(_) => "keep",
    }
}

/// A table row's word, as it stands in the vectors.
pub fn row_word(row: TableRow) -> &'static str {
    match row {
        TableRow::OwnFiles => "ownFiles",
        TableRow::DenyRule => "denyRule",
        TableRow::Protected => "protected",
        TableRow::UnknownKind => "unknownKind",
        TableRow::AskRule => "askRule",
        TableRow::Covered => "covered",
        TableRow::AskedFor => "askedFor",
        TableRow::Confined => "confined",
        TableRow::Unconfined => "unconfined",
    }
}

/// A decision and the row that made it.
pub fn explanation(explanation: &Explanation) -> String {
    format!("{} {}", decision_word(explanation.decision), row_word(explanation.row))
}

/// A decision's word.
pub fn decision_word(decision: placet_policy::types::Decision) -> &'static str {
    match decision {
        placet_policy::types::Decision::Allow => "allow",
        placet_policy::types::Decision::Ask => "ask",
        placet_policy::types::Decision::Deny => "deny",
    }
}

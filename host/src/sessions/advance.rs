//! One step of a session: asked of the component, appended, adopted.

use super::hub::Hub;
use super::ledger::Ledger;
use super::outlet::Fault;
use super::{history, saving};
use crate::engine::EngineError;
use crate::engine::types::{
    self, Action, CommandMark, Context, Facts, Input, Logged, ModeDigest, Need, Outcome, Recovery,
    Refusal, Reply, RuleSet, SuppliedFacts, Supply,
};
use crate::engine::{MODES, POLICY};
use crate::exec::environment;
use crate::limits;
use crate::log::{Append, Draft, Header, Lease, Mark, Stored, Version};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a session works, which says what rules and saved grants are in force.
#[derive(Debug, Default)]
pub(super) struct Ground {
    pub(super) workspace: Option<PathBuf>,
    /// Where grants that outlive the session count.
    pub(super) grants_root: Option<String>,
}

impl Ground {
    pub(super) fn new(workspace: Option<&str>) -> Ground {
        Ground { workspace: workspace.map(PathBuf::from), grants_root: saving::root(workspace) }
    }
}

/// What the component is asked.
pub(super) enum Question {
    Step(Option<Arc<[u8]>>, Box<Input>),
    Recover(Arc<[u8]>, Recovery),
}

/// Why a step has no outcome.
pub(super) enum Halted {
    Refused(Refusal),
    Fault(Fault),
}

impl Halted {
    /// Whether the same question may have an answer a little later.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Halted::Fault(Fault::Overloaded(_)))
    }
}

impl From<EngineError> for Halted {
    fn from(error: EngineError) -> Halted {
        Halted::Fault(error.into())
    }
}

impl From<Fault> for Halted {
    fn from(fault: Fault) -> Halted {
        Halted::Fault(fault)
    }
}

/// Asks the component until it needs nothing more.
pub(super) async fn ask(
    hub: &Hub,
    session: &str,
    ground: &Ground,
    ledger: &Ledger,
    question: &Question,
) -> Result<Outcome, Halted> {
    let grants = saving::in_force(hub, ground.grants_root.as_deref()).await;
    let rules = hub.rules.at(ground.workspace.as_deref(), &grants);
    let context = context(hub, session, ground, &rules);
    let mut supplied: Vec<Supply> = Vec::new();
    for _ in 0..limits::STEP_ROUNDS_MAX {
        let reply = match question {
            Question::Step(state, input) => {
                hub.engine
                    .step(state.clone(), context.clone(), (**input).clone(), supplied.clone())
                    .await?
            }
            Question::Recover(state, recovery) => {
                hub.engine
                    .recover(state.clone(), context.clone(), recovery.clone(), supplied.clone())
                    .await?
            }
        };
        match reply {
            Reply::Done(outcome) => return Ok(outcome),
            Reply::Refused(refusal) => return Err(Halted::Refused(refusal)),
            Reply::Needs(needs) => {
                for need in needs {
                    supplied.push(supply(hub, session, ground, ledger, &rules, need).await?);
                }
            }
        }
    }
    let rounds = limits::STEP_ROUNDS_MAX;
    Err(Halted::Fault(Fault::Internal(format!(
        "the policy component still needed something after {rounds} rounds"
    ))))
}

async fn supply(
    hub: &Hub,
    session: &str,
    ground: &Ground,
    ledger: &Ledger,
    rules: &RuleSet,
    need: Need,
) -> Result<Supply, Fault> {
    Ok(match need {
        Need::Record(sequence) => Supply::Record(history::record(hub, session, sequence).await?),
        Need::Closing(approval) => match ledger.closing(&approval) {
            Some(sequence) => Supply::Record(history::record(hub, session, sequence).await?),
            None => Supply::Nothing(approval),
        },
        // One step sees one set of rules, whatever happens to the files meanwhile.
        Need::Rules(_) => Supply::Rules(rules.clone()),
        Need::Facts(action) => {
            let item_id = action.item_id.clone();
            Supply::Facts(SuppliedFacts { item_id, facts: facts(hub, ground, action).await? })
        }
    })
}

fn context(hub: &Hub, session: &str, ground: &Ground, rules: &RuleSet) -> Context {
    let catalog = hub.engine.catalog();
    Context {
        session_id: session.to_owned(),
        now_ms: (hub.clock.now_ms)(),
        entropy: (hub.clock.entropy)().to_vec(),
        component: catalog.digest(POLICY).to_owned(),
        rules_digest: rules.digest.clone(),
        modes: MODES
            .iter()
            .map(|name| ModeDigest {
                name: (*name).to_owned(),
                digest: catalog.digest(name).to_owned(),
            })
            .collect(),
        log_path: hub.log_path(session),
        grants_root: ground.grants_root.clone(),
    }
}

/// What the host finds for an action now.
pub(super) async fn facts(hub: &Hub, ground: &Ground, action: Action) -> Result<Facts, Fault> {
    let queries = hub.engine.survey(action).await?;
    let reviewer = hub.reviewer.at(ground.workspace.as_deref());
    let key = *hub.home.key();
    tokio::task::spawn_blocking(move || {
        let environment = environment::prepare(std::env::vars_os());
        Facts {
            paths: reviewer.facts(queries),
            environment: environment::digest(&key, &environment),
        }
    })
    .await
    .map_err(|error| Fault::Internal(format!("the facts could not be collected: {error}")))
}

/// How an append left the log.
pub(super) enum Appended {
    Durable(Version),
    /// Another host holds the session now.
    Lost,
    /// Nothing was written.
    Refused(String),
    /// It could not be found out.
    Unknown(String),
}

/// Appends what a step proposes; an unknown end is settled by reading the log again.
pub(super) async fn append(
    hub: &Hub,
    lease: &Lease,
    expected: &Version,
    records: &[Logged],
) -> Appended {
    let batch: Vec<Draft> = records.iter().map(draft).collect();
    match hub.log.append(lease, expected, batch).await {
        Append::Durable { version, .. } => Appended::Durable(version),
        Append::Conflict => Appended::Lost,
        Append::Refused(why) => Appended::Refused(why),
        Append::Unknown(why) => reread(hub, lease, expected, records, &why).await,
    }
}

/// After an unknown end the log alone says what happened: the whole batch is there, or none of it.
async fn reread(
    hub: &Hub,
    lease: &Lease,
    expected: &Version,
    records: &[Logged],
    why: &str,
) -> Appended {
    let unknown = |what: &dyn std::fmt::Display| Appended::Unknown(format!("{why}; {what}"));
    let head = match hub.log.head(&lease.session).await {
        Ok(head) => head,
        Err(error) => return unknown(&error),
    };
    if head.version == *expected {
        return Appended::Refused(why.to_owned());
    }
    let Some(last) = records.last() else {
        return unknown(&"the batch is empty");
    };
    // Another host may have written something like it: all of it must be ours, and the last.
    let ours = |stored: &Stored| {
        stored.body == last.body
            && stored.header == header(&last.header)
            && head.sequence == last.header.sequence
    };
    match hub.log.record(&lease.session, last.header.sequence).await {
        Ok(Some(stored)) if ours(&stored) => Appended::Durable(head.version),
        Ok(_) => Appended::Lost,
        Err(error) => unknown(&error),
    }
}

/// The fault that the end of an append is to the client whose command it was.
pub(super) fn append_fault(session: &str, appended: &Appended) -> Fault {
    match appended {
        Appended::Lost => Fault::InUse(session.to_owned()),
        Appended::Refused(why) | Appended::Unknown(why) => {
            Fault::Internal(format!("the log did not take it: {why}"))
        }
        Appended::Durable(_) => Fault::Internal("it was taken".to_owned()),
    }
}

/// A record as the log takes it.
fn draft(record: &Logged) -> Draft {
    Draft { header: header(&record.header), body: record.body.clone().unwrap_or_default() }
}

/// A header as the log takes it.
pub(super) fn header(header: &types::Header) -> Header {
    let mark = |mark: &types::Mark| match mark {
        types::Mark::Opens(approval) => Mark::Opens { approval: approval.clone() },
        types::Mark::Closes(approval) => Mark::Closes { approval: approval.clone() },
        types::Mark::Command(CommandMark { scope, id, payload, ack }) => Mark::Command {
            scope: scope.clone(),
            id: id.clone(),
            payload: payload.clone(),
            ack: ack.clone(),
        },
        types::Mark::Starts(execution) => Mark::Starts { execution: execution.clone() },
        types::Mark::Ends(execution) => Mark::Ends { execution: execution.clone() },
        types::Mark::View => Mark::View,
    };
    Header {
        sequence: header.sequence,
        time_ms: header.time_ms,
        kind: header.kind.clone(),
        format: header.format,
        component: header.component.clone(),
        rules: header.rules.clone(),
        mode: header.mode.clone(),
        logic: header.logic,
        marks: header.marks.iter().map(mark).collect(),
    }
}

/// A stored record as the component takes it.
pub(super) fn logged(stored: Stored) -> Logged {
    let mark = |mark: Mark| match mark {
        Mark::Opens { approval } => types::Mark::Opens(approval),
        Mark::Closes { approval } => types::Mark::Closes(approval),
        Mark::Command { scope, id, payload, ack } => {
            types::Mark::Command(CommandMark { scope, id, payload, ack })
        }
        Mark::Starts { execution } => types::Mark::Starts(execution),
        Mark::Ends { execution } => types::Mark::Ends(execution),
        Mark::View => types::Mark::View,
    };
    let header = stored.header;
    Logged {
        header: types::Header {
            sequence: header.sequence,
            time_ms: header.time_ms,
            kind: header.kind,
            format: header.format,
            component: header.component,
            rules: header.rules,
            mode: header.mode,
            logic: header.logic,
            marks: header.marks.into_iter().map(mark).collect(),
        },
        body: stored.body,
    }
}

/// Whether a batch would close an approval that is closed already, which no log may hold.
pub(super) fn closes_twice(ledger: &Ledger, records: &[Logged]) -> Option<String> {
    let marks = records.iter().flat_map(|record| &record.header.marks);
    let mut closed = HashSet::new();
    for mark in marks {
        if let types::Mark::Closes(approval) = mark
            && (ledger.closing(approval).is_some() || !closed.insert(approval))
        {
            return Some(approval.clone());
        }
    }
    None
}

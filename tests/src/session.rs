//! A small host for one session: it keeps the log in memory, supplies what a
//! step needs, and adopts nothing that breaks an invariant.

use crate::evaluator::Evaluator;
use crate::invariants::{self, Ledger};
use anyhow::{Result, bail, ensure};
use placet_policy::types::{
    Action, Caller, CommandId, Context, Effect, Explained, Explanation, Facts, GrantKept, Input,
    LastingGrant, Logged, Mark, ModeDigest, Need, Outcome, PathClass, PathFact, Proposal, Recovery,
    Refusal, Reply, Summary, SuppliedFacts, Supply,
};
use std::collections::BTreeMap;

/// The session's id in every test.
pub const SESSION: &str = "0198f2a4-0000-7000-8000-000000000001";

/// Calls that one input may take, with what was needed before.
const ROUNDS_MAX: usize = 128;

/// What the host finds when it looks.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What is special about a path, by the text that names it; none for one that cannot be resolved.
    pub paths: BTreeMap<String, Option<PathClass>>,
    /// Where a path leads, by the text that names it.
    pub links: BTreeMap<String, String>,
    /// Stands for the environment that an action would get.
    pub environment: String,
}

impl World {
    /// The facts for the paths that the evaluator wants to know about.
    pub fn facts(&self, evaluator: &mut impl Evaluator, action: &Action) -> Result<Facts> {
        let mut paths = Vec::new();
        for query in evaluator.survey(action)? {
            let class = self.paths.get(&query.text).copied();
            let Some(class) = class.unwrap_or(Some(PathClass::Ordinary)) else { continue };
            let canonical = if let Some(target) = self.links.get(&query.text) {
                target.clone()
            } else {
                let start = if query.text.starts_with('/') { "" } else { &query.base };
                plain(&format!("{start}/{}", query.text))
            };
            paths.push(PathFact { query, canonical, exists: true, linked: false, class });
        }
        Ok(Facts { paths, environment: format!("hmac:{}", self.environment) })
    }
}

/// A path without `.` and `..`: no folder here is a link.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A call of `step` or `recover` with what was supplied so far.
type Call<'a, E> = &'a mut dyn FnMut(&mut E, Option<&[u8]>, &Context, &[Supply]) -> Result<Reply>;

/// A session and the host that holds it.
pub struct Session<E> {
    /// What decides.
    pub evaluator: E,
    /// All records.
    pub log: Vec<Logged>,
    /// The adopted state; none before the start.
    pub state: Option<Vec<u8>>,
    /// What every step gets.
    pub context: Context,
    /// The rules in force, as TOML.
    pub rules: Vec<String>,
    /// The lasting grants in force, as lines.
    pub grants: Vec<String>,
    /// What the host finds.
    pub world: World,
    /// The lasting grants that the host is to keep.
    pub keeping: Vec<LastingGrant>,
    /// The needs that were answered, by name.
    pub needs: BTreeMap<&'static str, u64>,
    /// How often the whole log is folded again: at every so manieth record.
    pub whole_fold_every: usize,
    /// The most calls that one input took.
    pub rounds_max: usize,
    ledger: Ledger,
    commands: u64,
}

impl<E: Evaluator> Session<E> {
    /// A host without a session.
    pub fn new(evaluator: E) -> Session<E> {
        Session {
            evaluator,
            log: Vec::new(),
            state: None,
            context: context(),
            rules: Vec::new(),
            grants: Vec::new(),
            world: World::default(),
            keeping: Vec::new(),
            needs: BTreeMap::new(),
            whole_fold_every: 1,
            rounds_max: 0,
            ledger: Ledger::default(),
            commands: 0,
        }
    }

    /// An unused command id, different from the ones before it.
    pub fn command(&mut self) -> CommandId {
        self.commands = self.commands.saturating_add(1);
        let id = format!("0198f2a4-0000-7000-9000-{:012x}", self.commands);
        CommandId { payload: format!("hmac:{id}"), id }
    }

    /// Answers one input and adopts what follows.
    pub fn step(&mut self, input: &Input) -> Result<Reply> {
        self.crank(&mut |evaluator, state, context, supplied| {
            evaluator.step(state, context, input, supplied)
        })
    }

    /// Loads the session as a host does that holds its log only. The recovery is
    /// first done and thrown away, as if cut short: it must open the same successors.
    pub fn recover(&mut self, caller: Caller) -> Result<Reply> {
        let recovery = Recovery { caller };
        let cut_short = self.ask(&mut |evaluator, state, context, supplied| {
            evaluator.recover(state.unwrap_or_default(), context, &recovery, supplied)
        })?;
        let reply = self.crank(&mut |evaluator, state, context, supplied| {
            evaluator.recover(state.unwrap_or_default(), context, &recovery, supplied)
        })?;
        ensure!(
            opened(&cut_short) == opened(&reply),
            "a recovery that is done again opens other approvals"
        );
        Ok(reply)
    }

    /// What would happen to an action now, with the facts of now.
    pub fn explain(&mut self, action: &Action) -> Result<Result<Explanation, Refusal>> {
        let facts = self.world.facts(&mut self.evaluator, action)?;
        let proposal = Proposal { action: action.clone(), facts, last: false };
        let state = self.state.clone().unwrap_or_default();
        let rules = [self.supplied_rules()];
        Ok(match self.evaluator.explain(&state, &self.context, &proposal, &rules)? {
            Ok(Explained::Done(explanation)) => Ok(explanation),
            Ok(Explained::Needs(needs)) => bail!("an explanation needs {needs:?}"),
            Err(refusal) => Err(refusal),
        })
    }

    /// The rules in force, which the context names from now on.
    pub fn supplied_rules(&mut self) -> Supply {
        let set = crate::rules::set(&self.rules, &self.grants);
        self.context.rules_digest.clone_from(&set.digest);
        Supply::Rules(set)
    }

    /// What modes were asked since this was called last.
    pub fn asked(&mut self) -> Result<Vec<Summary>> {
        self.evaluator.asked()
    }

    /// Proposes an action with the facts of now.
    pub fn propose(&mut self, action: &Action, last: bool) -> Result<Reply> {
        let facts = self.world.facts(&mut self.evaluator, action)?;
        self.step(&Input::Propose(Proposal { action: action.clone(), facts, last }))
    }

    fn crank(&mut self, call: Call<'_, E>) -> Result<Reply> {
        let reply = self.ask(call)?;
        if let Reply::Done(outcome) = &reply {
            self.adopt(outcome)?;
        }
        Ok(reply)
    }

    /// Calls until nothing more is needed; adopts nothing.
    fn ask(&mut self, call: Call<'_, E>) -> Result<Reply> {
        self.context.now_ms = self.context.now_ms.saturating_add(7);
        let time = self.context.now_ms.to_be_bytes();
        self.context.entropy = time.into_iter().chain(time).collect();
        // Given without being asked for, so that what another test left in a cache makes
        // no difference between native and component.
        let mut supplied = vec![self.supplied_rules()];
        for round in 1..=ROUNDS_MAX {
            let reply = call(&mut self.evaluator, self.state.as_deref(), &self.context, &supplied)?;
            self.rounds_max = self.rounds_max.max(round);
            let Reply::Needs(needs) = reply else { return Ok(reply) };
            for need in needs {
                supplied.push(self.supply(need)?);
            }
        }
        bail!("a step asks for more and more: {} things so far", supplied.len())
    }

    fn supply(&mut self, need: Need) -> Result<Supply> {
        let (name, supply) = match need {
            Need::Record(sequence) => {
                let found = self.log.iter().find(|record| record.header.sequence == sequence);
                let Some(record) = found else { bail!("there is no record {sequence}") };
                ("record", Supply::Record(record.clone()))
            }
            Need::Closing(approval) => {
                let closes = |record: &&Logged| {
                    record.header.marks.contains(&Mark::Closes(approval.clone()))
                };
                let found = self.log.iter().find(closes).cloned();
                ("closing", found.map_or(Supply::Nothing(approval.clone()), Supply::Record))
            }
            Need::Rules(_) => ("rules", self.supplied_rules()),
            Need::Facts(action) => {
                let facts = self.world.facts(&mut self.evaluator, &action)?;
                let supplied = SuppliedFacts { item_id: action.item_id, facts };
                ("facts", Supply::Facts(supplied))
            }
        };
        *self.needs.entry(name).or_default() += 1;
        Ok(supply)
    }

    /// The log takes the records, then the state becomes the session's.
    fn adopt(&mut self, outcome: &Outcome) -> Result<()> {
        self.log.extend(outcome.records.iter().cloned());
        self.ledger.take(&outcome.records)?;
        self.ledger.show(&outcome.events)?;
        invariants::check(self, outcome)?;
        self.state = Some(outcome.state.clone());
        for effect in &outcome.effects {
            if let Effect::Keep(grant) = effect {
                self.keeping.retain(|known| known.approval_id != grant.approval_id);
                self.keeping.push(grant.clone());
            }
        }
        Ok(())
    }

    /// The host keeps a lasting grant, or cannot, and says so.
    pub fn keep(&mut self, approval: &str, failure: Option<String>) -> Result<Reply> {
        let grant = self.keeping.iter().find(|grant| grant.approval_id == approval).cloned();
        if let (Some(grant), None) = (grant, &failure)
            && Some(&grant.root) == self.context.grants_root.as_ref()
            && !self.grants.contains(&grant.text)
        {
            self.grants.push(grant.text);
        }
        self.keeping.retain(|grant| grant.approval_id != approval);
        self.step(&Input::Kept(GrantKept { approval_id: approval.to_owned(), failure }))
    }

    /// The opens, closes, starts and ends of the log so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// The context of every test: four modes, no rules, grants that outlive a session in `/work`.
pub fn context() -> Context {
    let digest =
        |name: &str| ModeDigest { name: name.to_owned(), digest: format!("sha256:{name}") };
    Context {
        session_id: SESSION.to_owned(),
        now_ms: 1_786_125_731_000,
        entropy: Vec::new(),
        component: "sha256:policy".to_owned(),
        rules_digest: "sha256:rules".to_owned(),
        modes: ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"].map(digest).to_vec(),
        log_path: "/home/ada/.local/share/placet/log.db#0198f2a4".to_owned(),
        grants_root: Some("/work".to_owned()),
    }
}

/// A connection that watches the session, under a seal.
pub fn caller(seal: &str) -> Caller {
    Caller {
        client: "placet-tests".to_owned(),
        connection: "stdio:1".to_owned(),
        seal: seal.to_owned(),
        withheld: Vec::new(),
        subscribed: true,
    }
}

/// The approvals that an outcome asks about.
pub fn asks(outcome: &Outcome) -> Vec<String> {
    let asked = |effect: &Effect| match effect {
        Effect::Ask(presented) => Some(presented.approval_id.clone()),
        _ => None,
    };
    outcome.effects.iter().filter_map(asked).collect()
}

fn opened(reply: &Reply) -> Vec<&str> {
    let Reply::Done(outcome) = reply else { return Vec::new() };
    let marks = outcome.records.iter().flat_map(|record| &record.header.marks);
    marks
        .filter_map(|mark| match mark {
            Mark::Opens(id) => Some(id.as_str()),
            _ => None,
        })
        .collect()
}

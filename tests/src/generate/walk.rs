//! Random sessions: inputs that are mostly sensible, in an order that is not.

use crate::erasure;
use crate::evaluator::{Evaluator, Served};
use crate::generate::commands;
use crate::generate::tally::Tally;
use crate::random::Random;
use crate::script::{shell, tool};
use crate::session::{SESSION, Session, caller};
use crate::transcript::decision_word;
use anyhow::{Result, ensure};
use placet_policy::types::{
    Action, Answer, Caller, CommandId, Decide, Decision, Effect, EndStatus, ExecutionEnd, Input,
    Logged, Message, Outcome, PathClass, Release, Reply, Requirement, SessionLeave, SessionStart,
    SetMode, TurnFinish, TurnStart, TurnStop, Unjudged, Waiter,
};

const MODES: [&str; 4] = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched"];

/// Subjects that an agent declares, well and badly.
const DECLARED: [&str; 12] = [
    r#"{"kind":"browser"}"#,
    r#"{"kind":"screen"}"#,
    r#"{"kind":"shell"}"#,
    r#"{"kind":"shell","command":"make test"}"#,
    r#"{"kind":"fileAccess","path":"a","access":"read"}"#,
    r#"{"kind":"fileAccess","path":"/work/a","access":"write"}"#,
    r#"{"kind":"fileAccess","path":"a"}"#,
    r#"{"kind":"network","host":"Example.org.","port":443,"protocol":"https"}"#,
    r#"{"kind":"network","host":"example.org","origin":{"kind":"url","url":"https://x"}}"#,
    r#"{"kind":"unixSocket","path":"/run/a.sock"}"#,
    r#"{"kind":"process","target":"pid 7"}"#,
    "no JSON",
];

const RULES: [&str; 15] = [
    "no-rm deny shell rm",
    "push ask shell git push",
    "git allow shell git",
    "make allow shell make",
    "all-shell allow shell",
    "ask-all ask shell",
    "search allow tool search",
    "deploy ask tool deploy",
    "no-drop deny tool drop",
    "browser allow browser",
    "no-process deny process",
    "ask-hosts ask network",
    "hosts allow network",
    "sockets allow unixSocket",
    "no-write deny fileAccess",
];

const PATHS: [&str; 8] = ["a", "x", "build", "README.md", "log.db", ".git/config", "out", "README"];

/// A random session in the making.
pub struct Walk<'t, E> {
    session: Session<E>,
    random: Random,
    tally: &'t mut Tally,
    items: u64,
    decided: Vec<Action>,
    running: Vec<String>,
    turn: Option<String>,
    /// Approvals with their current stage, also some that closed.
    approvals: Vec<(String, u32)>,
}

/// Takes a session through `steps` random inputs; gives the evaluator back.
pub fn walk<E: Evaluator>(evaluator: E, seed: u64, steps: usize, tally: &mut Tally) -> Result<E> {
    let mut walk = Walk {
        session: Session::new(evaluator),
        random: Random::new(seed),
        tally,
        items: 0,
        decided: Vec::new(),
        running: Vec::new(),
        turn: None,
        approvals: Vec::new(),
    };
    walk.session.whole_fold_every = 16;
    walk.begin()?;
    // Few sessions ask a lot and decide little, to meet the limits.
    let eager = walk.random.once_in(12);
    for _ in 0..steps {
        walk.arrange()?;
        let reply = if eager && !walk.random.once_in(8) { walk.propose()? } else { walk.any()? };
        walk.note(&reply)?;
    }
    for (name, count) in &walk.session.needs {
        for _ in 0..*count {
            walk.tally.count("need", name);
        }
    }
    walk.tally.rounds_max = walk.tally.rounds_max.max(walk.session.rounds_max);
    walk.session.evaluator.serve(Served::Real);
    erasure::changes_nothing(&mut walk.session, false)?;
    Ok(walk.session.evaluator)
}

impl<E: Evaluator> Walk<'_, E> {
    fn begin(&mut self) -> Result<()> {
        // Most start where a person is asked, or where every mode can be reached.
        let started = [
            "allowAll",
            "allowAll",
            "promptUnmatched",
            "promptUnmatched",
            "onRequest",
            "denyUnmatched",
        ];
        let mode = self.random.word(&started).to_owned();
        let command = self.session.command();
        let start = |caller: Caller, mode: Option<String>, command: CommandId| {
            Input::Start(SessionStart {
                command,
                caller,
                mode,
                workspace_root: Some("/work".to_owned()),
                provider_id: None,
                model_id: Some("model".to_owned()),
            })
        };
        let caller = self.caller();
        let reply = self.session.step(&start(caller, Some(mode.clone()), command))?;
        self.note(&reply)?;
        if self.session.state.is_none() {
            let command = self.session.command();
            let reply = self.session.step(&start(self::caller("allowAll"), Some(mode), command))?;
            self.note(&reply)?;
        }
        Ok(())
    }

    fn caller(&mut self) -> Caller {
        let seal = if self.random.once_in(8) { self.random.word(&MODES) } else { "allowAll" };
        let mut caller = caller(seal);
        caller.subscribed = !self.random.once_in(5);
        if self.random.once_in(10) {
            caller.withheld.push("allowAll".to_owned());
        }
        caller
    }

    /// Changes rules, facts or what serves the modes, now and then.
    fn arrange(&mut self) -> Result<()> {
        if self.random.once_in(6) {
            self.session.rules.clear();
            for _ in 0..self.random.below(4) {
                let rule = crate::rules::toml(self.random.word(&RULES))?;
                // An id is given once.
                if !self.session.rules.contains(&rule) {
                    self.session.rules.push(rule);
                }
            }
        }
        if self.random.once_in(6) {
            let path = self.random.word(&PATHS).to_owned();
            let class = match self.random.below(8) {
                0 => None,
                1 => Some(PathClass::PlacetOwn),
                2 => Some(PathClass::Protected),
                3 => Some(PathClass::Credential),
                4 => Some(PathClass::RunsPrograms),
                _ => Some(PathClass::Ordinary),
            };
            self.session.world.paths.insert(path, class);
        }
        if self.random.once_in(10) && !self.session.keeping.is_empty() {
            let reply = self.keep()?;
            self.note(&reply)?;
        }
        if self.random.once_in(20) {
            self.session.grants.pop();
        }
        if self.random.once_in(40) {
            let roots = [None, Some("/work".to_owned()), Some("/other".to_owned())];
            self.session.context.grants_root = self.random.pick(&roots).cloned().flatten();
        }
        if self.random.once_in(20) {
            self.session.world.environment = self.random.number().to_string();
        }
        if self.random.once_in(8) {
            let decision = [Decision::Allow, Decision::Ask, Decision::Deny];
            let decision = self.random.pick(&decision).copied().unwrap_or(Decision::Deny);
            let served = match self.random.below(6) {
                0 => Served::Fault("it trapped".to_owned()),
                1 => Served::Answer(Answer { decision, reason: "because".to_owned() }),
                _ => Served::Real,
            };
            self.session.evaluator.serve(served);
        }
        Ok(())
    }

    fn any(&mut self) -> Result<Reply> {
        match self.random.below(100) {
            0..=4 => self.turn(),
            5..=37 => self.propose(),
            38 => self.family(),
            39 => self.crowd(),
            40..=61 => self.decide(),
            62..=72 => self.release(),
            73..=83 => self.end(),
            84..=86 => self.stop(),
            87..=89 => self.mode(),
            90..=91 => {
                let turn = self.turn.clone().unwrap_or_else(|| "none".to_owned());
                let failure = self.random.once_in(4).then(|| "it gave up".to_owned());
                self.session.step(&Input::Finish(TurnFinish { turn_id: turn, failure }))
            }
            92 => self.keep(),
            93 => self.leave(),
            94..=96 => {
                let caller = self.caller();
                self.session.recover(caller)
            }
            97 => {
                let (action, last) = (self.action(), self.random.once_in(12));
                let fault = "the evaluator trapped".to_owned();
                self.session.step(&Input::Unjudged(Unjudged { action, last, fault }))
            }
            98 => self.spoil(),
            _ => {
                let (command, caller) = (self.session.command(), self.caller());
                let start = SessionStart {
                    command,
                    caller,
                    mode: None,
                    workspace_root: None,
                    provider_id: None,
                    model_id: None,
                };
                self.session.step(&Input::Start(start))
            }
        }
    }

    fn turn(&mut self) -> Result<Reply> {
        let (command, caller) = (self.session.command(), self.caller());
        let large = self.random.once_in(60);
        let text =
            if large { "\"".repeat(140 * 1024) } else { commands::command(&mut self.random) };
        let words = ["steer", "replace", "replace", "wait"];
        let if_busy = self.random.once_in(6).then(|| self.random.word(&words).to_owned());
        let display_text = self.random.once_in(8).then(|| "as shown".to_owned());
        self.session.step(&Input::Turn(TurnStart { command, caller, text, if_busy, display_text }))
    }

    fn action(&mut self) -> Action {
        let random = &mut self.random;
        let mut action = match random.below(11) {
            10 => {
                let args = [r#"{"path":"a"}"#, r#"{"path":"README.md"}"#, "{}", "[", "null"];
                tool(random.word(&["read_file", "write_file"]), random.word(&args))
            }
            0..=1 => {
                let args = ["{}", "{\"b\":1, \"a\":[2]}", "{\"a\":[2],\"b\":1}", "[", "1e400"];
                tool(random.word(&["search", "deploy", "drop"]), random.word(&args))
            }
            2 => Action {
                declared: Some(random.word(&DECLARED).to_owned()),
                raw_args: random.word(&["{}", "not json"]).to_owned(),
                ..shell("ls")
            },
            3 => Action { profile: "acp".to_owned(), ..shell("ls") },
            4..=6 => {
                let simple = [
                    "make test",
                    "touch a",
                    "git push",
                    "touch x; ls; cp a b",
                    "touch a && touch b",
                    "make test && cp a b",
                    "cp a b; make test; rm a",
                    "cp a b",
                    "cat README.md",
                    "touch placet.toml",
                    "cat log.db",
                ];
                shell(random.word(&simple))
            }
            _ => shell(&commands::command(random)),
        };
        // Item ids are the host's: fresh, or now and then one that is still open.
        self.items = self.items.saturating_add(1);
        let open = self.running.first().filter(|_| random.once_in(20)).cloned();
        action.item_id = open.unwrap_or_else(|| format!("i{}", self.items));
        action.turn_id = self.turn.clone().unwrap_or_else(|| "none".to_owned());
        action.asked_for = random.once_in(4);
        action.confined = random.once_in(4).then(|| "bwrap".to_owned());
        if random.once_in(6) {
            action.waiter = Waiter::Agent;
        }
        if random.once_in(8) {
            action.working_folder = "/work/sub".to_owned();
        }
        action
    }

    /// More than may be asked about at once, now and then.
    fn crowd(&mut self) -> Result<Reply> {
        let mut reply = self.turn()?;
        if !self.random.once_in(3) {
            return Ok(reply);
        }
        for index in 0..40 {
            self.note(&reply)?;
            let action = Action { asked_for: true, ..self.action() };
            let action = Action { declared: None, ..action };
            let command = serde_json::json!({ "command": format!("make {index}") });
            let shell = "shell".to_owned();
            let action = Action { tool_name: shell, raw_args: command.to_string(), ..action };
            reply = self.session.propose(&action, false)?;
        }
        Ok(reply)
    }

    /// Requests that one grant covers in whole and in part, and that grant.
    fn family(&mut self) -> Result<Reply> {
        let mut reply = self.turn()?;
        for command in ["make all", "make all; rm a", "rm b; make all -j", "make all -j"] {
            self.note(&reply)?;
            let action =
                Action { asked_for: true, working_folder: "/work".to_owned(), ..self.action() };
            let args = serde_json::json!({ "command": command }).to_string();
            let (shell, declared) = ("shell".to_owned(), None);
            let action = Action { tool_name: shell, raw_args: args, declared, ..action };
            reply = self.session.propose(&action, false)?;
        }
        self.note(&reply)?;
        let given = match &reply {
            Reply::Done(_) => self.session.ledger().pending.iter().rev().nth(3).cloned(),
            _ => None,
        };
        let Some((approval_id, _)) = given else { return Ok(reply) };
        let command = self.session.command();
        let reply = self.session.step(&Input::Decide(Decide {
            command,
            caller: caller("allowAll"),
            requirement: Requirement { approval_id: approval_id.clone(), source_index: 0 },
            approval_id,
            choice_id: "allow_local_prefix".to_owned(),
            feedback: false,
        }))?;
        self.note(&reply)?;
        self.keep()
    }

    /// Explains an action and proposes it: both must say the same.
    fn propose(&mut self) -> Result<Reply> {
        if self.turn.is_none() && !self.random.once_in(4) {
            return self.turn();
        }
        let action = self.action();
        let explained = self.session.explain(&action)?;
        let last = self.random.once_in(12);
        let reply = self.session.propose(&action, last)?;
        if let Ok(explained) = explained {
            self.tally.explained(&explained);
            self.tally.cases = self.tally.cases.saturating_add(1);
            if let Reply::Done(outcome) = &reply {
                let decided = proposal_decision(outcome);
                let expected = decision_word(explained.decision);
                ensure!(decided == expected, "explained {expected}, proposed {decided}");
            }
        }
        Ok(reply)
    }

    fn decide(&mut self) -> Result<Reply> {
        let (command, caller) = (self.session.command(), self.caller());
        let open = self.session.ledger().pending.clone();
        let open: Vec<(String, u32)> = self
            .approvals
            .iter()
            .filter(|(id, _)| open.iter().any(|(pending, _)| pending == id))
            .cloned()
            .collect();
        let known = if self.random.once_in(6) {
            self.random.pick(&self.approvals).cloned()
        } else {
            self.random.pick(&open).cloned()
        };
        if known.is_none() && !self.random.once_in(8) {
            return self.propose();
        }
        let (approval_id, stage) = known.unwrap_or_else(|| ("nobody's".to_owned(), 0));
        let stage = if self.random.once_in(8) { stage.saturating_add(1) } else { stage };
        let choices = [
            "allow_once",
            "allow_once",
            "allow_session",
            "allow_local_prefix",
            "allow_local_prefix",
            "allow_local_prefix",
            "allow_local_mcp_tool",
            "allow_local_network",
            "abort",
            "deny",
        ];
        let decide = Decide {
            command,
            caller,
            requirement: Requirement { approval_id: approval_id.clone(), source_index: stage },
            approval_id,
            choice_id: self.random.word(&choices).to_owned(),
            feedback: self.random.once_in(6),
        };
        self.session.step(&Input::Decide(decide))
    }

    /// The host keeps a lasting grant or cannot; now and then one that nobody gave.
    fn keep(&mut self) -> Result<Reply> {
        let keeping = self.session.keeping.clone();
        let Some(grant) = self.random.pick(&keeping).cloned() else {
            return match self.random.below(4) {
                0 => self.session.keep("nobody's", None),
                2 => self.session.step(&Input::Ruled),
                _ => self.session.step(&Input::Granted),
            };
        };
        let failure = self.random.once_in(4).then(|| "the disk is full".to_owned());
        self.session.keep(&grant.approval_id, failure)
    }

    fn release(&mut self) -> Result<Reply> {
        let decided = self.random.pick(&self.decided).cloned();
        if decided.is_none() && !self.random.once_in(8) {
            return self.propose();
        }
        let action = decided.unwrap_or_else(|| shell("ls"));
        let facts = self.session.world.facts(&mut self.session.evaluator, &action)?;
        self.session.step(&Input::Release(Release { item_id: action.item_id, facts }))
    }

    fn end(&mut self) -> Result<Reply> {
        let item = self.random.pick(&self.running).cloned();
        if item.is_none() && !self.random.once_in(8) {
            return self.propose();
        }
        let statuses = [EndStatus::Completed, EndStatus::Failed, EndStatus::Cancelled];
        let status = self.random.pick(&statuses).copied().unwrap_or(EndStatus::Completed);
        self.session.step(&Input::Ended(ExecutionEnd {
            item_id: item.unwrap_or_else(|| "none".to_owned()),
            status,
            output: commands::command(&mut self.random),
            truncated: self.random.once_in(4),
            exit_code: (status == EndStatus::Completed).then_some(-1),
            failure: (status == EndStatus::Failed).then(|| "no such file".to_owned()),
        }))
    }

    fn stop(&mut self) -> Result<Reply> {
        let (command, caller) = (self.session.command(), self.caller());
        let turn_id = if self.random.once_in(2) { None } else { self.turn.clone() };
        self.session.step(&Input::Stop(TurnStop { command, caller, turn_id }))
    }

    /// The ways in which a host lets a session go, and what an agent says before.
    fn leave(&mut self) -> Result<Reply> {
        let (command, caller) = (self.session.command(), self.caller());
        let input = match self.random.below(4) {
            0 => Input::Shutdown,
            1 => Input::Leave(SessionLeave { command, caller, stop: self.random.once_in(2) }),
            2 => Input::Unload,
            _ => Input::Say(Message {
                turn_id: self.turn.clone().unwrap_or_else(|| "none".to_owned()),
                item_id: format!("said{}", self.items),
                revision: 1,
                text: commands::command(&mut self.random),
            }),
        };
        self.session.step(&input)
    }

    fn mode(&mut self) -> Result<Reply> {
        let (command, caller) = (self.session.command(), self.caller());
        let words = ["allowAll", "promptUnmatched", "onRequest", "denyUnmatched", "yolo"];
        let mode = self.random.word(&words).to_owned();
        self.session.step(&Input::Mode(SetMode { command, caller, mode }))
    }

    /// Gives the evaluator what no host should: it refuses, and nothing else happens.
    fn spoil(&mut self) -> Result<Reply> {
        let mut records: Vec<Logged> = self.session.log.clone();
        let at = self.random.below(records.len());
        if let Some(record) = records.get_mut(at) {
            match self.random.below(4) {
                0 => record.body = None,
                1 => record.header.format = 99,
                2 => record.header.sequence = record.header.sequence.saturating_add(1),
                _ => {
                    let body = record.body.get_or_insert_default();
                    let cut = self.random.below(body.len());
                    body.truncate(cut);
                }
            }
            let record = record.clone();
            let rendered = self.session.evaluator.render(SESSION, &record)?;
            drop(rendered);
        }
        let folded = self.session.evaluator.fold(None, &records)?;
        ensure!(folded.is_err(), "a spoiled log was folded");
        if let Err(refusal) = folded {
            self.tally.reply(&Reply::Refused(refusal));
        }
        let mut state = self.session.state.clone().unwrap_or_default();
        state.truncate(self.random.below(state.len()));
        let context = self.session.context.clone();
        self.session.evaluator.step(Some(&state), &context, &Input::Shutdown, &[])
    }

    /// Counts a reply and learns from it what may come next.
    fn note(&mut self, reply: &Reply) -> Result<()> {
        self.session.asked()?;
        self.tally.cases = self.tally.cases.saturating_add(1);
        self.tally.reply(reply);
        let Reply::Done(outcome) = reply else { return Ok(()) };
        self.turn.clone_from(&outcome.overview.active_turn);
        self.running.clone_from(&outcome.overview.running);
        for effect in &outcome.effects {
            match effect {
                Effect::Prepare(action) => self.decided.push(action.clone()),
                Effect::Ask(asked) => {
                    let params: serde_json::Value = serde_json::from_str(&asked.params)?;
                    let stage = params.pointer("/currentRequirementId/sourceIndex");
                    let stage = stage.and_then(serde_json::Value::as_u64).unwrap_or(0);
                    let stage = u32::try_from(stage)?;
                    self.approvals.retain(|(id, _)| *id != asked.approval_id);
                    self.approvals.push((asked.approval_id.clone(), stage));
                }
                Effect::Settled(item) => self.decided.retain(|action| action.item_id != *item),
                Effect::Begin(_) | Effect::Run(_) | Effect::Halt(_) | Effect::Keep(_) => {}
            }
        }
        Ok(())
    }
}

/// What became of a proposal, by its effects.
fn proposal_decision(outcome: &Outcome) -> &'static str {
    let has = |wanted: fn(&Effect) -> bool| outcome.effects.iter().any(wanted);
    if has(|effect| matches!(effect, Effect::Run(_))) {
        "allow"
    } else if has(|effect| matches!(effect, Effect::Settled(_))) {
        "deny"
    } else {
        // Asked about now, or when its turn comes.
        "ask"
    }
}

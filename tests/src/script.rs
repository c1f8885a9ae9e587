//! Scenarios as text: what the host does, and under it what comes of it.
//!
//! ```text
//! > start promptUnmatched
//! sessionStarted(promptUnmatched)
//! > turn one
//! turnStarted(one) userMessage -> begin(one)
//! > propose i1 last : touch a
//! actionProposed(i1 ask unconfined) approvalOpened(A1 stage 0) -> ask(A1 stage 0)
//! ```
//!
//! A line of input is a verb, words (`flag` or `key=value`) and, behind ` : `, a
//! text; `@ITEM` names the last approval of an item, a `subject=` is a declared subject as JSON without blanks. Its answer is one line, in the words of `transcript`. Lines that only
//! arrange something (`rule`, `path`, `mode-answers`, ...) have no answer.

use crate::evaluator::{Evaluator, Served};
use crate::session::{Session, caller};
use crate::transcript::{Names, explanation};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use placet_policy::types::{
    Action, Answer, Caller, CommandId, Decide, Decision, EndStatus, ExecutionEnd, Input, Message,
    PathClass, Release, Reply, Requirement, SessionLeave, SessionStart, SetMode, TurnFinish,
    TurnStart, TurnStop, Unjudged, Waiter,
};
use std::fmt::Write as _;

/// Runs a scenario and compares what came of each line.
pub fn check<E: Evaluator>(evaluator: E, scenario: &str) -> Result<Session<E>> {
    let mut script = Script::new(evaluator);
    let lines = || scenario.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let mut found = String::new();
    for line in lines() {
        if let Some(input) = line.strip_prefix('>') {
            writeln!(found, "{line}")?;
            let answer = script.run(input.trim()).with_context(|| format!("at {line}"))?;
            if let Some(answer) = answer {
                writeln!(found, "{answer}")?;
            }
        }
    }
    let wanted = lines().collect::<Vec<_>>().join("\n");
    ensure!(found.trim_end() == wanted, "wanted\n{wanted}\n\nfound\n{found}");
    Ok(script.session)
}

/// A session that is driven by lines of text.
pub struct Script<E> {
    /// The session and its host.
    pub session: Session<E>,
    names: Names,
    turn: String,
}

/// The words and the text of a line.
struct Line<'a> {
    verb: &'a str,
    words: Vec<&'a str>,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn parse(input: &'a str) -> Line<'a> {
        let (head, text) = input.split_once(" : ").unwrap_or((input, ""));
        let mut words = head.split_whitespace();
        Line { verb: words.next().unwrap_or_default(), words: words.collect(), text }
    }

    /// A rule as `placet.toml` has it.
    fn rule(&self) -> Result<String> {
        let head = self.words.join(" ");
        let text = if self.text.is_empty() { head } else { format!("{head} : {}", self.text) };
        crate::rules::toml(&text)
    }

    fn flag(&self, name: &str) -> bool {
        self.words.contains(&name)
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn word(&self, index: usize) -> Result<&'a str> {
        self.words.get(index).copied().ok_or_else(|| anyhow!("{} needs more words", self.verb))
    }

    fn caller(&self) -> Caller {
        let mut caller = caller(self.value("seal").unwrap_or("allowAll"));
        caller.withheld.extend(self.value("withheld").map(str::to_owned));
        caller.subscribed = !self.flag("unsubscribed");
        caller
    }
}

impl<E: Evaluator> Script<E> {
    /// A host without a session.
    pub fn new(evaluator: E) -> Script<E> {
        Script { session: Session::new(evaluator), names: Names::default(), turn: String::new() }
    }

    /// Runs one line; none for one that only arranges something.
    pub fn run(&mut self, input: &str) -> Result<Option<String>> {
        let line = Line::parse(input);
        if self.arrange(&line)? {
            return Ok(None);
        }
        let reply = match line.verb {
            "explain" => {
                let action = self.action(&line)?;
                let explained = self.session.explain(&action)?;
                let explained = explained.map_err(|refusal| anyhow!("{refusal:?}"))?;
                return Ok(Some(explanation(&explained)));
            }
            "pending" => {
                let pending = self.session.ledger().pending.clone();
                let names: Vec<String> =
                    pending.iter().map(|(id, _)| self.names.short(id)).collect();
                let names = if names.is_empty() { "nothing".to_owned() } else { names.join(" ") };
                return Ok(Some(format!("pending {names}")));
            }
            "recover" => {
                self.session.asked()?;
                let reply = self.session.recover(line.caller())?;
                ensure!(self.session.asked()?.is_empty(), "recovery asked a mode");
                reply
            }
            "kept" => {
                let approval = self.approval(line.word(0)?)?;
                let failure = (!line.text.is_empty()).then(|| line.text.to_owned());
                self.session.keep(&approval, failure)?
            }
            "propose" => {
                let action = self.action(&line)?;
                self.session.propose(&action, line.flag("last"))?
            }
            _ => {
                let input = self.input(&line)?;
                self.session.step(&input)?
            }
        };
        if let Reply::Done(outcome) = &reply {
            self.turn = outcome.overview.active_turn.clone().unwrap_or_default();
        }
        self.names.reply(&reply).map(Some)
    }

    /// Gives a session grant on the approval that is pending.
    pub fn grant_pending(&mut self) -> Result<()> {
        let pending = self.session.ledger().pending.clone();
        let (id, _) = pending.first().ok_or_else(|| anyhow!("nothing is pending"))?;
        let answer = self.run(&format!("decide {id} allow_session"))?.unwrap_or_default();
        ensure!(!answer.starts_with("refused"), "the grant was {answer}");
        Ok(())
    }

    /// The action that a `propose` line names.
    pub fn action_of(&self, line: &str) -> Result<Action> {
        self.action(&Line::parse(line))
    }

    fn arrange(&mut self, line: &Line<'_>) -> Result<bool> {
        match line.verb {
            "rule" => self.session.rules.push(line.rule()?),
            "no-rules" => self.session.rules.clear(),
            "grants-root" => {
                let root = line.word(0)?;
                self.session.context.grants_root = (root != "none").then(|| root.to_owned());
            }
            "revoke" => {
                let approval = self.names.id(line.word(0)?);
                self.session.grants.retain(|text| !text.contains(&approval));
            }
            "path" => {
                let class = class(line.word(1)?)?;
                self.session.world.paths.insert(line.word(0)?.to_owned(), class);
            }
            "environment" => self.session.world.environment = line.word(0)?.to_owned(),
            "mode-answers" => {
                let served = match line.word(0)? {
                    "itself" => Served::Real,
                    "fault" => Served::Fault("it trapped".to_owned()),
                    word => {
                        let reason = "the test says so".to_owned();
                        Served::Answer(Answer { decision: decision(word)?, reason })
                    }
                };
                self.session.evaluator.serve(served);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn input(&mut self, line: &Line<'_>) -> Result<Input> {
        let command = self.session.command();
        let caller = line.caller();
        Ok(match line.verb {
            "start" => Input::Start(SessionStart {
                command,
                caller,
                mode: line.words.first().filter(|w| !w.contains('=')).map(|w| (*w).to_owned()),
                workspace_root: Some("/work".to_owned()),
                provider_id: None,
                model_id: None,
            }),
            "turn" => {
                let id = line.word(0)?.to_owned();
                Input::Turn(TurnStart {
                    command: CommandId { id, ..command },
                    caller,
                    text: if line.text.is_empty() {
                        "please".to_owned()
                    } else {
                        line.text.to_owned()
                    },
                    if_busy: line.value("busy").map(str::to_owned),
                    display_text: line.value("display").map(str::to_owned),
                })
            }
            "stop" => Input::Stop(TurnStop {
                command,
                caller,
                turn_id: line.words.first().filter(|w| !w.contains('=')).map(|w| (*w).to_owned()),
            }),
            "decide" => {
                let (name, stage) = line.word(0)?.split_once('.').unwrap_or((line.word(0)?, "0"));
                let approval_id = self.approval(name)?;
                let requirement = Requirement {
                    approval_id: line
                        .value("requirement")
                        .map_or_else(|| approval_id.clone(), |short| self.names.id(short)),
                    source_index: stage.parse()?,
                };
                Input::Decide(Decide {
                    command,
                    caller,
                    approval_id,
                    requirement,
                    choice_id: line.word(1)?.to_owned(),
                    feedback: line.flag("feedback"),
                })
            }
            "mode" => Input::Mode(SetMode { command, caller, mode: line.word(0)?.to_owned() }),
            "release" => {
                let item_id = line.word(0)?.to_owned();
                let action = self.proposed(&item_id)?;
                let facts = self.session.world.facts(&mut self.session.evaluator, &action)?;
                Input::Release(Release { item_id, facts })
            }
            "unjudged" => Input::Unjudged(Unjudged {
                action: self.action(line)?,
                last: line.flag("last"),
                fault: "the evaluator trapped".to_owned(),
            }),
            "ended" => Input::Ended(ended(line)?),
            "say" => Input::Say(Message {
                turn_id: self.turn.clone(),
                item_id: line.word(0)?.to_owned(),
                revision: 1,
                text: line.text.to_owned(),
            }),
            "finish" => Input::Finish(TurnFinish {
                turn_id: line.word(0)?.to_owned(),
                failure: (!line.text.is_empty()).then(|| line.text.to_owned()),
            }),
            "shutdown" => Input::Shutdown,
            "leave" => Input::Leave(SessionLeave { command, caller, stop: line.flag("stop") }),
            "unload" => Input::Unload,
            "granted" => Input::Granted,
            "ruled" => Input::Ruled,
            other => bail!("{other} is no verb"),
        })
    }

    fn action(&self, line: &Line<'_>) -> Result<Action> {
        let item = line.word(0)?.to_owned();
        let mut action = match (line.value("tool"), line.value("kind")) {
            (Some(name), _) => tool(name, line.text),
            (None, Some(kind)) => Action { declared: Some(declared(kind)), ..shell(line.text) },
            (None, None) => shell(line.text),
        };
        if let Some(subject) = line.value("subject") {
            action.declared = Some(subject.to_owned());
        }
        action.turn_id = line.value("turn").unwrap_or(&self.turn).to_owned();
        action.task_id = format!("task-{item}");
        action.call_id = format!("call-{item}");
        action.item_id = item;
        action.asked_for = line.flag("asked");
        action.confined = line.value("confined").map(str::to_owned);
        if let Some(folder) = line.value("folder") {
            action.working_folder = folder.to_owned();
        }
        if line.flag("agent") {
            action.waiter = Waiter::Agent;
        }
        Ok(action)
    }

    /// The approval of a short name, or the last one of an item as `@ITEM`.
    fn approval(&self, name: &str) -> Result<String> {
        let Some(item) = name.strip_prefix('@') else { return Ok(self.names.id(name)) };
        for record in self.session.log.iter().rev() {
            let body: serde_json::Value =
                serde_json::from_slice(record.body.as_deref().unwrap_or_default())?;
            if body["record"] == "approvalOpened" && body["request"]["item"] == item {
                return Ok(body["approval"].as_str().unwrap_or_default().to_owned());
            }
        }
        bail!("nothing was asked about {item}")
    }

    /// The action that an item's record holds, as far as the survey needs it.
    fn proposed(&self, item: &str) -> Result<Action> {
        for record in &self.session.log {
            let body: serde_json::Value =
                serde_json::from_slice(record.body.as_deref().unwrap_or_default())?;
            let text = |pointer| body.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_default();
            if text("/record") == "actionProposed" && text("/action/item") == item {
                let mut action = shell("");
                action.tool_name = text("/action/tool").to_owned();
                action.raw_args = text("/action/args").to_owned();
                action.working_folder = text("/action/folder").to_owned();
                let declared = text("/action/declared");
                action.declared = (!declared.is_empty()).then(|| declared.to_owned());
                return Ok(action);
            }
        }
        Ok(shell(""))
    }
}

/// A shell command as the exec agent proposes it.
pub fn shell(command: &str) -> Action {
    Action {
        profile: "exec".to_owned(),
        turn_id: "one".to_owned(),
        item_id: "i1".to_owned(),
        task_id: "task-i1".to_owned(),
        call_id: "call-i1".to_owned(),
        tool_name: "shell".to_owned(),
        raw_args: serde_json::json!({ "command": command }).to_string(),
        declared: None,
        asked_for: false,
        confined: None,
        working_folder: "/work".to_owned(),
        home: Some("/home/ada".to_owned()),
        waiter: Waiter::Host,
    }
}

/// The declaration of a kind without members.
pub fn declared(kind: &str) -> String {
    serde_json::json!({ "kind": kind }).to_string()
}

/// A tool call with arguments as they are.
pub fn tool(name: &str, args: &str) -> Action {
    Action { tool_name: name.to_owned(), raw_args: args.to_owned(), ..shell("") }
}

/// A path's class by its word; `unknown` for a path that the host cannot resolve.
pub fn class(word: &str) -> Result<Option<PathClass>> {
    Ok(match word {
        "ordinary" => Some(PathClass::Ordinary),
        "protected" => Some(PathClass::Protected),
        "credential" => Some(PathClass::Credential),
        "runsPrograms" => Some(PathClass::RunsPrograms),
        "placetOwn" => Some(PathClass::PlacetOwn),
        "unknown" => None,
        other => bail!("{other} is no path class"),
    })
}

fn decision(word: &str) -> Result<Decision> {
    Ok(match word {
        "allow" => Decision::Allow,
        "ask" => Decision::Ask,
        "deny" => Decision::Deny,
        other => bail!("{other} is no decision"),
    })
}

fn ended(line: &Line<'_>) -> Result<ExecutionEnd> {
    let status = match line.words.get(1) {
        Some(&"failed") => EndStatus::Failed,
        Some(&"cancelled") => EndStatus::Cancelled,
        _ => EndStatus::Completed,
    };
    let completed = status == EndStatus::Completed;
    Ok(ExecutionEnd {
        item_id: line.word(0)?.to_owned(),
        status,
        output: line.text.to_owned(),
        truncated: false,
        exit_code: completed.then_some(0),
        failure: (!completed).then(|| "it could not be run".to_owned()),
    })
}

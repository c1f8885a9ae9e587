//! One session as a client sees it, until the turn has ended or the person leaves.

use super::terminal::Terminal;
use crate::cli::show;
use crate::client::{Client, ClientError, Message};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How it came to an end.
pub(super) enum End {
    /// What was waited for has ended; the last action, if there was any.
    Done(Option<Action>),
    /// The person did not wait for the end of what runs.
    Cut,
    /// Approvals were left pending.
    Left(Vec<String>),
}

/// An action that ended.
pub(super) struct Action {
    pub(super) status: String,
    pub(super) exit_code: Option<i64>,
    pub(super) reason: String,
    pub(super) truncated: bool,
    /// Whether a person rejected it, rather than policy.
    pub(super) by_person: bool,
}

/// What the person is asked for.
enum Asking {
    Choice,
    Feedback { choice: String },
}

pub(super) struct Driver {
    pub(super) client: Client,
    pub(super) session: String,
    /// The turn that is waited for; without one everything of the session is.
    pub(super) turn: Option<String>,
    terminal: Option<Terminal>,
    /// Requests that nobody decided yet, the oldest first.
    open: Vec<Value>,
    asking: Option<Asking>,
    rejected: HashSet<String>,
    /// What was printed of each item's output.
    printed: HashMap<String, String>,
    last: Option<Action>,
    interrupts: u32,
}

impl Driver {
    pub(super) fn new(client: Client, session: String, terminal: Option<Terminal>) -> Driver {
        Driver {
            client,
            session,
            turn: None,
            terminal,
            open: Vec::new(),
            asking: None,
            rejected: HashSet::new(),
            printed: HashMap::new(),
            last: None,
            interrupts: 0,
        }
    }

    /// Goes on until the end.
    pub(super) async fn run(&mut self) -> Result<End, ClientError> {
        let mut signals = Signals::new().map_err(|error| {
            ClientError::Protocol(format!("signals cannot be watched: {error}"))
        })?;
        loop {
            if self.asking.is_none() && !self.open.is_empty() && !self.ask() {
                return Ok(self.left());
            }
            let step = match (&mut self.terminal, &self.asking) {
                (Some(terminal), Some(_)) => tokio::select! {
                    message = self.client.next() => Step::Said(message?),
                    line = terminal.line() => Step::Typed(line),
                    () = signals.next() => Step::Interrupted,
                },
                _ => tokio::select! {
                    message = self.client.next() => Step::Said(message?),
                    () = signals.next() => Step::Interrupted,
                },
            };
            let end = match step {
                Step::Said(message) => self.said(&message).await?,
                Step::Typed(Some(line)) => self.typed(&line).await?,
                Step::Typed(None) => Some(self.left()),
                Step::Interrupted => self.interrupted().await?,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    fn left(&self) -> End {
        let ids = self.open.iter().filter_map(|request| request["approvalId"].as_str());
        End::Left(ids.map(str::to_owned).collect())
    }

    /// Shows the oldest request; says whether there is anybody to see it.
    fn ask(&mut self) -> bool {
        let Some(request) = self.open.first() else { return true };
        show::tell("placet: may this run?");
        for line in show::request(request) {
            show::tell(format_args!("  {line}"));
        }
        for line in show::menu(request, |index, _| format!("{}", index.saturating_add(1))) {
            show::tell(format_args!("  {line}"));
        }
        let Some(terminal) = &mut self.terminal else { return false };
        terminal.forget();
        self.asking = Some(Asking::Choice);
        self.prompt();
        true
    }

    fn prompt(&self) {
        match self.asking {
            Some(Asking::Choice) => {
                let count = self.open.first().map_or(0, |request| show::choices(request).len());
                let _ = write!(
                    std::io::stderr(),
                    "placet: your choice (1 to {count}; Ctrl-C leaves it pending): "
                );
            }
            Some(Asking::Feedback { .. }) => {
                let _ = write!(
                    std::io::stderr(),
                    "placet: feedback to the agent (an empty line gives none): "
                );
            }
            None => {}
        }
        let _ = std::io::stderr().flush();
    }

    async fn typed(&mut self, line: &str) -> Result<Option<End>, ClientError> {
        let Some(request) = self.open.first().cloned() else { return Ok(None) };
        match self.asking.take() {
            Some(Asking::Choice) => {
                let choices = show::choices(&request);
                let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let Some(choice) = number.and_then(|index| choices.get(index)) else {
                    let count = choices.len();
                    let typed = show::quoted(line);
                    show::tell(format_args!(
                        "placet: {typed} is no choice: type a number from 1 to {count}"
                    ));
                    self.asking = Some(Asking::Choice);
                    self.prompt();
                    return Ok(None);
                };
                let id = choice["choiceId"].as_str().unwrap_or_default().to_owned();
                if choice["acceptsFeedback"] == Value::Bool(true) {
                    self.asking = Some(Asking::Feedback { choice: id });
                    self.prompt();
                    return Ok(None);
                }
                self.decide(&request, &id, None).await
            }
            Some(Asking::Feedback { choice }) => {
                let feedback = Some(line).filter(|line| !line.is_empty());
                self.decide(&request, &choice, feedback).await
            }
            None => Ok(None),
        }
    }

    async fn decide(
        &mut self,
        request: &Value,
        choice: &str,
        feedback: Option<&str>,
    ) -> Result<Option<End>, ClientError> {
        match self.client.decide(&self.session, request, choice, feedback).await {
            // The next stage, or what became of it, is told.
            Ok(_) => self.close(&request["approvalId"]),
            Err(ClientError::Refused(refusal)) => {
                show::tell(format_args!(
                    "placet: not decided: {}",
                    show::visible(&refusal.message)
                ));
                let meanwhile = ["approvalAlreadyResolved", "approvalRequirementStale"];
                if meanwhile.contains(&refusal.kind.as_str()) {
                    self.close(&request["approvalId"]);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// A request is open no more, or will be told anew.
    fn close(&mut self, approval: &Value) {
        if self.open.first().is_some_and(|first| first["approvalId"] == *approval) {
            self.asking = None;
        }
        self.open.retain(|request| request["approvalId"] != *approval);
    }

    async fn said(&mut self, message: &Message) -> Result<Option<End>, ClientError> {
        let params = &message.params;
        if params["sessionId"] != self.session.as_str() {
            return Ok(None);
        }
        match message.method.as_str() {
            "approval/request" => self.requested(params),
            "approval/resolved" => self.resolved(params),
            "item/delta" if params["field"] == "visibleOutput" => {
                let text = params["delta"].as_str().unwrap_or_default();
                return self.output(&params["itemId"], text).await;
            }
            "item/completed" if params["item"]["kind"] == "toolCall" => {
                return self.completed(&params["item"]).await;
            }
            "item/completed" if params["item"]["kind"] == "agentMessage" => {
                let text = params["item"]["text"].as_str().unwrap_or_default();
                show::tell(format_args!("placet: the agent says: {}", show::quoted(text)));
            }
            "turn/completed" => {
                let ours = self.turn.as_deref().is_some_and(|turn| params["turnId"] == turn);
                return Ok(ours.then(|| End::Done(self.last.take())));
            }
            "session/statusChanged" if self.turn.is_none() && params["status"] == "idle" => {
                return Ok(Some(End::Done(self.last.take())));
            }
            "session/closed" => return Err(ClientError::Ended),
            _ => {}
        }
        Ok(None)
    }

    fn requested(&mut self, request: &Value) {
        let approval = &request["approvalId"];
        let known = self.open.iter().position(|open| open["approvalId"] == *approval);
        match known.and_then(|index| self.open.get_mut(index).map(|open| (index, open))) {
            Some((_, open)) if open == request => {}
            Some((index, open)) => {
                *open = request.clone();
                if index == 0 && self.asking.take().is_some() {
                    show::tell("\nplacet: somebody else decided a stage; this is left:");
                }
            }
            None => self.open.push(request.clone()),
        }
    }

    fn resolved(&mut self, resolved: &Value) {
        let approval = &resolved["approvalId"];
        let word = |name: &str| show::visible(resolved[name].as_str().unwrap_or_default());
        if self.open.iter().any(|request| request["approvalId"] == *approval) {
            show::tell(format_args!(
                "\nplacet: decided elsewhere meanwhile: {} by {}",
                word("decision"),
                word("resolvedBy")
            ));
            self.close(approval);
        }
        if resolved["policyResult"] == "deny" && resolved["resolvedBy"] == "user" {
            self.rejected.insert(approval.as_str().unwrap_or_default().to_owned());
        }
    }

    async fn completed(&mut self, item: &Value) -> Result<Option<End>, ClientError> {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        // What was told before this client listened is not in the deltas.
        let output = text("visibleOutput");
        let printed = self.printed.get(text("itemId")).map_or("", String::as_str);
        let rest = output.strip_prefix(printed).unwrap_or_default().to_owned();
        let end = self.output(&item["itemId"], &rest).await?;
        let ours = self.turn.as_deref().is_none_or(|turn| item["turnId"] == turn);
        if ours && item["status"] != "inProgress" {
            self.last = Some(Action {
                status: text("status").to_owned(),
                exit_code: item["exitCode"].as_i64(),
                reason: text("failureReason").to_owned(),
                truncated: item["truncated"] == Value::Bool(true),
                by_person: self.rejected.contains(text("approvalId")),
            });
        }
        Ok(end)
    }

    /// The command's own output goes where it would have gone.
    async fn output(&mut self, item: &Value, text: &str) -> Result<Option<End>, ClientError> {
        let item = item.as_str().unwrap_or_default().to_owned();
        self.printed.entry(item).or_default().push_str(text);
        let mut out = std::io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        drop(out);
        // Nobody reads any more: the command is ended, as the system would have done.
        if written.is_err() && self.interrupts == 0 { self.interrupted().await } else { Ok(None) }
    }

    /// Ctrl-C, or the like. A question is left open; a command is interrupted.
    async fn interrupted(&mut self) -> Result<Option<End>, ClientError> {
        self.interrupts = self.interrupts.saturating_add(1);
        if !self.open.is_empty() {
            return Ok(Some(self.left()));
        }
        if self.interrupts > 1 {
            return Ok(Some(End::Cut));
        }
        let params = json!({"sessionId": self.session});
        match self.client.command("turn/interrupt", params).await {
            // What ended meanwhile needs no interrupt.
            Ok(_) | Err(ClientError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

enum Step {
    Said(Message),
    Typed(Option<String>),
    Interrupted,
}

/// The signals by which a person, or the system, wants an end.
struct Signals([Signal; 3]);

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) {
        let Signals([interrupt, terminate, hangup]) = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

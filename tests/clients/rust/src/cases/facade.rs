//! The SDK as a program uses it: `MuseClient`, and a person who answers its questions.

use crate::ground::{Outcome, Place, check, equal, quoted, within};
use muse_code_sdk::approval::ApprovalDecisionInput;
use muse_code_sdk::client::{MuseClient, ResumeSessionOptions, StartSessionOptions};
use muse_code_sdk::msp::{
    ApprovalMode, ApprovalRequestParams, ApprovalResolvedParams, Item, ItemKind, ItemStatus,
    TurnCompletedParams, TurnInputPart, TurnInputPartType, TurnTerminal,
};
use muse_code_sdk::session::{SendUserTurnOptions, Session};
use muse_code_sdk::spawn::{ExitClassification, ExitKind, SpawnOptions};
use muse_code_sdk::turn::{Turn, TurnOutcome};
use std::collections::HashMap;
use std::ffi::OsString;
use std::pin::Pin;
use std::process::Command;
use tokio::sync::{mpsc, oneshot};

/// The environment of a host: the case's home.
pub(crate) fn environment(place: &Place) -> HashMap<OsString, OsString> {
    HashMap::from([("PLACET_HOME".into(), place.home().into_os_string())])
}

/// One host process under the SDK's client.
pub(crate) struct Facade {
    pub(crate) client: MuseClient,
    /// The SDK does not publish it: the launcher wrote it down before it became the host.
    pid: u32,
}

impl Facade {
    /// Spawns `placet serve` on the home of the case.
    pub(crate) async fn spawn(place: &Place) -> Outcome<Facade> {
        let pid = place.path("pid");
        let launcher =
            format!("echo $$ > {}\nexec {} \"$@\"", quoted(&pid), quoted(place.placet()));
        let mut options = SpawnOptions::default();
        options.muse_bin = Some(place.script("launcher", &launcher)?);
        options.cwd = Some(place.path("workspace"));
        options.env = Some(environment(place));
        let connection = within("a handshake", MuseClient::spawn(options)).await??;
        let pid = std::fs::read_to_string(pid)?.trim().parse()?;
        Ok(Facade { client: connection.client, pid })
    }

    /// Starts a session whose questions go to this person.
    pub(crate) async fn start(
        &self,
        place: &Place,
        mode: Option<ApprovalMode>,
        person: &Person,
    ) -> Outcome<Session> {
        let options = StartSessionOptions {
            workspace_root: Some(place.workspace()),
            approval_mode: mode,
            ..StartSessionOptions::default()
        };
        let session = within("session/start", self.client.start_session(options)).await??;
        session.on_approval(person.handler());
        Ok(session)
    }

    /// Resumes a session; what was pending is asked of this person.
    pub(crate) async fn resume(&self, session_id: &str, person: &Person) -> Outcome<Session> {
        let options = resume_options(session_id);
        let resumed = self.client.resume_session_with_approval_handler(options, person.handler());
        Ok(within("session/resume", resumed).await??)
    }

    /// SIGKILL; the SDK must see a crash.
    pub(crate) async fn kill(self) -> Outcome {
        let status = Command::new("sh").args(["-c", &format!("kill -9 {}", self.pid)]).status()?;
        check(status.success(), "the host to be there to be killed")?;
        let exit = self.exit().await?;
        equal((exit.kind, exit.exit_signal), (ExitKind::Crash, Some(9)), "the exit that was seen")
    }

    /// The client closes; the host must end in order.
    pub(crate) async fn close(self) -> Outcome {
        within("the client to close", self.client.close()).await?;
        let exit = self.exit().await?;
        check(exit.kind == ExitKind::CleanShutdown, format_args!("exit code 0, got {exit:?}"))
    }

    async fn exit(&self) -> Outcome<ExitClassification> {
        let exit = within("the host's exit", self.client.exit()).await?;
        Ok(exit.ok_or("the client owns no host")??)
    }
}

/// Options that name a session and nothing else.
pub(crate) fn resume_options(session_id: &str) -> ResumeSessionOptions {
    ResumeSessionOptions { session_id: session_id.to_owned(), ..ResumeSessionOptions::default() }
}

type Answer = Pin<Box<dyn Future<Output = ApprovalDecisionInput> + Send>>;

/// An approval handler that the case plays by hand.
pub(crate) struct Person {
    sender: mpsc::UnboundedSender<Question>,
    asked: mpsc::UnboundedReceiver<Question>,
}

/// One question, and the place for its answer; dropped, it stays without one.
pub(crate) struct Question {
    pub(crate) ask: ApprovalRequestParams,
    answer: oneshot::Sender<ApprovalDecisionInput>,
}

impl Person {
    pub(crate) fn new() -> Person {
        let (sender, asked) = mpsc::unbounded_channel();
        Person { sender, asked }
    }

    fn handler(&self) -> impl Fn(ApprovalRequestParams) -> Answer + Send + Sync + 'static {
        let sender = self.sender.clone();
        move |ask| {
            let (answer, decided) = oneshot::channel();
            let _ = sender.send(Question { ask, answer });
            Box::pin(async move {
                match decided.await {
                    Ok(decision) => decision,
                    Err(_) => std::future::pending().await,
                }
            })
        }
    }

    /// The next question.
    pub(crate) async fn question(&mut self) -> Outcome<Question> {
        let question = within("the SDK to ask its handler", self.asked.recv()).await?;
        question.ok_or_else(|| "the handler is gone".into())
    }

    /// Nothing may have been asked that the case has not taken.
    pub(crate) fn quiet(&mut self, why: &str) -> Outcome {
        check(self.asked.try_recv().is_err(), format_args!("no further question: {why}"))
    }
}

impl Question {
    pub(crate) fn says(self, choice: &str) -> Outcome {
        self.says_with(choice, None)
    }

    pub(crate) fn says_with(self, choice: &str, feedback: Option<&str>) -> Outcome {
        let decision = ApprovalDecisionInput {
            choice_id: choice.to_owned(),
            feedback: feedback.map(str::to_owned),
        };
        self.answer.send(decision).map_err(|_| "nobody waits for the answer any more".into())
    }
}

/// One part of text.
pub(crate) fn text_part(text: &str) -> TurnInputPart {
    TurnInputPart {
        part_type: TurnInputPartType::Text,
        text: Some(text.to_owned()),
        media_type: None,
        base64_data: None,
        width: None,
        height: None,
        selector: None,
        arguments: None,
        upload_id: None,
        source: None,
    }
}

/// Starts a turn.
pub(crate) async fn say(session: &Session, text: &str) -> Outcome<Turn> {
    let options =
        SendUserTurnOptions { input: vec![text_part(text)], ..SendUserTurnOptions::default() };
    Ok(within("turn/start", session.send_user_turn(options)).await??)
}

/// Waits until the turn has completed.
pub(crate) async fn end(turn: &Turn) -> Outcome<TurnCompletedParams> {
    match within("the turn to end", turn.completed()).await?? {
        TurnOutcome::Completed { params, .. } => {
            equal(&params.terminal, &TurnTerminal::Completed, "the turn's terminal")?;
            Ok(params)
        }
        other => Err(format!("expected a completed turn, got {other:?}").into()),
    }
}

/// The last state of the only tool call of a turn that has ended.
pub(crate) async fn tool_item(turn: &Turn, status: ItemStatus) -> Outcome<Item> {
    let mut calls: HashMap<String, Item> = HashMap::new();
    let mut items = turn.items();
    while let Some(item) = within("the turn's items", items.recv()).await?? {
        if item.kind == ItemKind::ToolCall {
            calls.insert(item.item_id.clone(), item);
        }
    }
    equal(calls.len(), 1, "tool calls of the turn")?;
    let item = calls.into_values().next().ok_or("no tool call")?;
    equal(&item.status, &status, "the status of the tool call")?;
    Ok(item)
}

/// The terminal that the SDK's fold holds for an approval.
pub(crate) fn resolved_of(session: &Session, approval: &str) -> Outcome<ApprovalResolvedParams> {
    let held = session.fold().resolved_approval(approval).ok_or("the fold holds no terminal")?;
    Ok(serde_json::from_value(held)?)
}

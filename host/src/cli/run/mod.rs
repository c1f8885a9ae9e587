//! `placet run`: one command for a person at a terminal, with the questions that it raises.
//!
//! The host is one of its own in this process, and this verb its client: what is
//! shown is what the wire says. Questions go to stderr, so that stdout is the
//! command's alone.

mod drive;
mod terminal;
mod words;

use super::host::Host;
use super::{
    EXIT_CUT, EXIT_FAILED, EXIT_LEASE, EXIT_PENDING, EXIT_REFUSED, EXIT_REJECTED, EXIT_USAGE,
    Failure, become_host, from_outside, runtime, show,
};
use crate::client::{Client, ClientError};
use crate::engine::MODES;
use drive::{Action, Driver, End};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use terminal::Terminal;

/// Run a shell command, asking at the terminal where policy cannot tell
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Run {
    /// One word is a shell script; several are the words of one command, kept as they are
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "session"
    )]
    command: Vec<String>,
    /// What happens to what no rule, grant or known-safe command covers; promptUnmatched when absent
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(MODES), conflicts_with = "session")]
    mode: Option<String>,
    /// Where it runs; the current folder when absent
    #[arg(long, value_name = "FOLDER", conflicts_with = "session")]
    cwd: Option<PathBuf>,
    /// Continue a session: first what is pending in it, then the command, if there is one
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// A rule file for this run, beside placet.toml
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  placet run 'make test 2>&1 | tail'       a script, in quotes
  placet run git commit -m 'a message'     the words of one command
  placet run --mode onRequest -- ls -l     options of placet stand before the command
  placet run --rules ci.toml 'make test'   with rules for this run alone
  placet run --session SESSION             answer what was left pending
  placet run --session SESSION 'git push'  one more command, with the session's grants

Questions are asked on stderr and answered by number; no key is a default. Ctrl-C at a
question leaves it pending, and decides nothing. Where stdin or stderr is no terminal
nobody can be asked: without --mode it starts in denyUnmatched.

Stdout is the command's output, up to 64 KiB; what is no UTF-8 in it is replaced.

Exit codes: the command's own when it ran (128 + n when signal n ended it), else
  10  policy refused it            2  usage
  11  a person rejected it         3  configuration or log
  12  it waits for a decision      4  another host holds the session
  13  it did not run to its end    1  something failed that should not
The last line on stderr names the session whose log tells them apart.";

impl Run {
    pub(super) fn run(self) -> Result<u8, Failure> {
        from_outside("asks nobody and decides nothing")?;
        if let Some(option) = self.command.first().filter(|word| word.starts_with('-'))
            && !std::env::args_os().any(|argument| argument == "--")
        {
            let option = show::quoted(option);
            let why =
                format!("{option} is no option of placet run; a command like this stands after --");
            return Err(Failure::new(EXIT_USAGE, why));
        }
        let script = words::script(&self.command);
        become_host()?;
        let runtime = runtime()?;
        let code = runtime.block_on(self.hosted(script));
        runtime.shutdown_background();
        code
    }

    /// Starts the host, and ends it in order whatever happened.
    async fn hosted(self, script: Option<String>) -> Result<u8, Failure> {
        let host = Host::open(None, HashMap::new(), self.rules.clone()).await?;
        let (ours, its) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(async move {
            let (input, output) = tokio::io::split(its);
            let input = tokio::io::BufReader::new(input);
            host.serve("run", input, output, std::future::pending()).await
        });
        let (input, output) = tokio::io::split(ours);
        let code = match Client::open(input, output, "placet_run").await {
            Ok(client) => self.drive(client, script).await,
            Err(error) => Err(failure(error)),
        };
        match served.await {
            Ok(ended) => ended.and(code),
            Err(error) => Err(Failure::new(EXIT_FAILED, format!("the host failed: {error}"))),
        }
    }

    async fn drive(&self, mut client: Client, script: Option<String>) -> Result<u8, Failure> {
        let terminal = Terminal::open();
        let attended = terminal.is_some();
        let opened = self.open(&mut client, attended).await.map_err(failure)?;
        let session = opened["session"]["sessionId"].as_str().unwrap_or_default().to_owned();
        let waits = opened["pendingRequests"].as_array().is_some_and(|waits| !waits.is_empty());
        if script.is_none() && !waits && opened["session"]["activeTurnId"].is_null() {
            let why = format!("nothing is pending in {session}; give a command to run in it");
            return Err(Failure::new(EXIT_USAGE, why));
        }
        let mut driver = Driver::new(client, session.clone(), terminal);
        let code = match proceed(&mut driver, script).await {
            Ok(End::Done(action)) => report(action.as_ref(), attended),
            Ok(End::Cut) => {
                show::tell(
                    "placet: left before it had ended; what still ran is ended with the host",
                );
                EXIT_CUT
            }
            Ok(End::Left(approvals)) => left(&session, &approvals, attended),
            Err(error) => {
                let Failure { code, message } = failure(error);
                show::tell(format_args!("placet: {message}"));
                code
            }
        };
        show::tell(format_args!("placet: log: placet log show {session}"));
        Ok(code)
    }

    /// Starts the session or continues it.
    async fn open(&self, client: &mut Client, attended: bool) -> Result<Value, ClientError> {
        if let Some(session) = &self.session {
            let params = json!({"sessionId": session, "excludeItems": true});
            return client.command("session/resume", params).await;
        }
        let mut mode = self.mode.as_deref();
        if mode.is_none() && !attended {
            show::tell(format_args!(
                "placet: stdin or stderr is no terminal, so nobody can be asked: what nothing \
                 covers is refused (denyUnmatched)"
            ));
            mode = Some("denyUnmatched");
        }
        let root = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let root = std::path::absolute(&root).unwrap_or(root);
        let params = json!({"workspaceRoot": root.to_string_lossy(), "approvalMode": mode});
        client.command("session/start", params).await
    }
}

async fn proceed(driver: &mut Driver, script: Option<String>) -> Result<End, ClientError> {
    if let Some(script) = script {
        let input = json!([{"type": "text", "text": words::turn(&script)}]);
        let params = json!({"sessionId": driver.session, "input": input});
        let started = driver.client.command("turn/start", params).await?;
        if started["disposition"] == "queued" {
            show::tell("placet: a turn of the session is not over; the command comes after it");
        }
        driver.turn = started["turnId"].as_str().map(str::to_owned);
    }
    driver.run().await
}

/// Says how an action ended, and with which code this process does.
fn report(action: Option<&Action>, attended: bool) -> u8 {
    let Some(action) = action else {
        show::tell("placet: nothing ran");
        return EXIT_CUT;
    };
    if action.truncated {
        show::tell("placet: there was more output than is kept; the rest is not shown");
    }
    let reason = show::visible(&action.reason);
    match (action.status.as_str(), action.exit_code) {
        ("completed", code) => u8::try_from(code.unwrap_or(0)).unwrap_or(EXIT_FAILED),
        ("rejected", _) if action.by_person => {
            show::tell(format_args!("placet: rejected, so that nothing ran: {reason}"));
            EXIT_REJECTED
        }
        ("rejected", _) => {
            show::tell(format_args!("placet: refused by policy, so that nothing ran: {reason}"));
            if !attended {
                show::tell(format_args!(
                    "placet: run it at a terminal to be asked, or with --mode promptUnmatched to \
                     leave the question for later"
                ));
            }
            EXIT_REFUSED
        }
        (status, _) => {
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            show::tell(format_args!(
                "placet: it did not run to its end ({}){reason}",
                show::visible(status)
            ));
            EXIT_CUT
        }
    }
}

/// Says what was left, and how to come back to it.
fn left(session: &str, approvals: &[String], attended: bool) -> u8 {
    show::tell("");
    if !attended {
        show::tell("placet: there is no terminal to ask at");
    }
    for approval in approvals {
        show::tell(format_args!(
            "placet: nothing was decided; the approval {approval} stays pending"
        ));
    }
    show::tell(format_args!(
        "placet: come back with `placet run --session {session}` (it asks again, under a new id); \
         `placet pending` lists what waits"
    ));
    EXIT_PENDING
}

/// What a failed connection means to the one who typed the command.
fn failure(error: ClientError) -> Failure {
    let code = match &error {
        ClientError::Refused(refusal) => super::refusal_code(&refusal.kind),
        ClientError::Ended | ClientError::Protocol(_) => EXIT_FAILED,
    };
    let mut message = show::visible(&error.to_string());
    if code == EXIT_LEASE {
        message.push_str("; `placet pending` shows what waits there, `placet decide` decides it");
    }
    Failure::new(code, message)
}

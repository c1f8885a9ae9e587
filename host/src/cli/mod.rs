//! The command line: what a person types, and the exit codes that scripts read.

mod check;
mod components;
mod decide;
mod explain;
mod grants;
mod host;
mod log;
mod pending;
mod reach;
mod run;
mod serve;
mod show;
mod trust;

use crate::exec::inside::{is_inside_an_action, may_host};
use crate::exec::shield;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Everything went as it should.
pub const EXIT_OK: u8 = 0;
/// Something failed that should not.
pub const EXIT_FAILED: u8 = 1;
/// The arguments make no sense; trying again does not help.
pub const EXIT_USAGE: u8 = 2;
/// The configuration or the state folder must be put right first.
pub const EXIT_CONFIGURATION: u8 = 3;
/// Another host holds what is needed; try again when it has ended.
pub const EXIT_LEASE: u8 = 4;
/// Policy refused the command, so that nothing ran; or who asks may not decide.
pub const EXIT_REFUSED: u8 = 10;
/// A person rejected the command, so that nothing ran.
pub const EXIT_REJECTED: u8 = 11;
/// It waits for a decision.
pub const EXIT_PENDING: u8 = 12;
/// The command did not run to its end.
pub const EXIT_CUT: u8 = 13;
/// Somebody else decided first.
pub const EXIT_SETTLED: u8 = 14;

/// A failure with its exit code and one sentence for a person.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

impl From<crate::log::LogError> for Failure {
    fn from(error: crate::log::LogError) -> Failure {
        Failure::new(error.exit_code(), error.to_string())
    }
}

impl From<crate::engine::EngineError> for Failure {
    fn from(error: crate::engine::EngineError) -> Failure {
        Failure::new(EXIT_CONFIGURATION, error.to_string())
    }
}

/// Placet decides whether an AI agent's tool call may run, and asks a person where policy cannot tell.
#[derive(Debug, Parser)]
#[command(name = "placet", version, after_help = EXAMPLES)]
struct Arguments {
    /// Print name and digest of every policy component, and where they are
    #[arg(long)]
    components: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

const EXAMPLES: &str = "\
Examples:
  placet run 'make test'               run a command, asking here where policy cannot tell
  placet pending                       what waits for a decision, over all sessions
  placet decide APPROVAL               show one of them; with a choice of its menu, decide it
  placet explain 'git push'            what would happen to a command, and why
  placet check                         what is wrong with the rules in force here
  placet trust                         let this folder's placet.toml allow, as it is now
  placet grants list                   what was allowed for longer than a session
  placet grants revoke ID              take one of them back, at once
  placet serve                         a host for one client on stdin and stdout
  placet serve --fingerprint sha256:…  the same, for a client that pins another schema
  placet log show                      the sessions of this home
  placet log show SESSION              the records of one session
  placet log verify SESSION            check that no record was changed or lost
  placet log redact SESSION --pattern TEXT   erase what must not stay
  placet --components                  the policy component and the modes in use

State lies in $PLACET_HOME, else in the platform's data folder.";

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::Run),
    Pending(pending::Pending),
    Decide(decide::Decide),
    Explain(explain::Explain),
    Check(check::Check),
    Trust(trust::Trust),
    /// Serve MSP to the client that started this program, on stdin and stdout
    Serve(serve::Serve),
    /// List the grants that outlive their session, or revoke them
    #[command(subcommand)]
    Grants(grants::Grants),
    /// Look at the durable log, export it, erase or delete from it
    #[command(subcommand)]
    Log(log::Log),
}

/// Runs the program and says how it ended.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nobody left to print to is nothing to fail over.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { EXIT_USAGE } else { EXIT_OK });
        }
    };
    if let Err(error) = shield::hide() {
        show::tell(format_args!("placet: cannot keep other processes out of this one: {error}"));
        return ExitCode::from(EXIT_FAILED);
    }
    let done = |()| EXIT_OK;
    let result = match arguments.verb {
        _ if arguments.components => components::print().map(done),
        Some(Verb::Run(run)) => run.run(),
        Some(Verb::Pending(pending)) => pending.run().map(done),
        Some(Verb::Decide(decide)) => decide.run(),
        Some(Verb::Explain(explain)) => explain.run(),
        Some(Verb::Check(check)) => check.run(),
        Some(Verb::Trust(trust)) => trust.run(),
        Some(Verb::Serve(serve)) => serve.run().map(done),
        Some(Verb::Grants(grants)) => grants.run().map(done),
        Some(Verb::Log(log)) => log.run().map(done),
        None => Err(Failure::new(
            EXIT_USAGE,
            "say what to do: placet run, placet serve, placet log, or placet --help for more",
        )),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { code, message }) => {
            show::tell(format_args!("placet: {message}"));
            ExitCode::from(code)
        }
    }
}

/// The exit code for an error of the wire.
fn refusal_code(kind: &str) -> u8 {
    match kind {
        "sessionInUse" => EXIT_LEASE,
        "invalidParams" | "sessionNotFound" | "sessionNotLoaded" | "inputTooLarge" => EXIT_USAGE,
        "commandRejected" => EXIT_CONFIGURATION,
        _ => EXIT_FAILED,
    }
}

/// Refuses a verb inside an action: a command that was allowed must not answer for a person.
fn from_outside(what: &str) -> Result<(), Failure> {
    let why = match is_inside_an_action(std::process::id()) {
        Some(false) => return Ok(()),
        Some(true) => format!(
            "refused: this is a command that placet runs, and such a command {what}; do it from outside"
        ),
        None => format!(
            "refused: it cannot be told from /proc that this is no command that placet runs, and \
             such a command {what}; `ulimit -Hx` must say unlimited, and /proc show who started this"
        ),
    };
    Err(Failure::new(EXIT_REFUSED, why))
}

/// Makes this process a host, which no command that placet runs may be: with the home
/// of another host it would be that one's client, and decide there.
fn become_host() -> Result<(), Failure> {
    if !may_host() {
        from_outside("is no host")?;
    }
    let failed = |error| Failure::new(EXIT_FAILED, format!("cannot be a host here: {error}"));
    shield::host().map_err(failed)
}

/// A runtime for what waits.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(EXIT_FAILED, format!("cannot start: {error}")))
}

//! Running a command, in the host: starts the supervisor and drives it.
//!
//! Output is read whatever its reader does, so that a command never waits for a
//! client: deltas that nobody takes are joined, and all of them together hold no
//! more than what is kept of the output anyway.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};

use super::SUPERVISOR_ARGUMENT;
use super::driver::Driver;
use super::job::WireJob;
use super::kin;
use crate::limits::{
    EXEC_COMMAND_BYTES_MAX, EXEC_DELTAS_QUEUED_MAX, EXEC_ENVIRONMENT_BYTES_MAX, EXEC_JOB_BYTES_MAX,
};

/// A command to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// What bash is given after `-c`.
    pub command: String,
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// All of the environment; see [`super::environment::prepare`].
    pub environment: Vec<(OsString, OsString)>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// By [`Running::interrupt`], or because the [`Running`] was dropped.
    Interrupted,
    /// It could not be started, or how it ended is lost with its supervisor: a sentence.
    Failed(String),
}

/// What is left of a command that has ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The head of its output: the deltas, joined.
    pub output: String,
    /// Whether there was more output than `output` holds.
    pub truncated: bool,
    /// All the bytes it wrote.
    pub output_bytes: u64,
    /// From its start to the end of all its processes.
    pub duration_ms: u64,
    /// Processes below it that could not be ended, those of another user say.
    pub survivors: u32,
}

/// Why a job was not even handed to a supervisor.
#[derive(Debug, Error)]
pub enum ExecError {
    /// More than bash takes as an argument.
    #[error("The command has {0} bytes; at most {EXEC_COMMAND_BYTES_MAX} can be run.")]
    CommandTooLarge(usize),
    /// More than a program is started with.
    #[error("The environment has {0} bytes; at most {EXEC_ENVIRONMENT_BYTES_MAX} can be passed.")]
    EnvironmentTooLarge(usize),
    /// More than a supervisor reads.
    #[error("The job is larger than the {EXEC_JOB_BYTES_MAX} bytes that a supervisor reads.")]
    JobTooLarge,
    /// A NUL ends a string early for the kernel.
    #[error("The {0} contains a NUL character.")]
    Nul(&'static str),
    /// The supervisor could not be started.
    #[error("The supervisor of the command could not be started: {0}.")]
    Supervisor(#[from] io::Error),
}

/// A command that runs. Dropping it interrupts the command.
#[derive(Debug)]
pub struct Running {
    deltas: mpsc::Receiver<String>,
    outcome: oneshot::Receiver<Outcome>,
    interrupt: Interrupter,
    supervisor: u32,
}

/// Interrupts a command; outlives its [`Running`] without keeping anything alive.
#[derive(Clone, Debug)]
pub struct Interrupter(watch::Sender<bool>);

impl Interrupter {
    /// Ends the command and everything below it. Does not wait; may be repeated.
    pub fn interrupt(&self) {
        self.0.send_replace(true);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.interrupt();
    }
}

impl Running {
    /// Ends the command and everything below it. Does not wait; may be repeated.
    pub fn interrupt(&self) {
        self.interrupt.interrupt();
    }

    /// A handle that interrupts from elsewhere, also while the outcome is awaited.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupt.clone()
    }

    /// The next piece of output; `None` when no more will come.
    pub async fn chunk(&mut self) -> Option<String> {
        self.deltas.recv().await
    }

    /// Waits for the end. Output that was not taken by then is in the outcome.
    pub async fn outcome(mut self) -> Outcome {
        self.deltas.close();
        let lost = "The host stopped while the command was running.";
        (&mut self.outcome).await.unwrap_or_else(|_| Outcome {
            status: Status::Failed(lost.into()),
            output: String::new(),
            truncated: false,
            output_bytes: 0,
            duration_ms: 0,
            survivors: 0,
        })
    }

    /// The process number of the supervisor; its session has the same.
    pub fn supervisor(&self) -> u32 {
        self.supervisor
    }
}

/// This very binary, also when its file has been replaced since it was started.
pub fn own_binary() -> &'static Path {
    Path::new("/proc/self/exe")
}

/// Starts `job` under `supervisor`, the `placet` binary ([`own_binary`]). Must be
/// called within a tokio runtime; if that ends, the command is ended. `supervisor` is
/// an absolute path.
pub fn start(job: Job, supervisor: &Path) -> Result<Running, ExecError> {
    let sent = encode(&job)?;
    let (line, its_line) = std::os::unix::net::UnixStream::pair()?;
    line.set_nonblocking(true)?;
    let line = UnixStream::from_std(line)?;
    let (output, its_output) = io::pipe()?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
    // Everything opened above is close-on-exec: no other child of the host holds
    // the life line open. Our copies of its ends go with the `Command`.
    let mut command = Command::new(supervisor);
    command
        .arg0("placet")
        .arg(SUPERVISOR_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(its_line))
        .stdout(its_output)
        .stderr(Stdio::null());
    // Never killed on drop: the end of the life line ends it, in good order.
    let child = kin::spawn(command)?;
    let supervisor = child.id().unwrap_or_default();
    let (deltas_in, deltas) = mpsc::channel(EXEC_DELTAS_QUEUED_MAX);
    let (outcome_in, outcome) = oneshot::channel();
    let (interrupt, interrupted) = watch::channel(false);
    let driver = Driver::new(child, line, output, deltas_in, interrupted);
    tokio::spawn(async move {
        // Nobody may be waiting for it.
        let _ = outcome_in.send(driver.run(sent).await);
    });
    Ok(Running { deltas, outcome, interrupt: Interrupter(interrupt), supervisor })
}

fn encode(job: &Job) -> Result<Vec<u8>, ExecError> {
    if job.command.len() > EXEC_COMMAND_BYTES_MAX {
        return Err(ExecError::CommandTooLarge(job.command.len()));
    }
    let texts = || job.environment.iter().flat_map(|(name, value)| [name, value]);
    // Each with what ends it, as the kernel counts.
    let bytes = texts().map(|text| text.len() + 1).sum();
    if bytes > EXEC_ENVIRONMENT_BYTES_MAX {
        return Err(ExecError::EnvironmentTooLarge(bytes));
    }
    let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
    if job.command.contains('\0') {
        return Err(ExecError::Nul("command"));
    }
    if has_nul(job.cwd.as_os_str()) {
        return Err(ExecError::Nul("working folder"));
    }
    if texts().any(|text| has_nul(text)) {
        return Err(ExecError::Nul("environment"));
    }
    let wire = WireJob {
        command: job.command.clone(),
        cwd: job.cwd.as_os_str().into(),
        environment: job
            .environment
            .iter()
            .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
            .collect(),
    };
    wire.encode().ok_or(ExecError::JobTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job { command: "true".into(), cwd: "/".into(), environment: Vec::new() }
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        assert!(encode(&job()).is_ok());
        let long = Job { command: "x".repeat(EXEC_COMMAND_BYTES_MAX + 1), ..job() };
        assert!(matches!(encode(&long), Err(ExecError::CommandTooLarge(_))));
        let large = vec![("A".into(), "x".repeat(EXEC_ENVIRONMENT_BYTES_MAX).into())];
        let large = Job { environment: large, ..job() };
        assert!(matches!(encode(&large), Err(ExecError::EnvironmentTooLarge(_))));
        let nul = Job { command: "a\0b".into(), ..job() };
        assert!(matches!(encode(&nul), Err(ExecError::Nul("command"))));
        let nul = Job { environment: vec![("A".into(), "\0".into())], ..job() };
        assert!(matches!(encode(&nul), Err(ExecError::Nul("environment"))));
    }
}

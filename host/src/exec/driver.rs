//! The task that drives one supervisor: its job in, output and report out.

use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep_until, timeout};

use super::job::{INTERRUPT, Report};
use super::kin;
use super::processes::{end_session, end_supervisor};
use super::runner::{Outcome, Status};
use super::text::{Output, head};
use crate::limits::{
    EXEC_DELTA_BYTES_MAX, EXEC_DRAIN_MS_MAX, EXEC_INTERRUPT_ANSWER_MS_MAX, EXEC_KILL_MS_MAX,
    EXEC_OUTPUT_BYTES_MAX, EXEC_READ_BYTES, EXEC_REPORT_BYTES_MAX,
};

const KILL_TIME: Duration = Duration::from_millis(EXEC_KILL_MS_MAX);
const DRAIN_TIME: Duration = Duration::from_millis(EXEC_DRAIN_MS_MAX);
const ANSWER_TIME: Duration = Duration::from_millis(EXEC_INTERRUPT_ANSWER_MS_MAX);

pub(super) struct Driver {
    child: Child,
    line: UnixStream,
    output: pipe::Receiver,
    deltas: mpsc::Sender<String>,
    interrupt: watch::Receiver<bool>,
    text: Output,
    /// Kept text that no delta has carried yet; never more than what is kept.
    pending: String,
    buffer: Vec<u8>,
    interrupted: bool,
}

impl Driver {
    pub(super) fn new(
        child: Child,
        line: UnixStream,
        output: pipe::Receiver,
        deltas: mpsc::Sender<String>,
        interrupt: watch::Receiver<bool>,
    ) -> Self {
        Self {
            child,
            line,
            output,
            deltas,
            interrupt,
            text: Output::new(EXEC_OUTPUT_BYTES_MAX),
            pending: String::new(),
            buffer: vec![0; EXEC_READ_BYTES],
            interrupted: false,
        }
    }

    pub(super) async fn run(mut self, job: Vec<u8>) -> Outcome {
        let started = Instant::now();
        let supervisor = self.child.id();
        // A supervisor reads its job at once. Where this fails, the line says so next.
        let handed = timeout(ANSWER_TIME, self.line.write_all(&job)).await;
        drop(job);
        let report = match handed {
            Ok(_) => self.drive().await,
            Err(_) => None,
        };
        if report.is_none() {
            self.end_everything().await;
        }
        if timeout(KILL_TIME, self.child.wait()).await.is_err() {
            // It has nothing left to do: its report is here, or it is lost.
            let _ = self.child.start_kill();
        }
        if let Some(supervisor) = supervisor {
            kin::waited_for(supervisor);
        }
        let survivors = survivors(report.as_ref()).await;
        self.drain().await;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.pending.push_str(self.text.end());
        self.flush().await;
        let status = status(report, self.interrupted);
        let (output, truncated, output_bytes) = self.text.into_parts();
        Outcome { status, output, truncated, output_bytes, duration_ms, survivors }
    }

    /// Until the report is here; `None` when the supervisor is lost.
    async fn drive(&mut self) -> Option<Report> {
        let mut answer_by = tokio::time::Instant::now();
        let mut output_open = true;
        let mut written = Vec::new();
        let mut piece = [0; 1024];
        let deltas = self.deltas.clone();
        loop {
            tokio::select! {
                read = self.output.read(&mut self.buffer), if output_open => {
                    output_open = self.take(read);
                }
                read = self.line.read(&mut piece) => {
                    let count = read.unwrap_or_default();
                    written.extend_from_slice(&piece[..count]);
                    if count == 0 || written.len() > EXEC_REPORT_BYTES_MAX || written.ends_with(b"\n") {
                        return serde_json::from_slice(&written).ok();
                    }
                }
                permit = deltas.reserve(), if !self.pending.is_empty() => match permit {
                    Ok(permit) => permit.send(self.next_delta()),
                    Err(_) => self.pending.clear(),
                },
                // An error: whoever could interrupt is gone, and so is the interest.
                _ = self.interrupt.changed(), if !self.interrupted => {
                    self.interrupted = true;
                    answer_by = tokio::time::Instant::now() + ANSWER_TIME;
                    // Where this fails, the read above ends.
                    let _ = self.line.write_all(&[INTERRUPT]).await;
                }
                () = sleep_until(answer_by), if self.interrupted => return None,
            }
        }
    }

    /// Takes what was read; says whether there can be more.
    fn take(&mut self, read: std::io::Result<usize>) -> bool {
        let count = read.unwrap_or_default();
        let text = self.text.push(&self.buffer[..count]);
        if !self.deltas.is_closed() {
            self.pending.push_str(text);
        }
        count > 0
    }

    /// The supervisor is lost, or does not answer: its processes are ended from here.
    async fn end_everything(&mut self) {
        // Not waited for yet, so the number is still its own.
        let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) else {
            return;
        };
        let lost =
            matches!(timeout(DRAIN_TIME, self.line.read(&mut [0; 1])).await, Ok(Ok(0) | Err(_)));
        let end = move || match lost {
            true => end_session(pid, KILL_TIME),
            false => end_supervisor(pid, KILL_TIME),
        };
        // It has no result; where it could not run, the runtime is ending.
        let _ = spawn_blocking(end).await;
    }

    /// Reads what is in the pipe. Its end follows at once, unless the pipe was
    /// handed to a process that is not below the command.
    async fn drain(&mut self) {
        let until = tokio::time::Instant::now() + DRAIN_TIME;
        loop {
            let read = tokio::time::timeout_at(until, self.output.read(&mut self.buffer)).await;
            let Ok(read) = read else { return };
            if !self.take(read) {
                return;
            }
        }
    }

    async fn flush(&mut self) {
        let deltas = self.deltas.clone();
        while !self.pending.is_empty() {
            let Ok(permit) = deltas.reserve().await else { return };
            permit.send(self.next_delta());
        }
    }

    fn next_delta(&mut self) -> String {
        let cut = head(&self.pending, EXEC_DELTA_BYTES_MAX).len();
        self.pending.drain(..cut).collect()
    }
}

/// How many processes could not be ended. What a supervisor had below it when it ended
/// is this host's since then.
async fn survivors(report: Option<&Report>) -> u32 {
    let (told, time) = match report {
        Some(Report { survivors: 0, .. }) => return 0,
        Some(report) => (report.survivors, Duration::ZERO),
        None => (0, KILL_TIME),
    };
    // Where it could not run, the runtime is ending.
    told.max(spawn_blocking(move || kin::end_left(time)).await.unwrap_or_default())
}

fn status(report: Option<Report>, interrupted: bool) -> Status {
    match report {
        Some(Report { error: Some(sentence), .. }) => Status::Failed(sentence),
        Some(Report { interrupted: true, .. }) => Status::Interrupted,
        Some(Report { exit_code: Some(code), .. }) => Status::Exited(code),
        Some(Report { signal: Some(signal), .. }) => Status::Signalled(signal),
        None if interrupted => Status::Interrupted,
        Some(_) | None => {
            Status::Failed("The supervisor of the command ended without a report.".into())
        }
    }
}

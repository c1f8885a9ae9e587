//! The process `placet __exec`: one command, and the end of everything below it.
//!
//! Standard input is the life line (see [`super::job`]), standard output is where
//! the command's output goes, standard error goes nowhere. One thread, nothing
//! asynchronous: it must work when little else does.
//!
//! The life line is a socket and this process is not dumpable, so that the
//! command cannot open the line through `/proc` and hold it open, or write a
//! report of its own.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open,
    set_child_subreaper, set_dumpable_behavior, setsid, wait,
};

use super::command::{close_inherited, spawn};
use super::job::{INTERRUPT, Report, WireJob};
use super::mark;
use super::processes::signal_below;
use crate::limits::{
    EXEC_BACKGROUND_GRACE_MS, EXEC_INTERRUPT_GRACE_MS, EXEC_KILL_MS_MAX, EXEC_REAP_INTERVAL_MS,
};

/// Runs one job from standard input. Called by the binary, before anything else
/// has opened a descriptor or started a thread.
pub fn main() -> ExitCode {
    // Nobody reads a message of ours, and no output is the command's but its own.
    std::panic::set_hook(Box::new(|_| {}));
    match supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise() -> io::Result<()> {
    close_inherited()?;
    let own = getpid();
    // Fails where this is a leader already, which no child of the host is. (What the
    // session was is not asked: seen from a namespace that it is not in, it is zero.)
    setsid()?;
    set_child_subreaper(Some(own))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    mark::set()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let mut line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let job = WireJob::read(&mut line)?;
    line.set_nonblocking(true)?;
    let spawned = match sees_itself(own) {
        true => spawn(job, output),
        false => Err("/proc shows the processes of another namespace, so that what the command \
                      starts could not be ended; mount the proc of this namespace there."
            .into()),
    };
    let report = match spawned {
        Ok(main) => Supervisor::new(main, line.try_clone()?)?.run(),
        Err(sentence) => Report { error: Some(sentence), ..Report::default() },
    };
    let mut text = serde_json::to_vec(&report)?;
    text.push(b'\n');
    line.set_nonblocking(false)?;
    line.write_all(&text)
}

/// Whether `/proc` numbers processes as this one does.
fn sees_itself(own: Pid) -> bool {
    let link = std::fs::read_link("/proc/self");
    link.is_ok_and(|link| link.as_os_str() == own.as_raw_nonzero().to_string().as_str())
}

/// What the life line last said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Quiet,
    Interrupt,
    /// The host is gone.
    Ended,
}

struct Supervisor {
    own: Pid,
    main: Pid,
    main_handle: OwnedFd,
    main_status: Option<WaitStatus>,
    line: UnixStream,
}

impl Supervisor {
    fn new(main: Pid, line: UnixStream) -> io::Result<Self> {
        let main_handle = pidfd_open(main, PidfdFlags::empty())?;
        Ok(Self { own: getpid(), main, main_handle, main_status: None, line })
    }

    fn run(&mut self) -> Report {
        let said = loop {
            // First this: a command that has ended by itself was not interrupted.
            self.reap();
            if self.main_status.is_some() {
                break Line::Quiet;
            }
            let said = self.read_line();
            if said != Line::Quiet {
                break said;
            }
            self.wait(Duration::from_millis(EXEC_REAP_INTERVAL_MS));
        };
        let grace_ms = match said {
            Line::Quiet => EXEC_BACKGROUND_GRACE_MS,
            Line::Interrupt => EXEC_INTERRUPT_GRACE_MS,
            Line::Ended => 0,
        };
        let survivors = self.end_everything(Duration::from_millis(grace_ms));
        Report {
            exit_code: self.main_status.and_then(WaitStatus::exit_status),
            signal: self.main_status.and_then(WaitStatus::terminating_signal),
            interrupted: said != Line::Quiet,
            error: None,
            survivors,
        }
    }

    /// Ends whatever is below; says how many processes it could not end.
    fn end_everything(&mut self, grace: Duration) -> u32 {
        let started = Instant::now();
        if !grace.is_zero() && self.reap() {
            signal_below(self.own, Signal::TERM);
            // A stopped process takes the signal only when it runs again.
            signal_below(self.own, Signal::CONT);
            while started.elapsed() < grace && self.reap() {
                if self.read_line() == Line::Ended {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // A child is ours as long as we have not waited for it, and what loses
        // its parent becomes our child: no child left means nothing left.
        let started = Instant::now();
        while self.reap() {
            let count = signal_below(self.own, Signal::KILL);
            if started.elapsed() >= Duration::from_millis(EXEC_KILL_MS_MAX) {
                return count;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        0
    }

    /// Waits for all that has ended; says whether a child is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.main => self.main_status = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn read_line(&mut self) -> Line {
        let mut bytes = [0; 16];
        match self.line.read(&mut bytes) {
            Ok(0) => Line::Ended,
            Ok(count) if bytes[..count].contains(&INTERRUPT) => Line::Interrupt,
            Ok(_) => Line::Quiet,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Line::Quiet,
                _ => Line::Ended,
            },
        }
    }

    /// Sleeps until the line has something to say, the command has ended, or `time`.
    fn wait(&self, time: Duration) {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut watched =
            [PollFd::new(&self.line, PollFlags::IN), PollFd::new(&self.main_handle, PollFlags::IN)];
        // Whatever it says, the caller looks again.
        let _ = poll(&mut watched, Some(&time));
    }
}

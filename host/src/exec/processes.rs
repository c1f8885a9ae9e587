//! What `/proc` says about processes, and ending those below one of ours.

use std::collections::HashMap;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::shield::HOST_NAME;

/// One process, as its `stat` file had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    session: i32,
    /// In clock ticks since boot: with the pid this names a process for good.
    pub(super) started: u64,
    pub(super) ended: bool,
    /// Whether it has a host's name.
    pub(super) hosts: bool,
}

impl Process {
    /// Whether `now` is this very process, below the same parent.
    pub(super) fn is(self, now: Process) -> bool {
        (self.pid, self.started, self.parent) == (now.pid, now.started, now.parent)
    }
}

/// Parses `pid (name) state parent group session ...`; a name may hold anything.
fn parse_stat(text: &str) -> Option<Process> {
    let pid = text.split(' ').next()?.parse().ok()?;
    let (start, end) = (text.find('(')?, text.rfind(')')?);
    let hosts = text.get(start + 1..end)?.as_bytes() == HOST_NAME.to_bytes();
    let mut fields = text.get(end + 1..)?.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, session, started, ended, hosts })
}

/// A process as it is now; `None` where there is none that can be seen.
pub(super) fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&stat))
}

/// Every process there is; empty where `/proc` cannot be read.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(process)
        .collect()
}

/// The processes below `root`, without it; those nearest to it first.
fn descendants(root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in processes() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: Vec<Process> = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// The children of `parent`.
pub(super) fn children(parent: i32) -> Vec<Process> {
    processes().into_iter().filter(|process| process.parent == parent).collect()
}

/// Ends exactly this process and everything below it, as far as that is possible.
pub(super) fn end(process: Process) {
    for below in descendants(process.pid) {
        send(below, Signal::KILL);
    }
    send(process, Signal::KILL);
}

/// Sends `signal` to exactly this process, not to one that has its pid by now.
fn send(to: Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(to.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if process(to.pid).is_some_and(|now| now.started == to.started) {
        // It may have ended, or belong to someone else: the caller looks again.
        let _ = pidfd_send_signal(handle, signal);
    }
}

/// Sends `signal` to everything below `root` that still runs; says how many.
pub(super) fn signal_below(root: Pid, signal: Signal) -> u32 {
    let mut count = 0;
    for process in descendants(root.as_raw_nonzero().get()) {
        if !process.ended {
            send(process, signal);
            count += 1;
        }
    }
    count
}

/// Ends a supervisor that does not answer, and everything below it. It goes last:
/// while it lives, whatever lost its parent is still found below it.
pub(super) fn end_supervisor(supervisor: Pid, time: Duration) {
    let until = Instant::now() + time;
    while signal_below(supervisor, Signal::KILL) > 0 && Instant::now() < until {
        sleep(Duration::from_millis(5));
    }
    let _ = kill_process(supervisor, Signal::KILL);
    end_session(supervisor, time);
}

/// Ends what is left of the session of a supervisor that is dead (and not yet
/// waited for, so that nothing else can have its number). What had left the
/// session is not found.
pub(super) fn end_session(supervisor: Pid, time: Duration) {
    let session = supervisor.as_raw_nonzero().get();
    let until = Instant::now() + time;
    loop {
        let left: Vec<Process> = processes()
            .into_iter()
            .filter(|one| one.session == session && one.pid != session && !one.ended)
            .collect();
        if left.is_empty() || Instant::now() >= until {
            return;
        }
        for process in left {
            send(process, Signal::KILL);
        }
        sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_is_skipped() {
        let text = "42 (a) Z 1 (x) S 7 42 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 0 0";
        let expected =
            Process { pid: 42, parent: 7, session: 9, started: 98765, ended: false, hosts: false };
        assert_eq!(parse_stat(text), Some(expected));
        let named = text.replace("(a) Z 1 (x)", "(placet-host)");
        assert_eq!(parse_stat(&named), Some(Process { hosts: true, ..expected }));
        assert_eq!(parse_stat("42 (a"), None);
        assert_eq!(parse_stat(""), None);
    }
}

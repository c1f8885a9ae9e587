//! What `/proc` says about processes, and ending those below one of ours.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::SUPERVISOR_ARGUMENT;

/// One process, as its `stat` file had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    /// In clock ticks since boot: with the pid this names a process for good.
    started: u64,
    ended: bool,
}

/// Parses `pid (name) state parent group session ...`; a name may hold anything.
fn parse_stat(text: &str) -> Option<Process> {
    let pid = text.split(' ').next()?.parse().ok()?;
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process { pid, parent, session, started, ended })
}

fn process(pid: i32) -> Option<Process> {
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

/// Whether `pid` is, or descends from, the supervisor of an action of any host:
/// a process with [`SUPERVISOR_ARGUMENT`] for its first argument.
///
/// For the sockets, which refuse such peers. `None` where that cannot be found
/// out; a caller that guards something takes it for yes.
pub fn is_inside_an_action(pid: u32) -> Option<bool> {
    let mut at = i32::try_from(pid).ok()?;
    let mut seen = HashSet::new();
    while at > 1 && seen.insert(at) {
        let arguments = fs::read(format!("/proc/{at}/cmdline")).ok()?;
        if arguments.split(|byte| *byte == 0).nth(1) == Some(SUPERVISOR_ARGUMENT.as_bytes()) {
            return Some(true);
        }
        at = process(at)?.parent;
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_is_skipped() {
        let text = "42 (a) Z 1 (x) S 7 42 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 0 0";
        let expected = Process { pid: 42, parent: 7, session: 9, started: 98765, ended: false };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("42 (a"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn finds_itself_outside_an_action() {
        let own = process(std::process::id().cast_signed());
        assert!(own.is_some_and(|own| own.started > 0 && !own.ended));
        assert_eq!(is_inside_an_action(u32::MAX), None);
    }
}

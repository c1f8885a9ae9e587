//! Looking for processes that should not be there any more.

use super::client::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// A moment before looking again at something that sends no event.
pub fn pause() {
    std::thread::sleep(Duration::from_millis(3));
}

/// Waits until no process carries `mark` on its command line, and until no
/// supervisor is left whose host has ended, but for those of `before`.
pub fn no_survivor(mark: &str, before: &[u32]) {
    let until = Instant::now() + PATIENCE;
    // Those of hosts that other tests end meanwhile are theirs to wait for.
    let mut orphans = orphaned_supervisors();
    orphans.retain(|pid| !before.contains(pid));
    loop {
        let mut left = with(mark);
        left.extend(orphaned_supervisors().into_iter().filter(|pid| orphans.contains(pid)));
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "processes of an ended host live on: {left:?}");
        pause();
    }
}

/// The processes that carry `mark` on their command line.
pub fn with(mark: &str) -> Vec<u32> {
    pids().filter(|pid| command_line(*pid).contains(mark)).collect()
}

/// Ends what a failed check has found, so that it stays behind on no machine.
pub fn end(mark: &str) {
    for pid in with(mark) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Supervisors that were handed to one of our own ancestors: their host has ended.
pub fn orphaned_supervisors() -> Vec<u32> {
    let mut ancestors = Vec::new();
    let mut next = parent(std::process::id());
    while let Some(pid) = next {
        ancestors.push(pid);
        next = parent(pid);
    }
    let orphaned = |pid: &u32| {
        command_line(*pid).ends_with("__exec\0")
            && parent(*pid).is_some_and(|parent| ancestors.contains(&parent))
    };
    pids().filter(orphaned).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc")
        .expect("these tests look for processes in /proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id())
}

/// Empty when the process is gone or waits to be collected.
fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().filter(|parent| *parent > 0)
}

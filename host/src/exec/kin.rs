//! The children of a host: its supervisors, and what was left to it.
//!
//! A host is a child subreaper. A command that kills its own supervisor, and whatever
//! else an action leaves behind, is given to the host, not to the system's first
//! process: it is still found, it is ended, and its end is collected. Only the children
//! that tokio waits for are left to tokio.

use std::collections::BTreeSet;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;

use super::mark::{self, Mark};
use super::processes::{children, end};

struct Kin {
    /// Those that have not been waited for yet.
    supervisors: BTreeSet<i32>,
    /// Whether there may be children that are no supervisors.
    others: bool,
}

/// Held while a child is made, so that none is taken for somebody else's.
static KIN: Mutex<Kin> = Mutex::new(Kin { supervisors: BTreeSet::new(), others: false });

/// Whether this process is a host. In any other program (a test, say) children are
/// nobody's business but their own parent's.
static HOST: AtomicBool = AtomicBool::new(false);

fn kin() -> MutexGuard<'static, Kin> {
    KIN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// From here on what loses its parent below this process becomes its child.
pub(super) fn begin() {
    // A program that became this one by `exec` may have had children.
    kin().others = !children(own()).is_empty();
    HOST.store(true, Ordering::Release);
}

/// Starts a supervisor.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    let mut kin = kin();
    let child = tokio::process::Command::from(command).spawn()?;
    kin.supervisors.extend(child.id().map(u32::cast_signed));
    Ok(child)
}

/// A supervisor was waited for.
pub(super) fn waited_for(supervisor: u32) {
    kin().supervisors.remove(&supervisor.cast_signed());
}

/// Collects children that have ended and ends those that an action left behind; says
/// how many of these were still there.
fn collect() -> u32 {
    let mut left = 0;
    let mut kin = kin();
    kin.others = false;
    for child in children(own()) {
        if kin.supervisors.contains(&child.pid) {
            continue;
        }
        if child.ended {
            let ended = Pid::from_raw(child.pid).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
            kin.others |= matches!(ended, Some(Ok(None)));
            continue;
        }
        kin.others = true;
        // Whoever has no mark was here before, or has privileges that end us all.
        if matches!(mark::of(child.pid), Some(Mark::Present | Mark::Lower)) && is_unmarked() {
            end(child);
            left += 1;
        }
    }
    left
}

/// Where the user has a low limit of their own, marks tell nothing.
fn is_unmarked() -> bool {
    mark::of(own()) == Some(Mark::Absent)
}

/// Ends what lost its supervisor, for at most `time`; says how many could not be ended.
/// Of several actions that lose theirs at once each waits for all.
pub(super) fn end_left(time: Duration) -> u32 {
    if !HOST.load(Ordering::Acquire) {
        return 0;
    }
    let until = Instant::now() + time;
    loop {
        let left = collect();
        if left == 0 || Instant::now() >= until {
            return left;
        }
        sleep(Duration::from_millis(5));
    }
}

/// Collects what is left to this host, as long as it runs.
pub async fn attend() {
    // Without the signal it is collected when the next action loses its supervisor.
    let Ok(mut ended) = signal(SignalKind::child()) else { return };
    while ended.recv().await.is_some() {
        // Looking costs a walk over all processes, and hardly ever is there a reason.
        if HOST.load(Ordering::Acquire) && kin().others {
            let _ = spawn_blocking(collect).await;
        }
    }
}

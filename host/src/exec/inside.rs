//! Whether a process belongs to an action: what may not answer for a person.

use super::SUPERVISOR_ARGUMENT;
use super::mark::{self, Mark};
use super::processes::{Process, process};
use crate::limits::{EXEC_ANCESTORS_MAX, EXEC_WALKS_MAX};
use std::fs;

/// Whether `pid` came out of an action of any host: it carries the mark of one, or it
/// is, or descends from, a supervisor or a process that descends from a host.
///
/// For the sockets, which refuse such peers, and for the verbs that decide. `None`
/// where that cannot be found out; a caller that guards something takes it for yes.
///
/// The mark is enough for whatever has no privileges: it stays when the supervisor
/// was killed, and when the host was. What is above a process tells of the others. A
/// host has no children but supervisors and what lost its supervisor.
pub fn is_inside_an_action(pid: u32) -> Option<bool> {
    let pid = i32::try_from(pid).ok()?;
    let mut walks = (0..EXEC_WALKS_MAX).map(|_| walk(pid));
    match walks.find(|place| *place != Place::Moved) {
        Some(Place::Inside) => Some(true),
        Some(Place::Outside) => Some(false),
        // Who is given a new parent again and again is not believed.
        Some(Place::Unknown | Place::Moved) | None => None,
    }
}

/// Whether this process may be a host: it has no mark, and nothing that can be seen says
/// that it is inside an action. (A host need not be able to see who started it.)
pub fn may_host() -> bool {
    let own = std::process::id();
    mark::of(own.cast_signed()) == Some(Mark::Absent) && is_inside_an_action(own) != Some(true)
}

/// When a process began, in clock ticks since the system did; none where there is none.
pub fn started(pid: u32) -> Option<u64> {
    process(i32::try_from(pid).ok()?).map(|process| process.started)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Outside,
    Unknown,
    /// A process on the way ended or got another parent, so that what was seen may be
    /// about somebody else.
    Moved,
}

fn walk(pid: i32) -> Place {
    let Some(mut at) = process(pid) else { return Place::Unknown };
    for _ in 0..EXEC_ANCESTORS_MAX {
        let found = look(at, pid);
        if found == Place::Inside {
            return Place::Inside;
        }
        let parent = process(at.parent);
        // Only now is it sure that all of this was said of the same process, and that
        // its parent was this one: a number is given again when its process has gone.
        if !process(at.pid).is_some_and(|now| at.is(now)) {
            return Place::Moved;
        }
        if found == Place::Unknown {
            return Place::Unknown;
        }
        match parent {
            // The first process, or what is above is in another namespace.
            None if at.parent <= 0 => return Place::Outside,
            None => return Place::Unknown,
            Some(parent) => at = parent,
        }
    }
    Place::Unknown
}

/// What one process on the way says by itself.
fn look(at: Process, asked: i32) -> Place {
    match mark::of(at.pid) {
        Some(Mark::Present) => return Place::Inside,
        Some(Mark::Absent) => {}
        Some(Mark::Lower) | None => return Place::Unknown,
    }
    if at.hosts && at.pid != asked {
        return Place::Inside;
    }
    let Ok(arguments) = fs::read(format!("/proc/{}/cmdline", at.pid)) else {
        return Place::Unknown;
    };
    match arguments.split(|byte| *byte == 0).nth(1) == Some(SUPERVISOR_ARGUMENT.as_bytes()) {
        true => Place::Inside,
        false => Place::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_itself_outside_an_action() {
        assert_eq!(is_inside_an_action(std::process::id()), Some(false));
        assert_eq!(is_inside_an_action(1), Some(false));
        assert_eq!(is_inside_an_action(u32::MAX), None);
        assert_eq!(is_inside_an_action(i32::MAX.cast_unsigned()), None);
    }
}

//! The mark that everything inside an action carries: a limit that can only fall.
//!
//! A supervisor lowers its own hard limit on file locks. Linux hands that limit on to
//! every child and through every `exec`, and has not looked at it since 2.4, so that
//! nothing behaves differently. Raising it again takes `CAP_SYS_RESOURCE` outside of
//! every user namespace. So the mark tells what came out of an action also when no
//! supervisor is above it any more: who was it is, not who its parent is.

use std::cmp::Ordering;
use std::{fs, io};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A number that nobody means by a limit on locks: `placet`, as bytes.
const MARK: u64 = 0x706c_6163_6574;

/// What a process says by its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Absent,
    Present,
    /// The limit is lower still: by the user's settings, or by a command that wants
    /// its mark to look like something else.
    Lower,
}

/// Marks this process, and whatever it starts from here on.
pub(super) fn set() -> io::Result<()> {
    let now = getrlimit(Resource::Locks).maximum;
    let limit = Some(now.map_or(MARK, |now| now.min(MARK)));
    Ok(setrlimit(Resource::Locks, Rlimit { current: limit, maximum: limit })?)
}

/// The mark of a process; `None` where it cannot be seen.
pub(super) fn of(pid: i32) -> Option<Mark> {
    parse(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

fn parse(limits: &str) -> Option<Mark> {
    let locks = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    let hard = locks.split_ascii_whitespace().nth(1)?;
    if hard == "unlimited" {
        return Some(Mark::Absent);
    }
    Some(match hard.parse::<u64>().ok()?.cmp(&MARK) {
        Ordering::Less => Mark::Lower,
        Ordering::Equal => Mark::Present,
        Ordering::Greater => Mark::Absent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_told_from_its_limit() {
        let check = |hard: &str, expected| {
            let text = format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max locked memory         8388608              8388608              bytes     \n\
                 Max file locks            1                    {hard:<20} locks     \n"
            );
            assert_eq!(parse(&text), expected, "{hard}");
        };
        check("unlimited", Some(Mark::Absent));
        check("123610792682869", Some(Mark::Absent));
        check("123610792682868", Some(Mark::Present));
        check("1024", Some(Mark::Lower));
        check("many", None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_process_outside_has_none() {
        assert_eq!(of(std::process::id().cast_signed()), Some(Mark::Absent));
        assert_eq!(of(i32::MAX), None);
    }
}

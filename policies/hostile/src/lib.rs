//! A component that stands behind a mode's name in tests and misbehaves on purpose.
//!
//! The first word of the first unmatched stage chooses how; about everything
//! else a person is asked, so that a host that uses it is of use afterwards.

use placet_modes::wit::exports::placet::policy::mode::{Answer, Decision, Guest, Summary};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

struct Hostile;

impl Guest for Hostile {
    fn unmatched(summary: Summary) -> Result<Answer, String> {
        let word = summary.unmatched.first().and_then(|stage| stage.first());
        let decision = match word.map_or("", String::as_str) {
            "spin" => spin(),
            "recurse" => recurse(0),
            "allocate" => allocate(),
            "trap" => std::process::abort(),
            "nonsense" => return Err("colourless green ideas sleep furiously".to_owned()),
            "remember" => remember(),
            "permit" => Decision::Allow,
            "lecture" => {
                return Ok(Answer { decision: Decision::Ask, reason: "la ".repeat(1 << 20) });
            }
            "rant" => return Err("no ".repeat(1 << 20)),
            _ => Decision::Ask,
        };
        Ok(Answer { decision, reason: "the hostile component says so".to_owned() })
    }
}

/// Never ends.
fn spin() -> Decision {
    loop {
        black_box(());
    }
}

/// Calls itself without end, and not in a loop that an optimiser could make of it.
fn recurse(depth: u64) -> Decision {
    if black_box(depth) == u64::MAX {
        return Decision::Allow;
    }
    let deeper = recurse(depth.wrapping_add(1));
    black_box(depth);
    deeper
}

/// Wants ever more memory.
fn allocate() -> Decision {
    let mut hoard: Vec<Vec<u8>> = Vec::new();
    loop {
        hoard.push(vec![1; 1024 * 1024]);
        black_box(&hoard);
    }
}

/// Denies the first call of an instance and allows every later one.
fn remember() -> Decision {
    static CALLED: AtomicBool = AtomicBool::new(false);
    if CALLED.swap(true, Ordering::Relaxed) { Decision::Allow } else { Decision::Deny }
}

placet_modes::wit::export!(Hostile with_types_in placet_modes::wit);

//! What a run comes to, as sentences and as cases.

use super::book::Book;
use super::wrong::{Kind, Wrong};
use std::fmt::Write as _;
use std::time::Duration;

/// Acknowledged decisions a second that a run must reach.
const DECISIONS_PER_SECOND_MIN: f64 = 20.0;

/// Part of the kills that must meet a decision on its way.
const IN_FLIGHT_MIN: f64 = 0.3;

/// Kills a minute that a run must reach.
const KILLS_PER_MINUTE_MIN: f64 = 30.0;

/// Kills from which on a run is held to these three: how fast a short one is says more
/// of the machine and what else it does.
const KILLS_HELD_MIN: u64 = 200;

/// Sights of one kind that are shown in full.
const SHOWN: usize = 5;

/// What a run comes to.
#[derive(Debug, Default)]
pub struct Figures {
    /// Where its choices came from.
    pub seed: u64,
    /// From its begin to its last kill, checks included.
    pub took: Duration,
    /// Hosts that were started.
    pub lives: u64,
    /// Hosts that were killed.
    pub kills: u64,
    /// Those that had been sent a decision and had not answered it.
    pub kills_in_flight: u64,
    /// Lives in which no decision was acknowledged.
    pub idle_lives: u64,
    /// Decisions that were acknowledged, replays not counted.
    pub decisions: u64,
    /// Acknowledged decisions that were sent again and answered the same.
    pub replayed: u64,
    /// Requests that were refused as they may be.
    pub refused: u64,
    /// Frames that clients read.
    pub frames: u64,
    /// Records that were read.
    pub records: u64,
    /// Sessions.
    pub sessions: u64,
    /// Approvals that were opened.
    pub approvals: u64,
    /// Those of them that succeed another one.
    pub successors: u64,
    /// Commands whose start is recorded.
    pub starts: u64,
    /// Commands that a kill met at work.
    pub unknown: u64,
    /// Lines that commands wrote.
    pub effects: u64,
    /// What must not be seen.
    pub wrongs: Vec<Wrong>,
    /// Where the home of a failed run lies, and what its hosts said last.
    pub left: Option<String>,
}

impl Figures {
    pub(super) fn new(seed: u64) -> Figures {
        Figures { seed, ..Figures::default() }
    }

    pub(super) fn count(&mut self, book: &Book) {
        self.records = book.records;
        self.sessions = book.names().count() as u64;
        self.approvals = book.approvals.len() as u64;
        let items = || book.items.values();
        let asked = items().filter(|item| !item.approvals.is_empty()).count() as u64;
        self.successors = self.approvals.saturating_sub(asked);
        self.starts = items().filter(|item| item.started.is_some()).count() as u64;
        let unknown = |status: &Option<String>| status.as_deref() == Some("failed");
        self.unknown =
            items().filter(|item| item.started.is_some() && unknown(&item.status)).count() as u64;
    }

    /// The figures and a line for each case, `ok NAME` or `FAILED NAME`; whether all passed.
    pub fn told(&self) -> (String, bool) {
        let seconds = self.took.as_secs_f64().max(0.001);
        let part = self.kills_in_flight as f64 / self.kills.max(1) as f64;
        let rate = self.decisions as f64 / seconds;
        let mut text = String::new();
        let mut passed = true;
        let _ = writeln!(
            text,
            "torture: seed {}, {seconds:.1} s, {} lives of hosts ({} without a decision), \
             {} sessions, {} records, {} frames\n\
             torture: {} approvals, of them {} successors; {} commands started, {} of them met \
             by a kill, {} lines written\n\
             torture: {} acknowledged decisions sent again and answered the same, {} refusals",
            self.seed,
            self.lives,
            self.idle_lives,
            self.sessions,
            self.records,
            self.frames,
            self.approvals,
            self.successors,
            self.starts,
            self.unknown,
            self.effects,
            self.replayed,
            self.refused,
        );
        let mut case = |name: &str, fine: bool, what: String| {
            passed &= fine;
            let word = if fine { "ok" } else { "FAILED" };
            let _ = writeln!(text, "{word} {name}  {what}");
        };
        let often = self.kills as f64 >= KILLS_PER_MINUTE_MIN * seconds / 60.0;
        let short = self.kills < KILLS_HELD_MIN;
        case("kills", self.kills > 0 && (often || short), format!("{}", self.kills));
        let in_flight = format!("{} ({:.0} %)", self.kills_in_flight, part * 100.0);
        case("kills_in_flight", part >= IN_FLIGHT_MIN || short, in_flight);
        case("decisions", self.decisions > 0, format!("{} acknowledged", self.decisions));
        let fast = rate >= DECISIONS_PER_SECOND_MIN || short;
        case("rate", fast, format!("{rate:.0} decisions a second"));
        for kind in Kind::ALL {
            let of_it: Vec<&Wrong> = self.wrongs.iter().filter(|it| it.kind == kind).collect();
            let mut what = of_it.len().to_string();
            for wrong in of_it.iter().take(SHOWN) {
                let _ = write!(what, "\n    {}", wrong.what);
            }
            case(kind.name(), of_it.is_empty(), what);
        }
        if let Some(left) = &self.left {
            let _ = writeln!(text, "torture: PLACET_SEED={} left {left}", self.seed);
        }
        (text, passed)
    }
}

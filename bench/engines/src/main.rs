//! One command of three stages under the same rules in three engines, in one process.
//!
//! Placet reads the command and asks its rules about every stage; the other engines get
//! the stages ready-made, since they know no shell, and one rule more for `grep`, since
//! they know no table of commands that only read. `cargo run --release` prints medians
//! as ratios to Placet with 20 rules.

mod cedar;
mod rego;
mod ours;

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Three stages, of which two are covered by a rule and one only reads.
const COMMAND: &str = "make build && tool7 run --all | grep -c error";

/// The same as words.
const STAGES: [&[&str]; 3] =
    [&["make", "build"], &["tool7", "run", "--all"], &["grep", "-c", "error"]];

/// Rounds that are timed.
const ROUNDS: usize = 2_000;

/// What a rule is about.
enum About {
    /// A command's first two words; the first ends with `*` or not.
    Shell(String, String),
    /// A path; everything of a suffix below it or not.
    File(String),
    Network(String),
    Tool(String),
    Process(String),
    Socket(String),
}

/// A rule, for every engine.
struct Rule {
    denies: bool,
    about: About,
}

/// Rules over six kinds and 200 first words, a tenth with globs, deny rules last.
fn rules(count: usize) -> Vec<Rule> {
    (0..count)
        .map(|at| {
            let word = at % 200;
            let about = match at % 6 {
                _ if at == 0 => About::Shell("make".to_owned(), "build".to_owned()),
                _ if at == 1 => About::Shell("tool7".to_owned(), "run".to_owned()),
                0 | 1 if at % 10 == 0 => About::Shell(format!("word{word}-*"), format!("sub{at}")),
                0 | 1 => About::Shell(format!("word{word}"), format!("sub{at}")),
                2 if at % 10 == 2 => About::File(format!("dir{at}/**/*.rs")),
                2 => About::File(format!("dir{at}/file")),
                3 => About::Network(format!("host{at}.example.org")),
                4 => About::Tool(format!("tool{at}")),
                _ if at % 12 == 5 => About::Process(format!("service{at}")),
                _ => About::Socket(format!("/run/s{at}.sock")),
            };
            Rule { denies: at >= count - count / 10, about }
        })
        .collect()
}

fn main() {
    let mut first = None;
    for count in [20, 1_000] {
        let rules = rules(count);
        let (ours, mut rego, cedar) =
            (ours::Engine::new(&rules), rego::Engine::new(&rules), cedar::Engine::new(&rules));
        assert!(ours.allows() && rego.allows() && cedar.allows(), "all allow the command");
        let base = median(|| ours.allows());
        let first = *first.get_or_insert(base);
        for (name, time) in [
            ("placet", base),
            ("regorus", median(|| rego.allows())),
            ("cedar", median(|| cedar.allows())),
        ] {
            let ratio = time.as_secs_f64() / first.as_secs_f64();
            println!("{count:5} rules  {name:8} {ratio:8.1} times   ({time:?})");
        }
    }
}

fn median(mut verdict: impl FnMut() -> bool) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(verdict());
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

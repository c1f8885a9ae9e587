//! `torture --seconds N [--kills N] [--seed N]`: see `placet_tests::torture`.

use placet_tests::random::Random;
use placet_tests::torture::{Options, run};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: torture [--seconds N] [--kills N] [--seed N]";

fn main() -> ExitCode {
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (text, passed) = run(&options).told();
    print!("{text}");
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options(mut words: impl Iterator<Item = String>) -> Option<Options> {
    let (mut seconds, mut kills, mut seed) = (None, None, Random::seed());
    while let Some(word) = words.next() {
        let number: u64 = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seconds" => seconds = Some(number),
            "--kills" => kills = Some(number),
            "--seed" => seed = number,
            _ => return None,
        }
    }
    // With kills alone the time does not count, with nothing it is the stage's.
    let seconds = seconds.unwrap_or(if kills.is_some() { u64::from(u32::MAX) } else { 30 });
    Some(Options { time: Duration::from_secs(seconds), kills: kills.unwrap_or(u64::MAX), seed })
}

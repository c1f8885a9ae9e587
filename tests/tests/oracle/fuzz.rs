//! The fuzz targets, driven from a seed: what `fuzz/` does without an end.

use placet_tests::oracle::generate::{Generator, mutate, soup};
use placet_tests::random::Random;
use placet_tests::targets;

/// Inputs for each target.
const INPUTS: usize = 20_000;

#[test]
fn any_text_gives_stages() {
    let seed = Random::seed() ^ 0xF0;
    let mut random = Random::new(seed);
    let mut generator = Generator::new(seed);
    for _ in 0..INPUTS {
        let command = match random.below(4) {
            0 => generator.command(),
            1 => mutate(&mut random, &generator.command()),
            2 => soup(&mut random),
            _ => soup(&mut random).repeat(random.below(40)),
        };
        targets::shell_stages(&damaged(&mut random, command.into_bytes()));
    }
}

#[test]
fn any_text_gives_rules() {
    let sample = include_str!("../../../policies/rules/sample.toml");
    let lines: Vec<&str> = sample.lines().filter(|line| !line.is_empty()).collect();
    let rules: Vec<&str> = sample.split("[[rule]]").collect();
    let mut random = Random::new(Random::seed() ^ 0xF1);
    for _ in 0..INPUTS / 10 {
        let mut text = String::new();
        for _ in 0..random.below(6) {
            match random.below(3) {
                0 => text.push_str(random.word(&lines)),
                _ => text.extend(["[[rule]]", rules[random.below(rules.len())]]),
            }
            text.push('\n');
        }
        targets::rule_file(&damaged(&mut random, text.into_bytes()));
    }
}

/// The text with a few bytes changed, taken away, or given twice; half the time as it is.
fn damaged(random: &mut Random, mut text: Vec<u8>) -> Vec<u8> {
    if random.once_in(2) {
        return text;
    }
    for _ in 0..=random.below(4) {
        let at = random.below(text.len().max(1)).min(text.len());
        let end = text.len().min(at + random.below(12));
        match random.below(4) {
            0 => drop(text.drain(at..end)),
            1 => {
                let piece = text[at..end].to_vec();
                text.splice(at..at, piece);
            }
            2 => text.insert(at, u8::try_from(random.below(256)).unwrap_or(0)),
            _ => text.insert(at, *random.pick(b"\"'\\$`(){}[]<>|&;#=\n \t*?!~,.").unwrap_or(&b' ')),
        }
    }
    text
}

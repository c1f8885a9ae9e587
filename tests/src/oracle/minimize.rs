//! Makes a command that shows a finding smaller, as long as it still does.

use super::check::check;
use super::sandbox::Sandbox;

/// Runs that one command may take.
const TRIES_MAX: usize = 600;

/// A shorter command with something uncovered, and what that is.
pub fn minimize(sandbox: &mut Sandbox, command: &str) -> anyhow::Result<(String, String)> {
    let mut smallest: Vec<char> = command.chars().collect();
    let mut ran = String::new();
    let mut tries = 0;
    let mut piece = smallest.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut shorter = false;
        while at < smallest.len() && tries < TRIES_MAX {
            tries += 1;
            let end = smallest.len().min(at + piece);
            let attempt = [&smallest[..at], &smallest[end..]].concat();
            let text: String = attempt.iter().collect();
            match check(sandbox, &text, true)?.uncovered.into_iter().next() {
                Some(finding) => {
                    smallest = attempt;
                    ran = finding.ran;
                    shorter = true;
                }
                None => at = end,
            }
        }
        if tries >= TRIES_MAX || (piece == 1 && !shorter) {
            return Ok((smallest.into_iter().collect(), ran));
        }
        piece = if shorter { piece } else { piece.div_ceil(2) };
    }
}

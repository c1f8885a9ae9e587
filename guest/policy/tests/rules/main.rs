//! The rules: what is read, what matches, and what is said about mistakes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic, also in its helpers"
)]

mod ask;
mod files;
mod findings;
mod hosts;
mod layers;
mod naive;
mod saved;
mod shell;
mod tools;
mod total;
mod vectors;

use ask::verdict;
use placet_policy::rules::{Compiled, Layer, Origin, compile};

/// A layer of the user's.
fn user(text: &str) -> Layer {
    Layer { name: "user.toml".to_owned(), origin: Origin::User, text: text.to_owned() }
}

/// Compiles one file of the user's.
fn compiled(text: &str) -> Compiled {
    compile(&[user(text)])
}

/// The findings of layers, one a line.
fn findings(layers: &[Layer]) -> Vec<String> {
    compile(layers).findings.iter().map(ToString::to_string).collect()
}

/// Rules without any error, and what they say to each subject: `SUBJECT => VERDICT`.
fn check(rules: &str, cases: &[&str]) {
    let compiled = compiled(rules);
    assert_eq!(compiled.set.broken(), None, "{rules}");
    for case in cases {
        let (subject, wanted) = case.rsplit_once(" => ").expect("SUBJECT => VERDICT");
        assert_eq!(verdict(&compiled.set, subject), wanted, "{subject}\n{rules}");
    }
}

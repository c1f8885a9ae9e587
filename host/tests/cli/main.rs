//! The program from outside: its command line, and a host of its own for every case.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod check;
mod components;
mod damage;
mod explain;
mod fences;
mod grants;
mod log;
mod log_delete;
mod log_export;
mod log_redact;
mod pending;
mod protected;
mod quarantine;
mod reliability;
mod requests;
mod run;
mod self_approval;
mod socket;
mod start;
mod usage;
mod wire;

use common::Ended;

/// The program refused to begin: this exit code, one sentence on stderr with these words, nothing on stdout.
fn refused(ended: &Ended, code: i32, words: &[&str]) {
    let Ended { code: actual, out, err } = ended;
    assert_eq!(*actual, code, "{err}");
    assert_eq!(out, "", "nothing on stdout");
    assert_eq!(err.lines().count(), 1, "one sentence: {err}");
    assert!(err.starts_with("placet: "), "{err}");
    for word in words {
        assert!(err.contains(word), "`{word}` in: {err}");
    }
}

/// It did what it should and complains about nothing; what it said.
fn ok(ended: &Ended) -> &str {
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    &ended.out
}

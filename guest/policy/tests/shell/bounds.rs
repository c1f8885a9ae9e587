//! Limits, depth, and arbitrary text: an answer always, in linear time.

use std::time::{Duration, Instant};

use placet_policy::limits::{
    SHELL_COMMAND_BYTES_MAX, SHELL_NESTING_MAX, SHELL_STAGES_MAX, SHELL_WORDS_MAX,
};
use placet_policy::shell::{bare_words, stages, word_paths};
use proptest::prelude::*;

use crate::check_shape;

/// What opens a level, and what closes it.
const BRACKETS: [(&str, &str); 18] = [
    ("$(", ")"),
    ("${", "}"),
    ("(", ")"),
    ("{", "}"),
    ("{ ", "; }"),
    ("[", "]"),
    ("[[ ", " ]]"),
    ("((", "))"),
    ("$((", "))"),
    ("$[", "]"),
    ("`", "`"),
    ("\"$(", ")\""),
    ("\"`", "`\""),
    ("${x:-", "}"),
    ("<(", ")"),
    ("echo $(", ")"),
    ("if ", "; fi"),
    ("$(\"", "\")"),
];

#[test]
fn every_bracket_at_every_depth() {
    for (open, close) in BRACKETS {
        for depth in [10, 100, 1_000, 100_000] {
            let nested = [&open.repeat(depth), "rm", &close.repeat(depth)].concat();
            let unclosed = [&open.repeat(depth), "rm"].concat();
            for command in [nested, unclosed] {
                let start = Instant::now();
                let parsed = check_shape(&command);
                // Braces without a comma and brackets are ordinary text to bash as well,
                // and many round ones are arithmetic.
                let text = ["{", "[", "(", "((", "`", "\"`"].contains(&open);
                assert!(parsed.opaque || text || depth <= SHELL_NESTING_MAX, "{open} {depth}");
                let words = bare_words(&command);
                assert!(words.contains("rm") || words.truncated, "{open} {depth}");
                assert!(!words.truncated || depth == 100_000, "{open} {depth}");
                assert!(start.elapsed() < Duration::from_secs(2), "{open} {depth}");
            }
        }
    }
}

#[test]
fn quotes_and_escapes_at_every_depth() {
    for unit in ["'", "\"", "\\", "\\\n", "'\"", "\"'", "$'", "$\"", "~", "=", "#", "$", "a+="] {
        for depth in [10, 100, 1_000, 100_000] {
            let command = [&unit.repeat(depth), "rm"].concat();
            check_shape(&command);
            bare_words(&command);
        }
    }
}

#[test]
fn limits_are_exact() {
    let fits = |command: &str| !check_shape(command).opaque;
    assert!(fits(&"a".repeat(SHELL_COMMAND_BYTES_MAX)));
    assert!(!fits(&"a".repeat(SHELL_COMMAND_BYTES_MAX + 1)));
    assert!(fits(&"a;".repeat(SHELL_STAGES_MAX)));
    assert!(!fits(&"a;".repeat(SHELL_STAGES_MAX + 1)));
    assert!(fits(&"a ".repeat(SHELL_WORDS_MAX)));
    assert!(!fits(&"a ".repeat(SHELL_WORDS_MAX + 1)));
    assert!(!fits(&">a ".repeat(SHELL_WORDS_MAX + 1)));
    // The command itself is a level.
    let levels = |n: usize| format!("{}ls{}", "$(".repeat(n), ")".repeat(n));
    assert!(fits(&levels(SHELL_NESTING_MAX - 1)));
    assert!(!fits(&levels(SHELL_NESTING_MAX)));
}

/// The longest command that is still read, made of each unit, at most four
/// times as slow as a quarter of it would suggest.
#[test]
fn time_is_linear() {
    let units = [
        "a", "a ", "'a'", "\"a\"", "\\a", "\\\n", "# \n", "\n", "$X", "${X}", "*", "{}", "[]", "é",
        "A=b ", ">a ", "a;", "\"$X\"", "~",
    ];
    let time = |unit: &str, bytes: usize| {
        let command = unit.repeat(bytes / unit.len());
        let rounds = (0..5).map(|_| {
            let start = Instant::now();
            for _ in 0..8 {
                for stage in stages(&command, None).stages {
                    word_paths(&stage);
                }
                bare_words(&command);
            }
            start.elapsed()
        });
        rounds.min().unwrap()
    };
    for unit in units {
        let quarter = time(unit, SHELL_COMMAND_BYTES_MAX / 4);
        let whole = time(unit, SHELL_COMMAND_BYTES_MAX);
        let allowed = quarter * 16 + Duration::from_millis(2);
        assert!(whole < allowed, "{unit:?}: {quarter:?} for a quarter, {whole:?} for all");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(command in any::<String>()) {
        check_shape(&command);
        bare_words(&command);
    }

    #[test]
    fn any_shell_like_text(command in "[a{}()\\[\\]$'\"`\\\\ \n\t;&|<>#=~*?!,.1+-é]{0,40}") {
        for stage in check_shape(&command).stages {
            word_paths(&stage);
        }
        let words = bare_words(&format!("{command} rm {command}"));
        prop_assert!(words.contains("rm"));
    }
}

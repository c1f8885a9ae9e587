//! Bare words: a deny rule must see its word, however the text hides it.

use placet_policy::limits::{SHELL_BARE_BYTES_MAX, SHELL_BARE_WORDS_MAX};
use placet_policy::shell::bare_words;

#[test]
fn rm_is_seen() {
    for command in [
        "rm -rf x",
        r#"echo "$(r\m -rf x)""#,
        "'rm' -rf",
        "\"r\"m x",
        "r''m x",
        "r\\\nm x",
        "a;rm",
        "a|rm",
        "a&&rm",
        "(rm x)",
        "{ rm x; }",
        "`rm`",
        "X=rm",
        "<(rm",
        ">rm",
        "bash -c 'rm x'",
        "bash -c \"a'rm'b\"",
        "$'rm' x",
        "r$'m' x",
        "$(rm",
        "\"rm",
        "{rm,-rf,x}",
        "!rm",
        "${X:-rm} x",
        "${X-rm}",
        "${X:+rm}",
        "${X/#/rm}",
        "${X:-'r'm}",
        "a\nrm\nb",
        "a\u{a0}rm",
        "if rm; then",
    ] {
        let words = bare_words(command);
        assert!(words.contains("rm"), "{command}: {words:?}");
        assert!(!words.truncated, "{command}");
    }
}

#[test]
fn the_two_readings_keep_their_order() {
    let words = bare_words("git 'pu'sh (--force)");
    assert_eq!(words.joined, ["git", "push", "--force"]);
    assert_eq!(words.pieces, ["git", "pu", "sh", "--force"]);
    assert_eq!(bare_words("${X:---force} a:-b").joined, ["X", "--force", "a:-b"]);
    assert_eq!(bare_words("").joined, [""; 0]);
}

#[test]
fn beyond_a_limit_it_says_so() {
    assert!(!bare_words(&"a ".repeat(SHELL_BARE_WORDS_MAX)).truncated);
    let many = bare_words(&"a ".repeat(SHELL_BARE_WORDS_MAX + 1));
    assert!(many.truncated);
    assert_eq!(many.joined.len(), SHELL_BARE_WORDS_MAX);
    assert!(!bare_words(&"a".repeat(SHELL_BARE_BYTES_MAX)).truncated);
    assert!(bare_words(&"a".repeat(SHELL_BARE_BYTES_MAX + 1)).truncated);
}

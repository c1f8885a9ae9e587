//! The words of a stage that could name a path.

use placet_policy::limits::SURVEY_PATHS_MAX;
use placet_policy::shell::{Stage, stages, word_paths};

#[track_caller]
fn check(command: &str, expected: &[&str]) {
    let parsed = stages(command, None);
    let found = word_paths(&parsed.stages[0]);
    let texts = found
        .paths
        .iter()
        .map(|path| if path.write { format!("w:{}", path.text) } else { path.text.clone() });
    assert_eq!(texts.collect::<Vec<_>>(), expected, "command: {command}");
    assert!(!found.truncated);
}

#[test]
fn arguments_and_targets() {
    check("cat a 'b c'", &["a", "b c"]);
    check("./x -v a", &["./x", "a"]);
    check("cat -n - a", &["a"]);
    check("cp --target-directory=/t a", &["/t", "a"]);
    check("cat -- -a", &["-a"]);
    check("dd if=/a of=/b", &["if=/a", "/a", "of=/b", "/b"]);
    check("7z x a.7z -o/tmp", &["x", "a.7z", "/tmp"]);
    check("cat < a > b 2>> c", &["a", "w:b", "w:c"]);
    check("a >&2", &[]);
    check("cat $X a > $Y", &["a"]);
    check("echo \"$(rm x)\"", &[]);
    check("A=/x b", &[]);
}

#[test]
fn beyond_the_limit_it_says_so() {
    let stage = |words| Stage { argv: vec!["a".to_owned(); words], ..Stage::default() };
    assert!(!word_paths(&stage(SURVEY_PATHS_MAX + 1)).truncated);
    let found = word_paths(&stage(SURVEY_PATHS_MAX + 2));
    assert!(found.truncated);
    assert_eq!(found.paths.len(), SURVEY_PATHS_MAX);
}

//! Every text gives a set and findings, always the same, and never a panic.

use crate::ask::{Subject, verdict};
use crate::{findings, user};
use placet_policy::rules::{Effect, Layer, Origin, Severity, compile};
use proptest::prelude::*;

/// A file with every member of the language.
const SAMPLE: &str = include_str!("../../../../policies/rules/sample.toml");

const ORIGINS: [Origin; 5] =
    [Origin::User, Origin::Workspace, Origin::TrustedWorkspace, Origin::Session, Origin::Grants];

/// Compiles a text as every origin, twice, and asks the set.
fn check(text: &str) {
    for origin in ORIGINS {
        let layer = Layer { name: "x".to_owned(), origin, text: text.to_owned() };
        let one = compile(std::slice::from_ref(&layer));
        let other = compile(&[layer]);
        assert_eq!(one.findings, other.findings);
        assert_eq!(format!("{:?}", one.set), format!("{:?}", other.set));
        let errors = one.findings.iter().any(|found| found.severity == Severity::Error);
        assert_eq!(one.set.broken().is_some(), errors);
        let lines = u32::try_from(text.lines().count()).unwrap() + 1;
        for found in &one.findings {
            assert!(found.line >= 1 && found.line <= lines && found.column >= 1, "{found}");
            assert!(!found.message.is_empty() && !found.hint.is_empty(), "{found}");
        }
        for question in [
            "run git push",
            "run $X",
            "read src/a",
            "net example.com 443",
            "tool x/get",
            "proc a",
            "sock a",
        ] {
            let subject = Subject::read(question);
            for effect in Effect::ALL {
                let _ = subject.hit(&one.set, effect);
            }
        }
    }
}

#[test]
fn the_sample_has_no_mistake_and_does_what_it_says() {
    assert_eq!(findings(&[user(SAMPLE)]), [""; 0]);
    let set = compile(&[user(SAMPLE)]).set;
    for (question, wanted) in [
        ("run git status", "allow"),
        ("run git push --force origin", "deny"),
        ("run git push origin", "ask"),
        ("run cargo test -p x", "allow"),
        ("write src/a.rs", "allow"),
        ("read ~/.ssh/id", "deny"),
        ("net docs.rs 443 https", "allow"),
        ("net 169.254.169.254 80 http", "deny"),
        ("tool mcp__github__get_issue", "allow"),
        ("sock /run/docker.sock", "deny"),
    ] {
        assert_eq!(verdict(&set, question), wanted, "{question}");
    }
}

#[test]
fn odd_texts() {
    for text in [
        "",
        "\u{feff}",
        "\0",
        "[[rule]]",
        "rule = []",
        "rule = [1, {}]",
        "[[rule]]\n[[rule.rule]]",
        "a.b.c",
        "\r\n\r",
        "[rule.x]",
    ] {
        check(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_text_of_toml_characters(text in "[\\[\\]{}=.,\"'#\n a-c0-9_*/\\\\-]{0,200}") {
        check(&text);
    }

    #[test]
    fn a_real_file_with_damage(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, "[\\[\\]{}=\",.\n*a-z0-9 ]{0,4}"), 1..4),
    ) {
        let mut text: Vec<char> = SAMPLE.chars().collect();
        for (at, length, with) in cuts {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, with.chars());
        }
        check(&text.into_iter().collect::<String>());
    }

    #[test]
    fn a_real_file_cut_short(at in any::<prop::sample::Index>()) {
        let chars: Vec<char> = SAMPLE.chars().collect();
        check(&chars[..at.index(chars.len())].iter().collect::<String>());
    }

    #[test]
    fn any_value_for_any_member(
        member in prop::sample::select(vec![
            "effect", "id", "message", "examples", "shell", "file", "network", "unix_socket",
            "process", "tool", "server", "kind", "with_flags", "without_flags", "env", "exact",
            "access", "ports", "protocols", "args",
        ]),
        beside in prop::sample::select(vec!["shell = [\"a\"]", "file = \"a\"", "network = \"a.b\"", "tool = \"a\"", ""]),
        value in "(\"[a-z*/.:~\\[\\]{},!?-]{0,12}\"|[0-9]{1,6}|true|1\\.5|\\[\\]|\\[\"[a-z*-]{0,5}\", [0-9]\\]|\\{ a = \\[1\\] \\}|\\[\\[\"-a\"\\]\\]|1979-05-27)",
    ) {
        let effect = if member == "effect" { "" } else { "effect = \"deny\"\n" };
        let beside = if beside.starts_with(member) { "" } else { beside };
        check(&format!("[[rule]]\n{effect}{beside}\n{member} = {value}"));
    }
}

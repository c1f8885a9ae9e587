//! What is said about mistakes: the place, the sentence and what to do.

use crate::{compiled, findings, user};
use placet_policy::rules::Severity;

/// Checks that a file has exactly one finding, which begins like this.
fn check(text: &str, wanted: &str) {
    let found = findings(&[user(text)]);
    let begins =
        matches!(found.as_slice(), [only] if only.starts_with(&format!("user.toml:{wanted}")));
    assert!(begins, "{wanted}\n{found:#?}\n{text}");
}

/// The same for one rule, whose lines are counted from its header.
fn check_rule(members: &str, wanted: &str) {
    check(&format!("[[rule]]\n{members}"), wanted);
}

#[test]
fn toml_that_cannot_be_read_has_its_place() {
    check("[[rule]]\neffect = allow\n", "2:10: error: ");
    check("[[rule]]\neffect = \"allow\"\nshell = [\"a\"\n", "3:13: error: unclosed array");
    check("[[rule\n", "1:7: error: ");
    let deep = format!("a = {}", "[".repeat(100_000));
    check(&deep, "1:13: error: more than 8 brackets");
    let dotted = format!("a{} = 1", ".a".repeat(100_000));
    check(&dotted, "1:34: error: a key has more than 16 dots");
    check(
        &format!("# {}", "x".repeat(256 * 1024)),
        "1:1: error: the file has more than 262144 bytes",
    );
}

#[test]
fn tables_of_the_host_are_left_alone_and_others_are_mistakes() {
    assert_eq!(findings(&[user("[serve]\nx = 1\n[authority]\n[agentos.x]")]), [""; 0]);
    check("[[rules]]\n", "1:3: error: `rules` is not known here; rules are written as `[[rule]]`");
    check("[autority]\n", "1:2: error: `autority` is not known here; did you mean `[authority]`?");
    check(
        "effect = \"deny\"\n",
        "1:1: error: `effect` is not known here; write `[[rule]]` above it",
    );
    check("[rule]\neffect = \"deny\"\nshell = [\"a\"]", "1:1: error: a rule is one of a list");
    check("rule = 3", "1:8: error: `rule` is no table");
}

#[test]
fn a_member_that_is_not_known_is_a_mistake() {
    let rule = "effect = \"deny\"\nshell = [\"rm\"]\n";
    check_rule(
        &format!("{rule}mesage = \"x\""),
        "4:1: error: `mesage` is no member of a rule; did you mean `message`?",
    );
    check_rule(
        &format!("{rule}flags = [\"-f\"]"),
        "4:1: error: `flags` is no member of a rule; a rule has shell",
    );
    check_rule(
        &format!("{rule}ports = [1]"),
        "4:1: error: `ports` belongs to rules with `network`",
    );
    check_rule(
        "effect = \"deny\"\nshel = [\"rm\"]",
        "3:1: error: `shel` is no member of a rule; did you mean `shell`?",
    );
}

#[test]
fn effect_and_subject_must_be_there() {
    check_rule("shell = [\"a\"]", "1:1: error: the rule has no effect");
    check_rule(
        "effect = \"prompt\"\nshell = [\"a\"]",
        "2:10: error: `prompt` is no effect; write `ask`",
    );
    check_rule("effect = 1\nshell = [\"a\"]", "2:10: error: `effect` is a number");
    check_rule("effect = \"ask\"", "1:1: error: the rule says nothing about what it matches");
    check_rule(
        "effect = \"ask\"\nshell = [\"a\"]\nfile = \"b\"",
        "4:1: error: the rule is about several things: shell, file",
    );
}

#[test]
fn a_kind_that_is_not_known_is_a_mistake_and_matches_nothing() {
    for effect in ["allow", "ask", "deny"] {
        let rule = format!("effect = \"{effect}\"\nkind = \"hologram\"");
        check_rule(
            &rule,
            "3:8: error: `hologram` is no kind of action; known are shell, fileAccess",
        );
        assert!(compiled(&format!("[[rule]]\n{rule}")).set.rules().is_empty());
    }
    check_rule(
        "effect = \"ask\"\nkind = \"file\"",
        "3:8: error: `file` is no kind of action; did you mean `fileAccess`?",
    );
    check_rule(
        "effect = \"ask\"\nkind = \"netwrk\"",
        "3:8: error: `netwrk` is no kind of action; did you mean `network`?",
    );
    check_rule("effect = \"ask\"\nkind = \"*\"", "3:8: error: `*` is no kind of action");
}

#[test]
fn a_deny_rule_that_leaves_nothing_is_a_mode() {
    for subject in [
        "network = \"*\"",
        "network = [\"example.com\", \"*\"]",
        "shell = [\"*\"]",
        "shell = [\"**\"]",
        "file = \"/**\"",
        "unix_socket = \"/**\"",
        "process = \"*\"",
        "tool = \"*\"",
        "server = \"*\"",
    ] {
        let found = findings(&[user(&format!("[[rule]]\neffect = \"deny\"\n{subject}"))]);
        assert!(found[0].contains("matches everything"), "{found:?}");
        assert!(found[0].contains("denyUnmatched"), "{found:?}");
        let access = if subject.starts_with("file") { "\naccess = \"both\"" } else { "" };
        for effect in ["allow", "ask"] {
            let text = format!("[[rule]]\neffect = \"{effect}\"\n{subject}{access}");
            assert_eq!(compiled(&text).set.broken(), None, "{text}");
        }
    }
    for narrower in [
        "network = \"*\"\nports = [22]",
        "network = \"*:22\"",
        "network = \"*\"\nprotocols = [\"ftp\"]",
        "shell = [\"*\", \"x\"]",
        "shell = [\"**\"]\nwith_flags = [\"-f\"]",
        "file = \"**\"",
        "kind = \"network\"",
        "tool = \"*\"\nargs.a = 1",
    ] {
        let text = format!("[[rule]]\neffect = \"deny\"\n{narrower}");
        assert_eq!(findings(&[user(&text)]), [""; 0], "{text}");
    }
}

#[test]
fn a_rule_that_can_never_match_is_a_mistake() {
    let rule = |members: &str| format!("effect = \"ask\"\n{members}");
    for (members, wanted) in [
        ("shell = []", "3:9: error: `shell` is an empty list"),
        ("shell = [\"a\", []]", "3:15: error: `shell` is an empty list"),
        ("shell = [\"\"]", "3:1: error: no program has an empty name"),
        (
            "shell = [\"a\"]\nwith_flags = [\"-f\"]\nwithout_flags = [\"-f\"]",
            "3:1: error: `-f` must be given and must not",
        ),
        (
            "shell = [\"a\", \"-f\"]\nwithout_flags = [\"-f\"]",
            "3:1: error: the word `-f` must stand there",
        ),
        (
            "shell = [\"a\"]\nexact = true\nwith_flags = [\"--force\"]",
            "3:1: error: no word can be `--force`",
        ),
        ("shell = [\"a\"]\nwith_flags = []", "4:14: error: `with_flags` is an empty list"),
        ("shell = [\"a\"]\nwith_flags = [\"force\"]", "4:15: error: `force` is no flag"),
        ("network = []", "3:11: error: `network` is an empty list"),
        ("network = \"a.example\"\nports = [0]", "4:10: error: this is no port"),
        ("network = \"a.example\"\nports = [70000]", "4:10: error: this is no port"),
        ("network = \"a.example\"\nports = [\"9-8\"]", "4:10: error: this is no port"),
        ("network = \"a.example\"\nports = []", "4:9: error: `ports` is an empty list"),
        ("network = \"a.example:0\"", "3:11: error: `0` is no port"),
        (
            "network = \"a.example:80\"\nports = [80]",
            "3:11: error: `a.example:80` names a port, and so does",
        ),
        ("process = \"\"", "3:11: error: no process has an empty name"),
        ("tool = \"a\"\nargs = {}", "4:8: error: `args` needs"),
        ("tool = \"a\"\nargs = { b = [] }", "4:14: error: `args` is an empty list"),
        ("tool = \"a\"\nargs = { b = 1.5 }", "4:14: error: an argument is compared with"),
        ("tool = \"a\"\nargs = { \"b..c\" = 1 }", "4:10: error: `b..c` leads to no argument"),
        ("tool = \"mcp__a__b__c\"", "3:8: error: `mcp__a__b__c` does not say clearly which server"),
    ] {
        check_rule(&rule(members), wanted);
    }
}

#[test]
fn a_pattern_that_cannot_be_read_is_a_mistake() {
    let rule = |members: &str| format!("effect = \"ask\"\n{members}");
    for (members, wanted) in [
        (
            "shell = \"git status\"",
            "3:9: error: `shell` is one text; write `shell = [\"git\", \"status\"]`",
        ),
        ("shell = 3", "3:9: error: `shell` is a number"),
        ("shell = [\"a\", 3]", "3:15: error: `shell` is a number"),
        ("file = \"../x\"", "3:8: error: `../x`: the pattern has a part `..`"),
        ("file = \"a/./b\"", "3:8: error: `a/./b`: the pattern has a part `.`"),
        (
            "file = \"src/\"",
            "3:8: error: `src/`: a pattern does not end with a slash; write `src/**`",
        ),
        ("file = \"\"", "3:8: error: ``: the pattern names nothing"),
        ("file = \"/\"", "3:8: error: `/`: the pattern names nothing"),
        ("file = \"a//b\"", "3:8: error: `a//b`: the pattern has an empty part"),
        ("file = \"~x/b\"", "3:8: error: `~x/b`: `~` stands for your home"),
        ("file = \"a**\"", "3:8: error: `a**`: `**` stands beside"),
        ("file = \"a[b\"", "3:8: error: `a[b`: `[` is never closed"),
        ("file = \"a{b\"", "3:8: error: `a{b`: `{` is never closed"),
        ("file = \"a}b\"", "3:8: error: `a}b`: `}` closes nothing"),
        ("file = \"{a,{b,c}}\"", "3:8: error: `{a,{b,c}}`: braces stand inside braces"),
        ("file = \"[z-a]\"", "3:8: error: `[z-a]`: the range `z-a` is empty"),
        ("file = 'a\\'", "3:8: error: `a\\`: a backslash stands at the end"),
        ("file = \"a\"\naccess = \"exec\"", "4:10: error: `exec` is no kind of access"),
        (
            "network = \"https://a.example\"",
            "3:11: error: `https://a.example` is no host; name the host alone",
        ),
        (
            "network = \"a.*.example\"",
            "3:11: error: `a.*.example` is no host; a wildcard stands for whole labels",
        ),
        ("network = \"*example.com\"", "3:11: error: `*example.com` is no host; a wildcard"),
        (
            "network = \"straße.example\"",
            "3:11: error: `straße.example` is no host; write the name's ASCII form",
        ),
        ("network = \"a b\"", "3:11: error: `a b` is no host"),
        (
            "network = \"0x7f.1\"",
            "3:11: error: `0x7f.1` is an odd way to write an address; write `127.0.0.1`",
        ),
        ("network = \"010.0.0.1\"", "3:11: error: `010.0.0.1` is no host"),
        ("network = \"10.0.0.1/8\"", "3:11: error: the address of `10.0.0.1/8` has bits beyond"),
        ("network = \"10.0.0.0/33\"", "3:11: error: `10.0.0.0/33` has no length"),
        ("network = \"a.example\"\nprotocols = [\"a b\"]", "4:14: error: `a b` is no protocol"),
        ("id = \"a b\"\nshell = [\"a\"]", "3:6: error: this cannot be a rule's id"),
    ] {
        check_rule(&rule(members), wanted);
    }
    check_rule(
        "effect = \"allow\"\nfile = \"a\"",
        "3:1: error: the rule does not say which access",
    );
    check_rule(
        "effect = \"allow\"\nnetwork = \"a.example\"\nprotocols = [\"postgres\"]",
        "4:1: error: which ports these protocols use is not known",
    );
    check_rule(
        "effect = \"deny\"\nshell = [\"a\"]\nenv = [\"X\"]",
        "4:1: error: `env` belongs to allow rules",
    );
}

#[test]
fn a_rule_with_a_mistake_still_refuses_and_never_allows() {
    for (effect, kept) in [("deny", 1), ("ask", 1), ("allow", 0)] {
        let text = format!("[[rule]]\neffect = \"{effect}\"\nshell = [\"a\"]\nwhen = \"today\"");
        let compiled = compiled(&text);
        assert!(compiled.set.broken().is_some());
        assert_eq!(compiled.set.rules().len(), kept, "{text}");
    }
}

#[test]
fn ids_are_ordinary_words_used_once() {
    let rule = |id: &str, word: &str| {
        format!("[[rule]]\nid = \"{id}\"\neffect = \"ask\"\nshell = [\"{word}\"]\n")
    };
    let found = compiled(&rule("toString", "a"));
    assert_eq!(found.findings, []);
    assert_eq!(found.set.rule("toString").unwrap().line(), 1);
    assert_eq!(compiled(&rule("__proto__", "a")).findings, []);
    let twice = rule("x", "a") + &rule("x", "b");
    check(&twice, "5:1: error: the id `x` is taken; choose another: user.toml:1 has it");
    let unnamed = compiled("\n\n[[rule]]\neffect = \"ask\"\nshell = [\"a\"]");
    assert_eq!(unnamed.set.rules()[0].id(), "user.toml:3");
}

#[test]
fn rules_that_never_decide_are_told() {
    let rule =
        |effect: &str, subject: &str| format!("[[rule]]\neffect = \"{effect}\"\n{subject}\n");
    let both = |first: (&str, &str), second: (&str, &str)| {
        findings(&[user(&(rule(first.0, first.1) + &rule(second.0, second.1)))])
    };
    let git = "shell = [\"git\"]";
    let push = "shell = [\"git\", \"push\"]";
    let forced = "shell = [\"git\", \"push\"]\nwith_flags = [\"-f\"]";
    for (first, second, line) in [
        (("deny", git), ("allow", push), 4),
        (("allow", push), ("deny", git), 1),
        (("ask", git), ("allow", push), 4),
        (("deny", push), ("deny", forced), 4),
        (("deny", forced), ("deny", push), 1),
        (("deny", git), ("deny", git), 4),
        (("allow", "network = \"*.example.com\""), ("allow", "network = \"a.example.com\""), 4),
        (("deny", "network = \"10.0.0.0/8\""), ("allow", "network = \"10.1.1.1\""), 4),
        (("deny", "file = \"src/**\""), ("ask", "file = \"src/a/*\""), 4),
        (("deny", "tool = \"get_*\""), ("allow", "server = \"x\"\ntool = \"get_a\""), 4),
        (("deny", "shell = [\"git\"]"), ("allow", "shell = [\"/usr/bin/git\"]"), 4),
        (("deny", "shell = [\"/usr/bin/git\"]"), ("deny", "shell = [\"git\", \"a\"]"), 4),
        (("deny", "kind = \"process\""), ("ask", "process = \"x\""), 4),
        (("deny", "unix_socket = \"/run/**\""), ("ask", "unix_socket = \"/run/a\""), 4),
    ] {
        let found = both(first, second);
        let wanted = format!("user.toml:{line}:1: warning: the rule never decides");
        assert!(
            found.len() == 1 && found[0].starts_with(&wanted),
            "{first:?} {second:?} {found:?}"
        );
    }
    for (first, second) in [
        (("allow", git), ("deny", push)),
        (("deny", push), ("allow", git)),
        (("deny", forced), ("allow", push)),
        (("allow", "network = \"*\""), ("deny", "network = \"127.0.0.1:8975\"")),
        (("deny", "network = \"*.example.com\""), ("allow", "network = \"example.com\"")),
        (("deny", "network = \"?.example.com\""), ("allow", "network = \"*.example.com\"")),
        (("deny", "file = \"src/**\"\naccess = \"write\""), ("ask", "file = \"src/a\"")),
        (("deny", "file = \"src/**\""), ("ask", "file = \"/src/a\"")),
        (("ask", "shell = [\"/usr/bin/git\"]"), ("ask", "shell = [\"*/git\"]")),
        (("ask", "shell = [\"*/git\"]"), ("ask", "shell = [\"/usr/bin/git\"]")),
        (("allow", "tool = \"get_*\""), ("allow", "server = \"x\"\ntool = \"get_a\"")),
        (("deny", "message = \"not so\"\nshell = [\"git\", \"push\"]"), ("deny", git)),
    ] {
        assert_eq!(both(first, second), [""; 0], "{first:?} {second:?}");
    }
}

#[test]
fn a_program_that_runs_anything_is_told() {
    for words in [
        "\"bash\"",
        "\"/bin/bash\", \"-c\"",
        "\"env\"",
        "\"sudo\"",
        "[\"ls\", \"python3\"]",
        "\"xargs\", \"-n1\"",
        "\"node\", \"*\"",
    ] {
        let text = format!("[[rule]]\neffect = \"allow\"\nshell = [{words}]");
        check(&text, "1:1: warning: ");
        assert_eq!(compiled(&text).findings[0].severity, Severity::Warning);
    }
    for words in [
        "\"bash\", \"scripts/a.sh\"",
        "\"python3\", \"-m\", \"pytest\"",
        "\"git\"",
        "\"node\", \"--version\"",
    ] {
        let text = format!("[[rule]]\neffect = \"allow\"\nshell = [{words}]");
        assert_eq!(findings(&[user(&text)]), [""; 0]);
    }
    assert_eq!(findings(&[user("[[rule]]\neffect = \"deny\"\nshell = [\"sudo\"]")]), [""; 0]);
}

#[test]
fn examples_are_tried() {
    let good = r#"
        [[rule]]
        effect = "allow"
        shell = ["git", ["status", "log"]]
        examples = { match = ["git status && git log -1", ["git", "log"]], no_match = ["git push", "git status; rm x", "git status $(x)"] }
        [[rule]]
        effect = "deny"
        shell = ["rm"]
        examples = { match = ["a && rm x", "for a in b; do rm $a; done"], no_match = ["echo rm"] }
        [[rule]]
        effect = "allow"
        file = ["src/**", "~/x", "/y"]
        access = "write"
        examples = { match = ["src/a", "~/x", "/y"], no_match = ["src", "x"] }
        [[rule]]
        effect = "allow"
        network = ["*.example.com"]
        examples = { match = ["a.example.com", "http://a.example.com"], no_match = ["a.example.com:9999", "ssh://a.example.com", "[::1]:443"] }
        [[rule]]
        effect = "ask"
        unix_socket = "/run/*"
        examples = { match = ["/run/a"] }
        [[rule]]
        effect = "ask"
        process = "node*"
        examples = { match = ["node"] }
        [[rule]]
        effect = "allow"
        tool = "create"
        server = "x"
        args = { n = [1, 2], s = "a*" }
        examples = { match = [{ tool = "x/create", args = { n = 1, s = "ab" } }], no_match = ["x/create", { tool = "create" }] }
    "#;
    assert_eq!(findings(&[user(good)]), [""; 0]);
    let rule = "effect = \"allow\"\nshell = [\"ls\"]\n";
    check_rule(
        &format!("{rule}examples.match = [\"ls\", \"rm\"]"),
        "4:25: error: this must match and does not",
    );
    check_rule(
        &format!("{rule}examples.no_match = [\n\"ls\"]"),
        "5:1: error: this must not match and does",
    );
    check_rule(
        &format!("{rule}examples.match = [3]"),
        "4:19: error: this is no example for such a rule",
    );
    check_rule(
        &format!("{rule}examples.matches = []"),
        "4:10: error: `matches` is no list of examples",
    );
    check_rule(&format!("{rule}examples = 3"), "4:12: error: `examples` is a number");
    check_rule(&format!("{rule}examples.match = \"ls\""), "4:18: error: examples are a list");
}

#[test]
fn columns_are_characters() {
    check("[[rule]]\neffect = \"ask\"\nshell = [\"ünïcode\", 3]", "3:21: error");
}

#[test]
fn limits_are_told() {
    let many = "[[rule]]\neffect = \"ask\"\nshell = [\"a\"]\n".repeat(4097);
    let found = compiled(&many);
    assert_eq!(found.set.rules().len(), 4096);
    assert!(found.set.broken().unwrap().message.contains("more than 4096 rules"));
    let words = format!("effect = \"ask\"\nshell = [{}]", "\"a\",".repeat(65));
    check_rule(&words, "3:9: error: `shell` has more than 64 entries");
    let long = format!("effect = \"ask\"\nshell = [\"{}\"]", "a".repeat(1025));
    check_rule(&long, "3:10: error: a text of `shell` has more than 1024 bytes");
    let braces = format!("effect = \"ask\"\nfile = \"{}\"", "{a,b}".repeat(7));
    check_rule(
        &braces,
        "3:8: error: `{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}`: the braces give more than 64",
    );
    let mistakes = compiled(&"[[rule]]\n".repeat(300));
    assert_eq!(mistakes.findings.len(), 100);
    assert!(
        mistakes.findings[99].hint.ends_with("(and 500 findings more)"),
        "{:?}",
        mistakes.findings[99]
    );
}

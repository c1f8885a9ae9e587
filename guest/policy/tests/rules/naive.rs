//! The index finds what looking at every rule finds.
//!
//! Each rule is compiled alone and asked alone, which needs no index to be right about
//! others; the set of all of them must name the same rule.

use crate::ask::Subject;
use crate::user;
use placet_policy::rules::{Certainty, Effect, RuleSet, compile};
use proptest::prelude::*;

fn pick(texts: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(texts).prop_map(str::to_owned).boxed()
}

fn program() -> impl Strategy<Value = String> {
    pick(&["git", "g*", "*", "/usr/bin/git", "*/git", "gi*t", "rm", "ls", "/usr/*", "**", "git-*"])
}

fn word() -> impl Strategy<Value = String> {
    pick(&["push", "p*", "*", "**", "-f", "--force", "status", "src/*", "a", "*sh"])
}

fn flag() -> impl Strategy<Value = String> {
    pick(&["-f", "--force", "-rf", "--dry-run"])
}

fn shell() -> impl Strategy<Value = String> {
    let lists = prop::collection::vec(word(), 0..3);
    let flags = (prop::option::of(flag()), prop::option::of(flag()));
    (prop::collection::vec(program(), 1..3), lists, any::<bool>(), flags).prop_map(
        |(programs, words, exact, (with, without))| {
            let programs: Vec<String> =
                programs.iter().filter(|p| *p != "**").map(|p| format!("{p:?}")).collect();
            let first = if programs.is_empty() {
                "\"**\"".to_owned()
            } else {
                format!("[{}]", programs.join(", "))
            };
            let rest: String = words.iter().map(|word| format!(", {word:?}")).collect();
            let with = with.map_or_else(String::new, |flag| format!("\nwith_flags = [{flag:?}]"));
            let without =
                without.map_or_else(String::new, |flag| format!("\nwithout_flags = [{flag:?}]"));
            format!("shell = [{first}{rest}]\nexact = {exact}{with}{without}")
        },
    )
}

fn part() -> impl Strategy<Value = String> {
    pick(&["src", "S*", "**", "a", "?", "[a-c]", "{a,src}", "*", ".ssh"])
}

fn path_pattern() -> impl Strategy<Value = String> {
    (pick(&["", "~/", "/", "/w/", "/u/"]), prop::collection::vec(part(), 1..4))
        .prop_map(|(base, parts)| format!("{base}{}", parts.join("/")))
}

fn host_pattern() -> impl Strategy<Value = String> {
    pick(&[
        "example.com",
        "*.example.com",
        "?.example.com",
        "a.example.com",
        "*.com",
        "*",
        "localhost",
        "127.0.0.1",
        "127.0.0.0/8",
        "10.0.0.0/8",
        "::1",
        "2001:db8::/32",
        "bücher.example",
        "0.0.0.0",
        "0.0.0.0/0",
    ])
}

fn tool_name() -> impl Strategy<Value = String> {
    pick(&["get", "get_*", "*", "list", "mcp__x__get", "x/get"])
}

/// A subject of a rule, with its conditions.
fn subject() -> impl Strategy<Value = String> {
    let access = pick(&["read", "write", "both"]);
    let ports = pick(&["", "\nports = \"any\"", "\nports = [443, 22]", "\nports = [\"1-100\"]"]);
    let protocols = pick(&["", "\nprotocols = [\"https\"]", "\nprotocols = [\"http\", \"ftp\"]"]);
    let server = pick(&["", "\nserver = \"x\"", "\nserver = \"*\"", "\nserver = [\"y*\", \"x\"]"]);
    let args = pick(&["", "\nargs.a = 1", "\nargs.\"b.*\" = \"s*\""]);
    prop_oneof![
        4 => shell(),
        2 => (path_pattern(), access).prop_map(|(path, access)| format!("file = {path:?}\naccess = {access:?}")),
        2 => (host_pattern(), ports, protocols).prop_map(|(host, ports, protocols)| format!("network = {host:?}{ports}{protocols}")),
        1 => path_pattern().prop_map(|path| format!("unix_socket = {path:?}")),
        1 => pick(&["node", "n*", "*", "*e"]).prop_map(|target| format!("process = {target:?}")),
        2 => (tool_name(), server, args).prop_map(|(tool, server, args)| format!("tool = {tool:?}{server}{args}")),
        1 => pick(&["shell", "fileAccess", "network", "unixSocket", "process", "tool"]).prop_map(|kind| format!("kind = {kind:?}")),
    ]
}

fn rule() -> impl Strategy<Value = String> {
    (pick(&["allow", "ask", "deny"]), subject())
        .prop_map(|(effect, subject)| format!("[[rule]]\neffect = {effect:?}\n{subject}\n"))
}

/// What may be asked about.
fn question() -> impl Strategy<Value = String> {
    let word = pick(&[
        "push",
        "-f",
        "--force",
        "-rf",
        "status",
        "$X",
        "src/a",
        "src/../a",
        "a",
        "--dry-run",
        "--",
    ]);
    let program =
        pick(&["git", "/usr/bin/git", "./git", "gist", "rm", "ls", "$X", "git-lfs", "/usr/x"]);
    let name = pick(&["src", "SRC", "a", "b", "x", ".ssh", "S"]);
    let base = pick(&["", "~/", "/", "/u/", "/W/"]);
    let path = (base, prop::collection::vec(name, 1..4))
        .prop_map(|(base, parts)| base + &parts.join("/"))
        .boxed();
    let host = pick(&[
        "example.com",
        "a.example.com",
        "a.b.example.com",
        "EXAMPLE.com.",
        "localhost",
        "127.0.0.1",
        "0x7f.1",
        "127.3.3.3",
        "10.1.1.1",
        "[::1]",
        "2001:db8::5",
        "010.0.0.1",
        "256.1.1.1",
        "xn--bcher-kva.example",
        "ｅ.example",
        "0",
    ]);
    let port = pick(&["", " 443", " 22 ssh", " 443 https", " 80 http", " - https"]);
    let tool = pick(&[
        "get",
        "get_x",
        "mcp__x__get",
        "x/get",
        "y1 get",
        "x list",
        "mcp__x__y__get",
        "other",
    ]);
    let args = pick(&["", " {\"a\":1}", " {\"b\":[\"s\",\"t\"]}", " {\"b\":{\"c\":\"s\"}}"]);
    prop_oneof![
        4 => (program, prop::collection::vec(word.clone(), 0..4)).prop_map(|(program, words)| format!("run {program} {}", words.join(" "))),
        1 => prop::collection::vec(word, 0..4).prop_map(|words| format!("bare git {}", words.join(" "))),
        3 => (pick(&["read", "write", "sock"]), path.clone(), prop::option::of(path), pick(&["", " (i)"]))
            .prop_map(|(verb, typed, canonical, case)| {
                format!("{verb} {typed}{}{case}", canonical.map_or_else(String::new, |to| format!(" -> {to}")))
            }),
        3 => (host, port).prop_map(|(host, port)| format!("net {host}{port}")),
        1 => pick(&["node", "n", "x"]).prop_map(|target| format!("proc {target}")),
        2 => (tool, args).prop_map(|(tool, args)| format!("tool {tool}{args}")),
    ]
}

/// The number of the rule that is named, by asking each rule alone.
fn one_by_one(sets: &[RuleSet], subject: &Subject, effect: Effect) -> Option<(usize, Certainty)> {
    let certainty = |set: &RuleSet| subject.hit(set, effect).map(|hit| hit.certainty);
    let hits = || sets.iter().enumerate().filter_map(|(at, set)| Some((at, certainty(set)?)));
    hits().find(|(_, certainty)| *certainty == Certainty::Certain).or_else(|| hits().next())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_index_names_the_rule_that_looking_at_each_names(
        rules in prop::collection::vec(rule(), 1..24),
        questions in prop::collection::vec(question(), 1..40),
    ) {
        let alone: Vec<(String, RuleSet)> = rules
            .iter()
            .map(|rule| (rule.clone(), compile(&[user(rule)]).set))
            .filter(|(_, set)| set.broken().is_none())
            .collect();
        let text: String = alone.iter().map(|(rule, _)| rule.as_str()).collect();
        let sets: Vec<RuleSet> = alone.into_iter().map(|(_, set)| set).collect();
        let all = compile(&[user(&text)]);
        prop_assert_eq!(all.set.broken(), None);
        prop_assert_eq!(all.set.rules().len(), sets.len());
        for question in questions {
            let subject = Subject::read(&question);
            for effect in Effect::ALL {
                let found = subject.hit(&all.set, effect).map(|hit| {
                    let at = all.set.rules().iter().position(|rule| std::ptr::eq(rule, hit.rule));
                    (at.unwrap(), hit.certainty)
                });
                let wanted = one_by_one(&sets, &subject, effect);
                prop_assert_eq!(found, wanted, "{} {:?}\n{}", question, effect, text);
            }
        }
    }

    /// A rule that is told to be covered by another never matches without it.
    #[test]
    fn what_never_decides_is_covered(
        rules in prop::collection::vec(rule(), 2..10),
        questions in prop::collection::vec(question(), 1..60),
    ) {
        let text: String = rules
            .iter()
            .filter(|rule| compile(&[user(rule)]).set.broken().is_none())
            .map(String::as_str)
            .collect();
        let compiled = compile(&[user(&text)]);
        let dead = compiled.findings.iter().filter(|found| found.message.contains("never decides"));
        for finding in dead {
            let rest: Vec<&str> = text.split("[[rule]]").collect();
            let line = |at: usize| rest[..at].iter().map(|part| part.matches('\n').count()).sum::<usize>() + 1;
            let kept: String = (1..rest.len())
                .filter(|at| line(*at) != finding.line as usize)
                .map(|at| format!("[[rule]]{}", rest[at]))
                .collect();
            let without = compile(&[user(&kept)]).set;
            for question in &questions {
                let subject = Subject::read(question);
                let decides = |set: &RuleSet| {
                    Effect::ALL.into_iter().find(|effect| subject.hit(set, *effect).is_some())
                };
                prop_assert_eq!(decides(&compiled.set), decides(&without), "{} {}\n{}", question, finding, text);
            }
        }
    }

    /// The same words in another order of rules are judged the same.
    #[test]
    fn the_order_in_a_file_never_matters(
        rules in prop::collection::vec(rule(), 1..12),
        questions in prop::collection::vec(question(), 1..20),
    ) {
        let kept: Vec<&String> =
            rules.iter().filter(|rule| compile(&[user(rule)]).set.broken().is_none()).collect();
        let forward: String = kept.iter().map(|rule| rule.as_str()).collect();
        let backward: String = kept.iter().rev().map(|rule| rule.as_str()).collect();
        let (one, other) = (compile(&[user(&forward)]).set, compile(&[user(&backward)]).set);
        for question in questions {
            prop_assert_eq!(
                crate::ask::verdict(&one, &question),
                crate::ask::verdict(&other, &question),
                "{}\n{}", question, forward
            );
        }
    }

    /// A rule that allows never matches because of what is not known.
    #[test]
    fn an_unknown_word_never_adds_what_is_allowed(
        rule in shell(),
        words in prop::collection::vec(pick(&["git", "push", "-f", "$X", "a", "status"]), 1..5),
        filled in prop::collection::vec(pick(&["push", "-f", "--force", "status", "x", "--dry-run"]), 0..3),
    ) {
        let allow = compile(&[user(&format!("[[rule]]\neffect = \"allow\"\n{rule}"))]).set;
        let deny = compile(&[user(&format!("[[rule]]\neffect = \"deny\"\n{rule}"))]).set;
        if allow.broken().is_some() || deny.broken().is_some() { return Ok(()); }
        let known: Vec<String> = words
            .iter()
            .flat_map(|word| if word == "$X" { filled.clone() } else { vec![word.clone()] })
            .collect();
        if known.is_empty() {
            return Ok(());
        }
        let asked = |set: &RuleSet, words: &[String]| crate::ask::verdict(set, &format!("run {}", words.join(" ")));
        if asked(&allow, &words) == "allow" {
            prop_assert_eq!(asked(&allow, &known), "allow", "{:?} {:?}\n{}", words, known, rule);
        }
        match asked(&deny, &words).as_str() {
            "deny" => prop_assert!(asked(&deny, &known).starts_with("deny"), "{words:?} {known:?}\n{rule}"),
            "none" => prop_assert_eq!(asked(&deny, &known), "none", "{:?} {:?}\n{}", words, known, rule),
            _ => {}
        }
        // What allows is always refused by the same words.
        if asked(&allow, &known) == "allow" {
            prop_assert!(asked(&deny, &known).starts_with("deny"), "{known:?}
{rule}");
        }
    }
}

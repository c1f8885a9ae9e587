//! Saved grants as rules.

use crate::ask::verdict;
use crate::user;
use placet_policy::rules::{Layer, Origin, SavedBody, SavedRule, Severity, compile};

fn shell(words: &[&str], root: &str) -> SavedBody {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    SavedBody::Shell { argv, exact: false, root: root.to_owned() }
}

fn network(host: &str, port: Option<u16>, protocol: Option<&str>) -> SavedBody {
    SavedBody::Network { host: host.to_owned(), port, protocol: protocol.map(str::to_owned) }
}

fn tool(name: &str) -> SavedBody {
    SavedBody::Tool { name: name.to_owned(), server: None }
}

fn grants(bodies: &[SavedBody]) -> Layer {
    let line = |(number, body): (usize, &SavedBody)| {
        SavedRule { id: format!("approval-{number}"), rule: body.clone() }.to_grant_text() + "\n"
    };
    let text = bodies.iter().enumerate().map(line).collect();
    Layer { name: "grants".to_owned(), origin: Origin::Grants, text }
}

/// What a saved grant says to each subject.
fn check(body: SavedBody, cases: &[&str]) {
    let compiled = compile(&[grants(std::slice::from_ref(&body))]);
    assert_eq!(compiled.findings, []);
    assert_eq!(compiled.set.rules()[0].id(), "approval-0");
    for case in cases {
        let (subject, wanted) = case.rsplit_once(" => ").unwrap();
        assert_eq!(verdict(&compiled.set, subject), wanted, "{subject} {body:?}");
    }
}

#[test]
fn words_are_a_prefix_in_their_workspace() {
    check(
        shell(&["git", "push", "origin", "main"], "/w"),
        &[
            "run git push origin main => allow",
            "run git push origin main --tags => allow",
            "run git push --force => none",
            "run /usr/bin/git push origin main => none",
            "run A= git push origin main => none",
            "run git push origin $X => none",
        ],
    );
    check(
        shell(&["git", "push", "origin", "main"], "/other"),
        &["run git push origin main => none"],
    );
    check(shell(&["/path/to/tool"], "/w"), &["run /path/to/tool x => allow", "run tool x => none"]);
    check(shell(&["echo", "*"], "/w"), &["run echo * => allow", "run echo x => none"]);
    let exact =
        SavedBody::Shell { argv: vec!["make".to_owned()], exact: true, root: "/w".to_owned() };
    check(exact, &["run make => allow", "run make x => none"]);
}

#[test]
fn a_host_is_granted_as_it_was_shown() {
    check(
        network("a.example", Some(443), Some("https")),
        &[
            "net a.example 443 https => allow",
            "net a.example 443 => none",
            "net a.example 80 https => none",
            "net a.example 443 ssh => none",
            "net a.example - https => none",
        ],
    );
    check(
        network("a.example", None, None),
        &["net a.example 1 => allow", "net a.example => allow", "net a.example 443 https => none"],
    );
    check(network("::1", Some(1), None), &["net [0:0::1] 1 => allow", "net localhost 1 => none"]);
}

#[test]
fn a_tool_is_granted_with_any_arguments() {
    check(
        tool("mcp__github__get"),
        &[r#"tool github/get {"a":1} => allow"#, "tool get => none", "tool evil/get => none"],
    );
    check(tool("get"), &["tool get => allow", "tool evil/get => none"]);
    check(tool("get_*"), &["tool get_* => allow", "tool get_x => none"]);
}

#[test]
fn a_line_is_read_back_as_it_was_written() {
    for body in [
        shell(&["a", "b\"c\n"], "/w"),
        network("a.example", Some(1), Some("https")),
        network("a.example", None, None),
        tool("x"),
    ] {
        let saved = SavedRule { id: "approval".to_owned(), rule: body };
        let text = saved.to_grant_text();
        assert!(!text.contains('\n'));
        assert_eq!(SavedRule::from_grant_text(&text), Ok(saved));
    }
}

#[test]
fn what_cannot_be_a_grant_is_none_and_softens_nothing() {
    for text in [
        "no JSON",
        r#"{"id":"a"}"#,
        r#"{"id":"a","rule":{"kind":"hologram","name":"x"}}"#,
        r#"{"id":"a","rule":{"kind":"tool","name":"x","args":{}}}"#,
        r#"{"id":"a","rule":{"kind":"tool","name":"x"},"more":1}"#,
        r#"{"id":"a","rule":{"kind":"tool","name":"mcp__a__b__c"}}"#,
        r#"{"id":"a","rule":{"kind":"shell","argv":[],"root":"/w"}}"#,
        r#"{"id":"a","rule":{"kind":"network","host":"1.2.3.4.5"}}"#,
        r#"{"id":"a","rule":{"kind":"network","host":"010.0.0.1"}}"#,
    ] {
        assert!(SavedRule::from_grant_text(text).is_err(), "{text}");
        let good = grants(&[tool("get")]).text;
        let layer = Layer { text: format!("{text}\n\n{good}"), ..grants(&[]) };
        let compiled = compile(&[user(""), layer]);
        assert_eq!(compiled.set.rules().len(), 1, "{text}");
        assert_eq!(compiled.set.broken(), None);
        let found = &compiled.findings[0];
        assert_eq!((found.line, found.severity), (1, Severity::Warning), "{text}");
    }
}

#[test]
fn a_preview_says_what_is_covered() {
    for (body, wanted) in [
        (shell(&["git", "push"], "/w"), "allow git push, in /w"),
        (network("a.example", Some(443), Some("https")), "allow a.example, port 443, https"),
        (network("a.example", None, None), "allow a.example, no protocol named"),
        (tool("mcp__x__y"), "allow the tool y of x"),
    ] {
        assert_eq!(body.preview().unwrap(), wanted);
    }
}

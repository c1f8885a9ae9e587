//! Layers: what a workspace may say, and which rule is named.

use crate::ask::verdict;
use crate::user;
use placet_policy::rules::{Effect, Layer, Origin, Words, compile};

fn layer(name: &str, origin: Origin, text: &str) -> Layer {
    Layer { name: name.to_owned(), origin, text: text.to_owned() }
}

/// Whether a workspace's file may say this beside a user's.
fn check(users: &str, workspaces: &str, may: bool) {
    let layers = [user(users), layer("ws.toml", Origin::Workspace, workspaces)];
    let compiled = compile(&layers);
    assert_eq!(
        compiled.set.broken().is_none(),
        may,
        "{users}\n{workspaces}\n{:?}",
        compiled.findings
    );
    if !may {
        let broken = compiled.set.broken().unwrap();
        assert_eq!((broken.layer.as_str(), broken.line), ("ws.toml", 1));
        assert!(broken.hint.contains("`placet trust` this workspace"), "{broken}");
        let kept = compiled.set.rules().iter().all(|rule| rule.file() == "user.toml");
        assert!(kept, "what may not stand is taken out");
    }
    let trusted = [user(users), layer("ws.toml", Origin::TrustedWorkspace, workspaces)];
    assert_eq!(compile(&trusted).set.broken(), None);
}

fn rule(effect: &str, subject: &str) -> String {
    format!("[[rule]]\neffect = \"{effect}\"\n{subject}\n")
}

#[test]
fn a_workspace_only_narrows() {
    let allow = |subject: &str| rule("allow", subject);
    check("", &rule("deny", "shell = [\"a\"]"), true);
    check("", &rule("ask", "network = \"*\""), true);
    check("", &allow("shell = [\"a\"]"), false);
    for (users, workspaces, may) in [
        ("network = \"*.example.com\"", "network = \"api.example.com\"", true),
        ("network = \"api.example.com\"", "network = \"*.example.com\"", false),
        ("network = \"*.example.com\"", "network = \"a.example.com\"\nports = \"any\"", false),
        (
            "network = \"*.example.com\"",
            "network = \"a.example.com\"\nprotocols = [\"https\"]",
            true,
        ),
        (
            "network = \"*.example.com\"",
            "network = \"a.example.com\"\nprotocols = [\"ssh\"]",
            false,
        ),
        ("network = \"*.example.com\"", "network = [\"a.example.com\", \"b.example.org\"]", false),
        ("shell = [\"git\", \"*\"]", "shell = [\"git\", \"status\"]", true),
        ("shell = [\"git\", [\"a\", \"b\"]]", "shell = [\"git\", [\"b\", \"a\"], \"c\"]", true),
        ("shell = [\"git\", [\"a\", \"b\"]]", "shell = [\"git\", [\"a\", \"c\"]]", false),
        ("shell = [\"git\"]\nexact = true", "shell = [\"git\", \"a\"]", false),
        ("shell = [\"git\"]\nwithout_flags = [\"-o\"]", "shell = [\"git\"]", false),
        ("shell = [\"git\"]", "shell = [\"git\"]\nwithout_flags = [\"-o\"]", true),
        ("shell = [\"git\"]", "shell = [\"git\"]\nenv = [\"A\"]", false),
        ("shell = [\"git\"]\nenv = [\"A*\"]", "shell = [\"git\"]\nenv = [\"AB\"]", true),
        ("shell = [\"g*\"]", "shell = [\"g/h\"]", false),
        ("shell = [\"g*\"]", "shell = [\"gh\"]", true),
        ("shell = [\"x\", \"src/*\"]", "shell = [\"x\", \"src/../y\"]", false),
        ("file = \"**\"\naccess = \"both\"", "file = \"src/**\"\naccess = \"write\"", true),
        ("file = \"**\"\naccess = \"read\"", "file = \"src/**\"\naccess = \"write\"", false),
        ("file = \"src/*\"\naccess = \"read\"", "file = \"src/**\"\naccess = \"read\"", false),
        ("file = \"src/**\"\naccess = \"read\"", "file = \"src/*/b\"\naccess = \"read\"", true),
        ("file = \"src/**\"\naccess = \"read\"", "file = \"/src/a\"\naccess = \"read\"", false),
        ("file = \"/**\"\naccess = \"read\"", "file = \"~/a\"\naccess = \"read\"", true),
        ("tool = \"get_*\"", "tool = \"get_a\"", true),
        ("tool = \"get_*\"", "server = \"x\"\ntool = \"get_a\"", false),
        ("server = \"*\"", "server = \"x\"\ntool = \"get_a\"", true),
        ("tool = \"a\"\nargs.x = 1", "tool = \"a\"", false),
        ("tool = \"a\"\nargs.x = [1, 2]", "tool = \"a\"\nargs = { x = 1, y = 2 }", true),
        ("kind = \"shell\"", "shell = [\"a\"]", true),
        ("shell = [\"**\"]", "kind = \"shell\"", false),
        ("process = \"a*\"", "process = \"ab\"", true),
        ("unix_socket = \"/run/*\"", "unix_socket = \"/run/a\"", true),
    ] {
        check(&allow(users), &allow(workspaces), may);
    }
}

#[test]
fn a_user_denies_what_a_workspace_may_not_take_back() {
    let layers = [
        layer("ws.toml", Origin::TrustedWorkspace, &rule("allow", "shell = [\"git\", \"push\"]")),
        user(&rule("deny", "shell = [\"git\"]")),
    ];
    assert_eq!(verdict(&compile(&layers).set, "run git push"), "deny");
}

#[test]
fn the_rule_that_is_named_is_the_users_first_then_by_line() {
    let names = |layers: &[Layer]| {
        let set = compile(layers).set;
        let argv = ["git".to_owned(), "push".to_owned()];
        let words = Words { argv: &argv, unknown: &[], assignments: &[], root: None };
        set.shell(Effect::Ask, &words).map(|hit| hit.rule.id().to_owned())
    };
    let both =
        rule("ask", "shell = [\"git\", \"*\"]") + &rule("ask", "shell = [\"git\", \"push\"]");
    let swapped =
        rule("ask", "shell = [\"git\", \"push\"]") + &rule("ask", "shell = [\"git\", \"*\"]");
    assert_eq!(names(&[user(&both)]).unwrap(), "user.toml:1");
    assert_eq!(names(&[user(&swapped)]).unwrap(), "user.toml:1");
    let ws = layer("ws.toml", Origin::Workspace, &both);
    assert_eq!(names(&[ws.clone(), user(&both)]).unwrap(), "user.toml:1");
    assert_eq!(names(&[user(&both), ws.clone()]).unwrap(), "user.toml:1");
    let session = layer("session", Origin::Session, &both);
    assert_eq!(names(&[ws, session]).unwrap(), "session:1");
}

#[test]
fn the_order_never_changes_a_verdict() {
    let rules = [
        rule("allow", "shell = [\"git\"]"),
        rule("ask", "shell = [\"git\", \"push\"]"),
        rule("deny", "shell = [\"git\", \"push\"]\nwith_flags = [\"--force\"]"),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let text: String = order.iter().map(|at: &usize| rules[*at].as_str()).collect();
        let set = compile(&[user(&text)]).set;
        assert_eq!(verdict(&set, "run git status"), "allow");
        assert_eq!(verdict(&set, "run git push"), "ask");
        assert_eq!(verdict(&set, "run git push --force"), "deny");
    }
}

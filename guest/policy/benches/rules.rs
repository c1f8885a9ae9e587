//! What asking a rule set costs, natively: 20 rules beside 1,000, and reading them.
//!
//! `cargo bench -p placet-policy --bench rules`. Six kinds, 200 first words, a tenth with
//! wildcards, what refuses last.

use placet_policy::rules::{
    Effect, Layer, NetworkSubject, Origin, PathSubject, Places, RuleSet, ToolSubject, Words,
    compile,
};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

/// A rule file: allow rules first, then ask, then deny.
fn file(rules: usize) -> String {
    let mut text = String::new();
    for number in 0..rules {
        let effect = ["allow", "allow", "ask", "deny"][number * 4 / rules];
        let star = if number % 10 == 0 { "*" } else { "" };
        let word = number % 200;
        let subject = match number % 6 {
            0 => {
                format!("file = \"src/d{number}/{star}**\"\naccess = \"both\"").replace("***", "*")
            }
            1 => format!(
                "network = \"{}h{number}.example.com\"",
                if star.is_empty() { "" } else { "*." }
            ),
            2 => format!("tool = \"t{number}{star}\"\nserver = \"s{}\"", number % 20),
            3 => match number % 4 {
                0 => format!("process = \"p{number}{star}\""),
                _ => format!("unix_socket = \"/run/s{number}{star}\""),
            },
            _ => format!(
                "shell = [\"w{word}{star}\", \"sub{number}\"]\nwithout_flags = [\"--output\"]"
            ),
        };
        let _ = writeln!(text, "[[rule]]\neffect = \"{effect}\"\n{subject}");
    }
    text
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Three stages, each asked for all effects.
fn stages(set: &RuleSet, stages: &[Vec<String>]) -> usize {
    let mut hits = 0;
    for argv in stages {
        let words = Words { argv, unknown: &[], assignments: &[], root: None };
        hits += Effect::ALL.iter().filter(|effect| set.shell(**effect, &words).is_some()).count();
    }
    hits
}

/// One action of each other kind, asked for all effects.
fn others(set: &RuleSet) -> usize {
    let places = Places { workspace: Some("/w"), home: Some("/u") };
    let path = PathSubject {
        typed: "/w/src/d6/a/b.rs",
        canonical: "/w/src/d6/a/b.rs",
        write: true,
        places: &places,
        insensitive: false,
    };
    let network =
        NetworkSubject { host: "h7.example.com", port: Some(443), protocol: Some("https") };
    let args = serde_json::json!({"a": 1});
    let tool = ToolSubject { name: "mcp__s8__t8", server: None, args: &args };
    let asked = |effect: Effect| {
        [
            set.path(effect, &path).is_some(),
            set.socket(effect, &path).is_some(),
            set.network(effect, &network).is_some(),
            set.tool(effect, &tool).is_some(),
            set.process(effect, "p1").is_some(),
        ]
    };
    Effect::ALL.into_iter().flat_map(asked).filter(|hit| *hit).count()
}

/// The median of many runs, in nanoseconds.
fn median(mut run: impl FnMut() -> usize) -> u128 {
    let mut taken: Vec<u128> = (0..2001)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..10 {
                black_box(run());
            }
            start.elapsed().as_nanos() / 10
        })
        .collect();
    taken.sort_unstable();
    taken[taken.len() / 2]
}

fn main() {
    let commands = [words("w4 sub4 --long x"), words("w5 sub5 a b c"), words("w10 sub10")];
    let opaque = words("for x in a b w4 sub4 done w77 sub77");
    for rules in [20, 1000, 4000] {
        let text = file(rules);
        let layer = Layer { name: "placet.toml".to_owned(), origin: Origin::User, text };
        let start = Instant::now();
        let compiled = compile(std::slice::from_ref(&layer));
        let read = start.elapsed().as_micros();
        let set = compiled.set;
        if let Some(broken) = set.broken() {
            println!("{broken}");
        }
        println!(
            "{rules} rules, {} bytes: read in {read} us; three stages {} ns, one action of each other \
             kind {} ns, an opaque command {} ns ({} warnings)",
            layer.text.len(),
            median(|| stages(&set, &commands)),
            median(|| others(&set)),
            median(|| usize::from(set.bare(Effect::Deny, &opaque, &opaque).is_some())),
            compiled.findings.len(),
        );
    }
}

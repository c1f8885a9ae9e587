//! What a verdict costs in the component: a command of three stages, parsed and judged
//! with 20 and with 1,000 rules of all kinds. Says something only as a ratio of one run.

#![allow(missing_docs, reason = "criterion's macros make the functions")]

use anyhow::Result;
use criterion::{BenchmarkId, Criterion};
use placet_policy::types::{Facts, Proposal, RuleLayer, RuleOrigin, RuleSet, Supply};
use placet_tests::component::{InComponent, Prepared};
use placet_tests::native::Native;
use placet_tests::script::{Script, shell};
use std::fmt::Write as _;
use std::time::Duration;

/// Three stages of which two are covered by a rule and one only reads.
const COMMAND: &str = "make build && tool7 run --all | grep -c error";

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let mut script = Script::new(Native::new());
    script.run("start promptUnmatched")?;
    script.run("turn one")?;
    let state = script.session.state.clone().unwrap_or_default();
    let action = shell(COMMAND);
    let facts = script.session.world.facts(&mut Native::new(), &action)?;
    let facts = Facts { paths: facts.paths, environment: String::new() };
    let proposal = Proposal { action, facts, last: false };
    let mut component = InComponent::new()?;
    let mut group = criterion.benchmark_group("verdict");
    for count in [20, 1000] {
        let layer = RuleLayer {
            name: "placet.toml".to_owned(),
            origin: RuleOrigin::User,
            text: rules(count)?,
        };
        let set = RuleSet { digest: format!("sha256:{count}"), layers: vec![layer] };
        let mut context = script.session.context.clone();
        context.rules_digest.clone_from(&set.digest);
        // The first call compiles; later ones find the set by its digest and get no text.
        component.call(&Prepared::explain(&state, &context, &proposal, &[Supply::Rules(set)])?)?;
        let prepared = Prepared::explain(&state, &context, &proposal, &[])?;
        group.bench_with_input(BenchmarkId::new("component", count), &prepared, |b, prepared| {
            b.iter(|| component.call(prepared));
        });
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}

/// Rules over six kinds and 200 first words, a tenth with globs, deny rules last.
fn rules(count: usize) -> Result<String> {
    let mut text = String::new();
    for at in 0..count {
        let effect = if at >= count - count / 10 { "deny" } else { "allow" };
        let word = at % 200;
        writeln!(text, "[[rule]]\nid = \"r{at}\"\neffect = \"{effect}\"")?;
        match at % 6 {
            _ if at == 0 => writeln!(text, "shell = [\"make\", \"build\"]")?,
            _ if at == 1 => writeln!(text, "shell = [\"tool7\", \"run\"]")?,
            0 | 1 if at % 10 == 0 => writeln!(text, "shell = [\"word{word}-*\", \"sub{at}\"]")?,
            0 | 1 => writeln!(text, "shell = [\"word{word}\", \"sub{at}\"]")?,
            2 if at % 10 == 2 => writeln!(text, "file = \"dir{at}/**/*.rs\"\naccess = \"write\"")?,
            2 => writeln!(text, "file = \"dir{at}/file\"\naccess = \"write\"")?,
            3 => writeln!(text, "network = \"host{at}.example.org\"")?,
            4 => writeln!(text, "tool = \"tool{at}\"")?,
            _ if at % 12 == 5 => writeln!(text, "process = \"service{at}\"")?,
            _ => writeln!(text, "unix_socket = \"/run/s{at}.sock\"")?,
        }
    }
    Ok(text)
}

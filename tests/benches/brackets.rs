//! How long one command with nested or unclosed brackets takes, natively and in
//! the component: every form is timed, the slowest of each depth is measured.
//! A median over 2 ms fails the bench.

#![allow(missing_docs, reason = "criterion's macros make the functions")]

use anyhow::{Result, ensure};
use criterion::{BenchmarkId, Criterion};
use placet_policy::types::{Facts, Proposal};
use placet_tests::brackets::{Case, LEVELS, cases};
use placet_tests::component::{InComponent, Prepared};
use placet_tests::evaluator::Evaluator as _;
use placet_tests::native::Native;
use placet_tests::script::{Script, shell};
use std::time::{Duration, Instant};

/// What one command may take.
const LIMIT: Duration = Duration::from_millis(2);

/// A form, with its call and how long it took natively and in the component.
struct Timed {
    case: Case,
    proposal: Proposal,
    prepared: Prepared,
    native: Duration,
    component: Duration,
}

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let mut script = Script::new(Native::new());
    script.run("start allowAll")?;
    script.run("turn one")?;
    script.session.rules.push(placet_tests::rules::toml("no-rm deny shell rm")?);
    let state = script.session.state.clone().unwrap_or_default();
    let rules = [script.session.supplied_rules()];
    let context = script.session.context.clone();
    let (mut native, mut component) = (Native::new(), InComponent::new()?);
    let mut over = Vec::new();
    for levels in LEVELS {
        let mut timed = Vec::new();
        for case in cases(levels, "rm -rf x") {
            let facts = Facts { paths: Vec::new(), environment: String::new() };
            let proposal = Proposal { action: shell(&case.command), facts, last: false };
            let prepared = Prepared::explain(&state, &context, &proposal, &rules)?;
            let in_component = median(|| component.call(&prepared))?;
            let here = median(|| native.explain(&state, &context, &proposal, &rules).map(drop))?;
            timed.push(Timed { case, proposal, prepared, native: here, component: in_component });
        }
        for slow in timed.iter().filter(|timed| timed.native.max(timed.component) > LIMIT) {
            over.push(format!(
                "{} × {levels}, {} bytes: native {:?}, component {:?}",
                slow.case.form,
                slow.case.command.len(),
                slow.native,
                slow.component
            ));
        }
        let mut group = criterion.benchmark_group(format!("brackets/{levels}"));
        if let Some(slowest) = timed.iter().max_by_key(|timed| timed.native) {
            let id = BenchmarkId::new("native", slowest.case.form);
            group.bench_with_input(id, &slowest.proposal, |b, proposal| {
                b.iter(|| native.explain(&state, &context, proposal, &rules).map(drop));
            });
        }
        if let Some(slowest) = timed.iter().max_by_key(|timed| timed.component) {
            let id = BenchmarkId::new("component", slowest.case.form);
            group.bench_with_input(id, &slowest.prepared, |b, prepared| {
                b.iter(|| component.call(prepared));
            });
        }
        group.finish();
    }
    criterion.final_summary();
    ensure!(over.is_empty(), "over {LIMIT:?}:\n{}", over.join("\n"));
    Ok(())
}

/// The median of a few calls, after one that does not count.
fn median(mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    call()?;
    let mut times = Vec::new();
    for _ in 0..9 {
        let begun = Instant::now();
        call()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(4).copied().unwrap_or_default())
}

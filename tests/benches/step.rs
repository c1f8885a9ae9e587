//! One step in the component, and natively beside it, with 1 and with 32 open
//! approvals in the state: a decide that is refused, and one that rejects.

#![allow(missing_docs, reason = "criterion's macros make the functions")]

use anyhow::{Result, anyhow, ensure};
use criterion::{BenchmarkId, Criterion};
use placet_policy::types::{Decide, Input, Reply, Requirement, Supply};
use placet_tests::component::{InComponent, Prepared};
use placet_tests::evaluator::Evaluator as _;
use placet_tests::native::Native;
use placet_tests::script::Script;
use placet_tests::session::{Session, caller};
use std::time::Duration;

const OPEN: [usize; 2] = [1, 32];

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let mut component = InComponent::new()?;
    let mut native = Native::new();
    for open in OPEN {
        let mut session = session(open)?;
        for (name, stage, choice) in [("refused", 7, "abort"), ("rejected", 0, "abort")] {
            let input = decide(&mut session, stage, choice)?;
            let supplied = supplied(&session, open)?;
            let state = session.state.clone();
            let context = session.context.clone();
            let reply = component.step(state.as_deref(), &context, &input, &supplied)?;
            ensure!(matches!(reply, Reply::Refused(_)) == (name == "refused"), "{reply:?}");

            let prepared = Prepared::step(state.as_deref(), &context, &input, &supplied)?;
            let mut group = criterion.benchmark_group(format!("step/{name}"));
            group.bench_with_input(BenchmarkId::new("component", open), &prepared, |b, call| {
                b.iter(|| component.call(call));
            });
            group.bench_with_input(BenchmarkId::new("native", open), &input, |b, input| {
                b.iter(|| native.step(state.as_deref(), &context, input, &supplied));
            });
            group.finish();
        }
    }
    criterion.final_summary();
    Ok(())
}

/// A session with so many approvals open.
fn session(open: usize) -> Result<Session<Native>> {
    let mut script = Script::new(Native::new());
    script.run("start promptUnmatched")?;
    script.run("turn one")?;
    for index in 0..open {
        script.run(&format!("propose i{index} : touch a{index}; ls; touch b{index}"))?;
    }
    ensure!(script.session.ledger().pending.len() == open);
    Ok(script.session)
}

/// A decide on the approval that was opened last.
fn decide(session: &mut Session<Native>, stage: u32, choice: &str) -> Result<Input> {
    let (approval, _) = session.ledger().pending.last().cloned().ok_or_else(|| anyhow!("none"))?;
    Ok(Input::Decide(Decide {
        command: session.command(),
        caller: caller("allowAll"),
        approval_id: approval.clone(),
        requirement: Requirement { approval_id: approval, source_index: stage },
        choice_id: choice.to_owned(),
        feedback: false,
    }))
}

/// The opening record and the proposal before it: what a decide needs.
fn supplied(session: &Session<Native>, open: usize) -> Result<Vec<Supply>> {
    ensure!(session.log.len() >= 2 && open > 0);
    let last = session.log.iter().rev().take(2);
    Ok(last.map(|record| Supply::Record(record.clone())).collect())
}

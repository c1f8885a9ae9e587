//! Erasing bodies of a session's log, as a host does: recorded, then taken out.

use crate::evaluator::Evaluator;
use crate::session::{SESSION, Session};
use anyhow::{Result, anyhow, bail, ensure};
use placet_policy::types::{Erasure, Input, Logged, Redaction, Refusal, Reply};
use std::collections::BTreeSet;

fn said<T>(answer: Result<T, Refusal>) -> Result<T> {
    answer.map_err(|refusal| anyhow!("refused: {refusal:?}"))
}

/// Which of the wanted bodies can be erased.
pub fn erasable<E: Evaluator>(session: &mut Session<E>, wanted: &[u64]) -> Result<Erasure> {
    said(session.evaluator.erasable(&session.log, wanted)?)
}

/// A copy of the log in which these bodies are erased, with the record of it, and
/// the state that it must fold to.
pub fn erased<E: Evaluator>(
    session: &mut Session<E>,
    sequences: &[u64],
) -> Result<(Vec<Logged>, Vec<u8>)> {
    let redaction = Redaction { client: "tests".to_owned(), sequences: sequences.to_vec() };
    let input = Input::Redact(redaction);
    let state = session.state.as_deref();
    let reply = session.evaluator.step(state, &session.context, &input, &[])?;
    let Reply::Done(outcome) = reply else { bail!("{reply:?}") };
    ensure!(outcome.events.is_empty() && outcome.effects.is_empty() && outcome.ack.is_none());
    ensure!(outcome.records.len() == 1, "a redaction does nothing else: {:?}", outcome.records);
    let mut log = session.log.clone();
    log.extend(outcome.records);
    for record in &mut log {
        if sequences.contains(&record.header.sequence) {
            record.body = None;
        }
    }
    Ok((log, outcome.state))
}

/// Whatever can be erased of the session is erased, all at once and, where `each`
/// says so, one closure at a time: the state stays, byte for byte, and every record
/// can be shown or passed over.
pub fn changes_nothing<E: Evaluator>(session: &mut Session<E>, each: bool) -> Result<()> {
    if session.log.is_empty() {
        return Ok(());
    }
    let every: Vec<u64> = session.log.iter().map(|record| record.header.sequence).collect();
    let all = erasable(session, &every)?;
    let mut closures = BTreeSet::from([all.sequences.clone()]);
    for sequence in every.iter().filter(|_| each) {
        let one = erasable(session, &[*sequence])?;
        let is_kept = all.kept.iter().any(|kept| kept.sequence == *sequence);
        ensure!(is_kept == one.sequences.is_empty(), "record {sequence}: {one:?} in {all:?}");
        ensure!(is_kept || one.sequences.contains(sequence), "record {sequence}: {one:?}");
        ensure!(one.sequences.iter().all(|member| all.sequences.contains(member)));
        closures.insert(one.sequences);
    }
    for closure in closures.iter().filter(|closure| !closure.is_empty()) {
        let (log, state) = erased(session, closure)?;
        let folded = said(session.evaluator.fold(None, &log)?)?;
        ensure!(folded == state, "the state is another one without {closure:?}");
        for record in &log {
            let event = said(session.evaluator.render(SESSION, record)?)?;
            ensure!(record.body.is_some() || event.is_none(), "an erased record is shown");
        }
        let again = said(session.evaluator.erasable(&log, closure)?)?;
        ensure!(again.sequences.is_empty() && again.kept.is_empty(), "done again: {again:?}");
    }
    Ok(())
}

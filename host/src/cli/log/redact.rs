//! `placet log redact`: bodies of ended records, erased, and a record of it.
//!
//! The policy component says which bodies may go and what must go together; here
//! is only who is asked for and what is said. A text is looked for in everything,
//! so that what still holds it is told of.

use super::out::Out;
use super::pattern::holds;
use super::{each_record, folder, from_outside, known, reader, verify};
use crate::cli::{EXIT_CONFIGURATION, EXIT_FAILED, EXIT_USAGE, Failure, host};
use crate::engine::types::Erasure;
use crate::log::{Lease, Log as _, SqliteLog};
use crate::sessions::{Fault, Hub};
use std::sync::Arc;

/// Who erases, in the record of it.
const CLIENT: &str = "placet log redact";

/// Which bodies of a session.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Redact {
    /// The session
    session: String,
    /// The records, by the number that `placet log show` prints
    #[arg(value_name = "SEQ", required_unless_present = "pattern", conflicts_with = "pattern")]
    sequences: Vec<u64>,
    /// Every record whose body holds this text; `-` reads it from stdin, so that no shell keeps it
    #[arg(long, value_name = "TEXT")]
    pattern: Option<String>,
    /// Say what would be erased, and erase nothing
    #[arg(long)]
    dry_run: bool,
}

/// Where a text was found.
#[derive(Default)]
struct Found {
    bodies: Vec<u64>,
    headers: Vec<u64>,
}

impl Redact {
    pub(super) async fn run(self) -> Result<(), Failure> {
        if !self.dry_run {
            from_outside()?;
        }
        let text = self.pattern.as_deref().map(text).transpose()?;
        let session = self.session.as_str();
        let reader = reader()?;
        known(&reader, session).await?;
        let (log, lease) = if self.dry_run {
            (reader, None)
        } else {
            let log = SqliteLog::open(&folder()?)?;
            let lease = log.lease(session).await?;
            (log, Some(lease))
        };
        // A log that is not as it was written decides nothing.
        verify::verified(&log, session).await?;
        let hub = host::reader(&folder()?, Arc::clone(&log))?;
        let found = match &text {
            Some(text) => search(&log, session, text).await?,
            None => Found { bodies: self.sequences.clone(), ..Found::default() },
        };
        let erasure = hub
            .erasable(session, found.bodies.clone())
            .await
            .map_err(|fault| unreadable(session, &fault))?;
        if text.is_none() && !erasure.kept.is_empty() {
            return Err(refusal(&erasure));
        }
        let mut done = None;
        if let Some(lease) = lease {
            if !erasure.sequences.is_empty() {
                done = Some(erase(&hub, &lease, &erasure.sequences).await?);
            }
            log.release(lease).await?;
        }
        report(session, &erasure, &found, done, text.is_some())
    }
}

/// The text to look for: what was said, or a line of stdin.
fn text(given: &str) -> Result<String, Failure> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().read_line(&mut text).map_err(|error| {
            Failure::new(EXIT_FAILED, format!("no text can be read from stdin: {error}"))
        })?;
        let end = text.trim_end_matches(['\r', '\n']).len();
        text.truncate(end);
    }
    if text.is_empty() {
        return Err(Failure::new(
            EXIT_USAGE,
            "the text to look for is empty: every record holds it",
        ));
    }
    Ok(text)
}

async fn search(log: &SqliteLog, session: &str, text: &str) -> Result<Found, Failure> {
    let mut found = Found::default();
    each_record(log, session, u64::MAX, |record| {
        if record.body.as_ref().is_some_and(|body| holds(body, text)) {
            found.bodies.push(record.header.sequence);
        }
        if holds(&record.header_bytes, text) {
            found.headers.push(record.header.sequence);
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

async fn erase(hub: &Hub, lease: &Lease, sequences: &[u64]) -> Result<u64, Failure> {
    hub.erase(lease, sequences, CLIENT).await.map_err(|fault| {
        Failure::new(EXIT_FAILED, format!("{}; run it again to finish", fault.sentence()))
    })
}

fn unreadable(session: &str, fault: &Fault) -> Failure {
    Failure::new(
        EXIT_CONFIGURATION,
        format!(
            "nothing of {session} was erased, it cannot be read: {}; `placet log delete` removes it",
            fault.sentence()
        ),
    )
}

/// Records that were named and cannot go: then nothing does.
fn refusal(erasure: &Erasure) -> Failure {
    let kept: Vec<String> = erasure
        .kept
        .iter()
        .map(|kept| format!("record {} stays: {}", kept.sequence, kept.why))
        .collect();
    Failure::new(EXIT_FAILED, format!("nothing was erased; {}", kept.join("; ")))
}

/// Says what was erased and what was not; a failure while something still holds the text.
fn report(
    session: &str,
    erasure: &Erasure,
    found: &Found,
    done: Option<u64>,
    searched: bool,
) -> Result<(), Failure> {
    let mut out = Out::new();
    let which = ranges(&erasure.sequences);
    let count = erasure.sequences.len();
    match done {
        _ if count == 0 => out.line(&format!("{session}: no body to erase"))?,
        Some(record) => out.line(&format!(
            "{session}: erased the bodies of {count} records ({which}); record {record} says so"
        ))?,
        None => {
            out.line(&format!("{session}: would erase the bodies of {count} records ({which})"))?
        }
    }
    for kept in &erasure.kept {
        out.line(&format!("record {} stays: {}", kept.sequence, kept.why))?;
    }
    if !found.headers.is_empty() {
        let which = ranges(&found.headers);
        out.line(&format!("the text stands in headers too, which stay: records {which}"))?;
    }
    out.finish()?;
    let left = erasure.kept.len().saturating_add(found.headers.len());
    if searched && left > 0 {
        let message = format!(
            "{left} places of {session} still hold the text; \
             `placet log delete {session}` removes the whole session"
        );
        return Err(Failure::new(EXIT_FAILED, message));
    }
    Ok(())
}

/// `3-5, 9` for ascending numbers.
fn ranges(numbers: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_told_in_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[1, 2, 3, 5, 9, 10]), "1-3, 5, 9-10");
        assert_eq!(ranges(&[u64::MAX]), u64::MAX.to_string());
    }
}

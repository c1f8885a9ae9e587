//! `placet log verify`: whether the records are as they were written.

use super::out::Out;
use super::{known, reader};
use crate::cli::{EXIT_CONFIGURATION, Failure};
use crate::hex::hex;
use crate::log::{Log as _, SqliteLog};

/// One session.
pub(super) async fn one(session: &str) -> Result<(), Failure> {
    let log = reader()?;
    known(&log, session).await?;
    let mut out = Out::new();
    out.line(&verified(&log, session).await?)?;
    out.finish()
}

/// Every session; those that are not intact are told of on stderr.
pub(super) async fn all() -> Result<(), Failure> {
    let log = reader()?;
    let mut broken = 0_usize;
    let sessions = log.sessions().await?;
    let mut out = Out::new();
    for row in &sessions {
        match verified(&log, &row.session).await {
            Ok(line) => out.line(&line)?,
            Err(failure) => {
                eprintln!("placet: {}", failure.message);
                broken = broken.saturating_add(1);
            }
        }
    }
    if broken == 0 {
        if let Some(why) = log.damage().await? {
            out.finish()?;
            let why = why.lines().collect::<Vec<_>>().join(" ");
            let message = format!(
                "every record is intact, the file beside them is damaged: {why}; keep a copy of \
                 the home and restore one from before"
            );
            return Err(Failure::new(EXIT_CONFIGURATION, message));
        }
        out.line(&format!("{} sessions, all intact", sessions.len()))?;
        return out.finish();
    }
    out.finish()?;
    let message = format!("{broken} of {} sessions are not intact", sessions.len());
    Err(Failure::new(EXIT_CONFIGURATION, message))
}

/// What is said of a session that is intact, or why it is not.
pub(super) async fn verified(log: &SqliteLog, session: &str) -> Result<String, Failure> {
    match log.verify(session).await? {
        Ok(verified) => Ok(format!(
            "{session}: intact, {} records, {} erased, chain {}",
            verified.records,
            verified.erased,
            hex(&verified.chain)
        )),
        Err(fault) => Err(Failure::new(
            EXIT_CONFIGURATION,
            format!("{session} is not as it was written: {fault}; restore it from a copy"),
        )),
    }
}

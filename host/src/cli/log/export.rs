//! `placet log export`: a session's records with their chain, for whoever checks them elsewhere.
//!
//! docs/log-export.md is the contract. Headers and bodies go out as the bytes
//! that were hashed, each as one JSON string; nothing is encoded again.

use super::out::Out;
use super::{each_record, known, reader, verify};
use crate::cli::{EXIT_FAILED, Failure};
use crate::hex::hex;
use crate::log::{Log as _, Stored};
use serde_json::{Value, json};

/// The form of the lines, in the first of them.
const FORMAT: u32 = 1;

pub(super) async fn export(session: &str, redact: bool) -> Result<(), Failure> {
    let log = reader()?;
    known(&log, session).await?;
    // A log that goes on meanwhile is exported up to here.
    let head = log.head(session).await?;
    let mut out = Out::new();
    let first = json!({
        "placetLogExport": FORMAT, "session": session, "records": head.sequence,
        "chain": hex(&head.chain), "redacted": redact,
    });
    out.line(&first.to_string())?;
    let mut last = None;
    each_record(&log, session, head.sequence, |record| {
        last = Some(record.chain);
        out.line(&line(record, redact)?.to_string())
    })
    .await?;
    out.finish()?;
    if last.is_some_and(|chain| chain != head.chain) || (last.is_none() && head.sequence > 0) {
        return Err(Failure::new(
            EXIT_FAILED,
            format!("{session} was changed while it was read; export it again"),
        ));
    }
    // What is broken is written all the same: somebody may need what is left of it.
    verify::verified(&log, session).await.map(drop)
}

fn line(record: &Stored, redact: bool) -> Result<Value, Failure> {
    let sequence = record.header.sequence;
    let header = str::from_utf8(&record.header_bytes)
        .map_err(|error| Failure::new(EXIT_FAILED, format!("header {sequence}: {error}")))?;
    let kept = record.salt.as_ref().zip(record.body.as_ref()).filter(|_| !redact);
    let text = kept.and_then(|(_, body)| str::from_utf8(body).ok());
    let line = json!({
        "sequence": sequence, "header": header, "bodyHash": hex(&record.body_hash),
        "salt": kept.map(|(salt, _)| hex(salt)), "body": text, "chain": hex(&record.chain),
    });
    Ok(match (line, kept) {
        // JSON has no place for bytes that are no text; no guest writes such a body.
        (Value::Object(mut line), Some((_, body))) if text.is_none() => {
            line.insert("bodyHex".to_owned(), json!(hex(body)));
            Value::Object(line)
        }
        (line, _) => line,
    })
}

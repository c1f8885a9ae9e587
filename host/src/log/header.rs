//! What a record is: a header that the host reads and a body that it does not.
//!
//! A header is encoded once, when it is appended. Those bytes are stored, hashed
//! and exported; nothing ever encodes them again, so a later version of this
//! struct cannot change what an old record hashes to.

use serde::{Deserialize, Serialize};

use super::chain::{self, Digest, Salt};
use crate::limits::BATCH_BYTES_MAX;

/// All that the host reads of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Position in the session, dense from 1.
    pub sequence: u64,
    /// Time of the decision, in milliseconds since 1970.
    pub time_ms: u64,
    /// What the record is, for display; the host decides nothing by it.
    pub kind: String,
    /// Number of the body's format.
    pub format: u32,
    /// Digest of the policy component.
    pub component: String,
    /// Digest of the rules, empty when there are none.
    pub rules: String,
    /// Digest of the mode component, empty when there is none.
    pub mode: String,
    /// Number of the evaluator's logic.
    pub logic: u32,
    /// What the host has to know about the record.
    pub marks: Vec<Mark>,
}

/// What a record means to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mark", rename_all = "camelCase")]
pub enum Mark {
    /// An approval is pending from here on.
    Opens {
        /// The approval's id.
        approval: String,
    },
    /// The approval is no longer pending.
    Closes {
        /// The approval's id.
        approval: String,
    },
    /// A command was taken; this is its entry in the idempotency ledger.
    Command {
        /// Where the id is unique.
        scope: String,
        /// The id that the client chose.
        id: String,
        /// Keyed digest of the command's payload.
        payload: String,
        /// The acknowledgement, JSON text, sent again for a replay.
        ack: String,
    },
    /// An execution begins; durable before its first effect.
    Starts {
        /// The execution's id.
        execution: String,
    },
    /// The execution has ended.
    Ends {
        /// The execution's id.
        execution: String,
    },
    /// The record has a view event.
    View,
}

/// A record that is to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The header; its sequence follows the head of the session.
    pub header: Header,
    /// The body, written by the guest; never empty.
    pub body: Vec<u8>,
}

/// A record as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The header, read from `header_bytes`.
    pub header: Header,
    /// The header as it was encoded when it was appended.
    pub header_bytes: Vec<u8>,
    /// The body, `None` when it was erased.
    pub body: Option<Vec<u8>>,
    /// The salt of the body's hash, `None` when the body was erased.
    pub salt: Option<Salt>,
    /// Hash of salt and body; it stays when the body is erased.
    pub body_hash: Digest,
    /// The chain up to and including this record.
    pub chain: Digest,
}

/// A record as an engine keeps it, before anything in it is believed.
#[derive(Clone, Debug)]
pub(super) struct Raw {
    pub(super) sequence: u64,
    pub(super) header: Vec<u8>,
    pub(super) salt: Option<Vec<u8>>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) body_hash: Vec<u8>,
    pub(super) chain: Vec<u8>,
}

impl Raw {
    /// The record with its fields read, or why that is not possible.
    pub(super) fn read(self) -> Result<Stored, String> {
        let header = read_header(&self.header, self.sequence)?;
        let salt = match self.salt {
            None => None,
            Some(salt) => Some(salt.try_into().map_err(|_| "its salt has a wrong length")?),
        };
        Ok(Stored {
            header,
            header_bytes: self.header,
            body: self.body,
            salt,
            body_hash: self.body_hash.try_into().map_err(|_| "its body hash has a wrong length")?,
            chain: self.chain.try_into().map_err(|_| "its chain value has a wrong length")?,
        })
    }
}

/// Reads the header that is stored under `sequence`.
pub(super) fn read_header(bytes: &[u8], sequence: u64) -> Result<Header, String> {
    let header: Header = serde_json::from_slice(bytes)
        .map_err(|error| format!("its header is unreadable: {error}"))?;
    if header.sequence != sequence {
        return Err(format!("its header says that it is record {}", header.sequence));
    }
    Ok(header)
}

/// A draft with everything computed that does not depend on the head.
pub(super) struct Encoded {
    pub(super) header: Header,
    pub(super) header_bytes: Vec<u8>,
    pub(super) salt: Salt,
    pub(super) body_hash: Digest,
    pub(super) body: Vec<u8>,
}

/// Checks a batch for itself and encodes it. An `Err` says why it is refused.
pub(super) fn encode_batch(batch: Vec<Draft>) -> Result<(Vec<Encoded>, usize), String> {
    if batch.is_empty() {
        return Err("the batch is empty: an append needs at least one record".to_owned());
    }
    let mut bytes = 0_usize;
    let mut previous: Option<u64> = None;
    let mut encoded = Vec::with_capacity(batch.len());
    for Draft { header, body } in batch {
        let sequence = header.sequence;
        if previous.is_some_and(|previous| previous.checked_add(1) != Some(sequence)) {
            return Err(format!(
                "record {sequence} does not follow the one before it in the batch"
            ));
        }
        previous = Some(sequence);
        if body.is_empty() {
            return Err(format!("record {sequence} has no body"));
        }
        let header_bytes = serde_json::to_vec(&header).map_err(|error| {
            format!("the header of record {sequence} cannot be encoded: {error}")
        })?;
        bytes = bytes.saturating_add(header_bytes.len()).saturating_add(body.len());
        if bytes > BATCH_BYTES_MAX {
            return Err(format!(
                "the batch is larger than {BATCH_BYTES_MAX} bytes: split the work into smaller steps"
            ));
        }
        let salt = chain::fresh_salt()?;
        let body_hash = chain::body_hash(&salt, &body);
        encoded.push(Encoded { header, header_bytes, salt, body_hash, body });
    }
    Ok((encoded, bytes))
}

/// Says why a batch does not follow `head`, if it does not.
pub(super) fn check_follows(head: u64, batch: &[Encoded]) -> Result<(), String> {
    match batch.first() {
        Some(first) if head.checked_add(1) == Some(first.header.sequence) => Ok(()),
        Some(first) => Err(format!(
            "record {} does not follow the head, which is {head}: sequences are dense",
            first.header.sequence
        )),
        None => Err("the batch is empty".to_owned()),
    }
}

//! The hash chain that makes a log tamper-evident, and the walk that checks it.
//!
//! With SHA-256, `‖` for concatenation, and domains that end in a zero byte:
//!
//! ```text
//! chain(0)     = H("placet.log.start.1\0" ‖ session id)
//! body hash(n) = H(salt(n) ‖ body(n))                       salt: 16 random bytes
//! chain(n)     = H("placet.log.record.1\0" ‖ chain(n-1)
//!                  ‖ length of header(n), 8 bytes, big endian ‖ header(n) ‖ body hash(n))
//! ```
//!
//! Erasing a body drops it together with its salt and keeps its hash: the chain
//! still verifies, and a short body cannot be guessed from what is left.

use sha2::{Digest as _, Sha256};

use super::header::{self, Raw};
use super::store::{Verified, VerifyFault};

/// A SHA-256 value.
pub type Digest = [u8; 32];
/// What is hashed in front of a body.
pub type Salt = [u8; 16];

const START: &[u8] = b"placet.log.start.1\0";
const RECORD: &[u8] = b"placet.log.record.1\0";

/// The chain of a session without records.
#[must_use]
pub fn start(session: &str) -> Digest {
    Sha256::new().chain_update(START).chain_update(session.as_bytes()).finalize().into()
}

/// The hash of a body under its salt.
#[must_use]
pub fn body_hash(salt: &Salt, body: &[u8]) -> Digest {
    Sha256::new().chain_update(salt).chain_update(body).finalize().into()
}

/// The chain after one more record.
#[must_use]
pub fn next(previous: &Digest, header: &[u8], body_hash: &Digest) -> Digest {
    Sha256::new()
        .chain_update(RECORD)
        .chain_update(previous)
        .chain_update((header.len() as u64).to_be_bytes())
        .chain_update(header)
        .chain_update(body_hash)
        .finalize()
        .into()
}

/// A salt from the system's random source.
pub(super) fn fresh_salt() -> Result<Salt, String> {
    let mut salt = Salt::default();
    getrandom::fill(&mut salt)
        .map_err(|error| format!("the system gave no random bytes for a salt: {error}"))?;
    Ok(salt)
}

/// Checks the records of one session, given in order.
pub(super) struct Walk {
    chain: Digest,
    records: u64,
    erased: u64,
}

impl Walk {
    pub(super) fn new(session: &str) -> Self {
        Self { chain: start(session), records: 0, erased: 0 }
    }

    /// Which record comes next.
    pub(super) fn expected(&self) -> u64 {
        self.records.saturating_add(1)
    }

    /// Takes the next record.
    pub(super) fn step(&mut self, raw: &Raw) -> Result<(), VerifyFault> {
        let expected = self.expected();
        let fault = |why: &str| Err(VerifyFault { sequence: expected, why: why.to_owned() });
        if raw.sequence != expected {
            return fault(&format!("it is missing; the next record is {}", raw.sequence));
        }
        let Ok(body_hash) = Digest::try_from(raw.body_hash.as_slice()) else {
            return fault("its body hash has a wrong length");
        };
        if next(&self.chain, &raw.header, &body_hash).as_slice() != raw.chain.as_slice() {
            return fault("its header, body hash or chain value was changed after it was written");
        }
        match (&raw.salt, &raw.body) {
            (None, None) => self.erased += 1,
            (Some(salt), Some(body)) => {
                let Ok(salt) = Salt::try_from(salt.as_slice()) else {
                    return fault("its salt has a wrong length");
                };
                if self::body_hash(&salt, body) != body_hash {
                    return fault("its body was changed after it was written");
                }
            }
            (None, Some(_)) => return fault("it has a body without a salt"),
            (Some(_), None) => return fault("its body is gone but it was not erased"),
        }
        if let Err(why) = header::read_header(&raw.header, expected) {
            return fault(&why);
        }
        self.chain = next(&self.chain, &raw.header, &body_hash);
        self.records = expected;
        Ok(())
    }

    /// Compares the end of the walk with the head that the session has.
    pub(super) fn finish(self, sequence: u64, chain: &[u8]) -> Result<Verified, VerifyFault> {
        if self.records < sequence {
            let missing = self.records.saturating_add(1);
            let why = format!("it is missing; the session has {sequence} records");
            return Err(VerifyFault { sequence: missing, why });
        }
        if self.records > sequence {
            let why = format!("it lies behind the head of the session, which is {sequence}");
            return Err(VerifyFault { sequence: sequence.saturating_add(1), why });
        }
        if self.chain.as_slice() != chain {
            let why = "the session's head names another chain value".to_owned();
            return Err(VerifyFault { sequence, why });
        }
        Ok(Verified { records: self.records, erased: self.erased, chain: self.chain })
    }
}

//! Identities: fresh ones from the host's random bytes, derived ones from durable facts only.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The name under which a successor's id is derived from its predecessor's.
const SUCCESSOR: &[u8] = b"placet/successor";

/// The same for the approval of an item that had waited.
const JUDGED: &[u8] = b"placet/judged";

/// The `n`th fresh id of a step: a UUIDv7 of the step's time, its random part hashed from the entropy.
pub(crate) fn fresh(now_ms: u64, entropy: &[u8], n: u32) -> String {
    let hash = Sha256::new().chain_update(entropy).chain_update(n.to_be_bytes()).finalize();
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(hash.get(..16).unwrap_or(&[0; 16]));
    for (to, from) in bytes.iter_mut().zip(now_ms.to_be_bytes().iter().skip(2)) {
        *to = *from;
    }
    uuid::Builder::from_bytes(bytes)
        .with_variant(uuid::Variant::RFC4122)
        .with_version(uuid::Version::SortRand)
        .into_uuid()
        .to_string()
}

/// The id under which a pending approval is asked again after a restart.
///
/// A function of the old id only, so that a recovery that is itself cut short
/// and done again opens the same successor and not a second one.
pub(crate) fn successor(approval: &str) -> String {
    derived(approval, SUCCESSOR)
}

/// The id of the approval of an item that had waited for its turn to be asked about.
///
/// A function of the item only, as a successor's is of its predecessor.
pub(crate) fn judged(item: &str) -> String {
    derived(item, JUDGED)
}

/// The id of a record, as clients see it in a `sourceRange`.
pub(crate) fn record(session: &str, sequence: u64) -> String {
    derived(session, format!("placet/record/{sequence}").as_bytes())
}

fn derived(namespace: &str, name: &[u8]) -> String {
    let namespace = Uuid::parse_str(namespace)
        .unwrap_or_else(|_| Uuid::new_v5(&Uuid::NAMESPACE_OID, namespace.as_bytes()));
    Uuid::new_v5(&namespace, name).to_string()
}

/// SHA-256 of length-prefixed parts, as `sha256:` and hexadecimal digits.
pub(crate) fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

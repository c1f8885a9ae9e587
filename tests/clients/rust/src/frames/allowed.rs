//! What the SDK's types do not know and our host may send all the same, each with its reason.
//!
//! Three kinds of names: `type METHOD (KIND)` for a frame without a type,
//! `member PATH` for a member that the type drops, `word WORD` for a value that
//! an open enumeration keeps as unknown. Everything else fails the run.

const ALLOWED: &[(&str, &str)] = &[];

/// Why a name is permitted; none if it is not.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    ALLOWED.iter().find(|(allowed, _)| *allowed == name).map(|(_, reason)| *reason)
}

//! What the SDK's types do not know and our host sends all the same, each with its reason.
//!
//! Three kinds of names: `type METHOD (KIND)` for a frame without a type,
//! `member PATH` for a member that the type drops, `word WORD` for a value that
//! an open enumeration keeps as unknown. Everything else fails the run, and so
//! does a name that nothing needs any more.

const ALLOWED: &[(&str, &str)] = &[
    (
        "member session/list.sessions[].quarantined",
        "a session whose records do not verify cannot be loaded; the schema has no member for that, \
         and one more is permitted",
    ),
    (
        "word outcomeUnknown",
        "error.kind of turn/completed is an open enumeration without a word for a host that died \
         while a command ran; every word that it has would claim to know what went wrong",
    ),
];

/// Why a name is permitted; none if it is not.
pub(crate) fn reason(name: &str) -> Option<&'static str> {
    ALLOWED.iter().find(|(allowed, _)| *allowed == name).map(|(_, reason)| *reason)
}

/// Every permitted name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALLOWED.iter().map(|(name, _)| *name)
}

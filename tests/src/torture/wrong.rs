//! What must never be seen.

/// A promise that was broken, by what is counted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A decision that was acknowledged, or told as made, and is not in the log as it was told.
    Lost,
    /// An approval that ended twice, or two decisions that were both taken for one question.
    DoubleTerminal,
    /// An approval with two successors, with a successor that does not follow from it, or
    /// asked again although it was answered.
    DuplicateSuccessor,
    /// A command that began twice, or again with an answer from before a restart.
    DoubleStart,
    /// A command that began without an answer that lets it, or without a record.
    Unasked,
    /// An approval that was asked, not answered, and after a restart neither pending nor succeeded.
    PendingLost,
    /// Something else that was told and is not in the log, or an answer that nobody expects.
    Untrue,
    /// A record that is not as it was written, or that marks and words tell differently.
    Record,
    /// A host that ended by itself, or could not begin.
    Ended,
    /// Work that does not come to an end although the host lives.
    Unfinished,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 10] = [
        Kind::Lost,
        Kind::DoubleTerminal,
        Kind::DuplicateSuccessor,
        Kind::DoubleStart,
        Kind::Unasked,
        Kind::PendingLost,
        Kind::Untrue,
        Kind::Record,
        Kind::Ended,
        Kind::Unfinished,
    ];

    /// The name of the case that holds it at none.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lost => "lost",
            Kind::DoubleTerminal => "double_terminals",
            Kind::DuplicateSuccessor => "duplicate_successors",
            Kind::DoubleStart => "double_starts",
            Kind::Unasked => "unasked_starts",
            Kind::PendingLost => "pending_lost",
            Kind::Untrue => "untrue",
            Kind::Record => "records",
            Kind::Ended => "hosts_ended",
            Kind::Unfinished => "unfinished",
        }
    }
}

/// One such sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What was broken.
    pub kind: Kind,
    /// What was seen.
    pub what: String,
}

impl Wrong {
    pub(super) fn new(kind: Kind, what: impl Into<String>) -> Wrong {
        Wrong { kind, what: what.into() }
    }
}

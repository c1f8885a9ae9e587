//! What can go wrong with a log, in sentences for the person who reads them.

use thiserror::Error;

/// Why an operation of the log did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// No such session.
    #[error("session {session} is not in this log: list the sessions, or start a new one")]
    NotFound {
        /// The session that was asked for.
        session: String,
    },
    /// The id is taken.
    #[error("session {session} exists already: load it, or choose another id")]
    SessionExists {
        /// The session that was to be created.
        session: String,
    },
    /// Another live host holds the session.
    #[error(
        "session {session} is in use by host {holder}, which is running: use that host, or end it"
    )]
    InUse {
        /// The session that was asked for.
        session: String,
        /// The host that holds it.
        holder: String,
    },
    /// This host holds the session.
    #[error("session {session} is held by this host already: use the lease that it has")]
    AlreadyHeld {
        /// The session that was asked for.
        session: String,
    },
    /// The lease is no longer this host's.
    #[error("the lease of session {session} was lost to another host: load the session again")]
    LeaseLost {
        /// The session whose lease it was.
        session: String,
    },
    /// The log holds something that it cannot have written.
    #[error(
        "{what} is damaged: {why}: restore it from a copy; `placet log verify` says what is intact"
    )]
    Corrupt {
        /// The session, record or file.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file is not a log; it was not touched.
    #[error(
        "{path} is not a placet log: {why}: move it away, or set PLACET_HOME to another folder"
    )]
    NotALog {
        /// The file.
        path: String,
        /// How that shows.
        why: String,
    },
    /// A newer placet wrote the file; it was not touched.
    #[error("{path} has log format {found}, this placet knows up to {known}: use a newer placet")]
    Newer {
        /// The file.
        path: String,
        /// The format that was found.
        found: i64,
        /// The newest format that is known here.
        known: i64,
    },
    /// The file has to be migrated, which a reader does not do.
    #[error("{path} has log format {found}, not yet {known}: start a placet that writes it once")]
    Older {
        /// The file.
        path: String,
        /// The format that was found.
        found: i64,
        /// The format that is needed.
        known: i64,
    },
    /// The home is on a network file system.
    #[error(
        "{path} is on a network file system ({kind}), where file locks cannot be trusted: \
         set PLACET_HOME to a folder on a local disk"
    )]
    NetworkFileSystem {
        /// The home.
        path: String,
        /// The kind of file system.
        kind: String,
    },
    /// The home cannot be used as it is.
    #[error("{path} cannot be opened: {why}")]
    CannotOpen {
        /// The folder or file.
        path: String,
        /// Why, and what to do.
        why: String,
    },
    /// Another connection did not let go in time.
    #[error("the log is busy: {why}: try again")]
    Busy {
        /// What SQLite said.
        why: String,
    },
    /// Reading or writing failed; nothing was changed.
    #[error("the log could not be used: {why}: check the disk and try again")]
    Io {
        /// What the system said.
        why: String,
    },
    /// The log was opened for reading.
    #[error("the log was opened for reading only: nothing is written through it")]
    ReadOnly,
    /// A change may or may not have been written.
    #[error("whether the log was written is not known: {why}: read the session again")]
    Unknown {
        /// What failed.
        why: String,
    },
    /// The log is no longer running.
    #[error("the log has stopped: restart placet")]
    Stopped,
}

impl LogError {
    /// The exit status of a command that ends with this error: 3 for a
    /// configuration that cannot work, 4 for a lease that cannot be had, else 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Corrupt { .. }
            | Self::NotALog { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::NetworkFileSystem { .. }
            | Self::CannotOpen { .. } => 3,
            Self::InUse { .. } | Self::AlreadyHeld { .. } | Self::LeaseLost { .. } => 4,
            Self::NotFound { .. }
            | Self::SessionExists { .. }
            | Self::Busy { .. }
            | Self::Io { .. }
            | Self::ReadOnly
            | Self::Unknown { .. }
            | Self::Stopped => 1,
        }
    }

    pub(super) fn not_found(session: &str) -> Self {
        Self::NotFound { session: session.to_owned() }
    }

    pub(super) fn lease_lost(session: &str) -> Self {
        Self::LeaseLost { session: session.to_owned() }
    }

    pub(super) fn corrupt_record(session: &str, sequence: u64, why: impl Into<String>) -> Self {
        Self::Corrupt { what: format!("record {sequence} of session {session}"), why: why.into() }
    }
}

//! `placet log`: looking at the durable log, and taking out of it what must not stay.

mod delete;
mod export;
mod out;
mod pattern;
mod redact;
mod show;
mod verify;

use super::{EXIT_CONFIGURATION, EXIT_USAGE, Failure, runtime};
use crate::home::Home;
use crate::limits;
use crate::log::{Log as _, SqliteLog, Stored};
use std::path::PathBuf;

/// Look at the durable log, export it, erase or delete from it.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Log {
    /// List the sessions, or print the records of one
    #[command(after_help = "Examples:\n  placet log show\n  placet log show SESSION --bodies")]
    Show {
        /// The session; all are listed when it is absent
        session: Option<String>,
        /// Print the bodies too, as they are stored
        #[arg(long)]
        bodies: bool,
    },
    /// Check the chain of one session, or of all
    #[command(after_help = "Examples:\n  placet log verify\n  placet log verify SESSION")]
    Verify {
        /// The session; all are checked when it is absent
        session: Option<String>,
    },
    /// Write the records of a session with their chain to stdout, one JSON object a line
    #[command(after_help = EXPORT)]
    Export {
        /// The session
        session: String,
        /// Leave out every body: headers, body digests and chain can still be checked
        #[arg(long)]
        redact: bool,
    },
    /// Erase the bodies of ended records, and leave a record of it
    #[command(after_help = REDACT)]
    Redact(redact::Redact),
    /// Delete a session with everything that belongs to it
    #[command(after_help = DELETE)]
    Delete {
        /// The session
        session: String,
        /// Ask nobody; needed where no terminal is there to ask at
        #[arg(long)]
        yes: bool,
    },
}

const EXPORT: &str = "\
Examples:
  placet log export SESSION > session.ndjson
  placet log export SESSION --redact > session.ndjson

docs/log-export.md has the form of the lines and a short program that checks them offline.";

const REDACT: &str = "\
Examples:
  placet log redact SESSION 7 8
  placet log redact SESSION --pattern 'the text'
  placet log redact SESSION --pattern - < file-with-the-text

What belongs to one tool call is erased together. Open work, turns, modes and what gave a grant that
is in force cannot be erased; the command says which and why. The chain stays verifiable. A session
that a running host holds is refused (exit code 4). Nothing brings an erased body back.";

const DELETE: &str = "\
Examples:
  placet log delete SESSION
  placet log delete SESSION --yes

A session that a running host holds is refused (exit code 4). Nothing brings a deleted session back.";

impl Log {
    pub(super) fn run(self) -> Result<(), Failure> {
        runtime()?.block_on(async {
            match self {
                Log::Show { session: None, .. } => show::list().await,
                Log::Show { session: Some(session), bodies } => show::show(&session, bodies).await,
                Log::Verify { session: Some(session) } => verify::one(&session).await,
                Log::Verify { session: None } => verify::all().await,
                Log::Export { session, redact } => export::export(&session, redact).await,
                Log::Redact(redact) => redact.run().await,
                Log::Delete { session, yes } => delete::delete(&session, yes).await,
            }
        })
    }
}

/// The home's folder, which is not made here.
fn folder() -> Result<PathBuf, Failure> {
    Home::default_folder().map_err(|message| Failure::new(EXIT_CONFIGURATION, message))
}

/// The log, for reading only.
fn reader() -> Result<std::sync::Arc<SqliteLog>, Failure> {
    Ok(SqliteLog::open_read_only(&folder()?)?)
}

/// A command that was allowed does not get to take back what the log says.
fn from_outside() -> Result<(), Failure> {
    super::from_outside("takes nothing out of the log")
}

/// Refuses a session that is not in the log.
async fn known(log: &SqliteLog, session: &str) -> Result<(), Failure> {
    match log.session(session).await? {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            EXIT_USAGE,
            format!("there is no session {session} in this home; `placet log show` lists them"),
        )),
    }
}

/// Hands the records up to `last` to `take`, in order.
async fn each_record(
    log: &SqliteLog,
    session: &str,
    last: u64,
    mut take: impl FnMut(&Stored) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after = 0;
    while after < last {
        let records =
            log.read(session, after, limits::READ_RECORDS_MAX, limits::READ_BYTES_MAX).await?;
        let Some(end) = records.last() else { return Ok(()) };
        after = end.header.sequence;
        for record in records.iter().filter(|record| record.header.sequence <= last) {
            take(record)?;
        }
    }
    Ok(())
}

//! `placet log`: looking at the durable log, without changing it.

use super::{EXIT_CONFIGURATION, EXIT_USAGE, Failure, runtime};
use crate::hex::hex;
use crate::home::Home;
use crate::log::{Log as _, LogError, Mark, SqliteLog, Stored};
use std::sync::Arc;

/// Look at the durable log.
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
}

/// Records of one read.
const RECORDS: usize = 256;

/// Bytes of one read.
const BYTES: usize = 4 * 1024 * 1024;

impl Log {
    pub(super) fn run(self) -> Result<(), Failure> {
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let folder = Home::default_folder().map_err(configuration)?;
        let log = SqliteLog::open_read_only(&folder)?;
        runtime()?.block_on(async {
            match self {
                Log::Show { session: None, .. } => list(&log).await,
                Log::Show { session: Some(session), bodies } => show(&log, &session, bodies).await,
                Log::Verify { session: Some(session) } => {
                    known(&log, &session).await?;
                    verify(&log, &session).await
                }
                Log::Verify { session: None } => verify_all(&log).await,
            }
        })
    }
}

async fn known(log: &Arc<SqliteLog>, session: &str) -> Result<(), Failure> {
    match log.session(session).await? {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            EXIT_USAGE,
            format!("there is no session {session} in this home; `placet log show` lists them"),
        )),
    }
}

async fn list(log: &Arc<SqliteLog>) -> Result<(), Failure> {
    let sessions = log.sessions().await?;
    let pending = log.pending().await?;
    for row in &sessions {
        let waiting = pending.iter().filter(|open| open.session == row.session).count();
        println!(
            "{}  {} records  {} pending  {}",
            row.session,
            row.head_sequence,
            waiting,
            row.workspace.as_deref().unwrap_or("-")
        );
    }
    println!("{} sessions", sessions.len());
    Ok(())
}

async fn show(log: &Arc<SqliteLog>, session: &str, bodies: bool) -> Result<(), Failure> {
    known(log, session).await?;
    let mut after = 0;
    loop {
        let records = log.read(session, after, RECORDS, BYTES).await?;
        let Some(last) = records.last() else {
            return Ok(());
        };
        after = last.header.sequence;
        for record in &records {
            print(record, bodies);
        }
    }
}

fn print(record: &Stored, bodies: bool) {
    let header = &record.header;
    let marks: Vec<String> = header.marks.iter().filter_map(mark).collect();
    println!(
        "{:>6}  {}  {:<18} {}",
        header.sequence,
        header.time_ms,
        header.kind,
        marks.join("  ")
    );
    if bodies {
        match &record.body {
            Some(body) => println!("        {}", String::from_utf8_lossy(body)),
            None => println!("        (erased)"),
        }
    }
}

fn mark(mark: &Mark) -> Option<String> {
    match mark {
        Mark::Opens { approval } => Some(format!("opens {approval}")),
        Mark::Closes { approval } => Some(format!("closes {approval}")),
        Mark::Command { id, .. } => Some(format!("command {id}")),
        Mark::Starts { execution } => Some(format!("starts {execution}")),
        Mark::Ends { execution } => Some(format!("ends {execution}")),
        Mark::View => None,
    }
}

async fn verify(log: &Arc<SqliteLog>, session: &str) -> Result<(), Failure> {
    match log.verify(session).await {
        Ok(Ok(verified)) => {
            let head = hex(&verified.chain);
            println!(
                "{session}: intact, {} records, {} erased, chain {head}",
                verified.records, verified.erased
            );
            Ok(())
        }
        Ok(Err(fault)) => Err(Failure::new(
            EXIT_CONFIGURATION,
            format!("{session} is not as it was written: {fault}; restore it from a copy"),
        )),
        Err(error) => Err(error.into()),
    }
}

async fn verify_all(log: &Arc<SqliteLog>) -> Result<(), Failure> {
    let mut broken = 0_usize;
    let sessions = log.sessions().await.map_err(|error: LogError| Failure::from(error))?;
    for row in &sessions {
        if let Err(failure) = verify(log, &row.session).await {
            eprintln!("placet: {}", failure.message);
            broken = broken.saturating_add(1);
        }
    }
    if broken == 0 {
        println!("{} sessions, all intact", sessions.len());
        return Ok(());
    }
    let message = format!("{broken} of {} sessions are not intact", sessions.len());
    Err(Failure::new(EXIT_CONFIGURATION, message))
}

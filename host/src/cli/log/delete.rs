//! `placet log delete`: a session, gone with everything that belongs to it.

use super::out::Out;
use super::{folder, from_outside, known, reader};
use crate::cli::{EXIT_CONFIGURATION, EXIT_FAILED, EXIT_USAGE, Failure};
use crate::home::Home;
use crate::log::{Log as _, LogError, SqliteLog};
use std::io::{self, BufRead, IsTerminal as _, Write};
use std::path::{Component, Path};

pub(super) async fn delete(session: &str, yes: bool) -> Result<(), Failure> {
    from_outside()?;
    let reader = reader()?;
    known(&reader, session).await?;
    let here = session.to_owned();
    // Nobody is asked about what would be refused after the answer.
    if let Some(holder) = reader.holder(session).await? {
        return Err(LogError::InUse { session: here, holder: holder.host }.into());
    }
    let what = contents(&reader, session).await?;
    if !yes {
        agree(session, &what)?;
    }
    drop(reader);
    let home =
        Home::open(&folder()?).map_err(|message| Failure::new(EXIT_CONFIGURATION, message))?;
    let log = SqliteLog::open(home.folder())?;
    let lease = log.lease(session).await?;
    let what = contents(&log, session).await?;
    // The folder first: once the session is gone nothing leads to it any more.
    let scratch = remove_scratch(&home, session)?;
    log.delete(lease).await?;
    let mut out = Out::new();
    out.line(&format!("{session}: deleted, {what}"))?;
    if scratch {
        out.line(&format!("{session}: deleted its working folder in the state folder"))?;
    }
    out.finish()
}

/// What there is of a session, in words.
async fn contents(log: &SqliteLog, session: &str) -> Result<String, Failure> {
    let records = log.head(session).await?.sequence;
    let pending = log.pending().await?;
    let pending = pending.iter().filter(|open| open.session == session).count();
    Ok(format!("{records} records, {pending} pending approvals"))
}

/// Asks at the terminal; without one there is nobody to ask.
fn agree(session: &str, what: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new(
            EXIT_USAGE,
            format!("no terminal to ask at: `placet log delete {session} --yes` asks nobody"),
        ));
    }
    // What was typed before the question answers nothing.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    let question = format!("delete {session} ({what})? Nothing brings it back. y/n: ");
    match answer(&question, &mut io::stdin().lock(), &mut io::stderr()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(EXIT_FAILED, format!("{session} was not deleted"))),
        Err(error) => Err(Failure::new(EXIT_FAILED, format!("no answer can be read: {error}"))),
    }
}

/// Asks until the answer is yes or no; nothing is the default, and an end of input is a no.
fn answer(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    loop {
        write!(output, "{question}")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(output)?;
            return Ok(false);
        }
        match line.trim() {
            "y" | "Y" | "yes" => return Ok(true),
            "n" | "N" | "no" => return Ok(false),
            _ => {}
        }
    }
}

/// Removes the folder that a session without a workspace root worked in; whether there was one.
fn remove_scratch(home: &Home, session: &str) -> Result<bool, Failure> {
    let mut parts = Path::new(session).components();
    let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    let folder = home.scratch(session);
    if !plain || !folder.is_dir() {
        return Ok(false);
    }
    std::fs::remove_dir_all(&folder).map(|()| true).map_err(|error| {
        Failure::new(
            EXIT_FAILED,
            format!("cannot remove {}: {error}; nothing else was deleted", folder.display()),
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::answer;

    #[test]
    fn only_a_yes_deletes() {
        for (typed, agreed, asked) in [
            ("y\n", true, 1),
            ("yes\n", true, 1),
            ("n\n", false, 1),
            ("", false, 1),
            ("\n\n", false, 3),
            ("yep\nmaybe\ny\n", true, 3),
            ("no", false, 1),
        ] {
            let mut shown = Vec::new();
            assert_eq!(answer("delete? ", &mut typed.as_bytes(), &mut shown).unwrap(), agreed);
            let shown = String::from_utf8(shown).unwrap();
            assert_eq!(shown.matches("delete? ").count(), asked, "{typed:?}");
        }
    }
}

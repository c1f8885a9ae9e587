//! Runs a command for its lines: each is passed on as it comes, and shown to whoever collects.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::process::shown;

/// How often a silent command is looked at.
const POLL: Duration = Duration::from_millis(200);
/// How long output may still come from what a finished command left behind.
const DRAIN: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// Exit status 0.
    Success,
    /// It failed, or was stopped; why.
    Failure(String),
}

/// Runs the command with both outputs on one pipe, so that their order is kept.
pub(crate) fn stream(
    mut command: Command,
    deadline: Option<Instant>,
    out: &mut impl Write,
    mut each: impl FnMut(&str),
) -> anyhow::Result<End> {
    let name = shown(&command);
    let (reader, writer) = std::io::pipe().context("could not make a pipe")?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("could not start `{name}`"))?;
    // The command holds our ends of the pipe; the reader sees its end only once they are gone.
    drop(command);
    let lines = read_lines(reader);
    let mut exited: Option<Instant> = None;
    loop {
        match lines.recv_timeout(POLL) {
            Ok(line) => {
                // A reader of ours that went away must not end the run.
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                each(line.trim_end_matches(['\n', '\r']));
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if exited.is_none() && child.try_wait()?.is_some() {
                    exited = Some(Instant::now());
                }
                if exited.is_some_and(|since| since.elapsed() > DRAIN) {
                    println!("note: a process that `{name}` started still holds its output");
                    break;
                }
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) && exited.is_none() {
            return stop(&mut child, &name);
        }
    }
    let status = child.wait()?;
    Ok(if status.success() {
        End::Success
    } else {
        End::Failure(format!("`{name}` ended with {status}"))
    })
}

fn stop(child: &mut Child, name: &str) -> anyhow::Result<End> {
    child.kill()?;
    child.wait()?;
    Ok(End::Failure(format!("`{name}` was stopped: the time for the whole run is over")))
}

fn read_lines(reader: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
            line.clear();
        }
    });
    receiver
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn shell(script: &str, deadline: Option<Instant>) -> (End, Vec<String>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (mut lines, mut out) = (Vec::new(), Vec::new());
        let end = stream(command, deadline, &mut out, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), lines.len());
        (end, lines)
    }

    #[test]
    fn both_outputs_come_in_order() {
        let (end, lines) = shell("echo one; echo two >&2; echo three", None);
        assert_eq!((end, lines.join(" ").as_str()), (End::Success, "one two three"));
    }

    #[test]
    fn a_failure_is_told() {
        let (end, _) = shell("exit 3", None);
        assert!(matches!(end, End::Failure(why) if why.contains("exit status: 3")));
    }

    #[test]
    fn a_command_past_the_deadline_is_stopped() {
        let begin = Instant::now();
        let (end, lines) = shell("echo begun; exec sleep 60", Some(begin + Duration::from_secs(1)));
        assert!(matches!(end, End::Failure(why) if why.contains("was stopped")));
        assert_eq!(lines, ["begun"]);
        assert!(begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_run() {
        let begin = Instant::now();
        let (end, _) = shell("sleep 40 & echo done", None);
        assert_eq!(end, End::Success);
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}

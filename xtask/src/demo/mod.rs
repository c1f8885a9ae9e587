//! `cargo xtask demo`: the main job on real input, without a terminal, told in plain words.

mod approval;
pub(crate) mod claims;
mod client;
mod say;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::components;
use crate::process::{cargo_in, run as run_command};
use crate::workspace::{Workspace, cargo};
use approval::{command_id, decide, decide_late, outcome, propose, show, start_session, text};
use client::Host;
use say::{fact, quote, step, tell};

const FIRST: &str = r"printf 'hello from placet\n' > greeting.txt && cat greeting.txt";
const FIRST_FILE: &str = "greeting.txt";
const SECOND: &str = "echo 'approved after the crash' >> survivor.txt && wc -l survivor.txt";
const SECOND_FILE: &str = "survivor.txt";

/// Where the demo works; it stays there afterwards.
struct Place {
    home: PathBuf,
    folder: PathBuf,
}

/// Builds what is needed unless a binary is given, then tells the story.
pub(crate) fn run(workspace: &Workspace, placet: Option<PathBuf>) -> anyhow::Result<()> {
    let placet = binary(workspace, placet)?;
    let place = make_place()?;
    let session = before_the_crash(&placet, &place)?;
    after_the_crash(&placet, &place, &session)?;
    the_log(&placet, &place, &session)
}

/// Runs the demo and checks each of its claims.
pub(crate) fn check(workspace: &Workspace, placet: Option<PathBuf>) -> anyhow::Result<()> {
    claims::check(&binary(workspace, placet)?)
}

/// The binary that was named, or a fresh one.
fn binary(workspace: &Workspace, placet: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let placet = match placet {
        Some(placet) => placet,
        None => build(workspace)?,
    };
    placet.canonicalize().with_context(|| format!("there is no placet at {}", placet.display()))
}

fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    components::run(workspace)?;
    println!("demo: building placet");
    // Not `-p placet`: that would select other features than `test` and build wasmtime twice.
    run_command(cargo_in(&workspace.root, cargo()).args(["build", "--locked"]))?;
    Ok(workspace.placet())
}

fn make_place() -> anyhow::Result<Place> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock")?.as_millis();
    let root = std::env::temp_dir().join(format!("placet-demo-{now}-{}", std::process::id()));
    let (home, folder) = (root.join("home"), root.join("workspace"));
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("could not create {}", folder.display()))?;
    Ok(Place { home, folder: folder.canonicalize()? })
}

/// One command from question to output, then a question that stays open when the host dies.
fn before_the_crash(placet: &Path, place: &Place) -> anyhow::Result<Session> {
    step(1, "A host starts");
    let (mut host, _) = Host::start(placet, &place.home, &place.folder)?;
    fact("home", place.home.display());
    fact("workspace", place.folder.display());
    fact("first host", format!("process {}", host.pid()));
    let (id, log) = start_session(&mut host, &place.folder)?;
    fact("session", &id);
    fact("log", &log);
    tell("The session runs in the mode promptUnmatched: what nothing covers, a person decides.");

    step(2, "A command is proposed, asked about, decided and run");
    let (turn, question) = propose(&mut host, &id, FIRST)?;
    let first = text(&question, "/approvalId")?;
    fact("first approval", &first);
    show(&question)?;
    fact("greeting.txt before the decision", presence(place, FIRST_FILE));
    let decisions = decide(&mut host, &id, &question)?;
    fact("decisions", decisions);
    let output = outcome(&mut host, &turn, &first, "first command")?;
    tell("So the command ran only after the decision, and this is what it printed.");
    ensure!(output == "hello from placet\n", "the command printed {output:?}");

    step(3, "Another command is asked about, and the host is killed");
    let (turn, question) = propose(&mut host, &id, SECOND)?;
    let pending = text(&question, "/approvalId")?;
    fact("pending approval", &pending);
    show(&question)?;
    let pid = host.pid();
    host.kill()?;
    fact("killed with SIGKILL", format!("process {pid}"));
    fact("survivor.txt after the kill", presence(place, SECOND_FILE));
    tell(
        "Nobody had decided, so nothing ran. The question is in the log, not in the dead process.",
    );
    Ok(Session { id, turn, pending, question })
}

/// What the second half needs from the first.
struct Session {
    id: String,
    turn: String,
    pending: String,
    question: Value,
}

/// A new process takes the session over and asks again under a fresh identity.
fn after_the_crash(placet: &Path, place: &Place, session: &Session) -> anyhow::Result<()> {
    step(4, "A new host takes the session over and asks again");
    let (mut host, _) = Host::start(placet, &place.home, &place.folder)?;
    fact("second host", format!("process {}", host.pid()));
    let opening =
        host.call("session/resume", json!({"commandId": command_id(), "sessionId": session.id}))?;
    let pointers = opening["pendingRequests"].as_array().map_or(0, Vec::len);
    fact("pending requests after the restart", pointers);
    let question = host.event("approval/request", |params| {
        params["turnId"] == session.turn.as_str()
            && params["approvalId"] != session.pending.as_str()
    })?;
    let successor = text(&question, "/approvalId")?;
    let old = closing(&mut host, session)?;
    fact("old approval", format!("{} {}", session.pending, text(&old, "/decision")?));
    fact("successor approval", &successor);
    show(&question)?;
    tell("The old question is closed for good. The same command is asked about under a new id,");
    tell(
        "which follows from the old one (UUID version 5). An answer to the old question is refused:",
    );
    fact("late decision", decide_late(&mut host, &session.id, &session.question)?);
    fact("survivor.txt before the decision", presence(place, SECOND_FILE));

    step(5, "The person decides, and the command runs once");
    decide(&mut host, &session.id, &question)?;
    outcome(&mut host, &session.turn, &successor, "second command")?;
    let lines = std::fs::read_to_string(place.folder.join(SECOND_FILE))
        .with_context(|| format!("the command made no {SECOND_FILE}"))?
        .lines()
        .count();
    fact("executions of the second command", lines);
    tell("It appends one line each time it runs, so the number of lines is how often it ran.");
    let status = host.close()?;
    fact("second host ended with", status);
    ensure!(status.success(), "the host ended with {status}");
    Ok(())
}

/// The record that closed the old approval, read from the pages of the log.
fn closing(host: &mut Host, session: &Session) -> anyhow::Result<Value> {
    let mut cursor: Option<Value> = None;
    loop {
        let mut params = json!({"sessionId": session.id, "limit": 100, "direction": "forward"});
        if let Some(cursor) = cursor {
            params["cursor"] = cursor;
        }
        let page = host.call("view/page", params)?;
        let closing = page["events"].as_array().into_iter().flatten().find(|event| {
            event["method"] == "approval/resolved"
                && event["params"]["approvalId"] == session.pending.as_str()
        });
        if let Some(event) = closing {
            return Ok(event["params"].clone());
        }
        match page["nextCursor"].clone() {
            Value::Null => bail!("the log does not close the old approval {}", session.pending),
            next => cursor = Some(next),
        }
    }
}

/// Every step is in the log, and its chain holds.
fn the_log(placet: &Path, place: &Place, session: &Session) -> anyhow::Result<()> {
    step(6, "The log holds all of it, and its chain is checked");
    for (name, verb) in [("log verify", "verify"), ("log show", "show")] {
        let output = Command::new(placet)
            .args(["log", verb, &session.id])
            .env("PLACET_HOME", &place.home)
            .output()
            .with_context(|| format!("could not run placet log {verb}"))?;
        fact(name, output.status);
        quote(&String::from_utf8_lossy(&output.stdout));
        if !output.status.success() {
            bail!("placet log {verb}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    fact("database", place.home.join("placet.db").display());
    tell("Everything stays where it is; look at it with");
    tell(&format!("  PLACET_HOME={} placet log show {}", place.home.display(), session.id));
    Ok(())
}

fn presence(place: &Place, file: &str) -> &'static str {
    if place.folder.join(file).exists() { "present" } else { "absent" }
}

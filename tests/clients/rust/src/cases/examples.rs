//! The SDK's own examples, built from the installed crate, with our host as the `muse` of their `PATH`.
//!
//! They send sentences to a model. Our agent takes a turn's text as a shell
//! script, and these sentences are simple commands: the case puts programs named
//! by their first words on the `PATH`, which do what the sentence says.

use crate::ground::{Outcome, Place, check, equal, quoted, within};
use crate::talk::Talk;
use crate::wire::Wire;
use muse_code_sdk::fingerprint::EXPECTED;
use muse_code_sdk::msp::{
    ApprovalDecision, ApprovalResolvedParams, Item, ItemCompletedParams, ItemKind, ItemStatus,
    SessionListResult, TurnCompletedParams, TurnStartedParams, TurnTerminal,
};
use serde_json::json;

crate::cases![recipe_approve_deny, recipe_retry_safe, recipe_cancel, quickstart];

/// What an example printed.
struct Said {
    stdout: String,
    stderr: String,
}

/// Runs an example in the workspace; it must succeed.
async fn run(place: &Place, example: &str, recipe: &[&str]) -> Outcome<Said> {
    place.script("muse", &format!("exec {} \"$@\"", quoted(place.placet())))?;
    place.script("Use", "pwd")?;
    for (program, trace) in [("Try", "tried"), ("Start", "started"), ("Summarize", "summarized")] {
        place.script(program, &format!("echo {program} >> {trace}"))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [place.path("bin")].into_iter().chain(std::env::split_paths(&path));
    let mut command = tokio::process::Command::new(place.example(example));
    command
        .args(recipe)
        .current_dir(place.path("workspace"))
        .env("PATH", std::env::join_paths(path)?)
        .env("PLACET_HOME", place.home())
        .kill_on_drop(true);
    let output = within(&format!("{example} {recipe:?} to end"), command.output()).await??;
    let said = Said {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    let shown = format!("{}\nstdout: {}\nstderr: {}", output.status, said.stdout, said.stderr);
    check(output.status.success(), format_args!("{example} {recipe:?} to succeed, got {shown}"))?;
    Ok(said)
}

/// What the log holds of a session afterwards.
struct Told {
    /// The last state of its tool calls.
    calls: Vec<Item>,
    terminals: Vec<ApprovalResolvedParams>,
    /// How its turns ended.
    ended: Vec<TurnTerminal>,
    started: usize,
    pending: usize,
}

/// Every session of the home, oldest first, as a cold host tells it; nothing is loaded.
async fn told(place: &Place) -> Outcome<Vec<Told>> {
    let host = Wire::spawn(place).await?;
    let mut listed: SessionListResult = host.call("session/list", &json!({})).await?;
    listed.sessions.sort_by(|one, next| one.created_at.cmp(&next.created_at));
    let mut sessions = Vec::new();
    for row in listed.sessions {
        let talk = Talk { host: &host, id: row.session_id };
        let items: Vec<ItemCompletedParams> = talk.paged("item/completed").await?;
        let calls = items.into_iter().map(|row| row.item);
        let turns: Vec<TurnCompletedParams> = talk.paged("turn/completed").await?;
        sessions.push(Told {
            calls: calls.filter(|item| item.kind == ItemKind::ToolCall).collect(),
            terminals: talk.paged("approval/resolved").await?,
            ended: turns.into_iter().map(|turn| turn.terminal).collect(),
            started: talk.paged::<TurnStartedParams>("turn/started").await?.len(),
            pending: talk.pending().await?.len(),
        });
    }
    host.close().await?;
    Ok(sessions)
}

async fn recipe_approve_deny(place: &Place) -> Outcome {
    let said = run(place, "recipes", &["approve-deny"]).await?;
    equal(said.stdout.as_str(), "turn completed\nturn completed\n", "what the recipe prints")?;
    let sessions = told(place).await?;
    equal(sessions.len(), 2, "sessions")?;
    let (approved, denied) = (&sessions[0], &sessions[1]);
    let decisions: Vec<_> = approved.terminals.iter().map(|row| row.decision.clone()).collect();
    equal(decisions, vec![ApprovalDecision::ApprovedForSession], "what the recipe decided")?;
    equal(approved.calls.len(), 1, "tool calls of the approved turn")?;
    let call = &approved.calls[0];
    equal(
        (&call.status, call.exit_code, call.tool_call.visible_output.clone()),
        (&ItemStatus::Completed, Some(0), Some(place.workspace() + "\n")),
        "the approved command: it prints the current directory",
    )?;
    equal(denied.terminals.len(), 0, "questions under denyUnmatched")?;
    equal(denied.calls.len(), 1, "tool calls of the denied turn")?;
    equal(&denied.calls[0].status, &ItemStatus::Rejected, "the denied command")?;
    check(place.lines("tried").is_empty(), "the denied command not to have run")
}

async fn recipe_retry_safe(place: &Place) -> Outcome {
    let said = run(place, "recipes", &["retry-safe"]).await?;
    check(said.stdout.contains("reconnecting by session id"), "the recipe to reconnect")?;
    let sessions = told(place).await?;
    equal(sessions.len(), 1, "sessions: the second client found the first one's")?;
    let session = &sessions[0];
    equal(session.started, 1, "turns: the resend started none")?;
    equal(&session.ended, &vec![TurnTerminal::Completed], "ends of the turn")?;
    equal(session.pending, 0, "what pends")?;
    // Without a handler the SDK rejects, in the first client or, asked again, in the second.
    let last = session.terminals.last().ok_or("no approval was closed")?;
    equal(&last.decision, &ApprovalDecision::Abort, "the last decision")?;
    check(last.decided_by_command_id.is_some(), "a command of the SDK to have decided")?;
    check(place.lines("started").is_empty(), "nothing to have run")
}

async fn recipe_cancel(place: &Place) -> Outcome {
    let said = run(place, "recipes", &["cancel"]).await?;
    check(said.stdout.contains("turn settled locally by close"), "the turn to settle by close")?;
    let sessions = told(place).await?;
    equal(sessions.len(), 1, "sessions")?;
    let session = &sessions[0];
    equal(session.started, 1, "turns")?;
    // The close may come before the SDK's own rejection or behind it; either way one thing is true.
    equal(session.pending + session.ended.len(), 1, "the turn pends, or it has ended")?;
    check(place.lines("started").is_empty(), "nothing to have run")
}

async fn quickstart(place: &Place) -> Outcome {
    let said = run(place, "quickstart", &[]).await?;
    equal(said.stdout.as_str(), "turn completed\n", "what the quickstart prints")?;
    check(said.stderr.contains(EXPECTED), "a warning: our default fingerprint is another SDK's")?;
    place.configure(&format!("[serve]\nfingerprint = \"{EXPECTED}\"\n"))?;
    let said = run(place, "quickstart", &[]).await?;
    equal(
        (said.stdout.as_str(), said.stderr.contains("mismatch")),
        ("turn completed\n", false),
        "what the quickstart prints when the fingerprint is configured",
    )?;
    for session in told(place).await? {
        equal(session.calls.len(), 1, "tool calls")?;
        equal(&session.calls[0].status, &ItemStatus::Rejected, "a command that nobody approves")?;
    }
    check(place.lines("summarized").is_empty(), "nothing to have run")
}

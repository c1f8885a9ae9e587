//! What a client does, step by step. Every step may find that the host is gone.

use super::client::{Client, Gone};
use super::place::Place;
use super::processes::pause;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Instant;

/// A command id that only a client mints.
pub fn command_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The handshake.
pub fn greet(client: &mut Client) -> Result<(), Gone> {
    client.ok("initialize", json!({"clientInfo": {"name": "fault_client", "version": "1"}}))?;
    client.line(r#"{"jsonrpc":"2.0","method":"initialized"}"#)
}

/// Opens a session in the workspace.
pub fn start(place: &Place, client: &mut Client, mode: &str) -> Result<String, Gone> {
    let params = json!({
        "commandId": command_id(), "workspaceRoot": place.workspace(), "approvalMode": mode,
    });
    let result = client.ok("session/start", params)?;
    Ok(result["session"]["sessionId"].as_str().unwrap().to_owned())
}

/// Comes back to a session.
pub fn resume(client: &mut Client, session: &str) -> Result<Value, Gone> {
    client.ok("session/resume", json!({"commandId": command_id(), "sessionId": session}))
}

/// Starts a turn and returns its id.
pub fn turn(client: &mut Client, session: &str, text: &str) -> Result<String, Gone> {
    let params = json!({
        "sessionId": session, "commandId": command_id(),
        "input": [{"type": "text", "text": text}],
    });
    Ok(client.ok("turn/start", params)?["turnId"].as_str().unwrap().to_owned())
}

/// The command of a place: two stages that are asked about around a safe one. It
/// appends its id, says so, and waits at a gate, so that a crash meets it alive.
pub fn command(place: &Place) -> String {
    let id = &place.id;
    let gate = place.workspace().join(format!("gate-{id}"));
    if !gate.exists() {
        let made = std::process::Command::new("mkfifo").arg(&gate).status().unwrap();
        assert!(made.success(), "mkfifo {}", gate.display());
    }
    format!("echo {id} >> ran.txt && echo begun && cat gate-{id} >> gate.txt")
}

/// The request for a stage of a turn's action.
pub fn asked(client: &Client, turn: &str, index: u64) -> Result<Value, Gone> {
    let frame = client.wait(&format!("approval/request for stage {index}"), |frame| {
        frame["method"] == "approval/request"
            && frame["params"]["turnId"] == turn
            && frame["params"]["currentRequirementId"]["sourceIndex"] == index
    })?;
    assert!(frame["id"].is_u64(), "a request carries an id of the host's own: {frame}");
    Ok(frame["params"].clone())
}

/// The parameters of a decision on a request.
pub fn decision(session: &str, asked: &Value, choice: &str) -> Value {
    json!({
        "sessionId": session, "commandId": command_id(), "approvalId": asked["approvalId"],
        "requirementId": asked["currentRequirementId"], "choiceId": choice,
    })
}

/// Allows both stages, lets the command through its gate, and waits for the turn's end.
pub fn allow(place: &Place, client: &mut Client, session: &str, turn: &str) -> Result<(), Gone> {
    for index in [0, 2] {
        let asked = asked(client, turn, index)?;
        client.ok("approval/decide", decision(session, &asked, "allow_once"))?;
    }
    begun(client)?;
    while !open_gate(place) {
        if client.ended() {
            return Err(Gone);
        }
        pause();
    }
    ended(client, turn).map(drop)
}

/// Allows three stages, the first for longer than the session, and waits for the turn's
/// end and for the word that the grant is kept.
pub fn allow_and_keep(
    place: &Place,
    client: &mut Client,
    session: &str,
    turn: &str,
) -> Result<(), Gone> {
    for (index, choice) in [(0, "allow_local_prefix"), (1, "allow_once"), (3, "allow_once")] {
        let asked = asked(client, turn, index)?;
        client.ok("approval/decide", decision(session, &asked, choice))?;
    }
    client.wait("policyPersistence", |frame| {
        frame["params"]["change"]["kind"] == "policyPersistence"
    })?;
    begun(client)?;
    while !open_gate(place) {
        if client.ended() {
            return Err(Gone);
        }
        pause();
    }
    ended(client, turn).map(drop)
}

/// The command's own word that it runs.
pub fn begun(client: &Client) -> Result<(), Gone> {
    let says = |frame: &Value| {
        frame["method"] == "item/delta"
            && frame["params"]["delta"].as_str().is_some_and(|text| text.contains("begun"))
    };
    client.wait("output of the command", says).map(drop)
}

/// The terminal of a turn.
pub fn ended(client: &Client, turn: &str) -> Result<String, Gone> {
    let frame = client.wait("turn/completed", |frame| {
        frame["method"] == "turn/completed" && frame["params"]["turnId"] == turn
    })?;
    Ok(frame["params"]["terminal"].as_str().unwrap().to_owned())
}

/// Lets a command that waits at the gate go on; false when none waits there.
pub fn open_gate(place: &Place) -> bool {
    let gate = place.workspace().join(format!("gate-{}", place.id));
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    match std::fs::OpenOptions::new().write(true).custom_flags(flags).open(gate) {
        Ok(mut gate) => gate.write_all(b"go\n").is_ok(),
        Err(_) => false,
    }
}

/// Decides whatever is pending, lets run what may run, until the session is idle.
pub fn settle(place: &Place, client: &mut Client, session: &str) -> Result<(), Gone> {
    let until = Instant::now() + super::client::PATIENCE;
    let mut decided = HashSet::new();
    loop {
        for asked in pending(client, session)? {
            if decided.insert(asked["currentRequirementId"].to_string()) {
                client.ok("approval/decide", decision(session, &asked, "allow_once"))?;
            }
        }
        open_gate(place);
        let read = client.ok("session/read", json!({"sessionId": session}))?;
        if read["session"]["status"] == "idle" {
            return Ok(());
        }
        assert!(Instant::now() < until, "the session does not come to rest: {read}");
        pause();
    }
}

/// The pending requests.
pub fn pending(client: &mut Client, session: &str) -> Result<Vec<Value>, Gone> {
    let result = client.ok("approval/listPending", json!({"sessionId": session}))?;
    Ok(result["approvals"].as_array().unwrap().clone())
}

/// Every view event of a session, loaded or not.
pub fn view(client: &mut Client, session: &str) -> Result<Vec<Value>, Gone> {
    let (mut events, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = json!({"sessionId": session, "limit": 100, "cursor": cursor});
        let page = client.ok("view/page", params)?;
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return Ok(events);
        }
    }
}

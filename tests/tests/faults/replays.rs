//! Every command again: what was acknowledged is answered value for value.

use crate::client::{Client, Gone, Reply};
use crate::told::{COMMANDS, Held, Told};
use serde_json::Value;

/// A command, what is known of its first answer, and its answers since.
pub(crate) struct Replay {
    method: String,
    params: Value,
    /// The ack that was told, or else the one that the log held after the crash.
    known: Option<Value>,
    again: Vec<Reply>,
}

/// The commands of the connections before the crash.
pub(crate) fn of(told: &[Told], held: &Held) -> Vec<Replay> {
    let acks = held.acks();
    let mut replays = Vec::new();
    for told in told {
        for sent in told.sent.iter().filter(|sent| COMMANDS.contains(&sent.method.as_str())) {
            let acked = told.answer(sent.id).and_then(|frame| frame.get("result")).cloned();
            let stored = acks.get(sent.params["commandId"].as_str().unwrap()).cloned();
            replays.push(Replay {
                method: sent.method.clone(),
                params: sent.params.clone(),
                known: acked.or(stored),
                again: Vec::new(),
            });
        }
    }
    replays
}

/// Sends every command again; says what is wrong with the answers.
pub(crate) fn send(client: &mut Client, replays: &mut [Replay]) -> Result<Vec<String>, Gone> {
    let mut wrong = Vec::new();
    for replay in replays {
        let reply = client.call(&replay.method, replay.params.clone())?;
        let fine = match (&replay.known, replay.again.last()) {
            (Some(known), _) => reply.as_ref() == Ok(known),
            (None, Some(before)) => reply == *before,
            (None, None) => fresh(&replay.method, &reply),
        };
        if !fine {
            wrong.push(format!(
                "replay of {} {}: {reply:?}; known: {:?}, answered before: {:?}",
                replay.method, replay.params, replay.known, replay.again
            ));
        }
        replay.again.push(reply);
    }
    Ok(wrong)
}

/// A command that no log knew: it is taken now, but for a decision, whose
/// approval recovery has closed.
fn fresh(method: &str, reply: &Reply) -> bool {
    match (method, reply) {
        ("approval/decide", Err(error)) => {
            error["code"] == -32051
                && error["data"]["kind"] == "approvalAlreadyResolved"
                && error["data"]["resolution"]["decision"] == "abort"
        }
        (_, Ok(_)) => method != "approval/decide",
        (_, Err(_)) => false,
    }
}

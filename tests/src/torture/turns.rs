//! What clients want done: turns of commands that each append one line to a file of their own.

use crate::live::place::Place;
use crate::live::steps::command_id;
use crate::random::Random;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// Turns after which a session is left for a new one, so that loading one stays short.
const TURNS_MAX: u32 = 12;

/// Commands of one turn.
const COMMANDS_MAX: usize = 4;

/// Where a run's commands work, and how many there were.
pub(super) struct Work {
    /// What stands in every line, in front of the number of its command.
    pub(super) mark: String,
    workspace: String,
    next: AtomicU64,
}

impl Work {
    pub(super) fn new(place: &Place) -> Work {
        let workspace = place.workspace().display().to_string();
        Work { mark: place.id.clone(), workspace, next: AtomicU64::new(1) }
    }

    /// The text of a turn.
    fn turn(&self, random: &mut Random) -> String {
        let count = 1 + random.below(COMMANDS_MAX);
        let actions: Vec<Value> = (0..count).map(|_| self.action(random)).collect();
        json!({ "actions": actions }).to_string()
    }

    fn action(&self, random: &mut Random) -> Value {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mark = &self.mark;
        let line = format!("echo {mark}-{number} >> ran/{number}");
        // Some go on for a while, so that a kill meets them at work.
        let command = match random.below(8) {
            0 => format!("{line} && sleep 0.05"),
            1 => format!("{line}; sleep 0.2"),
            // Two stages that are asked about one after the other.
            2 => format!("{line} && echo {mark}-{number} >> also.txt"),
            _ => line,
        };
        json!({"tool": "shell", "args": {"command": command}})
    }
}

/// A session that one client keeps at work, life after life.
pub(super) struct Slot {
    /// What starts it; sent again it is the same session.
    pub(super) start: Value,
    pub(super) session: Option<String>,
    turns: u32,
    /// Whether it waits for the end of a turn.
    pub(super) busy: bool,
    /// Whether the host that lives is the first that is asked to start it.
    pub(super) fresh: bool,
}

impl Slot {
    pub(super) fn new(work: &Work) -> Slot {
        let start = json!({
            "commandId": command_id(), "workspaceRoot": work.workspace,
            "approvalMode": "promptUnmatched",
        });
        Slot { start, session: None, turns: 0, busy: true, fresh: true }
    }

    /// The next thing to send: a turn, or the start of a session after many turns.
    pub(super) fn next(&mut self, work: &Work, random: &mut Random) -> (&'static str, Value) {
        self.busy = true;
        match &self.session {
            Some(session) if self.turns < TURNS_MAX => {
                self.turns += 1;
                let input = json!([{"type": "text", "text": work.turn(random)}]);
                let turn = json!({
                    "sessionId": session, "commandId": command_id(), "input": input,
                });
                ("turn/start", turn)
            }
            _ => {
                *self = Slot::new(work);
                ("session/start", self.start.clone())
            }
        }
    }
}

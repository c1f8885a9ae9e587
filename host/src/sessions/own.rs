//! What a session does of its own: ends of work, releases, what its agent proposes.
//!
//! Nobody waits for it and nobody would try it again, so it is never dropped for a fault
//! that may pass: it stays first in its queue and is tried again after a pause, while
//! the mailbox goes on. What the policy refuses is dropped, and said.

use super::actor::{Actor, Stepped};
use super::effects::Next;
use super::hub::Pause;
use crate::engine::types::Input;
use crate::limits::{OWN_STEP_PAUSE_MS_MAX, OWN_STEP_PAUSE_MS_MIN, OWN_STEPS_AT_SHUTDOWN_MAX};
use std::time::Duration;

impl Actor {
    /// Does what is our own to do. A pause where the first of it must be tried again.
    pub(super) async fn do_own(&mut self) -> Option<Pause> {
        while let Some(next) = self.queue.pop_front() {
            let again = next.clone();
            let unloads = matches!(next, Next::Input(Input::Unload));
            let stepped = match self.input(next).await {
                Ok(input) => self.advance(input, None).await,
                Err(fault) => {
                    eprintln!("placet: session {}: no facts: {fault}", self.session);
                    Stepped::Failed
                }
            };
            match stepped {
                Stepped::Taken | Stepped::Refused => self.tries = 0,
                Stepped::Failed if self.lost => return None,
                // It stays loaded, and may be let go later.
                Stepped::Failed if unloads && self.done.is_none() => self.leaving = None,
                Stepped::Failed => {
                    self.queue.push_front(again);
                    self.tries = self.tries.saturating_add(1);
                    if self.gives_up() {
                        self.give_up();
                        return None;
                    }
                    return Some((self.hub.clock.sleep)(self.pause()));
                }
            }
        }
        None
    }

    /// Whether the session leaves now.
    pub(super) fn is_over(&self) -> bool {
        let works = !self.running.is_empty() || self.files > 0 || !self.queue.is_empty();
        self.lost || (self.leaving.is_some() && !works)
    }

    /// A host that stops does not wait for a log that takes nothing.
    fn gives_up(&self) -> bool {
        self.done.is_some() && self.tries >= OWN_STEPS_AT_SHUTDOWN_MAX
    }

    /// Ends what runs without a record of it: whoever loads the session next finds that
    /// its outcome is unknown.
    fn give_up(&mut self) {
        eprintln!(
            "placet: session {}: the log takes nothing, so what is left is settled when the \
             session is loaded next",
            self.session
        );
        self.queue.clear();
        self.interrupt_all();
    }

    /// Ends every command that runs here.
    pub(super) fn interrupt_all(&mut self) {
        for (_, running) in self.running.drain() {
            running.interrupt();
        }
    }

    fn pause(&self) -> Duration {
        let doublings = self.tries.saturating_sub(1).min(16);
        let pause = OWN_STEP_PAUSE_MS_MIN.saturating_mul(1_u64 << doublings);
        Duration::from_millis(pause.min(OWN_STEP_PAUSE_MS_MAX))
    }
}

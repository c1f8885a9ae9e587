//! Who waits for a session to grow.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// The receivers of each session's head.
#[derive(Default)]
pub(super) struct Watchers(Mutex<HashMap<String, watch::Sender<u64>>>);

impl Watchers {
    /// A receiver for `session`. Subscribe first, then read the head and raise it:
    /// in the other order an append in between would be missed.
    pub(super) fn subscribe(&self, session: &str) -> watch::Receiver<u64> {
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|_, sender| sender.receiver_count() > 0);
        senders.entry(session.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Tells that `session` has grown to `head`.
    pub(super) fn raise(&self, session: &str, head: u64) {
        let senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = senders.get(session) {
            sender.send_if_modified(|known| {
                let grown = head > *known;
                *known = head.max(*known);
                grown
            });
        }
    }

    /// Sets a fresh receiver to what its owner has seen.
    pub(super) fn seen(receiver: &mut watch::Receiver<u64>, after: u64) {
        if *receiver.borrow() > after {
            receiver.mark_changed();
        } else {
            receiver.mark_unchanged();
        }
    }
}

//! Looks whether rule files have changed, for what is pending: what is proposed later
//! meets the rules of its own moment anyway.

use super::actor::Message;
use super::hub::{Hub, Loaded};
use crate::limits::RULES_LOOK_MS;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

impl Hub {
    /// Begins to look, once for each host, as long as it lives.
    pub(super) fn watch_rules(self: &Arc<Hub>) {
        if self.watches.set(()).is_err() {
            return;
        }
        let hub = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut seen = HashMap::new();
            let mut pace = tokio::time::interval(Duration::from_millis(RULES_LOOK_MS));
            loop {
                pace.tick().await;
                match Weak::upgrade(&hub) {
                    Some(hub) => seen = hub.look(seen).await,
                    None => return,
                }
            }
        });
    }

    async fn look(&self, seen: HashMap<String, String>) -> HashMap<String, String> {
        let mut now = HashMap::new();
        for (session, Loaded { mailbox, ground }) in self.loaded().await {
            let digest = self.rules.at(ground.workspace.as_deref(), &[]).digest;
            // What a session is loaded with is judged by the rules of that moment.
            if seen.get(&session).is_some_and(|before| *before != digest) {
                // One that is gone has nothing pending here.
                let _ = mailbox.send(Message::Ruled).await;
            }
            now.insert(session, digest);
        }
        now
    }
}

//! A session that nobody watches is let go, and never while something in it is open.
//!
//! Time is the test's own: a wait ends when the test says so, and only then.

use crate::client::{Client, PATIENCE};
use crate::place::Place;
use crate::seeded::host_with;
use crate::steps;
use placet::config::UserConfig;
use placet::log::MemoryLog;
use placet::sessions::Clock;
use serde_json::json;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

const IDLE_SECONDS: u64 = 100_000;

/// Waits that end when the test says so.
#[derive(Default)]
struct Time {
    begun: AtomicUsize,
    passed: Notify,
    asked_for: Mutex<Vec<Duration>>,
}

impl Time {
    fn clock(self: &Arc<Time>) -> Clock {
        let time = Arc::clone(self);
        let sleep = move |duration| -> placet::sessions::Pause {
            let time = Arc::clone(&time);
            Box::pin(async move {
                let passed = time.passed.notified();
                tokio::pin!(passed);
                passed.as_mut().enable();
                time.asked_for.lock().unwrap().push(duration);
                time.begun.fetch_add(1, Ordering::SeqCst);
                passed.await;
            })
        };
        Clock { sleep: Box::new(sleep), ..Clock::system() }
    }

    fn waits(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// Ends the wait that begins next, or has begun since `waits` was counted.
    fn pass(&self, waits: usize) {
        let begun = Instant::now();
        while self.waits() == waits {
            assert!(begun.elapsed() < PATIENCE, "nobody waits");
            std::thread::sleep(Duration::from_millis(2));
        }
        self.passed.notify_waiters();
    }
}

/// Has the session's actor go through its mailbox twice: by then it waits, if it does.
fn settle(client: &mut Client, session: &str) {
    for _ in 0..2 {
        client.ok("view/unsubscribe", json!({"sessionId": session})).unwrap();
    }
}

/// The session was let go for the `nth` time.
fn closed(client: &Client, session: &str, nth: usize) {
    let seen = Cell::new(0);
    let frame = client
        .wait(&format!("session/closed number {nth}"), |frame| {
            let is = frame["method"] == "session/closed" && frame["params"]["sessionId"] == session;
            seen.set(seen.get() + usize::from(is));
            is && seen.get() == nth
        })
        .unwrap();
    assert_eq!(frame["params"]["reason"], "idle");
}

fn not_loaded(client: &mut Client, session: &str) {
    let mode = json!({
        "sessionId": session, "commandId": steps::command_id(), "mode": "denyUnmatched",
    });
    let refused = client.call("session/setApprovalMode", mode).unwrap().unwrap_err();
    assert_eq!(
        (refused["code"].as_i64(), &refused["data"]["kind"]),
        (Some(-32024), &json!("sessionNotLoaded"))
    );
}

#[test]
fn an_idle_session_is_let_go_and_never_one_with_open_work() {
    let (place, time) = (Place::new(), Arc::new(Time::default()));
    let mut config = UserConfig::default();
    config.serve.idle_unload_seconds = Some(IDLE_SECONDS);
    let (_runtime, mut client) = host_with(&place, MemoryLog::new(), config, time.clock());
    let client = &mut client;

    // Watched: it stays.
    let session = steps::start(&place, client, "promptUnmatched").unwrap();
    let turn = steps::turn(client, &session, "touch a").unwrap();
    let asked = steps::asked(client, &turn, 0).unwrap();
    assert_eq!(time.waits(), 0, "a watched session waits for nothing");

    // Unwatched, with an approval pending: it stays, whatever time passes.
    settle(client, &session);
    assert_eq!(time.waits(), 0, "a pending approval keeps its session");
    let listed = client.ok("approval/listPending", json!({"sessionId": session})).unwrap();
    assert_eq!(listed["approvals"][0]["approvalId"], asked["approvalId"]);

    // Decided from where nobody watches, and nothing left to do: it goes when the time is over.
    client.ok("approval/decide", steps::decision(&session, &asked, "allow_once")).unwrap();
    time.pass(0);
    closed(client, &session, 1);
    assert_eq!(time.asked_for.lock().unwrap()[0], Duration::from_secs(IDLE_SECONDS));
    assert!(place.workspace().join("a").exists(), "what was decided ran before");
    not_loaded(client, &session);

    // It comes back as it was, and a watched one stays.
    let resumed = steps::resume(client, &session).unwrap();
    assert_eq!(resumed["lastTurn"]["terminal"], "completed");
    let waits = time.waits();
    settle(client, &session);
    time.pass(waits);
    closed(client, &session, 2);
}

//! What a session does of its own while the log takes nothing: it waits, and is done
//! once the log takes records again.

use crate::client::Client;
use crate::lying::{Lie, LyingLog};
use crate::place::Place;
use crate::seeded::host_with;
use crate::steps;
use placet::config::UserConfig;
use placet::log::{Log as _, MemoryLog};
use placet::sessions::Clock;
use std::sync::Arc;
use tokio::runtime::Runtime;

fn host(place: &Place, log: &Arc<LyingLog>) -> (Runtime, Client) {
    host_with(place, Arc::clone(log) as _, UserConfig::default(), Clock::system())
}

/// Refuses what begins with a record of this kind a few times, and says which kinds the
/// log has in the end.
fn check(kind: &'static str) {
    let place = Place::new();
    let memory = MemoryLog::new();
    let log = LyingLog::new(memory.clone(), Lie::Refuse(kind, 3));
    let (runtime, mut client) = host(&place, &log);
    let session = steps::start(&place, &mut client, "promptUnmatched").unwrap();
    let turn = steps::turn(&mut client, &session, &steps::command(&place)).unwrap();
    steps::allow(&place, &mut client, &session, &turn).unwrap();
    let headers = runtime.block_on(memory.headers(&session)).unwrap();
    let count = |kind: &str| headers.iter().filter(|header| header.kind == kind).count();
    for kind in ["actionProposed", "executionStarted", "itemEnded", "turnCompleted"] {
        assert_eq!(count(kind), 1, "{kind}");
    }
    assert_eq!(place.runs(), 1);
    runtime.shutdown_background();
}

#[test]
fn what_a_session_does_of_its_own_waits_for_the_log() {
    for kind in ["actionProposed", "executionStarted", "itemEnded"] {
        println!("{kind}");
        check(kind);
    }
}

#[test]
fn a_host_stops_though_the_log_takes_nothing_and_ends_what_runs() {
    let place = Place::new();
    let memory = MemoryLog::new();
    let log = LyingLog::new(memory.clone(), Lie::None);
    let (runtime, mut client) = host(&place, &log);
    let session = steps::start(&place, &mut client, "promptUnmatched").unwrap();
    let turn = steps::turn(&mut client, &session, &steps::command(&place)).unwrap();
    for index in [0, 2] {
        let asked = steps::asked(&client, &turn, index).unwrap();
        client.ok("approval/decide", steps::decision(&session, &asked, "allow_once")).unwrap();
    }
    steps::begun(&client).unwrap();
    log.fill(true);
    client.eof();
    // The gate of the command stays shut: it ends because it is ended.
    place.no_survivor();
    // The next host says what it cannot know, and runs nothing again.
    log.fill(false);
    memory.kill(memory.host());
    let another = memory.another_host();
    let (next, mut client) =
        host_with(&place, another.clone(), UserConfig::default(), Clock::system());
    steps::resume(&mut client, &session).unwrap();
    let headers = next.block_on(another.headers(&session)).unwrap();
    let count = |kind: &str| headers.iter().filter(|header| header.kind == kind).count();
    assert_eq!((count("executionStarted"), count("itemEnded")), (1, 1));
    assert_eq!(place.runs(), 1);
    runtime.shutdown_background();
    next.shutdown_background();
}

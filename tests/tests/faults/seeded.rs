//! The checker of the matrix, checked: a seeded ack-before-append is caught.
//!
//! Hosts in this process, on a log in memory behind a wrapper that lies. A host
//! "crashes" with its runtime; what the wrapper kept back is gone.

use crate::client::{Client, Gone};
use crate::lying::{Lie, LyingLog};
use crate::place::{Place, binary, components};
use crate::steps;
use crate::told::{Held, violations};
use placet::config::UserConfig;
use placet::engine::Engine;
use placet::home::Home;
use placet::log::memory::Planned;
use placet::log::{Faults, Log, MemoryLog};
use placet::sessions::{Clock, Hub, HubOptions};
use placet::transport::{Listener, serve};
use serde_json::json;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Where the client stops and the host crashes.
#[derive(Clone, Copy, Debug)]
enum Until {
    Started,
    Asked,
    Decided,
    Completed,
}

const ALL: [Until; 4] = [Until::Started, Until::Asked, Until::Decided, Until::Completed];

#[test]
fn honest_log_passes() {
    for until in ALL {
        assert_eq!(crash(Lie::None, until), Vec::<String>::new(), "{until:?}");
    }
}

#[test]
fn append_after_the_ack_is_caught() {
    for until in ALL {
        let found = crash(Lie::Late, until);
        assert!(!found.is_empty(), "nothing was found missing after {until:?}");
    }
    // What a client is told first is the ack, and that alone must be enough.
    let found = crash(Lie::Late, Until::Started);
    assert!(found.iter().any(|what| what.contains(r#""result":{"#)), "{found:#?}");
}

#[test]
fn ack_without_append_is_caught() {
    // The first append is the session's, the second the turn's, the third the proposal's.
    let started = crash(Lie::Never(1), Until::Started);
    assert!(started.iter().any(|what| what.contains(r#""result":{"#)), "{started:#?}");
    let turn = crash(Lie::Never(2), Until::Asked);
    for told in ["startedNewTurn", "turn/started", "approval/requested", "approval/request\""] {
        assert!(turn.iter().any(|what| what.contains(told)), "{told}: {turn:#?}");
    }
    let proposal = crash(Lie::Never(3), Until::Asked);
    assert!(proposal.iter().all(|what| !what.contains("startedNewTurn")), "{proposal:#?}");
    assert!(proposal.iter().any(|what| what.contains("approval/requested")), "{proposal:#?}");
}

/// Runs a client against a host on a log that lies, crashes the host, and says
/// what the client was told that a fresh host does not find.
fn crash(lie: Lie, until: Until) -> Vec<String> {
    let place = Place::new();
    let log = MemoryLog::new();
    let (runtime, mut client) = host(&place, LyingLog::new(log.clone(), lie));
    let session = act(&place, &mut client, until).unwrap();
    runtime.shutdown_background();
    client.join_reader();
    let told = client.told();
    log.kill(log.host());
    let held = held(&place, &log.another_host(), &session);
    violations(&told, &held)
}

fn act(place: &Place, client: &mut Client, until: Until) -> Result<String, Gone> {
    let session = steps::start(place, client, "promptUnmatched")?;
    if let Until::Started = until {
        return Ok(session);
    }
    let turn = steps::turn(client, &session, &steps::command(place))?;
    let asked = steps::asked(client, &turn, 0)?;
    match until {
        Until::Started | Until::Asked => {}
        Until::Decided => {
            client.ok("approval/decide", steps::decision(&session, &asked, "allow_once"))?;
        }
        Until::Completed => steps::allow(place, client, &session, &turn)?,
    }
    Ok(session)
}

fn host(place: &Place, log: Arc<dyn Log>) -> (Runtime, Client) {
    host_with(place, log, UserConfig::default(), Clock::system())
}

/// A host with a runtime of its own, and a client that passed its handshake.
pub(crate) fn host_with(
    place: &Place,
    log: Arc<dyn Log>,
    config: UserConfig,
    clock: Clock,
) -> (Runtime, Client) {
    let home = Home::open(&place.home()).unwrap();
    let hub = Hub::new(HubOptions {
        engine: Engine::load(&components(), &home.cache()).unwrap(),
        log,
        home,
        config,
        clock,
        supervisor: binary(),
        script: std::collections::HashMap::new(),
        rules: None,
    });
    let listener = Listener {
        name: "test".to_owned(),
        seal: hub.config().stdio_seal().to_owned(),
        fingerprint: hub.config().fingerprint().to_owned(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (ours, its) = UnixStream::pair().unwrap();
    its.set_nonblocking(true).unwrap();
    runtime.spawn(async move {
        let (input, output) = tokio::net::UnixStream::from_std(its).unwrap().into_split();
        let input = tokio::io::BufReader::new(input);
        let faults = Arc::new(Faults::none());
        serve(hub, listener, input, output, faults, std::future::pending()).await.unwrap();
    });
    let mut client = Client::new(Closing(ours.try_clone().unwrap()), ours);
    steps::greet(&mut client).unwrap();
    (runtime, client)
}

/// Our half of a connection: the host reads its end when this is dropped.
pub(crate) struct Closing(pub(crate) UnixStream);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // The host may be gone already.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// What a fresh host shows of a session, before it is loaded.
fn held(place: &Place, log: &Arc<MemoryLog>, session: &str) -> Held {
    let (runtime, mut client) = host(place, log.clone());
    let headers = runtime.block_on(log.headers(session)).unwrap();
    if headers.is_empty() {
        return Held::default();
    }
    let events = steps::view(&mut client, session).unwrap();
    Held { headers, events }
}

#[test]
fn a_start_that_the_log_refused_can_be_tried_again() {
    let place = Place::new();
    let log = MemoryLog::new();
    let (_runtime, mut client) = host(&place, log.clone());
    let params = json!({"commandId": steps::command_id(), "workspaceRoot": place.workspace()});
    for planned in [Planned::Refused, Planned::UnknownLost] {
        log.plan(planned);
        let refused = client.call("session/start", params.clone()).unwrap();
        assert!(refused.is_err(), "{planned:?}: {refused:?}");
    }
    client.ok("session/start", params).unwrap();
}

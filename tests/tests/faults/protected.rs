//! A protected write in every situation in which it can be decided (docs/reliability.md).

use crate::aftermath::successor;
use crate::client::{Client, PATIENCE};
use crate::lying::{Lie, LyingLog};
use crate::place::{Host, Place};
use crate::seeded::{Closing, host_with};
use crate::steps;
use placet::config::UserConfig;
use placet::log::MemoryLog;
use placet::sessions::Clock;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Boundaries behind the decision at which a host is ended in search of a moment.
const BOUNDARIES_MAX: u64 = 60;

/// A place where settings of an editor can be written.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.workspace().join(".vscode")).unwrap();
    place
}

/// A protected write: one line for each time that it runs.
fn command(place: &Place) -> String {
    format!("echo {} >> .vscode/made", place.id)
}

fn runs(place: &Place) -> usize {
    let text = fs::read_to_string(place.workspace().join(".vscode/made")).unwrap_or_default();
    text.lines().filter(|line| *line == place.id).count()
}

/// It is shown as what it is, and can be allowed once or not.
fn is_protected(ask: &Value) {
    assert_eq!(ask["protectedWrite"], true, "{ask}");
    let choices = ask["availableChoices"].as_array().unwrap();
    let ids: Vec<&Value> = choices.iter().map(|choice| &choice["choiceId"]).collect();
    assert_eq!(ids, ["allow_once", "abort"], "{ask}");
}

/// A protected write that waits for its decision.
struct Scene {
    place: Place,
    host: Host,
    session: String,
    turn: String,
    ask: Value,
}

impl Scene {
    fn new() -> Scene {
        let place = place();
        let mut host = place.host();
        let session = steps::start(&place, &mut host.client, "promptUnmatched").unwrap();
        let turn = steps::turn(&mut host.client, &session, &command(&place)).unwrap();
        let ask = steps::asked(&host.client, &turn, 0).unwrap();
        is_protected(&ask);
        Scene { place, host, session, turn, ask }
    }

    fn subscribe(&mut self, is: bool) {
        let method = if is { "view/subscribe" } else { "view/unsubscribe" };
        self.host.client.ok(method, json!({"sessionId": self.session})).unwrap();
    }

    /// Whatever the first client chooses is refused, and it still waits.
    fn refused(&mut self) {
        for choice in ["allow_once", "abort"] {
            let decision = steps::decision(&self.session, &self.ask, choice);
            let reply = self.host.client.call("approval/decide", decision).unwrap();
            let error = reply.unwrap_err();
            assert_eq!(error["code"], -32054, "{error}");
            assert_eq!(error["data"]["approvalId"], self.ask["approvalId"]);
        }
        let pending = steps::pending(&mut self.host.client, &self.session).unwrap();
        assert_eq!(pending.len(), 1);
        assert_eq!(pending[0]["approvalId"], self.ask["approvalId"]);
        assert_eq!(runs(&self.place), 0);
    }

    /// Allowed by the first client it runs once.
    fn allowed(mut self) {
        let decision = steps::decision(&self.session, &self.ask, "allow_once");
        self.host.client.ok("approval/decide", decision).unwrap();
        assert_eq!(steps::ended(&self.host.client, &self.turn).unwrap(), "completed");
        assert_eq!(runs(&self.place), 1);
        assert_eq!(self.host.close().0.code(), Some(0));
    }

    /// A client on the host's socket that is subscribed and was asked.
    fn another(&self) -> Client {
        let mut client = connect(&self.place);
        steps::greet(&mut client).unwrap();
        client.ok("view/subscribe", json!({"sessionId": self.session})).unwrap();
        let ask = steps::asked(&client, &self.turn, 0).unwrap();
        assert_eq!(ask["approvalId"], self.ask["approvalId"]);
        client
    }
}

/// A connection on the socket, which the host sees end when the client's output does.
fn connect(place: &Place) -> Client {
    let until = Instant::now() + PATIENCE;
    loop {
        let sockets = fs::read_dir(place.home().join("hosts")).unwrap();
        let mut paths = sockets.map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.extension().is_some_and(|extension| extension == "sock"));
        if let Some(stream) = path.and_then(|path| UnixStream::connect(path).ok()) {
            return Client::new(Closing(stream.try_clone().unwrap()), stream);
        }
        assert!(Instant::now() < until, "the host opens no socket");
        placet_tests::live::processes::pause();
    }
}

#[test]
fn nobody_subscribed() {
    let mut scene = Scene::new();
    scene.subscribe(false);
    scene.refused();
    scene.subscribe(true);
    scene.allowed();
}

#[test]
fn the_decider_is_not_subscribed_and_another_is() {
    let mut scene = Scene::new();
    let mut another = scene.another();
    scene.subscribe(false);
    scene.refused();
    let decision = steps::decision(&scene.session, &scene.ask, "allow_once");
    another.ok("approval/decide", decision).unwrap();
    assert_eq!(steps::ended(&another, &scene.turn).unwrap(), "completed");
    assert_eq!(runs(&scene.place), 1);
    another.eof();
    assert_eq!(scene.host.close().0.code(), Some(0));
}

#[test]
fn the_decider_is_subscribed() {
    Scene::new().allowed();
}

#[test]
fn the_subscriber_is_gone_before_the_decision() {
    let mut scene = Scene::new();
    let mut another = scene.another();
    scene.subscribe(false);
    another.eof();
    another.join_reader();
    scene.refused();
    scene.subscribe(true);
    scene.allowed();
}

/// What the log of a host that was ended holds.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Undecided,
    Decided,
    Started,
}

/// Ends hosts at one boundary after the other, behind a decision that was sent, until one
/// has left its log like this.
fn ended_when(wanted: &Left) -> (Place, String, Value) {
    let mut first = None;
    let mut tried = Vec::new();
    for offset in 0..BOUNDARIES_MAX {
        let place = place();
        let log = place.home().with_file_name("boundaries.txt");
        let mut environment = vec![("PLACET_FAULT_LOG", log.display().to_string())];
        // The first host counts what lies before the decision, and is not ended.
        environment.extend(first.map(|k: u64| ("PLACET_FAULT_AT", (k + offset).to_string())));
        let mut host = place.host_with(&environment);
        let mut act = || {
            steps::greet(&mut host.client)?;
            let session = steps::start(&place, &mut host.client, "promptUnmatched")?;
            let turn = steps::turn(&mut host.client, &session, &command(&place))?;
            let ask = steps::asked(&host.client, &turn, 0)?;
            let passed = fs::read_to_string(&log).unwrap().lines().count() as u64;
            let decision = steps::decision(&session, &ask, "allow_once");
            let acked = host.client.call("approval/decide", decision).map(|_| ());
            Ok::<_, crate::client::Gone>((session, ask, passed, acked))
        };
        let acted = act();
        let (status, _) = host.close();
        let Ok((session, ask, passed, _)) = acted else { continue };
        if first.is_none() {
            // The order of things differs a little from run to run.
            first = Some(passed.saturating_sub(2));
            continue;
        }
        if status.code().is_some() {
            break;
        }
        place.no_survivor();
        let (_, headers) = place.session().unwrap();
        let has = |kind: &str| headers.iter().any(|header| header.kind == kind);
        let left = match (has("approvalResolved"), has("executionStarted")) {
            (false, _) => Left::Undecided,
            (true, false) => Left::Decided,
            (true, true) => Left::Started,
        };
        if left == *wanted {
            return (place, session, ask);
        }
        tried.push(left);
    }
    panic!("no host left its log {wanted:?}: {tried:?}");
}

#[test]
fn a_crash_before_the_terminal() {
    let (place, session, before) = ended_when(&Left::Undecided);
    assert_eq!(runs(&place), 0);
    let mut host = place.host();
    let resumed = steps::resume(&mut host.client, &session).unwrap();
    let pending = steps::pending(&mut host.client, &session).unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    let ask = pending[0].clone();
    assert_eq!(ask["approvalId"], successor(before["approvalId"].as_str().unwrap()));
    is_protected(&ask);
    let turn = resumed["session"]["activeTurnId"].as_str().unwrap().to_owned();
    let mut scene = Scene { place, host, session, turn, ask };
    scene.subscribe(false);
    scene.refused();
    scene.subscribe(true);
    scene.allowed();
}

#[test]
fn a_crash_after_the_terminal() {
    let (place, session, before) = ended_when(&Left::Decided);
    let mut host = place.host();
    let client = &mut host.client;
    steps::resume(client, &session).unwrap();
    assert_eq!(steps::pending(client, &session).unwrap(), Vec::<Value>::new());
    let events = steps::view(client, &session).unwrap();
    let ended: Vec<&Value> = events
        .iter()
        .filter(|event| event["method"] == "item/completed")
        .map(|event| &event["params"]["item"])
        .filter(|item| item["kind"] == "toolCall")
        .collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0]["status"], "cancelled", "{ended:?}");
    let (_, headers) = place.session().unwrap();
    assert!(headers.iter().all(|header| header.kind != "executionStarted"));
    // What was allowed once is asked about once more.
    let turn = steps::turn(client, &session, &command(&place)).unwrap();
    let ask = steps::asked(client, &turn, 0).unwrap();
    assert_ne!(ask["approvalId"], before["approvalId"]);
    is_protected(&ask);
    assert_eq!(runs(&place), 0);
    Scene { place, host, session, turn, ask }.allowed();
}

#[test]
fn the_target_is_linked_anew_between_decision_and_release() {
    let place = place();
    let work = place.workspace();
    fs::create_dir(work.join(".idea")).unwrap();
    symlink(".vscode", work.join("settings")).unwrap();
    let log = LyingLog::new(MemoryLog::new(), Lie::None);
    let (runtime, mut client) =
        host_with(&place, log.clone(), UserConfig::default(), Clock::system());
    let session = steps::start(&place, &mut client, "promptUnmatched").unwrap();
    let text = format!("echo {} >> settings/made", place.id);
    let turn = steps::turn(&mut client, &session, &text).unwrap();
    let ask = steps::asked(&client, &turn, 0).unwrap();
    is_protected(&ask);
    let settings = work.join("settings");
    log.after("approvalResolved", move || {
        fs::remove_file(&settings).unwrap();
        symlink(".idea", &settings).unwrap();
    });
    client.ok("approval/decide", steps::decision(&session, &ask, "allow_once")).unwrap();
    let frame = client
        .wait("the end of the item", |frame| {
            frame["method"] == "item/completed" && frame["params"]["item"]["kind"] == "toolCall"
        })
        .unwrap();
    let item = &frame["params"]["item"];
    assert_eq!(
        (&item["status"], &item["failureKind"]),
        (&json!("failed"), &json!("changedSinceDecision"))
    );
    let why = item["failureReason"].as_str().unwrap();
    assert!(why.contains(": settings/made leads to ") && why.contains("/.idea/made now"), "{why}");
    assert!(!work.join(".vscode/made").exists() && !work.join(".idea/made").exists());
    runtime.shutdown_background();
}

#[test]
fn an_earlier_grant_never_settles_it_not_even_after_a_crash() {
    let place = place();
    let (work, text) = (place.workspace(), "touch x/made");
    fs::create_dir(work.join("x")).unwrap();
    let mut host = place.host();
    let client = &mut host.client;
    let session = steps::start(&place, client, "promptUnmatched").unwrap();
    let turn = steps::turn(client, &session, text).unwrap();
    let ask = steps::asked(client, &turn, 0).unwrap();
    assert_eq!(ask["protectedWrite"], false);
    client.ok("approval/decide", steps::decision(&session, &ask, "allow_session")).unwrap();
    steps::ended(client, &turn).unwrap();
    // The grant counts while the path is what it was.
    fs::remove_file(work.join("x/made")).unwrap();
    let turn = steps::turn(client, &session, text).unwrap();
    steps::ended(client, &turn).unwrap();
    assert!(work.join("x/made").exists());

    fs::rename(work.join("x"), work.join("kept")).unwrap();
    symlink(".vscode", work.join("x")).unwrap();
    let turn = steps::turn(client, &session, text).unwrap();
    is_protected(&steps::asked(client, &turn, 0).unwrap());
    host.kill();
    place.no_survivor();
    // The path is an ordinary one again; what a person was asked about stays asked.
    fs::remove_file(work.join("x")).unwrap();
    fs::create_dir(work.join("x")).unwrap();
    let mut host = place.host();
    let client = &mut host.client;
    steps::resume(client, &session).unwrap();
    let pending = steps::pending(client, &session).unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    is_protected(&pending[0]);
    assert!(!work.join("x/made").exists() && !work.join(".vscode/made").exists());
    client.ok("approval/decide", steps::decision(&session, &pending[0], "allow_once")).unwrap();
    steps::ended(client, &turn).unwrap();
    assert!(work.join("x/made").exists());
    assert_eq!(host.close().0.code(), Some(0));
}

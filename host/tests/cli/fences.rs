//! A component that misbehaves costs its own call and nothing else.

use crate::common::{Home, Host, Parts, of_turn};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What one call may take at most, with the host around it on a busy machine. The
/// fences themselves are a second of epoch ticks and less than that in fuel.
const BUDGET: Duration = Duration::from_secs(10);

/// More than anybody needs to say why.
const TEXT_BYTES: usize = 4096;

/// A host with the hostile component behind one mode's name.
fn host(mode: &str) -> (Parts, Home, Host) {
    let parts = Parts::with(mode, "hostile");
    let home = Home::with(parts.folder());
    let host = Host::start(&home);
    (parts, home, host)
}

/// The verdict on the last action of a session.
fn verdict(home: &Home, session: &str) -> Value {
    home.bodies(session, "actionProposed").pop().unwrap()["verdict"].clone()
}

/// The command ends in a recorded denial within its budget, and the host goes on answering meanwhile.
fn denied(home: &Home, host: &mut Host, session: &str, text: &str) -> Value {
    let began = Instant::now();
    let turn = host.turn(session, text);
    host.call("session/list", json!({}));
    let item = host.ended(&turn);
    assert!(began.elapsed() < BUDGET, "{text}: {:?}", began.elapsed());
    assert_eq!(
        (&item["status"], &item["failureKind"]),
        (&json!("rejected"), &json!("approvalDenied"))
    );
    assert!(!host.frames.iter().any(|frame| of_turn(frame, "approval/requested", &turn)));
    let verdict = verdict(home, session);
    assert_eq!(verdict["decision"], "deny", "{text}: {verdict}");
    verdict
}

/// A command that the hostile component has nothing against is asked about, allowed, and runs.
fn works(home: &Home, host: &mut Host, session: &str, name: &str) {
    let turn = host.turn(session, &format!("touch {name}"));
    let ask = host.event("approval/requested", &turn);
    host.call("approval/decide", Host::decision(&ask, "allow_once"));
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert!(home.workspace().join(name).exists());
}

#[test]
fn whatever_a_mode_does_ends_in_a_recorded_denial() {
    let (_parts, home, mut host) = host("promptUnmatched");
    let session = host.session(&home, "promptUnmatched");
    for (text, word) in [
        // Out of fuel, or out of time where the machine is busy.
        ("spin && touch ran", "wasm trap"),
        ("recurse && touch ran", "call stack exhausted"),
        ("allocate && touch ran", "unreachable"),
        ("trap && touch ran", "unreachable"),
        ("nonsense && touch ran", "colourless green ideas"),
        ("rant && touch ran", "no no no"),
        ("permit && touch ran", "which that name may not answer"),
    ] {
        println!("{text}");
        let verdict = denied(&home, &mut host, &session, text);
        let fault = verdict["fault"].as_str().unwrap_or_default();
        assert!(fault.contains("promptUnmatched") && fault.contains(word), "{text}: {verdict}");
        assert_eq!(fault.lines().count(), 1, "{fault}");
        assert!(fault.len() < TEXT_BYTES, "{} bytes", fault.len());
        let program = text.split(' ').next().unwrap();
        works(&home, &mut host, &session, &format!("after-{program}"));
    }
    assert!(!home.workspace().join("ran").exists());
    let other = host.session(&home, "promptUnmatched");
    works(&home, &mut host, &other, "normal");
    assert_eq!(host.close(), (0, String::new()));
    let verified = home.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.err);
}

#[test]
fn a_long_reason_is_cut_short() {
    let (_parts, home, mut host) = host("promptUnmatched");
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "lecture && touch ran");
    let ask = host.event("approval/requested", &turn);
    host.call("approval/decide", Host::decision(&ask, "abort"));
    assert_eq!(host.ended(&turn)["status"], "rejected");
    let reason = verdict(&home, &session)["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("la la la") && reason.len() < TEXT_BYTES, "{} bytes", reason.len());
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn sessions_beside_one_that_spins_are_answered() {
    let (_parts, home, mut host) = host("promptUnmatched");
    let spinning: Vec<String> = (0..6).map(|_| host.session(&home, "promptUnmatched")).collect();
    let other = host.session(&home, "promptUnmatched");
    let began = Instant::now();
    let turns: Vec<String> =
        spinning.iter().map(|session| host.turn(session, "spin; touch ran")).collect();
    works(&home, &mut host, &other, "normal");
    for turn in &turns {
        assert_eq!(host.ended(turn)["status"], "rejected");
    }
    let budget = BUDGET * u32::try_from(turns.len()).unwrap();
    assert!(began.elapsed() < budget, "{:?}", began.elapsed());
    assert!(!home.workspace().join("ran").exists());
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_mode_remembers_nothing() {
    // Behind allowAll its second answer would be taken, if there ever were one.
    let (_parts, home, mut host) = host("allowAll");
    let session = host.session(&home, "allowAll");
    for _ in 0..4 {
        let verdict = denied(&home, &mut host, &session, "remember && touch ran");
        let answer = (&verdict["answer"]["decision"], &verdict["fault"]);
        assert_eq!(answer, (&json!("deny"), &Value::Null), "{verdict}");
    }
    let turn = host.turn(&session, "permit; touch permitted");
    assert_eq!(host.ended(&turn)["status"], "completed", "its answers are taken otherwise");
    assert!(home.workspace().join("permitted").exists());
    assert!(!home.workspace().join("ran").exists());
    assert_eq!(host.close(), (0, String::new()));
}

//! The socket of a host: who reaches it, what it may, and what its end does.

use crate::common::{Home, Host, Peer, command_id, sockets};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn configure(home: &Home, text: &str) {
    fs::write(home.path().join("placet.toml"), text).unwrap();
}

#[test]
fn every_host_has_one_of_its_own_and_takes_it_away() {
    let home = Home::new();
    let mut first = Host::start(&home);
    let mut second = Host::start(&home);
    let both = sockets(&home);
    assert_eq!(both.len(), 2);
    assert_eq!(mode(&home.path().join("hosts")), 0o700);
    for socket in &both {
        assert_eq!(mode(socket), 0o600);
        assert!(socket.with_extension("lock").exists(), "it lies beside its host's life");
        let listed = Peer::open(socket).call("session/list", json!({}));
        assert!(listed["sessions"].is_array());
    }
    assert_eq!(first.close(), (0, String::new()));
    assert_eq!(sockets(&home).len(), 1);
    second.signal(rustix::process::Signal::KILL);
    second.exit();
    assert_eq!(sockets(&home).len(), 1, "a host that was killed leaves it");
    let mut third = Host::start(&home);
    let left = sockets(&home);
    assert!(left.len() == 1 && !both.contains(&left[0]), "the next host takes it away: {left:?}");
    assert_eq!(third.close(), (0, String::new()));
}

#[test]
fn it_can_be_turned_off() {
    let home = Home::new();
    configure(&home, "[serve]\nsocket = false\n");
    let mut host = Host::start(&home);
    assert!(sockets(&home).is_empty());
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_home_with_a_long_path_has_one_too() {
    let home = Home::below(&format!("{}/{}", "d".repeat(100), "e".repeat(100)));
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "touch made");
    let ask = host.event("approval/requested", &turn);
    assert!(sockets(&home)[0].as_os_str().len() > 200);
    let approval = ask["approvalId"].as_str().unwrap();
    let ended = home.run(&["decide", approval, "allow_once"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    host.ended(&turn);
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_connection_that_ends_leaves_everything_as_it_is() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let mut leaves = Peer::of(&home);
    let mut stays = Peer::of(&home);
    for peer in [&mut leaves, &mut stays] {
        peer.call("view/subscribe", json!({"sessionId": session}));
    }
    let turn = host.turn(&session, "touch made");
    let ask = host.event("approval/requested", &turn);
    assert_eq!(leaves.event("approval/request")["approvalId"], ask["approvalId"]);
    drop(leaves);
    assert_eq!(stays.event("approval/request")["approvalId"], ask["approvalId"]);
    let pending = stays.call("approval/listPending", json!({"sessionId": session}));
    assert_eq!(pending["approvals"][0]["approvalId"], ask["approvalId"], "still pending");
    stays.call("approval/decide", Host::decision(&ask, "allow_once"));
    let resolved = host.event("approval/resolved", &turn);
    assert_eq!(stays.event("approval/resolved"), resolved, "both are told");
    assert_eq!(host.ended(&turn)["status"], "completed");
    // The host ends with its own connection, and tells who is there.
    assert_eq!(host.close(), (0, String::new()));
    assert_eq!(stays.event("session/closed")["reason"], "hostShutdown");
    assert!(stays.next().is_none(), "the connection ends");
}

#[test]
fn who_says_everything_at_once_gets_every_answer() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let mut peer = Peer::of(&home);
    peer.send("view/subscribe", json!({"sessionId": session}));
    peer.send("session/list", json!({}));
    peer.ends();
    let mut answers = Vec::new();
    while let Some(frame) = peer.next() {
        answers.push(frame["id"].as_u64().unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, [2, 3], "and nothing else");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn its_clients_reach_no_further_than_its_seal() {
    let start = |config: &str, mode: Option<&str>| {
        let home = Home::new();
        configure(&home, config);
        let mut host = Host::start(&home);
        let answer = Peer::of(&home).start(&home, mode);
        assert_eq!(host.close(), (0, String::new()));
        answer
    };
    let refused = |config: &str, mode: &str| {
        let answer = start(config, Some(mode));
        assert_eq!(answer["error"]["data"]["reason"], "approval_mode_ceiling", "{answer}");
    };
    let allowed = |config: &str, mode: Option<&str>, expected: &str| {
        let answer = start(config, mode);
        assert_eq!(answer["result"]["session"]["approvalMode"]["mode"], expected, "{answer}");
    };
    refused("", "allowAll");
    refused("", "onRequest");
    allowed("", Some("promptUnmatched"), "promptUnmatched");
    allowed("", Some("denyUnmatched"), "denyUnmatched");
    refused("[authority]\nsocket = \"denyUnmatched\"\n", "promptUnmatched");
    allowed("[authority]\nsocket = \"denyUnmatched\"\n", None, "denyUnmatched");
    allowed("[authority]\nsocket = \"allowAll\"\n", Some("allowAll"), "allowAll");
    // The seal of stdin and stdout is another one.
    refused("[authority]\nstdio = \"allowAll\"\n", "allowAll");
}

#[test]
fn a_mode_is_not_raised_by_the_socket() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "allowAll");
    let mut peer = Peer::of(&home);
    let mode = |mode: &str| json!({"sessionId": session, "commandId": command_id(), "mode": mode});
    peer.call("session/setApprovalMode", mode("denyUnmatched"));
    let error = peer.refused("session/setApprovalMode", mode("allowAll"));
    assert_eq!(error["data"]["reason"], "approval_mode_ceiling");
    host.call("session/setApprovalMode", mode("allowAll"));
    // A turn that the socket started runs under the socket's seal all the same.
    peer.call("view/subscribe", json!({"sessionId": session}));
    let input = json!([{"type": "text", "text": "touch made"}]);
    let params = json!({"sessionId": session, "commandId": command_id(), "input": input});
    peer.call("turn/start", params);
    assert_eq!(peer.event("approval/request")["sessionId"], session.as_str());
    assert!(!home.workspace().join("made").exists());
    host.close();
}

#[test]
fn a_host_serves_so_many_connections_and_no_more() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let mut peers: Vec<Peer> = (0..64).map(|_| Peer::of(&home)).collect();
    let mut late = Peer::silent(&sockets(&home)[0]);
    let refused = late.next().unwrap();
    assert_eq!(refused["error"]["data"]["kind"], "overloaded", "{refused}");
    assert!(late.next().is_none());
    for peer in &mut peers {
        peer.call("session/list", json!({}));
    }
    drop(peers);
    // Once they are gone there is room again.
    let free = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let mut peer = Peer::silent(&sockets(&home)[0]);
        peer.send("initialize", json!({"clientInfo": {"name": "late", "version": "1"}}));
        peer.next().filter(|frame| frame.get("result").is_some())
    });
    assert!(free.is_some());
    assert_eq!(host.close(), (0, String::new()));
}

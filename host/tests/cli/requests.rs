//! Requests that cannot be served: each has its typed error, and writes nothing.

use crate::common::{Home, Host, command_id};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// A host with one session.
fn host() -> (Home, Host, String) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    (home, host, session)
}

/// `base` with the members of `more`.
fn with(base: &Value, more: Value) -> Value {
    let mut params = base.clone();
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

/// The request is refused with this code and exactly this data.
fn check(host: &mut Host, method: &str, params: &Value, code: i32, data: &Value) {
    let error = host.refused(method, params.clone());
    let expected = with(data, json!({"retryable": false}));
    assert_eq!((&error["code"], &error["data"]), (&json!(code), &expected), "{method} {params}");
    assert_ne!(error["message"].as_str().unwrap_or_default(), "", "{method}");
}

fn invalid(host: &mut Host, method: &str, params: &Value) {
    check(host, method, params, -32602, &json!({"kind": "invalidParams"}));
}

fn rejected(host: &mut Host, method: &str, params: &Value, reason: &str) {
    let data =
        json!({"kind": "commandRejected", "reason": reason, "commandId": params["commandId"]});
    check(host, method, params, -32030, &data);
}

#[test]
fn a_cursor_that_was_never_minted_is_a_missing_anchor() {
    let (home, mut host, session) = host();
    let before = home.records(&session).len();
    let head = host.call("session/read", json!({"sessionId": session}))["viewCursor"].clone();
    let beyond = (head.as_str().unwrap().parse::<u64>().unwrap() + 1).to_string();
    for cursor in ["", "x", "-1", "1.x", "1.", ".1", "1.2.3", "v:s:1", " 1", "1e0", &beyond] {
        let data = json!({"kind": "notFound", "reason": "missingAnchor", "anchor": cursor});
        for (method, member) in
            [("view/page", "cursor"), ("view/subscribe", "after"), ("session/resume", "cursor")]
        {
            let id = command_id();
            let params = json!({"sessionId": session, "limit": 5, "commandId": id, member: cursor});
            check(&mut host, method, &params, -32011, &data);
        }
    }
    for cursor in ["0", "1", "1.7", head.as_str().unwrap()] {
        host.call("view/page", json!({"sessionId": session, "limit": 5, "cursor": cursor}));
    }
    assert_eq!(home.records(&session).len(), before);
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_page_is_asked_for_in_full() {
    let (_home, mut host, session) = host();
    let page = json!({"sessionId": session, "limit": 5});
    invalid(&mut host, "view/page", &json!({"sessionId": session}));
    invalid(&mut host, "view/page", &json!({"limit": 5}));
    for wrong in [
        json!({"limit": 0}),
        json!({"limit": 1001}),
        json!({"limit": -1}),
        json!({"limit": 1.5}),
        json!({"limit": "5"}),
        json!({"limit": null}),
        json!({"maxBytes": 0}),
        json!({"maxBytes": -1}),
        json!({"maxBytes": "1"}),
        json!({"direction": "up"}),
        json!({"direction": 1}),
        json!({"cursor": 3}),
        json!({"sessionId": null}),
    ] {
        invalid(&mut host, "view/page", &with(&page, wrong));
    }
    let data =
        json!({"kind": "noBoundary", "anchor": "latestCompaction", "latestBoundaryCursor": null});
    check(
        &mut host,
        "view/page",
        &with(&page, json!({"anchor": "latestCompaction"})),
        -32042,
        &data,
    );
    host.call(
        "view/page",
        with(&page, json!({"cursor": null, "direction": "backward", "maxBytes": 1})),
    );
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_session_starts_where_it_can_work() {
    let (home, mut host, _) = host();
    let file = home.workspace().join("file");
    fs::write(&file, "").unwrap();
    let root = home.workspace();
    let start = |more: Value| with(&json!({"commandId": command_id()}), more);
    for wrong in [
        json!({"workspaceRoot": home.workspace().join("nowhere")}),
        json!({"workspaceRoot": file}),
        json!({"workspaceRoot": ""}),
        json!({"workspaceRoot": "~"}),
        json!({"workspaceRoot": 7}),
        json!({"workspaceRoot": "/a\u{0}b"}),
        json!({"workspaceRoots": []}),
        json!({"workspaceRoots": root}),
        json!({"workspaceRoots": [7]}),
        json!({"workspaceRoot": root, "workspaceRoots": ["/"]}),
        json!({"sessionId": ""}),
        json!({"sessionId": "../escape"}),
        json!({"sessionId": "a".repeat(129)}),
        json!({"worktree": {}}),
        json!({"limits": {}}),
        json!({"commandId": "no-uuid"}),
        json!({"config": null}),
        json!({"recoveryMode": null}),
    ] {
        invalid(&mut host, "session/start", &start(wrong));
    }
    let count = |host: &mut Host| {
        host.call("session/list", json!({}))["sessions"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut host), 1);
    let named =
        start(json!({"workspaceRoot": root, "workspaceRoots": [root], "sessionId": "my-Own_1"}));
    assert_eq!(host.call("session/start", named)["session"]["sessionId"], "my-Own_1");

    for text in
        ["[authority]\nstdio = \"allowAll\"\n", "[authority]\nwithhold = [\"askMe\"]\n", "["]
    {
        fs::write(home.workspace().join("placet.toml"), text).unwrap();
        rejected(
            &mut host,
            "session/start",
            &start(json!({"workspaceRoot": root})),
            "workspace_config_invalid",
        );
    }
    let narrow = "[authority]\nwithhold = [\"allowAll\"]\n";
    fs::write(home.workspace().join("placet.toml"), narrow).unwrap();
    let wide = start(json!({"workspaceRoot": root, "approvalMode": "allowAll"}));
    let answer = host.send("session/start", wide.clone());
    let answer = host.answer(answer);
    assert_ne!(answer["result"]["session"]["approvalMode"]["mode"], "allowAll", "{answer}");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_resume_names_nothing_that_this_host_lacks() {
    let (_home, mut host, session) = host();
    let resume =
        |more: Value| with(&json!({"sessionId": session, "commandId": command_id()}), more);
    for wrong in [
        json!({"permissionProfile": null}),
        json!({"workspaceRoots": null}),
        json!({"modelId": null}),
        json!({"recoveryMode": null}),
        json!({"config": null}),
        json!({"cursor": 7}),
        json!({"excludeItems": "yes"}),
        json!({"sessionId": 7}),
        json!({"commandId": "x"}),
    ] {
        invalid(&mut host, "session/resume", &resume(wrong));
    }
    let profile = resume(json!({"permissionProfile": ":read-only"}));
    rejected(&mut host, "session/resume", &profile, "permission_profile_unknown");
    host.call("session/resume", resume(json!({"cursor": null, "excludeItems": true})));
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_turn_is_text_and_waits_its_turn() {
    let (home, mut host, session) = host();
    let text = json!([{"type": "text", "text": "touch x"}]);
    let turn = |more: Value| {
        with(&json!({"sessionId": session, "commandId": command_id(), "input": text}), more)
    };
    for input in [
        json!({}),
        json!([{}]),
        json!([7]),
        json!([{"type": "text", "text": null}]),
        json!([{"type": "image", "text": "x"}]),
        json!([{"type": "text", "text": "a"}, {"type": "x"}]),
    ] {
        invalid(&mut host, "turn/start", &turn(json!({"input": input})));
    }
    invalid(&mut host, "turn/start", &turn(json!({"ifBusy": 7})));
    let first = host.turn(&session, "touch asked");
    host.event("approval/requested", &first);
    rejected(&mut host, "turn/start", &turn(json!({"ifBusy": "steer"})), "if_busy_unsupported");
    for word in ["reject", "QUEUE"] {
        invalid(&mut host, "turn/start", &turn(json!({"ifBusy": word})));
    }
    for _ in 0..32 {
        let ack = host.call("turn/start", turn(json!({"ifBusy": "queue"})));
        assert_eq!(
            (&ack["startedNewTurn"], &ack["disposition"]),
            (&json!(false), &json!("queued"))
        );
    }
    rejected(&mut host, "turn/start", &turn(json!({})), "turn_queue_full");
    assert_eq!(host.close(), (0, String::new()));
    assert_eq!(home.bodies(&session, "turnQueued").len(), 32);
}

#[test]
fn what_a_person_must_see_is_decided_by_one_who_sees_it() {
    let (home, mut host, session) = host();
    // Nobody can tell where this leads, so that it counts as protected.
    let looped = home.workspace().join("loop");
    symlink(&looped, &looped).unwrap();
    let turn = host.turn(&session, "echo hi > loop");
    let ask = host.event("approval/requested", &turn);
    host.call("view/unsubscribe", json!({"sessionId": session}));
    let data = json!({"kind": "approvalReviewerUnavailable", "approvalId": ask["approvalId"]});
    for choice in ["allow_once", "abort"] {
        check(&mut host, "approval/decide", &Host::decision(&ask, choice), -32054, &data);
    }
    let pending = host.call("approval/listPending", json!({"sessionId": session}));
    assert_eq!(pending["approvals"].as_array().unwrap().len(), 1);
    host.call("view/subscribe", json!({"sessionId": session}));
    host.call("approval/decide", Host::decision(&ask, "abort"));
    assert_eq!(host.ended(&turn)["status"], "rejected");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn methods_and_subscriptions_that_are_not_there() {
    let (_home, mut host, session) = host();
    let nobody = json!({"sessionId": "nobody", "limit": 5});
    for method in ["view/subscribe", "view/unsubscribe", "view/page"] {
        let data = json!({"kind": "sessionNotFound", "sessionId": "nobody"});
        check(&mut host, method, &nobody, -32020, &data);
        invalid(&mut host, method, &json!({"limit": 5}));
    }
    for method in
        ["", "Session/list", "session/list ", "userInput/answer", "approval/request", "rpc.x"]
    {
        let params = json!({"sessionId": session, "commandId": command_id()});
        check(&mut host, method, &params, -32601, &json!({"kind": "methodNotFound"}));
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_history_that_fits_no_frame_is_left_out() {
    let (home, mut host, _) = host();
    let session = host.session(&home, "denyUnmatched");
    let text = format!("x {}", "y".repeat(120 * 1024));
    // Each turn has its text in a message and twice in an item that begins and ends.
    for _ in 0..16 {
        let turn = host.turn(&session, &text);
        host.ended(&turn);
    }
    let whole = json!({"sessionId": session, "excludeItems": false});
    let history = host.call("session/read", whole.clone())["history"].clone();
    assert_eq!(
        (&history["mode"], &history["noneReason"]),
        (&json!("none"), &json!("historyBudget"))
    );
    assert_eq!(history["items"], Value::Null);
    // What a resume leaves out, pages have.
    let (mut cursor, mut items) = (Value::Null, 0);
    loop {
        let page =
            json!({"sessionId": session, "limit": 1000, "cursor": cursor, "maxBytes": 300_000});
        let page = host.call("view/page", page);
        let events = page["events"].as_array().unwrap();
        let bytes = page["events"].to_string().len();
        assert!(bytes <= 300_000 || events.len() == 1, "{} events of {bytes} bytes", events.len());
        items += events.iter().filter(|event| event["method"] == "item/completed").count();
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(items, 32, "a message and a tool call for each turn");
    assert_eq!(host.close(), (0, String::new()));
}

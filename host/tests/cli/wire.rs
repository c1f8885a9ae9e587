//! Frames: what is answered to which line, and what a client is told.

use crate::common::{Home, Host, command_id, is_method};
use serde_json::{Value, json};

const FRAME_BYTES_MAX: usize = 10 * 1024 * 1024;

/// The connection lives.
fn alive(host: &mut Host) {
    assert!(host.call("session/list", json!({}))["sessions"].is_array());
}

/// Sends a line; the next frame is this error for this id, and the connection lives.
fn refused(host: &mut Host, line: &[u8], code: i32, kind: &str, id: &Value) -> Value {
    let from = host.frames.len();
    host.line(line);
    let frame = host.wait("an error", from, |_| true);
    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
    let error = &frame["error"];
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(code), &json!(kind)), "{shown}");
    assert_eq!(frame["id"], *id, "{shown}: {frame}");
    assert_eq!((&frame["jsonrpc"], frame.get("result")), (&json!("2.0"), None), "{shown}");
    assert_ne!(error["message"].as_str().unwrap_or_default(), "", "{shown}");
    alive(host);
    error.clone()
}

#[test]
fn lines_that_are_no_json_are_parse_errors() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let deep = [vec![b'['; 200], vec![b']'; 200]].concat();
    for line in [
        br#"{"jsonrpc":"2.0","id":1}}"#.as_slice(),
        br#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        br#"{"jsonrpc":"2.0","id":1e999,"method":"session/list"}"#,
        b"\xef\xbb\xbf{}",
        b"{}\r{}",
        b"\0",
        b"nul",
        &deep,
    ] {
        refused(&mut host, line, -32700, "parseError", &Value::Null);
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn json_that_is_no_request_is_an_invalid_request() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let nobody = Value::Null;
    for (line, id) in [
        (r"null", &nobody),
        (r"7", &nobody),
        (r#""session/list""#, &nobody),
        (r"[]", &nobody),
        (r#"[{"jsonrpc":"2.0","id":70,"method":"session/list"}]"#, &nobody),
        (r"{}", &nobody),
        (r#"{"jsonrpc":"2.0","id":70}"#, &json!(70)),
        (r#"{"jsonrpc":"2.0","id":70,"method":7}"#, &json!(70)),
        (r#"{"jsonrpc":"2.0","id":70,"method":null,"params":{}}"#, &json!(70)),
        (r#"{"jsonrpc":"1.0","id":70,"method":"session/list"}"#, &json!(70)),
        (r#"{"jsonrpc":2.0,"id":"70","method":"session/list"}"#, &json!("70")),
        (r#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#, &nobody),
        (r#"{"jsonrpc":"2.0","id":true,"method":"session/list"}"#, &nobody),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"session/list"}"#, &nobody),
        // Numbers that would not come back as they were sent.
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#, &nobody),
        (r#"{"jsonrpc":"2.0","id":1e2,"method":"session/list"}"#, &nobody),
        (r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"session/list"}"#, &nobody),
        (r#"{"jsonrpc":"2.0","id":{},"method":"session/list"}"#, &nobody),
    ] {
        refused(&mut host, line.as_bytes(), -32600, "invalidRequest", id);
    }
    for params in ["null", "[]", "7", r#""x""#, "true"] {
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":"p","method":"session/list","params":{params}}}"#);
        refused(&mut host, line.as_bytes(), -32602, "invalidParams", &json!("p"));
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_command_without_an_id_does_nothing() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "allowAll");
    let input = json!([{"type": "text", "text": "touch ran"}]);
    let params = json!({"sessionId": session, "commandId": command_id(), "input": input});
    let frame = json!({"jsonrpc": "2.0", "method": "turn/start", "params": params});
    host.line(frame.to_string().as_bytes());
    host.line(br#"{"jsonrpc":"2.0","method":"initialize"}"#);
    host.line(br#"{"jsonrpc":"2.0","method":"initialized"}"#);
    alive(&mut host);
    assert!(!host.frames.iter().any(|frame| is_method(frame, "turn/started")));
    assert_eq!(host.close(), (0, String::new()));
    assert_eq!(home.bodies(&session, "turnStarted"), [] as [Value; 0]);
}

/// A request of exactly this many bytes, with the padding in or before its id.
fn padded(size: usize, head: &str, tail: &str) -> Vec<u8> {
    let padding = "x".repeat(size - head.len() - tail.len());
    [head, &padding, tail].concat().into_bytes()
}

#[test]
fn the_cap_is_ten_mebibytes_to_the_byte() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let head = r#"{"jsonrpc":"2.0","id":"big","method":"session/list","params":{"pad":""#;
    for end in ["\"}}", "\"}}\r"] {
        let line_end = end.len() - 3;
        let from = host.frames.len();
        host.line(&padded(FRAME_BYTES_MAX + line_end, head, end));
        let answer = host.wait("an answer", from, |frame| frame["id"] == "big");
        assert!(answer["result"]["sessions"].is_array(), "{answer}");
        let line = padded(FRAME_BYTES_MAX + line_end + 1, head, end);
        let error = refused(&mut host, &line, -32002, "inputTooLarge", &json!("big"));
        assert_eq!(error["data"]["limitBytes"], FRAME_BYTES_MAX);
    }
    let early = r#"{"id":"\"id\":7","jsonrpc":"2.0","method":"x","params":{"pad":""#;
    let line = padded(FRAME_BYTES_MAX + 1, early, "\"}}");
    refused(&mut host, &line, -32002, "inputTooLarge", &json!("\"id\":7"));
    for head in [
        r#"{"jsonrpc":"2.0","params":{"id":7,"pad":""#,
        r#"{"jsonrpc":"2.0","id":""#,
        r#"[{"id":7,"pad":""#,
        r#"{"jsonrpc":"2.0","id":{"id":7},"pad":""#,
        "",
    ] {
        let line = padded(FRAME_BYTES_MAX + 1, head, "\"");
        refused(&mut host, &line, -32700, "parseError", &Value::Null);
    }
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn lines_may_end_in_cr_from_the_first_on() {
    let home = Home::new();
    let mut host = Host::silent(&home);
    host.line(b"\r");
    host.line(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\
          \"params\":{\"clientInfo\":{\"name\":\"conformance\",\"version\":\"0.0.0\"}}}\r",
    );
    assert_eq!(host.answer(1)["result"]["sessionDurability"], "durable");
    host.line(b"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\r");
    host.line(b"{\"jsonrpc\":\"2.0\",\"id\":\"b9\",\"method\":\"session/list\"}\r");
    assert_eq!(host.answer("b9")["result"]["sessions"], json!([]));
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_client_says_who_it_is() {
    let home = Home::new();
    let mut host = Host::silent(&home);
    for client in [
        json!({"name": "", "version": "1"}),
        json!({"name": "Not Plain", "version": "1"}),
        json!({"name": "é", "version": "1"}),
        json!({"name": "a".repeat(129), "version": "1"}),
        json!({"name": "plain"}),
        json!({"name": "plain", "version": 1}),
        json!({"name": ["plain"], "version": "1"}),
        json!("plain"),
        json!(null),
    ] {
        let error = host.refused("initialize", json!({"clientInfo": client}));
        assert_eq!(
            (&error["code"], &error["data"]["kind"]),
            (&json!(-32602), &json!("invalidParams"))
        );
    }
    let client = json!({"name": "plain_1", "version": "1", "title": "x", "more": {}});
    let capabilities =
        json!({"requestedCapabilities": ["userShell", "x"], "experimentalApi": true});
    let asked = json!({"clientInfo": client, "capabilities": capabilities});
    let result = host.call("initialize", asked);
    assert_eq!(
        (&result["grantedCapabilities"], &result["experimentalApi"]),
        (&json!([]), &json!(false))
    );
    assert_eq!(host.close(), (0, String::new()));
}

/// A turn with output that a person allows, on a connection that opted out of these.
fn opted_out(names: &[&str]) -> Vec<Value> {
    let home = Home::new();
    let mut host = Host::start_with(&home, &json!({"optOutNotificationMethods": names}));
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "echo out >&2; touch ran");
    let ask =
        host.wait("the request", 0, |frame| is_method(frame, "approval/request"))["params"].clone();
    assert_eq!(ask["turnId"], turn);
    let first = Host::decision(&ask, "allow_once");
    let result = host.call("approval/decide", first);
    if result["terminal"] == false {
        let again = |frame: &Value| {
            is_method(frame, "approval/request")
                && frame["params"]["currentRequirementId"] != ask["currentRequirementId"]
        };
        let ask = host.wait("the second request", 0, again)["params"].clone();
        host.call("approval/decide", Host::decision(&ask, "allow_once"));
    }
    host.wait("approval/resolved", 0, |frame| is_method(frame, "approval/resolved"));
    let page = json!({"sessionId": session, "limit": 1000});
    loop {
        let events = host.call("view/page", page.clone())["events"].clone();
        if events.as_array().unwrap().iter().any(|event| event["method"] == "turn/completed") {
            break;
        }
    }
    assert_eq!(host.close(), (0, String::new()));
    assert!(home.workspace().join("ran").exists());
    std::mem::take(&mut host.frames)
}

#[test]
fn opting_out_silences_what_it_names_and_nothing_that_is_protected() {
    let count = |frames: &[Value], method: &str| {
        frames.iter().filter(|frame| is_method(frame, method) && frame.get("id").is_none()).count()
    };
    let all = opted_out(&[]);
    let named = ["item/delta", "turn/completed", "session/statusChanged", "approval/requested"];
    for method in named.iter().chain(&["approval/resolved", "item/started", "session/started"]) {
        assert_ne!(count(&all, method), 0, "{method} is told where nobody opts out");
    }
    let quiet = opted_out(&[
        "item/delta",
        "turn/completed",
        "session/statusChanged",
        "approval/requested",
        "approval/resolved",
        "approval/request",
        "nothing/known",
        "item",
        "item/*",
    ]);
    for method in named {
        assert_eq!(count(&quiet, method), 0, "{method} was opted out of");
    }
    for method in ["approval/resolved", "item/started", "item/completed", "session/started"] {
        assert_eq!(count(&quiet, method), count(&all, method), "{method}");
    }
}

#[test]
fn ids_of_requests_to_the_client_are_positive_integers_that_grow() {
    let home = Home::new();
    let mut host = Host::start(&home);
    let mut asked = Vec::new();
    for mode in ["promptUnmatched", "promptUnmatched", "allowAll"] {
        let session = host.session(&home, mode);
        if mode == "allowAll" {
            continue;
        }
        let turn = host.turn(&session, "touch x");
        asked.push((session, host.event("approval/request", &turn)));
    }
    // The same approvals again, for a connection that attaches again.
    for (session, _) in &asked {
        host.resume(session);
    }
    alive(&mut host);
    let requests = |frame: &&Value| frame.get("method").is_some() && frame.get("id").is_some();
    let ids: Vec<u64> =
        host.frames.iter().filter(requests).map(|frame| frame["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids[0] > 0 && ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert_eq!(host.close(), (0, String::new()));
}

#[test]
fn a_signal_is_an_orderly_stop() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let home = Home::new();
        let mut host = Host::start(&home);
        let session = host.session(&home, "allowAll");
        let turn = host.turn(&session, "echo begun; sleep 600");
        host.wait("output", 0, |frame| is_method(frame, "item/delta"));
        host.signal(signal);
        assert_eq!(host.exit(), (0, String::new()));
        let closed = host.wait("session/closed", 0, |frame| is_method(frame, "session/closed"));
        assert_eq!(closed["params"]["reason"], "hostShutdown");
        assert_eq!(host.event("turn/completed", &turn)["terminal"], "cancelled");
        assert_eq!(home.records(&session).pop().unwrap().header.kind, "sessionClosed");
    }
}

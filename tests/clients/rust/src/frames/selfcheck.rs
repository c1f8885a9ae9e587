//! Whether the decoder finds anything at all: good lines that it must take, and broken ones that it must not.

use crate::decode::{self, Fault};
use serde_json::{Value, json};

fn notification(method: &str, params: Value) -> Value {
    json!({"method": method, "frame": {"jsonrpc": "2.0", "method": method, "params": params}})
}

fn result(method: &str, result: Value) -> Value {
    json!({"method": method, "frame": {"jsonrpc": "2.0", "id": 1, "result": result}})
}

fn error(code: i64, data: Value) -> Value {
    let error = json!({"code": code, "message": "no", "data": data});
    json!({"method": "turn/start", "frame": {"jsonrpc": "2.0", "id": 1, "error": error}})
}

/// A turn/started that is right but for what is merged into it.
fn started(change: Value) -> Value {
    let mut params = json!({
        "sessionId": "s", "viewCursor": "1", "turnId": "t", "commandId": "t",
        "sourceRange": {
            "stream": {"kind": "session", "id": "s"},
            "first": {"id": "r", "sequence": 1}, "last": {"id": "r", "sequence": 1},
        },
    });
    for (name, member) in change.as_object().into_iter().flatten() {
        params[name] = member.clone();
    }
    params
}

fn page(event: Value) -> Value {
    let events = json!([{"method": "turn/started", "params": event}]);
    result("view/page", json!({"events": events, "nextCursor": null}))
}

/// What the decoder gets wrong; nothing, if it works.
pub(crate) fn run() -> Vec<String> {
    let ack = |status: &str| {
        let ack = json!({"commandId": "c", "status": status, "approvalId": "a", "terminal": true});
        result("approval/decide", ack)
    };
    let good = [
        notification("turn/started", started(json!({}))),
        page(started(json!({}))),
        ack("accepted"),
        error(-32602, json!({"kind": "invalidParams"})),
    ];
    let mut wrong = Vec::new();
    for line in good {
        match faults(&line) {
            Ok(found) if found.is_empty() => {}
            other => wrong.push(format!("a good line is refused: {other:?}: {line}")),
        }
    }
    let mut request = notification("approval/request", started(json!({})));
    request["frame"]["id"] = json!("1");
    let mut nobody = ack("accepted");
    nobody["method"] = Value::Null;
    let broken = [
        ("missing field", notification("approval/resolved", started(json!({})))),
        ("invalid type", notification("turn/started", started(json!({"turnId": 1})))),
        ("invalid type", page(started(json!({"commandId": null})))),
        ("missing field", result("session/start", json!({}))),
        ("no positive integer", request),
        ("nobody sent", nobody),
        ("no row of the registry", error(-32602, json!({"kind": "parseError"}))),
        ("no row of the registry", error(-32602, json!({"kind": "sad"}))),
        ("data.kind", error(-32602, Value::Null)),
    ];
    for (part, line) in broken {
        let is_found = |fault: &Fault| matches!(fault, Fault::Broken(why) if why.contains(part));
        if !faults(&line).is_ok_and(|found| found.iter().any(is_found)) {
            wrong.push(format!("not found to be broken ({part}): {line}"));
        }
    }
    let unknown = [
        ("type turn/dreamt (notification)", notification("turn/dreamt", json!({}))),
        ("type turn/dream (result)", result("turn/dream", json!({}))),
        (
            "member turn/started.turnid",
            notification("turn/started", started(json!({"turnid": "t"}))),
        ),
        ("member turn/started.turnid", page(started(json!({"turnid": "t"})))),
        ("word perhaps", ack("perhaps")),
    ];
    for (name, line) in unknown {
        if faults(&line) != Ok(vec![Fault::Unknown(name.to_owned())]) {
            wrong.push(format!("expected `{name}` alone to be unknown in {line}"));
        }
    }
    wrong
}

fn faults(line: &Value) -> Result<Vec<Fault>, String> {
    decode::line(line.to_string().as_bytes()).map(|decoded| decoded.faults)
}

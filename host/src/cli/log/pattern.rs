//! Looking for a text in what the log holds, whatever JSON made of it.

use serde_json::Value;

/// How deep JSON may stand in JSON: arguments hold JSON text that holds JSON text.
const DEPTH_MAX: usize = 16;

/// Whether the bytes hold the text: as they are, or in a string or a name of the JSON
/// that they are, also where such a string is JSON again.
pub(super) fn holds(bytes: &[u8], text: &str) -> bool {
    let plain = bytes.windows(text.len().max(1)).any(|part| part == text.as_bytes());
    plain || decoded(bytes, text, DEPTH_MAX)
}

fn decoded(bytes: &[u8], text: &str, depth: usize) -> bool {
    depth > 0 && serde_json::from_slice(bytes).is_ok_and(|value| value_holds(&value, text, depth))
}

fn value_holds(value: &Value, text: &str, depth: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(string) => {
            string.contains(text) || decoded(string.as_bytes(), text, depth - 1)
        }
        Value::Array(values) => values.iter().any(|value| value_holds(value, text, depth)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(text) || value_holds(value, text, depth)),
    }
}

#[cfg(test)]
mod tests {
    use super::holds;
    use serde_json::json;

    #[test]
    fn a_text_is_found_however_it_is_quoted() {
        let secret = "p\"w\\d\né";
        let command = json!({"command": format!("echo {secret}")}).to_string();
        let twice = json!({"text": json!({"args": command}).to_string()}).to_string();
        for (body, found) in [
            (json!({"text": format!("a{secret}b")}).to_string(), true),
            (json!({"args": command}).to_string(), true),
            (twice, true),
            (json!({secret: 1}).to_string(), true),
            (json!([["x", [secret]]]).to_string(), true),
            (format!("no JSON {secret}"), true),
            (json!({"text": "p\"w\\d"}).to_string(), false),
            (json!([null, true, 1.5, {}]).to_string(), false),
        ] {
            assert_eq!(holds(body.as_bytes(), secret), found, "{body}");
        }
        assert!(holds(b"\xff\xfe12345", "12345") && holds(br#"{"n":12345}"#, "12345"));
        assert!(holds(br#"{"t":"\u0070\u0061ss"}"#, "pass"), "escaped letters");
    }
}

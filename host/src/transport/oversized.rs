//! The id of a frame of which only the beginning is known.

use serde_json::Value;

/// The top-level `id` in the beginning of a JSON object, if it stands there whole.
///
/// A scan over bytes with a counted depth: no parser can be asked about half a
/// document, and the document may nest as deeply as it likes.
pub(super) fn id(prefix: &[u8]) -> Option<Value> {
    let mut depth = 0_u32;
    let mut key: Option<&[u8]> = None;
    let mut expects_value = false;
    let mut at = 0;
    while let Some(byte) = prefix.get(at) {
        match byte {
            b'"' => {
                let end = string_end(prefix, at)?;
                let text = prefix.get(at..end)?;
                if depth == 1 && expects_value && key == Some(b"\"id\"") {
                    return serde_json::from_slice(text).ok();
                }
                if depth == 1 && !expects_value {
                    key = Some(text);
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 1 => expects_value = true,
            b',' if depth == 1 => expects_value = false,
            b'-' | b'0'..=b'9' if depth == 1 && expects_value && key == Some(b"\"id\"") => {
                let rest = prefix.get(at..)?;
                let end = rest.iter().position(|byte| b",} \t\r\n".contains(byte))?;
                return serde_json::from_slice(rest.get(..end)?).ok();
            }
            _ => {}
        }
        at = at.saturating_add(1);
    }
    None
}

/// One past the closing quote of the string that begins at `start`.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start.saturating_add(1);
    loop {
        match text.get(at)? {
            b'"' => return Some(at.saturating_add(1)),
            b'\\' => at = at.saturating_add(2),
            _ => at = at.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::id;
    use serde_json::json;

    #[test]
    fn the_top_level_id_is_found_and_no_other() {
        for (prefix, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"aaaa"#, Some(json!(7))),
            (r#"{"id":"b\"9","params":"aaa"#, Some(json!("b\"9"))),
            (r#"{"params":{"id":3,"x":["id",{"id":4}]},"id" : -2 ,"#, Some(json!(-2))),
            (r#"{"params":{"id":3},"method":"id","x":"aaa"#, None),
            (r#"{"method":"id","params":"aaa"#, None),
            (r#"{"params":"aaaa"#, None),
            (r#"{"id":12"#, None),
            ("", None),
        ] {
            assert_eq!(id(prefix.as_bytes()), expected, "{prefix}");
        }
    }
}

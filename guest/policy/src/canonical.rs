//! Arguments in one form, so that equal ones are equal bytes.
//!
//! A form that could make two different arguments equal would leak a grant, so
//! whatever has no single meaning keeps its own bytes: members that stand
//! twice, numbers that are no 64-bit integers, text that is no JSON.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// JSON with sorted members and without white space, or none where that could lose a difference.
pub(crate) fn json(text: &str) -> Option<String> {
    let Plain(value) = serde_json::from_str(text).ok()?;
    Some(value.to_string())
}

/// JSON without duplicate members and without numbers that are not exact.
struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Plain)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON with unique members and 64-bit integers")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(Number::from(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(Number::from(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Plain(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, Plain(value))) = members.next_entry::<String, Plain>()? {
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("a member stands twice"));
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn only_what_has_one_meaning_is_put_in_form() {
        for (text, expected) in [
            (r#" {"b":[1, -2, null, true], "a":"x"} "#, Some(r#"{"a":"x","b":[1,-2,null,true]}"#)),
            (r#"{"a":1,"a":1}"#, None),
            (r#"{"a":{"b":1,"b":2}}"#, None),
            ("18446744073709551616", None),
            ("0.1", None),
            ("1e2", None),
            ("plain", None),
        ] {
            assert_eq!(json(text).as_deref(), expected, "{text}");
        }
    }
}

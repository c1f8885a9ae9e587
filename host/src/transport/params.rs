//! Reading the parameters of a request, member by member.

use super::frames::WireError;
use crate::hex::hex;
use crate::home::Home;
use serde_json::{Map, Value};

/// Members in which an explicit null means the same as absence.
const NULL_IS_ABSENT: [&str; 4] = ["approvalMode", "cursor", "feedback", "providerId"];

/// The parameters of one request.
pub(super) struct Params(pub(super) Map<String, Value>);

impl Params {
    pub(super) fn new(params: Option<Value>) -> Result<Params, WireError> {
        match params {
            None => Ok(Params(Map::new())),
            Some(Value::Object(map)) => Ok(Params(map)),
            Some(_) => Err(WireError::params("params must be an object")),
        }
    }

    /// A member, unless it is absent, or null where null means absent.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let value = self.0.get(name)?;
        (!(value.is_null() && NULL_IS_ABSENT.contains(&name))).then_some(value)
    }

    pub(super) fn string(&self, name: &str) -> Result<String, WireError> {
        self.optional_string(name)?
            .ok_or_else(|| WireError::params(format!("the member `{name}` is missing")))
    }

    pub(super) fn optional_string(&self, name: &str) -> Result<Option<String>, WireError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(WireError::params(format!("the member `{name}` must be a string"))),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, WireError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(WireError::params(format!("the member `{name}` must be true or false"))),
        }
    }

    pub(super) fn unsigned(&self, name: &str) -> Result<Option<u64>, WireError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| {
                WireError::params(format!(
                    "the member `{name}` must be a whole number, not negative"
                ))
            }),
        }
    }

    /// Refuses an explicit null in members that must be left out instead.
    pub(super) fn refuse_nulls(&self, names: &[&str]) -> Result<(), WireError> {
        match names.iter().find(|name| self.0.get(**name).is_some_and(Value::is_null)) {
            Some(name) => {
                Err(WireError::params(format!("`{name}` must not be null; leave it out")))
            }
            None => Ok(()),
        }
    }

    /// The client's command id: every command has one, and only the client mints it.
    pub(super) fn command(&self) -> Result<String, WireError> {
        let id = self.string("commandId")?;
        match uuid::Uuid::parse_str(&id) {
            Ok(_) => Ok(id),
            Err(_) => Err(WireError::params(format!("commandId `{id}` is no UUID"))),
        }
    }

    /// The keyed digest of method and parameters. Member order does not count,
    /// nor does a null that means absence.
    pub(super) fn payload(&self, home: &Home, scope: &str, method: &str) -> String {
        let mut members: Vec<(&String, &Value)> =
            self.0.iter().filter(|(name, _)| self.get(name).is_some()).collect();
        members.sort_by_key(|(name, _)| name.as_str());
        let mut text = format!("{method}\n");
        for (name, value) in members {
            text.push_str(name);
            text.push('\n');
            text.push_str(&canonical(value).to_string());
            text.push('\n');
        }
        let digest = home.keyed(&format!("payload:{scope}"), text.as_bytes());
        format!("hmac-sha256:{}", hex(&digest))
    }
}

/// The same value with the members of every object in the order of their names.
///
/// The recursion is bounded: the parser that made the value takes 128 levels.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            let member = |name: &String| Some((name.clone(), canonical(map.get(name)?)));
            Value::Object(names.into_iter().filter_map(member).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{Home, Params};

    #[test]
    fn payloads_are_the_same_when_they_mean_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let digest = |text: &str| {
            let params = Params::new(Some(serde_json::from_str(text).unwrap())).ok().unwrap();
            params.payload(&home, "s", "approval/decide")
        };
        let plain = digest(r#"{"a":{"x":1,"y":[2,{"p":3,"q":4}]},"commandId":"c"}"#);
        assert_eq!(plain, digest(r#"{"commandId":"c","a":{"y":[2,{"q":4,"p":3}],"x":1}}"#));
        assert_eq!(
            plain,
            digest(r#"{"commandId":"c","feedback":null,"a":{"x":1,"y":[2,{"p":3,"q":4}]}}"#)
        );
        assert_ne!(
            plain,
            digest(r#"{"commandId":"c","other":null,"a":{"x":1,"y":[2,{"p":3,"q":4}]}}"#)
        );
        assert_ne!(plain, digest(r#"{"a":{"x":1,"y":[{"p":3,"q":4},2]},"commandId":"c"}"#));
    }
}

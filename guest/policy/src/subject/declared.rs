//! Subjects that an agent declares itself: a word for the kind, and its members.
//!
//! A kind that is known must come with exactly its members; with others, or without
//! one, it is an action of unknown kind, which nothing covers.

use crate::codec::{Origin, Subject};
use crate::limits;
use serde::Deserialize;
use serde_json::Value;

/// What was declared.
pub(super) enum Declared {
    /// A shell command, to be read as one.
    Command(String),
    Subject(Subject),
}

/// The members of every known kind.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
enum Known {
    Shell { command: String },
    FileAccess { path: String, access: Access, origin: Option<Origin> },
    Network { host: String, port: Option<u16>, protocol: Option<String>, origin: Option<Origin> },
    UnixSocket { path: String, origin: Option<Origin> },
    Process { target: String, origin: Option<Origin> },
    Tool { origin: Option<Origin> },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Access {
    Read,
    Write,
}

/// Reads a declared subject.
pub(super) fn subject(text: &str, tool: &str) -> Declared {
    let tool = tool.to_owned();
    let value: Value = match text.len() <= limits::SHELL_ARGS_BYTES_MAX {
        true => serde_json::from_str(text).unwrap_or(Value::Null),
        false => Value::Null,
    };
    let word = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    match serde_json::from_value::<Known>(value).ok().and_then(|known| read(known, &tool)) {
        Some(declared) => declared,
        None => Declared::Subject(Subject::Unknown { word, tool }),
    }
}

fn read(known: Known, tool: &str) -> Option<Declared> {
    let tool = tool.to_owned();
    Some(Declared::Subject(match known {
        Known::Shell { command } => return Some(Declared::Command(command)),
        Known::FileAccess { path, access, origin } => Subject::FileAccess {
            tool,
            path: Some(path).filter(|path| is_path(path))?,
            canonical: String::new(),
            access: match access {
                Access::Read => "read",
                Access::Write => "write",
            }
            .to_owned(),
            origin,
        },
        Known::Network { host, port, protocol, origin } => Subject::Network {
            tool,
            host: host_name(&host)?,
            port: Some(port).filter(|port| *port != Some(0))?,
            protocol: match protocol {
                Some(word) => Some(protocol_word(&word)?),
                None => None,
            },
            origin,
        },
        Known::UnixSocket { path, origin } => {
            Subject::UnixSocket { tool, path: Some(path).filter(|path| is_path(path))?, origin }
        }
        Known::Process { target, origin } => {
            Subject::Process { tool, target: Some(target).filter(|t| !t.is_empty())?, origin }
        }
        Known::Tool { origin } => Subject::Tool { tool, origin },
    }))
}

/// Whether a text can be a path.
pub(super) fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

/// A host name in one form: lower case, without the dot at its end.
fn host_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_lowercase();
    let odd = |c: char| c.is_whitespace() || c.is_control() || "/@?#\\".contains(c);
    (!name.is_empty() && !name.contains(odd)).then_some(name)
}

/// A protocol's word in one form.
fn protocol_word(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{Declared, subject};
    use crate::codec::Subject;

    /// The kind that a declaration is read as, `unknown` included.
    fn check(text: &str, kind: &str) {
        let found = match subject(text, "t") {
            Declared::Command(_) => "shell",
            Declared::Subject(Subject::Unknown { .. }) => "unknown",
            Declared::Subject(found) => crate::evaluate::kind(&found).to_owned().leak(),
        };
        assert_eq!(found, kind, "{text}");
    }

    #[test]
    fn a_known_kind_has_exactly_its_members() {
        check(r#"{"kind":"shell","command":"ls"}"#, "shell");
        check(r#"{"kind":"shell"}"#, "unknown");
        check(r#"{"kind":"shell","command":"ls","stages":[]}"#, "unknown");
        check(r#"{"kind":"fileAccess","path":"a","access":"read"}"#, "fileAccess");
        check(r#"{"kind":"fileAccess","path":"a","access":"readwrite"}"#, "unknown");
        check(r#"{"kind":"fileAccess","path":"","access":"read"}"#, "unknown");
        check(r#"{"kind":"fileAccess","path":"a\u0000b","access":"read"}"#, "unknown");
        check(r#"{"kind":"network","host":"Example.org.","port":443}"#, "network");
        check(r#"{"kind":"network","host":"example.org","port":0}"#, "unknown");
        check(r#"{"kind":"network","host":"example.org","port":65536}"#, "unknown");
        check(r#"{"kind":"network","host":"a b"}"#, "unknown");
        check(r#"{"kind":"network","host":"user@example.org"}"#, "unknown");
        check(r#"{"kind":"network","host":"h","protocol":"ht tp"}"#, "unknown");
        check(r#"{"kind":"unixSocket","path":"/run/a.sock"}"#, "unixSocket");
        check(r#"{"kind":"unixSocket","path":"/run/a.sock","access":"read"}"#, "unknown");
        check(r#"{"kind":"process","target":"pid 7"}"#, "process");
        check(r#"{"kind":"tool"}"#, "tool");
        check(r#"{"kind":"tool","origin":{"kind":"url","url":"https://a"}}"#, "tool");
        check(r#"{"kind":"tool","origin":{"kind":"else","url":"https://a"}}"#, "unknown");
        check(r#"{"kind":"hologram","path":"a"}"#, "unknown");
        check(r#"{"path":"a"}"#, "unknown");
        check("no JSON", "unknown");
    }
}

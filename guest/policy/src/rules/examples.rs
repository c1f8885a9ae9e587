//! The examples of a rule, which are tried when it is read.

use super::finding::Findings;
use super::network;
use super::tree::{Node, Value};
use super::{
    Effect, Hit, Kind, NetworkSubject, PathSubject, Places, Rule, RuleSet, ToolSubject, Words,
};
use crate::limits::RULE_LIST_MAX;
use crate::shell;

/// Where relative paths of examples are, and those that begin with `~/`.
const PLACES: Places<'static> = Places { workspace: Some("/.workspace"), home: Some("/.home") };

/// Tries the examples of a rule and says which fail.
pub(crate) fn run(rule: &Rule, layer: u32, node: Node, findings: &mut Findings<'_>) {
    let Value::Table(members) = node.value else {
        let hint = "write `examples = { match = [...], no_match = [...] }`";
        findings.error(layer, node.at, format!("`examples` is {}", node.value.what()), hint);
        return;
    };
    let set = RuleSet::new(vec![rule.clone()]);
    for member in members {
        let wanted = match member.name.as_str() {
            "match" => true,
            "no_match" => false,
            name => {
                let hint = "write `match` or `no_match`";
                findings.error(layer, member.at, format!("`{name}` is no list of examples"), hint);
                continue;
            }
        };
        let list = match member.node.value {
            Value::List(list) if list.len() <= RULE_LIST_MAX => list,
            Value::List(_) => {
                let message = format!("there are more than {RULE_LIST_MAX} examples");
                findings.error(layer, member.at, message, "leave some out");
                continue;
            }
            _ => {
                findings.error(layer, member.node.at, "examples are a list", "write `[...]`");
                continue;
            }
        };
        for node in list {
            let (message, hint) = match matches(&set, rule, &node.value) {
                Ok(found) if found == wanted => continue,
                Ok(true) => ("this must not match and does", "narrow the rule or drop the example"),
                Ok(false) => ("this must match and does not", "widen the rule or drop the example"),
                Err(hint) => ("this is no example for such a rule", hint),
            };
            findings.error(layer, node.at, message, hint);
        }
    }
}

/// Whether an example matches, or how one is written.
fn matches(set: &RuleSet, rule: &Rule, value: &Value) -> Result<bool, &'static str> {
    let effect = rule.effect;
    let found = match (rule.kind(), value) {
        (Kind::Shell, Value::Text(command)) => return Ok(command_matches(set, effect, command)),
        (Kind::Shell, Value::List(words)) => {
            let word = |node: &Node| match &node.value {
                Value::Text(word) => Some(word.clone()),
                _ => None,
            };
            let argv: Option<Vec<String>> = words.iter().map(word).collect();
            let argv = argv.ok_or("write a command, or a list of words")?;
            let words = Words { argv: &argv, unknown: &[], assignments: &[], root: None };
            set.shell(effect, &words).is_some()
        }
        (Kind::Shell, _) => return Err("write a command, or a list of words"),
        (Kind::FileAccess | Kind::UnixSocket, Value::Text(text)) => {
            let path = absolute(text).ok_or("write a path without `.` and `..`")?;
            // A rule is tried with every access that it may be about.
            [false, true].into_iter().any(|write| {
                let (typed, places) = (path.as_str(), &PLACES);
                let subject =
                    PathSubject { typed, canonical: typed, write, places, insensitive: false };
                let found = match rule.kind() {
                    Kind::FileAccess => set.path(effect, &subject),
                    _ => set.socket(effect, &subject),
                };
                found.is_some()
            })
        }
        (Kind::FileAccess | Kind::UnixSocket, _) => return Err("write a path"),
        (Kind::Network, Value::Text(text)) => network_matches(set, effect, text)?,
        (Kind::Network, _) => return Err("write `HOST`, `HOST:PORT` or `PROTOCOL://HOST:PORT`"),
        (Kind::Process, Value::Text(target)) => set.process(effect, target).is_some(),
        (Kind::Process, _) => return Err("write what a process is called"),
        (Kind::Tool, value) => tool_matches(set, effect, value)?,
    };
    Ok(found)
}

fn absolute(text: &str) -> Option<String> {
    let path = match (text.strip_prefix("~/"), text.starts_with('/')) {
        (Some(rest), _) => format!("/.home/{rest}"),
        (None, true) => text.to_owned(),
        (None, false) => format!("/.workspace/{text}"),
    };
    (!path.split('/').any(|part| matches!(part, "." | ".."))).then_some(path)
}

/// Whether a command matches: all its stages for what allows, any for what refuses.
fn command_matches(set: &RuleSet, effect: Effect, command: &str) -> bool {
    let parsed = shell::stages(command, None);
    if parsed.opaque {
        let bare = shell::bare_words(command);
        return set.bare(effect, &bare.joined, &bare.pieces).is_some();
    }
    let hit = |stage: &shell::Stage| {
        let assignments: Vec<String> = stage.harmful_variables().map(str::to_owned).collect();
        let (argv, unknown) = (stage.argv.as_slice(), stage.unknown.as_slice());
        let words = Words { argv, unknown, assignments: &assignments, root: None };
        set.shell(effect, &words).is_some()
    };
    match effect {
        Effect::Allow => !parsed.stages.is_empty() && parsed.stages.iter().all(hit),
        _ => parsed.stages.iter().flat_map(shell::Stage::every).any(hit),
    }
}

fn network_matches(set: &RuleSet, effect: Effect, text: &str) -> Result<bool, &'static str> {
    let (protocol, rest) = match text.split_once("://") {
        Some((protocol, rest)) => (Some(protocol), rest),
        None => (None, text),
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, Some(port.parse().map_err(|_| "write a port from 1 to 65535")?))
        }
        _ => (rest, None),
    };
    if host.is_empty() || host.contains('/') {
        return Err("write `HOST`, `HOST:PORT` or `PROTOCOL://HOST:PORT`");
    }
    // What names no port is what a browser would open.
    let port = port.or_else(|| network::default_port(protocol.unwrap_or("https")));
    Ok(set.network(effect, &NetworkSubject { host, port, protocol }).is_some())
}

fn tool_matches(set: &RuleSet, effect: Effect, value: &Value) -> Result<bool, &'static str> {
    let how = "write the tool's name, or `{ tool = \"...\", server = \"...\", args = { ... } }`";
    let hit = |hit: Option<Hit<'_>>| hit.is_some();
    match value {
        Value::Text(name) => {
            let args = serde_json::Value::Object(serde_json::Map::new());
            Ok(hit(set.tool(effect, &ToolSubject { name, server: None, args: &args })))
        }
        Value::Table(members) => {
            let text = |name: &str| {
                members.iter().find(|member| member.name == name).map(|m| match &m.node.value {
                    Value::Text(text) => Ok(text.as_str()),
                    _ => Err(how),
                })
            };
            if members.iter().any(|m| !["tool", "server", "args"].contains(&m.name.as_str())) {
                return Err(how);
            }
            let name = text("tool").ok_or(how)??;
            let server = text("server").transpose()?;
            let args = members.iter().find(|member| member.name == "args");
            let args = args.map_or_else(
                || serde_json::Value::Object(serde_json::Map::new()),
                |member| json(&member.node.value, 0),
            );
            Ok(hit(set.tool(effect, &ToolSubject { name, server, args: &args })))
        }
        _ => Err(how),
    }
}

/// Arguments as the tool would get them.
fn json(value: &Value, depth: usize) -> serde_json::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Truth(truth) => (*truth).into(),
        Value::List(list) if depth < RULE_LIST_MAX => {
            list.iter().map(|node| json(&node.value, depth + 1)).collect()
        }
        Value::Table(members) if depth < RULE_LIST_MAX => members
            .iter()
            .map(|member| (member.name.clone(), json(&member.node.value, depth + 1)))
            .collect(),
        _ => serde_json::Value::Null,
    }
}

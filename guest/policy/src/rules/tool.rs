//! Rules for tools: their server, their name, and what is in their arguments.
//!
//! A tool of a server is known by `mcp__SERVER__TOOL`, by `SERVER/TOOL`, or by a
//! server that is named beside it. Where a name can be split in several ways, what
//! refuses takes any of them and what allows needs that there is only one.

use super::index::{Field, Index, Key};
use super::text::Text;
use super::{Certainty, Effect, ToolSubject};
use core::fmt;
use serde_json::Value;

/// What a tool rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Names of tools; none for every tool.
    pub(crate) names: Vec<Text>,
    /// Names of servers; none for tools without one, and where it refuses for all.
    pub(crate) servers: Vec<Text>,
    /// What must hold for the arguments.
    pub(crate) args: Vec<Condition>,
}

/// What an argument must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// As it was written.
    pub(crate) written: String,
    /// The members that lead to it; `*` is every element or member.
    pub(crate) path: Vec<String>,
    /// One of these.
    pub(crate) wanted: Vec<Wanted>,
}

/// A value that an argument may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Text(Text),
    Integer(i64),
    Truth(bool),
}

/// A way to read a tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub(crate) server: Option<&'a str>,
    pub(crate) tool: &'a str,
}

/// The ways to read a tool's name.
pub(crate) fn names<'a>(name: &'a str, server: Option<&'a str>) -> Vec<Name<'a>> {
    if let Some(server) = server {
        let inner = name
            .strip_prefix("mcp__")
            .and_then(|rest| rest.strip_prefix(server)?.strip_prefix("__"))
            .or_else(|| name.strip_prefix(server)?.strip_prefix('/'));
        return vec![Name { server: Some(server), tool: inner.unwrap_or(name) }];
    }
    let (rest, mark) = match name.strip_prefix("mcp__") {
        Some(rest) => (rest, "__"),
        None => (name, "/"),
    };
    let split = |(at, _): (usize, &str)| {
        let (server, tool) = (rest.get(..at)?, rest.get(at + mark.len()..)?);
        (!server.is_empty() && !tool.is_empty()).then_some(Name { server: Some(server), tool })
    };
    let split: Vec<Name<'_>> = rest.match_indices(mark).filter_map(split).collect();
    if split.is_empty() { vec![Name { server: None, tool: name }] } else { split }
}

impl Tool {
    pub(crate) fn keys(&self, keys: &mut Vec<Key>) {
        let any = [Text::parse("*")];
        let names = if self.names.is_empty() { &any[..] } else { &self.names };
        if self.servers.is_empty() {
            keys.extend(names.iter().map(|name| key(Field::Tool, "", name)));
        }
        for server in &self.servers {
            match server.literal() {
                Some(server) => {
                    let before = format!("{server}/");
                    keys.extend(names.iter().map(|name| key(Field::ServerTool, &before, name)));
                }
                None => keys.push(Key::open(Field::ServerTool, server.prefix())),
            }
        }
    }

    /// Whether the rule matches, and how surely.
    pub(crate) fn matches(&self, effect: Effect, subject: &ToolSubject<'_>) -> Option<Certainty> {
        let readings = names(subject.name, subject.server);
        let named = |reading: &Name<'_>| self.is_named(effect, *reading);
        if effect == Effect::Allow {
            let named = matches!(readings.as_slice(), [only] if named(only));
            let holds = |condition: &Condition| condition.holds(subject.args, true);
            return (named && self.args.iter().all(holds)).then_some(Certainty::Certain);
        }
        if !readings.iter().any(named) {
            return None;
        }
        if !self.args.is_empty() && !subject.args.is_object() {
            return Some(Certainty::Possible);
        }
        let holds = |condition: &Condition| condition.holds(subject.args, false);
        self.args.iter().all(holds).then_some(Certainty::Certain)
    }

    fn is_named(&self, effect: Effect, reading: Name<'_>) -> bool {
        let fits = |texts: &[Text], text: &str| texts.iter().any(|fit| fit.matches(text));
        let server = match (self.servers.is_empty(), reading.server) {
            (true, server) => effect != Effect::Allow || server.is_none(),
            (false, Some(server)) => fits(&self.servers, server),
            (false, None) => false,
        };
        server && (self.names.is_empty() || fits(&self.names, reading.tool))
    }

    /// Whether everything that the other rule matches is matched by this one.
    pub(crate) fn covers(&self, effect: Effect, other: &Tool) -> bool {
        let wide = |mine: &[Text], theirs: &[Text]| {
            theirs.iter().all(|text| mine.iter().any(|wider| wider.covers(text)))
        };
        let servers = match (self.servers.is_empty(), other.servers.is_empty()) {
            (true, other) => effect != Effect::Allow || other,
            (false, true) => false,
            (false, false) => wide(&self.servers, &other.servers),
        };
        let names =
            self.names.is_empty() || (!other.names.is_empty() && wide(&self.names, &other.names));
        servers
            && names
            && self.args.iter().all(|condition| {
                other.args.iter().any(|theirs| {
                    condition.path == theirs.path
                        && theirs.wanted.iter().all(|wanted| condition.covers(wanted))
                })
            })
    }
}

fn key(field: Field, before: &str, text: &Text) -> Key {
    let begin = format!("{before}{}", text.prefix());
    if text.literal().is_some() { Key::whole(field, begin) } else { Key::open(field, begin) }
}

/// Adds the rules that may be about a tool.
pub(crate) fn find(index: &Index, subject: &ToolSubject<'_>, found: &mut Vec<u32>) {
    for reading in names(subject.name, subject.server) {
        index.find(Field::Tool, reading.tool, found);
        if let Some(server) = reading.server {
            index.find(Field::ServerTool, &format!("{server}/{}", reading.tool), found);
        }
    }
}

impl Condition {
    /// Reads where an argument is: a JSON pointer, or members with dots between them.
    pub(crate) fn path(written: &str) -> Option<Vec<String>> {
        let path: Vec<String> = match written.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => written.split('.').map(str::to_owned).collect(),
        };
        (!path.iter().any(String::is_empty)).then_some(path)
    }

    /// Whether the arguments are as wanted: where several are meant, all of them for
    /// what allows, any for what refuses.
    fn holds(&self, args: &Value, all: bool) -> bool {
        let mut found = vec![args];
        for member in &self.path {
            let mut next = Vec::new();
            for value in found {
                let one = match value {
                    Value::Object(members) if member == "*" => {
                        next.extend(members.values());
                        continue;
                    }
                    Value::Array(elements) if member == "*" => {
                        next.extend(elements);
                        continue;
                    }
                    Value::Object(members) => members.get(member),
                    Value::Array(elements) => {
                        member.parse().ok().and_then(|at: usize| elements.get(at))
                    }
                    _ => None,
                };
                if all && one.is_none() {
                    return false;
                }
                next.extend(one);
            }
            found = next;
        }
        let fits = |value: &&Value| self.wanted.iter().any(|wanted| wanted.is(value, all));
        if all { !found.is_empty() && found.iter().all(fits) } else { found.iter().any(fits) }
    }

    fn covers(&self, theirs: &Wanted) -> bool {
        self.wanted.iter().any(|mine| match (mine, theirs) {
            (Wanted::Text(mine), Wanted::Text(theirs)) => mine.covers(theirs),
            (mine, theirs) => mine == theirs,
        })
    }
}

impl Wanted {
    fn is(&self, value: &Value, allows: bool) -> bool {
        match (self, value) {
            (Wanted::Text(text), Value::String(given)) if allows => text.allows(given),
            (Wanted::Text(text), Value::String(given)) => text.matches(given),
            (Wanted::Integer(wanted), Value::Number(given)) => given.as_i64() == Some(*wanted),
            (Wanted::Truth(wanted), Value::Bool(given)) => wanted == given,
            _ => false,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Text(text) => write!(f, "{text}"),
            Wanted::Integer(number) => write!(f, "{number}"),
            Wanted::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed =
            |texts: &[Text]| texts.iter().map(Text::to_string).collect::<Vec<_>>().join(", ");
        match self.names.is_empty() {
            true => f.write_str("every tool")?,
            false => f.write_str(&listed(&self.names))?,
        }
        if !self.servers.is_empty() {
            write!(f, " of {}", listed(&self.servers))?;
        }
        for condition in &self.args {
            let wanted: Vec<String> = condition.wanted.iter().map(Wanted::to_string).collect();
            write!(f, ", {} = {}", condition.written, wanted.join(" or "))?;
        }
        Ok(())
    }
}

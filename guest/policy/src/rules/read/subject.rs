//! What a rule is about, for each kind.

use super::table::{SUBJECTS, Table};
use crate::limits::RULE_LIST_MAX;
use crate::rules::flags;
use crate::rules::glob::{Base, Glob};
use crate::rules::network::{self, Hosts, Network, Pattern, Ports, Protocols};
use crate::rules::path::{Access, File};
use crate::rules::shell::{Place, Shell};
use crate::rules::text::Text;
use crate::rules::tool::{self, Condition, Tool, Wanted};
use crate::rules::tree::{self, Node, Value};
use crate::rules::{Body, Effect, Kind};

/// Reads the one subject of a rule.
pub(super) fn read(table: &mut Table<'_, '_>, effect: Effect) -> Option<Body> {
    let named: Vec<&str> = SUBJECTS.into_iter().filter(|name| table.has(name)).collect();
    match named.as_slice() {
        ["shell"] => shell(table, effect).map(Body::Shell),
        ["file"] => file(table, effect).map(Body::File),
        ["network"] => network(table, effect).map(Body::Network),
        ["unix_socket"] => socket(table, effect).map(Body::Socket),
        ["process"] => process(table, effect).map(Body::Process),
        ["tool"] | ["server"] | ["tool", "server"] => tool(table, effect).map(Body::Tool),
        ["kind"] => kind(table).map(Body::Kind),
        [] => {
            let hint = format!("add one of {}", SUBJECTS.join(", "));
            table.missing("the rule says nothing about what it matches", hint);
            None
        }
        several => {
            let at = several.get(1).map_or(table.at, |name| table.place(name));
            let message = format!("the rule is about several things: {}", several.join(", "));
            for name in several {
                table.take(name);
            }
            table.error(at, message, "write one rule for each");
            None
        }
    }
}

/// A deny rule that leaves nothing is a mode.
fn everything(table: &mut Table<'_, '_>, effect: Effect, at: usize, kind: Kind) {
    if effect == Effect::Deny {
        let hint = format!(
            "use the mode `denyUnmatched`, which refuses what nothing allows, or write `kind = \
             \"{}\"` if not one may be allowed",
            kind.word()
        );
        table.error(at, "this deny rule matches everything", hint);
    }
}

fn kind(table: &mut Table<'_, '_>) -> Option<Kind> {
    let (at, word) = table.text("kind")?;
    let names = || Kind::ALL.into_iter().map(Kind::word);
    let found = Kind::ALL.into_iter().find(|kind| kind.word() == word);
    if found.is_none() {
        let meant = match word.as_str() {
            "file" | "path" | "read" | "write" => Some("fileAccess"),
            "unix_socket" | "socket" => Some("unixSocket"),
            "bash" | "command" => Some("shell"),
            "mcp" => Some("tool"),
            _ => tree::meant(&word, names()),
        };
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are {}", names().collect::<Vec<_>>().join(", ")),
        };
        table.error(at, format!("`{word}` is no kind of action"), hint);
    }
    found
}

fn shell(table: &mut Table<'_, '_>, effect: Effect) -> Option<Shell> {
    let at = table.place("shell");
    let node = table.take("shell")?;
    let words = match node.value {
        Value::List(list) => {
            let list = table.bounded("shell", node.at, list)?;
            let read: Vec<Option<Place>> = list.into_iter().map(|node| word(table, node)).collect();
            read.into_iter().collect::<Option<Vec<Place>>>()
        }
        Value::Text(text) => {
            let listed: Vec<String> =
                text.split_whitespace().map(|word| format!("\"{word}\"")).collect();
            let hint = format!("write `shell = [{}]`", listed.join(", "));
            table.error(node.at, "`shell` is one text", hint);
            None
        }
        other => {
            let message = format!("`shell` is {}", other.what());
            table.error(node.at, message, "write a list of words, as in `[\"git\", \"status\"]`");
            None
        }
    };
    let with = table.take("with_flags").map(|node| flag_groups(table, node)).unwrap_or_default();
    let without = flag_list(table, "without_flags");
    let env_at = table.place("env");
    let env = table.texts("env").unwrap_or_default();
    let exact = table.truth("exact").unwrap_or(false);
    if !env.is_empty() && effect != Effect::Allow {
        let hint = "leave it out: other effects match whatever is set before the command";
        table.error(env_at, "`env` belongs to allow rules", hint);
    }
    let env = env.iter().map(|(_, name)| Text::parse(name)).collect();
    let shell = Shell { words: words?, exact, with, without, env, root: None };
    let first_any = match shell.words.first() {
        Some(Place::Word(texts)) => texts.iter().any(Text::is_any),
        _ => true,
    };
    let rest_open = shell.words.iter().skip(1).all(|place| *place == Place::Words);
    let flags = !shell.with.is_empty() || !shell.without.is_empty();
    if first_any && rest_open && !shell.exact && !flags {
        everything(table, effect, at, Kind::Shell);
    }
    contradictions(table, &shell, at);
    Some(shell)
}

/// One place in the list of words.
fn word(table: &mut Table<'_, '_>, node: Node) -> Option<Place> {
    if matches!(&node.value, Value::Text(text) if text == "**") {
        return Some(Place::Words);
    }
    let at = node.at;
    let alternatives = match node.value {
        Value::List(list) => table.bounded("shell", at, list)?,
        _ => vec![node],
    };
    let texts: Vec<Option<(usize, String)>> =
        alternatives.into_iter().map(|node| table.text_of("shell", node)).collect();
    let texts: Vec<(usize, String)> = texts.into_iter().collect::<Option<_>>()?;
    if let Some((at, _)) = texts.iter().find(|(_, text)| text == "**") {
        table.error(*at, "`**` is no alternative", "write it as a word of its own");
        return None;
    }
    Some(Place::Word(texts.iter().map(|(_, text)| Text::parse(text)).collect()))
}

fn flag(table: &mut Table<'_, '_>, name: &str, node: Node) -> Option<String> {
    let (at, text) = table.text_of(name, node)?;
    if flags::is_flag(&text) {
        return Some(text);
    }
    let message = format!("`{text}` is no flag");
    table.error(at, message, "write it with its dashes, as in `-f` or `--force`");
    None
}

fn flag_list(table: &mut Table<'_, '_>, name: &str) -> Vec<String> {
    let Some(node) = table.take(name) else { return Vec::new() };
    let nodes = match node.value {
        Value::List(list) => table.bounded(name, node.at, list).unwrap_or_default(),
        _ => vec![node],
    };
    nodes.into_iter().filter_map(|node| flag(table, name, node)).collect()
}

/// Flags that must be given; of a list inside the list one.
fn flag_groups(table: &mut Table<'_, '_>, node: Node) -> Vec<Vec<String>> {
    let name = "with_flags";
    let nodes = match node.value {
        Value::List(list) => table.bounded(name, node.at, list).unwrap_or_default(),
        _ => vec![node],
    };
    let mut groups = Vec::new();
    for node in nodes {
        let group = match node.value {
            Value::List(list) => table.bounded(name, node.at, list).unwrap_or_default(),
            _ => vec![node],
        };
        groups.push(group.into_iter().filter_map(|node| flag(table, name, node)).collect());
    }
    groups.retain(|group: &Vec<String>| !group.is_empty());
    groups
}

/// What makes a shell rule match nothing.
fn contradictions(table: &mut Table<'_, '_>, shell: &Shell, at: usize) {
    let excluded = |flag: &String| shell.without.contains(flag);
    if let Some(group) = shell.with.iter().find(|group| group.iter().all(excluded)) {
        let message = format!("`{}` must be given and must not be given", group.join("`, `"));
        table.error(at, message, "leave it out of `with_flags` or of `without_flags`");
    }
    for place in shell.words.iter().skip(1) {
        let Place::Word(texts) = place else { continue };
        let shut = |text: &Text| text.literal().is_some_and(|word| excluded(&word.to_owned()));
        if texts.iter().all(shut) {
            let message = format!("the word `{place}` must stand there and must not be given");
            table.error(at, message, "leave it out of `shell` or of `without_flags`");
        }
    }
    if let Some(Place::Word(texts)) = shell.words.first()
        && texts.iter().all(|text| text.literal() == Some(""))
    {
        table.error(at, "no program has an empty name", "name the program");
    }
    let may_hold = |flag: &String| {
        shell.words.iter().skip(1).any(|place| match place {
            Place::Words => true,
            Place::Word(texts) => texts.iter().any(|text| {
                text.literal().is_none_or(|word| flags::may(flag, core::iter::once(word)))
            }),
        })
    };
    // The letters of a cluster may stand in several words.
    let spread = |flag: &String| !flag.starts_with("--") && flag.chars().count() > 2;
    let missing = |group: &&Vec<String>| !group.iter().any(|flag| spread(flag) || may_hold(flag));
    if shell.exact
        && let Some(group) = shell.with.iter().find(missing)
    {
        let message = format!("no word can be `{}`, and none may follow", group.join("` or `"));
        table.error(at, message, "leave out `exact`, or put the flag among the words");
    }
}

fn globs(table: &mut Table<'_, '_>, name: &str, effect: Effect, kind: Kind) -> Option<Vec<Glob>> {
    let texts = table.texts(name)?;
    let mut globs = Vec::new();
    for (at, text) in texts {
        match Glob::parse(&text) {
            Ok(glob) if glob.base == Base::Root && glob.is_any() => {
                everything(table, effect, at, kind);
                globs.push(glob);
            }
            Ok(glob) => globs.push(glob),
            Err((message, hint)) => table.error(at, format!("`{text}`: {message}"), hint),
        }
    }
    (!globs.is_empty()).then_some(globs)
}

fn file(table: &mut Table<'_, '_>, effect: Effect) -> Option<File> {
    let at = table.place("file");
    let globs = globs(table, "file", effect, Kind::FileAccess);
    let access = match table.text("access") {
        Some((at, word)) => match word.as_str() {
            "read" => Access::Read,
            "write" => Access::Write,
            "both" => Access::Both,
            _ => {
                let message = format!("`{word}` is no kind of access");
                table.error(at, message, "write `read`, `write` or `both`");
                return None;
            }
        },
        None if effect == Effect::Allow && !table.failed => {
            let hint = "add `access = \"read\"`, `\"write\"` or `\"both\"`; writing does not \
                        include reading";
            table.error(at, "the rule does not say which access it allows", hint);
            return None;
        }
        None => Access::Both,
    };
    Some(File { globs: globs?, access })
}

fn socket(table: &mut Table<'_, '_>, effect: Effect) -> Option<Vec<Glob>> {
    globs(table, "unix_socket", effect, Kind::UnixSocket)
}

fn process(table: &mut Table<'_, '_>, effect: Effect) -> Option<Vec<Text>> {
    let at = table.place("process");
    let texts = table.texts("process")?;
    let targets: Vec<Text> = texts.iter().map(|(_, text)| Text::parse(text)).collect();
    if targets.iter().any(Text::is_any) {
        everything(table, effect, at, Kind::Process);
    }
    if let Some((at, _)) = texts.iter().find(|(_, text)| text.is_empty()) {
        table.error(*at, "no process has an empty name", "name the process");
    }
    Some(targets)
}

fn network(table: &mut Table<'_, '_>, effect: Effect) -> Option<Network> {
    let ports = table.take("ports").and_then(|node| ports(table, node));
    let protocols_at = table.place("protocols");
    let protocols = protocols(table);
    let mut patterns = Vec::new();
    for (at, text) in table.texts("network")? {
        match pattern(&text) {
            Ok(pattern) if pattern.port.is_some() && ports.is_some() => {
                let message = format!("`{text}` names a port, and so does `ports`");
                table.error(at, message, "name the ports in one place");
            }
            Ok(pattern) => {
                let ported = ports.as_ref().is_some_and(|ports| *ports != Ports::Any);
                let named = matches!(protocols, Some(Protocols::Some(_)));
                if pattern.hosts == Hosts::All && pattern.port.is_none() && !ported && !named {
                    everything(table, effect, at, Kind::Network);
                }
                patterns.push(pattern);
            }
            Err((message, hint)) => table.error(at, message, hint),
        }
    }
    let ported = ports.is_some() || patterns.iter().all(|pattern| pattern.port.is_some());
    if effect == Effect::Allow && !ported {
        let unclear = match &protocols {
            Some(Protocols::Any) => true,
            Some(Protocols::Some(names)) => {
                names.iter().any(|name| network::default_port(name).is_none())
            }
            _ => false,
        };
        if unclear {
            let hint = "add `ports`, as in `ports = [5432]` or `ports = \"any\"`";
            table.error(protocols_at, "which ports these protocols use is not known", hint);
        }
    }
    if patterns.is_empty() {
        return None;
    }
    Some(Network::completed(effect, patterns, ports, protocols))
}

/// A host pattern with an optional port behind it.
fn pattern(text: &str) -> Result<Pattern, (String, String)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    if host.contains("://") || text.contains("://") {
        return Hosts::parse(text).map(|hosts| Pattern {
            written: text.to_owned(),
            hosts,
            port: None,
        });
    }
    let port = match port {
        Some(written) => Some(number(written).ok_or_else(|| {
            (format!("`{written}` is no port"), "write a number from 1 to 65535".to_owned())
        })?),
        None => None,
    };
    Ok(Pattern { written: text.to_owned(), hosts: Hosts::parse(host)?, port })
}

fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

fn ports(table: &mut Table<'_, '_>, node: Node) -> Option<Ports> {
    if matches!(&node.value, Value::Text(text) if text == "any") {
        return Some(Ports::Any);
    }
    let nodes = match node.value {
        Value::List(list) => table.bounded("ports", node.at, list)?,
        _ => vec![node],
    };
    let mut ranges = Vec::new();
    for node in nodes {
        let range = match &node.value {
            Value::Integer(port) => {
                u16::try_from(*port).ok().filter(|port| *port != 0).map(|port| (port, port))
            }
            Value::Text(text) => text
                .split_once('-')
                .and_then(|(first, last)| Some((number(first)?, number(last)?)))
                .filter(|(first, last)| first <= last),
            _ => None,
        };
        match range {
            Some(range) => ranges.push(range),
            None => {
                let hint = "write a number from 1 to 65535, a range as in `\"8000-8999\"`, or \
                            `ports = \"any\"`";
                table.error(node.at, "this is no port, so the rule can never match", hint);
            }
        }
    }
    (!ranges.is_empty()).then_some(Ports::Some(ranges))
}

fn protocols(table: &mut Table<'_, '_>) -> Option<Protocols> {
    let texts = table.texts("protocols")?;
    if matches!(texts.as_slice(), [(_, only)] if only == "any") {
        return Some(Protocols::Any);
    }
    let mut names = Vec::new();
    for (at, text) in texts {
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        if text.is_empty() || !text.chars().all(plain) {
            let message = format!("`{text}` is no protocol");
            table.error(at, message, "write its name alone, as in `https`");
        } else {
            names.push(text.to_ascii_lowercase());
        }
    }
    (!names.is_empty()).then_some(Protocols::Some(names))
}

fn tool(table: &mut Table<'_, '_>, effect: Effect) -> Option<Tool> {
    let at = if table.has("tool") { table.place("tool") } else { table.place("server") };
    let (asked_tool, asked_server) = (table.has("tool"), table.has("server"));
    let names = table.texts("tool");
    let servers = table.texts("server");
    let args = table.take("args").map(|node| conditions(table, node)).unwrap_or_default();
    if (asked_tool && names.is_none()) || (asked_server && servers.is_none()) {
        return None;
    }
    let mut servers: Vec<Text> =
        servers.unwrap_or_default().iter().map(|(_, text)| Text::parse(text)).collect();
    let mut tools = Vec::new();
    let count = names.as_ref().map_or(0, Vec::len);
    for (at, text) in names.unwrap_or_default() {
        match tool::names(&text, None).as_slice() {
            [only] if only.server.is_none() => tools.push(Text::parse(&text)),
            [only] if servers.is_empty() && count == 1 => {
                servers.extend(only.server.map(Text::parse));
                tools.push(Text::parse(only.tool));
            }
            _ => {
                let hint =
                    "write `server = \"...\"` and `tool = \"...\"`, one rule for each server";
                table.error(at, format!("`{text}` does not say clearly which server"), hint);
            }
        }
    }
    let any = |texts: &[Text]| texts.iter().any(Text::is_any);
    let any_tool = tools.is_empty() || any(&tools);
    if any_tool && (servers.is_empty() || any(&servers)) && args.is_empty() && !table.failed {
        everything(table, effect, at, Kind::Tool);
    }
    Some(Tool { names: tools, servers, args })
}

fn conditions(table: &mut Table<'_, '_>, node: Node) -> Vec<Condition> {
    let Value::Table(members) = node.value else {
        let message = format!("`args` is {}", node.value.what());
        table.error(node.at, message, "write `args = { path = \"src/*\" }`");
        return Vec::new();
    };
    if members.is_empty() || members.len() > RULE_LIST_MAX {
        let message = format!("`args` needs from 1 to {RULE_LIST_MAX} conditions");
        table.error(node.at, message, "name an argument, or leave `args` out");
        return Vec::new();
    }
    // `a.b = 1` in a table is a table in a table: it means the same path.
    let mut open: Vec<(Vec<String>, String, usize, Node)> = members
        .into_iter()
        .rev()
        .map(|member| (Vec::new(), member.name, member.at, member.node))
        .collect();
    let mut conditions = Vec::new();
    while let Some((before, name, at, node)) = open.pop() {
        let Some(inner) = Condition::path(&name) else {
            let hint = "write members with dots between them, or a JSON pointer as in `/a/b`";
            table.error(at, format!("`{name}` leads to no argument"), hint);
            continue;
        };
        let path: Vec<String> = before.into_iter().chain(inner).collect();
        match node.value {
            Value::Table(members)
                if conditions.len() + open.len() + members.len() <= RULE_LIST_MAX =>
            {
                open.extend(
                    members
                        .into_iter()
                        .rev()
                        .map(|member| (path.clone(), member.name, member.at, member.node)),
                );
            }
            _ => {
                let wanted = wanted(table, node);
                if !wanted.is_empty() {
                    conditions.push(Condition { written: path.join("."), path, wanted });
                }
            }
        }
    }
    conditions
}

fn wanted(table: &mut Table<'_, '_>, node: Node) -> Vec<Wanted> {
    let nodes = match node.value {
        Value::List(list) => table.bounded("args", node.at, list).unwrap_or_default(),
        _ => vec![node],
    };
    let mut wanted = Vec::new();
    for node in nodes {
        match node.value {
            Value::Text(_) => {
                let text = table.text_of("args", node);
                wanted.extend(text.map(|(_, text)| Wanted::Text(Text::parse(&text))));
            }
            Value::Integer(number) => wanted.push(Wanted::Integer(number)),
            Value::Truth(truth) => wanted.push(Wanted::Truth(truth)),
            other => {
                let message = format!("an argument is compared with {}", other.what());
                table.error(node.at, message, "write a text, a whole number, true or false");
            }
        }
    }
    wanted
}

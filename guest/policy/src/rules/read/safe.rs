//! `[[safe]]`: commands that a user knows to read only, with the schema of the built-in
//! table (docs/known-safe.md).

use super::From;
use crate::limits::SAFE_ENTRIES_MAX;
use crate::rules::Origin;
use crate::rules::finding::Findings;
use crate::rules::tree::{Node, Value};
use crate::safe::Entry;
use serde_json::Value as Json;

/// Reads the entries of one layer.
pub(super) fn each(
    (number, layer, torn): From<'_>,
    node: Node,
    entries: &mut Vec<Entry>,
    findings: &mut Findings<'_>,
) {
    let hint = "write `[[safe]]`";
    let at = node.at;
    let Value::List(list) = node.value else {
        findings.error(number, at, "an entry is one of a list", hint);
        return;
    };
    if layer.origin == Origin::Workspace {
        let hint = "add the entry to your own file, or `placet trust` this workspace";
        findings.warning(number, at, "a workspace that you do not trust calls nothing safe", hint);
        return;
    }
    for node in list {
        if entries.len() >= SAFE_ENTRIES_MAX {
            let message = format!("there are more than {SAFE_ENTRIES_MAX} entries");
            findings.error(number, node.at, message, "write fewer, with alternatives in braces");
            return;
        }
        match entry(&node) {
            Ok(entry) if !torn => entries.push(entry),
            Ok(_) => {}
            Err((at, why)) => {
                let hint = "docs/known-safe.md lists what an entry may say";
                findings.error(number, at, why, hint);
            }
        }
    }
}

/// One entry, or where it is wrong and why.
fn entry(node: &Node) -> Result<Entry, (usize, String)> {
    let entry: Entry = serde_json::from_value(json(node)).map_err(|error| {
        let why = error.to_string();
        let named = why.split('`').nth(1).unwrap_or_default();
        (member(node, named).unwrap_or(node.at), why.clone())
    })?;
    match entry.faults().as_slice() {
        [] => Ok(entry),
        faults => {
            let at = member(node, "command").unwrap_or(node.at);
            Err((at, format!("`{}` {}", entry.command, faults.join(", and "))))
        }
    }
}

/// Where a member of a table stands.
fn member(node: &Node, name: &str) -> Option<usize> {
    let Value::Table(members) = &node.value else { return None };
    members.iter().find(|member| member.name == name).map(|member| member.at)
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Text(text) => Json::from(text.as_str()),
        Value::Integer(number) => Json::from(*number),
        Value::Truth(truth) => Json::from(*truth),
        Value::List(list) => list.iter().map(json).collect(),
        Value::Table(members) => {
            members.iter().map(|member| (member.name.clone(), json(&member.node))).collect()
        }
        Value::Other => Json::Null,
    }
}

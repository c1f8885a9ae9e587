//! From the text of a rule file to rules.
//!
//! Every `[[rule]]` is a table with an effect, exactly one subject (`shell`, `file`,
//! `network`, ...) and conditions of that subject. `table` hands out members and
//! counts what goes wrong, `subject` reads each kind.

mod safe;
mod subject;
mod table;

use super::examples;
use super::finding::Findings;
use super::tree::{self, Member, Node, Value};
use super::{Effect, Layer, Rule};
use crate::limits::{RULES_LAYER_BYTES_MAX, RULES_MAX};
use crate::safe::Entry;
use table::Table;

/// The table that rules are in.
const RULE: &str = "rule";

/// The table that known-safe commands are in.
const SAFE: &str = "safe";

/// Tables of the same file that are not about rules.
const FOREIGN: [&str; 4] = ["serve", "authority", "protected", "agentos"];

/// Members that every rule may have.
const COMMON: [&str; 4] = ["effect", "id", "message", "examples"];

/// Reads one layer.
pub(crate) fn layer(
    number: u32,
    layer: &Layer,
    (rules, entries): (&mut Vec<Rule>, &mut Vec<Entry>),
    findings: &mut Findings<'_>,
) {
    if layer.text.len() > RULES_LAYER_BYTES_MAX {
        let message = format!("the file has more than {RULES_LAYER_BYTES_MAX} bytes");
        findings.error(number, 0, message, "write fewer rules, with wildcards and lists");
        return;
    }
    let (members, broken) = tree::read(&layer.text);
    let torn = !broken.is_empty();
    for broken in broken {
        let hint = "correct the TOML; nothing is allowed by rules until then";
        findings.error(number, broken.at, broken.why, hint);
    }
    for member in members {
        if member.name == RULE {
            each((number, layer, torn), member.node, rules, findings);
        } else if member.name == SAFE {
            safe::each((number, layer, torn), member.node, entries, findings);
        } else if !FOREIGN.contains(&member.name.as_str()) {
            unknown_table(number, &member, findings);
        }
    }
}

fn unknown_table(number: u32, member: &Member, findings: &mut Findings<'_>) {
    let known = FOREIGN.into_iter().chain([RULE, SAFE]);
    let hint = match tree::meant(&member.name, known) {
        Some(RULE) => "rules are written as `[[rule]]`".to_owned(),
        Some(SAFE) => "known-safe commands are written as `[[safe]]`".to_owned(),
        Some(other) => format!("did you mean `[{other}]`?"),
        None if table::SUBJECTS.contains(&member.name.as_str())
            || COMMON.contains(&member.name.as_str()) =>
        {
            "write `[[rule]]` above it".to_owned()
        }
        None => "this file has rules as `[[rule]]`, and the tables `[serve]`, `[authority]` and `[protected]`"
            .to_owned(),
    };
    findings.error(number, member.at, format!("`{}` is not known here", member.name), hint);
}

/// Number, layer, and whether it is no TOML.
type From<'a> = (u32, &'a Layer, bool);

fn each(from: From<'_>, node: Node, rules: &mut Vec<Rule>, findings: &mut Findings<'_>) {
    let (number, ..) = from;
    let list = match node.value {
        Value::List(list) => list,
        Value::Table(_) => {
            findings.error(number, node.at, "a rule is one of a list", "write `[[rule]]`");
            vec![node]
        }
        _ => {
            findings.error(number, node.at, "`rule` is no table", "write `[[rule]]`");
            return;
        }
    };
    for node in list {
        if rules.len() >= RULES_MAX {
            let message = format!("there are more than {RULES_MAX} rules");
            findings.error(number, node.at, message, "write fewer rules, with wildcards and lists");
            return;
        }
        let Value::Table(members) = node.value else {
            findings.error(number, node.at, "a rule is a table", "write `[[rule]]`");
            continue;
        };
        rules.extend(rule(from, node.at, members, findings));
    }
}

/// Reads one rule. What refuses is kept also where a part of it was not understood: it
/// is wider then. What allows is not.
fn rule(
    (number, layer, torn): From<'_>,
    at: usize,
    members: Vec<Member>,
    findings: &mut Findings<'_>,
) -> Option<Rule> {
    let line = findings.line(number, at);
    let mut table = Table::new(number, at, members, torn, findings);
    let effect = effect(&mut table);
    let id = table.text("id").and_then(|(at, id)| id_text(&mut table, at, id));
    let message = table.text("message").map(|(_, message)| message);
    let examples = table.take("examples");
    // Without an effect the rest is still read, so that everything wrong is said at once.
    let body = subject::read(&mut table, effect.unwrap_or(Effect::Ask));
    table.nothing_left();
    let failed = table.failed;
    let (effect, body) = (effect?, body?);
    let rule = Rule {
        id: id.unwrap_or_else(|| format!("{}:{line}", layer.name)),
        effect,
        origin: layer.origin,
        layer: number,
        file: layer.name.clone(),
        line,
        at: u32::try_from(at).unwrap_or(u32::MAX),
        message,
        body,
    };
    if let Some(node) = examples.filter(|_| !failed) {
        examples::run(&rule, number, node, findings);
    }
    (effect != Effect::Allow || !failed).then_some(rule)
}

fn effect(table: &mut Table<'_, '_>) -> Option<Effect> {
    if !table.has("effect") {
        table.missing("the rule has no effect", "add `effect = \"allow\"`, `ask` or `deny`");
        return None;
    }
    let (at, word) = table.text("effect")?;
    let effect = Effect::ALL.into_iter().find(|effect| effect.word() == word);
    if effect.is_none() {
        let hint = match word.as_str() {
            "prompt" | "confirm" => "write `ask`",
            "block" | "reject" | "refuse" | "forbid" => "write `deny`",
            "permit" | "accept" => "write `allow`",
            _ => "write `allow`, `ask` or `deny`",
        };
        table.error(at, format!("`{word}` is no effect"), hint);
    }
    effect
}

/// The longest id.
const ID_CHARS_MAX: usize = 128;

/// An id is an ordinary word, so that it is never taken for a place in a file.
fn id_text(table: &mut Table<'_, '_>, at: usize, id: String) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if !id.is_empty() && id.chars().count() <= ID_CHARS_MAX && id.chars().all(plain) {
        return Some(id);
    }
    let hint = format!("use up to {ID_CHARS_MAX} letters, digits, `-`, `_` and `.`");
    table.error(at, "this cannot be a rule's id", hint);
    None
}

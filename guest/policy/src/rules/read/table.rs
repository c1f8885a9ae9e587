//! The members of one rule, handed out by name.

use super::COMMON;
use crate::limits::{RULE_LIST_MAX, RULE_TEXT_BYTES_MAX};
use crate::rules::finding::Findings;
use crate::rules::tree::{self, Member, Node, Value};

/// The members that say what a rule is about, of which it has one.
pub(super) const SUBJECTS: [&str; 8] =
    ["shell", "file", "network", "unix_socket", "process", "tool", "server", "kind"];

/// Conditions, and the subject that each belongs to.
pub(super) const CONDITIONS: [(&str, &str); 8] = [
    ("with_flags", "shell"),
    ("without_flags", "shell"),
    ("env", "shell"),
    ("exact", "shell"),
    ("access", "file"),
    ("ports", "network"),
    ("protocols", "network"),
    ("args", "tool"),
];

/// Every member that a rule can have.
fn known() -> impl Iterator<Item = &'static str> {
    CONDITIONS.iter().map(|(condition, _)| *condition).chain(SUBJECTS).chain(COMMON)
}

fn is_known(name: &str) -> bool {
    known().any(|known| known == name)
}

/// One rule in the making.
pub(super) struct Table<'f, 'l> {
    layer: u32,
    /// Where the rule begins.
    pub(super) at: usize,
    members: Vec<Member>,
    findings: &'f mut Findings<'l>,
    /// Whether something about the rule was not understood.
    pub(super) failed: bool,
    /// Whether the file is no TOML, so that what is missing may only be unread.
    torn: bool,
}

impl<'f, 'l> Table<'f, 'l> {
    pub(super) fn new(
        layer: u32,
        at: usize,
        members: Vec<Member>,
        torn: bool,
        findings: &'f mut Findings<'l>,
    ) -> Table<'f, 'l> {
        Table { layer, at, members, findings, failed: false, torn }
    }

    /// Says that something is not there, unless that follows from another mistake.
    pub(super) fn missing(&mut self, message: &str, hint: impl Into<String>) {
        self.failed = true;
        let unknown = |member: &Member| !is_known(&member.name);
        if !self.torn && !self.members.iter().any(unknown) {
            self.error(self.at, message, hint);
        }
    }

    pub(super) fn error(&mut self, at: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.failed = true;
        self.findings.error(self.layer, at, message, hint);
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// Where a member is named, or else the rule itself.
    pub(super) fn place(&self, name: &str) -> usize {
        self.members.iter().find(|member| member.name == name).map_or(self.at, |member| member.at)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Node> {
        let at = self.members.iter().position(|member| member.name == name)?;
        Some(self.members.remove(at).node)
    }

    /// A member that is a text.
    pub(super) fn text(&mut self, name: &str) -> Option<(usize, String)> {
        let node = self.take(name)?;
        self.text_of(name, node)
    }

    /// A member that is true or false.
    pub(super) fn truth(&mut self, name: &str) -> Option<bool> {
        let node = self.take(name)?;
        if let Value::Truth(truth) = node.value {
            return Some(truth);
        }
        let message = format!("`{name}` is {}", node.value.what());
        self.error(node.at, message, "write `true` or `false`");
        None
    }

    /// A member that is a text or a list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<(usize, String)>> {
        let node = self.take(name)?;
        let nodes = match node.value {
            Value::List(list) => self.bounded(name, node.at, list)?,
            _ => vec![node],
        };
        let found: Vec<(usize, String)> =
            nodes.into_iter().filter_map(|node| self.text_of(name, node)).collect();
        (!found.is_empty()).then_some(found)
    }

    /// A list that is neither empty nor too long.
    pub(super) fn bounded(&mut self, name: &str, at: usize, list: Vec<Node>) -> Option<Vec<Node>> {
        if list.is_empty() {
            let message = format!("`{name}` is an empty list, so the rule can never match");
            self.error(at, message, format!("name something, or leave `{name}` out"));
            return None;
        }
        if list.len() > RULE_LIST_MAX {
            let message = format!("`{name}` has more than {RULE_LIST_MAX} entries");
            self.error(at, message, "write several rules");
            return None;
        }
        Some(list)
    }

    /// The text that a node is.
    pub(super) fn text_of(&mut self, name: &str, node: Node) -> Option<(usize, String)> {
        match node.value {
            Value::Text(text) if text.len() > RULE_TEXT_BYTES_MAX => {
                let message =
                    format!("a text of `{name}` has more than {RULE_TEXT_BYTES_MAX} bytes");
                self.error(node.at, message, "shorten it");
                None
            }
            Value::Text(text) if text.contains('\0') => {
                self.error(node.at, format!("a text of `{name}` has a NUL in it"), "leave it out");
                None
            }
            Value::Text(text) => Some((node.at, text)),
            other => {
                let message = format!("`{name}` is {}", other.what());
                self.error(node.at, message, "write a text in quotes");
                None
            }
        }
    }

    /// Says what was not asked for.
    pub(super) fn nothing_left(&mut self) {
        for member in core::mem::take(&mut self.members) {
            let name = member.name.as_str();
            let owner = CONDITIONS.iter().find(|(condition, _)| *condition == name);
            let (message, hint) = match owner {
                Some((_, subject)) => (
                    format!("`{name}` belongs to rules with `{subject}`"),
                    format!("leave it out, or add `{subject}`"),
                ),
                None => {
                    let hint = match tree::meant(name, known()) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => format!("a rule has {}", SUBJECTS.join(", ")),
                    };
                    (format!("`{name}` is no member of a rule"), hint)
                }
            };
            self.error(member.at, message, hint);
        }
    }
}

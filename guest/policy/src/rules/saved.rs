//! Saved grants: what a person chose to allow lastingly, as rules.
//!
//! A layer of grants is one JSON object a line: the approval's id and what it covers.
//! When it was given, in which mode and for which repository is the store's matter.

use super::finding::Findings;
use super::host;
use super::network::{Hosts, Network, Pattern, Ports, Protocols};
use super::shell::{Place, Shell};
use super::text::Text;
use super::tool::{self, Tool};
use super::{Body, Effect, Layer, Rule};
use crate::limits::{RULE_LIST_MAX, RULE_TEXT_BYTES_MAX, RULES_LAYER_BYTES_MAX, RULES_MAX};
use serde::{Deserialize, Serialize};

/// A saved grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedRule {
    /// The approval that it was given with.
    pub id: String,
    /// What it covers.
    pub rule: SavedBody,
}

/// What a saved grant covers. Texts are taken as they are, without wildcards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum SavedBody {
    /// Commands that begin with these words, inside a workspace.
    Shell {
        /// The words.
        argv: Vec<String>,
        /// Nothing may follow them.
        #[serde(default)]
        exact: bool,
        /// The workspace root, as [`super::Words`] has it.
        root: String,
    },
    /// A host, as it was shown.
    Network {
        /// Name or address.
        host: String,
        /// The port; none for every port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// The protocol; none for what names none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol: Option<String>,
    },
    /// A tool, with any arguments.
    Tool {
        /// Its name.
        name: String,
        /// Its server, where it is told apart from the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
    },
}

impl SavedRule {
    /// The line that a store keeps.
    #[must_use]
    pub fn to_grant_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line back.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_grant_text(line: &str) -> Result<SavedRule, String> {
        let saved: SavedRule = serde_json::from_str(line).map_err(|error| error.to_string())?;
        saved.rule.body().map(|_| saved)
    }
}

impl SavedBody {
    /// What it covers, for people, before and after it is saved.
    ///
    /// # Errors
    /// Why it cannot be saved.
    pub fn preview(&self) -> Result<String, String> {
        let rule = Rule {
            id: String::new(),
            effect: Effect::Allow,
            origin: super::Origin::Grants,
            layer: 0,
            file: String::new(),
            line: 0,
            at: 0,
            message: None,
            body: self.body()?,
        };
        Ok(rule.to_string())
    }

    fn body(&self) -> Result<Body, String> {
        match self {
            SavedBody::Shell { argv, exact, root } => {
                if argv.first().is_none_or(String::is_empty) {
                    return Err("it has no program".to_owned());
                }
                if argv.len() > RULE_LIST_MAX || argv.iter().any(|w| w.len() > RULE_TEXT_BYTES_MAX)
                {
                    return Err("its words are too many or too long for a rule".to_owned());
                }
                let words = argv.iter().map(|word| Place::Word(vec![Text::exactly(word)]));
                let root = Some(root.clone());
                Ok(Body::Shell(Shell {
                    words: words.collect(),
                    exact: *exact,
                    root,
                    ..Shell::default()
                }))
            }
            SavedBody::Network { host: written, port, protocol } => {
                let hosts = match host::read(written).as_slice() {
                    [host::Host::Name(name)] => Hosts::Name(name.clone()),
                    [host::Host::Address(address)] => Hosts::Address(*address),
                    _ => return Err(format!("`{written}` can be read in no way or in several")),
                };
                let pattern = Pattern { written: written.clone(), hosts, port: None };
                Ok(Body::Network(Network {
                    patterns: vec![pattern],
                    ports: port.map_or(Ports::Any, |port| Ports::Some(vec![(port, port)])),
                    protocols: Protocols::Some(
                        protocol.iter().map(|name| name.to_ascii_lowercase()).collect(),
                    ),
                    unnamed: protocol.is_none(),
                }))
            }
            SavedBody::Tool { name, server } => {
                match tool::names(name, server.as_deref()).as_slice() {
                    [only] if !only.tool.is_empty() => Ok(Body::Tool(Tool {
                        names: vec![Text::exactly(only.tool)],
                        servers: only.server.map(Text::exactly).into_iter().collect(),
                        args: Vec::new(),
                    })),
                    _ => Err(format!("`{name}` can be split into server and tool in several ways")),
                }
            }
        }
    }
}

/// Reads a layer of grants.
pub(crate) fn read(number: u32, layer: &Layer, rules: &mut Vec<Rule>, findings: &mut Findings<'_>) {
    if layer.text.len() > RULES_LAYER_BYTES_MAX {
        let message = format!("the saved grants have more than {RULES_LAYER_BYTES_MAX} bytes");
        findings.error(number, 0, message, "revoke some with `placet grants revoke`");
        return;
    }
    let mut at = 0;
    for line in layer.text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let read = SavedRule::from_grant_text(line)
            .and_then(|saved| saved.rule.body().map(|body| (saved.id, body)));
        match read {
            Ok(_) if rules.len() >= RULES_MAX => {
                let message = format!("there are more than {RULES_MAX} rules");
                findings.error(number, start, message, "revoke some with `placet grants revoke`");
                return;
            }
            Ok((id, body)) => rules.push(Rule {
                id,
                effect: Effect::Allow,
                origin: layer.origin,
                layer: number,
                file: layer.name.clone(),
                line: findings.line(number, start),
                at: u32::try_from(start).unwrap_or(u32::MAX),
                message: None,
                body,
            }),
            Err(why) => findings.warning(
                number,
                start,
                format!("this is no saved grant: {why}"),
                "revoke it with `placet grants revoke`",
            ),
        }
    }
}

//! Rules in one line, as the texts that the policy gets.
//!
//! `ID EFFECT KIND WORD ..`: for the shell the words that a command starts with, for
//! a tool its name; without words everything of the kind.

use anyhow::{Result, bail};
use placet_policy::types::{RuleLayer, RuleOrigin, RuleSet};
use sha2::{Digest as _, Sha256};

/// A rule as `placet.toml` has it.
pub fn toml(line: &str) -> Result<String> {
    let (head, message) = line.split_once(" : ").unwrap_or((line, ""));
    let mut words = head.split_whitespace();
    let (Some(id), Some(effect), Some(kind)) = (words.next(), words.next(), words.next()) else {
        bail!("{line} is no rule");
    };
    let words: Vec<&str> = words.collect();
    let matches = match (kind, words.as_slice()) {
        (kind, []) => format!("kind = {kind:?}"),
        ("shell", words) => format!("shell = {words:?}"),
        ("tool", [name]) => format!("tool = {name:?}"),
        _ => bail!("{line} is no rule"),
    };
    let message =
        if message.is_empty() { String::new() } else { format!("message = {message:?}\n") };
    Ok(format!("[[rule]]\nid = {id:?}\neffect = {effect:?}\n{matches}\n{message}"))
}

/// The rules and lasting grants of a session in a test.
pub fn set(rules: &[String], grants: &[String]) -> RuleSet {
    let text = rules.concat();
    let saved = grants.join("\n");
    let digest = if rules.is_empty() && grants.is_empty() {
        "sha256:rules".to_owned()
    } else {
        let hash = Sha256::new().chain_update(&text).chain_update("\0").chain_update(&saved);
        let hash = hash.finalize();
        format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    };
    let layer = RuleLayer { name: "placet.toml".to_owned(), origin: RuleOrigin::User, text };
    let name = "saved grants".to_owned();
    let grants = RuleLayer { name, origin: RuleOrigin::Grants, text: saved };
    RuleSet { digest, layers: vec![layer, grants] }
}

//! Placet's parser, rules and table, as a library.

use crate::{About, COMMAND, Rule};
use placet_policy::rules::{Effect, Layer, Origin, RuleSet, Words, compile};
use placet_policy::safe::{Judgement, judge};
use placet_policy::shell;
use std::fmt::Write as _;

pub struct Engine(RuleSet);

impl Engine {
    pub fn new(rules: &[Rule]) -> Engine {
        let mut text = String::new();
        for Rule { denies, about } in rules {
            let effect = if *denies { "deny" } else { "allow" };
            let subject = match about {
                About::Shell(first, second) => format!("shell = [\"{first}\", \"{second}\"]"),
                About::File(path) => format!("file = \"{path}\"\naccess = \"write\""),
                About::Network(host) => format!("network = \"{host}\""),
                About::Tool(tool) => format!("tool = \"{tool}\""),
                About::Process(process) => format!("process = \"{process}\""),
                About::Socket(path) => format!("unix_socket = \"{path}\""),
            };
            writeln!(text, "[[rule]]\neffect = \"{effect}\"\n{subject}").unwrap();
        }
        let name = "placet.toml".to_owned();
        let compiled = compile(&[Layer { name, origin: Origin::User, text }]);
        assert!(compiled.set.broken().is_none(), "{:?}", compiled.findings);
        Engine(compiled.set)
    }

    /// Reads the command, and asks deny and ask rules, the table and allow rules.
    pub fn allows(&self) -> bool {
        let parsed = shell::stages(COMMAND, None);
        !parsed.stages.is_empty() && parsed.stages.iter().all(|stage| self.covers(stage))
    }

    fn covers(&self, stage: &shell::Stage) -> bool {
        let words =
            Words { argv: &stage.argv, unknown: &stage.unknown, assignments: &[], root: None };
        let hit = |effect| self.0.shell(effect, &words).is_some();
        let refused = hit(Effect::Deny) || hit(Effect::Ask);
        let safe = || judge(&stage.argv, self.0.safe()) == Judgement::Safe;
        stage.complete && !refused && (safe() || hit(Effect::Allow))
    }
}

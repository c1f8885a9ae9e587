//! The same rules as Rego, in regorus.

use crate::{About, Rule, STAGES};
use regorus::Value;
use std::fmt::Write as _;

pub struct Engine {
    engine: regorus::Engine,
    inputs: Vec<Value>,
}

impl Engine {
    pub fn new(rules: &[Rule]) -> Engine {
        let mut text = "package placet\n\ndefault allow := false\ndefault deny := false\n".to_owned();
        let grep = Rule { denies: false, about: About::Shell("grep".to_owned(), "-c".to_owned()) };
        for Rule { denies, about } in rules.iter().chain([&grep]) {
            let name = if *denies { "deny" } else { "allow" };
            let body = match about {
                About::Shell(first, second) => {
                    let first = match first.strip_suffix('*') {
                        Some(start) => format!("startswith(input.argv[0], \"{start}\")"),
                        None => format!("input.argv[0] == \"{first}\""),
                    };
                    format!("input.kind == \"shell\"; {first}; input.argv[1] == \"{second}\"")
                }
                About::File(path) => match path.strip_suffix("/**/*.rs") {
                    Some(folder) => format!(
                        "input.kind == \"file\"; startswith(input.path, \"{folder}/\"); endswith(input.path, \".rs\")"
                    ),
                    None => format!("input.kind == \"file\"; input.path == \"{path}\""),
                },
                About::Network(host) => format!("input.kind == \"network\"; input.host == \"{host}\""),
                About::Tool(tool) => format!("input.kind == \"tool\"; input.tool == \"{tool}\""),
                About::Process(target) => {
                    format!("input.kind == \"process\"; input.target == \"{target}\"")
                }
                About::Socket(path) => format!("input.kind == \"socket\"; input.path == \"{path}\""),
            };
            writeln!(text, "{name} if {{ {body} }}").unwrap();
        }
        let mut engine = regorus::Engine::new();
        engine.add_policy("placet.rego".to_owned(), text).expect("Rego that is read");
        let inputs = STAGES
            .iter()
            .map(|argv| {
                let input = serde_json::json!({"kind": "shell", "argv": argv});
                Value::from_json_str(&input.to_string()).expect("JSON")
            })
            .collect();
        Engine { engine, inputs }
    }

    pub fn allows(&mut self) -> bool {
        let Engine { engine, inputs } = self;
        inputs.iter().all(|input| {
            engine.set_input(input.clone());
            let mut is = |rule: &str| {
                engine.eval_rule(rule.to_owned()).expect("a value") == Value::from(true)
            };
            !is("data.placet.deny") && is("data.placet.allow")
        })
    }
}

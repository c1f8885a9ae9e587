//! The same rules as Cedar policies.

use crate::{About, Rule, STAGES};
use cedar_policy::{Authorizer, Context, Decision, Entities, PolicySet, Request};
use std::fmt::Write as _;

pub struct Engine {
    policies: PolicySet,
    requests: Vec<Request>,
    entities: Entities,
    authorizer: Authorizer,
}

impl Engine {
    pub fn new(rules: &[Rule]) -> Engine {
        let mut text = String::new();
        let grep = Rule { denies: false, about: About::Shell("grep".to_owned(), "-c".to_owned()) };
        for Rule { denies, about } in rules.iter().chain([&grep]) {
            let effect = if *denies { "forbid" } else { "permit" };
            let (action, resource, when) = match about {
                About::Shell(first, second) => match first.strip_suffix('*') {
                    Some(_) => (
                        "shell",
                        "resource".to_owned(),
                        format!("context.first like \"{first}\" && context.second == \"{second}\""),
                    ),
                    None => (
                        "shell",
                        format!("resource == Program::\"{first}\""),
                        format!("context.second == \"{second}\""),
                    ),
                },
                About::File(path) => match path.contains('*') {
                    true => {
                        let like = path.replace("**/", "");
                        ("file", "resource".to_owned(), format!("context.path like \"{like}\""))
                    }
                    false => ("file", format!("resource == Path::\"{path}\""), "true".to_owned()),
                },
                About::Network(host) => {
                    ("network", format!("resource == Host::\"{host}\""), "true".to_owned())
                }
                About::Tool(tool) => {
                    ("tool", format!("resource == Tool::\"{tool}\""), "true".to_owned())
                }
                About::Process(target) => {
                    ("process", format!("resource == Process::\"{target}\""), "true".to_owned())
                }
                About::Socket(path) => {
                    ("socket", format!("resource == Socket::\"{path}\""), "true".to_owned())
                }
            };
            writeln!(
                text,
                "{effect} (principal, action == Action::\"{action}\", {resource}) when {{ {when} }};"
            )
            .unwrap();
        }
        let requests = STAGES
            .iter()
            .map(|argv| {
                let context = serde_json::json!({"first": argv[0], "second": argv[1]});
                Request::new(
                    "Agent::\"agent\"".parse().expect("an entity"),
                    "Action::\"shell\"".parse().expect("an entity"),
                    format!("Program::\"{}\"", argv[0]).parse().expect("an entity"),
                    Context::from_json_value(context, None).expect("a context"),
                    None,
                )
                .expect("a request")
            })
            .collect();
        Engine {
            policies: text.parse().expect("policies that are read"),
            requests,
            entities: Entities::empty(),
            authorizer: Authorizer::new(),
        }
    }

    pub fn allows(&self) -> bool {
        self.requests.iter().all(|request| {
            let answer = self.authorizer.is_authorized(request, &self.policies, &self.entities);
            answer.decision() == Decision::Allow
        })
    }
}

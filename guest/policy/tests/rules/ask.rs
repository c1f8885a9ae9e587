//! Subjects as a line of text, and the verdict of a rule set on one.
//!
//! `run [NAME=] WORD ..` a stage, where `$..` is a word that is not known;
//! `bare WORD ..` a command that was not understood; `read PATH`, `write PATH`,
//! `sock PATH` with an optional ` -> PATH` for where a link leads and `(i)` behind for a
//! file system without case; `net HOST [PORT [PROTOCOL]]`, `proc TARGET`,
//! `tool NAME [JSON]`, `tool SERVER NAME JSON`.

use placet_policy::rules::{
    Certainty, Effect, Hit, NetworkSubject, PathSubject, Places, RuleSet, ToolSubject, Words,
};

pub(crate) const WORKSPACE: &str = "/w";
pub(crate) const HOME: &str = "/u";

/// A subject, read.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    Run { argv: Vec<String>, unknown: Vec<u32>, assignments: Vec<String> },
    Bare(Vec<String>),
    Path { sort: &'static str, typed: String, canonical: String, insensitive: bool },
    Net { host: String, port: Option<u16>, protocol: Option<String> },
    Process(String),
    Tool { server: Option<String>, name: String, args: serde_json::Value },
}

/// Where a path of a subject is.
pub(crate) fn absolute(path: &str) -> String {
    match (path.strip_prefix("~/"), path.starts_with('/')) {
        (Some(rest), _) => format!("{HOME}/{rest}"),
        (None, true) => path.to_owned(),
        (None, false) => format!("{WORKSPACE}/{path}"),
    }
}

impl Subject {
    pub(crate) fn read(line: &str) -> Subject {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words = || rest.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
        match verb {
            "run" => {
                let name = |word: &String| {
                    word.strip_suffix('=')
                        .is_some_and(|name| !name.is_empty() && !name.contains('-'))
                };
                let assignments =
                    words().take_while(name).map(|word| word.replace('=', "")).collect();
                let argv: Vec<String> = words().skip_while(name).collect();
                let unknown = (0..)
                    .zip(&argv)
                    .filter(|(_, word)| word.starts_with('$'))
                    .map(|(index, _)| index)
                    .collect();
                Subject::Run { argv, unknown, assignments }
            }
            "bare" => Subject::Bare(words().collect()),
            "read" | "write" | "sock" => {
                let (rest, insensitive) = match rest.strip_suffix(" (i)") {
                    Some(rest) => (rest, true),
                    None => (rest, false),
                };
                let (typed, canonical) = rest.split_once(" -> ").unwrap_or((rest, rest));
                let sort = ["read", "write", "sock"].into_iter().find(|sort| *sort == verb);
                Subject::Path {
                    sort: sort.unwrap(),
                    typed: absolute(typed),
                    canonical: absolute(canonical),
                    insensitive,
                }
            }
            "net" => {
                let mut words = words();
                let host = words.next().unwrap_or_default();
                let port =
                    words.next().filter(|port| port != "-").map(|port| port.parse().unwrap());
                Subject::Net { host, port, protocol: words.next() }
            }
            "proc" => Subject::Process(rest.to_owned()),
            "tool" => {
                let (names, args) = match rest.find('{') {
                    Some(at) => (&rest[..at], serde_json::from_str(&rest[at..]).unwrap()),
                    None => (rest, serde_json::json!({})),
                };
                match names.split_whitespace().collect::<Vec<_>>().as_slice() {
                    [name] => Subject::Tool { server: None, name: (*name).to_owned(), args },
                    [server, name] => Subject::Tool {
                        server: Some((*server).to_owned()),
                        name: (*name).to_owned(),
                        args,
                    },
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("no subject: {other}"),
        }
    }

    /// The rule of an effect that matches.
    pub(crate) fn hit<'a>(&self, set: &'a RuleSet, effect: Effect) -> Option<Hit<'a>> {
        let places = Places { workspace: Some(WORKSPACE), home: Some(HOME) };
        match self {
            Subject::Run { argv, unknown, assignments } => {
                set.shell(effect, &Words { argv, unknown, assignments, root: Some(WORKSPACE) })
            }
            Subject::Bare(words) => set.bare(effect, words, &[]),
            Subject::Path { sort, typed, canonical, insensitive } => {
                let subject = PathSubject {
                    typed,
                    canonical,
                    write: *sort == "write",
                    places: &places,
                    insensitive: *insensitive,
                };
                if *sort == "sock" {
                    set.socket(effect, &subject)
                } else {
                    set.path(effect, &subject)
                }
            }
            Subject::Net { host, port, protocol } => set.network(
                effect,
                &NetworkSubject { host, port: *port, protocol: protocol.as_deref() },
            ),
            Subject::Process(target) => set.process(effect, target),
            Subject::Tool { server, name, args } => {
                set.tool(effect, &ToolSubject { name, server: server.as_deref(), args })
            }
        }
    }
}

/// The strongest effect that matches a subject: `deny`, `deny?` where it only may,
/// `none` where nothing does.
pub(crate) fn verdict(set: &RuleSet, subject: &str) -> String {
    let subject = Subject::read(subject);
    for effect in Effect::ALL {
        match subject.hit(set, effect).map(|hit| hit.certainty) {
            Some(Certainty::Certain) => return effect.word().to_owned(),
            Some(Certainty::Possible) => return format!("{}?", effect.word()),
            None => {}
        }
    }
    "none".to_owned()
}

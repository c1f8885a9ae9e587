//! The vectors of the field reports, and the folders that their lines speak of.

use crate::common::{Ended, Home};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// tests/vectors/field_reports.json.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reports {
    /// Every report of the six kinds.
    pub(super) ids: Vec<String>,
    pub(super) reports: Vec<Report>,
    pub(super) cases: Vec<Case>,
    pub(super) systems: Vec<System>,
}

/// A report that lines for `placet explain` show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    pub(super) id: String,
    pub(super) lines: Vec<Line>,
}

/// A report that a test case shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) case: String,
    pub(super) why: String,
}

/// A report about another operating system.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    pub(super) id: String,
    pub(super) why: String,
}

/// An action and what must come out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// The line; `ROOT` and `STATE` stand for folders.
    pub(super) say: Map<String, Value>,
    /// A text that stands before the command so many times.
    pub(super) pad: Option<(String, usize)>,
    #[serde(default)]
    rules: Vec<Map<String, Value>>,
    /// The rules are those of the user's file and of the workspace's.
    #[serde(default)]
    files: bool,
    pub(super) verdict: String,
    row: Option<String>,
    rule: Option<String>,
    /// A part of the reason.
    reason: Option<String>,
    /// The words of some of the stages.
    #[serde(default)]
    argv: Vec<Vec<String>>,
    /// A part of why some stage is not covered.
    why: Option<String>,
    /// Mutations that change what the command means, with the reason.
    #[serde(default)]
    pub(super) mutations: Map<String, Value>,
    /// Why it does not come out so today.
    pub(super) open: Option<String>,
    #[serde(default, rename = "note")]
    _note: Option<String>,
}

pub(super) fn read() -> Reports {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/field_reports.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

impl Line {
    /// The command, if it is one.
    pub(super) fn command(&self) -> Option<String> {
        let command = self.say.get("command")?.as_str()?;
        let (pad, times) = self.pad.clone().unwrap_or_default();
        Some(pad.repeat(times) + command)
    }

    /// The same with another command.
    pub(super) fn with(&self, command: String) -> Line {
        let mut line = Line { pad: None, ..self.clone() };
        line.say.insert("command".to_owned(), command.into());
        line
    }

    /// Only the verdict, and the rule where one decides, must come out.
    pub(super) fn verdict_only(line: Line) -> Line {
        Line { row: None, reason: None, argv: Vec::new(), why: None, ..line }
    }

    /// What `placet explain --jsonl` reads.
    fn text(&self, root: &str) -> String {
        let mut say = self.say.clone();
        say.extend(self.command().map(|command| ("command".to_owned(), command.into())));
        for (name, folder) in [("cwd", "project"), ("workspaceRoot", "project"), ("home", "home")] {
            say.entry(name).or_insert_with(|| format!("ROOT/{folder}").into());
        }
        if !self.files {
            let rules: Vec<String> = self.rules.iter().map(rule).collect();
            say.insert("rulesText".to_owned(), rules.concat().into());
        }
        filled(&Value::Object(say).to_string(), root)
    }

    /// What is not as it must be.
    pub(super) fn wrong(&self, found: &Value, root: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut same = |member: &str, wanted: Option<&String>| {
            if let Some(wanted) = wanted
                && found[member] != json!(wanted)
            {
                wrong.push(format!("{member} is {}, not {wanted}", found[member]));
            }
        };
        same("verdict", Some(&self.verdict));
        same("row", self.row.as_ref());
        same("rule", self.rule.as_ref());
        let stages = found["stages"].as_array().cloned().unwrap_or_default();
        let reasons = [found["reason"].as_str().unwrap_or_default()];
        let whys: Vec<&str> = stages.iter().filter_map(|stage| stage["why"].as_str()).collect();
        for (wanted, texts) in [(&self.reason, reasons.as_slice()), (&self.why, &whys)] {
            if let Some(wanted) = wanted.as_ref().map(|wanted| filled(wanted, root))
                && !texts.iter().any(|text| text.contains(&wanted))
            {
                wrong.push(format!("{wanted:?} is not in {texts:?}"));
            }
        }
        for argv in &self.argv {
            let argv: Vec<String> = argv.iter().map(|word| filled(word, root)).collect();
            if !stages.iter().any(|stage| stage["argv"] == json!(argv)) {
                wrong.push(format!("no stage is {argv:?}"));
            }
        }
        wrong
    }
}

fn filled(text: &str, root: &str) -> String {
    text.replace("ROOT", root).replace("STATE", &format!("{root}/state"))
}

/// A rule as `placet.toml` has it.
fn rule(members: &Map<String, Value>) -> String {
    let members = members.iter().map(|(name, value)| format!("{name} = {}\n", toml(value)));
    format!("[[rule]]\n{}", members.collect::<String>())
}

fn toml(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        // Texts and truths are written alike.
        other => other.to_string(),
    }
}

/// A home, and beside it what the lines speak of.
pub(super) struct World {
    home: Home,
    root: PathBuf,
}

impl World {
    pub(super) fn new() -> World {
        let home = Home::new();
        let root = home.workspace().parent().unwrap().canonicalize().unwrap();
        let world = World { home, root };
        for folder in
            ["home/private", "outside/sub", "project/output", "project/src", "project/sub"]
        {
            fs::create_dir_all(world.root.join(folder)).unwrap();
        }
        for file in ["passwd", "secret", "notes.txt"] {
            fs::write(world.root.join("outside").join(file), "").unwrap();
        }
        for (link, target) in [
            ("outbox", "../outside"),
            ("linkdir", "../outside"),
            ("passwd", "../outside/passwd"),
            ("notes.txt", "../outside/notes.txt"),
            ("dangling", "../outside/new.txt"),
            ("chain", "dangling"),
            ("output/dangling", "../../outside/later.txt"),
        ] {
            symlink(target, world.root.join("project").join(link)).unwrap();
        }
        let allow = |what: &str| format!("[[rule]]\neffect = \"allow\"\n{what}\n");
        let deny = "[[rule]]\nid = \"no-touch\"\neffect = \"deny\"\nshell = [\"touch\"]\n";
        for (folder, text) in [
            ("state", allow("network = \"*.example.com\"")),
            ("hooked", allow("shell = [\"make\"]") + deny),
            ("narrower", allow("network = \"api.example.com\"")),
            ("wider", allow("network = \"other.example.org\"")),
            ("trusted", allow("shell = [\"make\"]")),
            ("pulled", allow("shell = [\"make\"]")),
        ] {
            fs::create_dir_all(world.root.join(folder)).unwrap();
            fs::write(world.root.join(folder).join("placet.toml"), text).unwrap();
        }
        for folder in ["trusted", "pulled"] {
            world.placet(&["trust", folder]);
        }
        let pulled = world.root.join("pulled/placet.toml");
        fs::write(pulled, allow("shell = [\"make\"]") + &allow("shell = [\"rm\"]")).unwrap();
        fs::create_dir_all(world.root.join("monitored/.git")).unwrap();
        let monitor = "[core]\n\tfsmonitor = ./run.sh\n";
        fs::write(world.root.join("monitored/.git/config"), monitor).unwrap();
        world
    }

    pub(super) fn root(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// Runs the program in the root, which must be well.
    fn placet(&self, arguments: &[&str]) {
        let output = self.home.command(arguments).current_dir(&self.root).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// The verdicts on some lines, in one run of the program.
    pub(super) fn explain(&self, lines: &[Line]) -> Vec<Value> {
        let input: Vec<String> = lines.iter().map(|line| line.text(self.root())).collect();
        let file = self.root.join("lines.jsonl");
        fs::write(&file, input.join("\n")).unwrap();
        let mut command = self.home.command(&["explain", "--jsonl"]);
        let output = command.stdin(File::open(file).unwrap()).output().unwrap();
        let ended = Ended {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert_eq!((ended.code, ended.err.as_str()), (0, ""));
        let found: Vec<Value> =
            ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(found.len(), lines.len());
        found
    }
}

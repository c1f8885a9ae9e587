//! A command that was allowed tries to approve what waits for a person.
//!
//! The host, and so the command, has no privileges: run by root, these cases use a user
//! namespace in which they are somebody else. What root's own commands can do is not
//! refused, and no case says so.

mod hands;

use crate::common::{Home, Host, components, program, sockets};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A request that waits in one session, while another session may run everything.
struct Scene {
    home: Home,
    host: Host,
    waiting: String,
    ask: Value,
    agent: String,
}

impl Scene {
    fn new() -> Scene {
        let home = Home::new();
        let mut host = Host::unprivileged(&home);
        let waiting = host.session(&home, "promptUnmatched");
        let turn = host.turn(&waiting, "touch made");
        let ask = host.event("approval/requested", &turn);
        let agent = host.session(&home, "allowAll");
        Scene { home, host, waiting, ask, agent }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.workspace().join(name)
    }

    /// The very frames that a client would decide with.
    fn frames(&self) -> String {
        let frame = |id: u32, method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
        };
        let client = json!({"clientInfo": {"name": "agent", "version": "1"}});
        let resume = json!({"sessionId": self.waiting, "commandId": crate::common::command_id()});
        [
            frame(9001, "initialize", client),
            frame(9002, "session/resume", resume),
            frame(9003, "approval/decide", Host::decision(&self.ask, "allow_once")),
        ]
        .join("\n")
    }

    /// Writes a script to the workspace, after what all of them know.
    fn script(&self, name: &str, text: &str) {
        let mut script = String::new();
        for (variable, value) in [
            ("home", self.home.path().display().to_string()),
            ("components", components().canonicalize().unwrap().display().to_string()),
            ("program", program().display().to_string()),
            ("hands", std::env::current_exe().unwrap().display().to_string()),
            ("host", self.host.pid().to_string()),
            ("waiting", self.waiting.clone()),
            ("approval", self.ask["approvalId"].as_str().unwrap().to_owned()),
        ] {
            writeln!(script, "{variable}='{value}'").unwrap();
        }
        fs::write(self.file("frames"), self.frames() + "\n").unwrap();
        fs::write(self.file(name), script + include_str!("known.sh") + text).unwrap();
    }

    /// Runs a command in the agent's session; its item.
    fn run(&mut self, command: &str) -> Value {
        let turn = self.host.turn(&self.agent, command);
        self.host.ended(&turn)
    }

    fn kinds(&self) -> Vec<String> {
        let records = self.home.records(&self.waiting);
        records.into_iter().map(|record| record.header.kind).collect()
    }

    /// Nobody has decided; the person does, and that the command runs shows that it could be.
    fn still_waits(&mut self, ask: &Value) {
        let pending = self.host.call("approval/listPending", json!({"sessionId": self.waiting}));
        assert_eq!(pending["approvals"][0]["approvalId"], ask["approvalId"], "{pending}");
        assert!(!self.file("made").exists(), "what was asked about ran");
        self.host.call("approval/decide", Host::decision(ask, "allow_once"));
        until("it runs", || self.file("made").exists());
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "in a minute not: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What came of each attempt: lines of `name = result`.
fn told(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("> ")?.split_once(" = ")).collect()
}

/// Each of these attempts was made and came to this; where it ends with `..`, it began so.
fn check(text: &str, expected: &[(&str, &str)]) {
    let told = told(text);
    for (name, expected) in expected {
        let result = *told.get(name).unwrap_or_else(|| panic!("{name} was not tried: {text}"));
        println!("{name}: {result}");
        let same = match expected.strip_suffix("..") {
            Some(begin) => result.starts_with(begin),
            None => result == *expected,
        };
        assert!(same, "{name}: `{result}` instead of `{expected}`: {text}");
    }
    assert_eq!(told.len(), expected.len(), "an attempt that nobody looked at: {told:?}");
}

/// Whether a process runs, so that it could still do something.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" ") && !rest.starts_with(" Z"))
}

/// The processes whose parent is this one, ended or not.
fn children(parent: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let of = format!(" {parent} ");
    let below =
        |stat: &String| stat.rsplit(')').next().is_some_and(|rest| rest[2..].starts_with(&of));
    stats.filter(below).collect()
}

#[test]
fn an_agent_that_approves_itself_fails() {
    if hands::lent() {
        return;
    }
    let mut scene = Scene::new();
    let before = scene.kinds();
    // By a name that policy can see, its own files are refused before anything runs.
    let key = scene.home.path().join("home.key");
    let seen = scene.run(&format!("cat {}", key.display()));
    assert_eq!(seen["status"], "rejected", "{seen}");

    scene.script("attack.sh", include_str!("attack.sh"));
    let item = scene.run("bash attack.sh 2>&1");
    let text = item["visibleOutput"].as_str().unwrap();
    check(
        text,
        &[
            ("capabilities", "0000000000000000"),
            ("key, by a name that nobody sees", "32 bytes"),
            ("environment", "0 variables of placet, 0 with its home"),
            ("descriptors", "0 1 2 3, stdin is /dev/null"),
            ("terminal", "1 No such device or address"),
            ("output", "said"),
            ("stdin of the host", "1 Permission denied"),
            ("descriptors of the host", "opened 0 of 64"),
            ("descriptors of the supervisor", "opened 0 of 64"),
            ("memory of the host, to read", "1 Permission denied"),
            ("memory of the host, to write", "1 Permission denied"),
            ("environment of the host", "1 Permission denied"),
            ("a descriptor taken from the host", "EPERM"),
            ("socket", "peerRefused"),
            (
                "placet pending",
                "0 cannot be reached: a command that placet runs may not reach the host..",
            ),
            ("placet decide", "10 refused: this is a command that placet runs.."),
            ("placet grants revoke", "10 refused: this is a command that placet runs.."),
            ("placet run", "10 refused: this is a command that placet runs.."),
            ("placet log delete", "10 refused: this is a command that placet runs.."),
            ("placet serve", "10 refused: this is a command that placet runs.."),
            ("lock of the host", "held 1 of 1"),
            ("mark, raised", "1 Operation not permitted"),
            ("mark, lowered", "10 refused: it cannot be told.."),
            ("mark, lowered, to serve", "10 refused: it cannot be told.."),
            ("as root of a namespace", "10 refused: this is a command that placet runs.."),
            ("in processes of its own", "10 refused: this is a command that placet runs.."),
        ],
    );
    assert_eq!(scene.kinds(), before, "the log of what waits has not changed");
    let ask = scene.ask.clone();
    scene.still_waits(&ask);
    assert_eq!(scene.host.close(), (0, String::new()));
}

#[test]
fn what_kills_its_supervisor_is_ended_by_the_host() {
    let mut scene = Scene::new();
    let before = scene.kinds();
    scene.script("leave.sh", include_str!("leave.sh"));
    let item = scene.run("bash leave.sh");
    assert_eq!(item["status"], "failed", "{item}");
    let pid = fs::read_to_string(scene.file("escaped")).unwrap();
    assert!(!runs(pid.trim()), "the action has ended, {pid} has not");
    until("nothing is left of it", || children(scene.host.pid()).is_empty());
    assert_eq!(scene.run("echo goes on")["visibleOutput"], "goes on\n");
    assert_eq!(scene.kinds(), before);
    let ask = scene.ask.clone();
    scene.still_waits(&ask);
    assert_eq!(scene.host.close(), (0, String::new()));
}

#[test]
fn what_kills_its_host_too_decides_nothing_with_the_next_one() {
    if hands::lent() {
        return;
    }
    let mut scene = Scene::new();
    scene.script("daemon.sh", include_str!("daemon.sh"));
    scene.host.turn(&scene.agent, "bash daemon.sh start");
    assert_eq!(scene.host.exit().0, -1, "the host was killed");
    let pid = fs::read_to_string(scene.file("escaped")).unwrap();
    assert!(runs(pid.trim()), "something of the action goes on");

    scene.host = Host::unprivileged(&scene.home);
    let resumed = scene.host.resume(&scene.waiting);
    assert_eq!(resumed["session"]["sessionId"], scene.waiting.as_str());
    let pending = scene.host.call("approval/listPending", json!({"sessionId": scene.waiting}));
    let ask = pending["approvals"][0].clone();
    assert_eq!(sockets(&scene.home).len(), 1);
    let before = scene.kinds();
    // What the daemon waits for, with the new name of what waits.
    scene.ask = ask.clone();
    fs::write(scene.file("frames"), scene.frames() + "\n").unwrap();
    fs::write(scene.file("next.part"), ask["approvalId"].as_str().unwrap()).unwrap();
    fs::rename(scene.file("next.part"), scene.file("next")).unwrap();
    until("it has tried everything", || scene.file("told").exists());
    let text = fs::read_to_string(scene.file("told")).unwrap();
    check(
        &text,
        &[
            ("placet decide", "10 refused: this is a command that placet runs.."),
            ("placet run", "10 refused: this is a command that placet runs.."),
            ("placet serve", "10 refused: this is a command that placet runs.."),
            ("socket", "peerRefused"),
            ("mark, lowered, to serve", "10 refused: it cannot be told.."),
        ],
    );
    assert_eq!(scene.kinds(), before);
    scene.still_waits(&ask);
    assert_eq!(scene.host.close(), (0, String::new()));
}

/// The last cell of each row of docs/security.md with cases names some, and none that is invented.
#[test]
fn the_document_names_cases_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let lists = read("tests/cases.txt") + &read("tests/clients/python/cases.txt");
    let document = read("docs/security.md");
    let table = document.split_once("| Attempt |").unwrap().1;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    let mut count = 0;
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no case: {row}");
        for case in named {
            assert!(lists.lines().any(|known| known == case), "{case} is no case: {row}");
        }
        count += 1;
    }
    assert!(count > 10, "{count} rows were looked at");
}

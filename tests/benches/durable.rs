//! One durable decide end to end, next to a bare SQLite commit of the same bytes.
//!
//! Both in turns, in the same run and in the same folder: the decide over the
//! pipes of a real `placet serve`, from the frame written to the acknowledgement
//! read; the commit of one row of as many bytes as the decide's records have, in
//! WAL with `synchronous=FULL`. The ratio is what Placet adds. A folder in memory
//! says nothing about durability and is refused; `$PLACET_BENCH_DIR` chooses
//! another one than `target/`.

#![allow(missing_docs, reason = "a program, not a library")]

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;
const ROUNDS_WARM: usize = 20;

fn main() -> Result<()> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let parent = std::env::var_os("PLACET_BENCH_DIR").map_or(target, PathBuf::from);
    let folder = tempfile::Builder::new().prefix("durable-").tempdir_in(parent.canonicalize()?)?;
    let file_system = file_system(folder.path())?;
    ensure!(
        !matches!(file_system.as_str(), "tmpfs" | "ramfs"),
        "{} is in memory ({file_system}): nothing is durable there; set PLACET_BENCH_DIR to a \
         folder on a disk",
        folder.path().display()
    );
    let home = folder.path().join("home");
    let mut host = Host::spawn(&home, folder.path())?;
    let session = host.session(folder.path())?;
    let bytes = {
        host.decide(&session, 0)?;
        decide_bytes(&home)?
    };
    let bare = bare(&folder.path().join("bare.db"))?;
    let payload = vec![0x5a_u8; bytes];
    let (mut decides, mut commits) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS + ROUNDS_WARM {
        let decide = host.decide(&session, round)?;
        let begun = Instant::now();
        bare.execute("INSERT INTO rows (round, bytes) VALUES (?1, ?2)", params![round, payload])?;
        if round > ROUNDS_WARM {
            decides.push(decide);
            commits.push(begun.elapsed());
        }
    }
    drop(host);
    println!("durable: {ROUNDS} decides of {bytes} bytes on {file_system}");
    for (name, percent) in [("median", 50), ("p95", 95), ("worst", 100)] {
        let (decide, commit) = (at(&mut decides, percent), at(&mut commits, percent));
        println!(
            "durable: {name:>6}  decide {decide:>10.1?}  bare commit {commit:>10.1?}  ratio {:.2}",
            decide.as_secs_f64() / commit.as_secs_f64()
        );
    }
    Ok(())
}

/// The time below which so many of a hundred lie.
fn at(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let index = (times.len() * percent / 100).saturating_sub(1);
    times.get(index).copied().unwrap_or_default()
}

/// The type of the file system that a folder is on.
fn file_system(folder: &Path) -> Result<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let mounted = mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        Some((place.split(' ').nth(4)?, kind.split(' ').next()?))
    });
    let holds = mounted.filter(|(place, _)| folder.starts_with(place));
    let (_, kind) = holds.max_by_key(|(place, _)| place.len()).context("no mount holds it")?;
    Ok(kind.to_owned())
}

fn bare(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("CREATE TABLE rows (round INTEGER PRIMARY KEY, bytes BLOB) STRICT")?;
    Ok(connection)
}

/// What the records of the last decide take in the log: from its terminal record on.
fn decide_bytes(home: &Path) -> Result<usize> {
    let log = Connection::open(home.join("placet.db"))?;
    let kind = "instr(CAST(body AS TEXT), '\"record\":\"approvalResolved\"') > 0";
    let bytes: i64 = log.query_row(
        &format!(
            "SELECT sum(length(header) + length(salt) + length(body_hash) + length(chain)
                        + length(body))
             FROM records WHERE sequence >= (SELECT max(sequence) FROM records WHERE {kind})"
        ),
        [],
        |row| row.get(0),
    )?;
    Ok(usize::try_from(bytes)?)
}

/// A host and the one connection to it.
struct Host {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Host {
    fn spawn(home: &Path, folder: &Path) -> Result<Host> {
        let program = program()?;
        let mut child = Command::new(&program)
            .arg("serve")
            .env("PLACET_HOME", home)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut host = Host { child, input, output, next: 0 };
        host.call("initialize", json!({"clientInfo": {"name": "bench", "version": "1"}}))?;
        host.send(&json!({"jsonrpc": "2.0", "method": "initialized"}))?;
        Ok(host)
    }

    fn session(&mut self, workspace: &Path) -> Result<String> {
        let params = json!({
            "approvalMode": "promptUnmatched", "workspaceRoot": workspace,
            "commandId": command(usize::MAX),
        });
        let result = self.call("session/start", params)?;
        let id = result.pointer("/session/sessionId").and_then(Value::as_str);
        Ok(id.context("no session id")?.to_owned())
    }

    /// Takes a turn to its question, rejects it, and says how long the answer took.
    fn decide(&mut self, session: &str, round: usize) -> Result<Duration> {
        let text = json!([{"type": "text", "text": "touch never"}]);
        let turn = json!({
            "sessionId": session, "commandId": command(2 * round), "input": text,
        });
        self.request("turn/start", turn)?;
        let asked = self.until(|frame| frame["method"] == "approval/requested")?;
        let params = json!({
            "sessionId": session, "commandId": command(2 * round + 1),
            "approvalId": asked["params"]["approvalId"],
            "requirementId": asked["params"]["currentRequirementId"], "choiceId": "abort",
        });
        let begun = Instant::now();
        self.call("approval/decide", params)?;
        let took = begun.elapsed();
        self.until(|frame| frame["method"] == "turn/completed")?;
        Ok(took)
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.request(method, params)?;
        let answer = self.until(|frame| frame["id"] == id && frame.get("method").is_none())?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{method} was answered {answer}"),
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<u64> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    fn send(&mut self, frame: &Value) -> Result<()> {
        writeln!(self.input, "{frame}")?;
        Ok(self.input.flush()?)
    }

    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut line = String::new();
        loop {
            line.clear();
            ensure!(self.output.read_line(&mut line)? > 0, "the host closed its stdout");
            let frame: Value = serde_json::from_str(&line)?;
            if wanted(&frame) {
                return Ok(frame);
            }
            ensure!(frame.get("error").is_none(), "refused: {frame}");
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command id that is this bench's `number`th.
fn command(number: usize) -> String {
    format!("0198f2a4-0000-7000-8000-{:012x}", number & 0xffff_ffff_ffff)
}

/// The host: `$PLACET_BIN`, else the one that was built beside this bench or for the tests.
fn program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("PLACET_BIN") {
        return Ok(PathBuf::from(program));
    }
    let own = std::env::current_exe()?;
    let beside = own.ancestors().nth(2).map(|folder| folder.join("placet"));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/placet");
    let found = beside.into_iter().chain([built]).find(|path| path.is_file());
    found.ok_or_else(|| anyhow!("there is no host; build it with `cargo build -p placet`"))
}

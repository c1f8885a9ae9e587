//! Commands under the real supervisor: how they end, what they see, what survives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use placet::exec::{ExecError, Job, Outcome, Running, Status, environment, own_binary, start};

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_placet"))
}

fn job(command: &str) -> Job {
    let environment = vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
    Job { command: command.into(), cwd: "/".into(), environment }
}

fn begin(command: &str) -> Running {
    start(job(command), binary()).unwrap()
}

async fn run(command: &str) -> Outcome {
    begin(command).outcome().await
}

/// A number that no other test, and no other run, has in its command lines.
fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("9{:07}.{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Processes whose command line has the argument `marker`.
fn living(marker: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has_marker = |path: &PathBuf| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == marker.as_bytes())
    };
    entries.map(|entry| entry.path()).filter(has_marker).collect()
}

async fn until(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Four ways to leave a sleep behind: plain, nohup, setsid, double fork.
fn leaves_behind(marker: &str) -> String {
    format!(
        "sleep {marker} & nohup sleep {marker} >/dev/null 2>&1 & setsid sleep {marker} & \
         ( setsid bash -c '(trap \"\" TERM; sleep {marker}; :) & disown' & ) ; sleep 0.2; "
    )
}

#[tokio::test]
async fn exit_status_and_signal() {
    assert_eq!(run("exit 0").await.status, Status::Exited(0));
    assert_eq!(run("exit 7").await.status, Status::Exited(7));
    assert_eq!(run("no-such-program").await.status, Status::Exited(127));
    assert_eq!(run("kill -9 $$").await.status, Status::Signalled(9));
    assert_eq!(run("(kill -9 $BASHPID); exit $?").await.status, Status::Exited(137));
    assert_eq!(run("kill -TERM 0").await.status, Status::Signalled(15));
}

#[tokio::test]
async fn output_comes_in_the_order_it_was_written() {
    let outcome = run("for n in 1 2 3; do echo out$n; echo err$n >&2; done").await;
    assert_eq!(outcome.output, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!((outcome.truncated, outcome.output_bytes), (false, 30));
}

#[tokio::test]
async fn deltas_split_no_character_and_join_to_the_output() {
    // One byte at a time, with a pause: every character arrives in pieces.
    let bytes = r"for b in \\xc3 \\xa9 \\xf0 \\x9f \\x98 \\x80 \\xff; do printf $b; sleep 0.02; done; printf '\xe2\x82'";
    let mut running = begin(bytes);
    let mut joined = String::new();
    while let Some(delta) = running.chunk().await {
        joined.push_str(&delta);
    }
    let outcome = running.outcome().await;
    assert_eq!(joined, "é😀\u{fffd}\u{fffd}");
    assert_eq!(outcome.output, joined);
    assert_eq!(outcome.output_bytes, 9);
}

#[tokio::test]
async fn output_is_capped_but_the_command_never_waits() {
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; exit 3";
    let mut running = begin(command);
    // Nobody reads for a while, and it ends nevertheless.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut joined = String::new();
    while let Some(delta) = running.chunk().await {
        assert!(delta.len() <= 8 * 1024);
        joined.push_str(&delta);
    }
    let outcome = running.outcome().await;
    assert_eq!(outcome.status, Status::Exited(3));
    assert_eq!((outcome.output.len(), outcome.output_bytes), (64 * 1024, 3_000_000));
    assert!(outcome.truncated && joined == outcome.output);
}

#[tokio::test]
async fn output_streams_while_the_command_runs() {
    let mut running = begin("echo first; sleep 600");
    assert_eq!(running.chunk().await.as_deref(), Some("first\n"));
    running.interrupt();
    assert_eq!(running.outcome().await.status, Status::Interrupted);
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let gone = Job { cwd: "/no/such/folder".into(), ..job("true") };
    let Status::Failed(sentence) = start(gone, binary()).unwrap().outcome().await.status else {
        panic!("it started")
    };
    assert_eq!(sentence, "The working folder /no/such/folder does not exist.");

    // One string above what the kernel takes, in an environment below our limit.
    let large = Job { environment: vec![("A".into(), "x".repeat(200_000).into())], ..job("true") };
    let Status::Failed(sentence) = start(large, binary()).unwrap().outcome().await.status else {
        panic!("it started")
    };
    assert!(sentence.starts_with("The command and its environment are larger"), "{sentence}");

    let missing = start(job("true"), Path::new("/no/such/program"));
    assert!(matches!(missing, Err(ExecError::Supervisor(_))));
    // A binary that is no supervisor: no report, and that is said.
    let wrong = start(job("true"), Path::new("/bin/true")).unwrap().outcome().await;
    assert!(matches!(wrong.status, Status::Failed(_)), "{:?}", wrong.status);
}

#[tokio::test]
async fn the_longest_command_runs() {
    let mut command = String::from("echo ok #");
    command.push_str(&"x".repeat(128 * 1024 - 1 - command.len()));
    assert_eq!(run(&command).await.output, "ok\n");
}

#[tokio::test]
async fn the_environment_is_what_was_prepared_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("start.sh");
    fs::write(&script, "echo sourced\n").unwrap();
    let dirty: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ("BASH_ENV".into(), script.clone().into()),
        ("ENV".into(), script.clone().into()),
        ("BASH_FUNC_true%%".into(), "() { echo function; }".into()),
        ("SHELLOPTS".into(), "xtrace".into()),
        ("LD_PRELOAD".into(), "/no/such.so".into()),
        ("PLACET_TOKEN".into(), "secret".into()),
        ("KEPT".into(), "a b".into()),
    ];
    let run = |environment| async {
        let command = "true; echo $KEPT; env | cut -d= -f1 | sort | tr '\\n' ' '".into();
        let job = Job { command, cwd: folder.path().into(), environment };
        start(job, binary()).unwrap().outcome().await.output
    };
    let clean = environment::prepare(dirty.clone().into_iter());
    // bash itself adds PWD, SHLVL and _.
    assert_eq!(run(clean).await, "a b\nKEPT PATH PWD SHLVL _ ");
    // The same without preparing shows that the test could fail.
    let unprepared = run(dirty).await;
    assert!(unprepared.contains("sourced") && unprepared.contains("function"), "{unprepared}");
}

#[tokio::test]
async fn the_command_has_three_descriptors_and_no_terminal() {
    // A descriptor that a careless ancestor left inheritable.
    let leaked = fs::File::open("/dev/zero").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    // `ls` opens the folder that it lists: that is its 3.
    assert_eq!(run("ls /proc/self/fd").await.output, "0\n1\n2\n3\n");
    assert_eq!(run("readlink /proc/self/fd/0; cat").await.output, "/dev/null\n");
    let tty = run(": </dev/tty").await;
    assert_ne!(tty.status, Status::Exited(0), "{}", tty.output);
    let session = run("ps -o sid= -p $$; echo $PPID").await.output;
    let mut words = session.split_whitespace();
    assert_eq!(words.next(), words.next(), "{session}");
}

#[tokio::test]
async fn the_command_cannot_open_the_life_line() {
    // Every socket of the supervisor; where not even their kind can be seen, all there is.
    let outcome = run("n=0; for fd in /proc/$PPID/fd/*; do case $fd:$(readlink $fd) in \
         */0:*|*:socket:*|*:) n=$((n+1)); (true 3<>$fd) 2>/dev/null && echo opened $fd;; esac; done; \
         echo tried $((n > 0))")
    .await;
    assert_eq!(outcome.output, "tried 1\n");
}

#[tokio::test]
async fn a_process_inside_an_action_is_recognised() {
    let mut running = begin("setsid -w bash -c 'echo $$; sleep 600'");
    let pid: u32 = running.chunk().await.unwrap().trim().parse().unwrap();
    assert_eq!(placet::exec::inside::is_inside_an_action(pid), Some(true));
    assert_eq!(placet::exec::inside::is_inside_an_action(std::process::id()), Some(false));
    running.interrupt();
    running.outcome().await;
}

#[tokio::test]
async fn an_interrupt_ends_everything() {
    let marker = marker();
    let running =
        begin(&format!("{} trap '' TERM; sleep {marker}; sleep {marker}", leaves_behind(&marker)));
    until("all run", Duration::from_secs(5), || living(&marker).len() >= 5).await;
    let asked = Instant::now();
    running.interrupt();
    let outcome = running.outcome().await;
    assert_eq!((outcome.status, outcome.survivors), (Status::Interrupted, 0));
    assert!(asked.elapsed() < Duration::from_millis(1500), "{:?}", asked.elapsed());
    assert!(living(&marker).is_empty());
}

#[tokio::test]
async fn an_interrupt_lets_a_command_clean_up() {
    let mut running = begin("trap 'echo cleaned; exit 0' TERM; echo ready; sleep 600 & wait");
    assert_eq!(running.chunk().await.as_deref(), Some("ready\n"));
    running.interrupt();
    let outcome = running.outcome().await;
    assert_eq!(
        (outcome.status, outcome.output.as_str()),
        (Status::Interrupted, "ready\ncleaned\n")
    );
}

#[tokio::test]
async fn dropping_it_ends_everything() {
    let marker = marker();
    let running = begin(&format!("{} sleep {marker}", leaves_behind(&marker)));
    until("all run", Duration::from_secs(5), || living(&marker).len() >= 5).await;
    drop(running);
    until("all ended", Duration::from_secs(3), || living(&marker).is_empty()).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let marker = marker();
    let outcome =
        run(&format!("{} pgrep -cf '^sleep {marker}'; exit 4", leaves_behind(&marker))).await;
    assert_eq!((outcome.status, outcome.output.as_str()), (Status::Exited(4), "4\n"));
    assert!(living(&marker).is_empty());
    assert!(outcome.duration_ms < 3_000);
}

#[tokio::test]
async fn a_command_that_kills_its_supervisor_loses_its_session() {
    let marker = marker();
    let outcome =
        run(&format!("sleep {marker} & nohup sleep {marker} & kill -9 $PPID; sleep {marker}"))
            .await;
    assert!(matches!(outcome.status, Status::Failed(_)), "{:?}", outcome.status);
    until("all ended", Duration::from_secs(3), || living(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_command_that_stops_its_supervisor_is_ended_from_the_host() {
    let marker = marker();
    let running = begin(&format!("setsid sleep {marker} & kill -STOP $PPID; sleep {marker}"));
    until("all run", Duration::from_secs(5), || living(&marker).len() >= 2).await;
    running.interrupt();
    assert_eq!(running.outcome().await.status, Status::Interrupted);
    assert!(living(&marker).is_empty());
}

#[tokio::test]
async fn a_fork_bomb_ends() {
    let marker = marker();
    let bomb = format!(
        "f() {{ sleep {marker} & setsid bash -c 'sleep {marker} & sleep {marker}' & }}; for n in {{1..60}}; do f; done; sleep {marker}"
    );
    let running = begin(&bomb);
    until("many run", Duration::from_secs(20), || living(&marker).len() >= 100).await;
    running.interrupt();
    assert_eq!(running.outcome().await.survivors, 0);
    assert!(living(&marker).is_empty());
}

#[tokio::test]
async fn nothing_survives_the_host() {
    // This very test is also the host that it kills, in a process of its own.
    if let Ok(command) = std::env::var("PLACET_TEST_COMMAND") {
        run(&command).await;
        return;
    }
    let marker = marker();
    let command = format!("{} sleep {marker}; sleep {marker}", leaves_behind(&marker));
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_survives_the_host"])
        .env("PLACET_TEST_COMMAND", command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("all run", Duration::from_secs(10), || living(&marker).len() >= 5).await;
    host.kill().unwrap();
    host.wait().unwrap();
    until("all ended", Duration::from_secs(3), || living(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_binary_that_is_no_supervisor_is_told() {
    // This test binary is no supervisor: it ends without a report, but it did start.
    let outcome = start(job("true"), own_binary()).unwrap().outcome().await;
    assert!(matches!(outcome.status, Status::Failed(_)));
}

/// Runs cases of this file in a new PID namespace, with its own `/proc` or the old one.
fn in_a_namespace(options: &[&str], cases: &[&str]) -> String {
    let inside = |user: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(user).args(["--pid", "--fork"]).args(options);
        command
    };
    let possible = |user: &&[&str]| inside(user).arg("true").status().unwrap().success();
    let users: [&[&str]; 2] = [&[], &["--user", "--map-root-user"]];
    let user = users.iter().copied().find(possible).expect("a new PID namespace, as root or not");
    let own = std::env::current_exe().unwrap();
    let ran = inside(user).arg(own).arg("--exact").args(cases).output().unwrap();
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A host in a container: the session that it came from has no number in there.
#[test]
fn a_session_of_an_outer_namespace_is_no_hindrance() {
    let cases = ["exit_status_and_signal", "an_interrupt_ends_everything"];
    let said = in_a_namespace(&["--mount-proc"], &cases);
    assert!(said.contains("2 passed"), "{said}");
}

#[test]
fn a_proc_of_another_namespace_runs_nothing() {
    let said = in_a_namespace(&[], &["exit_status_and_signal"]);
    assert!(said.contains("1 failed") && said.contains("/proc shows"), "{said}");
}

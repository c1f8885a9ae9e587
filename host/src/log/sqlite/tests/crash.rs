//! Real processes that are aborted at every boundary.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use super::{SqliteLog, one};
use crate::log::conformance::draft;
use crate::log::{Append, Draft, Faults, Log as _, Mark, SessionMeta};

const HOME: &str = "PLACET_TEST_HOME";
const BATCHES: u64 = 3;

/// A batch of two records; the second opens an approval.
fn batch(number: u64) -> Vec<Draft> {
    let (first, second) = (2 * number - 1, 2 * number);
    let opens = Mark::Opens { approval: format!("a{number}") };
    one(first).into_iter().chain([draft(second, vec![opens])]).collect()
}

/// What the other processes run: the first test below, called with a home.
async fn child(home: &Path) {
    let log = SqliteLog::open_with(home, Arc::new(Faults::from_env().unwrap())).unwrap();
    let lease = log.create("s", SessionMeta::default()).await.unwrap();
    let mut version = log.head("s").await.unwrap().version;
    for number in 1..=BATCHES {
        match log.append(&lease, &version, batch(number)).await {
            Append::Durable { version: next, head_sequence } => {
                version = next;
                std::fs::write(home.join("told"), head_sequence.to_string()).unwrap();
            }
            other => unreachable!("{other:?}"),
        }
    }
    if std::env::var_os("PLACET_TEST_STAY").is_some() {
        std::fs::write(home.join("ready"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

fn command(home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "log::sqlite::tests::crash::a_crash_at_any_boundary_loses_nothing_that_was_told",
        "--nocapture",
    ]);
    command.env(HOME, home).stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null());
    command
}

fn run(home: &Path, at: Option<u64>) -> ExitStatus {
    let mut command = command(home);
    command.env("PLACET_FAULT_LOG", home.join("boundaries"));
    if let Some(at) = at {
        command.env("PLACET_FAULT_AT", at.to_string());
    }
    command.status().unwrap()
}

fn boundaries(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("boundaries")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_boundary_loses_nothing_that_was_told() {
    if let Some(home) = std::env::var_os(HOME) {
        return child(Path::new(&home)).await;
    }
    let whole = tempfile::tempdir().unwrap();
    assert!(run(whole.path(), None).success());
    let names = boundaries(whole.path());
    for name in [
        "append-queued",
        "before-lock",
        "after-begin",
        "after-insert",
        "before-commit",
        "after-commit",
        "before-reply",
    ] {
        assert!(names.iter().any(|line| line.ends_with(name)), "{name} was never passed");
    }
    for k in 1..=names.len() as u64 {
        let home = tempfile::tempdir().unwrap();
        assert!(!run(home.path(), Some(k)).success(), "boundary {k} was not reached");
        let at = boundaries(home.path()).pop().unwrap();
        let told: u64 = std::fs::read_to_string(home.path().join("told"))
            .map_or(0, |text| text.parse().unwrap());

        let log = SqliteLog::open(home.path()).unwrap();
        let Some(row) = log.session("s").await.unwrap() else {
            assert_eq!(told, 0, "at {at}");
            continue;
        };
        let head = row.head_sequence;
        assert!(head == told || head == told + 2, "at {at}: told {told}, found {head}");
        assert_eq!(log.verify("s").await.unwrap().unwrap().records, head, "at {at}");
        assert_eq!(log.pending().await.unwrap().len() as u64, head / 2, "at {at}");
        // The dead host's session can be had, and goes on.
        let lease = log.lease("s").await.unwrap();
        assert_eq!(lease.epoch, 2, "at {at}");
        let version = log.head("s").await.unwrap().version;
        let answer = log.append(&lease, &version, batch(head / 2 + 1)).await;
        assert!(matches!(answer, Append::Durable { .. }), "at {at}: {answer:?}");
    }
    println!("{} boundaries", names.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_process_keeps_its_lease_until_it_is_killed() {
    let home = tempfile::tempdir().unwrap();
    let mut child = command(home.path()).env("PLACET_TEST_STAY", "1").spawn().unwrap();
    while !home.path().join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let log = SqliteLog::open(home.path()).unwrap();
    let error = log.lease("s").await.unwrap_err();
    assert_eq!(error.exit_code(), 4, "{error}");
    let holder = log.holder("s").await.unwrap().unwrap();
    assert!(error.to_string().contains(&holder.host), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(log.lease("s").await.unwrap().epoch, 2);
    assert_eq!(log.verify("s").await.unwrap().unwrap().records, 2 * BATCHES);
}

//! Commits that fail, disks that are full.

use std::sync::Arc;

use super::{SqliteLog, one, push, session};
use crate::log::{Append, CommitFault, Faults, Log as _, LogError};

fn open_with_faults(home: &std::path::Path) -> (Arc<SqliteLog>, Arc<Faults>) {
    let faults = Arc::new(Faults::none());
    (SqliteLog::open_with(home, Arc::clone(&faults)).unwrap(), faults)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_is_unknown_and_read_again() {
    for (fault, written) in [(CommitFault::Lost, 1), (CommitFault::Written, 2)] {
        let home = tempfile::tempdir().unwrap();
        let (log, faults) = open_with_faults(home.path());
        let lease = session(&log, "s").await;
        push(&log, &lease).await;
        let mut tail = log.tail("s", 1).await.unwrap();
        let head = log.head("s").await.unwrap();
        faults.fail_commit(fault);
        let answer = log.append(&lease, &head.version, one(2)).await;
        assert!(matches!(answer, Append::Unknown(_)), "{answer:?}");
        assert!(!tail.has_changed().unwrap(), "nothing is told");
        let head = log.head("s").await.unwrap();
        assert_eq!(head.sequence, written, "{fault:?}");
        assert!(matches!(push(&log, &lease).await, Append::Durable { .. }));
        assert_eq!(*tail.borrow_and_update(), written + 1);
        assert_eq!(log.verify("s").await.unwrap().unwrap().records, written + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_who_waits_for_a_failed_commit_is_told() {
    let home = tempfile::tempdir().unwrap();
    let (log, faults) = open_with_faults(home.path());
    let mut leases = Vec::new();
    for n in 0..40 {
        leases.push(session(&log, &format!("s{n}")).await);
    }
    // The heads are read before: a read that shares the failing commit would be told so too.
    let mut heads = Vec::new();
    for lease in &leases {
        heads.push(log.head(&lease.session).await.unwrap());
    }
    faults.fail_commit(CommitFault::Lost);
    let mut tasks = tokio::task::JoinSet::new();
    for (lease, head) in leases.clone().into_iter().zip(heads) {
        let log = Arc::clone(&log);
        tasks.spawn(async move { log.append(&lease, &head.version, one(head.sequence + 1)).await });
    }
    let answers = tasks.join_all().await;
    let unknown = answers.iter().filter(|a| matches!(a, Append::Unknown(_))).count();
    let durable = answers.iter().filter(|a| matches!(a, Append::Durable { .. })).count();
    println!("{unknown} unknown, {durable} durable");
    assert!(unknown >= 1);
    assert_eq!(unknown + durable, 40, "{answers:?}");
    let mut written = 0;
    for lease in &leases {
        written += log.head(&lease.session).await.unwrap().sequence;
    }
    assert_eq!(written, durable as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_writes_say_unknown_too() {
    let home = tempfile::tempdir().unwrap();
    let (log, faults) = open_with_faults(home.path());
    faults.fail_commit(CommitFault::Written);
    let answer = log.create("s", Default::default()).await;
    assert!(matches!(answer, Err(LogError::Unknown { .. })), "{answer:?}");
    // It was written, but nobody has that lease: it can be taken again, once.
    assert_eq!(log.lease("s").await.unwrap().epoch, 2);
    let held = log.lease("s").await;
    assert!(matches!(held, Err(LogError::AlreadyHeld { .. })), "{held:?}");

    faults.fail_commit(CommitFault::Lost);
    let lost = log.create("t", Default::default()).await;
    assert!(matches!(lost, Err(LogError::Unknown { .. })), "{lost:?}");
    assert_eq!(log.create("t", Default::default()).await.unwrap().epoch, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let (log, faults) = open_with_faults(home.path());
    let lease = session(&log, "s").await;
    faults.disk_full(true);
    let answer = push(&log, &lease).await;
    assert!(matches!(&answer, Append::Refused(why) if why.contains("disk")), "{answer:?}");
    faults.disk_full(false);
    assert!(matches!(push(&log, &lease).await, Append::Durable { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_grow_refuses() {
    let home = tempfile::tempdir().unwrap();
    let (log, _) = open_with_faults(home.path());
    let lease = session(&log, "s").await;
    let other = session(&log, "t").await;
    log.write("", 0, |group| {
        group.connection.query_row("PRAGMA max_page_count = 1", [], |_| Ok(()))?;
        Ok(())
    })
    .await
    .unwrap();
    let head = log.head("s").await.unwrap();
    let mut batch = one(1);
    batch.iter_mut().for_each(|draft| draft.body = vec![b'x'; 100_000]);
    let answer = log.append(&lease, &head.version, batch).await;
    assert!(matches!(answer, Append::Refused(_)), "{answer:?}");
    println!("{answer:?}");
    assert_eq!(log.head("s").await.unwrap(), head);
    // What needs no room, or finds it after the file was opened anew, goes on.
    let answer = push(&log, &other).await;
    assert!(matches!(answer, Append::Durable { .. }), "{answer:?}");
    log.verify("s").await.unwrap().unwrap();
}

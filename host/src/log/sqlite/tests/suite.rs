//! The common suite on SQLite, and how few commits it takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tempfile::TempDir;

use super::{SqliteLog, one, open, push, raw, session};
use crate::log::conformance::{Store, draft, run_all};
use crate::log::memory::Damage;
use crate::log::{Append, Log, Mark};

struct Shared(TempDir);

#[async_trait]
impl Store for Shared {
    async fn host(&self) -> Result<Arc<dyn Log>> {
        Ok(SqliteLog::open(self.0.path())?)
    }

    async fn kill(&self, host: Arc<dyn Log>) -> Result<()> {
        ensure!(Arc::strong_count(&host) == 1, "somebody else uses the host");
        // What ends is the lock; nothing is given back.
        drop(host);
        Ok(())
    }

    async fn settle(&self) {}

    async fn damage(&self, session: &str, sequence: u64, damage: Damage) -> Result<()> {
        let db = raw(self.0.path());
        let flip = |column: &str| {
            let value: Vec<u8> = db.query_row(
                &format!("SELECT {column} FROM records WHERE session = ?1 AND sequence = ?2"),
                rusqlite::params![session, sequence as i64],
                |row| row.get(0),
            )?;
            let flipped: Vec<u8> =
                value.iter().enumerate().map(|(i, b)| b ^ u8::from(i == 3)).collect();
            db.execute(
                &format!("UPDATE records SET {column} = ?3 WHERE session = ?1 AND sequence = ?2"),
                rusqlite::params![session, sequence as i64, flipped],
            )
        };
        let changed = match damage {
            Damage::Header => flip("header")?,
            Damage::Body => flip("body")?,
            Damage::Chain => flip("chain")?,
            Damage::Missing => db.execute(
                "DELETE FROM records WHERE session = ?1 AND sequence = ?2",
                rusqlite::params![session, sequence as i64],
            )?,
        };
        ensure!(changed == 1, "nothing was damaged");
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conformance() {
    let cases = run_all("sqlite", || async { Ok(Shared(tempfile::tempdir()?)) }).await.unwrap();
    println!("sqlite: {cases} cases");
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_share_commits() {
    let home = tempfile::tempdir().unwrap();
    let log = open(home.path());
    let mut leases = Vec::new();
    for n in 0..64 {
        leases.push(session(&log, &format!("s{n}")).await);
    }
    let before = log.commits();
    let mut tasks = tokio::task::JoinSet::new();
    for lease in leases {
        let log = Arc::clone(&log);
        tasks.spawn(async move {
            let mut version = log.head(&lease.session).await.unwrap().version;
            for sequence in 1..=10 {
                match log.append(&lease, &version, one(sequence)).await {
                    Append::Durable { version: next, .. } => version = next,
                    other => unreachable!("{other:?}"),
                }
            }
        });
    }
    tasks.join_all().await;
    let commits = log.commits() - before;
    println!("640 appends in {commits} commits");
    assert!(commits < 320, "640 appends took {commits} commits");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_with_one_home_do_not_starve_each_other() {
    let home = tempfile::tempdir().unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for host in 0..3 {
        let log = open(home.path());
        for n in 0..4 {
            let log = Arc::clone(&log);
            tasks.spawn(async move {
                let lease = session(&log, &format!("{host}-{n}")).await;
                let mut worst = Duration::ZERO;
                for _ in 0..10 {
                    let start = Instant::now();
                    let answer = push(&log, &lease).await;
                    assert!(matches!(answer, Append::Durable { .. }), "{answer:?}");
                    worst = worst.max(start.elapsed());
                }
                worst
            });
        }
    }
    let worst = tasks.join_all().await.into_iter().max().unwrap();
    println!("worst append beside two other hosts: {worst:?}");
    let log = SqliteLog::open_read_only(home.path()).unwrap();
    let sessions = log.sessions().await.unwrap();
    assert_eq!(sessions.len(), 12);
    for row in sessions {
        assert_eq!(row.head_sequence, 10);
        log.verify(&row.session).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_can_be_rebuilt() {
    let home = tempfile::tempdir().unwrap();
    let log = open(home.path());
    let lease = session(&log, "s").await;
    let opens = |approval: &str| Mark::Opens { approval: approval.to_owned() };
    let command = Mark::Command {
        scope: "home".to_owned(),
        id: "1".to_owned(),
        payload: "p".to_owned(),
        ack: "{}".to_owned(),
    };
    let closes = Mark::Closes { approval: "a".to_owned() };
    let batch = vec![draft(1, vec![opens("a"), command]), draft(2, vec![closes, opens("b")])];
    let head = log.head("s").await.unwrap();
    let answer = log.append(&lease, &head.version, batch).await;
    assert!(matches!(answer, Append::Durable { .. }), "{answer:?}");
    let before = (log.pending().await.unwrap(), log.command("home", "1").await.unwrap());
    assert_eq!((before.0.len(), before.1.is_some()), (1, true));
    raw(home.path())
        .execute_batch("UPDATE pending SET approval = 'x'; DELETE FROM commands")
        .unwrap();
    log.rebuild_lookups().await.unwrap();
    let after = (log.pending().await.unwrap(), log.command("home", "1").await.unwrap());
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_does_not_keep_the_life_of_its_host() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path());
    let lease = session(&first, "s").await;
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    drop(first);
    let second = open(home.path());
    assert_eq!(second.lease("s").await.unwrap().epoch, lease.epoch + 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

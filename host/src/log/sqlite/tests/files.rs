//! The file and the folder: modes, foreign files, newer formats, reading only.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{SqliteLog, open, push, raw, session};
use crate::log::{Append, Log as _, LogError};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let log = open(&home);
    session(&log, "s").await;
    assert_eq!(mode(&home), 0o700);
    let mut files = 0;
    for entry in fs::read_dir(&home).unwrap().chain(fs::read_dir(home.join("hosts")).unwrap()) {
        let path = entry.unwrap().path();
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
        files += 1;
    }
    assert_eq!(files, 6, "database, -wal, -shm, commit.lock, hosts, life");
}

/// Opens a home with this file in it, must fail, and must not have touched it.
fn refused(bytes: &[u8]) -> LogError {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("placet.db");
    fs::write(&file, bytes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = SqliteLog::open(home.path()).err().unwrap();
    let reader = SqliteLog::open_read_only(home.path()).err().unwrap();
    assert_eq!(error, reader, "a reader says the same");
    assert_eq!(fs::read(&file).unwrap(), bytes, "the bytes are as they were");
    assert_eq!(mode(&file), 0o644, "and the mode");
    for name in ["placet.db-wal", "placet.db-shm", "placet.db-journal"] {
        assert!(!home.path().join(name).exists(), "{name}");
    }
    assert_eq!(error.exit_code(), 3);
    error
}

/// The bytes of a database that these statements make.
fn database(sql: &str) -> Vec<u8> {
    let home = tempfile::tempdir().unwrap();
    raw(home.path()).execute_batch(sql).unwrap();
    fs::read(home.path().join("placet.db")).unwrap()
}

#[test]
fn what_is_not_a_log_is_refused_untouched() {
    for bytes in [
        b"hello".to_vec(),
        b"not a database, ".repeat(600),
        database("CREATE TABLE t (x)"),
        database("PRAGMA journal_mode = WAL; PRAGMA user_version = 1; CREATE TABLE t (x)"),
        database("PRAGMA application_id = 7; CREATE TABLE t (x)"),
    ] {
        let error = refused(&bytes);
        assert!(matches!(error, LogError::NotALog { .. }), "{error}");
        println!("{error}");
    }
}

#[test]
fn a_newer_log_is_refused_untouched() {
    for journal in ["DELETE", "WAL"] {
        let id = super::super::schema::APPLICATION_ID;
        let bytes = database(&format!(
            "PRAGMA journal_mode = {journal}; PRAGMA application_id = {id};
             PRAGMA user_version = 1000; CREATE TABLE t (x)"
        ));
        let error = refused(&bytes);
        assert!(matches!(error, LogError::Newer { found: 1000, .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_format_is_seen_in_the_write_ahead_file() {
    let home = tempfile::tempdir().unwrap();
    drop(open(home.path()));
    // While this connection lives its change is in the write-ahead file alone.
    let newer = raw(home.path());
    newer.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 1000").unwrap();
    let error = SqliteLog::open(home.path()).err().unwrap();
    assert!(matches!(error, LogError::Newer { found: 1000, .. }), "{error}");
    drop(newer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_was_cut_short_is_no_damage() {
    let home = tempfile::tempdir().unwrap();
    let log = open(home.path());
    session(&log, "s").await;
    drop(log);
    let grown = raw(home.path());
    grown
        .execute_batch(
            "PRAGMA wal_autocheckpoint = 0;
             INSERT INTO snapshots VALUES ('s', 1, 1, zeroblob(100000))",
        )
        .unwrap();
    let copy = || {
        let folder = tempfile::tempdir().unwrap();
        for name in ["placet.db", "placet.db-wal"] {
            fs::copy(home.path().join(name), folder.path().join(name)).unwrap();
        }
        folder
    };
    let (whole, cut) = (copy(), copy());
    raw(whole.path()).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let first = fs::read(whole.path().join("placet.db")).unwrap()[..4096].to_vec();
    // As far as a checkpoint comes whose process is killed behind its first page.
    let main = cut.path().join("placet.db");
    let mut bytes = fs::read(&main).unwrap();
    let pages = u32::from_be_bytes(first[28..32].try_into().unwrap()) as usize;
    assert!(pages > bytes.len() / 4096, "the first page counts what is not there yet");
    bytes[..4096].copy_from_slice(&first);
    fs::write(&main, bytes).unwrap();

    drop(SqliteLog::open_read_only(cut.path()).unwrap());
    let log = open(cut.path());
    assert_eq!(log.sessions().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_file_becomes_a_log() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("placet.db"), b"").unwrap();
    let log = open(home.path());
    session(&log, "s").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_only_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    assert!(SqliteLog::open_read_only(home.path()).is_err(), "there is nothing");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "and nothing was created");
    let log = open(home.path());
    let lease = session(&log, "s").await;
    push(&log, &lease).await;

    // Beside a live host, and after it.
    for live in [Some(log), None] {
        let reader = SqliteLog::open_read_only(home.path()).unwrap();
        assert_eq!(reader.verify("s").await.unwrap().unwrap().records, 1);
        assert_eq!(reader.host(), "");
        assert_eq!(reader.lease("s").await, Err(LogError::ReadOnly));
        let head = reader.head("s").await.unwrap();
        let answer = reader.append(&lease, &head.version, super::one(2)).await;
        assert!(matches!(answer, Append::Refused(_)), "{answer:?}");
        assert_eq!(reader.hosts().await.unwrap().len(), 1);
        drop(live);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_on_a_read_only_folder_can_be_read() {
    let home = tempfile::tempdir().unwrap();
    let log = open(home.path());
    let lease = session(&log, "s").await;
    push(&log, &lease).await;
    drop(log);
    let path = home.path().join("placet.db");
    assert!(!home.path().join("placet.db-wal").exists(), "the writer closes last");
    let db = super::super::schema::open_immutable(&path).unwrap();
    assert_eq!(super::super::read::verify(&db, "s").unwrap().unwrap().records, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_erased_is_in_no_file() {
    let home = tempfile::tempdir().unwrap();
    // Another process looks: one that closes the file here drops SQLite's locks.
    let found = || {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-rqa", "hunter2"]).arg(home.path()).status().unwrap().success()
    };
    let log = open(home.path());
    let lease = session(&log, "s").await;
    let mut batch = super::one(1);
    batch[0].body = b"hunter2 ".repeat(2_000);
    let head = log.head("s").await.unwrap();
    let answer = log.append(&lease, &head.version, batch).await;
    assert!(matches!(answer, Append::Durable { .. }), "{answer:?}");
    assert!(found());
    assert_eq!(log.erase(&lease, &[1]).await.unwrap(), 1);
    assert!(!found(), "erased while the log is open");
    assert_eq!(log.verify("s").await.unwrap().unwrap().erased, 1);
}

/// Bodies of many sizes in three sessions that grow, shrink and go: nothing that
/// was erased may lie in a page that was split, merged or freed.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_erased_is_in_no_page_that_was_used_before() {
    let home = tempfile::tempdir().unwrap();
    let log = open(home.path());
    let mut leases = Vec::new();
    for name in ["a", "b", "c"] {
        leases.push(session(&log, name).await);
    }
    let mut seed = 7_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut there: Vec<(usize, u64)> = Vec::new();
    let mut gone: Vec<String> = Vec::new();
    let name = |session: usize, sequence: u64| format!("<secret-{session}-{sequence}>");
    for round in 0..40 {
        for _ in 0..20 {
            let one = usize::try_from(random(leases.len() as u64)).unwrap();
            let head = log.head(&leases[one].session).await.unwrap();
            let sequence = head.sequence + 1;
            let mut batch = super::one(sequence);
            let size = [60, 400, 1_500, 9_000][usize::try_from(random(4)).unwrap()];
            batch[0].body = name(one, sequence).repeat(1 + size / 16).into_bytes();
            let answer = log.append(&leases[one], &head.version, batch).await;
            assert!(matches!(answer, Append::Durable { .. }), "{answer:?}");
            there.push((one, sequence));
        }
        for _ in 0..12 {
            let index = usize::try_from(random(there.len() as u64)).unwrap();
            let (one, sequence) = there.swap_remove(index);
            assert_eq!(log.erase(&leases[one], &[sequence]).await.unwrap(), 1);
            gone.push(name(one, sequence));
        }
        if round == 25 {
            let lease = leases.pop().unwrap();
            log.delete(lease).await.unwrap();
            there.retain(|(one, sequence)| {
                let stays = *one < leases.len();
                if !stays {
                    gone.push(name(*one, *sequence));
                }
                stays
            });
        }
    }
    // Another process reads: one that closes the file here drops SQLite's locks.
    let read = std::process::Command::new("sh")
        .args(["-c", "cat placet.db placet.db-*"])
        .current_dir(home.path())
        .output()
        .unwrap();
    let bytes = String::from_utf8_lossy(&read.stdout);
    let (one, sequence) = there[0];
    assert!(bytes.contains(&name(one, sequence)), "what was not erased is found");
    let left: Vec<&String> = gone.iter().filter(|name| bytes.contains(name.as_str())).collect();
    assert!(left.is_empty(), "{} of {} are still there: {left:?}", left.len(), gone.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dead_are_buried_at_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path());
    let socket = home.path().join("a.sock");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    first.set_socket(socket.to_str()).await.unwrap();
    let lease = session(&first, "s").await;
    let second = open(home.path());
    let holder = second.holder("s").await.unwrap().unwrap();
    assert_eq!((holder.host.as_str(), holder.alive), (first.host(), true));
    assert_eq!(holder.socket.as_deref(), socket.to_str());
    let id = first.host().to_owned();
    let life = home.path().join("hosts").join(format!("{id}.lock"));
    drop(first);
    assert!(life.exists() && socket.exists());
    assert_eq!(second.holder("s").await.unwrap(), None);
    let third = open(home.path());
    assert!(!life.exists() && !socket.exists());
    let hosts = third.hosts().await.unwrap();
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    assert!(hosts.iter().all(|row| row.alive && row.host != id));
    assert_eq!(third.lease("s").await.unwrap().epoch, lease.epoch + 1, "its file is gone");
}

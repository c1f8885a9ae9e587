//! A log whose file is damaged, cut short, on a full disk or on a read-only one: one clear
//! error where there is one, and nothing is overwritten.

use crate::common::{Home, Host, command_id};
use crate::{ok, refused};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE_BYTES: usize = 4096;

/// Bytes in front of the frames of a write-ahead file, and in front of each page in it.
const WAL_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// The files that the log consists of; an empty one counts as none, since SQLite makes it
/// where somebody reads.
fn log_files(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = ["placet.db", "placet.db-wal"].map(|name| home.path().join(name));
    let held = files.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?)));
    held.filter(|(_, bytes)| !bytes.is_empty()).collect()
}

/// A home with two sessions that have ended, and their names.
fn two_sessions() -> (Home, [String; 2]) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let sessions = [(); 2].map(|()| host.session(&home, "allowAll"));
    for (session, text) in sessions.iter().zip(["echo first", "echo second"]) {
        for _ in 0..12 {
            let turn = host.turn(session, &format!("{text} {}", "y ".repeat(40)));
            host.ended(&turn);
        }
    }
    assert_eq!(host.close(), (0, String::new()));
    home.sql().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    (home, sessions)
}

/// The pages of the main file that hold this text, and no row of the other session.
fn pages_of(home: &Home, text: &str, other: &str) -> Vec<usize> {
    let bytes = fs::read(home.database()).unwrap();
    let has = |page: &[u8], text: &str| page.windows(text.len()).any(|at| at == text.as_bytes());
    let pages = bytes.chunks(PAGE_BYTES).enumerate();
    pages.filter(|(_, page)| has(page, text) && !has(page, other)).map(|(at, _)| at).collect()
}

/// Makes a page unreadable.
fn spoil(home: &Home, page: usize) {
    let mut bytes = fs::read(home.database()).unwrap();
    bytes[page * PAGE_BYTES..][..64].fill(0xff);
    fs::write(home.database(), bytes).unwrap();
}

#[test]
fn a_page_that_cannot_be_read_costs_its_session_alone() {
    let (intact, [bad, good]) = two_sessions();
    let pages = pages_of(&intact, "echo first", &good);
    assert!(!pages.is_empty());
    let mut spoiled = 0;
    for page in pages {
        let home = intact.copy();
        spoil(&home, page);
        let before = log_files(&home);
        let verified = home.run(&["log", "verify", &bad]);
        // A page may hold what is not needed to read the records, and is seen all the same.
        let all = home.run(&["log", "verify"]);
        assert_eq!(all.code, 3, "page {page}: {}{}", all.out, all.err);
        assert!(log_files(&home) == before, "`placet log verify` changed something");
        if verified.code == 0 {
            assert!(all.err.contains("damaged"), "{}", all.err);
            continue;
        }
        refused(&verified, 3, &[&bad, "record ", "cannot be read", "restore it from a copy"]);
        ok(&home.run(&["log", "verify", &good]));
        assert!(all.out.contains(&good) && all.err.contains(&bad), "{}{}", all.out, all.err);
        spoiled += 1;

        // A host goes on with the others, and the page stays as it is for who mends it.
        let mut host = Host::start(&home);
        let resume = json!({"sessionId": bad, "commandId": command_id()});
        let error = host.refused("session/resume", resume);
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32603), &json!("internal")));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("record ") && message.contains("cannot be read"), "{message}");
        host.resume(&good);
        let turn = host.turn(&good, "touch goes-on");
        assert_eq!(host.ended(&turn)["status"], "completed");
        assert_eq!(host.close(), (0, String::new()));
        home.sql().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let now = fs::read(home.database()).unwrap();
        let page = page * PAGE_BYTES..(page + 1) * PAGE_BYTES;
        assert!(now[page.clone()] == before[&home.database()][page], "the page was written");
    }
    assert!(spoiled > 0, "no page that holds records was spoiled");
}

#[test]
fn a_file_whose_first_page_is_damaged_is_left_alone() {
    let (home, [session, _]) = two_sessions();
    let mut bytes = fs::read(home.database()).unwrap();
    bytes[100..164].fill(0xff);
    fs::write(home.database(), bytes).unwrap();
    let before = log_files(&home);
    let words = ["placet.db", "damaged", "restore it from a copy"];
    refused(&home.run(&["serve"]), 3, &words);
    refused(&home.run(&["log", "verify"]), 3, &words[1..]);
    refused(&home.run(&["log", "show", &session]), 3, &words[1..]);
    assert!(log_files(&home) == before);
}

/// A home whose host was killed with an approval pending, and nothing brought into the main
/// file since; the session.
fn killed() -> (Home, String) {
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "touch made");
    host.event("approval/requested", &turn);
    host.signal(rustix::process::Signal::KILL);
    host.exit();
    (home, session)
}

/// How many records the session has with the write-ahead file cut to this length.
fn cut(killed: &Home, session: &str, bytes: usize) -> u64 {
    let home = killed.copy();
    let _ = fs::remove_file(home.path().join("placet.db-shm"));
    let wal = home.path().join("placet.db-wal");
    let whole = fs::read(&wal).unwrap();
    fs::write(&wal, &whole[..bytes]).unwrap();
    let before = log_files(&home);
    let told = home.run(&["log", "verify"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{bytes}: {}", told.out);
    assert!(log_files(&home) == before, "{bytes}: `placet log verify` changed something");
    let mut host = Host::start(&home);
    let line = told.out.lines().find(|line| line.starts_with(session));
    let records = line.map_or(0, |line| {
        let count = line.split("intact, ").nth(1).unwrap().split(' ').next().unwrap();
        count.parse().unwrap()
    });
    // A session without records never was.
    if records > 0 {
        host.resume(session);
    } else {
        let error = host
            .refused("session/resume", json!({"sessionId": session, "commandId": command_id()}));
        assert_eq!(error["code"], -32020, "{bytes}: {error}");
    }
    assert_eq!(host.close(), (0, String::new()), "{bytes}");
    assert_eq!(home.run(&["log", "verify"]).code, 0, "{bytes}");
    records
}

#[test]
fn a_write_ahead_file_that_was_cut_is_an_earlier_log() {
    let (home, session) = killed();
    let bytes = fs::metadata(home.path().join("placet.db-wal")).unwrap().len() as usize;
    let frame = FRAME_HEADER_BYTES + PAGE_BYTES;
    let frames = (bytes - WAL_HEADER_BYTES) / frame;
    assert_eq!(WAL_HEADER_BYTES + frames * frame, bytes);
    let whole = cut(&home, &session, bytes);
    assert!(whole > 3, "{whole} records");
    let mut last = whole;
    let mut lost = 0;
    for left in (0..frames).rev() {
        let boundary = WAL_HEADER_BYTES + left * frame;
        let at_the_boundary = cut(&home, &session, boundary);
        // Inside a frame it is as if the frame were not there.
        assert_eq!(cut(&home, &session, boundary + frame / 2), at_the_boundary, "frame {left}");
        assert!(at_the_boundary <= last, "frame {left}");
        lost += u32::from(at_the_boundary != last);
        last = at_the_boundary;
    }
    // Whole commits are gone, and the log that is left cannot tell: docs/reliability.md.
    assert!(lost >= 3, "{lost} commits were cut off");
    assert_eq!(last, 0);
    assert_eq!(cut(&home, &session, WAL_HEADER_BYTES / 2), 0);
    assert_eq!(cut(&home, &session, 0), 0);
}

/// Runs one case once more in a mount namespace of its own, with a small disk
/// for everything that it makes; whether that is where this is.
pub(crate) fn on_a_small_disk(case: &str) -> bool {
    if std::env::var_os("SMALL_DISK").is_some() {
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=64m small \"$SMALL_DISK\" && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", case, "--nocapture"])
        .env("SMALL_DISK", folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("1 passed"), "{told}");
    false
}

fn disk() -> PathBuf {
    PathBuf::from(std::env::var_os("SMALL_DISK").unwrap())
}

/// Leaves no byte free.
fn fill(disk: &Path) -> PathBuf {
    let filler = disk.join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    // Ends with an error, when nothing is left.
    std::io::copy(&mut std::io::repeat(1), &mut file).unwrap_err();
    filler
}

#[test]
fn a_full_disk_refuses_and_changes_nothing() {
    if !on_a_small_disk("damage::a_full_disk_refuses_and_changes_nothing") {
        return;
    }
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "promptUnmatched");
    let turn = host.turn(&session, "touch made");
    let ask = host.event("approval/requested", &turn);
    let filler = fill(&disk());
    let before = log_files(&home);
    let decision = Host::decision(&ask, "allow_once");
    let error = host.refused("approval/decide", decision.clone());
    println!("decide: {error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("disk"), "{message}");
    let pending = host.call("approval/listPending", json!({"sessionId": session}));
    assert_eq!(pending["approvals"][0]["approvalId"], ask["approvalId"]);
    let start = json!({"commandId": command_id(), "workspaceRoot": home.workspace()});
    let error = host.refused("session/start", start);
    assert!(error["message"].as_str().unwrap().contains("disk"), "{error}");
    let second = home.run(&["serve"]);
    println!("serve: {}", second.err);
    assert_eq!((second.out.as_str(), second.err.lines().count()), ("", 1), "{}", second.err);
    assert_ne!(second.code, 0);
    assert!(second.err.contains("disk"), "{}", second.err);
    ok(&home.run(&["log", "verify", &session]));
    assert!(log_files(&home) == before, "something was written");
    assert!(!home.workspace().join("made").exists());

    // With room again the same command is taken, and nothing has to be mended.
    fs::remove_file(filler).unwrap();
    host.call("approval/decide", decision);
    assert_eq!(host.ended(&turn)["status"], "completed");
    assert!(home.workspace().join("made").exists());
    assert_eq!(host.close(), (0, String::new()));
    ok(&home.run(&["log", "verify"]));
}

#[test]
fn a_read_only_home_is_told_and_can_be_read() {
    if !on_a_small_disk("damage::a_read_only_home_is_told_and_can_be_read") {
        return;
    }
    let home = Home::new();
    let mut host = Host::start(&home);
    let session = host.session(&home, "allowAll");
    let turn = host.turn(&session, "touch made");
    host.ended(&turn);
    assert_eq!(host.close(), (0, String::new()));
    let before = log_files(&home);
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", how]).arg(disk()).status().unwrap();
        assert!(done.success(), "mount -o {how}");
    };
    remount("remount,ro");
    let served = home.run(&["serve"]);
    println!("serve: {}", served.err);
    refused(&served, 3, &["Read-only file system", home.path().to_str().unwrap()]);
    ok(&home.run(&["log", "verify", &session]));
    ok(&home.run(&["log", "show", &session]));
    assert!(log_files(&home) == before);
    remount("remount,rw");
    let mut host = Host::start(&home);
    host.resume(&session);
    assert_eq!(host.close(), (0, String::new()));
}

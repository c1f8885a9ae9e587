//! What the scripts cannot do by themselves: this test program, started by them, does it.

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Does what the environment asks for; says whether it did, so that nothing else is done.
pub(super) fn lent() -> bool {
    let Ok(order) = std::env::var("HANDS") else { return false };
    let (what, with) = order.split_once(' ').unwrap();
    let result = match what {
        "socket" => socket(Path::new(with)),
        "take" => take(with.parse().unwrap()),
        _ => panic!("{what}?"),
    };
    // The test runner may have begun a line.
    println!("\n{result}");
    true
}

/// Sends the frames that decide to a host's socket; the kind of its first answer.
fn socket(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    let frames = std::fs::read("frames").unwrap();
    // The host may have hung up already.
    let _ = stream.write_all(&frames);
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
    answer["error"]["data"]["kind"].as_str().unwrap_or(&line).to_owned()
}

/// Takes the standard input of a process for its own.
fn take(pid: i32) -> String {
    let handle = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    match pidfd_getfd(handle, 0, PidfdGetfdFlags::empty()) {
        Ok(_) => "taken".to_owned(),
        Err(rustix::io::Errno::PERM) => "EPERM".to_owned(),
        Err(error) => error.to_string(),
    }
}

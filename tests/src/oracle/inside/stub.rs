//! A stub: stands for every program, records its start, prints a line.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::ExitCode;

use placet_tests::oracle::frame;
use placet_tests::oracle::places;
use rustix::process::{Pid, Signal, kill_process_group};

/// What a stub prints, by its name and arguments. Some of it is what a command
/// would make of it: `$(stub)` as a command, `eval "$(stub)"`.
const LINES: [&str; 8] =
    ["a.txt", "one two", "ls -l b.txt", "rm -rf /", "x=1", "main", "42", "git push; date"];

/// Records and answers.
pub(crate) fn stub(name: OsString, arguments: Vec<OsString>) -> ExitCode {
    let hash = hash(&name, &arguments);
    if let Err(error) = record(&name, &arguments) {
        eprintln!("the stub could not record its start: {error}");
    }
    let line = LINES.get(usize::try_from(hash % 8).unwrap_or(0)).copied().unwrap_or_default();
    // Whoever reads may be gone already.
    let _ = writeln!(std::io::stdout(), "{line}");
    // A fifth fail, so that both sides of `||` are reached.
    ExitCode::from(u8::from((hash / 8).is_multiple_of(5)))
}

fn record(name: &OsString, arguments: &[OsString]) -> std::io::Result<()> {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let mut list = vec![program.into_os_string().into_vec(), changed().into_vec()];
    list.push(name.as_bytes().to_vec());
    list.extend(arguments.iter().map(|word| word.as_bytes().to_vec()));
    let mut log = OpenOptions::new().append(true).open(places::LOG)?;
    log.write_all(&frame::encode(&list))?;
    if log.metadata()?.len() > places::LOG_BYTES_MAX {
        // A loop that would not end. This is everything but process 1 and us.
        if let Some(everything) = Pid::from_raw(1) {
            let _ = kill_process_group(everything, Signal::KILL);
        }
    }
    Ok(())
}

/// The variables that are not as bash was given them, by name.
fn changed() -> OsString {
    let mut names = OsString::new();
    for (name, value) in std::env::vars_os() {
        let given = places::ENVIRONMENT.iter().any(|(n, v)| name == *n && value == *v);
        let bash_sets = ["PWD", "OLDPWD", "SHLVL", "_"].iter().any(|n| name == *n);
        if !given && !bash_sets {
            names.push(&name);
            names.push("\n");
        }
    }
    names
}

fn hash(name: &OsString, arguments: &[OsString]) -> u64 {
    let words = std::iter::once(name).chain(arguments);
    words
        .flat_map(|word| word.as_bytes().iter().chain(&[0]))
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3) ^ (hash >> 29)
        })
}

//! Process 1 of the sandbox: finishes it, then runs one command after the other,
//! each in a scratch folder made anew, until its input ends.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use placet_tests::oracle::{frame, places};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, kill_process_group,
    pidfd_open, pivot_root, prlimit, set_dumpable_behavior, setrlimit, setsid, wait,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};

use crate::enter::step;

/// A command that runs longer is ended; nothing in it can sleep or wait for a person.
const COMMAND_SECONDS_MAX: i64 = 4;
/// Of processor time, for each process of a command.
const PROCESSOR_SECONDS_MAX: u64 = 2;
/// How long what a command left in the background may go on.
const BACKGROUND_MILLIS_MAX: u64 = 500;

const LIMITS: [(Resource, u64); 5] = [
    (Resource::Fsize, 1 << 20),
    (Resource::Core, 0),
    (Resource::Nproc, 48),
    (Resource::Nofile, 256),
    (Resource::As, 512 << 20),
];

/// Files of the working folder: for globs, redirects and tests.
const FILES: [&str; 8] =
    ["a.txt", "b.txt", "c d.txt", ".hidden", "src/main.rs", "src/lib.rs", "-n", "{x,y}"];

/// Answers orders (see `Order` in `sandbox`) until stdin ends.
pub(crate) fn run() -> Result<(), String> {
    finish()?;
    let mut orders = BufReader::new(io::stdin().lock());
    let mut answers = BufWriter::new(io::stdout().lock());
    step("answer", frame::write(&mut answers, &["ready"]))?;
    while let Some(order) = step("order", frame::read(&mut orders))? {
        let ended = step("scratch", prepare(&order)).and_then(|()| command(&order))?;
        let read = |path: &str| fs::read(path).map_err(|e| format!("{path}: {e}"));
        let list = [ended.into_bytes(), read(places::LOG)?, read(places::TRACE)?, errors()?];
        step("answer", frame::write(&mut answers, &list))?;
    }
    Ok(())
}

/// The part of the sandbox that only a process inside can do; then no capability is left.
fn finish() -> Result<(), String> {
    step("setsid", setsid())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    let data = c"subset=pid,hidepid=2";
    step("/proc", mount("proc", "proc", "proc", flags, data))?;
    step("pivot_root", pivot_root(".", "old"))?;
    step("chdir", std::env::set_current_dir("/"))?;
    step("umount", unmount("/old", UnmountFlags::DETACH))?;
    for (resource, limit) in LIMITS {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        step("setrlimit", setrlimit(resource, limit))?;
    }
    step("no new privileges", set_no_new_privs(true))?;
    step("capabilities", clear_ambient_capability_set())?;
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    step("capabilities", set_capabilities(None, none))?;
    // Same user as the commands: they must not reach our pipes through /proc/1.
    step("dumpable", set_dumpable_behavior(DumpableBehavior::NotDumpable))
}

/// A scratch folder as it always is, and stubs for the names of this command.
fn prepare(order: &[Vec<u8>]) -> io::Result<()> {
    for entry in fs::read_dir(places::SCRATCH)? {
        let entry = entry?;
        if entry.path() == Path::new(places::SCRATCH_STUB) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            // A command cannot take away our right to it: there is no chmod.
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    for folder in [places::SCRATCH_STUBS, "/scratch/home", "/scratch/tmp", "/scratch/work/src"] {
        fs::create_dir_all(folder)?;
    }
    for file in FILES {
        fs::write(Path::new(places::WORK).join(file), "one two\nrm three\n")?;
    }
    for file in [places::LOG, places::TRACE, places::ERRORS] {
        File::create(file)?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    }
    for name in order.get(2..).unwrap_or_default() {
        let Some((kind, name)) = name.split_first() else { continue };
        let place = place(*kind == b'f', OsStr::from_bytes(name));
        if place.starts_with(places::SCRATCH) {
            let made = place.parent().map_or(Ok(()), fs::create_dir_all);
            // Names that cannot be files are left out.
            let _ = made.and_then(|()| match kind {
                b'f' if place.exists() => Ok(()),
                b'f' => fs::write(&place, "ls sourced\n"),
                _ => fs::hard_link(places::SCRATCH_STUB, &place),
            });
        }
    }
    Ok(())
}

/// A name with a slash is relative to the working folder, like any file; others
/// are on `PATH`.
fn place(file: bool, name: &OsStr) -> PathBuf {
    if let Ok(in_home) = Path::new(name).strip_prefix("~") {
        return Path::new("/scratch/home").join(in_home);
    }
    let in_work = file || name.as_bytes().contains(&b'/');
    Path::new(if in_work { places::WORK } else { places::SCRATCH_STUBS }).join(name)
}

/// Runs the command of an order and says how it ended.
fn command(order: &[Vec<u8>]) -> Result<String, String> {
    let text = OsStr::from_bytes(order.first().map_or(&[][..], Vec::as_slice));
    let errors = step(places::ERRORS, File::create(places::ERRORS))?;
    let mut bash = Command::new(places::BASH);
    bash.arg0("bash").args(["--noprofile", "--norc", "-c", "--"]).arg(text);
    bash.env_clear().envs(places::ENVIRONMENT).current_dir(places::WORK).process_group(0);
    if order.get(1).is_some_and(|traced| traced == b"1") {
        bash.env("BASH_ENV", places::TRACE_START);
    }
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let started = match bash.spawn() {
        Ok(child) => child.id(),
        Err(error) => return Ok(format!("not started: {error}")),
    };
    // From here on children are waited for together, whoever they are.
    let pid = Pid::from_raw(started.cast_signed()).ok_or("bash has no process number")?;
    // Not for us, who run them all. It may have ended already.
    let limit =
        Rlimit { current: Some(PROCESSOR_SECONDS_MAX), maximum: Some(PROCESSOR_SECONDS_MAX) };
    let _ = prlimit(Some(pid), Resource::Cpu, limit);
    let in_time = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => {
            let wait = Timespec { tv_sec: COMMAND_SECONDS_MAX, tv_nsec: 0 };
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            step("poll", poll(&mut fds, Some(&wait)))? > 0
        }
        Err(error) => return Err(format!("pidfd_open: {error}")),
    };
    let until =
        Instant::now() + Duration::from_millis(if in_time { BACKGROUND_MILLIS_MAX } else { 0 });
    let mut ended = if in_time { "ended" } else { "too long" };
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return Ok(ended.into()),
            Err(error) => return Err(format!("wait: {error}")),
            Ok(Some(_)) => {}
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_micros(200)),
            Ok(None) => {
                if in_time {
                    ended = "left something running";
                }
                // Process 1 sends it to everyone else.
                if let Some(everyone) = Pid::from_raw(1) {
                    let _ = kill_process_group(everyone, Signal::KILL);
                }
                std::thread::sleep(Duration::from_micros(500));
            }
        }
    }
}

fn errors() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = step(places::ERRORS, File::open(places::ERRORS))?;
    step(places::ERRORS, file.take(4_096).read_to_end(&mut bytes))?;
    Ok(bytes)
}

//! The test's side of the sandbox: starts it, sends commands, reads what ran.

use std::ffi::OsString;
use std::fs;
use std::io::{BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};

use super::frame;

/// A program that was started, as its stub wrote it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The file that was started.
    pub program: Vec<u8>,
    /// Its words, word for word; the first is the name as it was typed.
    pub argv: Vec<Vec<u8>>,
    /// Variables that were not as bash had been given them.
    pub changed: Vec<String>,
}

/// What a command did.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// `ended`, or why it had to be ended.
    pub ended: String,
    /// Every program that started, in order.
    pub starts: Vec<Start>,
    /// What bash traced, if that was asked for: one simple command after the other.
    pub trace: Vec<u8>,
    /// The beginning of what it wrote to stderr.
    pub errors: String,
}

/// A sandbox that runs one command at a time.
pub struct Sandbox {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// For who reads a refusal of the kernel.
const REFUSED: &str = "The oracle runs commands in namespaces of their own and this machine refuses them. \
Allow user namespaces: `sysctl -w user.max_user_namespaces=10000`, on Debian also `sysctl -w kernel.unprivileged_userns_clone=1`, \
on Ubuntu `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; in a container, start it with `--security-opt seccomp=unconfined`.";

impl Sandbox {
    /// Starts one; `inside` is the program `oracle-inside` of this package.
    pub fn start(inside: &Path) -> anyhow::Result<Sandbox> {
        let bash = find_bash()?;
        let mut files = libraries(&bash)?;
        files.extend(libraries(inside)?);
        files.extend(locale());
        files.sort();
        files.dedup();
        let mut child = Command::new(inside)
            .arg0("placet-oracle-enter")
            .arg(&bash)
            .args(&files)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", inside.display()))?;
        let (Some(mut orders), Some(mut answers)) = (child.stdin.take(), child.stdout.take())
        else {
            bail!("the sandbox has no pipes");
        };
        let mut told = [0];
        if answers.read_exact(&mut told).is_err() {
            bail!(REFUSED);
        }
        map_users(child.id()).context(REFUSED)?;
        orders.write_all(b"M")?;
        orders.flush()?;
        let mut answers = BufReader::new(answers);
        match frame::read(&mut answers)? {
            Some(ready) if ready == [b"ready"] => {}
            _ => bail!("The sandbox could not be made (its reason is above). {REFUSED}"),
        }
        Ok(Sandbox { child, orders: Some(orders), answers })
    }

    /// Runs one command, with what `names` says beside it. With `traced` bash says every
    /// simple command that it runs; the option that does so is visible to it as `$-`.
    pub fn run(&mut self, command: &str, names: &[String], traced: bool) -> anyhow::Result<Ran> {
        let orders = self.orders.as_mut().context("the sandbox has ended")?;
        let mut order = vec![command.as_bytes(), if traced { b"1" } else { b"0" }];
        order.extend(names.iter().map(|name| name.as_bytes()));
        frame::write(orders, &order)?;
        let answer = frame::read(&mut self.answers)?
            .with_context(|| format!("the sandbox ended while it ran {command:?}"))?;
        let [ended, log, trace, errors] = answer.as_slice() else { bail!("not an answer") };
        Ok(Ran {
            ended: String::from_utf8_lossy(ended).into_owned(),
            starts: starts(log)?,
            trace: trace.clone(),
            errors: String::from_utf8_lossy(errors).into_owned(),
        })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Its input ends, so process 1 does, and with it everything inside.
        self.orders = None;
        let _ = self.child.wait();
    }
}

fn starts(mut log: &[u8]) -> anyhow::Result<Vec<Start>> {
    let mut starts = Vec::new();
    // A stub that was killed while it wrote leaves half a list.
    while let Ok(Some(mut list)) = frame::read(&mut log) {
        if list.len() < 3 {
            bail!("a stub recorded no name");
        }
        let argv = list.split_off(2);
        let changed = String::from_utf8_lossy(&list.pop().unwrap_or_default()).into_owned();
        starts.push(Start {
            program: list.pop().unwrap_or_default(),
            argv,
            changed: changed.lines().map(str::to_owned).collect(),
        });
    }
    Ok(starts)
}

fn find_bash() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders
        .chain(["/usr/bin".into(), "/bin".into()])
        .map(|folder| folder.join("bash"))
        .find(|file| file.is_file())
        .context("bash was not found in PATH")
}

/// The shared libraries of a program, as the loader finds them.
fn libraries(program: &Path) -> anyhow::Result<Vec<OsString>> {
    let told = Command::new(program)
        .args(["-c", ":"])
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} could not be started", program.display()))?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let file = |line: &str| {
        let path = line.split("=>").last()?.split_whitespace().next()?;
        path.starts_with('/').then(|| OsString::from(path))
    };
    Ok(text.lines().filter_map(file).collect())
}

/// The files of the locale in which commands are read.
fn locale() -> Vec<OsString> {
    let folder = Path::new("/usr/lib/locale/C.utf8");
    let entries = [folder.to_owned(), folder.join("LC_MESSAGES")];
    let entries = entries.iter().filter_map(|folder| fs::read_dir(folder).ok());
    let files = entries.flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.is_file()).map(PathBuf::into_os_string).collect()
}

/// User 1000 inside is nobody outside if we are root, else who we are.
fn map_users(process: u32) -> anyhow::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let file = |name: &str| format!("/proc/{process}/{name}");
    fs::write(file("setgroups"), "deny").context("setgroups")?;
    let map = |name: &str, outside: u32| fs::write(file(name), format!("1000 {outside} 1"));
    let nobody = 65_534;
    if !user.is_root() || map("uid_map", nobody).is_err() {
        map("uid_map", user.as_raw()).context("uid_map")?;
    }
    if !user.is_root() || map("gid_map", nobody).is_err() {
        map("gid_map", group.as_raw()).context("gid_map")?;
    }
    Ok(())
}

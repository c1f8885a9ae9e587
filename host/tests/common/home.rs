//! A state folder with a workspace beside it, and the program run on it.

use super::{components, program};
use placet::log::{Log as _, SqliteLog, Stored};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// How a run of the program ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A home, the components that its hosts use and a workspace.
pub(crate) struct Home {
    _folder: TempDir,
    root: PathBuf,
    components: PathBuf,
}

impl Home {
    /// An empty home with a warm cache.
    pub(crate) fn new() -> Home {
        Home::with(&components())
    }

    /// The same for other components.
    pub(crate) fn with(components: &Path) -> Home {
        Home::made(components, "")
    }

    /// The same at a path that goes on with this.
    pub(crate) fn below(path: &str) -> Home {
        Home::made(&components(), path)
    }

    fn made(components: &Path, below: &str) -> Home {
        let folder = tempfile::tempdir().unwrap();
        let home = Home {
            root: folder.path().join(below),
            _folder: folder,
            components: components.canonicalize().unwrap_or_else(|_| components.to_owned()),
        };
        let cache = home.path().join("cache");
        fs::create_dir_all(&cache).unwrap();
        fs::create_dir(home.workspace()).unwrap();
        copy_files(warm_cache(), &cache);
        home
    }

    /// A home of its own with everything that this one's log consists of.
    pub(crate) fn copy(&self) -> Home {
        let copy = Home::with(&self.components);
        copy_files(&self.path(), &copy.path());
        copy
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.join("state")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join("placet.db")
    }

    /// The program on this home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command(&self.path(), &self.components, arguments)
    }

    /// The program on this home as a user without privileges, whoever runs the tests:
    /// for root in a user namespace where it is somebody else, so that it has no
    /// capability of the machine's, and nothing that it starts gets one.
    pub(crate) fn unprivileged(&self, arguments: &[&str]) -> Command {
        let plain = self.command(arguments);
        if !rustix::process::geteuid().is_root() {
            return plain;
        }
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-user=1000", "--map-group=1000", "--"]).arg(program());
        command.args(arguments);
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Runs the program to its end, without input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        run(self.command(arguments))
    }

    /// Runs it on a home elsewhere.
    pub(crate) fn run_on(&self, home: &Path, arguments: &[&str]) -> Ended {
        run(command(home, &self.components, arguments))
    }

    /// The records of a session.
    pub(crate) fn records(&self, session: &str) -> Vec<Stored> {
        let log = SqliteLog::open_read_only(&self.path()).unwrap();
        let reading = log.read(session, 0, usize::MAX, usize::MAX);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(reading).unwrap()
    }

    /// The bodies of a session's records of one kind.
    pub(crate) fn bodies(&self, session: &str, kind: &str) -> Vec<Value> {
        let records = self.records(session);
        let of_kind = records.iter().filter(|record| record.header.kind == kind);
        of_kind.map(|r| serde_json::from_slice(r.body.as_ref().unwrap()).unwrap()).collect()
    }

    /// What the log database holds, as SQLite sees it.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }
}

fn command(home: &Path, components: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env("PLACET_HOME", home).env("PLACET_COMPONENTS", components);
    command
}

fn run(mut command: Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ended {
        code: output.status.code().expect("it ended by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compiled components, made once and kept between runs of the tests.
fn warm_cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("warm-home");
        let ended = run(command(&home, &components(), &["--components"]));
        assert_eq!(ended.code, 0, "{}", ended.err);
        home.join("cache")
    })
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

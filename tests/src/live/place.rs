//! A home and a workspace of one run, hosts on them, and what lies there afterwards.

use super::client::{Client, PATIENCE};
use super::processes;
use super::steps;
use super::told::Told;
use placet::log::Header;
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

/// `target/debug`, where the tests were built: they run there or in `deps` below.
fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap();
    let is_below = folder.file_name().is_some_and(|name| name == "deps");
    if is_below { folder.parent().unwrap().to_owned() } else { folder.to_owned() }
}

/// The `placet` binary.
pub fn binary() -> PathBuf {
    let binary = target().join("placet");
    assert!(binary.is_file(), "{} is missing: run `cargo build -p placet`", binary.display());
    binary
}

/// The folder of the components.
pub fn components() -> PathBuf {
    let folder = match std::env::var_os("PLACET_COMPONENTS") {
        Some(named) => PathBuf::from(named),
        None => target().parent().unwrap().join("components"),
    };
    let policy = folder.join("policy.wasm");
    assert!(policy.is_file(), "{} is missing: run `cargo xtask components`", policy.display());
    folder
}

/// A folder with the compiled components, made once: compiling takes seconds.
pub fn warm_cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let home = target().with_file_name("tmp").join("faults-warm");
        let made = Command::new(binary())
            .arg("--components")
            .env("PLACET_HOME", &home)
            .env("PLACET_COMPONENTS", components())
            .output()
            .unwrap();
        assert!(made.status.success(), "placet --components: {made:?}");
        home.join("cache")
    })
}

/// One home with one workspace; its id is in every command that runs there.
pub struct Place {
    root: tempfile::TempDir,
    /// Its id.
    pub id: String,
    /// Supervisors that others have left behind.
    orphans: Vec<u32>,
}

impl Drop for Place {
    fn drop(&mut self) {
        processes::end(&self.id);
    }
}

impl Place {
    /// A fresh one, with the components compiled.
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let id = format!("fault-{}", uuid::Uuid::new_v4());
        let place = Place { root, id, orphans: processes::orphaned_supervisors() };
        std::fs::create_dir(place.workspace()).unwrap();
        std::fs::create_dir_all(place.home().join("cache")).unwrap();
        for entry in std::fs::read_dir(warm_cache()).unwrap() {
            let from = entry.unwrap().path();
            let to = place.home().join("cache").join(from.file_name().unwrap());
            if std::fs::hard_link(&from, &to).is_err() {
                std::fs::copy(&from, &to).unwrap();
            }
        }
        place
    }

    /// The folder of its home.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The folder of its workspace.
    pub fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Waits until nothing is left of the hosts that ended here.
    pub fn no_survivor(&self) {
        processes::no_survivor(&self.id, &self.orphans);
    }

    /// How many times the command has appended its id to its file.
    pub fn runs(&self) -> usize {
        let text = std::fs::read_to_string(self.workspace().join("ran.txt")).unwrap_or_default();
        text.lines().filter(|line| *line == self.id).count()
    }

    /// A host that passed its handshake.
    pub fn host(&self) -> Host {
        let mut host = self.host_with(&[]);
        steps::greet(&mut host.client).unwrap();
        host
    }

    /// A host with more in its environment, before its handshake.
    pub fn host_with(&self, environment: &[(&str, String)]) -> Host {
        let path = self.root.path().join("stderr.txt");
        let errors = OpenOptions::new().create(true).append(true).open(path).unwrap();
        let mut child = Command::new(binary())
            .arg("serve")
            .env("PLACET_HOME", self.home())
            .env("PLACET_COMPONENTS", components())
            .env_remove("PLACET_FAULT_AT")
            .env_remove("PLACET_FAULT_LOG")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let client = Client::new(child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Host { process: Process(child), client }
    }

    /// A connection on the socket of the host that lives, once it has one.
    pub fn connect(&self) -> Option<Client> {
        let sockets = std::fs::read_dir(self.home().join("hosts")).ok()?;
        let mut paths = sockets.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find_map(|path| {
            let is_socket = path.extension().is_some_and(|extension| extension == "sock");
            // Nobody listens on those that killed hosts have left.
            let stream = is_socket.then(|| UnixStream::connect(path).ok()).flatten()?;
            Some(Client::new(stream.try_clone().ok()?, stream))
        })
    }

    /// Leaves the folders behind, for a person who looks at a failure; where they are.
    pub fn keep(&mut self) -> PathBuf {
        self.root.disable_cleanup(true);
        self.root.path().to_owned()
    }

    /// What hosts said on stderr, for a person who looks at a failure.
    pub fn complaints(&self) -> String {
        std::fs::read_to_string(self.root.path().join("stderr.txt")).unwrap_or_default()
    }

    /// The database as a reader sees it, whoever else has it open.
    pub fn database(&self) -> Connection {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(self.home().join("placet.db"), flags).unwrap()
    }

    /// The one session, if it has a row, and its headers.
    pub fn session(&self) -> Option<(String, Vec<Header>)> {
        let db = self.database();
        let sessions: Vec<String> = rows(&db, "SELECT session FROM sessions", |row| row.get(0));
        assert!(sessions.len() < 2, "one session was started, these are there: {sessions:?}");
        let headers = rows(&db, "SELECT header FROM records ORDER BY sequence", |row| {
            row.get::<_, Vec<u8>>(0)
        });
        let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).unwrap();
        Some((sessions.into_iter().next()?, headers.into_iter().map(read).collect()))
    }

    /// Runs `placet log verify` and says what it found wrong.
    pub fn verify(&self, session: &str) -> Option<String> {
        let verified = Command::new(binary())
            .args(["log", "verify", session])
            .env("PLACET_HOME", self.home())
            .output()
            .unwrap();
        (!verified.status.success()).then(|| format!("placet log verify: {verified:?}"))
    }
}

/// All rows of a query.
pub fn rows<T>(
    db: &Connection,
    query: &str,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut statement = db.prepare(query).unwrap();
    statement.query_map([], read).unwrap().map(Result::unwrap).collect()
}

/// A host process and the connection to it.
pub struct Host {
    /// The process.
    pub process: Process,
    /// The connection on its pipes.
    pub client: Client,
}

impl Host {
    /// SIGKILL; what it said before.
    pub fn kill(mut self) -> Told {
        self.process.kill();
        self.end().1
    }

    /// EOF; its exit status and everything it said.
    pub fn close(mut self) -> (ExitStatus, Told) {
        self.client.eof();
        self.end()
    }

    fn end(&mut self) -> (ExitStatus, Told) {
        let Some(status) = self.process.ended() else {
            panic!("the host did not end; frames: {:#?}", self.client.told().frames);
        };
        self.client.join_reader();
        (status, self.client.told())
    }
}

/// The process of a host; it does not outlive this.
pub struct Process(Child);

impl Process {
    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    /// How it ended, if it does so in time.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.0.try_wait().unwrap() {
                Some(status) => return Some(status),
                None if Instant::now() < until => processes::pause(),
                None => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After a failure, so that nothing is left of it; it may have ended long ago.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

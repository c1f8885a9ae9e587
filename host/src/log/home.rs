//! The home folder: where the log lies, which file systems will do, and the locks
//! between the hosts that share it.
//!
//! A host lives as long as it holds an exclusive lock on its own file in `hosts/`.
//! The system drops that lock when the process ends, however it ends, so nobody
//! needs a timer or a process id. Others test it with a *shared* lock, which two
//! testers can hold at once. The lock belongs to the open file: a second open in
//! the same process conflicts as well, so a host never tests its own.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::LogError;

/// File modes: for folders and for files.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// An error of the system about a file.
pub(super) fn cannot_open(path: &Path, error: impl std::fmt::Display) -> LogError {
    LogError::CannotOpen { path: path.display().to_string(), why: error.to_string() }
}

/// A home that was found fit.
#[derive(Clone, Debug)]
pub(super) struct Home {
    root: PathBuf,
}

impl Home {
    /// Checks the home and creates what is missing.
    pub(super) fn prepare(root: &Path) -> Result<Self, LogError> {
        refuse_network(root)?;
        let home = Self { root: root.to_owned() };
        create_folder(root)?;
        refuse_open_to_others(root)?;
        create_folder(&home.hosts())?;
        Ok(home)
    }

    /// A home for reading: nothing is created.
    pub(super) fn existing(root: &Path) -> Result<Self, LogError> {
        refuse_network(root)?;
        let home = Self { root: root.to_owned() };
        match fs::metadata(home.database()) {
            Ok(_) => Ok(home),
            Err(error) => Err(cannot_open(&home.database(), error)),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn database(&self) -> PathBuf {
        self.root.join("placet.db")
    }

    pub(super) fn hosts(&self) -> PathBuf {
        self.root.join("hosts")
    }

    /// The file whose lock serialises commits between processes. SQLite's own
    /// waiting backs off by sleeping; a lock wakes the next one at once.
    pub(super) fn commit_lock(&self) -> Result<File, LogError> {
        open_private(&self.root.join("commit.lock"))
    }

    /// Creates the life of a host. The caller holds the commit lock, so that
    /// nobody sweeps the file away between its creation and its lock.
    pub(super) fn begin_life(&self, host: &str) -> Result<Life, LogError> {
        let path = self.hosts().join(lock_name(host));
        let file = open_private(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Life { file }),
            Err(error) => Err(cannot_open(&path, error)),
        }
    }

    /// Whether another host lives. In doubt it does.
    pub(super) fn is_alive(&self, host: &str) -> bool {
        let file = match File::open(self.hosts().join(lock_name(host))) {
            Ok(file) => file,
            Err(error) => return error.kind() != ErrorKind::NotFound,
        };
        match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        }
    }

    /// The hosts that have a lock file.
    pub(super) fn lock_files(&self) -> Result<Vec<String>, LogError> {
        let folder = self.hosts();
        let mut hosts = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| cannot_open(&folder, error))? {
            let entry = entry.map_err(|error| cannot_open(&folder, error))?;
            if let Some(host) = entry.file_name().to_str().and_then(|n| n.strip_suffix(".lock")) {
                hosts.push(host.to_owned());
            }
        }
        Ok(hosts)
    }

    /// Removes what a dead host left; the caller holds the commit lock.
    pub(super) fn bury(&self, host: &str, socket: Option<&str>) {
        use std::os::unix::fs::FileTypeExt as _;
        // Litter all of it: what cannot be removed the next start tries again. The lock
        // file goes last, by it the next start finds the rest.
        let usual = self.hosts().join(socket_name(host));
        for socket in socket.map(Path::new).into_iter().chain([usual.as_path()]) {
            let ours = socket.starts_with(&self.root)
                && fs::symlink_metadata(socket).is_ok_and(|m| m.file_type().is_socket());
            if ours {
                let _ = fs::remove_file(socket);
            }
        }
        let _ = fs::remove_file(self.hosts().join(lock_name(host)));
    }

    /// Creates the database file, empty, if there is none. SQLite gives its own
    /// files beside it the same mode.
    ///
    /// An existing one is never opened here: closing a descriptor of it would drop
    /// the POSIX locks that SQLite holds on it in this process.
    pub(super) fn touch_database(&self) -> Result<(), LogError> {
        let path = self.database();
        match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot_open(&path, error)),
        }
        for name in ["placet.db", "placet.db-wal", "placet.db-shm", "placet.db-journal"] {
            make_private(&self.root.join(name))?;
        }
        Ok(())
    }

    /// Bytes that are free for us on the disk; `None` when the system does not say.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.root).ok()?;
        stat.f_bavail.checked_mul(stat.f_frsize)
    }
}

/// The life of this host: a lock that is held until the process ends.
#[derive(Debug)]
pub(super) struct Life {
    file: File,
}

impl Drop for Life {
    fn drop(&mut self) {
        // Closing would do, were it not that a child between fork and exec still has
        // a copy of the descriptor; unlocking ends the lock for all copies.
        let _ = self.file.unlock();
    }
}

/// The name of a host's lock file.
pub(super) fn lock_name(host: &str) -> String {
    format!("{host}.lock")
}

/// The name of a host's socket; see [`crate::transport::Socket`].
fn socket_name(host: &str) -> String {
    format!("{host}.sock")
}

fn create_folder(path: &Path) -> Result<(), LogError> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE)))
        .map_err(|error| cannot_open(path, error))
}

/// An existing home keeps its mode (it may be anything, a mistaken `/tmp` too),
/// but one in which others can replace files is refused.
fn refuse_open_to_others(root: &Path) -> Result<(), LogError> {
    let metadata = fs::metadata(root).map_err(|error| cannot_open(root, error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o022 == 0 {
        return Ok(());
    }
    let why = format!("others can write in it (mode {mode:03o}): run `chmod 700` on it");
    Err(cannot_open(root, why))
}

/// Opens a lock file, created for this user only whatever the umask is.
fn open_private(path: &Path) -> Result<File, LogError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)
        .map_err(|error| cannot_open(path, error))?;
    make_private(path)?;
    Ok(file)
}

fn make_private(path: &Path) -> Result<(), LogError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(cannot_open(path, error)),
    };
    if metadata.is_symlink() {
        return Err(cannot_open(path, "it is a symbolic link: replace it by a file"));
    }
    if metadata.permissions().mode() & 0o777 == FILE_MODE {
        return Ok(());
    }
    match fs::set_permissions(path, Permissions::from_mode(FILE_MODE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot_open(path, error)),
        _ => Ok(()),
    }
}

fn refuse_network(root: &Path) -> Result<(), LogError> {
    // A folder that does not exist yet lands where its nearest parent is.
    let there = root.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    let magic = file_system(there).map_err(|error| cannot_open(root, error))?;
    match magic.and_then(network_kind) {
        None => Ok(()),
        Some(kind) => Err(LogError::NetworkFileSystem {
            path: root.display().to_string(),
            kind: kind.to_owned(),
        }),
    }
}

#[cfg(target_os = "linux")]
fn file_system(path: &Path) -> io::Result<Option<i128>> {
    Ok(Some(i128::from(rustix::fs::statfs(path)?.f_type) & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn file_system(_path: &Path) -> io::Result<Option<i128>> {
    Ok(None)
}

/// The name of a network file system by its number in Linux. FUSE is let through:
/// most of it is local, and its locks are the kernel's.
fn network_kind(magic: i128) -> Option<&'static str> {
    match magic {
        0x6969 => Some("nfs"),
        0xFF53_4D42 => Some("cifs"),
        0xFE53_4D42 => Some("smb2"),
        0x517B => Some("smb"),
        0x0102_1997 => Some("9p"),
        0x5346_414F => Some("afs"),
        0x00C3_6400 => Some("ceph"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn network_file_systems_are_known_by_number() {
        assert_eq!(network_kind(0x6969), Some("nfs"));
        assert_eq!(network_kind(0xFF53_4D42), Some("cifs"));
        assert_eq!(network_kind(0xEF53), None, "ext4");
        assert_eq!(network_kind(0x6573_5546), None, "fuse");
    }

    #[test]
    fn folders_and_locks_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::prepare(&folder.path().join("a/b")).unwrap();
        let _lock = home.commit_lock().unwrap();
        let _life = home.begin_life("h").unwrap();
        assert_eq!(mode(home.root()), 0o700);
        assert_eq!(mode(&home.hosts()), 0o700);
        assert_eq!(mode(&home.root().join("commit.lock")), 0o600);
        assert_eq!(mode(&home.hosts().join("h.lock")), 0o600);
    }

    #[test]
    fn a_home_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let error = Home::prepare(folder.path()).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
        assert_eq!(error.exit_code(), 3);
    }

    #[test]
    fn a_life_ends_with_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::prepare(folder.path()).unwrap();
        assert!(!home.is_alive("h"), "it has no file");
        let life = home.begin_life("h").unwrap();
        assert!(home.is_alive("h"));
        drop(life);
        assert!(!home.is_alive("h"), "its lock can be taken");
    }
}

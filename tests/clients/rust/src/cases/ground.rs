//! The ground under every case: expectations, limits, and a fresh home and workspace.

use std::error::Error;
use std::fmt::{Debug, Display};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why a case fails.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a step of a case gives.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// How long a case waits for one frame, one answer or one exit.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Fails unless the condition holds; says what was expected.
pub(crate) fn check(holds: bool, expected: impl Display) -> Outcome {
    if holds { Ok(()) } else { Err(format!("expected {expected}").into()) }
}

/// Fails unless both are equal.
pub(crate) fn equal<T: PartialEq<U> + Debug, U: Debug>(got: T, expected: U, what: &str) -> Outcome {
    check(got == expected, format_args!("{what}: {expected:?}, got {got:?}"))
}

/// Waits for a future, but not for ever.
pub(crate) async fn within<F: Future>(what: &str, future: F) -> Outcome<F::Output> {
    tokio::time::timeout(WAIT, future)
        .await
        .map_err(|_| format!("expected {what} within {} s", WAIT.as_secs()).into())
}

/// A command id, or any other id that must be new.
pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The id under which an approval is asked again after a restart.
pub(crate) fn successor_of(approval: &str) -> Outcome<String> {
    let old = uuid::Uuid::parse_str(approval)?;
    Ok(uuid::Uuid::new_v5(&old, b"placet/successor").to_string())
}

/// What the first host compiled, for the homes of the cases after it.
static COMPILED: Mutex<Option<tempfile::TempDir>> = Mutex::new(None);

fn compiled() -> MutexGuard<'static, Option<tempfile::TempDir>> {
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what was kept for the cases; after the last one.
pub(crate) fn clean() {
    drop(compiled().take());
}

/// Where one case works.
pub(crate) struct Place {
    root: tempfile::TempDir,
    placet: PathBuf,
    examples: PathBuf,
}

impl Place {
    /// A fresh folder with an empty workspace; the first home is left to the host, the
    /// ones after it have the compiled components already.
    pub(crate) fn new(placet: &Path, examples: &Path) -> Outcome<Place> {
        let root = tempfile::Builder::new().prefix("placet-rust-").tempdir()?;
        let place = Place { root, placet: placet.to_path_buf(), examples: examples.to_path_buf() };
        for folder in ["workspace", "bin"] {
            std::fs::create_dir(place.path(folder))?;
        }
        if let Some(compiled) = compiled().as_ref() {
            place.make_home()?;
            copy_files(compiled.path(), &place.home().join("cache"))?;
        }
        Ok(place)
    }

    fn make_home(&self) -> Outcome {
        std::fs::create_dir_all(self.home())?;
        Ok(std::fs::set_permissions(self.home(), std::fs::Permissions::from_mode(0o700))?)
    }

    /// A path below the case's own folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // The host reports real paths.
        let root = self.root.path();
        root.canonicalize().unwrap_or_else(|_| root.to_path_buf()).join(name)
    }

    /// The home of its hosts.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The workspace of its sessions, as the wire has it.
    pub(crate) fn workspace(&self) -> String {
        self.path("workspace").display().to_string()
    }

    /// The lines of a file in the workspace; none where there is no file.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("workspace").join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Writes the home's placet.toml.
    pub(crate) fn configure(&self, text: &str) -> Outcome {
        self.make_home()?;
        Ok(std::fs::write(self.home().join("placet.toml"), text)?)
    }

    /// The program under test.
    pub(crate) fn placet(&self) -> &Path {
        &self.placet
    }

    /// One of the SDK's own examples.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        self.examples.join(name)
    }

    /// A small program in the case's own `bin`; its path.
    pub(crate) fn script(&self, name: &str, body: &str) -> Outcome<PathBuf> {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let cache = self.home().join("cache");
        let mut compiled = compiled();
        if compiled.is_some() || !cache.is_dir() {
            return;
        }
        // Without it the next home is compiled for again, which only takes time.
        if let Ok(kept) = tempfile::tempdir()
            && copy_files(&cache, kept.path()).is_ok()
        {
            *compiled = Some(kept);
        }
    }
}

fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// A word for a shell.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

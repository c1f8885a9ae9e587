//! Where state lives: `$PLACET_HOME`, else the platform's data folder.

use getrandom::fill;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that keys every digest of this home. It is apart from the log, so
/// that a log that is shown to somebody cannot be searched for what it digests.
const KEY_FILE: &str = "home.key";

/// The state folder and its key.
#[derive(Clone, Debug)]
pub struct Home {
    folder: PathBuf,
    key: [u8; 32],
}

impl Home {
    /// Opens the home, making it (0700) where it does not exist.
    ///
    /// # Errors
    /// A sentence when the folder or its key cannot be made or read.
    pub fn open(folder: &Path) -> Result<Home, String> {
        let fail = |what: &str, error: io::Error| {
            format!("{what} {}: {error}; set PLACET_HOME to a folder of your own", folder.display())
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| fail("cannot make the state folder", error))?;
        let folder = folder.canonicalize().map_err(|error| fail("cannot open", error))?;
        let key =
            key(&folder.join(KEY_FILE)).map_err(|error| fail("cannot use the key in", error))?;
        Ok(Home { folder, key })
    }

    /// The folder that `$PLACET_HOME` names, else `placet` in the platform's data folder.
    ///
    /// # Errors
    /// A sentence when neither can be told.
    pub fn default_folder() -> Result<PathBuf, String> {
        if let Some(named) = std::env::var_os("PLACET_HOME").filter(|value| !value.is_empty()) {
            return std::path::absolute(&named)
                .map_err(|error| format!("PLACET_HOME cannot be used: {error}"));
        }
        use etcetera::BaseStrategy;
        let base = etcetera::choose_base_strategy()
            .map_err(|error| format!("cannot tell the data folder: {error}; set PLACET_HOME"))?;
        Ok(base.data_dir().join("placet"))
    }

    /// The folder itself, canonical.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiled components.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// The working folder of a session without a workspace root.
    #[must_use]
    pub fn scratch(&self, session: &str) -> PathBuf {
        self.folder.join("scratch").join(session)
    }

    /// The key of environment digests.
    #[must_use]
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// A digest keyed by this home and by a purpose, as bytes.
    #[must_use]
    pub fn keyed(&self, purpose: &str, text: &[u8]) -> [u8; 32] {
        let mut inner = [0; 32];
        inner.copy_from_slice(&mac(&self.key, purpose.as_bytes()));
        let mut digest = [0; 32];
        digest.copy_from_slice(&mac(&inner, text));
        digest
    }
}

fn mac(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    // The key is 32 bytes, and HMAC takes keys of every length.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(text);
            mac.finalize().into_bytes().into()
        }
        Err(_) => [0; 32],
    }
}

/// Reads the key, making it where there is none. Two hosts that start at once
/// agree: the file is linked into place, and only one link succeeds.
fn key(path: &Path) -> io::Result<[u8; 32]> {
    if let Some(key) = read_key(path)? {
        return Ok(key);
    }
    let mut fresh = [0; 32];
    fill(&mut fresh).map_err(|error| io::Error::other(error.to_string()))?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(&fresh)?;
    file.sync_all()?;
    let linked = fs::hard_link(&part, path);
    fs::remove_file(&part)?;
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    read_key(path)?.ok_or_else(|| io::Error::other("the key vanished while it was made"))
}

fn read_key(path: &Path) -> io::Result<Option<[u8; 32]>> {
    let mut file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut key = [0; 32];
    file.read_exact(&mut key)?;
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::Home;

    #[test]
    fn a_home_keeps_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/anew");
        let first = Home::open(&path).unwrap();
        let second = Home::open(&path).unwrap();
        assert_eq!(first.key(), second.key());
        assert_ne!(first.keyed("a", b"x"), first.keyed("b", b"x"));
        assert_ne!(first.keyed("a", b"x"), first.keyed("a", b"y"));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Home::open(other.path()).unwrap().key(), first.key());
    }
}

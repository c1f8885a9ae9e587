//! Which workspaces' rule files the user trusts, as they were when he said so.
//!
//! A workspace's `placet.toml` comes with what is pulled into it, so trust is in the file's
//! content and not in its path: once it changes it may only narrow again.

use crate::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file in the home.
pub const TRUSTED: &str = "trusted.json";

/// Workspace roots, each with the digest of the rule file that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// Canonical roots and digests.
    pub workspaces: BTreeMap<String, String>,
}

impl Trusted {
    /// Reads what is kept; nothing is trusted where there is no file.
    ///
    /// # Errors
    /// A sentence when the file cannot be read or makes no sense.
    pub fn read(home: &Path) -> Result<Trusted, String> {
        let path = home.join(TRUSTED);
        match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| format!("{}: {error}; remove it to trust nobody", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Trusted::default()),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    /// What a text says; one that makes no sense trusts nobody.
    #[must_use]
    pub fn parse(text: &str) -> Trusted {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Keeps it, whole or not at all.
    ///
    /// # Errors
    /// A sentence when the file cannot be written.
    pub fn write(&self, home: &Path) -> Result<(), String> {
        let (path, part) = (home.join(TRUSTED), home.join(format!("{TRUSTED}.part")));
        let written = || {
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&part)?;
            file.write_all(serde_json::to_string_pretty(self)?.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&part, &path)
        };
        written().map_err(|error: io::Error| format!("cannot write {}: {error}", path.display()))
    }

    /// Whether the rule file of a workspace is still the one that was looked at.
    #[must_use]
    pub fn covers(&self, root: &Path, text: &str) -> bool {
        root.to_str().and_then(|root| self.workspaces.get(root)) == Some(&digest(text))
    }
}

/// The digest of a rule file.
#[must_use]
pub fn digest(text: &str) -> String {
    format!("sha256:{}", hex(&Sha256::digest(text.as_bytes())))
}

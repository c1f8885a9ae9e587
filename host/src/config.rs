//! `placet.toml`: the user's in the home, the workspace's in its root.
//!
//! The workspace's file comes from people that we may not trust, so it can only
//! narrow: it may withhold modes, and have rules that ask or deny. Unknown keys are
//! errors. The rules themselves are read by the policy component; see docs/rules.md.

use crate::engine::MODES;
use crate::limits::{IDLE_UNLOAD_SECONDS_MIN, PROTECTED_ENTRIES_MAX};
use crate::reviewer::Entry;
use serde::{Deserialize, Deserializer};
use std::path::Path;
use std::time::Duration;

/// The fingerprint that the Python SDK 1.4.13 demands of a host.
pub const DEFAULT_FINGERPRINT: &str =
    "sha256:7fddaf646dbc317e5fcac0785e135eb04df14fbb0db1863089dfd6da21730e5b";

/// The file's name in both places.
pub const FILE: &str = "placet.toml";

/// What the user configured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// How the wire is served.
    #[serde(default)]
    pub serve: Serve,
    /// Which modes may be used.
    #[serde(default)]
    pub authority: Authority,
    /// What counts as protected besides the built-in list.
    #[serde(default)]
    pub protected: Protected,
    /// Rules, which the policy component reads.
    #[serde(default, rename = "rule")]
    _rules: Ignored,
    /// Known-safe commands, which it reads as well.
    #[serde(default, rename = "safe")]
    _safe: Ignored,
}

/// What others read.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "serde::de::IgnoredAny")]
struct Ignored;

impl From<serde::de::IgnoredAny> for Ignored {
    fn from(_: serde::de::IgnoredAny) -> Ignored {
        Ignored
    }
}

/// `[serve]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// The schema fingerprint that `initialize` answers with.
    pub fingerprint: Option<String>,
    /// After how many seconds a session is let go that nobody watches and in which
    /// nothing is open; never when absent.
    #[serde(default, deserialize_with = "seconds")]
    pub idle_unload_seconds: Option<u64>,
    /// Whether a host can be reached by `placet pending` and `placet decide`; it can when absent.
    pub socket: Option<bool>,
}

/// `[authority]`
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// The seal of a client that started the host on stdin and stdout; `allowAll` when absent.
    #[serde(default, deserialize_with = "mode")]
    pub stdio: Option<String>,
    /// The seal of who comes by a host's socket; `promptUnmatched` when absent.
    #[serde(default, deserialize_with = "mode")]
    pub socket: Option<String>,
    /// Modes that nobody may select.
    #[serde(default, deserialize_with = "modes")]
    pub withhold: Vec<String>,
}

/// What a workspace may say.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceConfig {
    /// Which modes may be used here.
    #[serde(default)]
    pub authority: WorkspaceAuthority,
    /// What counts as protected here besides what the user's file says.
    #[serde(default)]
    pub protected: Protected,
    /// Rules, which the policy component reads.
    #[serde(default, rename = "rule")]
    _rules: Ignored,
    /// Known-safe commands, which it reads as well.
    #[serde(default, rename = "safe")]
    _safe: Ignored,
}

/// `[authority]` of a workspace.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceAuthority {
    /// Modes that sessions in this workspace may not use.
    #[serde(default, deserialize_with = "modes")]
    pub withhold: Vec<String>,
}

/// `[protected]`: adds to the lists of docs/rules.md, and takes nothing away.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Protected {
    /// Paths that only a person lets anybody write.
    #[serde(default, deserialize_with = "entries")]
    pub paths: Vec<String>,
    /// Paths that hold credentials: what uses them needs a person as well.
    #[serde(default, deserialize_with = "entries")]
    pub credentials: Vec<String>,
}

impl UserConfig {
    /// Reads the user's file; an absent one is the default.
    ///
    /// # Errors
    /// A sentence with file, line and column.
    pub fn read(home: &Path) -> Result<UserConfig, String> {
        read(&home.join(FILE))
    }

    /// The seal of a client that started the host.
    #[must_use]
    pub fn stdio_seal(&self) -> &str {
        self.authority.stdio.as_deref().unwrap_or("allowAll")
    }

    /// After which time an idle session is let go, if ever.
    #[must_use]
    pub fn idle_unload(&self) -> Option<Duration> {
        self.serve.idle_unload_seconds.map(Duration::from_secs)
    }

    /// The seal of who comes by the socket.
    #[must_use]
    pub fn socket_seal(&self) -> &str {
        self.authority.socket.as_deref().unwrap_or("promptUnmatched")
    }

    /// Whether a host opens a socket.
    #[must_use]
    pub fn opens_socket(&self) -> bool {
        self.serve.socket.unwrap_or(true)
    }

    /// The fingerprint to serve.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.serve.fingerprint.as_deref().unwrap_or(DEFAULT_FINGERPRINT)
    }
}

impl WorkspaceConfig {
    /// Reads a workspace's file; an absent one is the default.
    ///
    /// # Errors
    /// A sentence with file, line and column.
    pub fn read(root: &Path) -> Result<WorkspaceConfig, String> {
        read(&root.join(FILE))
    }
}

/// The name of a mode; an error is told with its place in the file.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct ModeName(String);

impl TryFrom<String> for ModeName {
    type Error = String;

    fn try_from(name: String) -> Result<ModeName, String> {
        if MODES.contains(&name.as_str()) {
            return Ok(ModeName(name));
        }
        Err(format!("`{name}` is no mode; use one of {}", MODES.join(", ")))
    }
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let seconds = u64::deserialize(from)?;
    if seconds >= IDLE_UNLOAD_SECONDS_MIN {
        return Ok(Some(seconds));
    }
    let wrong = format!("it must be at least {IDLE_UNLOAD_SECONDS_MIN}; leave it out for never");
    Err(serde::de::Error::custom(wrong))
}

/// An entry of a list; an error is told with its place in the file.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct ListEntry(String);

impl TryFrom<String> for ListEntry {
    type Error = String;

    fn try_from(text: String) -> Result<ListEntry, String> {
        Entry::read(&text, "").map(|entry| ListEntry(entry.text))
    }
}

fn entries<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<ListEntry>::deserialize(from)?;
    if entries.len() > PROTECTED_ENTRIES_MAX {
        let wrong = format!("there are {}, at most {PROTECTED_ENTRIES_MAX} count", entries.len());
        return Err(serde::de::Error::custom(wrong));
    }
    Ok(entries.into_iter().map(|entry| entry.0).collect())
}

fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    ModeName::deserialize(from).map(|name| Some(name.0))
}

fn modes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<ModeName>::deserialize(from)?;
    Ok(names.into_iter().map(|name| name.0).collect())
}

fn read<T: Default + for<'a> Deserialize<'a>>(path: &Path) -> Result<T, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
    };
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{FILE, UserConfig, WorkspaceConfig};

    fn user(text: &str) -> Result<UserConfig, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        UserConfig::read(folder.path())
    }

    #[test]
    fn nothing_is_the_default() {
        let folder = tempfile::tempdir().unwrap();
        let config = UserConfig::read(folder.path()).unwrap();
        assert_eq!((config.stdio_seal(), config.socket_seal()), ("allowAll", "promptUnmatched"));
        assert!(config.opens_socket());
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        let unknown = user("[serve]\nfingerprnt = \"x\"\n").unwrap_err();
        assert!(unknown.contains("fingerprnt") && unknown.contains("line 2"), "{unknown}");
        let mode = user("[authority]\nwithhold = [\"allowall\"]\n").unwrap_err();
        assert!(mode.contains("`allowall` is no mode"), "{mode}");
    }

    #[test]
    fn a_path_that_makes_no_sense_is_told_with_its_place() {
        let wrong = user("[protected]\npaths = [\"deploy\", \"a/../b\"]\n").unwrap_err();
        assert!(wrong.contains("`a/../b`") && wrong.contains("line 2"), "{wrong}");
        let unknown = user("[protected]\npath = []\n").unwrap_err();
        assert!(unknown.contains("`path`") && unknown.contains("line 2"), "{unknown}");
        let many = format!("[protected]\npaths = [{}]\n", "\"x\", ".repeat(257));
        assert!(user(&many).unwrap_err().contains("at most 256"));
    }

    #[test]
    fn a_workspace_cannot_raise_a_seal() {
        let folder = tempfile::tempdir().unwrap();
        for member in ["stdio", "socket"] {
            let text = format!("[authority]\n{member} = \"allowAll\"\n");
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(WorkspaceConfig::read(folder.path()).unwrap_err().contains(member));
        }
    }
}

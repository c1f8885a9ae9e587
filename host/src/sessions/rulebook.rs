//! The texts of the rules in force, and their digest.
//!
//! The files are looked at for every step, so that a change counts from the next one on.
//! Nothing of them is understood here.

use crate::config::FILE;
use crate::engine::types::{RuleLayer, RuleOrigin, RuleSet};
use crate::hex::hex;
use crate::trust::{TRUSTED, Trusted};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The rule files of a home and of workspaces, and what was given for one host's sessions.
pub struct Rulebook {
    home: PathBuf,
    given: Option<PathBuf>,
    /// What each file said, as long as it is the same.
    kept: Mutex<HashMap<PathBuf, (Stamp, Arc<str>)>>,
}

/// What changes with a file.
type Stamp = (u64, u64, u64, i64, i64);

impl Rulebook {
    /// The rule files of a home, and one more that counts for every session here.
    #[must_use]
    pub fn new(home: &Path, given: Option<PathBuf>) -> Rulebook {
        Rulebook { home: home.to_owned(), given, kept: Mutex::default() }
    }

    /// The rules in force for a workspace now. `grants` are the lines that were saved for
    /// it, a layer of their own.
    #[must_use]
    pub fn at(&self, workspace: Option<&Path>, grants: &[String]) -> RuleSet {
        let mut layers = Vec::new();
        let user = self.home.join(FILE);
        if let Some(text) = self.read(&user) {
            layers.push(layer(&user, RuleOrigin::User, &text));
        }
        if let Some(path) = &self.given {
            let missing = || unreadable(path, &io::Error::from(io::ErrorKind::NotFound)).into();
            let text = self.read(path).unwrap_or_else(missing);
            layers.push(layer(path, RuleOrigin::Session, &text));
        }
        if let Some(root) = workspace {
            let path = root.join(FILE);
            if let Some(text) = self.read(&path) {
                let trusted = self.read(&self.home.join(TRUSTED));
                let trusts = trusted.is_some_and(|kept| Trusted::parse(&kept).covers(root, &text));
                let origin =
                    if trusts { RuleOrigin::TrustedWorkspace } else { RuleOrigin::Workspace };
                layers.push(layer(&path, origin, &text));
            }
        }
        if !grants.is_empty() {
            layers.push(layer(Path::new("saved grants"), RuleOrigin::Grants, &grants.join("\n")));
        }
        Rulebook::set(layers)
    }

    /// These layers, and no others.
    #[must_use]
    pub fn set(layers: Vec<RuleLayer>) -> RuleSet {
        RuleSet { digest: digest(&layers), layers }
    }

    /// One file as the user's own, and no others.
    #[must_use]
    pub fn file(path: &Path) -> RuleSet {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| unreadable(path, &error));
        Rulebook::set(vec![layer(path, RuleOrigin::User, &text)])
    }

    /// What a file says; none where there is no file.
    fn read(&self, path: &Path) -> Option<Arc<str>> {
        let stamp = match std::fs::metadata(path) {
            Ok(found) => (found.ino(), found.dev(), found.len(), found.ctime(), found.ctime_nsec()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(unreadable(path, &error).into()),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((held, file)) = kept.get(path)
            && *held == stamp
        {
            return Some(Arc::clone(file));
        }
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let text: Arc<str> = text.into();
                kept.insert(path.to_owned(), (stamp, Arc::clone(&text)));
                Some(text)
            }
            Err(error) => Some(unreadable(path, &error).into()),
        }
    }
}

/// A text that is no rule file and says why: nothing is allowed by rules then.
fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

fn layer(path: &Path, origin: RuleOrigin, text: &str) -> RuleLayer {
    RuleLayer { name: path.to_string_lossy().into_owned(), origin, text: text.to_owned() }
}

/// Of everything that the rules depend on; empty without layers.
fn digest(layers: &[RuleLayer]) -> String {
    if layers.is_empty() {
        return String::new();
    }
    let mut hash = Sha256::new();
    for layer in layers {
        let origin = format!("{:?}", layer.origin);
        for part in [origin.as_str(), &layer.name, &layer.text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
    }
    format!("sha256:{}", hex(&hash.finalize()))
}

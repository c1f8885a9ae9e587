//! The texts of the rules in force for a session, and their digest.
//!
//! The files are looked at for every step, so that a change counts from the next one on.
//! Nothing of them is understood here but which workspaces the user trusts.

use crate::config::{FILE, UserConfig};
use crate::engine::types::{RuleLayer, RuleOrigin, RuleSet};
use crate::hex::hex;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The rule files of a home and of the workspaces of its sessions.
pub struct Rulebook {
    home: PathBuf,
    /// The workspace of each session that was loaded, if it has one.
    workspaces: Mutex<HashMap<String, Option<PathBuf>>>,
    kept: Mutex<HashMap<PathBuf, (Stamp, Arc<str>)>>,
}

/// What changes with a file.
type Stamp = (u64, u64, u64, i64, i64);

impl Rulebook {
    /// The rule files of a home.
    #[must_use]
    pub fn new(home: &Path) -> Rulebook {
        Rulebook { home: home.to_owned(), workspaces: Mutex::default(), kept: Mutex::default() }
    }

    /// Notes where a session works.
    pub(super) fn enter(&self, session: &str, workspace: Option<&str>) {
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        workspaces.insert(session.to_owned(), workspace.map(PathBuf::from));
    }

    /// A session is no longer loaded here.
    pub(super) fn leave(&self, session: &str) {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    /// The rules in force for a session now.
    pub(super) fn of(&self, session: &str) -> RuleSet {
        let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let root = workspaces.get(session).cloned().flatten();
        drop(workspaces);
        self.at(root.as_deref())
    }

    /// The sessions whose rules are others than when this was asked last, with those that
    /// were not known then.
    pub(super) fn changed(&self, seen: &mut HashMap<String, String>) -> Vec<String> {
        let workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions: Vec<(String, Option<PathBuf>)> =
            workspaces.iter().map(|(id, root)| (id.clone(), root.clone())).collect();
        drop(workspaces);
        seen.retain(|session, _| sessions.iter().any(|(id, _)| id == session));
        let mut changed = Vec::new();
        for (session, root) in sessions {
            let digest = self.at(root.as_deref()).digest;
            if seen.insert(session.clone(), digest.clone()) != Some(digest) {
                changed.push(session);
            }
        }
        changed
    }

    /// The rules in force for a workspace now.
    #[must_use]
    pub fn at(&self, workspace: Option<&Path>) -> RuleSet {
        let mut layers = Vec::new();
        let user = self.home.join(FILE);
        let text = self.text(&user);
        let trusted = workspace.is_some_and(|root| {
            text.as_deref().is_some_and(|text| {
                toml::from_str::<UserConfig>(text).is_ok_and(|config| config.trusts(root))
            })
        });
        layers.extend(text.map(|text| layer(&user, RuleOrigin::User, &text)));
        if let Some(root) = workspace {
            let file = root.join(FILE);
            let origin = if trusted { RuleOrigin::TrustedWorkspace } else { RuleOrigin::Workspace };
            layers.extend(self.text(&file).map(|text| layer(&file, origin, &text)));
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
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text.into(),
            Err(error) => unreadable(path, &error),
        };
        Rulebook::set(vec![layer(path, RuleOrigin::User, &text)])
    }

    /// The text of a file; none where there is no file.
    fn text(&self, path: &Path) -> Option<Arc<str>> {
        let stamp = match std::fs::metadata(path) {
            Ok(found) => (found.ino(), found.dev(), found.len(), found.ctime(), found.ctime_nsec()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(unreadable(path, &error)),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((held, text)) = kept.get(path)
            && *held == stamp
        {
            return Some(Arc::clone(text));
        }
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let text: Arc<str> = text.into();
                kept.insert(path.to_owned(), (stamp, Arc::clone(&text)));
                Some(text)
            }
            Err(error) => Some(unreadable(path, &error)),
        }
    }
}

/// A text that is no rule file and says why: nothing is allowed by rules then.
fn unreadable(path: &Path, error: &io::Error) -> Arc<str> {
    format!("cannot read {}: {error}", path.display()).into()
}

fn layer(path: &Path, origin: RuleOrigin, text: &str) -> RuleLayer {
    RuleLayer { name: path.to_string_lossy().into_owned(), origin, text: text.to_owned() }
}

/// Of everything that the rules depend on; empty without layers.
pub(super) fn digest(layers: &[RuleLayer]) -> String {
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

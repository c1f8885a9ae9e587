//! What placet.toml files add to the lists. They are looked at each time facts are taken,
//! like the rules in them.

use super::lists::{Entry, Lists};
use crate::config::Protected;
use serde::Deserialize as _;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What changes with a file.
type Stamp = (u64, u64, u64, i64, i64);

/// What each file added, as long as it is the same.
#[derive(Debug, Default)]
pub(super) struct Extensions(Mutex<HashMap<PathBuf, (Stamp, Arc<Lists>)>>);

impl Extensions {
    /// What a file adds now.
    ///
    /// A file that is no TOML adds what it added before: no rule allows anything then, so
    /// that everything is asked about. One whose `[protected]` makes no sense adds
    /// everything.
    pub(super) fn of(&self, path: &Path) -> Arc<Lists> {
        let stamp = match std::fs::metadata(path) {
            Ok(found) => (found.ino(), found.dev(), found.len(), found.ctime(), found.ctime_nsec()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Arc::default(),
            Err(_) => return Arc::new(everything(path)),
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.get(path).cloned();
        if let Some((held, lists)) = &before
            && *held == stamp
        {
            return Arc::clone(lists);
        }
        let Ok(text) = std::fs::read_to_string(path) else { return Arc::new(everything(path)) };
        let lists = match toml::from_str::<toml::Table>(&text) {
            Ok(table) => Arc::new(added(path, &table)),
            Err(_) => before.map(|(_, lists)| lists).unwrap_or_default(),
        };
        kept.insert(path.to_owned(), (stamp, Arc::clone(&lists)));
        lists
    }
}

fn added(path: &Path, table: &toml::Table) -> Lists {
    let Some(protected) = table.get("protected") else { return Lists::default() };
    match Protected::deserialize(protected.clone()) {
        Ok(protected) => lists(path, &protected),
        Err(_) => everything(path),
    }
}

/// The entries of a file that was read.
fn lists(path: &Path, protected: &Protected) -> Lists {
    let from = path.to_string_lossy();
    let list = |texts: &[String]| -> Result<Vec<Entry>, String> {
        texts.iter().map(|text| Entry::read(text, &from)).collect()
    };
    let read = || -> Result<Lists, String> {
        Ok(Lists { credentials: list(&protected.credentials)?, protected: list(&protected.paths)? })
    };
    read().unwrap_or_else(|_| everything(path))
}

/// Every write needs a person.
fn everything(path: &Path) -> Lists {
    let from = format!("{}, which cannot be read", path.display());
    let all = Entry { text: "*".to_owned(), from, of_user: false, parts: vec!["*".to_owned()] };
    Lists { credentials: Vec::new(), protected: vec![all] }
}

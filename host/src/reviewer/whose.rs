//! Whose a path is: by its names, and by what lies there.

use super::identity::{self, Found, Identity};
use super::lists::{self, Entry, Lists};
use super::{Reviewer, names_on_the_way};
use crate::config::FILE;
use crate::engine::types::PathClass;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What holds for all facts that are taken together.
pub(super) struct Look<'a> {
    reviewer: &'a Reviewer,
    added: Vec<Arc<Lists>>,
    /// The names of Placet's home, and of the folder of the user.
    home: Vec<String>,
    users: Vec<Vec<String>>,
    own: BTreeSet<Identity>,
    others: OnceCell<BTreeMap<Identity, PathClass>>,
}

impl<'a> Look<'a> {
    pub(super) fn new(reviewer: &'a Reviewer) -> Look<'a> {
        let workspace = reviewer.workspace.as_deref();
        let files = [Some(reviewer.own.as_path()), workspace].into_iter().flatten();
        let user = reviewer.user.as_deref();
        let canonical = user.and_then(|user| user.canonicalize().ok());
        let mut users: Vec<_> =
            user.into_iter().chain(canonical.as_deref()).map(lists::names).collect();
        users.dedup();
        Look {
            reviewer,
            added: files.map(|folder| reviewer.extensions.of(&folder.join(FILE))).collect(),
            home: lists::names(&reviewer.own),
            users,
            own: identity::of_home(&reviewer.own, &reviewer.scratch),
            others: OnceCell::new(),
        }
    }

    /// The entries in force, credentials first.
    pub(super) fn listed(&self) -> impl Iterator<Item = (PathClass, &Entry)> {
        let all = || [lists::built_in()].into_iter().chain(self.added.iter().map(Arc::as_ref));
        let credentials = all().flat_map(|lists| &lists.credentials);
        let protected = all().flat_map(|lists| &lists.protected);
        credentials
            .map(|entry| (PathClass::Credential, entry))
            .chain(protected.map(|entry| (PathClass::Protected, entry)))
    }

    /// Whose a path is, as it is, by every name that leads there, and by what lies there:
    /// a folder of settings that is a link stays what it is to the programs that open it.
    pub(super) fn whose(&self, canonical: &Path, wanted: &Path, found: Option<Found>) -> PathClass {
        let mut classes: Vec<PathClass> =
            names_on_the_way(wanted).iter().map(|path| self.by_name(path)).collect();
        classes.push(self.by_name(canonical));
        classes.push(self.by_identity(canonical, found));
        classes.into_iter().max_by_key(weight).unwrap_or(PathClass::PlacetOwn)
    }

    /// Whose a path is by its text.
    fn by_name(&self, path: &Path) -> PathClass {
        if lists::names(path).starts_with(&self.home) {
            // The folders that sessions work in are known by their exact names alone.
            return match path.strip_prefix(&self.reviewer.scratch) {
                // Its own names say nothing; what is put in it does.
                Ok(inside) => self.by_lists(&Path::new("/").join(inside)),
                Err(_) => PathClass::PlacetOwn,
            };
        }
        self.by_lists(path)
    }

    fn by_lists(&self, path: &Path) -> PathClass {
        let all = [lists::built_in()].into_iter().chain(self.added.iter().map(Arc::as_ref));
        let classes = all.map(|lists| lists.class(path, &self.users));
        classes.max_by_key(weight).unwrap_or(PathClass::Credential)
    }

    /// Whose it is by device and inode: another name, or another mount of a folder.
    fn by_identity(&self, canonical: &Path, found: Option<Found>) -> PathClass {
        let found = found.or_else(|| Found::at(canonical));
        let folders = canonical.ancestors().skip(1);
        let folders = folders.take_while(|folder| *folder != self.reviewer.scratch);
        let mut ways = found.into_iter().chain(folders.filter_map(Found::at));
        if ways.any(|way| self.own.contains(&way.identity)) {
            return PathClass::PlacetOwn;
        }
        match (found.filter(|found| found.has_other_names), &self.reviewer.user) {
            (Some(found), Some(user)) => {
                let others = self.others.get_or_init(|| identity::of_user(user, self.listed()));
                others.get(&found.identity).copied().unwrap_or(PathClass::Ordinary)
            }
            _ => PathClass::Ordinary,
        }
    }
}

fn weight(class: &PathClass) -> u8 {
    match class {
        // The second is said of a repository, not of a path.
        PathClass::Ordinary | PathClass::RunsPrograms => 0,
        PathClass::Protected => 1,
        PathClass::Credential => 2,
        PathClass::PlacetOwn => 3,
    }
}

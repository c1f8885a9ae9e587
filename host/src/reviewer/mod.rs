//! The facts about paths: what only the host can look up.
//!
//! Nothing is decided here. A query that cannot be resolved gives no fact, and
//! no fact fails closed in the guest.

mod lists;
mod repository;
mod worktree;

pub use worktree::grants_root;

use crate::engine::types::{PathClass, PathFact, PathQuery};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// What the evaluator asks about the repository that a folder belongs to.
const REPOSITORY: &str = ".git/config";

/// Resolves queries against the file system and against Placet's own folder.
#[derive(Clone, Debug)]
pub struct Reviewer {
    own: PathBuf,
    scratch: PathBuf,
}

impl Reviewer {
    /// A reviewer for a home; its scratch folders are ordinary, everything else in it is Placet's.
    #[must_use]
    pub fn new(home: &Path) -> Reviewer {
        Reviewer { own: home.to_owned(), scratch: home.join("scratch") }
    }

    /// One fact for each query that can be resolved, in the order of the queries.
    #[must_use]
    pub fn facts(&self, queries: Vec<PathQuery>) -> Vec<PathFact> {
        queries.into_iter().filter_map(|query| self.fact(query)).collect()
    }

    fn fact(&self, query: PathQuery) -> Option<PathFact> {
        if query.text.contains('\0') {
            return None;
        }
        let base = Path::new(&query.base);
        if !base.is_absolute() {
            return None;
        }
        if query.text == REPOSITORY && !query.write && repository::runs_programs(base) {
            let canonical = query.base.clone();
            let class = PathClass::RunsPrograms;
            return Some(PathFact { query, canonical, exists: true, linked: false, class });
        }
        let wanted = base.join(&query.text);
        let (canonical, exists) = resolve(&wanted)?;
        let linked = canonical != lexical(&wanted);
        let class = self.worst(&canonical, &wanted);
        let canonical = canonical.to_str()?.to_owned();
        Some(PathFact { query, canonical, exists, linked, class })
    }

    /// Whose a path is, as it is and by every name that leads there: a folder of settings
    /// that is a link stays what it is to the programs that open it.
    #[must_use]
    pub fn worst(&self, canonical: &Path, wanted: &Path) -> PathClass {
        let classes = names_on_the_way(wanted).into_iter().map(|path| self.class(&path));
        let weight = |class: &PathClass| match class {
            // The second is said of a repository, not of a path.
            PathClass::Ordinary | PathClass::RunsPrograms => 0,
            PathClass::Protected => 1,
            PathClass::Credential => 2,
            PathClass::PlacetOwn => 3,
        };
        let worst = classes.max_by_key(weight).unwrap_or(PathClass::Ordinary);
        let own = self.class(canonical);
        if weight(&own) >= weight(&worst) { own } else { worst }
    }

    /// Whose a path is by its text.
    fn class(&self, canonical: &Path) -> PathClass {
        if canonical.starts_with(&self.own) {
            return match canonical.strip_prefix(&self.scratch) {
                // Its own names say nothing; what is put in it does.
                Ok(inside) => listed(&Path::new("/").join(inside)),
                Err(_) => PathClass::PlacetOwn,
            };
        }
        listed(canonical)
    }
}

fn listed(path: &Path) -> PathClass {
    if lists::holds_credentials(path) {
        PathClass::Credential
    } else if lists::is_protected(path) {
        PathClass::Protected
    } else {
        PathClass::Ordinary
    }
}

/// More links than this on one way are a loop.
const LINKS_MAX: usize = 40;

/// A path by its text, and once more for each link that it goes through.
fn names_on_the_way(wanted: &Path) -> Vec<PathBuf> {
    let mut names = vec![lexical(wanted)];
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut rest = parts(wanted);
    let mut done = PathBuf::new();
    while let Some(name) = rest.pop() {
        done.push(&name);
        if name == ".." || name == "." || names.len() > LINKS_MAX {
            done = lexical(&done);
            continue;
        }
        if let Ok(target) = done.read_link() {
            let mut named = done.clone();
            named.extend(rest.iter().rev());
            names.push(lexical(&named));
            done.pop();
            rest.extend(parts(&target));
        }
    }
    names.push(done);
    names
}

/// The canonical path and whether it exists; where it does not, the canonical
/// form of the nearest parent that does, plus the rest.
fn resolve(wanted: &Path) -> Option<(PathBuf, bool)> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut parent = wanted.to_owned();
    loop {
        match parent.canonicalize() {
            Ok(mut found) => {
                let exists = rest.is_empty();
                for name in rest.iter().rev() {
                    found.push(name);
                }
                return Some((lexical(&found), exists));
            }
            Err(error) if may_be_absent(&error) => {
                // A dangling link points somewhere: follow it by hand rather than guess.
                if let Ok(target) = parent.read_link() {
                    let target = parent.parent()?.join(target);
                    return dangling(&target, &rest);
                }
                match parent.components().next_back()? {
                    Component::Normal(name) => rest.push(name.to_owned()),
                    Component::CurDir | Component::ParentDir => {
                        return Some((lexical(wanted), false));
                    }
                    Component::RootDir | Component::Prefix(_) => return None,
                }
                parent.pop();
            }
            Err(_) => return None,
        }
    }
}

/// Where a link that leads nowhere would lead, one level deep; deeper gives no fact.
fn dangling(target: &Path, rest: &[OsString]) -> Option<(PathBuf, bool)> {
    let mut found = target.parent()?.canonicalize().ok()?.join(target.file_name()?);
    if found.is_symlink() {
        return None;
    }
    for name in rest.iter().rev() {
        found.push(name);
    }
    Some((lexical(&found), false))
}

fn may_be_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path without `.` and `..`, by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{PathClass, PathQuery, Reviewer};
    use std::path::Path;

    /// What the reviewer says of `text` in a folder beside a home at `home`.
    fn check(text: &str, prepare: impl Fn(&Path)) -> Option<(String, bool, bool, PathClass)> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("work"));
        std::fs::create_dir_all(home.join("scratch/s")).unwrap();
        std::fs::create_dir_all(&work).unwrap();
        prepare(&root);
        let query = PathQuery {
            text: text.replace("ROOT", root.to_str().unwrap()),
            base: work.to_str().unwrap().to_owned(),
            write: false,
        };
        let fact = Reviewer::new(&home).facts(vec![query]).pop()?;
        let canonical = fact.canonical.replace(root.to_str().unwrap(), "ROOT");
        Some((canonical, fact.exists, fact.linked, fact.class))
    }

    #[test]
    fn paths_are_told_by_where_they_lead() {
        use PathClass::{Credential, Ordinary, PlacetOwn, Protected};
        let nothing = |_: &Path| {};
        let linked = |root: &Path| {
            std::os::unix::fs::symlink(root.join("home"), root.join("work/l")).unwrap();
            std::os::unix::fs::symlink(root.join("home/new"), root.join("work/dangling")).unwrap();
            std::os::unix::fs::symlink("loop", root.join("work/loop")).unwrap();
        };
        let own = |path: &str, exists, link| Some((path.to_owned(), exists, link, PlacetOwn));
        let ordinary = |path: &str, exists| Some((path.to_owned(), exists, false, Ordinary));
        assert_eq!(check("a/b", nothing), ordinary("ROOT/work/a/b", false));
        assert_eq!(check(".", nothing), ordinary("ROOT/work", true));
        assert_eq!(check("../home/placet.db", nothing), own("ROOT/home/placet.db", false, false));
        assert_eq!(check("ROOT/home", nothing), own("ROOT/home", true, false));
        assert_eq!(check("../home/scratch/s/x", nothing), ordinary("ROOT/home/scratch/s/x", false));
        assert_eq!(check("l/placet.db", linked), own("ROOT/home/placet.db", false, true));
        assert_eq!(check("dangling", linked), own("ROOT/home/new", false, true));
        let credential = |path: &str| Some((path.to_owned(), false, false, Credential));
        assert_eq!(check("../.ssh/id", nothing), credential("ROOT/.ssh/id"));
        assert_eq!(check("x/.env", nothing), credential("ROOT/work/x/.env"));
        assert_eq!(check("x.env", nothing), ordinary("ROOT/work/x.env", false));
        assert_eq!(check("/etc/shadow", nothing).map(|fact| fact.3), Some(Credential));
        assert_eq!(check("loop", linked), None);
        let hooked = |root: &Path| {
            std::fs::create_dir_all(root.join("dots/agent/hooks")).unwrap();
            std::os::unix::fs::symlink(root.join("dots/agent"), root.join("work/.claude")).unwrap();
            std::os::unix::fs::symlink(".claude/hooks", root.join("work/h")).unwrap();
            std::os::unix::fs::symlink(root.join("dots"), root.join("work/.ssh")).unwrap();
        };
        let class = |text: &str| check(text, hooked).map(|fact| fact.3);
        assert_eq!(class(".git/hooks/pre-commit"), Some(Protected));
        assert_eq!(class("a/../.git/config"), Some(Protected));
        assert_eq!(class(".claude/settings.json"), Some(Protected));
        assert_eq!(class("h/start"), Some(Protected));
        assert_eq!(class("./h/../x"), Some(Protected));
        assert_eq!(class(".ssh/agent"), Some(Credential));
        assert_eq!(class("../dots/agent"), Some(Ordinary));
        assert_eq!(class("../home/scratch/s/.git/config"), Some(Protected));
        assert_eq!(check("a\0b", nothing), None);
    }
}

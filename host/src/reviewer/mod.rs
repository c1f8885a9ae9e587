//! The facts about paths: what only the host can look up.
//!
//! Nothing is decided here. A query that cannot be resolved gives no fact, and
//! no fact fails closed in the guest.

mod extension;
mod identity;
mod lists;
mod repository;
mod whose;
mod worktree;

pub use identity::Found;
pub use lists::Entry;
pub use worktree::grants_root;

use crate::engine::types::{PathClass, PathFact, PathQuery};
use extension::Extensions;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use whose::Look;

/// What the evaluator asks about the repository that a folder belongs to.
const REPOSITORY: &str = ".git/config";

/// Resolves queries against the file system, the lists and Placet's own folder.
#[derive(Clone, Debug)]
pub struct Reviewer {
    own: PathBuf,
    scratch: PathBuf,
    /// The folder of the user.
    user: Option<PathBuf>,
    workspace: Option<PathBuf>,
    extensions: Arc<Extensions>,
}

impl Reviewer {
    /// A reviewer for a home; its scratch folders are ordinary, everything else in it is Placet's.
    #[must_use]
    pub fn new(home: &Path) -> Reviewer {
        Reviewer {
            own: home.to_owned(),
            scratch: home.join("scratch"),
            user: std::env::var_os("HOME").map(PathBuf::from).filter(|user| user.is_absolute()),
            workspace: None,
            extensions: Arc::default(),
        }
    }

    /// The same for a session in this workspace, whose placet.toml may add to the lists.
    #[must_use]
    pub fn at(&self, workspace: Option<&Path>) -> Reviewer {
        Reviewer { workspace: workspace.map(Path::to_owned), ..self.clone() }
    }

    /// One fact for each query that can be resolved, in the order of the queries.
    #[must_use]
    pub fn facts(&self, queries: Vec<PathQuery>) -> Vec<PathFact> {
        let look = Look::new(self);
        queries.into_iter().filter_map(|query| fact(&look, query)).collect()
    }

    /// Whose a path is, as it is and by every name that leads there. `found` is what lies
    /// there, where it is known better than by the path.
    #[must_use]
    pub fn whose(&self, canonical: &Path, wanted: &Path, found: Option<Found>) -> PathClass {
        Look::new(self).whose(canonical, wanted, found)
    }

    /// The lists in force here: what each entry says of a path, and the entry.
    #[must_use]
    pub fn listed(&self) -> Vec<(PathClass, Entry)> {
        let look = Look::new(self);
        look.listed().map(|(class, entry)| (class, entry.clone())).collect()
    }
}

fn fact(look: &Look<'_>, query: PathQuery) -> Option<PathFact> {
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
    let class = look.whose(&canonical, &wanted, None);
    let canonical = canonical.to_str()?.to_owned();
    Some(PathFact { query, canonical, exists, linked, class })
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
        std::fs::create_dir_all(root.join("user/.config/gh")).unwrap();
        prepare(&root);
        let query = PathQuery {
            text: text.replace("ROOT", root.to_str().unwrap()),
            base: work.to_str().unwrap().to_owned(),
            write: false,
        };
        let reviewer = Reviewer { user: Some(root.join("user")), ..Reviewer::new(&home) };
        let fact = reviewer.at(Some(&work)).facts(vec![query]).pop()?;
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

    /// How a path is classed after some files were made, each with this text, and hard links.
    fn class(text: &str, files: &[(&str, &str)], links: &[(&str, &str)]) -> Option<PathClass> {
        check(text, |root| {
            for (name, text) in files {
                std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
                std::fs::write(root.join(name), text).unwrap();
            }
            for (from, to) in links {
                std::fs::hard_link(root.join(from), root.join(to)).unwrap();
            }
        })
        .map(|fact| fact.3)
    }

    #[test]
    fn the_home_is_known_by_every_spelling() {
        for text in
            ["../HOME/placet.db", "../Home./home.key", "../ho\u{200b}me/x", "../HOME/scratch/s/x"]
        {
            assert_eq!(class(text, &[], &[]), Some(PathClass::PlacetOwn), "{text}");
        }
        assert_eq!(class("../home2/x", &[], &[]), Some(PathClass::Ordinary));
        assert_eq!(class("../home/scratch/s/x", &[], &[]), Some(PathClass::Ordinary));
    }

    #[test]
    fn another_name_of_an_own_file_is_denied_as_well() {
        let files = [("home/placet.db", "log"), ("home/hosts/one.lock", ""), ("work/plain", "")];
        let links = [
            ("home/placet.db", "work/notes"),
            ("home/hosts/one.lock", "home/scratch/s/lock"),
            ("work/plain", "work/other"),
        ];
        let check = |text: &str, class_is| assert_eq!(class(text, &files, &links), Some(class_is));
        check("notes", PathClass::PlacetOwn);
        check("../home/scratch/s/lock", PathClass::PlacetOwn);
        check("other", PathClass::Ordinary);
    }

    #[test]
    fn another_name_of_a_listed_file_of_the_user_is_the_same() {
        let files = [
            ("user/.Bashrc", ""),
            ("user/.config/gh/hosts.yml", ""),
            ("user/.ssh/deep/key", ""),
            ("user/notes", ""),
            ("user/vault/box", ""),
            ("work/placet.toml", "[protected]\ncredentials = [\"~/vault\"]\n"),
        ];
        let links = [
            ("user/.Bashrc", "work/a"),
            ("user/.config/gh/hosts.yml", "work/b"),
            ("user/.ssh/deep/key", "work/c"),
            ("user/notes", "work/d"),
            ("user/vault/box", "work/e"),
        ];
        let check = |text: &str, class_is| assert_eq!(class(text, &files, &links), Some(class_is));
        check("a", PathClass::Protected);
        check("b", PathClass::Credential);
        check("c", PathClass::Credential);
        check("d", PathClass::Ordinary);
        check("e", PathClass::Credential);
    }

    #[test]
    fn files_add_to_the_lists_and_take_nothing_away() {
        let user = "[protected]\npaths = [\"deploy\", \"*.pem\"]\ncredentials = [\"~/box\"]\n";
        let here = "[protected]\npaths = [\"/etc/motd\", \"Makefile\"]\n";
        let files = [("home/placet.toml", user), ("work/placet.toml", here)];
        let check = |text: &str, class_is| {
            assert_eq!(class(text, &files, &[]), Some(class_is), "{text}");
        };
        check("deploy/now.sh", PathClass::Protected);
        check("x/DEPLOY", PathClass::Protected);
        check("site.pem", PathClass::Protected);
        check("makefile", PathClass::Protected);
        check("/etc/motd", PathClass::Protected);
        check("../user/box/x", PathClass::Credential);
        check("box/x", PathClass::Ordinary);
        check(".git/config", PathClass::Protected);
        check("x.pem2", PathClass::Ordinary);
    }

    #[test]
    fn an_addition_that_makes_no_sense_protects_everything() {
        let check = |text: &str, class_is| {
            let files = [("work/placet.toml", text)];
            assert_eq!(class("plain", &files, &[]), Some(class_is), "{text}");
        };
        check("[protected]\npaths = 3\n", PathClass::Protected);
        check("[protected]\npath = []\n", PathClass::Protected);
        check("[protected]\npaths = [\"a/../b\"]\n", PathClass::Protected);
        check("protected = 1\n", PathClass::Protected);
        check("[protected]\n", PathClass::Ordinary);
        // Nothing is allowed by rules then.
        check("[protected\n", PathClass::Ordinary);
    }
}

//! Rules for files and for Unix sockets: a path as it was typed, and as it really is.

use super::glob::{Base, Glob, folded};
use super::index::{Field, Index, Key};
use super::{Effect, PathSubject};
use core::fmt;

/// Which kind of access a file rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Both,
}

impl Access {
    fn includes(self, write: bool) -> bool {
        match self {
            Access::Read => !write,
            Access::Write => write,
            Access::Both => true,
        }
    }
}

/// What a file rule matches; sockets have no kind of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) globs: Vec<Glob>,
    pub(crate) access: Access,
}

/// What a path is of, for the index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    File,
    Socket,
}

impl Sort {
    fn field(self, base: Base) -> Field {
        match (self, base) {
            (Sort::File, Base::Workspace) => Field::WorkspacePath,
            (Sort::File, Base::Home) => Field::HomePath,
            (Sort::File, Base::Root) => Field::RootPath,
            (Sort::Socket, Base::Workspace) => Field::WorkspaceSocket,
            (Sort::Socket, Base::Home) => Field::HomeSocket,
            (Sort::Socket, Base::Root) => Field::RootSocket,
        }
    }
}

/// Whether an index holds rules about paths of a sort.
pub(crate) fn known(sort: Sort, index: &Index) -> bool {
    index.has(&BASES.map(|base| sort.field(base)))
}

const BASES: [Base; 3] = [Base::Workspace, Base::Home, Base::Root];

/// Adds the keys of a list of patterns.
pub(crate) fn keys(sort: Sort, globs: &[Glob], keys: &mut Vec<Key>) {
    for glob in globs {
        let field = sort.field(glob.base);
        keys.extend(glob.prefixes().map(|(prefix, whole)| {
            let text = fold(&prefix);
            if whole { Key::whole(field, text) } else { Key::open(field, text) }
        }));
    }
}

/// Adds the rules whose patterns may match a subject.
pub(crate) fn find(sort: Sort, index: &Index, subject: &PathSubject<'_>, found: &mut Vec<u32>) {
    // Rules for the whole kind, whatever the path is.
    index.find(sort.field(Base::Root), "", found);
    for base in BASES.into_iter().filter(|base| index.has(&[sort.field(*base)])) {
        let canonical = below(base, subject.canonical, subject);
        let typed = below(base, subject.typed, subject).filter(|path| Some(*path) != canonical);
        for path in [canonical, typed].into_iter().flatten() {
            index.find(sort.field(base), &fold(path), found);
        }
    }
}

/// The part of an absolute path below a base, without slashes at its ends.
fn below<'a>(base: Base, path: &'a str, subject: &PathSubject<'_>) -> Option<&'a str> {
    let folder = match base {
        Base::Workspace => subject.places.workspace?,
        Base::Home => subject.places.home?,
        Base::Root => "/",
    };
    let folder = folder.trim_end_matches('/');
    let same = |a: &str, b: &str| a == b || (subject.insensitive && fold(a) == fold(b));
    let head = path.get(..folder.len()).filter(|head| same(head, folder))?;
    let rest = path.get(head.len()..)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(folded).collect()
}

fn one(globs: &[Glob], effect: Effect, path: &str, subject: &PathSubject<'_>) -> bool {
    globs.iter().any(|glob| {
        below(glob.base, path, subject)
            .is_some_and(|path| glob.matches(path, subject.insensitive, effect != Effect::Allow))
    })
}

/// Whether patterns match a subject. What refuses goes by either path; what allows
/// must hold for both, since the two differ only where a link leads elsewhere.
pub(crate) fn matches(globs: &[Glob], effect: Effect, subject: &PathSubject<'_>) -> bool {
    let matched = |path: &str| one(globs, effect, path, subject);
    let plain = |path: &str| path.starts_with('/') && path.split('/').all(|part| part != "..");
    match effect {
        Effect::Allow => {
            [subject.canonical, subject.typed].into_iter().all(|path| plain(path) && matched(path))
        }
        Effect::Ask | Effect::Deny => matched(subject.canonical) || matched(subject.typed),
    }
}

impl File {
    pub(crate) fn matches(&self, effect: Effect, subject: &PathSubject<'_>) -> bool {
        self.access.includes(subject.write) && matches(&self.globs, effect, subject)
    }

    /// Whether everything that the other rule matches is matched by this one.
    pub(crate) fn covers(&self, other: &File) -> bool {
        (self.access == Access::Both || self.access == other.access)
            && all_covered(&self.globs, &other.globs)
    }
}

/// Whether each of their patterns is covered by one of ours.
pub(crate) fn all_covered(mine: &[Glob], theirs: &[Glob]) -> bool {
    theirs.iter().all(|glob| mine.iter().any(|wider| wider.covers(glob)))
}

/// Patterns, as a person reads them.
pub(crate) fn listed(globs: &[Glob]) -> String {
    globs.iter().map(Glob::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Both => "read and write",
        };
        write!(f, "{access} {}", listed(&self.globs))
    }
}

//! What a file is whatever it is called: another name of one of Placet's own files, or of
//! a listed file in the user's own folder.

use super::lists::{Entry, fits, folded};
use crate::engine::types::PathClass;
use crate::limits::LISTED_FILES_LOOKED_AT_MAX;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// What lies at a path.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub(super) identity: Identity,
    /// Whether it is a regular file with further names.
    pub(super) has_other_names: bool,
}

impl Found {
    /// At a path that goes through no link.
    pub(super) fn at(path: &Path) -> Option<Found> {
        std::fs::symlink_metadata(path).ok().map(|found| Found::of(&found))
    }

    fn of(found: &Metadata) -> Found {
        Found {
            identity: (found.dev(), found.ino()),
            has_other_names: found.is_file() && found.nlink() > 1,
        }
    }

    /// What a handle names.
    #[must_use]
    pub fn behind(handle: &impl std::os::fd::AsFd) -> Option<Found> {
        use rustix::fs::{FileType, fstat};
        let found = fstat(handle).ok()?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        Some(Found {
            identity: (found.st_dev, found.st_ino),
            has_other_names: is_file && found.st_nlink > 1,
        })
    }
}

/// Everything in Placet's home, one folder deep, but for what sessions work in.
pub(super) fn of_home(home: &Path, scratch: &Path) -> BTreeSet<Identity> {
    let mut own = BTreeSet::new();
    let mut add = |path: &Path| Found::at(path).is_some_and(|found| own.insert(found.identity));
    add(home);
    for path in entries(home).into_iter().filter(|path| path != scratch) {
        add(&path);
        for below in entries(&path) {
            add(&below);
        }
    }
    own
}

/// Listed files in the user's own folder that have further names. So many are looked at
/// and no more; credentials come first.
pub(super) fn of_user<'a>(
    user: &Path,
    lists: impl Iterator<Item = (PathClass, &'a Entry)>,
) -> BTreeMap<Identity, PathClass> {
    let mut found = BTreeMap::new();
    let mut left = LISTED_FILES_LOOKED_AT_MAX;
    let mut folders = BTreeMap::new();
    for (class, entry) in lists {
        for path in places(user, entry, &mut folders) {
            look(&path, class, &mut left, &mut found, true);
        }
    }
    found
}

/// What an entry names in a folder.
fn places(
    folder: &Path,
    entry: &Entry,
    folders: &mut BTreeMap<PathBuf, Vec<(String, PathBuf)>>,
) -> Vec<PathBuf> {
    let mut places = vec![folder.to_owned()];
    for part in &entry.parts {
        let mut next = Vec::new();
        for place in places {
            let held = folders.entry(place).or_insert_with_key(|place| {
                let name = |path: &PathBuf| {
                    folded(&path.file_name().unwrap_or_default().to_string_lossy())
                };
                entries(place).into_iter().map(|path| (name(&path), path)).collect()
            });
            next.extend(held.iter().filter(|(name, _)| fits(name, part)).map(|(_, p)| p.clone()));
        }
        places = next;
    }
    places
}

/// A listed file, or whatever lies below a listed folder. Only the entry itself may be a link.
fn look(
    path: &Path,
    class: PathClass,
    left: &mut usize,
    found: &mut BTreeMap<Identity, PathClass>,
    follow: bool,
) {
    let mut stack = vec![(path.to_owned(), follow)];
    while let Some((path, follow)) = stack.pop() {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let metadata = if follow { path.metadata() } else { path.symlink_metadata() };
        let Ok(metadata) = metadata else { continue };
        if metadata.is_dir() {
            stack.extend(entries(&path).into_iter().map(|path| (path, false)));
        } else {
            let file = Found::of(&metadata);
            if file.has_other_names {
                found.entry(file.identity).or_insert(class);
            }
        }
    }
}

/// What a folder holds, as far as it can be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(folder) else { return Vec::new() };
    read.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}

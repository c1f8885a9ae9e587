//! `read_file` and `write_file`: facts from a handle, and the work on the same handle.
//!
//! The handle names a file without having opened it for anything (`O_PATH`), so that
//! looking changes nothing. What is then read or written is this file, wherever its
//! name leads by that time.

use crate::engine::types::{Action, PathFact, PathQuery};
use crate::limits;
use crate::reviewer::{Found, Reviewer};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use serde::Deserialize;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The tools that work on files.
pub const FILE_TOOLS: [&str; 2] = ["read_file", "write_file"];

/// A file, or the place where it will be.
#[derive(Debug)]
pub enum FileHandle {
    /// It exists.
    Existing(OwnedFd),
    /// It does not: its folder and its name.
    New(OwnedFd, OsString),
}

/// What is to be done with a file.
#[derive(Debug, PartialEq, Eq)]
pub enum FileWork {
    /// Read it.
    Read,
    /// Write it: none creates it where it is missing and leaves it as it is otherwise.
    Write {
        /// The new content.
        content: Option<String>,
        /// Whether it goes behind the old one.
        append: bool,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    #[serde(rename = "path")]
    _path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArgs {
    #[serde(rename = "path")]
    _path: String,
    content: Option<String>,
    #[serde(default)]
    append: bool,
}

/// What an action of a file tool stands for.
pub(super) fn work(action: &Action) -> Result<FileWork, String> {
    let wrong = |error: serde_json::Error| format!("the arguments cannot be read: {error}");
    if action.tool_name == "read_file" {
        let ReadArgs { .. } = serde_json::from_str(&action.raw_args).map_err(wrong)?;
        return Ok(FileWork::Read);
    }
    let args: WriteArgs = serde_json::from_str(&action.raw_args).map_err(wrong)?;
    Ok(FileWork::Write { content: args.content, append: args.append })
}

impl FileHandle {
    /// Finds the file of a query, and says of what was found, by the handle, what the
    /// reviewer says of paths. None where it cannot be told, and then nothing is done.
    #[must_use]
    pub fn open(reviewer: &Reviewer, query: PathQuery) -> Option<(FileHandle, PathFact)> {
        let mut fact = reviewer.facts(vec![query]).pop()?;
        let wanted = PathBuf::from(&fact.canonical);
        let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (handle, real) = if fact.exists {
            let file = openat(CWD, &wanted, look, Mode::empty()).ok()?;
            let real = real_path(&file)?;
            (FileHandle::Existing(file), real)
        } else {
            let (folder, name) = (wanted.parent()?, wanted.file_name()?.to_owned());
            let folder = openat(CWD, folder, look | OFlags::DIRECTORY, Mode::empty()).ok()?;
            let real = real_path(&folder)?.join(&name);
            (FileHandle::New(folder, name), real)
        };
        let named = Path::new(&fact.query.base).join(&fact.query.text);
        let found = match &handle {
            FileHandle::Existing(file) => Some(Found::behind(file)?),
            FileHandle::New(..) => None,
        };
        fact.class = reviewer.whose(&real, &named, found);
        fact.canonical = real.to_str()?.to_owned();
        Some((handle, fact))
    }

    /// Does the work: what it has to say, and whether that was cut.
    ///
    /// # Errors
    /// A sentence.
    pub fn perform(self, work: FileWork) -> Result<(String, bool), String> {
        match work {
            FileWork::Read => self.read(),
            FileWork::Write { content, append } => self.write(content.as_deref(), append),
        }
    }

    fn read(self) -> Result<(String, bool), String> {
        let FileHandle::Existing(file) = self else {
            return Err("there is no such file".to_owned());
        };
        let file = reopen(&file, OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(limits::EXEC_OUTPUT_BYTES_MAX).unwrap_or(u64::MAX);
        file.take(most.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        let cut = bytes.len() > limits::EXEC_OUTPUT_BYTES_MAX;
        bytes.truncate(limits::EXEC_OUTPUT_BYTES_MAX);
        Ok((String::from_utf8_lossy(&bytes).into_owned(), cut))
    }

    fn write(self, content: Option<&str>, append: bool) -> Result<(String, bool), String> {
        let mut file = match self {
            FileHandle::Existing(file) => reopen(&file, OFlags::WRONLY)?,
            FileHandle::New(folder, name) => {
                let create = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                openat(folder, name, create, Mode::from_raw_mode(0o666))
                    .map(File::from)
                    .map_err(|error| error.to_string())?
            }
        };
        let Some(content) = content else {
            return Ok(("nothing written\n".to_owned(), false));
        };
        let written = if append {
            rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).map(drop)
        } else {
            rustix::fs::ftruncate(&file, 0)
        };
        written.map_err(|error| error.to_string())?;
        file.write_all(content.as_bytes()).map_err(|error| error.to_string())?;
        Ok((format!("{} bytes written\n", content.len()), false))
    }
}

/// Where a handle's file is now.
fn real_path(handle: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(in_proc(handle)).ok()
}

fn in_proc(handle: &impl AsFd) -> PathBuf {
    Path::new("/proc/self/fd").join(handle.as_fd().as_raw_fd().to_string())
}

/// Opens exactly the file of a handle; only a plain file is read or written.
fn reopen(handle: &OwnedFd, how: OFlags) -> Result<File, String> {
    let found = fstat(handle).map_err(|error| error.to_string())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err("it is no plain file".to_owned());
    }
    let flags = how | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(CWD, in_proc(handle), flags, Mode::empty())
        .map(File::from)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{FileHandle, FileWork};
    use crate::engine::types::PathQuery;
    use crate::reviewer::Reviewer;
    use std::path::Path;

    fn open(folder: &Path, text: &str) -> Option<(FileHandle, String)> {
        let base = folder.to_str().unwrap().to_owned();
        let query = PathQuery { text: text.to_owned(), base, write: true };
        let reviewer = Reviewer::new(&folder.join("home"));
        FileHandle::open(&reviewer, query).map(|(handle, fact)| (handle, fact.canonical))
    }

    fn write(content: &str) -> FileWork {
        FileWork::Write { content: Some(content.to_owned()), append: false }
    }

    #[test]
    fn what_was_looked_at_is_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (file, other) = (root.join("a"), root.join("b"));
        std::fs::write(&file, "old").unwrap();
        std::fs::write(&other, "other").unwrap();
        let (handle, canonical) = open(&root, "./a").unwrap();
        assert_eq!(Path::new(&canonical), file);
        // The name leads elsewhere by now.
        std::fs::rename(&file, root.join("moved")).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        handle.perform(write("new")).unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(std::fs::read_to_string(root.join("moved")).unwrap(), "new");
    }

    #[test]
    fn a_new_file_is_created_once_and_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (handle, canonical) = open(&root, "new").unwrap();
        assert_eq!(Path::new(&canonical), root.join("new"));
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("new")).unwrap();
        assert!(handle.perform(write("x")).is_err());
        assert!(!root.join("elsewhere").exists());
        assert!(open(&root, "none/here").is_none());
        let (handle, _) = open(&root, "other").unwrap();
        handle.perform(FileWork::Write { content: None, append: false }).unwrap();
        assert_eq!(std::fs::read_to_string(root.join("other")).unwrap(), "");
    }

    #[test]
    fn only_plain_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::write(root.join("a"), b"a\xff").unwrap();
        let (handle, _) = open(&root, "a").unwrap();
        assert_eq!(handle.perform(FileWork::Read).unwrap(), ("a\u{fffd}".to_owned(), false));
        let (handle, _) = open(&root, ".").unwrap();
        assert!(handle.perform(FileWork::Read).is_err());
        let (handle, _) = open(&root, "missing").unwrap();
        assert!(handle.perform(FileWork::Read).is_err());
    }
}

//! Whether the configuration of a repository makes git run programs while it only reads.
//!
//! A repository may come from anybody, and git does what its configuration says: with
//! `core.fsmonitor` even `git status` runs a command. The user's own configuration is the
//! user's own; it is not looked at.

use std::path::{Path, PathBuf};

/// Bytes of a configuration that are read; a longer one counts as running programs.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;

/// Keys whose value is a program or names a file with more of them, as `section.key`.
const KEYS: [&str; 15] = [
    "core.askpass",
    "core.attributesfile",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "core.worktree",
    "credential.helper",
    "gpg.program",
    "include.path",
    "interactive.difffilter",
    "sequence.editor",
    "uploadpack.packobjectshook",
];

/// Sections that define programs under names of their own.
const SECTIONS: [&str; 9] =
    ["alias", "diff", "difftool", "filter", "gpg", "includeif", "merge", "mergetool", "pager"];

/// Keys of these sections that hold no program.
const HARMLESS: [&str; 11] = [
    "algorithm",
    "colormoved",
    "conflictstyle",
    "context",
    "ff",
    "mnemonicprefix",
    "noprefix",
    "renames",
    "submodule",
    "tool",
    "wserrorhighlight",
];

/// Whether the repository that a folder belongs to has such a configuration. A folder of
/// no repository has none; one that cannot be read has.
pub(super) fn runs_programs(folder: &Path) -> bool {
    folder.ancestors().find_map(configurations).is_some_and(|files| {
        files.iter().any(|file| match std::fs::metadata(file) {
            Ok(found) if found.len() > CONFIG_BYTES_MAX => true,
            Ok(_) => std::fs::read_to_string(file).map_or(true, |text| names_programs(&text)),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        })
    })
}

/// The configuration files of the repository that begins at a folder, if one does.
fn configurations(folder: &Path) -> Option<Vec<PathBuf>> {
    let git = folder.join(".git");
    let own = match std::fs::symlink_metadata(&git) {
        Ok(found) if found.is_dir() => git,
        Ok(_) => {
            // A worktree or submodule names its folder; what cannot be followed counts as
            // running programs, by a name that cannot be read.
            let text = std::fs::read_to_string(&git).unwrap_or_default();
            match text.strip_prefix("gitdir:") {
                Some(path) => folder.join(path.trim()),
                None => return Some(vec![git.join("config")]),
            }
        }
        // A bare repository is one too.
        Err(_) if folder.join("HEAD").is_file() && folder.join("objects").is_dir() => {
            folder.to_owned()
        }
        Err(_) => return None,
    };
    let common = std::fs::read_to_string(own.join("commondir"))
        .map_or_else(|_| own.clone(), |path| own.join(path.trim()));
    Some(vec![common.join("config"), own.join("config"), own.join("config.worktree")])
}

/// Whether a configuration text sets such a key. It is read loosely: what looks like one is.
fn names_programs(text: &str) -> bool {
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((head, after)) = rest.split_once(']') else { return true };
            let name = head.split([' ', '.', '"', '\t']).next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim().to_ascii_lowercase();
        if SECTIONS.contains(&section.as_str()) && !HARMLESS.contains(&key.as_str()) {
            return true;
        }
        // On and off are answers, anything else is a command.
        let switch =
            matches!(value.as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "1" | "0");
        let full = format!("{section}.{key}");
        if KEYS.contains(&full.as_str()) && !(full == "core.fsmonitor" && switch) {
            return true;
        }
        // A remote may be reached by a program of the configuration's choice.
        if key.ends_with("command")
            || matches!(key.as_str(), "uploadpack" | "receivepack" | "vcs" | "proxycommand")
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{names_programs, runs_programs};

    #[test]
    fn what_a_configuration_runs_is_found() {
        for (text, runs) in [
            ("[core]\n\tbare = false\n\tfilemode = true\n", false),
            (
                "[remote \"origin\"]\n\turl = x\n[branch \"main\"]\n\tmerge = refs/heads/main\n",
                false,
            ),
            ("[core]\n\tfsmonitor = true\n", false),
            ("[core]\n\tfsmonitor = ./x.sh\n", true),
            ("[CORE] fsMonitor=x", true),
            ("[core]\npager = less\n", true),
            ("[diff]\n\talgorithm = histogram\n", false),
            ("[diff]\n\texternal = x\n", true),
            ("[diff \"png\"]\n\ttextconv = x\n", true),
            ("[filter \"lfs\"]\n\tclean = x\n", true),
            ("[alias]\n\tst = !x\n", true),
            ("[include]\n\tpath = ../x\n", true),
            ("[remote \"o\"]\n\tuploadpack = x\n", true),
            ("[core\nx", true),
            ("; [core] pager = x\n", false),
        ] {
            assert_eq!(names_programs(text), runs, "{text:?}");
        }
    }

    #[test]
    fn the_repository_of_a_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert!(!runs_programs(&inner));
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        assert!(!runs_programs(&inner));
        std::fs::write(folder.path().join(".git/config"), "[core]\nfsmonitor = x").unwrap();
        assert!(runs_programs(&inner));
        std::fs::write(inner.join(".git"), "no link").unwrap();
        assert!(runs_programs(&inner));
    }
}

//! Where grants of a workspace count: once for all worktrees of a repository.
//!
//! A linked worktree has a *file* `.git` that names an entry in its repository. Anybody
//! can write such a file, so it is believed only where the entry, which lies in the
//! repository, points back at this workspace.

use std::path::{Path, PathBuf};

/// Bytes of git's own small files that are read.
const GIT_FILE_BYTES_MAX: u64 = 16 * 1024;

/// The root for the grants of a canonical workspace root: the folder that holds the
/// repository where the workspace is a worktree of one, else the workspace itself.
#[must_use]
pub fn grants_root(workspace: &Path) -> PathBuf {
    repository(workspace).unwrap_or_else(|| workspace.to_owned())
}

/// The repository of a linked worktree, if it says so too.
fn repository(workspace: &Path) -> Option<PathBuf> {
    let link = workspace.join(".git");
    let entry = workspace.join(text(&link)?.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let common = entry.join(text(&entry.join("commondir"))?).canonicalize().ok()?;
    // A `commondir` may name anything; where the entry lies cannot be made up from outside.
    if entry.parent()? != common.join("worktrees") {
        return None;
    }
    let back = entry.join(text(&entry.join("gitdir"))?);
    if back.parent()?.canonicalize().ok()? != workspace || back.file_name()? != ".git" {
        return None;
    }
    // A repository without a worktree of its own is its own folder: what lies beside it
    // belongs to others.
    match common.file_name()?.to_str() {
        Some(".git") => common.parent().map(Path::to_owned),
        _ => Some(common),
    }
}

/// The one line of a small file of git's; no links are followed to it.
fn text(path: &Path) -> Option<String> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > GIT_FILE_BYTES_MAX {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    (!line.is_empty() && !line.contains('\n')).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::grants_root;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    fn git(folder: &Path, words: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words);
        // Whatever the machine has configured is not what is tested.
        command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A folder with the repository `repo` and its worktree `tree`.
    fn worktree() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, &["init", "-q", "repo"]);
        git(&root.join("repo"), &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&root.join("repo"), &["worktree", "add", "-q", "../tree"]);
        (folder, root)
    }

    fn check(root: &Path, workspace: &str, wanted: &str) {
        let found = grants_root(&root.join(workspace));
        assert_eq!(found, root.join(wanted), "{workspace}");
    }

    #[test]
    fn every_worktree_shares_its_repositorys_root() {
        let (_folder, root) = worktree();
        check(&root, "repo", "repo");
        check(&root, "tree", "repo");
        git(&root.join("tree"), &["worktree", "add", "-q", "--detach", "../repo/inside"]);
        check(&root, "repo/inside", "repo");
        git(&root, &["clone", "-q", "repo", "clone"]);
        check(&root, "clone", "clone");
        std::fs::create_dir(root.join("tree/sub")).unwrap();
        check(&root, "tree/sub", "tree/sub");
        check(&root, "plain", "plain");
    }

    #[test]
    fn a_repository_without_a_worktree_is_its_own_root() {
        let (_folder, root) = worktree();
        git(&root, &["clone", "-q", "--bare", "repo", "bare.git"]);
        git(&root.join("bare.git"), &["worktree", "add", "-q", "../of-bare"]);
        check(&root, "of-bare", "bare.git");
    }

    #[test]
    fn a_forged_link_has_its_own_root() {
        let (_folder, root) = worktree();
        let entry = root.join("repo/.git/worktrees/tree");
        let forged = |name: &str, line: &str| {
            std::fs::create_dir_all(root.join(name)).unwrap();
            std::fs::write(root.join(name).join(".git"), line).unwrap();
            check(&root, name, name);
        };
        // Another one's entry, the repository itself, a module of it, nothing, no line.
        forged("a", &format!("gitdir: {}\n", entry.display()));
        forged("b", "gitdir: ../repo/.git\n");
        forged("c", "gitdir: ../nowhere\n");
        forged("d", "");
        forged("e", "gitdir: \n");
        // An entry of its own making that claims the repository as its common folder.
        let made = root.join("f/made/worktrees/f");
        std::fs::create_dir_all(&made).unwrap();
        std::fs::write(made.join("commondir"), root.join("repo/.git").to_str().unwrap()).unwrap();
        std::fs::write(made.join("gitdir"), root.join("f/.git").to_str().unwrap()).unwrap();
        forged("f", "gitdir: made/worktrees/f\n");
        // The same with a link in place of the folder.
        std::fs::create_dir_all(root.join("g/made")).unwrap();
        let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
        link(root.join("repo/.git/worktrees"), root.join("g/made/worktrees")).unwrap();
        forged("g", "gitdir: made/worktrees/tree\n");
        // A link in place of the file.
        std::fs::create_dir(root.join("h")).unwrap();
        link(root.join("tree/.git"), root.join("h/.git")).unwrap();
        check(&root, "h", "h");
        // A worktree that was moved away by hand is no longer pointed at.
        std::fs::rename(root.join("tree"), root.join("moved")).unwrap();
        check(&root, "moved", "moved");
    }
}

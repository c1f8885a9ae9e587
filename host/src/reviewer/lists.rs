//! Which paths hold credentials, and which are protected from writes: by their names.
//!
//! What counts everywhere stands in `host/protected.toml`, which is part of the program;
//! a placet.toml may add to it. What must be wide enough decides here, not what is nice
//! to write.

use crate::engine::types::PathClass;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::LazyLock;

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The entry as it was written.
    pub text: String,
    /// Where it is from.
    pub from: String,
    /// Whether it begins in the user's own folder.
    pub(super) of_user: bool,
    /// Names as they are compared, one below the other; the root is an empty one.
    pub(super) parts: Vec<String>,
}

/// What holds credentials, and what is protected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lists {
    pub(super) credentials: Vec<Entry>,
    pub(super) protected: Vec<Entry>,
}

/// The file of the program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ordinary: Vec<String>,
    credentials: BTreeMap<String, Vec<String>>,
    protected: BTreeMap<String, Vec<String>>,
}

const TEXT: &str = include_str!("../../protected.toml");

/// What counts everywhere, and which folders are ordinary though they lie in a protected
/// one. If the file could not be read everything would be a credential.
static BUILT_IN: LazyLock<(Lists, Vec<Entry>)> = LazyLock::new(|| {
    let read = || -> Result<(Lists, Vec<Entry>), String> {
        let file: File = toml::from_str(TEXT).map_err(|error| error.to_string())?;
        let list = |headings: &BTreeMap<String, Vec<String>>| -> Result<Vec<Entry>, String> {
            let mut entries = Vec::new();
            for (heading, texts) in headings {
                for text in texts {
                    entries.push(Entry::read(text, &format!("built in, {heading}"))?);
                }
            }
            Ok(entries)
        };
        let lists =
            Lists { credentials: list(&file.credentials)?, protected: list(&file.protected)? };
        let ordinary = file.ordinary.iter().map(|text| Entry::read(text, "built in"));
        Ok((lists, ordinary.collect::<Result<_, _>>()?))
    };
    read().unwrap_or_else(|why| {
        let all =
            Entry { text: "*".to_owned(), from: why, of_user: false, parts: vec!["*".into()] };
        (Lists { credentials: vec![all], protected: Vec::new() }, Vec::new())
    })
});

/// The lists of the program.
pub(super) fn built_in() -> &'static Lists {
    &BUILT_IN.0
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn read(text: &str, from: &str) -> Result<Entry, String> {
        let wrong = |why: &str| Err(format!("`{text}` is no path of a list: {why}"));
        let whole = text.strip_suffix('/').unwrap_or(text);
        let (of_user, rest) = match whole.strip_prefix("~/") {
            Some(rest) => (true, rest),
            None => (false, whole),
        };
        let below_root = rest.strip_prefix('/');
        if of_user && below_root.is_some() {
            return wrong("there is a name too few");
        }
        let mut parts: Vec<String> = below_root.map(|_| String::new()).into_iter().collect();
        for name in below_root.unwrap_or(rest).split('/') {
            let name = match name {
                "" => return wrong("there is a name too few"),
                "." | ".." => return wrong("`.` and `..` name nothing here"),
                "~" => return wrong("`~` stands at the beginning, before a slash"),
                name => folded(name),
            };
            if name.is_empty() {
                return wrong("a name has nothing that counts");
            }
            if name.matches('*').count() > 1 {
                return wrong("a name has at most one `*`; whatever lies below belongs to it");
            }
            parts.push(name);
        }
        without_private(&mut parts);
        Ok(Entry { text: text.to_owned(), from: from.to_owned(), of_user, parts })
    }

    /// Whether the last of some names are those of this entry.
    fn ends(&self, names: &[String], users: &[Vec<String>]) -> bool {
        let mut rest = names.iter().rev();
        let fits = self.parts.iter().rev().all(|part| rest.next().is_some_and(|n| fits(n, part)));
        // Where it is not known whose folder is the user's, every folder may be.
        fits && (!self.of_user
            || users.is_empty()
            || users.iter().any(|user| {
                names.len() == user.len().saturating_add(self.parts.len())
                    && names.starts_with(user)
            }))
    }
}

impl Lists {
    /// What the lists say of a path; `users` are the names of the user's own folder.
    pub(super) fn class(&self, path: &Path, users: &[Vec<String>]) -> PathClass {
        let names = counting(path);
        let any = |list: &[Entry]| {
            (1..=names.len()).any(|end| {
                let names = names.get(..end).unwrap_or_default();
                list.iter().any(|entry| entry.ends(names, users))
            })
        };
        if any(&self.credentials) {
            PathClass::Credential
        } else if any(&self.protected) {
            PathClass::Protected
        } else {
            PathClass::Ordinary
        }
    }
}

/// The names of an absolute path as they are compared, the root as an empty one.
pub(super) fn names(path: &Path) -> Vec<String> {
    let mut names = vec![String::new()];
    names.extend(path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(folded(&name.to_string_lossy())),
        _ => None,
    }));
    without_private(&mut names);
    names
}

/// The same, but those down to an ordinary folder count for nothing.
fn counting(path: &Path) -> Vec<String> {
    let mut counting = Vec::new();
    for name in names(path) {
        counting.push(name);
        if BUILT_IN.1.iter().any(|entry| entry.ends(&counting, &[])) {
            counting.clear();
        }
    }
    counting
}

/// The root of one system is a folder of another.
fn without_private(names: &mut Vec<String>) {
    if names.first().is_some_and(String::is_empty) && names.get(1).is_some_and(|n| n == "private") {
        names.remove(1);
    }
}

/// A name as the most forgiving file system takes it: without regard to case, to
/// characters that are not seen, and to dots and blanks at its end.
pub(super) fn folded(name: &str) -> String {
    let unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    // Twice, since some letters have a capital that is not theirs alone.
    let upper: String = name.chars().filter(|c| !unseen(*c)).flat_map(char::to_uppercase).collect();
    upper.to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

/// Whether a name is this one; at most one `*` in it is any text.
pub(super) fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((head, tail)) => name
            .strip_prefix(head)
            .is_some_and(|rest| rest.ends_with(tail) && !(pattern == "*" && name.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::{Entry, PathClass, TEXT, built_in, folded};
    use std::path::Path;

    fn class(path: &str) -> PathClass {
        built_in().class(Path::new(path), &[])
    }

    fn is_protected(path: &Path) -> bool {
        built_in().class(path, &[]) == PathClass::Protected
    }

    fn holds_credentials(path: &Path) -> bool {
        built_in().class(path, &[]) == PathClass::Credential
    }

    #[test]
    fn entries_are_written_as_they_are_compared() {
        toml::from_str::<super::File>(TEXT).unwrap();
        let entries = || built_in().protected.iter().chain(&built_in().credentials);
        assert!(entries().count() > 300, "{}", entries().count());
        for entry in entries() {
            for name in entry.text.split('/') {
                assert_eq!(folded(name), name, "{}", entry.text);
            }
        }
        for one in entries() {
            let same = entries().filter(|entry| entry.parts == one.parts).count();
            assert_eq!(same, 1, "{} is listed {same} times", one.text);
        }
    }

    #[test]
    fn what_is_no_entry_is_told() {
        let check = |text: &str, word: &str| {
            let why = Entry::read(text, "here").unwrap_err();
            assert!(why.contains(word) && why.contains(text), "{text}: {why}");
        };
        check("", "too few");
        check("/", "too few");
        check("~//x", "too few");
        check("a//b", "too few");
        check("a/../b", "`..`");
        check("./b", "`.`");
        check("~", "`~`");
        check("a/~", "`~`");
        check("a/**", "one `*`");
        check("a/...x/...", "nothing that counts");
        assert_eq!(Entry::read("A/B/", "here").unwrap().parts, ["a", "b"]);
        assert_eq!(Entry::read("/Private/etc", "here").unwrap().parts, ["", "etc"]);
    }

    #[test]
    fn what_people_keep_secret_is_a_credential() {
        for path in [
            "/home/ada/.ssh/id_ed25519",
            "/home/ada/.netrc",
            "/home/ada/.config/gh/hosts.yml",
            "/home/ada/.config/gcloud/credentials.db",
            "/home/ada/.cargo/credentials.toml",
            "/home/ada/.npmrc",
            "/home/ada/.docker/config.json",
            "/home/ada/.kube/config",
            "/home/ada/.aws/credentials",
            "/home/ada/.gnupg/secring.gpg",
            "/w/.env",
            "/w/.env.production",
            "/w/keys/id_rsa",
            "/w/release.p12",
        ] {
            assert_eq!(class(path), PathClass::Credential, "{path}");
        }
        for path in
            ["/home/ada/.cargo/registry/x", "/w/id_rsa.pub", "/w/env", "/w/ssh/x", "/w/.envs"]
        {
            assert_eq!(class(path), PathClass::Ordinary, "{path}");
        }
    }

    #[test]
    fn what_runs_by_itself_is_protected() {
        let check = |path: &str, wanted: bool| {
            assert_eq!(is_protected(Path::new(path)), wanted, "{path}");
        };
        for path in [
            "/w/placet.toml",
            "/w/deep/in/it/placet.toml",
            "/w/.git",
            "/w/.git/hooks/pre-commit",
            "/w/.git/config",
            "/w/.git/modules/sub/config",
            "/w/sub/.git/HEAD",
            "/srv/repo.git/hooks/post-receive",
            "/srv/repo.git/config",
            "/w/.gitmodules",
            "/w/.husky/pre-push",
            "/w/.pre-commit-config.yaml",
            "/w/lefthook-local.yml",
            "/home/ada/.bashrc",
            "/home/ada/.zshenv",
            "/home/ada/.config/fish/conf.d/x.fish",
            "/w/.envrc",
            "/w/mise.local.toml",
            "/home/ada/.config/powershell/Microsoft.PowerShell_profile.ps1",
            "/w/.vscode/settings.json",
            "/w/.idea/workspace.xml",
            "/w/x.code-workspace",
            "/w/.claude/settings.json",
            "/w/.claude/worktrees",
            "/w/.claude/worktrees/one/.claude/settings.json",
            "/w/.claude/worktrees/one/.git",
            "/w/.codex/config.toml",
            "/w/.gemini/settings.json",
            "/w/.mcp.json",
            "/w/.github/workflows/ci.yml",
            "/w/.gitlab-ci.yml",
            "/w/Jenkinsfile",
            "/etc/cron.d/x",
            "/etc/crontab",
            "/private/etc/crontab",
            "/var/spool/cron/crontabs/ada",
            "/home/ada/.config/systemd/user/x.service",
            "/home/ada/.config/autostart/x.desktop",
            "/home/ada/Library/LaunchAgents/x.plist",
            "/etc/sudoers.d/x",
        ] {
            check(path, true);
        }
        for path in [
            "/",
            "/w",
            "/w/.gitignore",
            "/w/.gitattributes",
            "/w/.git-blame-ignore-revs",
            "/w/.github/ISSUE_TEMPLATE/bug.md",
            "/w/AGENTS.md",
            "/w/CLAUDE.md",
            "/w/git/hooks/x",
            "/w/repo.git/description",
            "/w/profile",
            "/w/etc/cron.d/x",
            "/w/docs/placet.toml.md",
            "/w/.claude/worktrees/one",
            "/w/.claude/worktrees/one/src/main.rs",
            "/w/src/config",
        ] {
            check(path, false);
        }
    }

    #[test]
    fn another_spelling_is_the_same_name() {
        for path in [
            "/w/.GIT/hooks/x",
            "/w/.Git/config",
            "/w/.g\u{200c}it/config",
            "/w/.git./config",
            "/w/.vScode/settings.json",
            "/w/.v\u{17f}code/settings.json",
            "/w/PLACET.TOML",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
        for path in ["/home/ada/.SSH/id", "/w/.Env", "/private/etc/shadow", "/etc/shadow"] {
            assert!(holds_credentials(Path::new(path)), "{path}");
        }
        assert!(!holds_credentials(Path::new("/w/etc/shadow")));
        assert!(!holds_credentials(Path::new("/w/x.env")));
    }
}

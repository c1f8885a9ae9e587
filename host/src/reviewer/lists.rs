//! Which paths hold credentials, and which are protected from writes.
//!
//! Protected is what other programs run, or take their orders from, by themselves:
//! whoever may write it runs code later, unseen, or loosens what watches over it. It is
//! told by name, so a file that is not there yet is protected too. What must be wide
//! enough decides here, not what is nice to write.

use std::path::{Component, Path};

/// Names, one below the other; `*` stands for any name or for any end of one. One that
/// begins with a slash begins at the root. Whatever lies below belongs to it.
const CREDENTIALS: [&str; 15] = [
    ".aws",
    ".azure",
    ".docker",
    ".env",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    "/etc/gshadow",
    "/etc/shadow",
];

const PROTECTED: [&[&str]; 9] = [
    // Placet's own rules: a session that writes them decides for itself.
    &["placet.toml"],
    REPOSITORIES,
    HOOKS,
    SHELLS,
    PROGRAMS,
    EDITORS,
    AGENTS,
    PIPELINES,
    STARTED,
];

/// What version control runs: hooks, and configuration that names programs.
const REPOSITORIES: &[&str] = &[
    ".bzr",
    ".config/git",
    ".config/jj",
    ".git",
    ".gitconfig",
    ".gitmodules",
    ".hg",
    ".hgrc",
    ".jj",
    ".svn",
    // A repository without a worktree.
    "*.git/config",
    "*.git/config.worktree",
    "*.git/hooks",
    "*.git/info/attributes",
    "/etc/gitconfig",
];

/// Hooks that programs of other names put in place.
const HOOKS: &[&str] = &[
    ".githooks",
    ".git-hooks",
    ".husky",
    ".huskyrc*",
    ".lefthook*",
    ".lintstagedrc*",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "captainhook.json",
    "lefthook*.json",
    "lefthook*.toml",
    "lefthook*.yaml",
    "lefthook*.yml",
    "lint-staged.config*",
];

/// Start files of shells, and what sets their environment.
const SHELLS: &[&str] = &[
    ".bash_aliases",
    ".bash_completion",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bashrc.d",
    ".config/environment.d",
    ".config/fish",
    ".config/mise",
    ".config/nushell",
    ".config/powershell",
    ".config/zsh",
    ".cshrc",
    ".envrc",
    ".inputrc",
    ".kshrc",
    ".login",
    ".logout",
    ".mise",
    ".mise.*toml",
    ".mkshrc",
    ".oh-my-zsh",
    ".pam_environment",
    ".profile",
    ".shrc",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".yashrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zsh",
    ".zshenv",
    ".zshrc",
    ".zshrc.d",
    "mise.*toml",
    "*profile.ps1",
    "/etc/bash*",
    "/etc/csh*",
    "/etc/environment",
    "/etc/fish",
    "/etc/inputrc",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/zsh*",
    "/etc/zprofile",
];

/// Start files that make other programs run something, or send elsewhere.
const PROGRAMS: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".config/pip",
    ".config/tmux",
    ".curlrc",
    ".gdbinit",
    ".irbrc",
    ".lesskey",
    ".lldbinit*",
    ".pdbrc*",
    ".pip",
    ".pryrc",
    ".psqlrc",
    ".pythonrc*",
    ".ripgreprc",
    ".rprofile",
    ".screenrc",
    ".sqliterc",
    ".tmux.conf",
    ".wgetrc",
    ".xonshrc",
    ".yarnrc",
    ".yarnrc.yml",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Settings of editors that open a folder and run what they find in it.
const EDITORS: &[&str] = &[
    "*.code-workspace",
    "*.sublime-project",
    ".config/code/user",
    ".config/emacs",
    ".config/nvim",
    ".config/vscodium/user",
    ".config/zed",
    ".cursor",
    ".devcontainer",
    ".devcontainer.json",
    ".dir-locals*.el",
    ".emacs",
    ".emacs.d",
    ".exrc",
    ".fleet",
    ".gvimrc",
    ".idea",
    ".lvimrc",
    ".nova",
    ".nvim.lua",
    ".nvimrc",
    ".vim",
    ".vimrc",
    ".vs",
    ".vscode",
    ".vscode-server",
    ".zed",
    "library/application support/code/user",
];

/// Settings of agents: what they may do unasked, and what they run. What they are told
/// (AGENTS.md and the like) is text.
const AGENTS: &[&str] = &[
    ".agents",
    ".aider.conf.yml",
    ".amazonq",
    ".claude",
    ".claude.json",
    ".cline",
    ".clinerules",
    ".codeium",
    ".codex",
    ".config/amp",
    ".config/crush",
    ".config/github-copilot",
    ".config/goose",
    ".config/opencode",
    ".continue",
    ".copilot",
    ".crush.json",
    ".factory",
    ".gemini",
    ".junie",
    ".kiro",
    ".mcp.json",
    ".opencode",
    ".qwen",
    ".roo",
    ".windsurf",
    "crush.json",
    "opencode.json",
    "opencode.jsonc",
];

/// What a service runs with its own rights once it is pushed.
const PIPELINES: &[&str] = &[
    ".appveyor.yml",
    ".azure-pipelines",
    ".build.yml",
    ".buildkite",
    ".builds",
    ".circleci",
    ".cirrus.star",
    ".cirrus.yml",
    ".drone.star",
    ".drone.yml",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/actions",
    ".github/workflows",
    ".gitlab/agents",
    ".gitlab/ci",
    ".gitlab-ci*",
    ".semaphore",
    ".tekton",
    ".travis.yml",
    ".woodpecker",
    ".woodpecker.yaml",
    ".woodpecker.yml",
    "appveyor.yml",
    "azure-pipelines*.yml",
    "bitbucket-pipelines.yml",
    "buildspec*.yml",
    "cloudbuild*.yaml",
    "cloudbuild*.yml",
    "jenkinsfile*",
];

/// What the machine starts by itself, and what it trusts.
const STARTED: &[&str] = &[
    ".config/autostart",
    ".config/plasma-workspace",
    ".config/systemd",
    ".local/share/dbus-1",
    ".local/share/systemd",
    "/etc/anacrontab",
    "/etc/apt",
    "/etc/at*",
    "/etc/cron*",
    "/etc/dbus-1",
    "/etc/doas.conf",
    "/etc/group",
    "/etc/hosts",
    "/etc/init*",
    "/etc/ld.so*",
    "/etc/modprobe.d",
    "/etc/modules-load.d",
    "/etc/pam.d",
    "/etc/passwd",
    "/etc/rc*",
    "/etc/ssh",
    "/etc/sudo*",
    "/etc/systemd",
    "/etc/udev",
    "/etc/xdg",
    "/lib/systemd",
    "/lib/udev",
    "/run/systemd",
    "/usr/lib/systemd",
    "/usr/lib/udev",
    "/usr/share/dbus-1",
    "/var/at",
    "/var/spool",
    "library/launchagents",
    "library/launchdaemons",
    "library/startupitems",
];

/// Folders in a protected one that hold ordinary work: agents put whole worktrees there.
const ORDINARY: [&str; 1] = [".claude/worktrees/*"];

/// Whether something on the way to this path is made for credentials.
pub(super) fn holds_credentials(path: &Path) -> bool {
    any(&names(path), &CREDENTIALS)
}

/// Whether a write to this path needs a person.
pub(super) fn is_protected(path: &Path) -> bool {
    let names = names(path);
    PROTECTED.into_iter().any(|list| any(&names, list))
}

/// The names of an absolute path as they are compared, the root as an empty one. Those
/// down to an ordinary folder count for nothing.
fn names(path: &Path) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in path.components() {
        if let Component::Normal(name) = part {
            names.push(folded(&name.to_string_lossy()));
            if ORDINARY.iter().any(|list| ends(&names, list)) {
                names.clear();
            }
        }
    }
    // The root of one system is a folder of another.
    if names.get(1).is_some_and(|name| name == "private") {
        names.remove(1);
    }
    names
}

/// A name as the most forgiving file system takes it: without regard to case, to
/// characters that are not seen, and to dots and blanks at its end.
fn folded(name: &str) -> String {
    let unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    // Twice, since some letters have a capital that is not theirs alone.
    let upper: String = name.chars().filter(|c| !unseen(*c)).flat_map(char::to_uppercase).collect();
    upper.to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

fn any(names: &[String], list: &[&str]) -> bool {
    (1..=names.len()).any(|end| {
        let names = names.get(..end).unwrap_or_default();
        list.iter().any(|listed| ends(names, listed))
    })
}

/// Whether the last of some names are those of an entry.
fn ends(names: &[String], listed: &str) -> bool {
    let mut names = names.iter().rev();
    listed.rsplit('/').all(|pattern| names.next().is_some_and(|name| fits(name, pattern)))
}

/// Whether a name is this one; at most one `*` in it is any text.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((head, tail)) => name
            .strip_prefix(head)
            .is_some_and(|rest| rest.ends_with(tail) && !(pattern == "*" && name.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::{CREDENTIALS, PROTECTED, folded, holds_credentials, is_protected};
    use std::path::Path;

    #[test]
    fn entries_are_written_as_they_are_compared() {
        for listed in PROTECTED.into_iter().flatten().chain(&CREDENTIALS) {
            for name in listed.split('/') {
                assert_eq!(folded(name), name, "{listed}");
                assert!(name.matches('*').count() <= 1, "{listed}");
            }
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

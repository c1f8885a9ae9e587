//! The words that a lasting grant for a stage would cover, where such a grant means something.
//!
//! Anything may follow these words, so they must say what is done: never a program
//! that runs what follows, never one that destroys or sends, and of a program with
//! verbs never less than the verb. What is not known here is granted with exactly its
//! words, and nothing after them.

use crate::cover;
use crate::display;
use crate::limits;
use crate::shell::{Redirect, Stage, What};

/// Programs without a lasting grant, by why.
const NEVER: [&str; 7] = [
    // Shells, interpreters, editors and debuggers run what they are given.
    "ash awk bash busybox cmd csh dash ed emacs ex expect fish gawk gdb ghci groovy guile ipython \
     irb java jshell julia kotlin ksh lldb lua luajit mawk mongo mongosh mysql nano nawk node nodejs \
     nvim osascript perl php powershell pry psql pwsh pypy python r racket redis-cli rscript ruby \
     runghc scala sed sh sqlite swipl tclsh toybox ts-node tsx vi view vim wish zsh",
    // Wrappers run what follows.
    "arch bwrap caffeinate chroot chrt cpulimit dbus-run-session direnv doas dotenv entr env \
     fakeroot fd fdfind find firejail flatpak flock foreman guix hyperfine ionice ltrace nice nix \
     nix-shell nodemon nohup nsenter parallel perf pkexec prlimit proot rlwrap runuser screen script \
     setarch setpriv setsid ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset time \
     timeout tini tmux unbuffer unshare vagrant valgrind watch watchexec watchman xargs xvfb-run",
    // Package runners and installers run what they fetch.
    "apt apt-get brew bundle bundler bunx conda dnf easy_install gem npx pacman pip pipenv pipx pnpx \
     poetry snap uvx yum zypper",
    // What destroys, or changes whose something is.
    "chattr chgrp chmod chown cp crontab dd fdisk halt install kill killall ln mkfs mount mv parted \
     passwd patch pkill poweroff reboot rm rmdir rsync setfacl shred shutdown skill sysctl tar tee \
     truncate umount unlink unzip useradd usermod visudo wipefs",
    // What sends, or fetches from anywhere.
    "aria2c curl ftp http https nc ncat netcat open scp sftp socat telnet wget xdg-open",
    // Builtins that run code or change the shell.
    ". alias bind builtin cd command coproc declare enable eval exec exit export fc hash let local \
     mapfile popd pushd read readarray readonly set shopt source trap typeset ulimit umask unalias \
     unset",
    // Whoever decides must not be told by what is decided about.
    "placet",
];

/// Programs whose words say what is done, with the verbs that are worth a grant; `*`
/// stands for one plain word, which belongs to it. Any other use of them has none.
const VERBS: [(&str, &str); 44] = [
    ("ansible", ""),
    ("aws", ""),
    ("az", ""),
    ("bun", "run *, test"),
    ("cargo", "bench, build, check, clippy, doc, fmt, metadata, test, tree"),
    ("dart", "analyze, format, test"),
    ("deno", "check, fmt, lint, task *, test"),
    (
        "docker",
        "compose logs, compose ps, container ls, image ls, images, info, logs, network ls, ps, \
         version, volume ls",
    ),
    ("dotnet", "build, format, test"),
    ("flutter", "analyze, build, test"),
    ("gcloud", ""),
    (
        "gh",
        "issue list, issue status, issue view, pr checks, pr diff, pr list, pr status, pr view, \
         release list, release view, repo view, run list, run view, run watch, workflow list, \
         workflow view",
    ),
    (
        "git",
        "add, blame, commit, describe, diff, log, ls-files, rev-list, rev-parse, shortlog, show, \
         stash list, stash show, status, worktree list",
    ),
    ("go", "build, doc, fmt, list, test, vet"),
    ("golangci-lint", "run"),
    ("gradle", "*"),
    ("gradlew", "*"),
    ("helm", "lint, list, status, template"),
    ("hg", "diff, log, status"),
    ("hub", ""),
    ("ip", ""),
    ("jj", "diff, log, show, status"),
    ("just", "*"),
    (
        "kubectl",
        "api-resources, cluster-info, get deployments, get events, get jobs, get namespaces, \
         get nodes, get pods, get services, logs, version",
    ),
    ("launchctl", ""),
    ("make", "*"),
    ("mix", "compile, format, test"),
    ("mvn", "compile, package, test, verify"),
    ("mvnw", "compile, package, test, verify"),
    ("npm", "audit, ls, outdated, run *, run-script *, test"),
    ("pnpm", "audit, ls, outdated, run *, test"),
    ("podman", "container ls, image ls, images, info, logs, ps, version"),
    ("rake", "*"),
    ("service", ""),
    ("svn", "diff, info, log, status"),
    ("swift", "build, test"),
    ("systemctl", "list-units, status"),
    ("task", "*"),
    ("terraform", "fmt, plan, show, validate"),
    ("tofu", "fmt, plan, show, validate"),
    ("uv", "lock, tree"),
    ("velero", ""),
    ("yarn", "run *, test"),
    ("zig", "build, test"),
];

/// Programs that do one thing to whatever they are given: their name alone says it.
const PLAIN: &str = "black ctest eslint flake8 gofmt isort jest mocha mypy phpunit prettier pylint \
                     pytest rspec ruff rustfmt shellcheck tsc vitest";

/// Words that a grant may cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) words: Vec<String>,
    /// Nothing may follow them: nobody knows what would come of it.
    pub(crate) exact: bool,
}

/// The words for a stage; none where no grant would mean anything, or cover the stage itself.
pub(crate) fn suggest(stage: &Stage) -> Option<Words> {
    let (program, rest) = stage.argv.split_first()?;
    if !coverable(stage) || !stage.argv.iter().all(|word| is_readable(word)) {
        return None;
    }
    let name = name(program);
    if is_never(&name) {
        return None;
    }
    let (count, exact) = if let Some((_, verbs)) = VERBS.iter().find(|(known, _)| *known == name) {
        (verbs.split(", ").find_map(|verb| matched(verb, rest))?, false)
    } else if is_in(PLAIN, &name) {
        (0, false)
    } else if rest.iter().any(|word| is_never(&self::name(word))) {
        return None;
    } else {
        (rest.len(), true)
    };
    let words = stage.argv.get(..=count)?.to_vec();
    let fits = words.len() <= limits::GRANT_WORDS_MAX
        && display::in_full(&display::words(&words), limits::GRANT_PREFIX_CHARS_MAX);
    fits.then_some(Words { words, exact })
}

/// Whether a grant for words may cover a stage at all: all of it is known, it runs nothing
/// in turn, sets no variable that matters and writes to no file by a redirect.
fn coverable(stage: &Stage) -> bool {
    let known = stage.what == What::Command
        && stage.complete
        && !stage.code
        && stage.redirects.iter().all(|redirect| redirect.target.is_some());
    let kept = |redirect: &Redirect| {
        !redirect.write || redirect.target.as_deref().is_some_and(cover::keeps_nothing)
    };
    known
        && !stage.background
        && stage.inner.is_empty()
        && stage.harmful_variables().next().is_none()
        && stage.redirects.iter().all(kept)
}

/// How many words a verb takes of those that follow the program, if they are it.
fn matched(verb: &str, rest: &[String]) -> Option<usize> {
    let mut count = 0_usize;
    for wanted in verb.split(' ') {
        let word = rest.get(count)?;
        if !(word == wanted || (wanted == "*" && is_plain(word))) {
            return None;
        }
        count = count.saturating_add(1);
    }
    Some(count)
}

/// A target's or a script's name: nothing that a program could take for a flag, a file
/// or a setting.
fn is_plain(word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(inside)
}

/// A word that looks like no other one.
fn is_readable(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

/// The name by which a program is known, without its folder.
fn name(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

fn is_in(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}

/// Also with a version behind the name, as in `python3.12`, and with a suffix, as in `mkfs.ext4`.
fn is_never(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let first = name.split('.').next().unwrap_or_default();
    [name, bare, first].iter().any(|form| NEVER.iter().any(|names| is_in(names, form)))
        || name.starts_with("git-")
}

//! Where things are inside the sandbox.

/// The program that is runner and stub.
pub const INSIDE: &str = "/oracle/inside";
/// Bash, under a name that no command uses.
pub const BASH: &str = "/oracle/bash";
/// What bash reads first when a command is traced.
pub const TRACE_START: &str = "/oracle/trace.sh";
/// Stubs of the usual names; `/bin`, `/sbin` and `/usr/sbin` lead here.
pub const STUBS: &str = "/usr/bin";
/// Stubs of the same names that `PATH` does not have.
pub const DECOYS: &str = "/decoy";
/// The stub once more, on the file system of the scratch folder: hard links.
pub const SCRATCH_STUB: &str = "/scratch/.stub";
/// Everything below is removed before each command.
pub const SCRATCH: &str = "/scratch";
/// Stubs of names that only this command has; `/usr/local/bin` leads here.
pub const SCRATCH_STUBS: &str = "/scratch/bin";
/// The working folder of a command.
pub const WORK: &str = "/scratch/work";
/// Where starts are recorded.
pub const LOG: &str = "/oracle/record/starts";
/// Where bash's own trace goes.
pub const TRACE: &str = "/oracle/record/trace";
/// What the command wrote to stderr.
pub const ERRORS: &str = "/oracle/record/errors";

/// Beyond this a stub ends everything.
pub const LOG_BYTES_MAX: u64 = 3_000;

/// The environment of every command.
///
/// Arithmetic that reads `i` or `n` before the command has given it a number runs `uname`.
pub const ENVIRONMENT: [(&str, &str); 8] = [
    ("HOME", "/scratch/home"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("TMPDIR", "/tmp"),
    ("USER", "user"),
    ("i", "a[$(uname poison)]"),
    ("n", "a[$(uname poison)]"),
];

/// Names that always have a stub.
pub const NAMES: &str = "awk base64 basename bash bat brew bzip2 cargo cat chmod chown clang comm cp curl cut date dash dd \
df diff dig dirname dmesg docker doas du echo egrep env expand expr false fd fgrep file find fmt fold gawk gh git go grep groups \
gunzip gzip head help host hostname id ifconfig ionice ip jq kill kubectl last less ln ls lsof make man md5sum mkdir mktemp more mv \
nc nice nl node nohup npm npx nproc nslookup od parallel paste patch perl pgrep ping pip pip3 pkill pnpm printenv printf ps pwd python \
python3 readlink realpath rev rg rm rmdir rsync ruby scp sed seq setsid sh sha256sum shuf sleep sort split ssh stat stdbuf \
stow strace strings su sudo sync tac tail tar tee test time timeout touch tput tr tree true tsort tty uname unexpand uniq unlink \
unzip uptime vi vim w watch wc wget which who whoami xargs xxd yarn yes yq zip zsh [";

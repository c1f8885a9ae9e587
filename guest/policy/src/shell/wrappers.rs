//! Programs and builtins that run the command which stands in their arguments.

/// How the arguments of a wrapper are read before its command.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options that take a value: apart, or glued to a long one by `=`, to a short one directly.
    pub(super) valued: &'static [&'static str],
    /// Options without a value. Any other option makes the command's place unknown.
    pub(super) flags: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) operands: u32,
    /// The command is all that it does: what covers the command covers it.
    pub(super) alone: bool,
}

const fn wrapper(
    name: &'static str,
    alone: bool,
    operands: u32,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, valued, flags, operands, alone }
}

/// Sorted by name.
const WRAPPERS: [Wrapper; 54] = [
    wrapper("aoss", false, 0, &[], &[]),
    wrapper("busybox", false, 0, &[], &[]),
    wrapper("caffeinate", false, 0, &["-d", "-i", "-m", "-s", "-u"], &["-t", "-w"]),
    wrapper("catchsegv", false, 0, &[], &[]),
    wrapper("choom", false, 0, &["--"], &["-n", "--adjust"]),
    wrapper("chronic", false, 0, &["-e", "-v"], &[]),
    wrapper("chroot", false, 1, &["--skip-chdir"], &["--groups", "--userspec"]),
    wrapper("chrt", false, 1, &["-b", "-f", "-i", "-o", "-r"], &["-D", "-P", "-T"]),
    wrapper("dbus-run-session", false, 0, &["--"], &["--config-file"]),
    wrapper("doas", false, 0, &["-L", "-n", "-s"], &["-C", "-u"]),
    wrapper("dumb-init", false, 0, &["-c", "-v"], &["-r"]),
    wrapper("eatmydata", false, 0, &[], &[]),
    wrapper("fakeroot", false, 0, &["-u"], &["-b", "-i", "-l", "-s"]),
    wrapper("faketime", false, 1, &["-f", "-m"], &[]),
    wrapper("firejail", false, 0, &["--quiet"], &[]),
    wrapper(
        "flock",
        false,
        1,
        &["-F", "-e", "-n", "-o", "-s", "-u", "-x", "--nb", "--nonblock"],
        &["-E", "-w"],
    ),
    wrapper("gosu", false, 1, &[], &[]),
    wrapper(
        "gtimeout",
        false,
        1,
        &["--foreground", "--preserve-status", "-v"],
        &["--kill-after", "--signal", "-k", "-s"],
    ),
    wrapper("ionice", true, 0, &["-t", "--ignore"], &["-c", "-n", "--class", "--classdata"]),
    wrapper("linux32", false, 0, &["-R"], &[]),
    wrapper("linux64", false, 0, &["-R"], &[]),
    wrapper(
        "ltrace",
        false,
        0,
        &["-C", "-c", "-f", "-i", "-r", "-S", "-t", "-T"],
        &["-a", "-e", "-l", "-n", "-o", "-s", "-u"],
    ),
    wrapper("nice", true, 0, &[], &["--adjustment", "-n"]),
    wrapper("nohup", true, 0, &[], &[]),
    wrapper(
        "nsenter",
        false,
        0,
        &["-a", "-C", "-F", "-i", "-m", "-n", "-p", "-u", "-U"],
        &["-G", "-S", "-t", "--target"],
    ),
    wrapper("numactl", false, 0, &["-l", "--localalloc"], &["-C", "-N", "-i", "-m", "-p"]),
    wrapper("parallel", false, 0, &["-k", "--bar", "--keep-order"], &["-I", "-N", "-j", "-n"]),
    wrapper("pkexec", false, 0, &["--disable-internal-agent", "--keep-cwd"], &["--user"]),
    wrapper("prlimit", false, 0, &[], &[]),
    wrapper("proxychains", false, 0, &["-q"], &["-f"]),
    wrapper("proxychains4", false, 0, &["-q"], &["-f"]),
    wrapper("rlwrap", false, 0, &["-a", "-c", "-r"], &["-f", "-H", "-s"]),
    wrapper("rtk", false, 0, &[], &[]),
    wrapper("runcon", false, 1, &["-c"], &["-l", "-r", "-t", "-u"]),
    wrapper("setarch", false, 0, &["-R"], &[]),
    wrapper("setpriv", false, 0, &["--no-new-privs", "--clear-groups"], &["--regid", "--reuid"]),
    wrapper("setsid", true, 0, &["-c", "-f", "-w", "--ctty", "--fork", "--wait"], &[]),
    wrapper("ssh-agent", false, 0, &["-D", "-d"], &["-a", "-t"]),
    wrapper("stdbuf", true, 0, &[], &["-e", "-i", "-o", "--error", "--input", "--output"]),
    wrapper(
        "strace",
        false,
        0,
        &["-C", "-c", "-f", "-ff", "-i", "-q", "-r", "-t", "-tt", "-T", "-v", "-y"],
        &["-E", "-P", "-e", "-o", "-s", "-u"],
    ),
    wrapper(
        "sudo",
        false,
        0,
        &["-A", "-B", "-E", "-H", "-S", "-b", "-i", "-k", "-n", "-s"],
        &[
            "--chdir", "--group", "--host", "--prompt", "--user", "-C", "-D", "-R", "-T", "-g",
            "-h", "-p", "-r", "-t", "-u",
        ],
    ),
    wrapper(
        "sudo-rs",
        false,
        0,
        &["-A", "-E", "-H", "-S", "-i", "-k", "-n", "-s"],
        &["-D", "-g", "-u"],
    ),
    wrapper("systemd-inhibit", false, 0, &[], &["--mode", "--what", "--who", "--why"]),
    wrapper(
        "systemd-run",
        false,
        0,
        &["--scope", "--user", "-P", "-q", "-t"],
        &["--unit", "-p", "-u"],
    ),
    wrapper("taskset", true, 1, &["-c", "--cpu-list"], &[]),
    wrapper("time", false, 0, &["-p", "-v", "-a"], &["--format", "--output", "-f", "-o"]),
    wrapper(
        "timeout",
        true,
        1,
        &["--foreground", "--preserve-status", "--verbose", "-v"],
        &["--kill-after", "--signal", "-k", "-s"],
    ),
    wrapper("tini", false, 0, &["-g", "-s", "-v"], &["-e", "-p"]),
    wrapper("torsocks", false, 0, &[], &[]),
    wrapper("toybox", false, 0, &[], &[]),
    wrapper("unbuffer", false, 0, &["-p"], &[]),
    wrapper(
        "unshare",
        false,
        0,
        &["-C", "-U", "-f", "-i", "-m", "-n", "-p", "-r", "-u", "--fork", "--mount-proc"],
        &[],
    ),
    wrapper("valgrind", false, 0, &["-q"], &[]),
    wrapper("xvfb-run", false, 0, &["-a"], &["-e", "-f", "-n", "-p", "-s"]),
];

/// The wrapper of a name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.binary_search_by(|known| known.name.cmp(name)).ok().and_then(|at| WRAPPERS.get(at))
}

/// `xargs`, whose command gets more words.
pub(super) const XARGS: Wrapper = wrapper(
    "xargs",
    true,
    0,
    &["-0", "-r", "-t", "-x", "-o", "--null", "--no-run-if-empty", "--verbose", "--exit"],
    &[
        "-a",
        "-d",
        "-E",
        "-I",
        "-L",
        "-n",
        "-P",
        "-s",
        "-R",
        "-S",
        "-J",
        "--arg-file",
        "--delimiter",
        "--max-args",
        "--max-lines",
        "--max-procs",
        "--max-chars",
        "--replace",
        "--process-slot-var",
    ],
);

/// `watch`, whose words make a script.
pub(super) const WATCH: Wrapper = wrapper(
    "watch",
    false,
    0,
    &["-b", "-c", "-d", "-e", "-g", "-p", "-t", "-w", "-x", "--color", "--differences", "--exec"],
    &["-n", "-q", "--interval", "--equexit"],
);

/// Shells, whose `-c` takes a script.
pub(super) const SHELLS: [&str; 9] =
    ["ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Programs that take a script as the value of an option.
pub(super) const SCRIPTED: [(&str, &str); 6] = [
    ("flock", "-c"),
    ("newgrp", "-c"),
    ("runuser", "-c"),
    ("script", "-c"),
    ("sg", "-c"),
    ("su", "-c"),
];

#[cfg(test)]
mod tests {
    use super::WRAPPERS;

    #[test]
    fn wrappers_are_sorted() {
        assert!(WRAPPERS.is_sorted_by(|a, b| a.name < b.name));
    }
}

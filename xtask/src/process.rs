//! Child processes: run with output passed through, or captured, and a plain sentence when they fail.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// How a command looks on a command line.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Runs a command, its output passed through; an exit status other than zero is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("could not start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command quietly and returns its standard output; the error carries its standard error.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start `{}`", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed: {}: {}", shown(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` did not write UTF-8", shown(command)))
}

/// Whether a program of this name is on `PATH`.
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether this process may install system packages.
pub(crate) fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0")
}

/// Installs Debian packages, or says how a person with the right to do so installs them.
pub(crate) fn apt_install(packages: &[&str], why: &str) -> anyhow::Result<()> {
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if !on_path("apt-get") {
        bail!("{why} needs the packages {} and this machine has no apt-get", packages.join(", "));
    }
    if !is_root() {
        bail!("{why} needs packages that only root can install; run as root: {by_hand}");
    }
    println!("setup: installing {} for {why}", packages.join(", "));
    let install = || {
        let mut command = apt_get();
        command.args(["install", "-y", "--no-install-recommends"]).args(packages);
        run(&mut command)
    };
    // The package lists of a fresh machine may be empty or old: fetch them once and try again.
    if install().is_err() {
        run(apt_get().arg("update")).with_context(|| format!("after `{by_hand}` failed"))?;
        install()?;
    }
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// A cargo call in the repository, free of what the outer cargo set for this program.
pub(crate) fn cargo_in(root: &Path, cargo: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(cargo);
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        let inherited = name.to_string_lossy();
        if inherited.starts_with("CARGO_PKG_") || inherited.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

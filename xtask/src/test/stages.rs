//! The stages of `cargo xtask test`: what each runs, how its cases are read and which must be there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::clients;
use crate::demo::claims;
use crate::process::cargo_in;
use crate::setup::interpreter;
use crate::tidy;
use crate::workspace::{Workspace, cargo};

/// The list of the Rust cases, written by `cargo xtask test --write-cases`.
pub(crate) const RUST_CASES: &str = "tests/cases.txt";
const PYTHON_CASES: &str = "tests/clients/python/cases.txt";
const RUST_SDK_CASES: &str = "tests/clients/rust/cases.txt";

/// The stages that start hosts: each host writes down what it sends, and the stage `frames` decodes it.
const WITH_HOSTS: [&str; 5] = ["rust", "python", "rust-sdk", "demo", "torture"];

/// What the torturer holds to a bar, and what it must never see; see `tests/src/torture`.
const TORTURE_CASES: [&str; 14] = [
    "kills",
    "kills_in_flight",
    "decisions",
    "rate",
    "lost",
    "double_terminals",
    "duplicate_successors",
    "double_starts",
    "unasked_starts",
    "pending_lost",
    "untrue",
    "records",
    "hosts_ended",
    "unfinished",
];

/// For how long hosts are killed in the stage `torture`.
const TORTURE_SECONDS: u64 = 30;

/// How the cases of a stage are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The stage as a whole is its one case.
    Whole,
    /// `cargo test`.
    Libtest,
    /// `ok NAME` and `FAILED NAME`.
    Plain,
}

/// One stage.
pub(crate) struct Stage {
    /// The name for `--only` and for the table.
    pub(crate) name: &'static str,
    /// The stages that must have passed before.
    pub(crate) needs: &'static [&'static str],
    /// How its cases are read.
    pub(crate) format: Format,
}

/// In the order in which they run.
pub(crate) const STAGES: [Stage; 13] = [
    Stage { name: "setup", needs: &[], format: Format::Whole },
    Stage { name: "components", needs: &["setup"], format: Format::Whole },
    Stage { name: "tidy", needs: &[], format: Format::Plain },
    Stage { name: "fmt", needs: &[], format: Format::Whole },
    Stage { name: "clippy", needs: &[], format: Format::Whole },
    Stage { name: "build", needs: &[], format: Format::Whole },
    Stage { name: "rust", needs: &["components", "build"], format: Format::Libtest },
    Stage { name: "python", needs: &["setup", "components", "build"], format: Format::Plain },
    Stage { name: "sdk-build", needs: &["setup"], format: Format::Whole },
    Stage { name: "rust-sdk", needs: &["components", "build", "sdk-build"], format: Format::Plain },
    Stage { name: "demo", needs: &["components", "build"], format: Format::Plain },
    Stage { name: "torture", needs: &["components", "build"], format: Format::Plain },
    // Of the stages that ran, this time or before.
    Stage { name: "frames", needs: &["sdk-build"], format: Format::Plain },
];

impl Stage {
    /// The command that runs the stage; `xtask` is this program.
    pub(crate) fn command(&self, workspace: &Workspace, xtask: &Path) -> anyhow::Result<Command> {
        let mut command = self.bare_command(workspace, xtask);
        if WITH_HOSTS.contains(&self.name) {
            let folder = frames(workspace).join(self.name);
            if folder.exists() {
                std::fs::remove_dir_all(&folder)
                    .with_context(|| format!("could not remove {}", folder.display()))?;
            }
            command.env("PLACET_FRAMES", folder);
        }
        Ok(command)
    }

    fn bare_command(&self, workspace: &Workspace, xtask: &Path) -> Command {
        let placet = workspace.placet();
        match self.name {
            "fmt" => {
                let mut command = cargo_with(workspace, &["fmt", "--all", "--check", "--"]);
                // They are no members of the workspace.
                command.args(clients::ROOTS);
                command
            }
            "clippy" => cargo_with(
                workspace,
                &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
            ),
            // Not `-p placet`: that would select other features and build wasmtime twice.
            "build" => cargo_with(workspace, &["build", "--locked"]),
            "rust" => cargo_test(workspace, &[]),
            "python" => {
                let mut command = Command::new(interpreter(workspace));
                command.current_dir(&workspace.root).arg("-u").arg("tests/clients/python/run.py");
                command.arg("--placet").arg(&placet);
                command
            }
            "demo" => {
                let mut command = own(workspace, xtask, "demo");
                command.arg("--check").arg("--placet").arg(&placet);
                command
            }
            "torture" => {
                let mut command = Command::new(workspace.torture());
                command.current_dir(&workspace.root);
                command.arg("--seconds").arg(TORTURE_SECONDS.to_string());
                command
            }
            "sdk-build" => clients::build(workspace),
            "rust-sdk" => {
                let mut command = Command::new(clients::program(workspace, "cases"));
                command.current_dir(&workspace.root).arg("--placet").arg(&placet);
                command.arg("--examples").arg(clients::programs(workspace));
                command
            }
            "frames" => {
                let mut command = Command::new(clients::program(workspace, "frames"));
                command.arg(frames(workspace)).args(WITH_HOSTS);
                command
            }
            verb => own(workspace, xtask, verb),
        }
    }

    /// The names that must report, and where they are listed.
    pub(crate) fn listed(
        &self,
        root: &Path,
    ) -> anyhow::Result<Option<(Vec<String>, &'static str)>> {
        Ok(match self.name {
            "tidy" => Some((tidy::names(), "xtask/src/tidy")),
            "rust" => Some((read_list(root, RUST_CASES)?, RUST_CASES)),
            "python" => Some((read_list(root, PYTHON_CASES)?, PYTHON_CASES)),
            "rust-sdk" => Some((read_list(root, RUST_SDK_CASES)?, RUST_SDK_CASES)),
            "demo" => Some((claims::names(), "xtask/src/demo/claims.rs")),
            "torture" => {
                let cases = TORTURE_CASES.map(str::to_owned).to_vec();
                Some((cases, "xtask/src/test/stages.rs"))
            }
            "frames" => {
                let cases = [&["decoder"], &WITH_HOSTS[..], &["allow_list"]].concat();
                let cases = cases.into_iter().map(str::to_owned).collect();
                Some((cases, "xtask/src/test/stages.rs"))
            }
            _ => None,
        })
    }
}

/// `cargo test` over the default members, to run them or, with `--list`, to name them.
pub(crate) fn cargo_test(workspace: &Workspace, harness: &[&str]) -> Command {
    let mut command = cargo_with(workspace, &["test", "--locked", "--no-fail-fast", "--"]);
    command.args(harness);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        // On one thread libtest prints a name before its case runs, and output may come between.
        let threads = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
        command.env("RUST_TEST_THREADS", threads.to_string());
    }
    command
}

/// Where hosts write down the frames that they send, a folder for each stage.
fn frames(workspace: &Workspace) -> PathBuf {
    workspace.target.join("frames")
}

fn cargo_with(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = cargo_in(&workspace.root, cargo());
    command.args(arguments);
    command
}

fn own(workspace: &Workspace, xtask: &Path, verb: &str) -> Command {
    let mut command = Command::new(xtask);
    command.current_dir(&workspace.root).arg(verb);
    command
}

fn read_list(root: &Path, list: &str) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(list))
        .with_context(|| format!("could not read {list}"))?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_with_hosts_come_before_their_frames_are_decoded() {
        let position = |name: &str| STAGES.iter().position(|stage| stage.name == name);
        for name in WITH_HOSTS {
            assert!(position(name).is_some() && position(name) < position("frames"), "{name}");
        }
    }

    #[test]
    fn a_stage_needs_only_stages_before_it() {
        for (index, stage) in STAGES.iter().enumerate() {
            for need in stage.needs {
                let position = STAGES.iter().position(|other| other.name == *need);
                assert!(
                    position.is_some_and(|position| position < index),
                    "{}: {need}",
                    stage.name
                );
            }
        }
    }
}

//! `cargo xtask setup`: the wasm toolchain and what the real clients need, Python and Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::process::{apt_install, capture, cargo_in, on_path, run};
use crate::test::clients;
use crate::wasm::Toolchain;
use crate::workspace::{Workspace, cargo};

const REQUIREMENTS: &str = "tests/clients/python/requirements.txt";
const STAMP: &str = "requirements.sha256";
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// Installs what `components` and `test` need; quick when everything is there.
pub(crate) fn run_all(workspace: &Workspace) -> anyhow::Result<()> {
    let toolchain = Toolchain::ensure()?;
    println!("setup: wasm toolchain from {}", toolchain.name());
    linters(workspace);
    let interpreter = python(workspace)?;
    println!("setup: Python environment at {}", workspace.shown(&interpreter));
    let sdk = clients::prepare(workspace).context("the Rust clients")?;
    println!("setup: Rust SDK at {}", sdk.display());
    Ok(())
}

/// rustfmt and clippy, which a minimal rustup profile leaves out; only their own stages need them.
fn linters(workspace: &Workspace) {
    for (component, verb) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let mut version = cargo_in(&workspace.root, cargo());
        if capture(version.args([verb, "--version"])).is_ok() {
            continue;
        }
        println!("setup: adding {component} through rustup");
        if let Err(error) = run(Command::new("rustup").args(["component", "add", component])) {
            println!("setup: without {component} the stage {verb} will fail ({error:#})");
        }
    }
}

/// The interpreter of the Python environment.
pub(crate) fn interpreter(workspace: &Workspace) -> PathBuf {
    workspace.target.join("venv/bin/python")
}

/// Makes the environment unless it already holds these requirements.
fn python(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let venv = workspace.target.join("venv");
    let interpreter = interpreter(workspace);
    let requirements = workspace.root.join(REQUIREMENTS);
    let wanted = std::fs::read(&requirements)
        .with_context(|| format!("could not read {}", requirements.display()))?;
    let digest = crate::components::hex(&Sha256::digest(&wanted));
    let stamp = venv.join(STAMP);
    let is_current = std::fs::read_to_string(&stamp).is_ok_and(|text| text.trim() == digest);
    if is_current && capture(Command::new(&interpreter).arg("--version")).is_ok() {
        return Ok(interpreter);
    }
    println!("setup: making a Python environment in {}", workspace.shown(&venv));
    make_venv(&venv)?;
    println!("setup: installing {REQUIREMENTS}");
    // Everything is pinned, so nothing may come along that is not listed.
    run(Command::new(&interpreter)
        .args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-deps"])
        .arg("--requirement")
        .arg(&requirements))
    .context("the Python packages could not be installed")?;
    run(Command::new(&interpreter).args(["-m", "pip", "--disable-pip-version-check", "check"]))
        .with_context(|| format!("{REQUIREMENTS} does not list everything that it needs"))?;
    std::fs::write(&stamp, format!("{digest}\n"))
        .with_context(|| format!("could not write {}", stamp.display()))?;
    Ok(interpreter)
}

/// `python3 -m venv`, with Debian's package for it where it is missing.
fn make_venv(venv: &Path) -> anyhow::Result<()> {
    let attempt = || -> anyhow::Result<()> {
        let mut last = None;
        for python in PYTHONS {
            if !on_path(python) && !Path::new(python).is_file() {
                continue;
            }
            match capture(Command::new(python).args(["-m", "venv", "--clear"]).arg(venv)) {
                Ok(_) => return Ok(()),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(error),
            None => bail!("there is no python3 on PATH"),
        }
    };
    let Err(first) = attempt() else { return Ok(()) };
    println!("setup: no usable `python3 -m venv` yet ({first:#})");
    apt_install(&["python3", "python3-venv"], "the Python clients")
        .with_context(|| format!("the tests need Python 3 with its venv module ({first:#})"))?;
    attempt().context("Python's venv module is installed and still fails")
}

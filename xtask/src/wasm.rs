//! The toolchain for wasm32-unknown-unknown: rustup's where it can be had, else Debian's packages.
//!
//! `PLACET_WASM_TOOLCHAIN=rustup|debian` forces one. Each builds into a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::process::{apt_install, capture, cargo_in, on_path, run};
use crate::workspace::{Workspace, cargo, rustc};

/// The target of every component.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

const RUSTFLAGS: &str = "-C strip=symbols";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_STD: &str = "/usr/lib/rustlib/src/rust";
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// A toolchain that can build the components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The toolchain in use, with the target added through rustup.
    Rustup,
    /// Debian's compiler, which builds the standard library from source; linked by this linker.
    Debian {
        /// rust-lld of the toolchain in use.
        linker: PathBuf,
    },
}

impl Toolchain {
    /// Finds or installs a toolchain, with a line for every step that takes time.
    pub(crate) fn ensure() -> anyhow::Result<Self> {
        match std::env::var("PLACET_WASM_TOOLCHAIN").as_deref() {
            Ok("rustup") => rustup(),
            Ok("debian") => debian(),
            Ok("") | Err(_) => rustup().or_else(|first| {
                println!(
                    "setup: rustup has no {TARGET} here, trying Debian's packages ({first:#})"
                );
                debian()
                    .with_context(|| format!("neither way to {TARGET} worked; rustup: {first:#}"))
            }),
            Ok(other) => {
                bail!("PLACET_WASM_TOOLCHAIN is `{other}`; it may be `rustup` or `debian`")
            }
        }
    }

    /// One word for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Rustup => "rustup",
            Self::Debian { .. } => "Debian",
        }
    }

    /// Builds these packages and returns the folder with their core modules.
    pub(crate) fn build(
        &self,
        workspace: &Workspace,
        packages: &[&str],
    ) -> anyhow::Result<PathBuf> {
        let (program, folder) = match self {
            Self::Rustup => (cargo(), "wasm"),
            Self::Debian { .. } => (PathBuf::from(DEBIAN_CARGO), "wasm-debian"),
        };
        let target = workspace.target.join(folder);
        let mut command = cargo_in(&workspace.root, program);
        command.args(["build", "--locked", "--target", TARGET, "--target-dir"]).arg(&target);
        for package in packages {
            command.args(["--package", package]);
        }
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", RUSTFLAGS);
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        if let Self::Debian { linker } = self {
            command.arg("-Zbuild-std=std,panic_abort");
            command.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", DEBIAN_RUSTC);
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
            command.env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC_WRAPPER");
        }
        run(&mut command)?;
        Ok(target.join(TARGET).join("debug"))
    }
}

/// Whether the toolchain in use has a standard library for the target.
fn has_target() -> bool {
    capture(Command::new(rustc()).args(["--print", "target-libdir", "--target", TARGET]))
        .is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

fn rustup() -> anyhow::Result<Toolchain> {
    if !has_target() {
        if !on_path("rustup") {
            bail!("there is no rustup on PATH");
        }
        println!("setup: adding {TARGET} through rustup");
        // One try only: without a network the packages are the quicker way.
        let mut add = Command::new("rustup");
        run(add.env("RUSTUP_MAX_RETRIES", "0").args(["target", "add", TARGET]))?;
        if !has_target() {
            bail!("rustup added {TARGET}, but `{}` does not have it", rustc().display());
        }
    }
    Ok(Toolchain::Rustup)
}

fn debian() -> anyhow::Result<Toolchain> {
    let linker = lld()?;
    let present = || {
        Path::new(DEBIAN_CARGO).is_file()
            && Path::new(DEBIAN_RUSTC).is_file()
            && Path::new(DEBIAN_STD).is_dir()
    };
    if !present() {
        apt_install(&DEBIAN_PACKAGES, "building for wasm without rustup")?;
        if !present() {
            bail!("{} are installed, yet {DEBIAN_RUSTC} is missing", DEBIAN_PACKAGES.join(", "));
        }
    }
    Ok(Toolchain::Debian { linker })
}

/// The linker that comes with the toolchain in use; Debian's compiler has none for wasm.
fn lld() -> anyhow::Result<PathBuf> {
    let sysroot = capture(Command::new(rustc()).args(["--print", "sysroot"]))?;
    let version = capture(Command::new(rustc()).arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("`rustc -vV` names no host")?;
    let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/rust-lld");
    if !linker.is_file() {
        bail!("the toolchain has no linker for wasm at {}", linker.display());
    }
    Ok(linker)
}

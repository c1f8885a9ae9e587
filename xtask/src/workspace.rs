//! Where things are: the repository, the target folder and the tools of the toolchain in use.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// The repository and its target folder.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's target folder: `target`, or what `CARGO_TARGET_DIR` names.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Finds the repository from where cargo says this crate lives.
    pub(crate) fn locate() -> anyhow::Result<Self> {
        let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root =
            crate_folder.parent().context("the xtask crate has no parent folder")?.to_path_buf();
        ensure!(
            root.join("wit/worlds.wit").is_file(),
            "{} is not the Placet repository: it has no wit/worlds.wit",
            root.display()
        );
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => std::path::absolute(folder).context("CARGO_TARGET_DIR")?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// Where the encoded components are written and where the host looks for them.
    pub(crate) fn components(&self) -> PathBuf {
        self.target.join("components")
    }

    /// The program that `cargo build` makes.
    pub(crate) fn placet(&self) -> PathBuf {
        self.target.join("debug/placet")
    }

    /// The torturer, which `cargo build` makes beside it.
    pub(crate) fn torture(&self) -> PathBuf {
        self.target.join("debug/torture")
    }

    /// The path as shown to people: relative to the repository where it lies inside.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// The rustc beside that cargo, or the one on `PATH`.
pub(crate) fn rustc() -> PathBuf {
    let beside = cargo().with_file_name("rustc");
    if beside.is_file() { beside } else { PathBuf::from("rustc") }
}

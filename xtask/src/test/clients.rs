//! The Rust clients: a package outside the workspace, built together with the SDK's own examples.
//!
//! The examples are compiled from the sources of the installed crate. Where those
//! lie differs from machine to machine, so `setup` writes a manifest of its own
//! into the target folder: the one of `tests/clients/rust` with its paths made
//! absolute and the examples added.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::process::{capture, cargo_in};
use crate::workspace::{Workspace, cargo};

const SOURCES: &str = "tests/clients/rust";
/// The root of each of our programs there.
pub(crate) const ROOTS: [&str; 2] =
    ["tests/clients/rust/src/cases/main.rs", "tests/clients/rust/src/frames/main.rs"];
const SDK: &str = "muse-code-sdk";
/// The examples that are run, each a file in the SDK's `examples`.
const EXAMPLES: [&str; 2] = ["quickstart", "recipes"];

/// Fetches what the clients need and writes their manifest; the folder of the installed SDK.
pub(crate) fn prepare(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let sources = workspace.root.join(SOURCES);
    let sdk = installed(workspace, &sources.join("Cargo.toml"))?;
    let manifest = std::fs::read_to_string(sources.join("Cargo.toml"))
        .with_context(|| format!("could not read {SOURCES}/Cargo.toml"))?;
    let folder = folder(workspace).join("package");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("could not make {}", folder.display()))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        // An unchanged file keeps its time, and cargo its build.
        let is_there = std::fs::read_to_string(&path).is_ok_and(|found| found == text);
        if is_there { Ok(()) } else { std::fs::write(&path, text) }
    };
    let lock = std::fs::read_to_string(sources.join("Cargo.lock"))
        .with_context(|| format!("could not read {SOURCES}/Cargo.lock"))?;
    write("Cargo.toml", &with_examples(&manifest, &sources, &sdk))
        .and_then(|()| write("Cargo.lock", &lock))
        .with_context(|| format!("could not write into {}", folder.display()))?;
    Ok(sdk)
}

/// `cargo build` of the clients and the examples.
pub(crate) fn build(workspace: &Workspace) -> Command {
    let mut command = cargo_in(&workspace.root, cargo());
    // The SDK asks for a newer rustc than the one that Placet is built with, and does well without.
    command.args(["build", "--locked", "--ignore-rust-version", "--manifest-path"]);
    command.arg(folder(workspace).join("package/Cargo.toml"));
    command.arg("--target-dir").arg(folder(workspace));
    command
}

/// A program that the build makes.
pub(crate) fn program(workspace: &Workspace, name: &str) -> PathBuf {
    programs(workspace).join(name)
}

/// The folder of those programs.
pub(crate) fn programs(workspace: &Workspace) -> PathBuf {
    folder(workspace).join("debug")
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("clients-rust")
}

/// Where cargo has unpacked the SDK that the lock file names.
fn installed(workspace: &Workspace, manifest: &Path) -> anyhow::Result<PathBuf> {
    let mut listing = cargo_in(&workspace.root, cargo());
    listing
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(manifest);
    let listed: Value = serde_json::from_str(&capture(&mut listing)?).context("cargo metadata")?;
    let found = listed["packages"].as_array().into_iter().flatten().find(|package| {
        // From a registry: nobody's local copy.
        package["name"] == SDK && package["source"].is_string()
    });
    let manifest = found
        .and_then(|package| package["manifest_path"].as_str())
        .with_context(|| format!("{SOURCES}/Cargo.lock names no {SDK} of a registry"))?;
    let sdk = Path::new(manifest).parent().unwrap_or(Path::new("")).to_path_buf();
    for example in EXAMPLES {
        let file = sdk.join("examples").join(example).with_extension("rs");
        ensure!(file.is_file(), "the installed {SDK} has no example {example}: {}", file.display());
    }
    Ok(sdk)
}

fn with_examples(manifest: &str, sources: &Path, sdk: &Path) -> String {
    let shown = |path: PathBuf| path.display().to_string();
    let absolute = format!("path = \"{}/", shown(sources.join("src")));
    let mut text = manifest.replace("path = \"src/", &absolute);
    for example in EXAMPLES {
        let path = shown(sdk.join("examples").join(example).with_extension("rs"));
        text.push_str(&format!("\n[[bin]]\nname = \"{example}\"\npath = \"{path}\"\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_our_sources_and_the_examples_of_the_installed_crate() {
        let manifest = "[[bin]]\nname = \"cases\"\npath = \"src/cases/main.rs\"\n";
        let text = with_examples(manifest, Path::new("/repository"), Path::new("/registry/sdk"));
        assert_eq!(
            text,
            "[[bin]]\nname = \"cases\"\npath = \"/repository/src/cases/main.rs\"\n\
             \n[[bin]]\nname = \"quickstart\"\npath = \"/registry/sdk/examples/quickstart.rs\"\n\
             \n[[bin]]\nname = \"recipes\"\npath = \"/registry/sdk/examples/recipes.rs\"\n"
        );
    }
}

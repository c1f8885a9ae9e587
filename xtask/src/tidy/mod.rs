//! `cargo xtask tidy`: what review would forget, checked by machine.

mod boundaries;
mod layout;
mod source;
mod wit;
mod words;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::process::{capture, cargo_in};
use crate::workspace::{Workspace, cargo};
use source::Source;

/// What the checks look at.
struct Tree {
    sources: Vec<Source>,
    metadata: Value,
}

/// A check gives one line for everything that it finds.
type Check = fn(&Tree) -> Vec<String>;

const CHECKS: [(&str, Check); 9] = [
    ("dependency_allow_lists", |tree| boundaries::allow_lists(&tree.metadata)),
    ("host_without_guest", |tree| boundaries::host_without_guest(&tree.metadata)),
    ("confined_libraries", |tree| words::confined_libraries(&tree.sources)),
    ("pure_guest", |tree| words::pure_guest(&tree.sources)),
    ("finished", |tree| words::finished(&tree.sources)),
    ("machine_paths", |tree| words::machine_paths(&tree.sources)),
    ("module_docs", |tree| layout::module_docs(&tree.sources)),
    ("file_lengths", |tree| layout::file_lengths(&tree.sources)),
    ("contract_documented", |tree| wit::documented(&tree.sources)),
];

/// The name of every check.
pub(crate) fn names() -> Vec<String> {
    CHECKS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// Runs every check; prints `ok NAME`, or `FAILED NAME` with what was found.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let listed = capture(cargo_in(&workspace.root, cargo()).args([
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    let tree = Tree {
        sources: source::read_tree(&workspace.root)?,
        metadata: serde_json::from_str(&listed).context("cargo metadata")?,
    };
    let mut failed = 0_usize;
    for (name, check) in CHECKS {
        let found = check(&tree);
        if found.is_empty() {
            println!("ok {name}");
            continue;
        }
        failed += 1;
        println!("FAILED {name}");
        for line in found {
            println!("  {line}");
        }
    }
    println!("tidy: {} checks over {} files", CHECKS.len(), tree.sources.len());
    if failed > 0 {
        bail!("{failed} of {} tidy checks failed", CHECKS.len());
    }
    Ok(())
}

//! What tests of the program share: components, homes, and a client on a host's pipes.

mod client;
mod home;
mod terminal;

pub(crate) use client::{Host, command_id, is_method, of_turn};
pub(crate) use home::{Ended, Home};
pub(crate) use terminal::{CHOICE, Terminal};

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The names of the mode components.
pub(crate) const MODES: [&str; 4] = ["allowAll", "denyUnmatched", "onRequest", "promptUnmatched"];

/// The program.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_placet"))
}

/// The folder of built components.
pub(crate) fn components() -> PathBuf {
    let folder = match std::env::var_os("PLACET_COMPONENTS") {
        Some(named) => PathBuf::from(named),
        None => program().ancestors().nth(2).expect("target").join("components"),
    };
    let policy = folder.join("policy.wasm");
    assert!(policy.is_file(), "{} is missing: run `cargo xtask components`", policy.display());
    folder
}

/// A component by its name, or the hostile one.
pub(crate) fn component(name: &str) -> PathBuf {
    let path = match name {
        "hostile" => components().join("hostile/hostile.wasm"),
        name => components().join(name).with_extension("wasm"),
    };
    assert!(path.is_file(), "{} is missing: run `cargo xtask components`", path.display());
    path
}

/// A folder of components that a test may change.
pub(crate) struct Parts(TempDir);

impl Parts {
    pub(crate) fn copy() -> Parts {
        let parts = Parts(tempfile::tempdir().unwrap());
        for name in ["policy"].iter().chain(&MODES) {
            parts.put(name, name);
        }
        parts
    }

    /// A copy in which one component stands behind another's name.
    pub(crate) fn with(behind: &str, other: &str) -> Parts {
        let parts = Parts::copy();
        parts.put(behind, other);
        parts
    }

    /// Puts a component behind a name.
    pub(crate) fn put(&self, behind: &str, name: &str) {
        std::fs::copy(component(name), self.file(behind)).unwrap();
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name).with_extension("wasm")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }
}

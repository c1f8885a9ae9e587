//! `cargo xtask components`: from crates to inspected components in `target/components`.

mod inspect;

use std::path::Path;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use wit_component::ComponentEncoder;

use crate::wasm::Toolchain;
use crate::workspace::Workspace;
use inspect::{Role, inspect};

/// One component: the crate it is made from and the file it becomes.
struct Part {
    package: &'static str,
    name: &'static str,
    role: Role,
}

/// Exactly these are built, and nothing else may lie beside them. The last is for tests of the
/// fences, in a folder of its own where no host looks.
const PARTS: [Part; 6] = [
    Part { package: "placet-component", name: "policy", role: Role::Policy },
    Part { package: "placet-mode-allow-all", name: "allowAll", role: Role::Mode },
    Part { package: "placet-mode-prompt-unmatched", name: "promptUnmatched", role: Role::Mode },
    Part { package: "placet-mode-on-request", name: "onRequest", role: Role::Mode },
    Part { package: "placet-mode-deny-unmatched", name: "denyUnmatched", role: Role::Mode },
    Part { package: "placet-mode-hostile", name: "hostile/hostile", role: Role::Mode },
];

/// Builds, encodes, inspects and writes every component; prints what came out.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let toolchain = Toolchain::ensure()?;
    println!("components: building for wasm with {}", toolchain.name());
    let packages: Vec<&str> = PARTS.iter().map(|part| part.package).collect();
    let modules = toolchain.build(workspace, &packages)?;
    let folder = workspace.components();
    std::fs::create_dir_all(folder.join("hostile"))
        .with_context(|| format!("could not create {}", folder.display()))?;
    println!("{:<16} {:>9}  {:<64}  imports", "component", "bytes", "sha256");
    for part in &PARTS {
        let module = modules.join(format!("{}.wasm", part.package.replace('-', "_")));
        let core = std::fs::read(&module)
            .with_context(|| format!("could not read {}", module.display()))?;
        let component = encode(&core).with_context(|| format!("component `{}`", part.name))?;
        let report =
            inspect(&component, part.role).with_context(|| format!("component `{}`", part.name))?;
        replace(&folder.join(format!("{}.wasm", part.name)), &component)?;
        let digest = hex(&Sha256::digest(&component));
        println!("{:<16} {:>9}  {digest}  {report}", part.name, component.len());
    }
    only_known(&folder)?;
    println!("components: one policy and four modes in {}", workspace.shown(&folder));
    Ok(())
}

fn encode(core: &[u8]) -> anyhow::Result<Vec<u8>> {
    ComponentEncoder::default()
        .module(core)
        .context("the module has no contract from wit/")?
        .validate(true)
        .encode()
        .context("the module cannot be encoded without an adapter")
}

/// Writes a file as a whole or not at all; leaves it alone when it already holds these bytes.
fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let temporary = path.with_extension(format!("wasm.{}", std::process::id()));
    std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .with_context(|| format!("could not write {}", path.display()))
}

/// A component that nobody inspected must not lie where the host looks.
fn only_known(folder: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_component = path.extension().is_some_and(|extension| extension == "wasm");
        if is_component && !PARTS.iter().any(|part| part.name == stem) {
            bail!("{} is not one of the five components; remove it", path.display());
        }
    }
    Ok(())
}

/// Two lower-case digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

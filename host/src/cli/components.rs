//! `placet --components`

use super::{EXIT_CONFIGURATION, Failure};
use crate::engine::{Engine, components_folder};
use crate::home::Home;

/// Prints name and digest of each component that a host would use.
pub(super) fn print() -> Result<(), Failure> {
    let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
    let home =
        Home::open(&Home::default_folder().map_err(configuration)?).map_err(configuration)?;
    let folder = components_folder()?;
    let engine = Engine::load(&folder, &home.cache())?;
    println!("{}", folder.display());
    for (name, digest) in engine.catalog().digests() {
        println!("{name:<16} {digest}");
    }
    Ok(())
}

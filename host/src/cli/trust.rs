//! `placet trust`: rule files of workspaces that may also allow.

use super::{EXIT_CONFIGURATION, EXIT_OK, EXIT_USAGE, Failure, check, from_outside, runtime, show};
use crate::config::FILE;
use crate::engine::types::{RuleLayer, RuleOrigin};
use crate::engine::{Engine, components_folder};
use crate::home::Home;
use crate::trust::{Trusted, digest};
use std::path::PathBuf;

/// Trust a workspace's placet.toml as it is now: it may allow, not only narrow
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Trust {
    /// The workspace; the current folder when absent
    folder: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long, conflicts_with = "list")]
    end: bool,
    /// List what is trusted
    #[arg(long, conflicts_with = "folder")]
    list: bool,
}

const EXAMPLES: &str = "\
Examples:
  placet trust              the placet.toml of this folder, after you have read it
  placet trust --list       which are trusted, and whether they have changed since
  placet trust --end .      no longer

Trust is in what the file says now. When it changes, by a pull for example, it may only
narrow again, and what it allowed is asked about until you trust it anew.";

impl Trust {
    pub(super) fn run(self) -> Result<u8, Failure> {
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let home =
            Home::open(&Home::default_folder().map_err(configuration)?).map_err(configuration)?;
        let mut trusted = Trusted::read(home.folder()).map_err(configuration)?;
        if self.list {
            list(&trusted);
            return Ok(EXIT_OK);
        }
        from_outside("trusts nothing")?;
        let folder = self.folder.unwrap_or_else(|| PathBuf::from("."));
        let root = match folder.canonicalize() {
            Ok(root) => root.to_string_lossy().into_owned(),
            // What is gone can still be forgotten, by the name that the list shows.
            Err(_) if self.end => folder.to_string_lossy().into_owned(),
            Err(error) => {
                let why = format!("{}: {error}", folder.display());
                return Err(Failure::new(EXIT_USAGE, why));
            }
        };
        if self.end {
            if trusted.workspaces.remove(&root).is_none() {
                let why = format!("{root} was not trusted; `placet trust --list` shows what is");
                return Err(Failure::new(EXIT_USAGE, why));
            }
            trusted.write(home.folder()).map_err(configuration)?;
            show::line(show::visible(&format!("{root} is not trusted any more")));
            return Ok(EXIT_OK);
        }
        let path = PathBuf::from(&root).join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| configuration(format!("cannot read {}: {error}", path.display())))?;
        let name = path.to_string_lossy().into_owned();
        let layer = RuleLayer { name, origin: RuleOrigin::TrustedWorkspace, text: text.clone() };
        let engine = Engine::load(&components_folder()?, &home.cache())?;
        if check::tell(&runtime()?.block_on(engine.check_rules(vec![layer]))?) > 0 {
            let why = format!("{} cannot be relied on, so it is not trusted", path.display());
            return Err(configuration(why));
        }
        let digest = digest(&text);
        show::line(show::visible(&format!("{root} is trusted as it is now, {digest}")));
        trusted.workspaces.insert(root, digest);
        trusted.write(home.folder()).map_err(configuration)?;
        Ok(EXIT_OK)
    }
}

fn list(trusted: &Trusted) {
    if trusted.workspaces.is_empty() {
        show::tell("placet: no workspace is trusted");
    }
    for (root, known) in &trusted.workspaces {
        let state = match std::fs::read_to_string(PathBuf::from(root).join(FILE)) {
            Ok(text) if digest(&text) == *known => "trusted",
            Ok(_) => "has changed, so it may only narrow",
            Err(_) => "has no placet.toml that can be read",
        };
        show::line(show::visible(&format!("{root}  {state}")));
    }
}

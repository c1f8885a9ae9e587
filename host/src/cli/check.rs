//! `placet check`: what is wrong with rule files.

use super::{EXIT_CONFIGURATION, EXIT_OK, Failure, runtime, show};
use crate::config::{UserConfig, WorkspaceConfig};
use crate::engine::types::{Finding, PathClass, Severity};
use crate::engine::{Engine, components_folder};
use crate::home::Home;
use crate::reviewer::Reviewer;
use crate::sessions::Rulebook;
use clap::Args;
use std::path::PathBuf;

/// Check rule files: what is wrong with them, with line and column
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// The files; without one the user's own placet.toml and that of this folder
    files: Vec<PathBuf>,

    /// Print which paths are protected here and which hold credentials, and where each entry is from
    #[arg(long, conflicts_with = "files")]
    protected: bool,
}

const EXAMPLES: &str = "\
Examples:
  placet check               the rules in force here
  placet check draft.toml    a file before it is put in place
  placet check --protected   the paths that only a person lets anybody write

It ends with 0 when nothing is wrong (warnings are only said), else with 3.";

impl Check {
    pub(super) fn run(self) -> Result<u8, Failure> {
        runtime()?.block_on(self.check())
    }

    async fn check(self) -> Result<u8, Failure> {
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let home =
            Home::open(&Home::default_folder().map_err(configuration)?).map_err(configuration)?;
        if self.protected {
            return protected(&home);
        }
        let engine = Engine::load(&components_folder()?, &home.cache())?;
        let mut errors = 0_u64;
        let mut looked = 0_u64;
        if self.files.is_empty() {
            let folder = std::env::current_dir().and_then(|folder| folder.canonicalize()).ok();
            let set = Rulebook::new(home.folder(), None).at(folder.as_deref(), &[]);
            looked = set.layers.len() as u64;
            errors = tell(&engine.check_rules(set.layers).await?);
            // What is no TOML was told already, with its place like everything else.
            if errors == 0 {
                UserConfig::read(home.folder()).map_err(configuration)?;
                if let Some(folder) = &folder {
                    WorkspaceConfig::read(folder).map_err(configuration)?;
                }
            }
        }
        for file in &self.files {
            if let Err(error) = std::fs::metadata(file) {
                return Err(configuration(format!("cannot read {}: {error}", file.display())));
            }
            looked += 1;
            errors += tell(&engine.check_rules(Rulebook::file(file).layers).await?);
        }
        if errors == 0 {
            show::line(format_args!("{looked} rule files, nothing wrong"));
            return Ok(EXIT_OK);
        }
        show::tell(format_args!(
            "placet: {errors} errors; nothing is allowed by rules until they are mended"
        ));
        Ok(EXIT_CONFIGURATION)
    }
}

/// Prints the lists in force in this folder.
fn protected(home: &Home) -> Result<u8, Failure> {
    let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
    UserConfig::read(home.folder()).map_err(configuration)?;
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize()).ok();
    if let Some(folder) = &folder {
        WorkspaceConfig::read(folder).map_err(configuration)?;
    }
    let own = show::visible(&home.folder().display().to_string());
    show::line(format_args!("denied      {own}  (Placet's own home)"));
    for (class, entry) in Reviewer::new(home.folder()).at(folder.as_deref()).listed() {
        let class = if class == PathClass::Credential { "credential" } else { "protected " };
        let (text, from) = (show::visible(&entry.text), show::visible(&entry.from));
        show::line(format_args!("{class}  {text}  ({from})"));
    }
    Ok(EXIT_OK)
}

/// Prints findings; how many are errors.
pub(super) fn tell(findings: &[Finding]) -> u64 {
    let mut errors = 0_u64;
    for found in findings {
        let severity = match found.severity {
            Severity::Error => {
                errors += 1;
                "error"
            }
            Severity::Warning => "warning",
        };
        let Finding { layer, line, column, message, hint, .. } = found;
        let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
        show::tell(show::visible(&format!("{layer}:{line}:{column}: {severity}: {message}{hint}")));
    }
    errors
}

//! `placet serve`

use super::host::Host;
use super::{EXIT_CONFIGURATION, EXIT_FAILED, Failure, become_host, runtime};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tokio::signal::unix::{SignalKind, signal};

/// Serve MSP to the client that started this program, on stdin and stdout.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// The schema fingerprint to answer with, instead of the configured one
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<String>,
    /// JSON turns by the text that stands for them, for tests and demonstrations
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// A rule file for the sessions of this host, beside placet.toml
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(self) -> Result<(), Failure> {
        become_host()?;
        let runtime = runtime()?;
        let served = runtime.block_on(self.serve());
        // A read of stdin that is under way cannot be called back; nobody waits for it.
        runtime.shutdown_background();
        served
    }

    async fn serve(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(EXIT_FAILED, error.to_string());
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let script = script(self.script.as_deref()).map_err(configuration)?;
        let host = Host::open(self.fingerprint, script, self.rules).await?;
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let stop = async move {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        };
        let input = tokio::io::BufReader::new(tokio::io::stdin());
        host.serve("stdio", input, tokio::io::stdout(), stop).await
    }
}

/// Reads `{"turn text": {JSON turn}}`.
fn script(path: Option<&Path>) -> Result<HashMap<String, String>, String> {
    let Some(path) = path else { return Ok(HashMap::new()) };
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| place(&error))?;
    let turns: HashMap<String, serde_json::Value> =
        serde_json::from_str(&text).map_err(|error| place(&error))?;
    Ok(turns.into_iter().map(|(text, turn)| (text, turn.to_string())).collect())
}

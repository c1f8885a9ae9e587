//! `placet serve`

use super::host::Host;
use super::{EXIT_FAILED, Failure, runtime};
use tokio::signal::unix::{SignalKind, signal};

/// Serve MSP to the client that started this program, on stdin and stdout.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// The schema fingerprint to answer with, instead of the configured one
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<String>,
}

impl Serve {
    pub(super) fn run(self) -> Result<(), Failure> {
        let runtime = runtime()?;
        let served = runtime.block_on(self.serve());
        // A read of stdin that is under way cannot be called back; nobody waits for it.
        runtime.shutdown_background();
        served
    }

    async fn serve(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(EXIT_FAILED, error.to_string());
        let host = Host::open(self.fingerprint)?;
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

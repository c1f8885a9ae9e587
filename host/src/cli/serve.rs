//! `placet serve`

use super::{EXIT_CONFIGURATION, EXIT_FAILED, Failure, runtime};
use crate::config::UserConfig;
use crate::engine::{Engine, components_folder};
use crate::exec;
use crate::home::Home;
use crate::log::{Faults, SqliteLog};
use crate::sessions::{Clock, Hub, HubOptions};
use crate::transport::{self, Listener};
use std::sync::Arc;
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
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let failed = |error: std::io::Error| Failure::new(EXIT_FAILED, error.to_string());
        let home =
            Home::open(&Home::default_folder().map_err(configuration)?).map_err(configuration)?;
        let config = UserConfig::read(home.folder()).map_err(configuration)?;
        let faults = Arc::new(Faults::from_env()?);
        let engine = Engine::load(&components_folder()?, &home.cache())?;
        let log = SqliteLog::open_with(home.folder(), Arc::clone(&faults))?;
        let listener = Listener {
            name: "stdio".to_owned(),
            seal: config.stdio_seal().to_owned(),
            fingerprint: self.fingerprint.unwrap_or_else(|| config.fingerprint().to_owned()),
        };
        let hub = Hub::new(HubOptions {
            engine,
            log,
            home,
            config,
            clock: Clock::system(),
            supervisor: exec::own_binary().to_owned(),
        });
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let stop = async move {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
            }
        };
        let input = tokio::io::BufReader::new(tokio::io::stdin());
        let output = tokio::io::stdout();
        transport::serve(hub, listener, input, output, faults, stop).await.map_err(failed)
    }
}

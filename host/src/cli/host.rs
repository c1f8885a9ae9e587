//! A host in this process, for the verbs that need one.

use super::{EXIT_CONFIGURATION, EXIT_FAILED, Failure, check};
use crate::config::UserConfig;
use crate::engine::{Engine, components_folder};
use crate::exec;
use crate::home::Home;
use crate::log::{Faults, Log as _, SqliteLog};
use crate::sessions::{Clock, Hub, HubOptions, Rulebook};
use crate::transport::{self, Listener, Socket};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncWrite};

/// A hub over a log that the caller opened: it shows sessions, and loads none.
pub(super) fn reader(folder: &Path, log: Arc<SqliteLog>) -> Result<Arc<Hub>, Failure> {
    let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
    let home = Home::open(folder).map_err(configuration)?;
    let config = UserConfig::read(home.folder()).map_err(configuration)?;
    let engine = Engine::load(&components_folder()?, &home.cache())?;
    let (clock, supervisor) = (Clock::system(), exec::own_binary().to_owned());
    let (script, rules) = (HashMap::new(), None);
    Ok(Hub::new(HubOptions { engine, log, home, config, clock, supervisor, script, rules }))
}

/// A host that serves nobody yet.
pub(super) struct Host {
    hub: Arc<Hub>,
    log: Arc<SqliteLog>,
    faults: Arc<Faults>,
    fingerprint: String,
}

impl Host {
    /// Opens the home, the components and the log. `script` and `rules` are the hub's.
    pub(super) async fn open(
        fingerprint: Option<String>,
        script: HashMap<String, String>,
        rules: Option<PathBuf>,
    ) -> Result<Host, Failure> {
        let configuration = |message: String| Failure::new(EXIT_CONFIGURATION, message);
        let home =
            Home::open(&Home::default_folder().map_err(configuration)?).map_err(configuration)?;
        let config = UserConfig::read(home.folder()).map_err(configuration)?;
        let faults = Arc::new(Faults::from_env()?);
        let engine = Engine::load(&components_folder()?, &home.cache())?;
        // However the working folder changes, it is the same file.
        let rules = rules.map(std::path::absolute).transpose();
        let rules = rules.map_err(|error| configuration(error.to_string()))?;
        let findings = Rulebook::new(home.folder(), rules.clone()).at(None, &[]);
        if check::tell(&engine.check_rules(findings.layers).await?) > 0 {
            let why = "the rules cannot be relied on; mend them, `placet check` looks again";
            return Err(Failure::new(EXIT_CONFIGURATION, why));
        }
        let log = SqliteLog::open_with(home.folder(), Arc::clone(&faults))?;
        let fingerprint = fingerprint.unwrap_or_else(|| config.fingerprint().to_owned());
        let hub = Hub::new(HubOptions {
            engine,
            log: Arc::clone(&log) as Arc<dyn crate::log::Log>,
            home,
            config,
            clock: Clock::system(),
            supervisor: exec::own_binary().to_owned(),
            script,
            rules,
        });
        Ok(Host { hub, log, faults, fingerprint })
    }

    /// Serves the one who started this process, and whoever comes by the socket,
    /// until the input ends or `stop` resolves.
    pub(super) async fn serve<R, W>(
        self,
        name: &str,
        input: R,
        output: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Failure>
    where
        R: AsyncBufRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let socket = self.socket().await;
        let seal = self.hub.config().stdio_seal().to_owned();
        let listener = self.listener(name, seal);
        let Host { hub, log: _log, faults, .. } = self;
        tokio::spawn(exec::kin::attend());
        transport::serve_beside(socket, hub, listener, input, output, faults, stop)
            .await
            .map_err(|error| Failure::new(EXIT_FAILED, error.to_string()))
    }

    fn listener(&self, name: &str, seal: String) -> Listener {
        Listener { name: name.to_owned(), seal, fingerprint: self.fingerprint.clone() }
    }

    /// The host works without a socket too, so that a failure is only told.
    async fn socket(&self) -> Option<Socket> {
        let config = self.hub.config();
        if !config.opens_socket() {
            return None;
        }
        let listener = self.listener("socket", config.socket_seal().to_owned());
        let hosts = self.hub.home().folder().join("hosts");
        let (hub, faults) = (Arc::clone(&self.hub), Arc::clone(&self.faults));
        let opened = Socket::open(hub, listener, &hosts, self.log.host(), faults);
        let told = match opened {
            Ok(socket) => {
                let path = socket.path().to_string_lossy().into_owned();
                let told = self.log.set_socket(Some(&path)).await;
                told.map(|()| socket).map_err(|error| error.to_string())
            }
            Err(why) => Err(why),
        };
        match told {
            Ok(socket) => Some(socket),
            Err(why) => {
                eprintln!(
                    "placet: {why}; `placet pending` and `placet decide` cannot reach this host \
                     (`socket = false` under [serve] in placet.toml turns the socket off)"
                );
                None
            }
        }
    }
}

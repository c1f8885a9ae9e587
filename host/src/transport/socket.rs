//! The socket of a host: how other programs of the same user reach its sessions.
//!
//! Each host has one of its own, `hosts/<host>.sock` in the home, beside the file
//! whose lock is its life. Whoever finds that lock free removes both. Who may connect
//! is said in [`super::peer`].

use super::connection::{Attended, Listener, attend};
use super::frames::WireError;
use super::peer::admit;
use crate::limits;
use crate::log::Faults;
use crate::sessions::Hub;
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// The longest path that a socket's address holds, less its end.
const ADDRESS_BYTES_MAX: usize = 107;

/// How far the end of the host has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// Nothing is read any more, what happens is still told.
    Quiet,
    /// The sessions have left.
    Gone,
}

/// The open socket of a host.
pub struct Socket {
    path: PathBuf,
    phase: watch::Sender<Phase>,
    /// Ends when nobody reads from a connection any more.
    reading: mpsc::Receiver<()>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Socket {
    /// Opens the socket of `host` in the folder `hosts` and serves it.
    ///
    /// # Errors
    /// A sentence when it cannot be opened.
    pub fn open(
        hub: Arc<Hub>,
        listener: Listener,
        hosts: &Path,
        host: &str,
        faults: Arc<Faults>,
    ) -> Result<Socket, String> {
        let path = hosts.join(format!("{host}.sock"));
        let bound = bind(hosts, &path)
            .map_err(|error| format!("cannot open the socket {}: {error}", path.display()))?;
        let (phase, phases) = watch::channel(Phase::Open);
        let (reads, reading) = mpsc::channel(1);
        let service = Service { hub, listener, faults, phases, reads };
        Ok(Socket { path, phase, reading, accepting: tokio::spawn(service.accept(bound)) })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes no connections and no requests any more.
    pub(super) async fn quiet(&mut self) {
        // Whoever connects from here on finds no file, rather than a host that does not answer.
        let _ = fs::remove_file(&self.path);
        self.phase.send_replace(Phase::Quiet);
        while self.reading.recv().await.is_some() {}
    }

    /// Ends the connections once everything is written, or after a while.
    pub(super) async fn close(self) {
        self.phase.send_replace(Phase::Gone);
        let _ = self.accepting.await;
    }
}

/// Connects to the socket of a host.
///
/// # Errors
/// When nobody serves it.
pub async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, _folder) = address(path)?;
    UnixStream::connect(address).await
}

fn bind(hosts: &Path, path: &Path) -> io::Result<UnixListener> {
    // The folder keeps others out while the file does not have its mode yet.
    if fs::metadata(hosts)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(hosts, Permissions::from_mode(0o700))?;
    }
    let (address, _folder) = address(path)?;
    let listener = UnixListener::bind(address)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A name for `path` that fits an address: one that is too long is named by an open
/// descriptor of its folder, which is good as long as that is open.
fn address(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((path.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let alias = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if !alias.exists() {
        return Err(io::Error::other(format!(
            "its path is longer than {ADDRESS_BYTES_MAX} bytes; set PLACET_HOME to a shorter one"
        )));
    }
    Ok((alias.join(name), Some(folder)))
}

struct Service {
    hub: Arc<Hub>,
    listener: Listener,
    faults: Arc<Faults>,
    phases: watch::Receiver<Phase>,
    reads: mpsc::Sender<()>,
}

impl Service {
    async fn accept(self, bound: UnixListener) {
        let mut phases = self.phases.clone();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = until(&mut phases, Phase::Quiet) => break,
                Some(_) = connections.join_next() => {}
                accepted = bound.accept() => match accepted {
                    Ok((stream, _)) if connections.len() < limits::SOCKET_CONNECTIONS_MAX => {
                        connections.spawn(self.connection(stream));
                    }
                    Ok((stream, _)) => {
                        let why = "this host has as many connections as it serves; try again";
                        refuse(stream, WireError::new(-32001, "overloaded", why)).await;
                    }
                    // Out of descriptors, most likely; the next attempt may find some.
                    Err(_) => {
                        let pause = Duration::from_millis(limits::SOCKET_ACCEPT_PAUSE_MS);
                        tokio::time::sleep(pause).await;
                    }
                }
            }
        }
        drop((self, bound));
        while connections.join_next().await.is_some() {}
    }

    fn connection(&self, stream: UnixStream) -> impl Future<Output = ()> + Send + 'static {
        let (hub, listener) = (Arc::clone(&self.hub), self.listener.clone());
        let (faults, mut phases) = (Arc::clone(&self.faults), self.phases.clone());
        let reads = self.reads.clone();
        async move {
            if let Err(fault) = admit(&stream) {
                return refuse(stream, fault).await;
            }
            let (input, output) = stream.into_split();
            let mut ending = phases.clone();
            let stopped = until(&mut ending, Phase::Quiet);
            let input = BufReader::new(input);
            // How a peer ended is its own affair.
            let (attended, _) = attend(&hub, listener, input, output, faults, stopped).await;
            drop((reads, hub));
            let host_goes_on = *phases.borrow() == Phase::Open;
            if host_goes_on {
                return attended.leave().await;
            }
            until(&mut phases, Phase::Gone).await;
            end(attended).await;
        }
    }
}

/// Resolves when the host has come as far; one that vanished has.
async fn until(phases: &mut watch::Receiver<Phase>, phase: Phase) {
    let _ = phases.wait_for(|now| *now >= phase).await;
}

/// Writes what is left, for a peer that reads it.
async fn end(attended: Attended) {
    let writer = attended.abort_handle();
    let drained = attended.drain();
    let limit = Duration::from_millis(limits::SOCKET_DRAIN_MS_MAX);
    if tokio::time::timeout(limit, drained).await.is_err() {
        writer.abort();
    }
}

async fn refuse(mut stream: UnixStream, fault: WireError) {
    let frame = format!("{}\n", fault.frame(&Value::Null));
    // One short line fits every socket's buffer; who does not read it is refused all the same.
    let _ = stream.write_all(frame.as_bytes()).await;
}

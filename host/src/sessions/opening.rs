//! How a session comes into being, and how one is loaded and recovered.

use super::advance::{self, Appended, Ground, Halted, Question};
use super::hub::{Hub, fold, log_fault};
use super::ledger::Ledger;
use super::outlet::{Fault, Outlet};
use super::{Start, history};
use crate::config::WorkspaceConfig;
use crate::engine::types::{
    Caller, CommandId, Effect, Input, Outcome, Overview, Recovery, Refusal, SessionStart,
};
use crate::log::{Head, Lease, Log, LogError, Mark, SessionMeta, Version};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;

/// A session that this host holds, ready for its actor.
pub(super) struct Opened {
    pub(super) session: String,
    pub(super) lease: Lease,
    pub(super) version: Version,
    pub(super) state: Arc<[u8]>,
    pub(super) overview: Overview,
    pub(super) ledger: Ledger,
    pub(super) withheld: Vec<String>,
    pub(super) folder: PathBuf,
    pub(super) ground: Arc<Ground>,
    /// What recovery wants done.
    pub(super) effects: Vec<Effect>,
}

/// What follows from a session's workspace.
struct Place {
    withheld: Vec<String>,
    folder: PathBuf,
    ground: Ground,
}

/// How a session/start ended.
pub(super) enum Started {
    Fresh(Box<Opened>, String),
    Replay(String),
}

/// Who sends a command, as the component is told.
pub(super) fn caller(
    hub: &Hub,
    outlet: &Arc<dyn Outlet>,
    withheld: &[String],
    subscribed: bool,
) -> Caller {
    let party = outlet.party();
    let mut all = hub.config.authority.withhold.clone();
    all.extend_from_slice(withheld);
    Caller {
        client: party.client.clone(),
        connection: party.connection.clone(),
        seal: party.seal.clone(),
        withheld: all,
        subscribed,
    }
}

pub(super) async fn start(
    hub: &Hub,
    start: Start,
    outlet: &Arc<dyn Outlet>,
) -> Result<Started, Fault> {
    let session = match &start.session {
        Some(wanted) => checked_id(wanted)?,
        None => derived_id(hub, &start.id),
    };
    if let Some(ack) = replay(hub, &session, &start).await? {
        return Ok(Started::Replay(ack));
    }
    let workspace = match &start.workspace {
        Some(path) => Some(workspace_root(path)?),
        None => None,
    };
    let withheld = withheld(workspace.as_deref(), &start.id)?;
    let input = Input::Start(SessionStart {
        command: CommandId { id: start.id.clone(), payload: start.payload.clone() },
        caller: caller(hub, outlet, &withheld, true),
        mode: start.mode.clone(),
        workspace_root: workspace.clone(),
        provider_id: start.provider.clone(),
        model_id: start.model.clone(),
    });
    let ledger = Ledger::default();
    let ground = Ground::new(workspace.as_deref());
    let question = Question::Step(None, Box::new(input));
    let outcome = advance::ask(hub, &session, &ground, &ledger, &question)
        .await
        .map_err(|halted| fault(halted, &start.id))?;
    let folder = working_folder(hub, &session, workspace.as_deref())?;
    let place = Place { withheld, folder, ground };
    let meta = SessionMeta { created_ms: (hub.clock.now_ms)(), workspace };
    let lease = create(hub.log.as_ref(), &session, meta).await?;
    let ack = outcome.ack.clone().unwrap_or_default();
    let begun = match hub.log.head(&session).await {
        Ok(head) => begin(hub, lease.clone(), head, ledger, outcome, place).await,
        Err(error) => Err(log_fault(&session, &error)),
    };
    match begun {
        Ok(opened) => Ok(Started::Fresh(Box::new(opened), ack)),
        Err(fault) => {
            // Without it the same command could not be tried again in this host.
            let _ = hub.log.release(lease).await;
            Err(fault)
        }
    }
}

/// The ack of a session/start that was taken before, or a fault where the id is in use.
async fn replay(hub: &Hub, session: &str, start: &Start) -> Result<Option<String>, Fault> {
    let read = |error| log_fault(session, &error);
    let known = hub.log.session(session).await.map_err(read)?;
    if known.is_some_and(|row| row.head_sequence > 0) {
        let headers = hub.log.headers(session).await.map_err(read)?;
        for mark in headers.iter().take(1).flat_map(|header| &header.marks) {
            match mark {
                Mark::Command { scope, id, payload, ack } if scope == "home" && *id == start.id => {
                    return if *payload == start.payload {
                        Ok(Some(ack.clone()))
                    } else {
                        Err(Fault::CommandConflict { command: start.id.clone() })
                    };
                }
                _ => {}
            }
        }
        return Err(Fault::Rejected {
            command: start.id.clone(),
            reason: "session_id_conflict".to_owned(),
            message: format!("there is a session {session} already; resume it or use another id"),
        });
    }
    match hub.log.command("home", &start.id).await.map_err(read)? {
        Some(_) => Err(Fault::CommandConflict { command: start.id.clone() }),
        None => Ok(None),
    }
}

/// Creates the session's row, or takes over one that a crash left without records.
async fn create(log: &dyn Log, session: &str, meta: SessionMeta) -> Result<Lease, Fault> {
    match log.create(session, meta).await {
        Err(LogError::SessionExists { .. }) => log.lease(session).await,
        other => other,
    }
    .map_err(|error| log_fault(session, &error))
}

pub(super) async fn load(
    hub: &Hub,
    session: &str,
    outlet: &Arc<dyn Outlet>,
    command: &str,
) -> Result<Opened, Fault> {
    let read = |error: LogError| log_fault(session, &error);
    match hub.log.session(session).await.map_err(read)? {
        Some(row) if row.head_sequence > 0 => {}
        _ => return Err(Fault::NotFound(session.to_owned())),
    }
    let lease = hub.log.lease(session).await.map_err(read)?;
    match recover(hub, session, lease.clone(), outlet, command).await {
        Ok(opened) => Ok(opened),
        Err(fault) => {
            // The session stays as it was; another attempt or another host may have it.
            let _ = hub.log.release(lease).await;
            Err(fault)
        }
    }
}

async fn recover(
    hub: &Hub,
    session: &str,
    lease: Lease,
    outlet: &Arc<dyn Outlet>,
    command: &str,
) -> Result<Opened, Fault> {
    let read = |error: LogError| log_fault(session, &error);
    // A log that is not as it was written decides nothing.
    if let Err(broken) = hub.log.verify(session).await.map_err(read)? {
        return Err(Fault::Internal(format!(
            "the session {session} is quarantined, its log is not as it was written: {broken}; \
             `placet log verify {session}` checks it again"
        )));
    }
    let head = hub.log.head(session).await.map_err(read)?;
    let headers = hub.log.headers(session).await.map_err(read)?;
    let ledger = Ledger::new(&headers);
    let records = history::records(hub, session, 0).await?;
    let state: Arc<[u8]> = fold(hub, records).await?.into();
    let row = hub.log.session(session).await.map_err(read)?;
    let workspace = row.and_then(|row| row.workspace);
    let withheld = withheld(workspace.as_deref(), command)?;
    let recovery = Recovery { caller: caller(hub, outlet, &withheld, true) };
    let ground = Ground::new(workspace.as_deref());
    let question = Question::Recover(state, recovery);
    let outcome = advance::ask(hub, session, &ground, &ledger, &question)
        .await
        .map_err(|halted| fault(halted, ""))?;
    let folder = working_folder(hub, session, workspace.as_deref())?;
    begin(hub, lease, head, ledger, outcome, Place { withheld, folder, ground }).await
}

/// Appends the first batch of this host and makes the session ready for its actor.
async fn begin(
    hub: &Hub,
    lease: Lease,
    head: Head,
    mut ledger: Ledger,
    outcome: Outcome,
    place: Place,
) -> Result<Opened, Fault> {
    let session = lease.session.clone();
    if let Some(approval) = advance::closes_twice(&ledger, &outcome.records) {
        return Err(Fault::Internal(format!("the approval {approval} would be closed twice")));
    }
    match advance::append(hub, &lease, &head.version, &outcome.records).await {
        Appended::Durable(version) => {
            for record in &outcome.records {
                ledger.add(&advance::header(&record.header));
            }
            Ok(Opened {
                session,
                lease,
                version,
                state: outcome.state.into(),
                overview: outcome.overview,
                ledger,
                withheld: place.withheld,
                folder: place.folder,
                ground: Arc::new(place.ground),
                effects: outcome.effects,
            })
        }
        other => Err(advance::append_fault(&session, &other)),
    }
}

/// The fault that a halted step is to its client.
pub(super) fn fault(halted: Halted, command: &str) -> Fault {
    match halted {
        Halted::Fault(fault) => fault,
        Halted::Refused(Refusal::Unreadable(why) | Refusal::Misuse(why)) => Fault::Internal(why),
        Halted::Refused(refusal) => Fault::Refused { refusal, command: command.to_owned() },
    }
}

/// The modes that a workspace withholds. A file that cannot be read is no permission.
fn withheld(workspace: Option<&str>, command: &str) -> Result<Vec<String>, Fault> {
    let Some(root) = workspace else { return Ok(Vec::new()) };
    match WorkspaceConfig::read(Path::new(root)) {
        Ok(config) => Ok(config.authority.withhold),
        Err(message) => Err(Fault::Rejected {
            command: command.to_owned(),
            reason: "workspace_config_invalid".to_owned(),
            message,
        }),
    }
}

/// Where the session's commands run: the workspace root, else an empty folder of its own.
fn working_folder(hub: &Hub, session: &str, workspace: Option<&str>) -> Result<PathBuf, Fault> {
    if let Some(root) = workspace {
        return Ok(PathBuf::from(root));
    }
    let folder = hub.home.scratch(session);
    std::fs::create_dir_all(&folder).map_err(|error| {
        Fault::Internal(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    Ok(folder)
}

fn workspace_root(path: &str) -> Result<String, Fault> {
    let root = Path::new(path);
    if !root.is_absolute() {
        return Err(Fault::Invalid(format!("workspaceRoot `{path}` is not absolute")));
    }
    let canonical = root.canonicalize().map_err(|error| {
        Fault::Invalid(format!("workspaceRoot `{path}` cannot be used: {error}"))
    })?;
    if !canonical.is_dir() {
        return Err(Fault::Invalid(format!("workspaceRoot `{path}` is no folder")));
    }
    match canonical.into_os_string().into_string() {
        Ok(text) => Ok(text),
        Err(_) => Err(Fault::Invalid(format!("workspaceRoot `{path}` is not UTF-8"))),
    }
}

fn checked_id(wanted: &str) -> Result<String, Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=crate::limits::SESSION_ID_BYTES_MAX).contains(&wanted.len())
        && wanted.chars().all(plain)
    {
        return Ok(wanted.to_owned());
    }
    Err(Fault::Invalid(format!(
        "sessionId must be 1 to {} letters, digits, - or _",
        crate::limits::SESSION_ID_BYTES_MAX
    )))
}

/// The id of a session that the client did not name: a function of the home and
/// the command, so that a replay meets its own session. It looks like the
/// UUIDv7 that the command id is, with the same time.
fn derived_id(hub: &Hub, command: &str) -> String {
    let keyed = hub.home.keyed("session", command.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(keyed.get(..16).unwrap_or(&[0; 16]));
    if let Ok(id) = Uuid::parse_str(command) {
        for (to, from) in bytes.iter_mut().zip(id.as_bytes().iter().take(6)) {
            *to = *from;
        }
    }
    uuid::Builder::from_bytes(bytes)
        .with_variant(uuid::Variant::RFC4122)
        .with_version(uuid::Version::SortRand)
        .into_uuid()
        .to_string()
}

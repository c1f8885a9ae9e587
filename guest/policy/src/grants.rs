//! What a session grant covers, by kind.
//!
//! A grant is kept as a digest: equality is all that is ever asked of it.

use crate::canonical;
use crate::codec::{Grant, Subject};
use crate::ids;
use crate::state::{self, State};
use crate::types::{Action, Coverage};

/// The grant that a session choice on this subject would give, if its kind has one.
///
/// Shell: the raw bytes and the working folder. File: access and canonical path, so
/// that writing does not imply reading. Network: host, port and protocol as shown.
/// Process: tool and target. Tool: name and canonical arguments. Unix sockets and
/// unknown kinds have none, so nothing is ever equivalent to them.
pub(crate) fn grant(subject: &Subject, action: &Action) -> Option<Grant> {
    let (kind, key) = match subject {
        Subject::Shell { command, .. } => (
            "shell",
            ids::digest(&[b"shell", command.as_bytes(), action.working_folder.as_bytes()]),
        ),
        Subject::FileAccess { canonical, .. } if canonical.is_empty() => return None,
        Subject::FileAccess { canonical, access, .. } => {
            ("fileAccess", ids::digest(&[b"fileAccess", access.as_bytes(), canonical.as_bytes()]))
        }
        Subject::Network { host, port, protocol, .. } => {
            ("network", network(host, *port, protocol.as_deref()))
        }
        Subject::Process { tool, target, .. } => {
            ("process", ids::digest(&[b"process", tool.as_bytes(), target.as_bytes()]))
        }
        Subject::Tool { tool, .. } => {
            let key = match canonical::json(&action.raw_args) {
                Some(args) => ids::digest(&[b"tool", tool.as_bytes(), args.as_bytes()]),
                None => ids::digest(&[b"tool-raw", tool.as_bytes(), action.raw_args.as_bytes()]),
            };
            ("tool", key)
        }
        Subject::UnixSocket { .. } | Subject::Unknown { .. } => return None,
    };
    Some(Grant { kind: kind.to_owned(), key })
}

/// Every grant that would cover an action: the one that it would give itself, and
/// for a port also the one that names no port, which covers all of them.
fn covering(subject: &Subject, action: &Action) -> Vec<Grant> {
    let mut grants: Vec<Grant> = grant(subject, action).into_iter().collect();
    if let Subject::Network { host, port: Some(_), protocol, .. } = subject {
        let key = network(host, None, protocol.as_deref());
        grants.push(Grant { kind: "network".to_owned(), key });
    }
    grants
}

/// Whether a grant of this session covers an action, and which.
pub(crate) fn held<'a>(
    state: &'a State,
    subject: &Subject,
    action: &Action,
) -> Option<&'a state::Grant> {
    if state.grants.is_empty() {
        return None;
    }
    let wanted = covering(subject, action);
    let covers = |held: &&state::Grant| {
        wanted.iter().any(|wanted| held.kind == wanted.kind && held.key == wanted.key)
    };
    state.grants.iter().find(covers)
}

/// The grant that covers something, as records name it; none where no grant does.
pub(crate) fn named(coverage: &Coverage) -> Option<String> {
    match coverage {
        Coverage::Grant(approval) => Some(format!("session grant of {approval}")),
        Coverage::Kept(approval) => Some(format!("saved grant of {approval}")),
        Coverage::Unmatched | Coverage::KnownSafe | Coverage::Rule(_) => None,
    }
}

/// A protocol that is not named stands for itself only: what was shown to nobody is
/// granted to nobody.
fn network(host: &str, port: Option<u16>, protocol: Option<&str>) -> String {
    let port = port.map_or_else(String::new, |port| port.to_string());
    let named = if protocol.is_some() { b"named".as_slice() } else { b"none" };
    let protocol = protocol.unwrap_or_default();
    ids::digest(&[b"network", host.as_bytes(), port.as_bytes(), named, protocol.as_bytes()])
}

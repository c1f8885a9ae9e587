//! The menus that approvals offer. Clients select a choice, they never construct one.

use crate::codec::{Resolution, Subject};
use serde::{Deserialize, Serialize};

/// One choice of a menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Choice {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) decision: String,
    pub(crate) scope: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) preview: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) feedback: bool,
}

impl Choice {
    pub(crate) fn approves(&self) -> bool {
        matches!(self.decision.as_str(), "approved" | "approvedForSession")
    }
}

fn choice(id: &str, label: &str, decision: &str, scope: &str) -> Choice {
    Choice {
        id: id.to_owned(),
        label: label.to_owned(),
        decision: decision.to_owned(),
        scope: scope.to_owned(),
        preview: None,
        feedback: false,
    }
}

/// The menu for a subject; a lasting choice only where a grant has a meaning.
///
/// A session grant for a shell command covers the whole raw command, so it is
/// offered only where one decision settles the whole command.
pub(crate) fn menu(subject: &Subject, folder: &str, protected: bool) -> Vec<Choice> {
    let mut choices = vec![choice("allow_once", "Allow once", "approved", "once")];
    if let Some(preview) = preview(subject, folder).filter(|_| !protected) {
        let mut lasting =
            choice("allow_session", "Allow for this session", "approvedForSession", "session");
        lasting.preview = Some(preview);
        choices.push(lasting);
    }
    let mut reject = choice("abort", "Reject", "abort", "once");
    reject.feedback = true;
    choices.push(reject);
    choices
}

fn preview(subject: &Subject, folder: &str) -> Option<String> {
    match subject {
        Subject::Shell { command, stages, .. } => {
            let open = stages.iter().filter(|stage| stage.resolution == Resolution::Unresolved);
            (open.count() <= 1).then(|| format!("exactly `{command}` in {folder}"))
        }
        Subject::FileAccess { canonical, .. } if canonical.is_empty() => None,
        Subject::FileAccess { canonical, access, .. } => Some(format!("{access} {canonical}")),
        Subject::Network { host, port, protocol, .. } => Some(network(host, *port, protocol)),
        Subject::Process { tool, target, .. } => Some(format!("control `{target}` with `{tool}`")),
        Subject::Tool { tool, .. } => Some(format!("tool `{tool}` with exactly these arguments")),
        Subject::UnixSocket { .. } | Subject::Unknown { .. } => None,
    }
}

/// A destination with everything that it covers: a port that is not named is every port.
fn network(host: &str, port: Option<u16>, protocol: &Option<String>) -> String {
    let place = match port {
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
        None => format!("{host}, every port"),
    };
    match protocol {
        Some(protocol) => format!("{place} ({protocol})"),
        None => format!("{place} (no protocol named)"),
    }
}

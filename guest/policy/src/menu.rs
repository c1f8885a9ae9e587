//! The menus that approvals offer. Clients select a choice, they never construct one.

use crate::codec::{Request, Resolution, Stage, Subject};
use crate::display;
use crate::limits;
use crate::rules::SavedBody;
use crate::saved;
use crate::types::Action;
use serde::{Deserialize, Serialize};

/// The scope of what outlives the session.
pub(crate) const LOCAL: &str = "localPersistent";

/// The choice that grants what a stage starts with.
pub(crate) const LOCAL_PREFIX: &str = "allow_local_prefix";

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
        matches!(
            self.decision.as_str(),
            "approved" | "approvedForSession" | "approvedPolicyAmendment"
        )
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

/// The menu of a request at its current stage; a lasting choice only where a grant has a
/// meaning, and only for what a person can be shown in full.
///
/// A session grant for a shell command covers the whole raw command, so it is
/// offered only where one decision settles the whole command.
pub(crate) fn menu(request: &Request, lasting: bool) -> Vec<Choice> {
    let mut choices = vec![choice("allow_once", "Allow once", "approved", "once")];
    if let Some(preview) = preview(request).filter(|_| lasting) {
        let mut session =
            choice("allow_session", "Allow for this session", "approvedForSession", "session");
        session.preview = Some(preview);
        choices.push(session);
    }
    choices.extend(local(request, request.current));
    let mut reject = choice("abort", "Reject", "abort", "once");
    reject.feedback = true;
    choices.push(reject);
    choices
}

/// The menu at another stage: the same but for what is about the stage itself.
pub(crate) fn at(request: &Request, current: u32) -> Vec<Choice> {
    if current == request.current {
        return request.menu.clone();
    }
    let here = |choice: &&Choice| choice.scope != LOCAL;
    let mut menu: Vec<Choice> = request.menu.iter().filter(here).cloned().collect();
    if let Some(choice) = local(request, current) {
        let place = menu.iter().position(|choice| !choice.approves()).unwrap_or(menu.len());
        menu.insert(place, choice);
    }
    menu
}

/// The choice of a grant that outlives the session.
fn local(request: &Request, current: u32) -> Option<Choice> {
    let root = request.root.as_deref()?;
    let (id, label, covers) = match &request.subject {
        Subject::Shell { .. } => {
            let stage = stage(request, current)?;
            let label = format!("Always allow in this workspace: {}", prefix_label(stage));
            (LOCAL_PREFIX, label, saved::of_stage(stage, root)?)
        }
        subject => {
            let covers = saved::of_subject(subject)?;
            let (id, label) = match covers {
                SavedBody::Network { .. } => {
                    ("allow_local_network", "Always allow this network destination")
                }
                _ => ("allow_local_mcp_tool", "Always allow this MCP tool"),
            };
            (id, label.to_owned(), covers)
        }
    };
    let preview = saved::preview(&covers, root);
    if !is_shown_in_one_line(&preview) {
        return None;
    }
    let mut choice = choice(id, &label, "approvedPolicyAmendment", LOCAL);
    choice.preview = Some(preview);
    Some(choice)
}

/// A stage that may have a lasting grant.
pub(crate) fn stage(request: &Request, stage: u32) -> Option<&Stage> {
    let Subject::Shell { stages, .. } = &request.subject else { return None };
    stages.get(usize::try_from(stage).ok()?).filter(|stage| !stage.prefix.is_empty())
}

/// The words that its grant would cover, as clients show them.
pub(crate) fn prefix_label(stage: &Stage) -> String {
    let words = display::words(&stage.prefix);
    if stage.exact { words } else { format!("{words} ...") }
}

/// Whether a command's stages may be granted for longer than the session: it runs in the
/// workspace, and a person sees all of it in one line.
pub(crate) fn may_grant_prefixes(command: &str, action: &Action, workspace: Option<&str>) -> bool {
    let folder = &action.working_folder;
    workspace.is_some_and(|workspace| saved::is_inside(folder, workspace))
        && is_shown_in_one_line(command)
        && is_shown_in_one_line(folder)
}

/// Whether a person sees every character of a text, and no line ends in it.
pub(crate) fn is_shown_in_one_line(text: &str) -> bool {
    display::in_full(text, limits::GRANT_SHOWN_CHARS_MAX) && !text.contains(['\n', '\t'])
}

/// What a session grant would cover, in full; none where it would cover nothing or
/// cannot be shown.
fn preview(request: &Request) -> Option<String> {
    let shown = |text: &str| display::in_full(text, limits::GRANT_SHOWN_CHARS_MAX);
    let folder = &request.folder;
    let preview = match &request.subject {
        Subject::Shell { command, stages, .. } => {
            let open = stages.iter().filter(|stage| stage.resolution == Resolution::Unresolved);
            if open.count() > 1 {
                return None;
            }
            format!("exactly `{command}` in {folder}")
        }
        Subject::FileAccess { canonical, .. } if canonical.is_empty() => return None,
        Subject::FileAccess { canonical, access, .. } => format!("{access} {canonical}"),
        Subject::Network { host, port, protocol, .. } => {
            display::destination(host, *port, protocol.as_deref())
        }
        Subject::Process { tool, target, .. } => format!("control `{target}` with `{tool}`"),
        Subject::Tool { .. } if !shown(&request.args) => return None,
        Subject::Tool { tool, .. } => format!("tool `{tool}` with exactly these arguments"),
        Subject::UnixSocket { .. } | Subject::Unknown { .. } => return None,
    };
    Some(preview).filter(|preview| shown(preview))
}

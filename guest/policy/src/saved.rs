//! Grants that outlive their session: what a decision writes, and where it counts.
//!
//! A grant is a line of the layer of grants (`rules::saved`), one for each stage that it
//! was given for. The host keeps the lines and understands nothing of them.

use crate::codec::{Request, Resolution, Stage, Subject};
use crate::display;
use crate::rules::{SavedBody, SavedRule};

/// What a stage may be granted for longer than the session; none where nothing may.
pub(crate) fn of_stage(stage: &Stage, root: &str) -> Option<SavedBody> {
    let (argv, exact, root) = (stage.prefix.clone(), stage.exact, root.to_owned());
    (!argv.is_empty()).then_some(SavedBody::Shell { argv, exact, root }).filter(can_be_read)
}

/// The same for a subject without stages.
pub(crate) fn of_subject(subject: &Subject) -> Option<SavedBody> {
    let body = match subject {
        Subject::Tool { tool, .. } => SavedBody::Tool { name: tool.clone(), server: None },
        Subject::Network { host, port, protocol, .. } => {
            SavedBody::Network { host: host.clone(), port: *port, protocol: protocol.clone() }
        }
        _ => return None,
    };
    Some(body).filter(can_be_read)
}

/// Whether a rule comes of it: a name that can be read in two ways is granted in none.
fn can_be_read(body: &SavedBody) -> bool {
    body.preview().is_ok()
}

/// What a grant covers, in the words that a person is shown.
pub(crate) fn preview(body: &SavedBody, root: &str) -> String {
    let place = format!("in {root} and its git worktrees");
    match body {
        SavedBody::Shell { argv, exact, .. } => {
            let words = display::words(argv);
            let only = argv.first().is_some_and(|program| starts_here(program));
            let place = if only { format!("{place}, in their top folders only") } else { place };
            if *exact {
                format!("exactly `{words}`, run {place}")
            } else {
                format!("commands that start with `{words}`, whatever follows, run {place}")
            }
        }
        SavedBody::Tool { name, .. } => format!("tool `{name}` with any arguments, {place}"),
        SavedBody::Network { host, port, protocol } => {
            format!("{}, {place}", display::destination(host, *port, protocol.as_deref()))
        }
    }
}

/// Whether it depends on the folder which program a word names. Such a program is
/// granted only where it was seen: in the top folder of the workspace.
fn starts_here(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// Whether a grant for words counts in a folder of a workspace.
pub(crate) fn counts_in(argv: &[String], folder: &str, workspace: &str) -> bool {
    if argv.first().is_some_and(|program| starts_here(program)) {
        folder == workspace
    } else {
        is_inside(folder, workspace)
    }
}

/// Everything of a request that was granted for longer, each once.
pub(crate) fn given(request: &Request, stages: &[Resolution], root: &str) -> Vec<SavedBody> {
    let Subject::Shell { stages: shown, .. } = &request.subject else { return Vec::new() };
    let mut given: Vec<SavedBody> = Vec::new();
    for (stage, resolution) in shown.iter().zip(stages) {
        if matches!(resolution, Resolution::PolicyAmendment { .. })
            && let Some(body) = of_stage(stage, root)
            && !given.contains(&body)
        {
            given.push(body);
        }
    }
    given
}

/// The lines and the preview of a grant; none when it covers nothing.
pub(crate) fn written(approval: &str, root: &str, given: &[SavedBody]) -> Option<(String, String)> {
    let line = |body: &SavedBody| {
        SavedRule { id: approval.to_owned(), rule: body.clone() }.to_grant_text()
    };
    let lines: Vec<String> = given.iter().map(line).collect();
    let previews: Vec<String> = given.iter().map(|body| preview(body, root)).collect();
    (!given.is_empty()).then(|| (lines.join("\n"), previews.join("; ")))
}

/// Whether a folder is another one or lies in it.
pub(crate) fn is_inside(folder: &str, outer: &str) -> bool {
    folder
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || outer.ends_with('/'))
}

//! `placet log show`: the sessions of a home, and the records of one.

use super::out::Out;
use super::{each_record, known, reader};
use crate::cli::Failure;
use crate::cli::show::visible;
use crate::date::rfc3339;
use crate::log::{Log as _, Mark, Stored};
use placet_visible::unseen;

/// One line for each session, the one that was created last first.
pub(super) async fn list() -> Result<(), Failure> {
    let log = reader()?;
    let sessions = log.sessions().await?;
    let pending = log.pending().await?;
    let width = sessions.iter().map(|row| row.session.len()).max().unwrap_or(0);
    let mut out = Out::new();
    for row in &sessions {
        let waiting = pending.iter().filter(|open| open.session == row.session).count();
        out.line(&format!(
            "{:<width$}  {}  {:>5} records {:>3} pending  {}",
            visible(&row.session),
            rfc3339(row.updated_ms),
            row.head_sequence,
            waiting,
            visible(row.workspace.as_deref().unwrap_or("-")),
        ))?;
    }
    out.line(&format!("{} sessions", sessions.len()))?;
    out.finish()
}

/// One line for each record, and one for its body where bodies are asked for.
pub(super) async fn show(session: &str, bodies: bool) -> Result<(), Failure> {
    let log = reader()?;
    known(&log, session).await?;
    let mut out = Out::new();
    each_record(&log, session, u64::MAX, |record| print(&mut out, record, bodies)).await?;
    out.finish()
}

fn print(out: &mut Out, record: &Stored, bodies: bool) -> Result<(), Failure> {
    let header = &record.header;
    let mut notes: Vec<String> = header.marks.iter().filter_map(mark).collect();
    if record.body.is_none() {
        notes.push("erased".to_owned());
    }
    let line = format!(
        "{:>6}  {}  {:<18}  {}",
        header.sequence,
        rfc3339(header.time_ms),
        visible(&header.kind),
        visible(&notes.join("  "))
    );
    out.line(line.trim_end())?;
    match &record.body {
        _ if !bodies => Ok(()),
        Some(body) => out.line(&format!("        {}", as_json(&String::from_utf8_lossy(body)))),
        None => out.line("        (erased)"),
    }
}

fn mark(mark: &Mark) -> Option<String> {
    match mark {
        Mark::Opens { approval } => Some(format!("opens {approval}")),
        Mark::Closes { approval } => Some(format!("closes {approval}")),
        Mark::Command { id, .. } => Some(format!("command {id}")),
        Mark::Starts { execution } => Some(format!("starts {execution}")),
        Mark::Ends { execution } => Some(format!("ends {execution}")),
        Mark::View => None,
    }
}

/// A body, with what cannot be seen as JSON writes it: it stays the same JSON.
fn as_json(body: &str) -> String {
    let mut shown = String::with_capacity(body.len());
    for character in body.chars() {
        if unseen(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::as_json;
    use serde_json::json;

    #[test]
    fn a_body_shows_what_steers_a_terminal_and_stays_the_same_json() {
        for text in ["ls -l é 漢字", "\u{202e}x\u{2066}", "\u{9b}31m\u{7f}\u{1b}[2J", "\u{e0041}🙂"]
        {
            let body = json!({ "text": text }).to_string();
            let shown = as_json(&body);
            assert!(!shown.chars().any(super::unseen), "{shown:?}");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&shown).ok(),
                Some(json!({ "text": text }))
            );
        }
    }
}

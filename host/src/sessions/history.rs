//! Reading a session's past: records, pages of the view, the items of a resume.

use super::PageRequest;
use super::advance::logged;
use super::hub::{Hub, log_fault};
use super::outlet::Fault;
use crate::date::rfc3339;
use crate::engine::types::{Event, Logged, Overview};
use crate::limits;
use crate::log::SessionRow;
use serde_json::{Value, json};
use std::collections::HashMap;

/// One record.
pub(super) async fn record(hub: &Hub, session: &str, sequence: u64) -> Result<Logged, Fault> {
    let stored = hub.log.record(session, sequence).await;
    match stored.map_err(|error| log_fault(session, &error))? {
        Some(stored) => Ok(logged(stored)),
        None => Err(Fault::Internal(format!("the log has no record {sequence} of {session}"))),
    }
}

/// Every record after a sequence.
pub(super) async fn records(hub: &Hub, session: &str, after: u64) -> Result<Vec<Logged>, Fault> {
    let mut all: Vec<Logged> = Vec::new();
    let mut after = after;
    loop {
        let some = some(hub, session, after).await?;
        let Some(last) = some.last() else {
            return Ok(all);
        };
        after = last.header.sequence;
        all.extend(some);
    }
}

/// The next records after a sequence, as many as one read gives.
async fn some(hub: &Hub, session: &str, after: u64) -> Result<Vec<Logged>, Fault> {
    let stored = hub
        .log
        .read(session, after, limits::READ_RECORDS_MAX, limits::READ_BYTES_MAX)
        .await
        .map_err(|error| log_fault(session, &error))?;
    Ok(stored.into_iter().map(logged).collect())
}

/// The view events after a sequence.
pub(super) async fn events(hub: &Hub, session: &str, after: u64) -> Result<Vec<Event>, Fault> {
    render(hub, session, records(hub, session, after).await?).await
}

async fn render(hub: &Hub, session: &str, records: Vec<Logged>) -> Result<Vec<Event>, Fault> {
    hub.engine.render(session.to_owned(), records).await?.map_err(Fault::unreadable)
}

/// The sequence that a cursor names. Ephemeral events carry the sequence before
/// them with a suffix, so the sequence is all that counts.
pub(super) fn sequence(cursor: &str, head: u64) -> Result<u64, Fault> {
    let unknown = || Fault::MissingAnchor(cursor.to_owned());
    let (sequence, suffix) = match cursor.split_once('.') {
        Some((sequence, suffix)) => (sequence, Some(suffix)),
        None => (cursor, None),
    };
    if suffix.is_some_and(|suffix| number(suffix).is_none()) {
        return Err(unknown());
    }
    number(sequence).filter(|sequence| *sequence <= head).ok_or_else(unknown)
}

/// A number as cursors are minted: without a sign or a leading zero.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// A page of the view.
pub(super) async fn page(hub: &Hub, session: &str, request: &PageRequest) -> Result<String, Fault> {
    let head = hub.log.head(session).await.map_err(|error| log_fault(session, &error))?.sequence;
    let from = match &request.cursor {
        Some(cursor) => Some(sequence(cursor, head)?),
        None => None,
    };
    let (events, more) = if request.backward {
        backward(hub, session, from.unwrap_or(head.saturating_add(1)), request).await?
    } else {
        forward(hub, session, from.unwrap_or(0), request).await?
    };
    let end = if request.backward { events.first() } else { events.last() };
    let next = end.filter(|_| more).map(|event| event.sequence.to_string());
    let events: Vec<Value> = events.iter().map(unframed).collect();
    Ok(json!({"events": events, "nextCursor": next}).to_string())
}

/// The notification without its envelope.
fn unframed(event: &Event) -> Value {
    let params: Value = serde_json::from_str(&event.params).unwrap_or(Value::Null);
    json!({"method": event.method, "params": params})
}

/// Takes events while they fit; false when one did not.
fn fill(page: &mut Vec<Event>, bytes: &mut usize, event: Event, request: &PageRequest) -> bool {
    let size = event.params.len().saturating_add(limits::EVENT_FRAME_BYTES);
    let fits = bytes.saturating_add(size) <= request.max_bytes;
    if page.len() < request.limit && (fits || page.is_empty()) {
        *bytes = bytes.saturating_add(size);
        page.push(event);
        return true;
    }
    false
}

async fn forward(
    hub: &Hub,
    session: &str,
    after: u64,
    request: &PageRequest,
) -> Result<(Vec<Event>, bool), Fault> {
    let (mut page, mut bytes, mut after) = (Vec::new(), 0, after);
    loop {
        let records = some(hub, session, after).await?;
        let Some(last) = records.last() else {
            return fitting(page, false);
        };
        after = last.header.sequence;
        for event in render(hub, session, records).await? {
            if !fill(&mut page, &mut bytes, event, request) {
                return fitting(page, true);
            }
        }
    }
}

async fn backward(
    hub: &Hub,
    session: &str,
    before: u64,
    request: &PageRequest,
) -> Result<(Vec<Event>, bool), Fault> {
    let (mut page, mut bytes, mut before) = (Vec::new(), 0, before);
    let window = u64::try_from(limits::READ_RECORDS_MAX).unwrap_or(u64::MAX);
    while before > 1 {
        let after = before.saturating_sub(window).saturating_sub(1);
        let mut records = Vec::new();
        let mut from = after;
        while from.saturating_add(1) < before {
            let mut some = some(hub, session, from).await?;
            some.retain(|record| record.header.sequence < before);
            let Some(last) = some.last() else { break };
            from = last.header.sequence;
            records.extend(some);
        }
        for event in render(hub, session, records).await?.into_iter().rev() {
            if !fill(&mut page, &mut bytes, event, request) {
                page.reverse();
                return fitting(page, true);
            }
        }
        before = after.saturating_add(1);
    }
    page.reverse();
    fitting(page, false)
}

/// A single event that fits no frame is an error that names it.
fn fitting(page: Vec<Event>, more: bool) -> Result<(Vec<Event>, bool), Fault> {
    match page.first() {
        Some(event) if event.params.len() > limits::FRAME_BYTES_MAX / 2 => {
            Err(Fault::EventTooLarge(event.sequence.to_string()))
        }
        _ => Ok((page, more)),
    }
}

/// A history without items, and why.
pub(super) fn none(reason: &str) -> Value {
    json!({"mode": "none", "items": null, "snapshot": null, "noneReason": reason})
}

/// The history of a session as it stands now: its items, alone or with the state.
pub(super) async fn history(
    hub: &Hub,
    session: &str,
    cursor: u64,
    snapshot: Option<String>,
) -> Result<Value, Fault> {
    let Some(items) = items(hub, session).await? else {
        return Ok(none("historyBudget"));
    };
    let Some(state) = snapshot else {
        return Ok(json!({"mode": "inline", "items": items, "snapshot": null}));
    };
    let mut state: Value = serde_json::from_str(&state).unwrap_or(Value::Null);
    if let Value::Object(map) = &mut state {
        map.insert("items".to_owned(), json!(items));
    }
    let cursor = cursor.to_string();
    let snapshot = json!({"schemaVersion": 1, "viewCursor": cursor, "state": state});
    Ok(json!({"mode": "snapshot", "items": null, "snapshot": snapshot}))
}

/// The items of a session as they stand now, in the order in which they began; none
/// when they are more than a result carries.
async fn items(hub: &Hub, session: &str) -> Result<Option<Vec<Value>>, Fault> {
    let mut items: Vec<Value> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut bytes = 0_usize;
    for event in events(hub, session, 0).await? {
        if !event.method.starts_with("item/") {
            continue;
        }
        let params: Value = serde_json::from_str(&event.params).unwrap_or(Value::Null);
        let Some(item) = params.get("item") else { continue };
        bytes = bytes.saturating_add(event.params.len());
        let id = item.get("itemId").and_then(Value::as_str).unwrap_or_default();
        match places.get(id).and_then(|place| items.get_mut(*place)) {
            Some(known) => *known = item.clone(),
            None => {
                places.insert(id.to_owned(), items.len());
                items.push(item.clone());
            }
        }
    }
    Ok((bytes <= limits::HISTORY_BYTES_MAX).then_some(items))
}

/// The result of a resume or a read.
pub(super) fn envelope(overview: &Overview, history: &Value) -> String {
    let session: Value = serde_json::from_str(&overview.session).unwrap_or(Value::Null);
    let pointers: Vec<Value> = overview
        .pending
        .iter()
        .map(|pointer| {
            json!({
                "kind": "approval", "approvalId": pointer.approval_id,
                "viewCursor": pointer.sequence.to_string(),
            })
        })
        .collect();
    let mut result = json!({
        "session": session, "viewCursor": overview.head.to_string(), "history": history,
        "pendingRequests": pointers,
    });
    let last = overview.last_turn.as_ref().and_then(|last| serde_json::from_str(last).ok());
    if let (Value::Object(map), Some(last)) = (&mut result, last) {
        map.insert("lastTurn".to_owned(), last);
    }
    result.to_string()
}

/// A session that cannot be read, as a list shows it: nothing in it is allowed.
pub(super) fn unreadable_session(hub: &Hub, row: &SessionRow, fault: &Fault) -> Value {
    let why = fault.sentence();
    json!({
        "sessionId": row.session, "path": hub.log_path(&row.session), "status": "notLoaded",
        "createdAt": rfc3339(row.created_ms), "updatedAt": rfc3339(row.updated_ms),
        "turnCount": 0, "activeTurnId": null, "workspaceRoot": row.workspace, "providerId": null,
        "modelId": null, "forkedFrom": null, "sideFrom": null, "quarantined": why,
    })
}

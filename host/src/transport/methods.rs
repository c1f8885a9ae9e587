//! The methods, one arm each: parameters in, an order or an answer out.

use super::frames::WireError;
use super::params::Params;
use crate::date::milliseconds;
use crate::engine::types::Requirement;
use crate::limits;
use crate::sessions::{
    Attach, Fault, Hub, Listing, Order, OrderKind, Outlet, PageRequest, Start, Ticket, Told,
};
use serde_json::Value;
use std::sync::Arc;

/// Serves one request. What it returns as an error was not told to anybody yet.
pub(super) async fn call(
    hub: &Arc<Hub>,
    outlet: Arc<dyn Outlet>,
    ticket: Ticket,
    method: &str,
    params: &Params,
) -> Result<(), WireError> {
    match method {
        "session/start" => {
            let start = start(hub, params)?;
            hub.start(start, outlet, ticket).await;
        }
        "session/resume" => {
            let session = params.string("sessionId")?;
            let command = (params.command()?, params.payload(hub.home(), &session, method));
            params.refuse_nulls(&[
                "permissionProfile",
                "workspaceRoots",
                "modelId",
                "recoveryMode",
                "config",
            ])?;
            refuse_profile(params, &command.0)?;
            let attach = Attach {
                cursor: params.optional_string("cursor")?,
                exclude_items: params.boolean("excludeItems")?.unwrap_or(false),
                snapshot: snapshot(params)?,
            };
            hub.resume(session, command, attach, outlet, ticket).await;
        }
        "session/read" => {
            let exclude = params.boolean("excludeItems")?.unwrap_or(true);
            answer(&outlet, ticket, hub.read(&params.string("sessionId")?, exclude).await);
        }
        "session/list" => {
            let listing = Listing {
                cursor: params.optional_string("cursor")?,
                limit: params.unsigned("limit")?,
                workspace: params.optional_string("workspaceRoot")?,
                updated_after_ms: instant(params, "updatedAfter")?,
            };
            answer(&outlet, ticket, hub.list(&listing).await);
        }
        "approval/listPending" => {
            answer(&outlet, ticket, hub.pending(&params.string("sessionId")?).await);
        }
        "view/page" => {
            let request = page(params)?;
            answer(&outlet, ticket, hub.page(&params.string("sessionId")?, &request).await);
        }
        "view/subscribe" => {
            let session = params.string("sessionId")?;
            let after = params.optional_string("after")?;
            hub.subscribe(&session, after, outlet, ticket).await;
        }
        "view/unsubscribe" => {
            hub.unsubscribe(&params.string("sessionId")?, outlet, ticket).await;
        }
        _ => {
            let Some(kind) = order(method, params)? else {
                return Err(WireError::method(method));
            };
            let session = params.string("sessionId")?;
            let payload = params.payload(hub.home(), &session, method);
            let order = Order { id: params.command()?, payload, kind };
            hub.order(&session, order, outlet, ticket).await;
        }
    }
    Ok(())
}

fn answer(outlet: &Arc<dyn Outlet>, ticket: Ticket, result: Result<String, Fault>) {
    outlet.tell(Told::Answer { ticket, result });
}

/// A member that is an RFC 3339 date.
fn instant(params: &Params, name: &str) -> Result<Option<u64>, WireError> {
    let wrong = || WireError::params(format!("the member `{name}` must be an RFC 3339 date"));
    match params.optional_string(name)? {
        Some(text) => milliseconds(&text).map(Some).ok_or_else(wrong),
        None => Ok(None),
    }
}

/// Whether a client prefers its history as a snapshot. There is no compaction here that a
/// snapshot could be anchored at, so `anchored` goes on to the next best, the items.
fn snapshot(params: &Params) -> Result<bool, WireError> {
    match params.optional_string("history")?.as_deref() {
        None | Some("auto" | "inline" | "anchored") => Ok(false),
        Some("snapshot") => Ok(true),
        Some(other) => Err(WireError::params(format!(
            "`history` must be auto, inline, snapshot or anchored, not `{other}`"
        ))),
    }
}

/// This host has no permission profiles, so that none can be selected.
fn refuse_profile(params: &Params, command: &str) -> Result<(), WireError> {
    if params.optional_string("permissionProfile")?.is_none() {
        return Ok(());
    }
    let message = "this host has no permission profiles; leave the member out";
    Err(WireError::new(-32030, "commandRejected", message)
        .with("commandId", command)
        .with("reason", "permission_profile_unknown"))
}

fn start(hub: &Arc<Hub>, params: &Params) -> Result<Start, WireError> {
    let id = params.command()?;
    params.refuse_nulls(&["permissionProfile", "workspaceRoots", "recoveryMode", "config"])?;
    refuse_profile(params, &id)?;
    for experimental in ["worktree", "limits"] {
        if params.get(experimental).is_some() {
            let message = format!("the member `{experimental}` is experimental and not served");
            return Err(WireError::params(message));
        }
    }
    Ok(Start {
        payload: params.payload(hub.home(), "home", "session/start"),
        id,
        session: params.optional_string("sessionId")?,
        mode: params.optional_string("approvalMode")?,
        workspace: workspace(params)?,
        provider: params.optional_string("providerId")?,
        model: params.optional_string("modelId")?,
    })
}

/// The workspace root: `workspaceRoot`, or the first of `workspaceRoots`, which must agree.
fn workspace(params: &Params) -> Result<Option<String>, WireError> {
    let root = params.optional_string("workspaceRoot")?;
    let Some(roots) = params.get("workspaceRoots") else {
        return Ok(root);
    };
    let first = roots.as_array().and_then(|roots| roots.first()).and_then(Value::as_str);
    match first {
        Some(first) if root.as_deref().is_none_or(|root| root == first) => {
            Ok(Some(first.to_owned()))
        }
        _ => {
            Err(WireError::params("workspaceRoots must be paths, and its first the workspaceRoot"))
        }
    }
}

fn page(params: &Params) -> Result<PageRequest, WireError> {
    let limit = params
        .unsigned("limit")?
        .ok_or_else(|| WireError::params("the member `limit` is missing"))?;
    let limit = usize::try_from(limit)
        .ok()
        .filter(|limit| (1..=limits::PAGE_EVENTS_MAX).contains(limit))
        .ok_or_else(|| {
            WireError::params(format!("`limit` must be from 1 to {}", limits::PAGE_EVENTS_MAX))
        })?;
    let backward = match params.optional_string("direction")?.as_deref() {
        None | Some("forward") => false,
        Some("backward") => true,
        Some(other) => {
            let message = format!("`direction` must be forward or backward, not `{other}`");
            return Err(WireError::params(message));
        }
    };
    if params.get("anchor").is_some() {
        return Err(WireError::new(-32042, "noBoundary", "this host never compacts a session")
            .with("anchor", "latestCompaction")
            .with("latestBoundaryCursor", Value::Null));
    }
    let max_bytes = match params.unsigned("maxBytes")? {
        Some(0) => return Err(WireError::params("`maxBytes` must be at least 1")),
        Some(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX).min(limits::PAGE_BYTES_MAX),
        None => limits::PAGE_BYTES_MAX,
    };
    Ok(PageRequest { cursor: params.optional_string("cursor")?, backward, limit, max_bytes })
}

/// The order that a method stands for; none when it is no command of ours.
fn order(method: &str, params: &Params) -> Result<Option<OrderKind>, WireError> {
    Ok(Some(match method {
        "turn/start" => {
            unserved_in_turn(params)?;
            OrderKind::Turn {
                text: text(params)?,
                if_busy: params.optional_string("ifBusy")?,
                display: params.optional_string("displayText")?,
            }
        }
        "session/leave" => OrderKind::Leave { stop: params.boolean("stop")?.unwrap_or(false) },
        "turn/interrupt" | "turn/cancel" => {
            OrderKind::Stop { turn: params.optional_string("turnId")? }
        }
        "approval/decide" => OrderKind::Decide {
            approval: params.string("approvalId")?,
            requirement: requirement(params)?,
            choice: params.string("choiceId")?,
            feedback: params.optional_string("feedback")?.is_some(),
        },
        "session/setApprovalMode" => OrderKind::Mode { mode: params.string("mode")? },
        _ => return Ok(None),
    }))
}

/// What a turn may carry on this wire and cannot here. Passing over it would run the
/// turn elsewhere, or as something else, than the client asked.
fn unserved_in_turn(params: &Params) -> Result<(), WireError> {
    params.refuse_nulls(&["workspaceRoots", "userShell", "tokenBudget"])?;
    if params.get("userShell").is_some() {
        let message = "this host grants no userShell; send the command as the turn's text";
        let error = WireError::new(-32010, "capabilityRequired", message);
        return Err(error.with("capability", "userShell"));
    }
    match params.get("workspaceRoots") {
        Some(_) => Err(WireError::params(
            "a session keeps the workspace root that it started with; start another one",
        )),
        None => Ok(()),
    }
}

/// The text parts of a turn's input, joined by new lines.
fn text(params: &Params) -> Result<String, WireError> {
    let parts = params.get("input").and_then(Value::as_array).filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| WireError::params("`input` must be a list of parts"))?;
    let mut texts = Vec::new();
    for part in parts {
        let kind = part.get("type").and_then(Value::as_str);
        match (kind, part.get("text").and_then(Value::as_str)) {
            (Some("text"), Some(text)) => texts.push(text),
            _ => return Err(WireError::params("this agent takes parts of the type text only")),
        }
    }
    Ok(texts.join("\n"))
}

fn requirement(params: &Params) -> Result<Requirement, WireError> {
    let wrong = || {
        WireError::params("`requirementId` must have an approvalId and a sourceIndex of 0 or more")
    };
    let value = params.get("requirementId").ok_or_else(wrong)?;
    let approval_id = value.get("approvalId").and_then(Value::as_str).ok_or_else(wrong)?;
    let index = value.get("sourceIndex").and_then(Value::as_u64).ok_or_else(wrong)?;
    Ok(Requirement {
        approval_id: approval_id.to_owned(),
        source_index: u32::try_from(index).map_err(|_| wrong())?,
    })
}

//! Records as the wire shows them: at most one view event each, without state.

use crate::codec::{
    self, Amendment, Body, Item, Request, Resolution, ResolvedBy, Stage, Subject, Terminal,
};
use crate::erase;
use crate::ids;
use crate::menu::{self, Choice};
use crate::time::rfc3339;
use crate::types::{Event, Logged, Mark, Refusal};
use serde_json::{Map, Value, json};

/// The view event of a record, if it has one.
pub(crate) fn render(session: &str, record: &Logged) -> Result<Option<Event>, Refusal> {
    if !record.header.marks.contains(&Mark::View) {
        return Ok(None);
    }
    if record.body.is_none() && erase::can_be(record) {
        return Ok(None);
    }
    let place =
        Place { session, sequence: record.header.sequence, time: rfc3339(record.header.time_ms) };
    let body = codec::decode(record)?;
    Ok(place.event(&body).map(|(method, mut params)| {
        params.insert("sessionId".to_owned(), json!(session));
        params.insert("viewCursor".to_owned(), json!(place.sequence.to_string()));
        Event {
            sequence: place.sequence,
            method: method.to_owned(),
            params: Value::Object(params).to_string(),
        }
    }))
}

struct Place<'a> {
    session: &'a str,
    sequence: u64,
    time: String,
}

impl Place<'_> {
    fn event(&self, body: &Body) -> Option<(&'static str, Map<String, Value>)> {
        let (method, params) = match body {
            Body::SessionStarted { .. }
            | Body::SessionLoaded { .. }
            | Body::SessionClosed { .. }
            | Body::CommandNoted { .. }
            | Body::TurnQueued { .. }
            | Body::TurnStopRequested { .. }
            | Body::Redacted { .. } => return None,
            Body::ModeChanged { mode, command, client } => (
                "session/approvalModeChanged",
                json!({
                    "mode": mode.name(), "source": "approvalReconfigure", "commandId": command,
                    "clientName": client, "sourceRange": self.source("session", self.session),
                }),
            ),
            Body::TurnStarted { turn, command, .. } => (
                "turn/started",
                json!({
                    "turnId": turn, "commandId": command, "sourceRange": self.source("run", turn),
                }),
            ),
            Body::UserMessage { item, turn, command, text, display } => (
                "item/completed",
                json!({
                    "sourceRange": self.source("run", turn),
                    "item": compact(json!({
                        "itemId": item, "kind": "userMessage", "turnId": turn, "revision": 1,
                        "status": "completed", "recordedAt": self.time, "text": text,
                        "displayText": display, "commandId": command,
                    })),
                }),
            ),
            Body::TurnCompleted { turn, terminal, reason, error, duration_ms } => (
                "turn/completed",
                compact(json!({
                    "turnId": turn, "terminal": terminal_word(*terminal), "reason": reason,
                    "durationMs": duration_ms, "sourceRange": self.source("run", turn),
                    "error": error.as_ref().map(|error| json!({
                        "kind": error.kind, "message": error.message, "retryable": error.retryable,
                    })),
                })),
            ),
            Body::AgentMessage { item, turn, revision, text } => (
                "item/completed",
                json!({
                    "sourceRange": self.source("run", turn),
                    "item": {
                        "itemId": item, "kind": "agentMessage", "turnId": turn,
                        "revision": revision, "status": "completed", "recordedAt": self.time,
                        "text": text,
                    },
                }),
            ),
            Body::ActionJudged { turn, shown, held, .. } => (
                "item/updated",
                json!({
                    "sourceRange": self.source("session", self.session),
                    "item": self.item(turn, shown, *held),
                }),
            ),
            Body::ActionProposed { action, approval, held, .. } => (
                "item/started",
                json!({
                    "sourceRange": self.source("session", self.session),
                    "item": self.item(&action.turn, &Item::started(action, approval.clone()), *held),
                }),
            ),
            Body::ApprovalOpened { approval, request, .. } => (
                "approval/requested",
                self.request(approval, request, &request.subject, request.current, &request.menu),
            ),
            Body::StageDecided { .. }
            | Body::StagesCovered { .. }
            | Body::ApprovalResolved { .. }
            | Body::GrantSaved { .. }
            | Body::GrantFailed { .. } => return self.decided(body),
            Body::ExecutionStarted { turn, shown, .. } => (
                "item/updated",
                json!({
                    "sourceRange": self.source("session", self.session),
                    "item": self.item(turn, shown.as_ref()?, false),
                }),
            ),
            Body::ItemEnded { turn, item, .. } => (
                "item/completed",
                json!({
                    "sourceRange": self.source("session", self.session),
                    "item": self.item(turn, item, false),
                }),
            ),
        };
        Some((method, object(params)))
    }

    fn decided(&self, body: &Body) -> Option<(&'static str, Map<String, Value>)> {
        let (method, params) = match body {
            Body::StageDecided {
                approval,
                source_index,
                choice,
                decision,
                current,
                subject,
                menu,
                ..
            } => {
                let change = json!({
                    "kind": "stageResolved", "requirementId": requirement(approval, *source_index),
                    "choiceId": choice, "decision": decision,
                });
                self.updated(approval, subject, *current, menu, change)
            }
            // The choice that satisfied the stage is the one that gave the grant.
            Body::StagesCovered { approval, source_index, current, subject, menu, .. } => {
                let change = json!({
                    "kind": "stageResolved", "requirementId": requirement(approval, *source_index),
                    "choiceId": menu::LOCAL_PREFIX, "decision": "approvedPolicyAmendment",
                });
                self.updated(approval, subject, *current, menu, change)
            }
            Body::GrantSaved { approval, subject, current, .. } => {
                let change = json!({"kind": "policyPersistence", "status": "succeeded"});
                self.updated(approval, subject, *current, &[], change)
            }
            Body::GrantFailed { approval, subject, current, reason, .. } => {
                let change =
                    json!({"kind": "policyPersistence", "status": "failed", "reason": reason});
                self.updated(approval, subject, *current, &[], change)
            }
            Body::ApprovalResolved {
                approval,
                item,
                turn,
                decision,
                by,
                amendment,
                command,
                evidence,
                ..
            } => (
                "approval/resolved",
                compact(json!({
                    "sourceRange": self.source("approval.review", approval),
                    "approvalId": approval, "itemId": item, "turnId": turn, "decision": decision,
                    "policyResult": if decision.starts_with("approved") { "allow" } else { "deny" },
                    "resolvedBy": resolver(*by), "decidedByCommandId": command,
                    "decidedAt": self.time, "amendment": amendment.as_ref().map(amended),
                    "stageEvidence": evidence_rows(approval, evidence),
                })),
            ),
            _ => return None,
        };
        Some((method, object(params)))
    }

    fn updated(
        &self,
        approval: &str,
        subject: &Subject,
        current: u32,
        menu: &[Choice],
        change: Value,
    ) -> (&'static str, Value) {
        let params = json!({
            "sourceRange": self.source("approval.review", approval),
            "approvalId": approval, "currentRequirementId": requirement(approval, current),
            "subject": self::subject(approval, subject), "availableChoices": choices(menu),
            "change": change,
        });
        ("approval/updated", params)
    }

    /// The parameters of `approval/request` and `approval/requested`.
    pub(crate) fn request(
        &self,
        approval: &str,
        request: &Request,
        subject: &Subject,
        current: u32,
        menu: &[Choice],
    ) -> Value {
        json!({
            "sourceRange": self.source("approval.review", approval),
            "approvalId": approval, "turnId": request.turn, "taskId": request.task,
            "itemId": request.item, "toolCallId": request.call, "toolName": request.tool,
            "rawArgs": request.args, "subject": self::subject(approval, subject),
            "currentRequirementId": requirement(approval, current),
            "availableChoices": choices(menu), "protectedWrite": request.protected,
            "judgeEscalated": false,
        })
    }

    fn item(&self, turn: &str, item: &Item, held: bool) -> Value {
        let ended = item.status != "inProgress";
        let value = compact(json!({
            "itemId": item.item, "kind": "toolCall", "turnId": turn, "revision": item.revision,
            "status": item.status, "recordedAt": self.time, "tool": item.tool,
            "callId": item.call, "args": item.args, "approvalId": item.approval,
            "visibleOutput": item.output, "exitCode": item.exit_code,
            "failureKind": item.failure_kind, "failureReason": item.failure,
        }));
        let mut value = object(value);
        if held {
            value.insert("held".to_owned(), json!(true));
            value.insert("heldFor".to_owned(), json!("approval"));
        }
        if ended && item.output.is_some() {
            value.insert("truncated".to_owned(), json!(item.truncated));
        }
        Value::Object(value)
    }

    fn source(&self, kind: &str, id: &str) -> Value {
        let end =
            json!({"id": ids::record(self.session, self.sequence), "sequence": self.sequence});
        json!({"stream": {"kind": kind, "id": id}, "first": end, "last": end})
    }
}

/// The parameters of a pending request with its stages as they stand now. The
/// cursor stays that of the opening record.
pub(crate) fn pending(
    session: &str,
    sequence: u64,
    approval: &str,
    request: &Request,
    subject: &Subject,
    current: u32,
) -> String {
    let place = Place { session, sequence, time: String::new() };
    let mut params = object(place.request(approval, request, subject, current, &request.menu));
    params.insert("sessionId".to_owned(), json!(session));
    params.insert("viewCursor".to_owned(), json!(sequence.to_string()));
    Value::Object(params).to_string()
}

impl Item {
    /// A tool call as it begins.
    pub(crate) fn started(action: &codec::Action, approval: Option<String>) -> Item {
        Item {
            item: action.item.clone(),
            revision: 1,
            status: "inProgress".to_owned(),
            tool: action.tool.clone(),
            call: action.call.clone(),
            args: action.args.clone(),
            approval,
            output: None,
            truncated: false,
            exit_code: None,
            failure_kind: None,
            failure: None,
        }
    }
}

fn requirement(approval: &str, index: u32) -> Value {
    json!({"approvalId": approval, "sourceIndex": index})
}

fn subject(approval: &str, subject: &Subject) -> Value {
    match subject {
        Subject::Shell { command, workspace, stages } => compact(json!({
            "kind": "shell", "command": command, "workspaceRoot": workspace,
            "stages": stages.iter().enumerate().map(|(index, stage)| {
                let mut row = stage_row(approval, index, stages.len(), stage);
                row.insert("argvComplete".to_owned(), json!(stage.complete));
                if !stage.prefix.is_empty() {
                    let label = menu::prefix_label(stage);
                    let prefix = json!({"argvPrefix": stage.prefix, "label": label});
                    row.insert("suggestedPrefix".to_owned(), prefix);
                }
                Value::Object(row)
            }).collect::<Vec<_>>(),
        })),
        Subject::FileAccess { tool, path, access, origin, .. } => compact(json!({
            "kind": "fileAccess", "toolName": tool, "path": path, "access": access,
            "origin": origin,
        })),
        Subject::Network { tool, host, port, protocol, origin } => compact(json!({
            "kind": "network", "toolName": tool, "host": host, "port": port,
            "protocol": protocol, "origin": origin,
        })),
        Subject::UnixSocket { tool, path, origin } => compact(json!({
            "kind": "unixSocket", "toolName": tool, "path": path, "origin": origin,
        })),
        Subject::Process { tool, target, origin } => compact(json!({
            "kind": "process", "toolName": tool, "access": "control", "target": target,
            "origin": origin,
        })),
        Subject::Tool { tool, origin } => {
            compact(json!({"kind": "tool", "toolName": tool, "origin": origin}))
        }
        Subject::Unknown { word, tool } => json!({"kind": shown_kind(word), "toolName": tool}),
    }
}

/// The word that clients are shown for a kind which this evaluator does not
/// know. A word that the wire gives members of its own must not stand there
/// without them (it was declared wrongly): clients would take it for a broken subject.
fn shown_kind(word: &str) -> String {
    const WIRE: [&str; 6] = ["shell", "fileAccess", "network", "unixSocket", "process", "tool"];
    if WIRE.contains(&word) { format!("unrecognized:{word}") } else { word.to_owned() }
}

fn evidence_rows(approval: &str, stages: &[Stage]) -> Vec<Value> {
    stages
        .iter()
        .enumerate()
        .map(|(index, stage)| Value::Object(stage_row(approval, index, stages.len(), stage)))
        .collect()
}

fn stage_row(approval: &str, index: usize, total: usize, stage: &Stage) -> Map<String, Value> {
    let resolution = match &stage.resolution {
        Resolution::Unresolved => json!({"kind": "unresolved"}),
        Resolution::KnownSafe => json!({"kind": "knownSafe"}),
        Resolution::PolicyAllow { diagnostic } => {
            json!({"kind": "policyAllow", "diagnostic": diagnostic})
        }
        Resolution::AllowOnce => json!({"kind": "allowOnce"}),
        Resolution::PolicyAmendment { prefix } => {
            json!({"kind": "policyAmendment", "argvPrefix": prefix})
        }
    };
    object(json!({
        "requirementId": {"approvalId": approval, "sourceIndex": index},
        "position": index.saturating_add(1), "totalStages": total, "argv": stage.argv,
        "resolution": resolution,
    }))
}

fn choices(menu: &[Choice]) -> Vec<Value> {
    menu.iter()
        .map(|choice| {
            let mut row = object(compact(json!({
                "choiceId": choice.id, "label": choice.label, "decision": choice.decision,
                "scope": choice.scope, "rulePreview": choice.preview,
            })));
            if choice.feedback {
                row.insert("acceptsFeedback".to_owned(), json!(true));
            }
            Value::Object(row)
        })
        .collect()
}

fn amended(amendment: &Amendment) -> Value {
    json!({"durability": amendment.durability, "rulePreview": amendment.preview})
}

pub(crate) fn terminal_word(terminal: Terminal) -> &'static str {
    match terminal {
        Terminal::Completed => "completed",
        Terminal::Failed => "failed",
        Terminal::Cancelled => "cancelled",
    }
}

/// The resolver's word on the wire.
pub(crate) fn resolver(by: ResolvedBy) -> &'static str {
    match by {
        ResolvedBy::User => "user",
        ResolvedBy::Policy => "policy",
    }
}

/// Leaves out the members that are null: optional members are absent on this wire.
fn compact(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.into_iter().filter(|(_, value)| !value.is_null()).collect())
        }
        other => other,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

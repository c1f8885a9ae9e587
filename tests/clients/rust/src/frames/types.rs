//! Which type of the SDK belongs to which method.

use crate::decode::{Fault, Kind, whole};
use muse_code_sdk::msp::*;
use serde_json::Value;

/// Decodes by name: `method => Type`.
macro_rules! table {
    ($method:expr, $value:expr, $path:expr, $faults:expr; $($name:literal)|+ => $first:ty, $($($names:literal)|+ => $type:ty),* $(,)?) => {
        match $method {
            $($name)|+ => { whole::<$first>($value, $path, $faults); true }
            $($($names)|+ => { whole::<$type>($value, $path, $faults); true })*
            _ => false,
        }
    };
}

/// The result of a request.
pub(crate) fn result(method: &str, value: &Value, faults: &mut Vec<Fault>) {
    if method == "view/page" {
        return page(value, faults);
    }
    let known = table!(method, value, method, faults;
        "initialize" => InitializeResult,
        "session/start" => SessionStartResult,
        "session/resume" => SessionResumeResult,
        "session/read" => SessionReadResult,
        "session/list" => SessionListResult,
        "session/leave" => SessionLeaveResult,
        "session/fork" => SessionForkResult,
        "session/compact" => SessionCompactResult,
        "session/rename" => SessionRenameResult,
        "session/setModel" => SessionSetModelResult,
        "session/setReasoningEffort" => SessionSetReasoningEffortResult,
        "session/setApprovalMode" => SessionSetApprovalModeResult,
        "approval/decide" => ApprovalDecideResult,
        "approval/listPending" => ApprovalListPendingResult,
        "turn/start" => TurnStartResult,
        "turn/steer" => TurnSteerResult,
        "turn/interrupt" => TurnInterruptResult,
        "turn/cancel" => TurnCancelResult,
        "turn/unqueue" => TurnUnqueueResult,
        "userInput/answer" => UserInputAnswerResult,
        "userInput/cancel" => UserInputCancelResult,
        "userInput/clarify" => UserInputClarifyResult,
        "userInput/interrupt" => UserInputInterruptResult,
        "view/subscribe" => ViewSubscribeResult,
        "view/unsubscribe" => ViewUnsubscribeResult,
        "item/readOutput" => ItemReadOutputResult,
        "model/list" => ModelListResult,
        "skill/list" => SkillListResult,
        "hook/list" => HookListResult,
        "task/list" => TaskListResult,
        "usage/read" => UsageReadResult,
    );
    if !known {
        faults.push(Fault::Unknown(format!("type {method} ({})", Kind::Result)));
    }
}

/// The params of a notification or of a request of the host.
pub(crate) fn event(method: &str, kind: Kind, value: &Value, faults: &mut Vec<Fault>) {
    let known = table!(method, value, method, faults;
        "approval/request" | "approval/requested" => ApprovalRequestParams,
        "approval/updated" => ApprovalUpdatedParams,
        "approval/resolved" => ApprovalResolvedParams,
        "userInput/request" | "userInput/requested" => UserInputRequestParams,
        "userInput/settled" => UserInputSettledParams,
        "item/started" => ItemStartedParams,
        "item/updated" => ItemUpdatedParams,
        "item/completed" => ItemCompletedParams,
        "item/delta" => ItemDeltaParams,
        "turn/started" => TurnStartedParams,
        "turn/completed" => TurnCompletedParams,
        "turn/foregroundCompleted" => TurnForegroundCompletedParams,
        "turn/unqueued" => TurnUnqueuedParams,
        "turn/retracted" => TurnRetractedParams,
        "session/started" => SessionStartedParams,
        "session/closed" => SessionClosedParams,
        "session/statusChanged" => SessionStatusChangedParams,
        "session/approvalModeChanged" => SessionApprovalModeChangedParams,
        "session/nameChanged" => SessionNameChangedParams,
        "session/listChanged" => SessionListChangedParams,
        "session/leaveCompleted" => SessionLeaveCompletedParams,
        "session/viewHealthChanged" => SessionViewHealthChangedParams,
        "view/gap" => ViewGapParams,
    );
    if !known {
        faults.push(Fault::Unknown(format!("type {method} ({kind})")));
    }
}

/// A page carries events whose own type the SDK leaves open; each is decoded as what it says that it is.
fn page(value: &Value, faults: &mut Vec<Fault>) {
    let mut found = Vec::new();
    whole::<ViewPageResult>(value, "view/page", &mut found);
    let inside = |fault: &Fault| matches!(fault, Fault::Unknown(name) if name.starts_with("member view/page.events[].params."));
    faults.extend(found.into_iter().filter(|fault| !inside(fault)));
    for event in value["events"].as_array().into_iter().flatten() {
        if let Some(method) = event["method"].as_str() {
            self::event(method, Kind::Notification, &event["params"], faults);
        }
    }
}

//! One session over the SDK's connection: the steps that nearly every case takes.

use crate::facade::text_part;
use crate::ground::{Outcome, Place, check, equal, new_id};
use crate::wire::Wire;
use muse_code_sdk::msp::{
    ApprovalDecideParams, ApprovalDecideResult, ApprovalDecision, ApprovalListPendingParams,
    ApprovalListPendingResult, ApprovalMode, ApprovalPolicyResult, ApprovalRequestParams,
    ApprovalResolvedBy, ApprovalResolvedParams, CommandStatus, Item, ItemCompletedParams, ItemKind,
    ItemStatus, SessionResumeParams, SessionResumeResult, SessionStartParams, SessionStartResult,
    TurnCompletedParams, TurnStartDisposition, TurnStartParams, TurnStartResult, TurnTerminal,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A session on a host.
pub(crate) struct Talk<'a> {
    pub(crate) host: &'a Wire,
    pub(crate) id: String,
}

/// Params of session/start in the workspace of the case.
pub(crate) fn start_params(
    place: &Place,
    mode: Option<ApprovalMode>,
) -> Outcome<SessionStartParams> {
    let mut params: SessionStartParams =
        serde_json::from_value(json!({"commandId": new_id(), "workspaceRoot": place.workspace()}))?;
    params.approval_mode = mode;
    Ok(params)
}

impl<'a> Talk<'a> {
    /// session/start.
    pub(crate) async fn start(
        host: &'a Wire,
        place: &Place,
        mode: Option<ApprovalMode>,
    ) -> Outcome<Talk<'a>> {
        let started: SessionStartResult =
            host.call("session/start", &start_params(place, mode)?).await?;
        Ok(Talk { host, id: started.session.session_id })
    }

    /// session/resume.
    pub(crate) async fn resume(
        host: &'a Wire,
        session_id: &str,
    ) -> Outcome<(Talk<'a>, SessionResumeResult)> {
        let params: SessionResumeParams =
            serde_json::from_value(json!({"commandId": new_id(), "sessionId": session_id}))?;
        let resumed = host.call("session/resume", &params).await?;
        Ok((Talk { host, id: session_id.to_owned() }, resumed))
    }

    /// Params of turn/start with a fresh command id.
    pub(crate) fn turn_params(&self, text: &str) -> Outcome<TurnStartParams> {
        let input = [text_part(text)];
        Ok(serde_json::from_value(
            json!({"sessionId": self.id, "commandId": new_id(), "input": input}),
        )?)
    }

    /// Starts a turn on an idle session; its id.
    pub(crate) async fn turn(&self, text: &str) -> Outcome<String> {
        let params = self.turn_params(text)?;
        let ack: TurnStartResult = self.host.call("turn/start", &params).await?;
        equal(&ack.command_id, &params.command_id, "the command of the ack")?;
        equal(
            (&ack.status, ack.started_new_turn, &ack.disposition),
            (&CommandStatus::Accepted, true, &TurnStartDisposition::Started),
            "the ack of turn/start",
        )?;
        Ok(ack.turn_id)
    }

    /// Waits until a turn has ended like this.
    pub(crate) async fn end(&self, turn: &str, terminal: TurnTerminal) -> Outcome {
        let ended: TurnCompletedParams = self
            .host
            .event("turn/completed", |ended: &TurnCompletedParams| ended.turn_id == turn)
            .await?;
        equal(ended.terminal, terminal, "the turn's terminal")
    }

    /// The finished tool call of a turn.
    pub(crate) async fn item(&self, turn: &str, status: ItemStatus) -> Outcome<Item> {
        let ended = self.host.event("item/completed", |ended: &ItemCompletedParams| {
            ended.item.kind == ItemKind::ToolCall && ended.item.turn_id.as_deref() == Some(turn)
        });
        let item = ended.await?.item;
        equal(&item.status, &status, "the status of the tool call")?;
        Ok(item)
    }

    /// A turn that must run without a question.
    pub(crate) async fn run(&self, text: &str) -> Outcome<Item> {
        let turn = self.turn(text).await?;
        let item = self.item(&turn, ItemStatus::Completed).await?;
        self.end(&turn, TurnTerminal::Completed).await?;
        let asked = self.host.all::<ApprovalRequestParams>("approval/requested")?;
        check(asked.iter().all(|ask| ask.turn_id != turn), "no question about the turn")?;
        Ok(item)
    }

    /// The request for a stage of a turn.
    pub(crate) async fn ask(&self, turn: &str, stage: usize) -> Outcome<ApprovalRequestParams> {
        self.host
            .event("approval/request", |ask: &ApprovalRequestParams| {
                ask.turn_id == turn && ask.current_requirement_id.source_index == stage
            })
            .await
    }

    /// A turn that must ask about its first stage; event and request carry the same.
    pub(crate) async fn opened(&self, text: &str) -> Outcome<ApprovalRequestParams> {
        let turn = self.turn(text).await?;
        let ask = self.ask(&turn, 0).await?;
        let events = self.host.all::<ApprovalRequestParams>("approval/requested")?;
        check(events.contains(&ask), "the event with the params of the request, before it")?;
        Ok(ask)
    }

    /// Params of a decide on the current stage of an ask.
    pub(crate) fn decision(
        &self,
        ask: &ApprovalRequestParams,
        choice: &str,
    ) -> ApprovalDecideParams {
        ApprovalDecideParams {
            session_id: self.id.clone(),
            command_id: new_id(),
            approval_id: ask.approval_id.clone(),
            requirement_id: ask.current_requirement_id.clone(),
            choice_id: choice.to_owned(),
            feedback: None,
        }
    }

    /// A decide that must be accepted.
    pub(crate) async fn decide(
        &self,
        params: &ApprovalDecideParams,
        terminal: bool,
    ) -> Outcome<ApprovalDecideResult> {
        let ack: ApprovalDecideResult = self.host.call("approval/decide", params).await?;
        equal(
            (&ack.command_id, &ack.approval_id, &ack.status, ack.terminal),
            (&params.command_id, &params.approval_id, &CommandStatus::Accepted, terminal),
            "the ack of approval/decide",
        )?;
        Ok(ack)
    }

    /// The terminal of an approval.
    pub(crate) async fn resolved(&self, approval: &str) -> Outcome<ApprovalResolvedParams> {
        let of = |resolved: &ApprovalResolvedParams| resolved.approval_id == approval;
        self.host.event("approval/resolved", of).await
    }

    /// What pends.
    pub(crate) async fn pending(&self) -> Outcome<Vec<ApprovalRequestParams>> {
        let params = ApprovalListPendingParams { session_id: self.id.clone() };
        let listed: ApprovalListPendingResult =
            self.host.call("approval/listPending", &params).await?;
        check(listed.user_inputs.is_empty(), "no question of another kind to pend")?;
        Ok(listed.approvals)
    }

    /// Every durable event, oldest first, read this many at a time in this direction.
    pub(crate) async fn pages(&self, limit: usize, direction: &str) -> Outcome<Vec<Value>> {
        let (mut events, mut cursor): (Vec<Value>, Option<Value>) = (Vec::new(), None);
        loop {
            let mut params = json!({"sessionId": self.id, "limit": limit, "direction": direction});
            if let Some(cursor) = &cursor {
                params["cursor"] = cursor.clone();
            }
            let page: Value = self.host.call("view/page", &params).await?;
            let came = page["events"].as_array().cloned().ok_or("a page without events")?;
            check(came.len() <= limit, "no more events than asked for")?;
            events = match direction {
                "backward" => came.into_iter().chain(events).collect(),
                _ => events.into_iter().chain(came).collect(),
            };
            check(cursor.as_ref() != Some(&page["nextCursor"]), "the pages to move on")?;
            if page["nextCursor"].is_null() {
                return Ok(events);
            }
            cursor = Some(page["nextCursor"].clone());
        }
    }

    /// The durable events with this method.
    pub(crate) async fn paged<T: DeserializeOwned>(&self, method: &str) -> Outcome<Vec<T>> {
        let pages = self.pages(200, "forward").await?;
        let of_method = pages.into_iter().filter(|event| event["method"] == method);
        of_method.map(|event| Ok(serde_json::from_value(event["params"].clone())?)).collect()
    }
}

/// Checks who ended an approval, how, and by which command.
pub(crate) fn closed(
    resolved: &ApprovalResolvedParams,
    decision: ApprovalDecision,
    by: ApprovalResolvedBy,
    command: Option<&str>,
) -> Outcome {
    let result = match decision {
        ApprovalDecision::Abort | ApprovalDecision::Denied => ApprovalPolicyResult::Deny,
        _ => ApprovalPolicyResult::Allow,
    };
    equal(
        (
            &resolved.decision,
            &resolved.policy_result,
            &resolved.resolved_by,
            resolved.decided_by_command_id.as_deref(),
        ),
        (&decision, &result, &by, command),
        "the terminal",
    )?;
    check(resolved.decided_at.is_some(), "a time of decision")
}

/// The resolutions of an ask's stages.
pub(crate) fn stages(ask: &ApprovalRequestParams) -> Vec<&str> {
    let stages = ask.subject.stages.iter().flatten();
    stages.map(|stage| stage.resolution.kind.as_str()).collect()
}

/// (stage, what became of it) of a terminal.
pub(crate) fn evidence(resolved: &ApprovalResolvedParams) -> Vec<(usize, &str)> {
    let rows = resolved.stage_evidence.iter();
    rows.map(|row| (row.requirement_id.source_index, row.resolution.kind.as_str())).collect()
}

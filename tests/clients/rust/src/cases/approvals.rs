//! What the SDK's client says by itself: ask, approve, grant, reject, stages, denial, orderly end.

use crate::facade::{Facade, Person, end, resolved_of, say, tool_item};
use crate::ground::{Outcome, Place, check, equal, within};
use crate::talk::{closed, evidence, stages};
use muse_code_sdk::errors::MuseError;
use muse_code_sdk::msp::{
    ApprovalAmendmentDurability, ApprovalChoiceScope, ApprovalDecision, ApprovalMode,
    ApprovalRequestParams, ApprovalResolvedBy, ItemStatus, SessionDurability,
};

crate::cases![
    approve_once,
    session_grant,
    reject_with_feedback,
    three_stages_safe_middle,
    menu_of_two_unresolved_stages,
    unknown_choice_is_rejected_for_the_person,
    no_handler_rejects,
    deny_unmatched,
    nonzero_exit,
    two_sessions_of_one_client,
    eof_exit_0,
];

fn menu(ask: &ApprovalRequestParams) -> Vec<(&str, &ApprovalDecision, &ApprovalChoiceScope, bool)> {
    ask.available_choices
        .iter()
        .map(|choice| {
            (choice.choice_id.as_str(), &choice.decision, &choice.scope, choice.accepts_feedback)
        })
        .collect()
}

async fn approve_once(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let text = "touch made.txt";
    let turn = say(&session, text).await?;
    let question = person.question().await?;
    let ask = question.ask.clone();
    equal(ask.tool_name.as_str(), "shell", "the tool")?;
    equal(ask.raw_args.as_str(), r#"{"command":"touch made.txt"}"#, "the arguments")?;
    equal((&ask.task_id, ask.turn_id.as_str()), (&ask.item_id, turn.turn_id()), "item and turn")?;
    equal((ask.protected_write, ask.judge_escalated), (false, false), "the flags")?;
    equal(ask.subject.kind.as_str(), "shell", "the kind")?;
    equal(ask.subject.command.as_deref(), Some(text), "the command")?;
    equal(ask.subject.workspace_root.clone(), Some(place.workspace()), "the workspace")?;
    let rows = ask.subject.stages.as_deref().unwrap_or_default();
    equal(rows.len(), 1, "stages")?;
    equal(
        (&rows[0].argv[..], rows[0].argv_complete),
        (&["touch", "made.txt"].map(String::from)[..], true),
        "argv",
    )?;
    let (once, whole) = (ApprovalChoiceScope::Once, ApprovalChoiceScope::Session);
    let lasting = ApprovalChoiceScope::LocalPersistent;
    equal(
        menu(&ask),
        vec![
            ("allow_once", &ApprovalDecision::Approved, &once, false),
            ("allow_session", &ApprovalDecision::ApprovedForSession, &whole, false),
            ("allow_local_prefix", &ApprovalDecision::ApprovedPolicyAmendment, &lasting, false),
            ("abort", &ApprovalDecision::Abort, &once, true),
        ],
        "the menu",
    )?;
    equal(session.fold().pending_approvals().len(), 1, "approvals that the fold holds open")?;
    check(!place.path("workspace/made.txt").exists(), "nothing to have run yet")?;
    question.says("allow_once")?;
    end(&turn).await?;
    check(place.path("workspace/made.txt").exists(), "the command to have run")?;
    let item = tool_item(&turn, ItemStatus::Completed).await?;
    equal(item.exit_code, Some(0), "the exit code")?;
    equal(item.tool_call.approval_id.as_ref(), Some(&ask.approval_id), "the item's approval")?;
    equal(item.tool_call.held, None, "`held` of a finished item")?;
    let resolved = resolved_of(&session, &ask.approval_id)?;
    let winner = resolved.decided_by_command_id.as_deref();
    check(winner.is_some(), "the command that decided")?;
    closed(&resolved, ApprovalDecision::Approved, ApprovalResolvedBy::User, winner)?;
    equal(evidence(&resolved), vec![(0, "allowOnce")], "the evidence")?;
    check(session.fold().pending_approvals().is_empty(), "nothing to pend in the end")?;
    person.quiet("one stage is asked about once")?;
    host.close().await
}

async fn session_grant(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, Some(ApprovalMode::PromptUnmatched), &person).await?;
    let text = "echo one >> granted.txt";
    let turn = say(&session, text).await?;
    let question = person.question().await?;
    let asked = question.ask.approval_id.clone();
    question.says("allow_session")?;
    end(&turn).await?;
    let first = resolved_of(&session, &asked)?;
    equal(&first.decision, &ApprovalDecision::ApprovedForSession, "the decision")?;
    equal(
        first.amendment.map(|rule| rule.durability),
        Some(ApprovalAmendmentDurability::Session),
        "how long the grant lasts",
    )?;
    let again = say(&session, text).await?;
    end(&again).await?;
    tool_item(&again, ItemStatus::Completed).await?;
    person.quiet("the same command is covered")?;
    equal(place.lines("granted.txt"), vec!["one", "one"], "what ran")?;
    let item = tool_item(&again, ItemStatus::Completed).await?;
    let automatic = item.tool_call.approval_id.ok_or("the covered item names no approval")?;
    check(automatic != asked, "an approval of its own")?;
    let automatic = resolved_of(&session, &automatic)?;
    closed(&automatic, ApprovalDecision::ApprovedForSession, ApprovalResolvedBy::Policy, None)?;
    let other = say(&session, "echo one  >> granted.txt").await?;
    let question = person.question().await?;
    equal(question.ask.turn_id.as_str(), other.turn_id(), "what differs by a byte is asked about")?;
    question.says("abort")?;
    end(&other).await?;
    host.close().await
}

async fn reject_with_feedback(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, "touch never.txt").await?;
    let question = person.question().await?;
    let asked = question.ask.approval_id.clone();
    let secret = "a sentence that must not be stored";
    question.says_with("abort", Some(secret))?;
    end(&turn).await?;
    let item = tool_item(&turn, ItemStatus::Rejected).await?;
    equal(item.tool_call.failure_kind.as_deref(), Some("approvalDenied"), "failureKind")?;
    let resolved = resolved_of(&session, &asked)?;
    let winner = resolved.decided_by_command_id.as_deref();
    closed(&resolved, ApprovalDecision::Abort, ApprovalResolvedBy::User, winner)?;
    equal(evidence(&resolved), vec![(0, "unresolved")], "the evidence")?;
    check(!place.path("workspace/never.txt").exists(), "nothing to have run")?;
    for entry in std::fs::read_dir(place.home())? {
        let path = entry?.path();
        if path.is_file() {
            let bytes = std::fs::read(&path)?;
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            check(!found, format_args!("no feedback in {}", path.display()))?;
        }
    }
    let next = say(&session, "pwd").await?;
    end(&next).await?;
    let item = tool_item(&next, ItemStatus::Completed).await?;
    equal(item.tool_call.visible_output, Some(place.workspace() + "\n"), "the session goes on")?;
    person.quiet("one question")?;
    host.close().await
}

async fn three_stages_safe_middle(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, "touch a && ls && touch b").await?;
    let first = person.question().await?;
    let asked = first.ask.approval_id.clone();
    equal(first.ask.current_requirement_id.source_index, 0, "the first stage")?;
    equal(stages(&first.ask), vec!["unresolved", "knownSafe", "unresolved"], "the stages")?;
    first.says("allow_once")?;
    let second = person.question().await?;
    equal(&second.ask.approval_id, &asked, "the approval of the second question")?;
    equal(second.ask.current_requirement_id.source_index, 2, "the stage behind the safe one")?;
    equal(stages(&second.ask), vec!["allowOnce", "knownSafe", "unresolved"], "the stages then")?;
    check(!place.path("workspace/a").exists(), "nothing to run while a stage is open")?;
    second.says("allow_once")?;
    end(&turn).await?;
    let item = tool_item(&turn, ItemStatus::Completed).await?;
    equal(item.tool_call.visible_output.as_deref(), Some("a\n"), "what ls saw")?;
    let resolved = resolved_of(&session, &asked)?;
    equal(
        evidence(&resolved),
        vec![(0, "allowOnce"), (1, "knownSafe"), (2, "allowOnce")],
        "the evidence",
    )?;
    person.quiet("two stages, two questions")?;
    host.close().await
}

async fn menu_of_two_unresolved_stages(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, "touch a && touch b").await?;
    let (once, lasting) = (ApprovalChoiceScope::Once, ApprovalChoiceScope::LocalPersistent);
    let expected = vec![
        ("allow_once", &ApprovalDecision::Approved, &once, false),
        ("allow_local_prefix", &ApprovalDecision::ApprovedPolicyAmendment, &lasting, false),
        ("abort", &ApprovalDecision::Abort, &once, true),
    ];
    let first = person.question().await?;
    equal(
        menu(&first.ask),
        expected.clone(),
        "the menu of the first stage: nothing for the session",
    )?;
    first.says("allow_once")?;
    let second = person.question().await?;
    equal(menu(&second.ask), expected, "the menu of the last stage")?;
    second.says("abort")?;
    end(&turn).await?;
    tool_item(&turn, ItemStatus::Rejected).await?;
    check(!place.path("workspace/a").exists(), "the allowed stage alone not to run")?;
    host.close().await
}

async fn unknown_choice_is_rejected_for_the_person(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, None, &person).await?;
    let turn = say(&session, "touch never.txt").await?;
    let question = person.question().await?;
    let asked = question.ask.approval_id.clone();
    question.says("allow_everything")?;
    // The SDK takes the host's rejecting choice instead, and fails its turn handle.
    match within("the turn", turn.completed()).await? {
        Err(MuseError::Protocol(error)) => {
            check(
                error.message().contains("allow_everything"),
                format_args!("the choice to be named, got {error}"),
            )?;
        }
        other => return Err(format!("expected a protocol error, got {other:?}").into()),
    }
    let next = say(&session, "pwd").await?;
    end(&next).await?;
    let resolved = resolved_of(&session, &asked)?;
    equal(&resolved.decision, &ApprovalDecision::Abort, "what the host was told")?;
    check(!place.path("workspace/never.txt").exists(), "nothing to have run")?;
    host.close().await
}

async fn no_handler_rejects(place: &Place) -> Outcome {
    let host = Facade::spawn(place).await?;
    let options = muse_code_sdk::client::StartSessionOptions {
        workspace_root: Some(place.workspace()),
        ..Default::default()
    };
    let session = within("session/start", host.client.start_session(options)).await??;
    let turn = say(&session, "touch never.txt").await?;
    end(&turn).await?;
    tool_item(&turn, ItemStatus::Rejected).await?;
    check(!place.path("workspace/never.txt").exists(), "nothing to have run")?;
    host.close().await
}

async fn deny_unmatched(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, Some(ApprovalMode::DenyUnmatched), &person).await?;
    let turn = say(&session, "touch never.txt").await?;
    end(&turn).await?;
    let item = tool_item(&turn, ItemStatus::Rejected).await?;
    equal(item.tool_call.failure_kind.as_deref(), Some("approvalDenied"), "failureKind")?;
    check(item.tool_call.failure_reason.is_some(), "a reason that the agent sees")?;
    check(!place.path("workspace/never.txt").exists(), "nothing to have run")?;
    let safe = say(&session, "pwd").await?;
    end(&safe).await?;
    tool_item(&safe, ItemStatus::Completed).await?;
    check(session.fold().pending_approvals().is_empty(), "nothing to pend")?;
    check(session.fold().resolved_approvals().is_empty(), "no approval at all")?;
    person.quiet("denyUnmatched never asks")?;
    host.close().await
}

async fn nonzero_exit(place: &Place) -> Outcome {
    let (host, mut person) = (Facade::spawn(place).await?, Person::new());
    let session = host.start(place, Some(ApprovalMode::AllowAll), &person).await?;
    let turn = say(&session, "sh -c 'echo said; echo cried >&2; exit 7'").await?;
    let mut deltas = turn.deltas();
    let mut streamed = String::new();
    while let Some(delta) = within("the output", deltas.recv()).await?? {
        streamed.push_str(&delta.delta);
    }
    end(&turn).await?;
    let item = tool_item(&turn, ItemStatus::Completed).await?;
    equal(item.exit_code, Some(7), "the exit code")?;
    let output = item.tool_call.visible_output.unwrap_or_default();
    check(output.contains("said") && output.contains("cried"), "stdout and stderr")?;
    equal(streamed, output, "what was streamed, and the output in the end")?;
    person.quiet("allowAll asks nothing")?;
    host.close().await
}

async fn two_sessions_of_one_client(place: &Place) -> Outcome {
    let (host, mut one, mut two) = (Facade::spawn(place).await?, Person::new(), Person::new());
    let first = host.start(place, None, &one).await?;
    let second = host.start(place, None, &two).await?;
    let text = "echo ran >> both.txt";
    let (turn_of_first, turn_of_second) = (say(&first, text).await?, say(&second, text).await?);
    let (asked_of_one, asked_of_two) = (one.question().await?, two.question().await?);
    check(asked_of_one.ask.approval_id != asked_of_two.ask.approval_id, "two approvals")?;
    asked_of_one.says("allow_session")?;
    end(&turn_of_first).await?;
    equal(
        place.lines("both.txt"),
        vec!["ran"],
        "a grant of one session does not answer in another",
    )?;
    asked_of_two.says("abort")?;
    end(&turn_of_second).await?;
    tool_item(&turn_of_second, ItemStatus::Rejected).await?;
    one.quiet("one question each")?;
    two.quiet("one question each")?;
    host.close().await
}

async fn eof_exit_0(place: &Place) -> Outcome {
    let (host, person) = (Facade::spawn(place).await?, Person::new());
    let opening = host.client.initialize_result().ok_or("no handshake")?;
    equal(&opening.session_durability, &Some(SessionDurability::Durable), "durability")?;
    equal(opening.server_info.name.as_str(), "placet", "the name of the host")?;
    let session = host.start(place, None, &person).await?;
    end(&say(&session, "pwd").await?).await?;
    host.close().await
}

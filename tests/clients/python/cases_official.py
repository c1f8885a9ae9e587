"""What the official client can say by itself: approve, grant, reject, stages, denial, exit status, shutdown."""

from __future__ import annotations

import json
import uuid

from harness import Env, case, check, equal
from official import Official, Person, end, resolved_of, say, tool_item
from raw import RawHost
from talk import Talk, closed, evidence, home_bytes_with, tool_shell


@case()
async def approve_once(env: Env) -> None:
    """Ask, approve, run once. The question carries the action verbatim and the single-stage menu."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person)  # no mode: the default is promptUnmatched
    text = "touch made.txt"
    turn = await say(session, text)
    ask = await person.question()

    equal(ask["toolName"], "shell", "toolName")
    equal(json.loads(ask["rawArgs"]), {"command": text}, "rawArgs")
    equal((ask["turnId"], ask["itemId"] == ask["taskId"]), (turn.turn_id, True), "turn, and itemId = taskId")
    equal((ask["protectedWrite"], ask["judgeEscalated"]), (False, False), "protectedWrite, judgeEscalated")
    subject = ask["subject"]
    equal((subject["kind"], subject["command"]), ("shell", text), "subject")
    equal(subject["workspaceRoot"], str(env.ws), "workspaceRoot")
    stage = {"requirementId": {"approvalId": ask["approvalId"], "sourceIndex": 0}, "position": 1, "totalStages": 1,
             "argv": ["touch", "made.txt"], "argvComplete": True, "resolution": {"kind": "unresolved"}}
    equal([{name: value for name, value in row.items() if name != "suggestedPrefix"} for row in subject["stages"]],
          [stage], "stages")
    menu = [(c["choiceId"], c["decision"], c["scope"], c.get("acceptsFeedback")) for c in ask["availableChoices"]]
    equal(menu, [("allow_once", "approved", "once", None), ("allow_session", "approvedForSession", "session", None),
                 ("allow_local_prefix", "approvedPolicyAmendment", "localPersistent", None), ("abort", "abort", "once", True)], "the menu of one unresolved stage")
    equal(len(session.fold.pending_approvals()), 1, "approvals pending in the SDK's fold")
    check(not env.file("made.txt").exists(), "nothing to have run before the decision")

    person.says("allow_once")
    await end(turn)
    check(env.file("made.txt").exists(), "the command to have run")
    item = await tool_item(turn, "completed")
    equal(item.get("exitCode"), 0, "exitCode")
    equal(item.get("approvalId"), ask["approvalId"], "the item joins its approval")
    check("held" not in item, "no `held` on a finished item", item)
    resolved = resolved_of(session, ask["approvalId"])
    check(bool(resolved.get("decidedByCommandId")), "the winning command in the terminal", resolved)
    closed(resolved, "approved", "allow", "user", resolved["decidedByCommandId"])
    equal(evidence(resolved), [(0, 1, 1, "allowOnce")], "stageEvidence")
    equal(session.fold.pending_approvals(), [], "pending approvals at the end")
    person.quiet("one stage is asked about once")
    await host.close()


@case()
async def session_grant(env: Env) -> None:
    """A grant covers the byte-identical command, with a terminal record of its own, and nothing that differs."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person, "promptUnmatched")
    text = "echo one >> granted.txt"
    turn = await say(session, text)
    ask = await person.question()
    person.says("allow_session")
    await end(turn)
    first = resolved_of(session, ask["approvalId"])
    closed(first, "approvedForSession", "allow", "user", first.get("decidedByCommandId"))
    equal(first.get("amendment", {}).get("durability"), "session", "the durability of the rule that was made")

    turn = await say(session, text)
    await end(turn)
    await tool_item(turn, "completed")
    person.quiet("the byte-identical command is covered by the grant")
    equal(env.lines("granted.txt"), ["one", "one"], "both turns ran, once each")
    automatic = [params for params in session.fold.resolved_approvals() if params["turnId"] == turn.turn_id]
    equal(len(automatic), 1, "terminals of the auto-approved turn")
    auto = dict(automatic[0])
    check(auto["approvalId"] != ask["approvalId"], "an approvalId of its own", auto)
    closed(auto, "approvedForSession", "allow", "policy", None)

    turn = await say(session, "echo one  >> granted.txt")  # one space more
    other = await person.question()
    equal(other["turnId"], turn.turn_id, "the turn that differs by one byte is asked about")
    person.says("abort")
    await end(turn)
    equal(env.lines("granted.txt"), ["one", "one"], "the rejected command did not run")
    person.quiet("three turns, two questions")
    await host.close()

    raw = await RawHost.spawn(env)
    talk = await Talk.resume(raw, session.session_id)
    equal(await talk.paged("approval/resolved", approvalId=auto["approvalId"]), [auto], "the automatic terminal on a page")
    equal(await talk.paged("approval/requested", approvalId=auto["approvalId"]), [], "no approval/requested precedes it")
    await talk.run(text)  # a grant is a decision of this session: it counts after a restart
    equal(env.lines("granted.txt"), ["one", "one", "one"], "the grant holds in the resumed session")
    equal(await raw.close(), 0, "exit code")


@case()
async def reject_with_feedback(env: Env) -> None:
    """A rejection ends the item, not the turn; the feedback is never stored."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person, "promptUnmatched")
    turn = await say(session, "touch never.txt")
    ask = await person.question()
    secret = f"feedback-{uuid.uuid4().hex}"
    person.says("abort", secret)
    await end(turn)
    item = await tool_item(turn, "rejected")
    equal(item.get("failureKind"), "approvalDenied", "failureKind of a rejected item")
    check(bool(item.get("failureReason")), "a failureReason", item)
    resolved = resolved_of(session, ask["approvalId"])
    closed(resolved, "abort", "deny", "user", resolved.get("decidedByCommandId"))
    check(bool(resolved.get("decidedByCommandId")), "the winning command in the terminal", resolved)
    equal(evidence(resolved), [(0, 1, 1, "unresolved")], "stageEvidence")
    check(secret not in json.dumps(resolved), "no feedback in approval/resolved", resolved)
    check(not env.file("never.txt").exists(), "the rejected command not to have run")
    person.quiet("one question")

    equal(home_bytes_with(env, secret), [], "files of the home that hold the feedback, host alive")
    check(home_bytes_with(env, ask["approvalId"]) != [], "the approvalId in some file of the home (else this proves nothing)")
    turn = await say(session, "pwd")
    await end(turn)
    equal((await tool_item(turn, "completed")).get("visibleOutput"), f"{env.ws}\n", "the session goes on")
    await host.close()
    equal(home_bytes_with(env, secret), [], "files of the home that hold the feedback, host ended")


@case()
async def three_stages_safe_middle(env: Env) -> None:
    """`touch a && ls && touch b`: stage 0, then stage 2; the safe middle is skipped and shown as known safe."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person, "promptUnmatched")
    turn = await say(session, "touch a && ls && touch b")
    first = await person.question()
    equal(first["currentRequirementId"]["sourceIndex"], 0, "the first stage asked about")
    equal(tool_shell(first), ["unresolved", "knownSafe", "unresolved"], "the stages at the opening")
    equal([row["argv"] for row in first["subject"]["stages"]], [["touch", "a"], ["ls"], ["touch", "b"]], "argv")
    equal([c["choiceId"] for c in first["availableChoices"]], ["allow_once", "allow_local_prefix", "abort"], "two unresolved: no session choice")
    person.says("allow_once")
    second = await person.question()
    equal(second["approvalId"], first["approvalId"], "the same approval")
    equal(second["currentRequirementId"], {"approvalId": first["approvalId"], "sourceIndex": 2}, "the next requirement")
    equal(tool_shell(second), ["allowOnce", "knownSafe", "unresolved"], "the stages after the first decision")
    equal([c["choiceId"] for c in second["availableChoices"]], ["allow_once", "allow_local_prefix", "abort"], "the menu of the last stage")
    check(not env.file("a").exists(), "nothing to have run while a stage is open")
    person.says("allow_once")
    await end(turn)
    equal((await tool_item(turn, "completed")).get("visibleOutput"), "a\n", "output of ls in the middle")
    check(env.file("b").exists(), "the last stage to have run")
    resolved = resolved_of(session, first["approvalId"])
    closed(resolved, "approved", "allow", "user", resolved.get("decidedByCommandId"))
    equal(evidence(resolved), [(0, 1, 3, "allowOnce"), (1, 2, 3, "knownSafe"), (2, 3, 3, "allowOnce")], "stageEvidence")
    person.quiet("two stages, two questions")
    await host.close()


@case()
async def deny_unmatched(env: Env) -> None:
    """denyUnmatched: the item is rejected with its kind, the turn completes, nothing opens, the next turn works."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person, "denyUnmatched")
    turn = await say(session, "touch never.txt")
    await end(turn)
    item = await tool_item(turn, "rejected")
    equal(item.get("failureKind"), "approvalDenied", "failureKind")
    check(bool(item.get("failureReason")), "a reason that the model sees", item)
    equal(session.fold.pending_approvals(), [], "pending approvals")
    check(not env.file("never.txt").exists(), "the denied command not to have run")
    turn = await say(session, "pwd")
    await end(turn)
    equal((await tool_item(turn, "completed")).get("visibleOutput"), f"{env.ws}\n", "a safe command still runs")
    person.quiet("denyUnmatched never asks")
    await host.close()

    raw = await RawHost.spawn(env)
    talk = await Talk.resume(raw, session.session_id)
    equal(talk.opening["pendingRequests"], [], "pendingRequests")
    equal(await talk.paged("approval/requested"), [], "approvals ever opened")
    equal(await raw.close(), 0, "exit code")


@case()
async def nonzero_exit(env: Env) -> None:
    """A command that fails is a completed item with its exit status in a completed turn; stderr is output too."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person, "allowAll")
    turn = await say(session, "sh -c 'echo said; echo cried >&2; exit 7'")
    await end(turn)
    item = await tool_item(turn, "completed")
    equal(item.get("exitCode"), 7, "exitCode")
    check("said" in item["visibleOutput"] and "cried" in item["visibleOutput"], "stdout and stderr", item["visibleOutput"])
    turn = await say(session, "no-such-command-here")
    await end(turn)
    equal((await tool_item(turn, "completed")).get("exitCode"), 127, "exitCode of an unknown command")
    person.quiet("allowAll asks nothing")
    await host.close()


@case()
async def eof_exit_0(env: Env) -> None:
    """close() is a clean shutdown: exit code 0, and a session/closed for every loaded session."""
    host, person = await Official.spawn(env), Person()
    session = await host.start(person)
    await end(await say(session, "pwd"))
    await host.close()  # checks cleanShutdown

    raw = await RawHost.spawn(env)
    talks = [await Talk.start(raw), await Talk.resume(raw, session.session_id)]
    await talks[0].run("pwd")
    equal(await raw.close(), 0, "exit code after EOF")
    for talk in talks:
        frames = raw.seen("session/closed", sessionId=talk.id)
        equal([frame["params"]["reason"] for frame in frames], ["hostShutdown"], f"session/closed of {talk.id}")
    idle = await RawHost.spawn(env, handshake=False)
    equal(await idle.close(), 0, "exit code of a host that was never spoken to")

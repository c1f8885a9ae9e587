"""SIGKILL and EOF: what was pending is asked again under its successor, what ran is never run again."""

from __future__ import annotations

import asyncio

from muse_code import MuseHostDiedError

from harness import WAIT_S, Env, case, equal, without
from official import Official, Person, end, resolved_of, say, tool_item
from raw import RawHost
from talk import Talk, closed, evidence, fresh_mark, no_survivor, output, some_process, successor_of, tool_shell


def same_action(old: dict, new: dict) -> None:
    """The successor carries the identical action under its own id, judged afresh."""
    equal(new["approvalId"], successor_of(old["approvalId"]), "the successor's id: UUIDv5 over the old one")
    names = ("sessionId", "turnId", "taskId", "itemId", "toolCallId", "toolName", "rawArgs")
    equal({name: new[name] for name in names}, {name: old[name] for name in names}, "the identical action")
    equal(without(new["subject"], "stages"), without(old["subject"], "stages"), "the subject")
    equal([row["argv"] for row in new["subject"]["stages"]], [row["argv"] for row in old["subject"]["stages"]], "the stages")
    equal(new["judgeEscalated"], False, "judgeEscalated on a re-issue")
    for stage in new["subject"]["stages"]:
        equal(stage["requirementId"]["approvalId"], new["approvalId"], "the stages name the successor")


def pointers(opening: dict, ask: dict) -> None:
    """The resume result points at the one pending approval, and the session still runs its turn."""
    expected = [{"kind": "approval", "approvalId": ask["approvalId"], "viewCursor": ask["viewCursor"]}]
    equal(opening["pendingRequests"], expected, "pendingRequests")
    session = opening["session"]
    equal((session["status"], session["activeTurnId"], session.get("attention")),
          ("running", ask["turnId"], ["approvalPending"]), "the resumed session")


async def died(turn: object) -> None:
    """The SDK must tell the waiter that its durable host died."""
    try:
        await asyncio.wait_for(_completed(turn), WAIT_S)
    except MuseHostDiedError:
        return
    raise AssertionError("expected MuseHostDiedError from the turn of the killed host")


async def _completed(turn: object) -> object:
    return await turn.completed  # type: ignore[attr-defined]


@case()
async def sigkill_reask(env: Env) -> None:
    """SIGKILL while pending, a fresh host, resume with a handler: asked under the new id, decided, run exactly once."""
    host, before = await Official.spawn(env), Person()
    session = await host.start(before, "promptUnmatched")
    turn = await say(session, "echo ran >> once.txt")
    old = await before.question()
    host.kill()
    await died(turn)
    await host.killed()
    equal(env.lines("once.txt"), [], "nothing ran before the crash")

    host, after = await Official.spawn(env), Person()
    session = await host.resume(after, session.session_id)
    new = await after.question()
    same_action(old, new)
    pointers(dict(session.opening.result), new)
    equal(env.lines("once.txt"), [], "nothing runs by itself after the crash")
    turn = session.turn(old["turnId"])
    after.says("allow_once")
    await end(turn)
    equal((await tool_item(turn, "completed"))["itemId"], old["itemId"], "the item that was parked is the one that ran")
    equal(env.lines("once.txt"), ["ran"], "the command ran exactly once")
    resolved = resolved_of(session, new["approvalId"])
    closed(resolved, "approved", "allow", "user", resolved.get("decidedByCommandId"))
    after.quiet("one approval is re-asked once")
    await host.close()

    raw = await RawHost.spawn(env)
    talk = await Talk.resume(raw, session.session_id)
    terminals = await talk.paged("approval/resolved")
    equal([row["approvalId"] for row in terminals], [old["approvalId"], new["approvalId"]], "terminals: the old, the new")
    closed(terminals[0], "abort", "deny", "user", None)
    equal(len(await talk.paged("approval/requested")), 2, "openings: the old, the new")
    equal([row["terminal"] for row in await talk.paged("turn/completed")], ["completed"], "turn terminals")
    equal(await raw.close(), 0, "exit code")


@case()
async def kill_after_stage_0_of_three(env: Env) -> None:
    """A stage answered before the crash grants nothing: it is asked again; the old terminal shows it as evidence."""
    host, before = await Official.spawn(env), Person()
    session = await host.start(before, "promptUnmatched")
    text = "echo 0 >> ran.txt && echo 1 >> ran.txt && echo 2 >> ran.txt"
    await say(session, text)
    old = await before.question()
    equal(tool_shell(old), ["unresolved"] * 3, "three stages that need a question")
    before.says("allow_once")
    equal((await before.question())["currentRequirementId"]["sourceIndex"], 1, "the second question")
    host.kill()
    await host.killed()

    host, after = await Official.spawn(env), Person()
    session = await host.resume(after, session.session_id)
    turn = session.turn(old["turnId"])
    for index in range(3):
        new = await after.question()
        equal(new["currentRequirementId"], {"approvalId": successor_of(old["approvalId"]), "sourceIndex": index},
              "stage by stage, stage 0 again")
        equal(tool_shell(new), ["allowOnce"] * index + ["unresolved"] * (3 - index), "the stages of the successor")
        equal(env.lines("ran.txt"), [], "nothing runs before the last stage")
        if index == 0:
            same_action(old, new)
            pointers(dict(session.opening.result), new)
        after.says("allow_once")
    await end(turn)
    equal(env.lines("ran.txt"), ["0", "1", "2"], "each stage ran exactly once")
    after.quiet("three questions")
    await host.close()

    raw = await RawHost.spawn(env)
    talk = await Talk.resume(raw, session.session_id)
    dead = (await talk.paged("approval/resolved", approvalId=old["approvalId"]))[0]
    closed(dead, "abort", "deny", "user", None)
    equal(evidence(dead), [(0, 1, 3, "allowOnce"), (1, 2, 3, "unresolved"), (2, 3, 3, "unresolved")],
          "the evidence of the old approval as it stood at the crash")
    equal(await raw.close(), 0, "exit code")


@case()
async def killed_before_commit(env: Env) -> None:
    """No decide reached the log: for the old id -32051 with the restart's terminal; the successor is untouched."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    old = await talk.opened("echo ran >> once.txt")
    await host.kill()
    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, talk.id)
    new = await talk.ask(old["turnId"])
    same_action(old, new)
    pointers(talk.opening, new)
    dead = (await talk.paged("approval/resolved", approvalId=old["approvalId"]))[0]
    closed(dead, "abort", "deny", "user", None)
    equal(evidence(dead), [(0, 1, 1, "unresolved")], "stageEvidence of the old approval")
    data = {"kind": "approvalAlreadyResolved", "approvalId": old["approvalId"],
            "resolution": {"decision": "abort", "resolvedBy": "user", "viewCursor": dead["viewCursor"]}}
    for late in (talk.decision(old, "allow_once"), talk.decision(old, "abort")):
        await host.refused("approval/decide", late, -32051, data)
        await host.refused("approval/decide", late, -32051, data)  # and again with the same command id
    equal(await talk.pending(), [new], "the successor is still pending, unchanged")
    equal(env.lines("once.txt"), [], "nothing ran")
    await talk.decide(talk.decision(new, "allow_once"))
    await talk.end(old["turnId"])
    equal(env.lines("once.txt"), ["ran"], "the successor's decision ran it once")
    equal(await host.close(), 0, "exit code")


@case()
async def kill_during_recovery(env: Env) -> None:
    """Killed again and again while pending: one successor per restart, each a function of its predecessor's id."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("echo ran >> once.txt")
    chain = [ask["approvalId"]]
    for _ in range(3):
        await host.kill()
        host = await RawHost.spawn(env)
        talk = await Talk.resume(host, talk.id)
        ask = await talk.ask(ask["turnId"])
        chain.append(successor_of(chain[-1]))
        equal(ask["approvalId"], chain[-1], "the successor of the successor")
        equal(await talk.pending(), [ask], "exactly one approval is pending")
    await talk.decide(talk.decision(ask, "allow_once"))
    await talk.end(ask["turnId"])
    equal([row["approvalId"] for row in await talk.paged("approval/resolved")], chain, "one terminal per id, in order")
    equal(env.lines("once.txt"), ["ran"], "the command ran once")
    equal(await host.close(), 0, "exit code")


@case()
async def kill_while_running(env: Env) -> None:
    """What had started is never run again: the item fails as outcomeUnknown, no process survives the host."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    mark = fresh_mark()
    ask = await talk.opened(f"sh -c 'echo ran >> once.txt; echo begun; sleep {mark}'")
    decide = talk.decision(ask, "allow_once")
    ack = await talk.decide(decide)
    await output(host, "begun")
    await some_process(mark)
    await host.kill()
    await no_survivor(mark)

    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, talk.id)
    equal(talk.opening["pendingRequests"], [], "pendingRequests: the decision was made")
    equal(await talk.pending(), [], "pending")
    ended = [row["item"] for row in await talk.paged("item/completed") if row["item"]["itemId"] == ask["itemId"]]
    equal([(item["status"], item.get("failureKind")) for item in ended], [("failed", "outcomeUnknown")], "the item")
    equal(await host.call("approval/decide", decide), ack, "the replayed decide: the first ack")
    await talk.run("pwd")
    equal(env.lines("once.txt"), ["ran"], "the command was not run again")
    equal(await host.close(), 0, "exit code")


@case()
async def eof_while_pending(env: Env) -> None:
    """EOF parks, it does not decide: exit 0, the approval pends, and a resume asks again."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    old = await talk.opened("echo ran >> once.txt")
    equal(await host.close(), 0, "exit code with an approval pending")
    equal(host.seen("approval/resolved"), [], "EOF resolves nothing")
    equal(host.seen("turn/completed"), [], "EOF ends no parked turn")
    equal(len(host.seen("session/closed", sessionId=talk.id, reason="hostShutdown")), 1, "session/closed")
    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, talk.id)
    new = await talk.ask(old["turnId"])
    same_action(old, new)
    pointers(talk.opening, new)
    await talk.decide(talk.decision(new, "allow_once"))
    await talk.end(old["turnId"])
    equal(env.lines("once.txt"), ["ran"], "what ran")
    equal(await host.close(), 0, "exit code")


@case()
async def eof_while_running(env: Env) -> None:
    """EOF cancels a turn that runs, durably, and also when the client has dropped the read side (EPIPE)."""
    for deaf in (False, True):
        host = await RawHost.spawn(env)
        talk = await Talk.start(host, "allowAll")
        mark = fresh_mark()
        turn = await talk.turn(f"echo begun; sleep {mark}")
        await output(host, "begun")
        if deaf:
            host.stop_reading()
        equal(await host.close(), 0, f"exit code (read side dropped: {deaf})")
        await no_survivor(mark)
        host = await RawHost.spawn(env)
        talk = await Talk.resume(host, talk.id)
        last = talk.opening.get("lastTurn", {})
        equal((last.get("turnId"), last.get("terminal")), (turn, "cancelled"), "lastTurn: the cancel is in the log")
        equal(await talk.paged("turn/completed", turnId=turn, terminal="cancelled") != [], True, "its terminal on a page")
        equal(await host.close(), 0, "exit code")

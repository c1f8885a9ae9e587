"""One command id, one effect: replays on the same connection, after EOF, after SIGKILL, and conflicts."""

from __future__ import annotations

import json
from typing import Any, Dict

from harness import Env, case, check, equal, without
from raw import RawHost, new_command_id
from talk import Talk, successor_of


def _turned(value: Any) -> Any:
    """The same JSON value with the members of every object in reverse order."""
    if isinstance(value, dict):
        return {name: _turned(value[name]) for name in reversed(list(value))}
    return [_turned(element) for element in value] if isinstance(value, list) else value


async def _again(host: RawHost, params: Dict[str, Any], ack: Dict[str, Any]) -> None:
    """The same decide in every equal spelling gives the first ack, value for value."""
    for what, spelling in {
        "as it was": params,
        "members in another order": _turned(params),
        "feedback null": {**params, "feedback": None},
    }.items():
        equal(await host.call("approval/decide", spelling), ack, f"the replayed ack ({what})")
    frame = {"params": _turned(params), "method": "approval/decide", "id": host.claim_id("approval/decide"), "jsonrpc": "2.0"}
    host.send_bytes(json.dumps(frame, indent=None, separators=(" ,  ", " :\t"), ensure_ascii=True).encode() + b"\r\n")
    equal(host.result(await host.answer(frame["id"]), "the replay in another spelling"), ack, "the replayed ack (spaces)")


async def _conflict(host: RawHost, method: str, params: Dict[str, Any]) -> None:
    data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": "command_id_conflict"}
    await host.refused(method, params, -32030, data)


@case()
async def replay_same_connection(env: Env) -> None:
    """A replay returns the first ack and does nothing else, for a stage and for the terminal."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("echo ran >> twice.txt && touch other.txt")
    stage = talk.decision(ask, "allow_once")
    stage_ack = await talk.decide(stage, terminal=False)
    await _again(host, stage, stage_ack)
    second = await talk.ask(ask["turnId"], index=1)
    equal(await talk.pending(), [second], "the replay of stage 0 left stage 1 alone")
    last = talk.decision(second, "allow_once")
    ack = await talk.decide(last)
    await _again(host, last, ack)
    await talk.end(ask["turnId"])
    rows = env.record_rows()
    await _again(host, last, ack)
    await _again(host, stage, stage_ack)
    await talk.pending()
    equal(len(host.seen("approval/resolved", approvalId=ask["approvalId"])), 1, "terminals")
    equal(len(host.seen("approval/updated", approvalId=ask["approvalId"])), 1, "stage updates")
    equal(len(host.seen("turn/completed")), 1, "turns that ended")
    equal(env.lines("twice.txt"), ["ran"], "executions")
    equal(env.record_rows(), rows, "a replay writes nothing")
    equal(await host.close(), 0, "exit code")


@case()
async def replay_reject_with_feedback(env: Env) -> None:
    """Feedback is part of the payload though it is never stored: the same text replays, another one conflicts."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch never.txt")
    params = talk.decision(ask, "abort", feedback="use another file")
    ack = await talk.decide(params)
    await talk.end(ask["turnId"])
    for host_is_fresh in (False, True):
        equal(await host.call("approval/decide", params), ack, f"the replay (fresh host: {host_is_fresh})")
        await _conflict(host, "approval/decide", {**params, "feedback": "use another file!"})
        await _conflict(host, "approval/decide", without(params, "feedback"))
        equal(await host.close(), 0, "exit code")
        if not host_is_fresh:
            host = await RawHost.spawn(env)
            talk = await Talk.resume(host, talk.id)


@case()
async def replay_after_eof(env: Env) -> None:
    """On a second connection after an orderly end: decide and turn/start give their first acks."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    turn_params = talk.turn_params("echo ran >> once.txt")
    turn_ack = await host.call("turn/start", turn_params)
    ask = await talk.ask(turn_ack["turnId"])
    params = talk.decision(ask, "allow_once")
    ack = await talk.decide(params)
    await talk.end(ask["turnId"])
    equal(await host.close(), 0, "exit code")
    host = await RawHost.spawn(env)
    await host.refused("approval/decide", params, -32024, {"kind": "sessionNotLoaded", "sessionId": talk.id})
    talk = await Talk.resume(host, talk.id)
    await _again(host, params, ack)
    equal(await host.call("turn/start", turn_params), turn_ack, "the replayed turn/start")
    equal(await host.call("turn/start", _turned(turn_params)), turn_ack, "the replayed turn/start, members turned")
    equal(await talk.pending(), [], "nothing pends")
    equal(len(await talk.paged("turn/started")), 1, "turns")
    equal(env.lines("once.txt"), ["ran"], "executions")
    equal(await host.close(), 0, "exit code")


@case()
async def replay_after_sigkill(env: Env) -> None:
    """On a second connection after SIGKILL behind the ack: the first ack, and no second execution."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("echo ran >> once.txt")
    params = talk.decision(ask, "allow_once")
    ack = await talk.decide(params)
    await talk.end(ask["turnId"])
    await host.kill()
    for _ in range(2):
        host = await RawHost.spawn(env)
        talk = await Talk.resume(host, talk.id)
        equal(talk.opening["pendingRequests"], [], "pendingRequests")
        await _again(host, params, ack)
        equal(await talk.pending(), [], "nothing pends")
        equal(env.lines("once.txt"), ["ran"], "executions")
        equal(len(await talk.paged("approval/resolved")), 1, "terminals")
        await host.kill()


@case()
async def replay_session_start(env: Env) -> None:
    """session/start is keyed in the home: its replay, also from a later host, makes no second session."""
    host = await RawHost.spawn(env)
    params = {"commandId": new_command_id(), "workspaceRoot": str(env.ws), "approvalMode": "promptUnmatched"}
    first = await host.call("session/start", params)
    equal(await host.call("session/start", _turned(params)), first, "the replay on the same connection")
    await _conflict(host, "session/start", {**params, "approvalMode": "denyUnmatched"})
    equal(await host.close(), 0, "exit code")
    host = await RawHost.spawn(env)
    equal(await host.call("session/start", params), first, "the replay on a fresh host")
    listed = await host.call("session/list", {})
    equal([row["sessionId"] for row in listed["sessions"]], [first["session"]["sessionId"]], "sessions of the home")
    equal(await host.close(), 0, "exit code")


@case()
async def command_id_conflict(env: Env) -> None:
    """A command id that the log holds, with another payload: refused, on the same stage, method, or successor."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    turn_params = talk.turn_params("touch a && touch b")
    turn = (await host.call("turn/start", turn_params))["turnId"]
    ask = await talk.ask(turn)
    params = talk.decision(ask, "allow_once")
    await talk.decide(params, terminal=False)
    second = await talk.ask(turn, index=1)
    used = params["commandId"]
    await _conflict(host, "approval/decide", talk.decision(ask, "abort", used))
    await _conflict(host, "approval/decide", talk.decision(second, "allow_once", used))
    await _conflict(host, "approval/decide", talk.decision(second, "allow_once", turn_params["commandId"]))
    await _conflict(host, "session/setApprovalMode", {"sessionId": talk.id, "commandId": used, "mode": "denyUnmatched"})
    await _conflict(host, "turn/interrupt", {"sessionId": talk.id, "commandId": used, "turnId": turn})
    equal(await talk.pending(), [second], "pending after the conflicts")
    await host.kill()

    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, talk.id)
    new = await talk.ask(turn)
    equal(new["approvalId"], successor_of(ask["approvalId"]), "the successor")
    await _conflict(host, "approval/decide", talk.decision(new, "allow_once", used))
    await _conflict(host, "approval/decide", talk.decision(new, "abort", turn_params["commandId"]))
    equal(await talk.pending(), [new], "the successor is untouched and still pending")
    check(not env.file("a").exists(), "nothing to have run")
    await talk.decide(talk.decision(new, "abort"))
    await talk.end(turn)
    equal(await host.close(), 0, "exit code")

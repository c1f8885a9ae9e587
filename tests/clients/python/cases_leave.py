"""session/leave: what it refuses, what it ends, what it leaves pending, and that its end is always told."""

from __future__ import annotations

from typing import Any, Dict

from harness import Env, case, check, equal, without
from jsonturns import act, ended, text
from raw import RawHost, new_command_id
from talk import Talk, closed, fresh_mark, no_survivor, successor_of


def _params(talk: Talk, **members: Any) -> Dict[str, Any]:
    return {"sessionId": talk.id, "commandId": new_command_id(), **members}


async def _left(talk: Talk, **members: Any) -> Dict[str, Any]:
    """Leaves; checks ack, session/closed and session/leaveCompleted in this order; returns the params."""
    host, params = talk.host, _params(talk, **members)
    after = len(host.frames) - 1
    answer = await host.answer(host.begin("session/leave", params))
    equal(host.result(answer, "session/leave"), {"commandId": params["commandId"], "status": "accepted"}, "the ack")
    told = await host.event("session/leaveCompleted", after, sessionId=talk.id)
    cursor = told["params"]["viewCursor"]
    equal(told["params"], {"sessionId": talk.id, "commandId": params["commandId"], "outcome": "released", "viewCursor": cursor},
          "session/leaveCompleted")
    gone = host.seen("session/closed", after, sessionId=talk.id)
    equal([frame["params"] for frame in gone], [{"sessionId": talk.id, "reason": "leave", "viewCursor": cursor}], "session/closed")
    check(answer.pos < gone[0].pos < told.pos, "the ack, then closed, then leaveCompleted", [answer.pos, gone[0].pos, told.pos])
    return params


async def _not_loaded(talk: Talk) -> None:
    """Every command on a session that was left is -32024, reads still work."""
    data = {"kind": "sessionNotLoaded", "sessionId": talk.id}
    for method, params in (("turn/start", talk.turn_params("pwd")), ("turn/interrupt", _params(talk)),
                           ("session/setApprovalMode", _params(talk, mode="denyUnmatched")), ("session/leave", _params(talk))):
        await talk.host.refused(method, params, -32024, data)
    await talk.host.refused("view/subscribe", {"sessionId": talk.id}, -32024, data)
    equal((await talk.host.call("session/read", {"sessionId": talk.id}))["session"]["status"], "notLoaded", "status, as read")
    check(all(event["params"]["sessionId"] == talk.id for event in await talk.page_all()), "pages of the session")


@case()
async def leave_idle(env: Env) -> None:
    """Leaving an idle session lets it go, also for another host; the command replays behind a resume."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    await talk.run("pwd")
    params = await _left(talk)
    await _not_loaded(talk)
    other = await RawHost.spawn(env)
    taken = await Talk.resume(other, talk.id)  # the lease is free
    await taken.run("pwd")
    await _left(taken)
    back = await Talk.resume(host, talk.id)
    equal(back.opening["session"]["status"], "idle", "status behind the resume")
    mark = len(host.frames) - 1
    equal(await host.call("session/leave", params), {"commandId": params["commandId"], "status": "accepted"}, "the replay")
    await host.refused("session/leave", {**params, "stop": True}, -32030,
                       {"kind": "commandRejected", "commandId": params["commandId"], "reason": "command_id_conflict"})
    await back.run("pwd")  # a replay leaves nothing
    equal(host.seen("session/closed", mark), [], "the session stays loaded")
    equal((await other.close(), await host.close()), (0, 0), "exit codes")


@case()
async def leave_parked(env: Env) -> None:
    """A turn that waits for a person stays as it is: still pending for readers, recovered by the next resume."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("echo ran >> parked.txt")
    await _left(talk)
    equal(host.seen("approval/resolved"), [], "leaving decides nothing")
    equal(await talk.pending(), [ask], "listPending of the left session")
    await host.refused("approval/decide", talk.decision(ask, "allow_once"), -32024,
                       {"kind": "sessionNotLoaded", "sessionId": talk.id})
    back = await Talk.resume(host, talk.id)
    new = await back.ask(ask["turnId"], after=host.frames[-1].pos - 3)
    equal(new["approvalId"], successor_of(ask["approvalId"]), "asked again under the successor")
    changing = ("approvalId", "viewCursor", "sourceRange", "currentRequirementId")
    equal({**without(new, *changing), "subject": without(new["subject"], "stages")},
          {**without(ask, *changing), "subject": without(ask["subject"], "stages")}, "the same action")
    await back.decide(back.decision(new, "allow_once"))
    await back.end(ask["turnId"])
    equal(env.lines("parked.txt"), ["ran"], "what ran")
    equal(await host.close(), 0, "exit code")


@case()
async def leave_running(env: Env) -> None:
    """A running turn is not left by accident; with `stop` it is cancelled durably first, and nothing of it survives."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    mark = fresh_mark()
    turn = await talk.turn(f"echo begun; sleep {mark}")
    await host.event("item/delta")
    for members in ({}, {"stop": False}):
        params = _params(talk, **members)
        await host.refused("session/leave", params, -32030,
                           {"kind": "commandRejected", "commandId": params["commandId"], "reason": "turn_running"})
    equal(host.seen("turn/completed"), [], "the turn runs on")
    await _left(talk, stop=True)
    item = (await ended(talk, turn, "cancelled"))[0]
    equal(item["status"], "cancelled", "the item")
    completed, gone = host.seen("turn/completed", turnId=turn)[0], host.seen("session/closed")[0]
    check(completed.pos < gone.pos, "the turn's end before session/closed")
    await no_survivor(mark)
    await _not_loaded(talk)
    equal([event["method"] for event in await talk.page_all()][-1], "turn/completed", "the durable end")
    waiting = await Talk.start(host, "allowAll")  # a turn whose agent only waits is running too
    turn = await waiting.turn(text(say="late", pauseMs=60_000))
    params = _params(waiting)
    await host.refused("session/leave", params, -32030,
                       {"kind": "commandRejected", "commandId": params["commandId"], "reason": "turn_running"})
    await _left(waiting, stop=True)
    await waiting.end(turn, "cancelled")
    equal(await host.close(), 0, "exit code")


@case()
async def leave_in_between(env: Env) -> None:
    """While what runs is being ended, the session takes no command; a resume waits and gets it loaded anew."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    mark = fresh_mark()
    turn = await talk.turn(f"trap '' TERM; echo begun; sleep {mark}")  # it does not go before SIGKILL comes
    await host.event("item/delta")
    leave, late = _params(talk, stop=True), talk.turn_params("touch late.txt")
    resume = {**_params(talk), "excludeItems": True}
    ids = [host.begin(method, params) for method, params in (
        ("session/leave", leave), ("turn/start", late), ("session/setApprovalMode", _params(talk, mode="denyUnmatched")),
        ("session/leave", leave), ("session/leave", _params(talk)), ("session/resume", resume))]
    answers = [await host.answer(request) for request in ids]
    ack = {"commandId": leave["commandId"], "status": "accepted"}
    equal([host.result(answers[index], "session/leave") for index in (0, 3)], [ack, ack], "the ack, and its replay")
    for index in (1, 2, 4):
        host.is_error(answers[index], -32024, {"kind": "sessionNotLoaded", "sessionId": talk.id}, f"request {index}")
    opening = host.result(answers[5], "session/resume")
    equal((opening["session"]["status"], opening["lastTurn"]["terminal"]), ("idle", "cancelled"), "loaded anew, behind the end")
    left = await host.event("session/leaveCompleted")
    check(left.pos < answers[5].pos, "left before it was resumed")
    await no_survivor(mark)
    equal((await host.call("turn/start", late))["disposition"], "started", "the refused turn, sent again")
    await talk.end(late["commandId"])
    equal([frame["params"]["turnId"] for frame in host.seen("turn/started")], [turn, late["commandId"]], "turns")
    equal(await host.close(), 0, "exit code")


@case()
async def leave_parked_and_running(env: Env) -> None:
    """One action of a turn runs, another waits for a person: with `stop` the one is ended, the other stays pending."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    mark = fresh_mark()
    turn = await talk.turn(text(act("shell", {"command": f"touch begun; echo begun; sleep {mark}"}), act("search", {"q": "a"})))
    await host.wait("two questions", lambda _: len(host.seen("approval/request", turnId=turn)) == 2)
    first, second = await talk.pending()
    await talk.decide(talk.decision(first, "allow_once"))
    await host.event("item/delta", itemId=first["itemId"])
    params = _params(talk)
    await host.refused("session/leave", params, -32030,
                       {"kind": "commandRejected", "commandId": params["commandId"], "reason": "turn_running"})
    await _left(talk, stop=True)
    await no_survivor(mark)
    items = {frame["params"]["item"]["itemId"]: frame["params"]["item"]["status"] for frame in host.seen("item/completed")}
    equal((items.get(first["itemId"]), items.get(second["itemId"])), ("cancelled", None), "what ran, and what waits")
    equal(host.seen("turn/completed", turnId=turn), [], "the turn waits")
    equal(await talk.pending(), [second], "what waits for a person still does")
    back = await Talk.resume(host, talk.id)
    new = (await back.pending())[0]
    equal(new["approvalId"], successor_of(second["approvalId"]), "asked again under the successor")
    await back.decide(back.decision(new, "allow_once"))
    await back.end(turn)
    equal(await host.close(), 0, "exit code")


@case()
async def leave_is_always_told(env: Env) -> None:
    """session/leaveCompleted reaches its sender opted out and unsubscribed; so does approval/resolved the opted-out."""
    host = await RawHost.spawn(env, handshake=False)
    opted = ["session/leaveCompleted", "approval/resolved", "session/closed", "turn/started", "no/such"]
    await host.call("initialize", {"clientInfo": {"name": "raw_client", "version": "1"},
                                   "capabilities": {"optOutNotificationMethods": opted}})
    host.notify("initialized")
    talk = await Talk.start(host)
    ask = await talk.opened("touch never.txt")
    params = talk.decision(ask, "abort")
    await talk.decide(params)
    closed(await talk.resolved(ask["approvalId"]), "abort", "deny", "user", params["commandId"])
    await talk.end(ask["turnId"])
    await host.call("view/unsubscribe", {"sessionId": talk.id})
    leave = _params(talk)
    await host.call("session/leave", leave)
    told = await host.event("session/leaveCompleted", commandId=leave["commandId"])
    equal(told["params"]["outcome"], "released", "outcome")
    equal((host.seen("session/closed"), host.seen("turn/started")), ([], []), "what may be opted out of")
    equal(await host.close(), 0, "exit code")

"""Resume and subscribe: the forms of the history, cursors, asking again, and what a cold host on a copy serves."""

from __future__ import annotations

import json
import shutil
from typing import Any, Dict, List

from cases_view import live
from harness import Env, case, check, equal
from jsonturns import act, text, write
from raw import RawHost, new_command_id
from talk import Talk


@case()
async def resume_histories(env: Env) -> None:
    """snapshot, auto, inline, anchored, excluded; a word that is none of them is -32602."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    await talk.run("pwd")
    ask = await talk.opened("touch x")
    queued = talk.turn_params("pwd")
    await host.call("turn/start", queued)
    rows = env.record_rows()
    inline: List[Dict[str, Any]] = []
    for word in ("auto", "inline", "anchored"):
        opening = (await Talk.resume(host, talk.id, history=word)).opening
        history = opening["history"]
        equal((history["mode"], history["snapshot"]), ("inline", None), f"history {word}")
        inline = history["items"]
        equal(opening["pendingRequests"], [{"kind": "approval", "approvalId": ask["approvalId"],
                                            "viewCursor": ask["viewCursor"]}], "pendingRequests")
    opening = (await Talk.resume(host, talk.id, history="snapshot")).opening
    history = opening["history"]
    equal((history["mode"], history["items"], history["snapshot"]["schemaVersion"]), ("snapshot", None, 1), "history snapshot")
    equal(history["snapshot"]["viewCursor"], opening["viewCursor"], "the snapshot stands at the head")
    state = history["snapshot"]["state"]
    equal(state["items"], inline, "its items are the inline ones")
    equal(state["activeTurn"], {"turnId": ask["turnId"], "commandId": ask["turnId"]}, "activeTurn")
    equal(state["queuedTurns"], [{"turnId": queued["commandId"], "commandId": queued["commandId"]}], "queuedTurns")
    equal(state["pendingApprovals"], [{"approvalId": ask["approvalId"], "itemId": ask["itemId"],
                                       "viewCursor": ask["viewCursor"]}], "pendingApprovals")
    equal((state["pendingUserInputs"], state["turnCount"]), ([], opening["session"]["turnCount"]), "the rest of the state")
    equal(state["approvalMode"], opening["session"]["approvalMode"], "approvalMode")
    history = (await Talk.resume(host, talk.id, excludeItems=True)).opening["history"]
    equal((history["mode"], history["noneReason"], history["items"]), ("none", "excluded", None), "excludeItems")
    for wrong in ("everything", "", 7, None):
        params = {"sessionId": talk.id, "commandId": new_command_id(), "history": wrong}
        await host.refused("session/resume", params, -32602, {"kind": "invalidParams"})
    await talk.pending()
    equal(env.record_rows(), rows, "attaching to a loaded session writes nothing")
    equal(await host.close(), 0, "exit code")


@case()
async def resume_cursors(env: Env) -> None:
    """A suffix from a durable cursor, from the head, from an ephemeral one; a foreign cursor is -32011 and attaches nobody."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    turn = await talk.turn(text(say=["Two ", "pieces"]))
    await talk.end(turn)
    await talk.run("pwd")
    await talk.pending()
    events = live(host, talk.id)
    head = events[-1]["params"]["viewCursor"]
    delta = host.seen("item/delta")[0]
    position = [frame.pos for frame in host.frames]
    behind = [event for event in events if event["params"]["viewCursor"] in
              {f["params"]["viewCursor"] for f in host.frames[position.index(delta.pos):] if "sourceRange" in f.get("params", {})}]
    for cursor, expected in ((events[0]["params"]["viewCursor"], events[1:]), (head, []),
                             (delta["params"]["viewCursor"], behind)):
        for method in ("session/resume", "view/subscribe"):
            mark = len(host.frames) - 1
            if method == "session/resume":
                resumed = await Talk.resume(host, talk.id, cursor=cursor)
                history = resumed.opening["history"]
                equal((history["mode"], history["noneReason"], history["items"]), ("none", "cursorSuffix", None), "history")
                equal(resumed.opening["viewCursor"], head, "the head")
            else:
                equal(await host.call(method, {"sessionId": talk.id, "after": cursor}), {"viewCursor": head}, "subscribe")
            await talk.pending()
            equal(live(host, talk.id, mark), expected, f"the suffix of {method} behind {cursor}")
    await host.call("view/unsubscribe", {"sessionId": talk.id})
    for foreign in ("999999", "v:1", "", "-1", "+1", "01", "1.", "1.x", "1.+2", "x"):
        data = {"kind": "notFound", "reason": "missingAnchor", "anchor": foreign}
        params = {"sessionId": talk.id, "commandId": new_command_id(), "cursor": foreign}
        await host.refused("session/resume", params, -32011, data)
        await host.refused("view/subscribe", {"sessionId": talk.id, "after": foreign}, -32011, data)
        await host.refused("view/page", {"sessionId": talk.id, "cursor": foreign, "limit": 5}, -32011, data)
        await host.refused("session/list", {"cursor": foreign}, -32011, data)
    mark = len(host.frames) - 1
    await talk.turn("pwd")
    await host.event("session/statusChanged", mark, status="idle")
    equal(live(host, talk.id, mark), [], "a refused resume subscribed nobody")
    equal(await host.close(), 0, "exit code")


@case()
async def asked_again(env: Env) -> None:
    """Resume and subscribe on a loaded session ask again: the same params, a new id; the unsubscribed are never asked."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch a && touch b")
    requests = host.seen("approval/request")
    rows = env.record_rows()
    for method, extra in (("session/resume", {"commandId": new_command_id()}), ("view/subscribe", {}),
                          ("session/resume", {"commandId": new_command_id(), "cursor": ask["viewCursor"]})):
        answer = await host.answer(host.begin(method, {"sessionId": talk.id, **extra}))
        host.result(answer, method)
        again = await host.event("approval/request", answer.pos, approvalId=ask["approvalId"])
        equal(again["params"], ask, f"what {method} asks again")
        requests.append(again)
    ids = [frame["id"] for frame in requests]
    equal(ids, sorted(set(ids)), "each request with a new id")
    check(all(type(number) is int and number > 0 for number in ids), "positive integers", ids)
    equal(len(host.seen("approval/requested")), 1, "the durable event stays one")
    equal(env.record_rows(), rows, "asking again writes nothing")
    paged = await talk.paged("approval/requested")
    equal((await talk.pending(), paged), ([ask], [ask]), "listPending and page carry the request's payload")

    await host.call("view/unsubscribe", {"sessionId": talk.id})
    mark = len(host.frames) - 1
    await talk.decide(talk.decision(ask, "allow_once"), terminal=False)
    pending = await talk.pending()
    equal((len(pending), pending[0]["currentRequirementId"]["sourceIndex"]), (1, 1), "pending at its next stage")
    equal(host.seen("approval/request", mark), [], "an unsubscribed connection is not asked about the next stage")
    await talk.decide(talk.decision(pending[0], "abort"))
    turn = await talk.turn("touch c")
    await host.event("session/statusChanged", mark, status="running", attention=["approvalPending"])
    equal([row["turnId"] for row in await talk.pending()], [turn], "the new approval pends")
    equal(host.seen("approval/request", mark), [], "nor about a new approval")
    await host.call("view/subscribe", {"sessionId": talk.id})
    await talk.ask(turn, after=mark)
    equal(await host.close(), 0, "exit code")


def _params_text(raw: str) -> str:
    """The params of a notification's line, byte for byte."""
    return raw[raw.index('"params":') + len('"params":'):raw.rindex(',"emittedAtMs":')]


@case()
async def cold_copy_serves_the_same_bytes(env: Env) -> None:
    """A host on a copy of the home serves every event that was delivered live, byte for byte, in order."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    await talk.end(await talk.turn(text(write("\u2713.txt", "\u00e9\U0001f600\u0001\"\\\n"), act("fetch", {"n": 1.50, "e": 1e300}),
                                        say=["Caf\u00e9 ", "\u202eabc"])))
    await talk.run("printf 'a\\tb\\033[1m'")
    await host.call("session/setApprovalMode", {"sessionId": talk.id, "commandId": new_command_id(), "mode": "promptUnmatched"})
    ask = await talk.opened("touch a && ls && touch b")
    await talk.decide(talk.decision(ask, "allow_once"), terminal=False)
    await talk.decide(talk.decision(await talk.ask(ask["turnId"], index=2), "allow_once"))
    await talk.end(ask["turnId"])
    rejected = await talk.opened(text(act("connect", {}, {"kind": "unixSocket", "path": "s\u00f6ck"})))
    await talk.decide(talk.decision(rejected, "abort", feedback="no"))
    await talk.end(rejected["turnId"])
    pending = await talk.opened(text(write("late.txt", "1")))
    listed = await talk.pending()
    equal(listed, [pending], "what pends")
    frames = [frame for frame in host.frames if "id" not in frame and "sourceRange" in frame.get("params", {})]
    requests = [frame for frame in host.frames if frame.get("method") == "approval/request"]
    texts = {frame["params"]["viewCursor"]: _params_text(frame.raw) for frame in frames if frame["method"] == "approval/requested"}
    for frame in requests:
        if frame["params"]["currentRequirementId"]["sourceIndex"] == 0:
            check(frame.raw.endswith(f'"params":{texts[frame["params"]["viewCursor"]]}}}'), "a request with its event's bytes")
    await host.kill()

    copy = env.root / "copied-home"
    shutil.copytree(env.home, copy, ignore=shutil.ignore_patterns("*.sock"))
    env.environ = {**env.environ, "PLACET_HOME": str(copy)}
    cold = await RawHost.spawn(env)
    answer = await cold.answer(cold.begin("view/page", {"sessionId": talk.id, "limit": 1000}))
    page, at = answer.raw, 0
    for frame in frames:
        event = f'{{"method":{json.dumps(frame["method"])},"params":{_params_text(frame.raw)}}}'
        found = page.find(event, at)
        check(found >= at, "the live event's bytes on the page, behind the one before", event)
        at = found + len(event)
    equal(len(answer["result"]["events"]), len(frames), "nothing else is on the page")
    answer = await cold.answer(cold.begin("approval/listPending", {"sessionId": talk.id}))
    check(texts[pending["viewCursor"]] in answer.raw, "the pending request's bytes in listPending", answer.raw)
    equal(answer["result"]["approvals"], listed, "what pends, cold")
    equal(await cold.close(), 0, "exit code")

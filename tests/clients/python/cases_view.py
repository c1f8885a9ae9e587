"""Reading back: listPending, view/page in both directions, subscribe, and the resume suffix."""

from __future__ import annotations

from typing import Any, Dict, List

from harness import Env, case, check, equal
from raw import RawHost, cursor, new_command_id
from talk import Talk, successor_of


def live(host: RawHost, session: str, after: int = -1) -> List[Dict[str, Any]]:
    """The durable events that a host delivered for a session, unframed: only they carry a sourceRange."""
    return [{"method": f["method"], "params": f["params"]} for f in host.frames[after + 1:]
            if "method" in f and "id" not in f and "sourceRange" in f.get("params", {})
            and f["params"].get("sessionId") == session]


async def _history(talk: Talk) -> None:
    """One of everything: safe, stages with a safe middle, rejected, granted, auto-approved, a mode change, denied."""
    await talk.run("pwd")
    ask = await talk.opened("touch a && ls && touch b")
    await talk.decide(talk.decision(ask, "allow_once"), terminal=False)
    await talk.decide(talk.decision(await talk.ask(ask["turnId"], index=2), "allow_once"))
    await talk.end(ask["turnId"])
    for text, choice in (("touch c", "abort"), ("touch d", "allow_session")):
        ask = await talk.opened(text)
        await talk.decide(talk.decision(ask, choice))
        await talk.end(ask["turnId"])
    await talk.end(await talk.turn("touch d"))
    params = {"sessionId": talk.id, "commandId": new_command_id(), "mode": "denyUnmatched"}
    await talk.host.call("session/setApprovalMode", params)
    await talk.end(await talk.turn("touch e"))
    await talk.pending()  # a barrier


@case()
async def list_pending(env: Env) -> None:
    """The pending set is a read of the log: the same payloads loaded, unloaded, and again; reading recovers nothing."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    equal(await talk.pending(), [], "pending in a fresh session")
    ask = await talk.opened("touch x")
    requested = host.seen("approval/requested", approvalId=ask["approvalId"])[0]["params"]
    equal(await talk.pending(), [requested], "listPending of a loaded session")
    other = await Talk.start(host)
    equal(await other.pending(), [], "another session's pending set")
    await host.kill()

    host = await RawHost.spawn(env)
    rows = env.record_rows()
    for _ in range(2):
        result = await host.call("approval/listPending", {"sessionId": talk.id})
        equal(result, {"approvals": [requested], "userInputs": []}, "listPending of an unloaded session")
    equal(env.record_rows(), rows, "reading writes nothing")
    equal(host.seen("approval/request"), [], "reading does not subscribe")
    talk = await Talk.resume(host, talk.id)
    new = await talk.ask(ask["turnId"])
    equal(new["approvalId"], successor_of(ask["approvalId"]), "the successor, once loaded")
    equal(await talk.pending(), [new], "listPending after the resume")
    missing = "0192f3a0-0000-7000-8000-000000000000"
    await host.refused("approval/listPending", {"sessionId": missing}, -32020, {"kind": "sessionNotFound", "sessionId": missing})
    equal(await host.close(), 0, "exit code")


@case()
async def view_page(env: Env) -> None:
    """Every durable event that was delivered live is on the pages, value for value, forward, backward and cold."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    await _history(talk)
    delivered = live(host, talk.id)
    methods = {event["method"] for event in delivered}
    wanted = {"turn/started", "turn/completed", "item/started", "item/completed", "approval/requested",
              "approval/updated", "approval/resolved", "session/approvalModeChanged"}
    check(wanted <= methods, f"live events of every kind, {sorted(wanted)}", sorted(methods))
    places = [cursor(event["params"]["viewCursor"]) for event in delivered]
    equal(places, sorted(set(places)), "live cursors strictly increase")

    pages = await talk.page_all(1000)
    head = cursor(talk.opening["viewCursor"])
    equal([event for event in pages if cursor(event["params"]["viewCursor"]) > head], delivered,
          "the pages behind the start cursor are the live events")
    equal({tuple(sorted(event)) for event in pages}, {("method", "params")}, "unframed events: method and params only")
    for limit in (1, 2, 7):
        equal(await talk.page_all(limit), pages, f"forward, {limit} at a time")
        equal(await talk.page_all(limit, "backward"), pages, f"backward, {limit} at a time")
    middle = pages[len(pages) // 2]["params"]["viewCursor"]
    page = await host.call("view/page", {"sessionId": talk.id, "cursor": middle, "limit": 1000})
    equal(page["events"], pages[len(pages) // 2 + 1:], "the cursor is exclusive, forward")
    page = await host.call("view/page", {"sessionId": talk.id, "cursor": middle, "limit": 1000, "direction": "backward"})
    equal(page["events"], pages[:len(pages) // 2], "the cursor is exclusive, backward; events ascend")
    for wrong in ({"limit": 0}, {"limit": 1001}, {}, {"limit": 10, "maxBytes": 0}, {"limit": 10, "direction": "sideways"}):
        await host.refused("view/page", {"sessionId": talk.id, **wrong}, -32602, {"kind": "invalidParams"})
    equal(await host.close(), 0, "exit code")

    host = await RawHost.spawn(env)
    cold = await Talk.resume(host, talk.id)
    equal((await cold.page_all(1000))[:len(pages)], pages, "the pages of a cold host")
    equal(await host.close(), 0, "exit code")


@case()
async def view_subscribe(env: Env) -> None:
    """unsubscribe silences, subscribe replays behind `after` and asks again what pends; neither changes the log."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    await talk.run("pwd")
    ask = await talk.opened("touch x")
    await talk.pending()
    rows, events = env.record_rows(), live(host, talk.id)
    for _ in range(2):
        equal(await host.call("view/unsubscribe", {"sessionId": talk.id}), {}, "view/unsubscribe, idempotent")
    mark = len(host.frames) - 1
    after = events[1]["params"]["viewCursor"]
    await host.call("view/subscribe", {"sessionId": talk.id, "after": after})
    again = await talk.ask(ask["turnId"], after=mark)
    equal(again, ask, "the request again, with the same params")
    await talk.pending()
    equal(live(host, talk.id, mark), events[2:], "the replay of (after, head]")
    equal(env.record_rows(), rows, "subscribing writes nothing")
    await host.call("view/unsubscribe", {"sessionId": talk.id})
    mark = len(host.frames) - 1
    await talk.decide(talk.decision(ask, "abort"))  # no protected write: no live reviewer is needed
    equal(await talk.pending(), [], "decided without a subscription")
    equal(live(host, talk.id, mark), [], "no view events to an unsubscribed connection")
    equal(await host.close(), 0, "exit code")


@case()
async def resume_suffix(env: Env) -> None:
    """resume with a cursor streams just the suffix; without one it carries the items inline."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    await talk.run("pwd")
    anchor = live(host, talk.id)[-1]["params"]["viewCursor"]
    mark = len(host.frames) - 1
    ask = await talk.opened("touch x")
    await talk.decide(talk.decision(ask, "allow_once"))
    await talk.end(ask["turnId"])
    await talk.pending()
    suffix = live(host, talk.id, mark)
    finals = {e["params"]["item"]["itemId"]: e["params"]["item"] for e in live(host, talk.id) if e["method"].startswith("item/")}
    equal(await host.close(), 0, "exit code")

    host = await RawHost.spawn(env)
    resumed = await Talk.resume(host, talk.id, cursor=anchor)
    history = resumed.opening["history"]
    equal((history["mode"], history.get("noneReason"), history["items"], history["snapshot"]),
          ("none", "cursorSuffix", None, None), "history with a cursor")
    await resumed.pending()
    equal(live(host, talk.id)[:len(suffix)], suffix, "the suffix behind the cursor")
    again = await Talk.resume(host, talk.id, cursor=None)  # already loaded; null = absent
    history = again.opening["history"]
    equal((history["mode"], history["snapshot"]), ("inline", None), "history without a cursor")
    equal({item["itemId"]: item for item in history["items"]}, finals, "the items at their last revision")
    equal(again.opening["lastTurn"]["turnId"], ask["turnId"], "lastTurn")
    equal(again.opening["session"]["turnCount"], 2, "turnCount")
    equal(await host.close(), 0, "exit code")

"""The rows of the wire's error tables that no other module shows: typed, exact, and the connection lives.

docs/wire.md lists every row with its case, or with the reason why this host cannot meet it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any, Dict, List

from cases_mode import _set as set_mode
from golden import TIME
from harness import CASES, Env, case, check, equal, without
from jsonturns import choice_ids, ended, read, text, write
from raw import FRAME_LIMIT, RawHost, new_command_id
from talk import Talk, closed

DOCS = Path(__file__).resolve().parents[3] / "docs" / "wire.md"
QUEUED_TURNS_MAX = 32
CODES = (-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32010, -32011, -32012, -32013, -32014, -32020, -32021, -32022,
         -32024, -32025, -32030, -32031, -32040, -32042, *range(-32057, -32049))
"""Every code of the protocol's registry."""

INVALID = {"kind": "invalidParams"}


def _rejected(params: Dict[str, Any], reason: str) -> Dict[str, Any]:
    return {"kind": "commandRejected", "commandId": params["commandId"], "reason": reason}


@case()
async def envelope_faults(env: Env) -> None:
    """Frames that are JSON and no request: -32600, with the id where there is a usable one."""
    host = await RawHost.spawn(env)
    request = host.claim_id("session/list")
    for frame, answer_to in (
        ([], None), ("text", None), (7, None), (None, None),
        ({"jsonrpc": "2.0", "id": request}, request),
        ({"jsonrpc": "2.0", "id": request, "method": 7}, request),
        ({"jsonrpc": "1.0", "id": request, "method": "session/list"}, request),
        ({"jsonrpc": "2.0", "id": None, "method": "session/list"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "session/list"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "session/list"}, None),
        ({"jsonrpc": "2.0", "id": [request], "method": "session/list"}, None),
    ):
        after = len(host.frames) - 1
        host.send_bytes(json.dumps(frame).encode() + b"\n")
        error = await host.wait(f"an error for {frame!r}", lambda f: "error" in f, after)
        equal(error["id"], answer_to, f"whom the error for {frame!r} answers")
        host.is_error(error, -32600, {"kind": "invalidRequest"}, f"{frame!r}")
    for params in ([], "text", 7, None):
        request = host.claim_id("session/list")
        host.send({"jsonrpc": "2.0", "id": request, "method": "session/list", "params": params})
        host.is_error(await host.answer(request), -32602, INVALID, f"params {params!r}")
    await host.call("session/list", {})
    equal(await host.close(), 0, "exit code")


@case()
async def unserved_is_said(env: Env) -> None:
    """What this host has no part in: unknown methods, user shells, boundaries, experimental and lasting members."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    for method in ("userInput/answer", "userInput/cancel", "userInput/clarify", "userInput/interrupt", "session/fork",
                   "session/setPermissionProfile", "permissionProfile/list", "model/list", "session/close", "daemon/vacate"):
        params = {"sessionId": talk.id, "commandId": new_command_id(), "userInputId": "x"}
        await host.refused(method, params, -32601, {"kind": "methodNotFound"})
    for limit in (0, -1, 1.5, 1_000_000, None):
        await host.refused("session/list", {"limit": limit}, -32602, INVALID)
    turn, rows = talk.turn_params("pwd"), env.record_rows()
    shell = {**turn, "userShell": {"command": "pwd"}}
    await host.refused("turn/start", shell, -32010, {"kind": "capabilityRequired", "capability": "userShell"})
    for wrong in ({"userShell": None}, {"workspaceRoots": None}, {"workspaceRoots": [str(env.ws)]}):
        await host.refused("turn/start", {**turn, **wrong}, -32602, INVALID)
    boundary = {"kind": "noBoundary", "anchor": "latestCompaction", "latestBoundaryCursor": None}
    await host.refused("view/page", {"sessionId": talk.id, "limit": 5, "anchor": "latestCompaction"}, -32042, boundary)
    start = {"commandId": new_command_id(), "workspaceRoot": str(env.ws)}
    missing = {"workspaceRoot": str(env.file("missing"))}
    for wrong in ({"worktree": {}}, {"limits": {}}, {"workspaceRoots": ["/"]}, {"workspaceRoots": []}, missing,
                  {"sessionId": "../x"}, {"sessionId": ""}):
        await host.refused("session/start", {**start, **wrong}, -32602, INVALID)
    profile = {"sessionId": talk.id, "commandId": new_command_id(), "permissionProfile": ":read-only"}
    await host.refused("session/resume", profile, -32030, _rejected(profile, "permission_profile_unknown"))
    equal(env.record_rows(), rows, "refusals write nothing")
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")


@case()
async def turns_refused(env: Env) -> None:
    """What a busy session does not take: steering, and a 33rd waiting turn; neither command id is used up."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    running = await talk.turn(text(say="done", pauseMs=60_000))
    steered = {**talk.turn_params("pwd"), "ifBusy": "steer"}
    await host.refused("turn/start", steered, -32030, _rejected(steered, "if_busy_unsupported"))
    await host.refused("turn/start", {**talk.turn_params("pwd"), "ifBusy": "later"}, -32602, INVALID)
    queued = [talk.turn_params(f"echo {number} >> order.txt") for number in range(QUEUED_TURNS_MAX)]
    for params in queued:
        ack = await host.call("turn/start", params)
        equal((ack["disposition"], ack["startedNewTurn"]), ("queued", False), "a turn behind the running one")
    late = talk.turn_params("echo late >> order.txt")
    await host.refused("turn/start", late, -32030, _rejected(late, "turn_queue_full"))
    await host.refused("turn/start", late, -32030, _rejected(late, "turn_queue_full"))
    nobody = {"sessionId": talk.id, "commandId": new_command_id(), "turnId": new_command_id()}
    await host.refused("turn/interrupt", nobody, -32030, _rejected(nobody, "missing_run"))
    await host.call("turn/interrupt", {"sessionId": talk.id, "commandId": new_command_id(), "turnId": running})
    await talk.end(running, "cancelled")
    await talk.end(queued[0]["commandId"])
    equal((await host.call("turn/start", late))["disposition"], "queued", "the refused turn, sent again")
    await talk.end(late["commandId"])
    equal(env.lines("order.txt"), [str(number) for number in range(QUEUED_TURNS_MAX)] + ["late"], "the order of the turns")
    equal(await host.close(), 0, "exit code")


@case()
async def workspace_config_invalid(env: Env) -> None:
    """A workspace file that cannot be read is said by start and by resume; nothing starts, and it can be mended."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch x")
    equal(await host.close(), 0, "exit code")
    host = await RawHost.spawn(env)
    env.file("placet.toml").write_text("[authority]\nwithold = []\n")
    rows = env.record_rows()
    for method, params in (("session/start", {"workspaceRoot": str(env.ws)}), ("session/resume", {"sessionId": talk.id})):
        params = {"commandId": new_command_id(), **params}
        await host.refused(method, params, -32030, _rejected(params, "workspace_config_invalid"))
    equal(env.record_rows(), rows, "refusals write nothing")
    talk = Talk(host, talk.id, {})
    equal(await talk.pending(), [ask], "what pends is still listed")
    env.file("placet.toml").unlink()
    talk = await Talk.resume(host, talk.id)
    await talk.ask(ask["turnId"])
    equal(await host.close(), 0, "exit code")


@case()
async def backpressured(env: Env) -> None:
    """Too many commands at once for one session: each is answered, some with -32031, which may be sent again as they are."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    modes = ("denyUnmatched", "allowAll")
    sent = [{"sessionId": talk.id, "commandId": new_command_id(), "mode": modes[number % 2]} for number in range(1500)]
    ids = [host.begin("session/setApprovalMode", params) for params in sent]
    answers = [await host.answer(request) for request in ids]
    refused = []
    for params, frame in zip(sent, answers):
        if "error" in frame:
            capacity = frame["error"]["data"].get("capacity")
            check(type(capacity) is int and capacity > 0, "a capacity", frame)
            equal((frame["error"]["code"], frame["error"]["data"]),
                  (-32031, {"kind": "backpressured", "retryable": True, "capacity": capacity}), "the error")
            refused.append(params)
        else:
            equal(frame["result"]["commandId"], params["commandId"], "the ack's command")
    check(0 < len(refused) < len(sent), "some to be taken and some to be told to come back", len(refused))
    for params in refused[:3]:
        equal((await host.call("session/setApprovalMode", params))["status"], "accepted", "the same command, sent again")
    equal(await host.close(), 0, "exit code")


@case()
async def reviewer_unavailable(env: Env) -> None:
    """A protected write is decided before a live reviewer only: -32054 unsubscribed, still pending, then as ever."""
    env.file(".ssh").mkdir()
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")  # no mode covers it
    ask = await talk.opened(text(write(".ssh/x", "key\n")))
    equal((ask["protectedWrite"], choice_ids(ask)), (True, ["allow_once", "abort"]), "a protected write and its menu")
    await host.call("view/unsubscribe", {"sessionId": talk.id})
    allow = talk.decision(ask, "allow_once")
    rows = env.record_rows()
    for params in (allow, talk.decision(ask, "abort"), allow):
        data = {"kind": "approvalReviewerUnavailable", "approvalId": ask["approvalId"]}
        await host.refused("approval/decide", params, -32054, data)
    equal((await talk.pending(), env.record_rows()), ([ask], rows), "pending, and nothing written")
    check(not env.file(".ssh/x").exists(), "nothing to have run")
    await host.call("view/subscribe", {"sessionId": talk.id})
    await talk.decide(allow)
    await talk.end(ask["turnId"])
    equal(env.file(".ssh/x").read_text(), "key\n", "what a person allowed once")
    ask = await talk.opened(text(write(".ssh/x", "key\n")))  # and no more than once
    await talk.decide(talk.decision(ask, "abort"))
    await talk.end(ask["turnId"])
    equal(await host.close(), 0, "exit code")


@case()
async def own_frames_fit(env: Env) -> None:
    """A history beyond its budget is left out and said so; pages are cut to fit, and together hold everything."""
    env.file("big.txt").write_text("x" * 64 * 1024)
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    turn = await talk.turn(text(*[read("big.txt")] * 100))
    equal({item["status"] for item in await ended(talk, turn)}, {"completed"}, "the reads")
    for method, extra in (("session/resume", {"commandId": new_command_id()}), ("session/read", {"excludeItems": False}),
                          ("session/resume", {"commandId": new_command_id(), "history": "snapshot"})):
        history = (await host.call(method, {"sessionId": talk.id, **extra}))["history"]
        equal((history["mode"], history["noneReason"], history["items"], history["snapshot"]),
              ("none", "historyBudget", None, None), f"the history of {method}")
    page = await host.call("view/page", {"sessionId": talk.id, "limit": 1000})
    check(page["nextCursor"] is not None, "a page that is cut", len(page["events"]))
    small = await host.answer(host.begin("view/page", {"sessionId": talk.id, "limit": 1000, "maxBytes": 100_000}))
    check(len(small.raw) < 200_000 and small["result"]["events"], "a page of about the bytes that were asked for", len(small.raw))
    one = await host.call("view/page", {"sessionId": talk.id, "limit": 1000, "maxBytes": 1})
    equal(len(one["events"]), 1, "one event at least, however small the page")
    events = await talk.page_all(1000)
    equal(sum(event["method"] == "item/completed" for event in events), 101, "completed items on all the pages")
    equal(await talk.page_all(1000, "backward"), events, "the same backward")
    equal(await host.close(), 0, "exit code")
    check(max(len(frame.raw) for frame in host.frames) < FRAME_LIMIT, "every frame within the cap")


@case()
async def quarantined_session(env: Env) -> None:
    """A log that is not as it was written decides nothing: -32603 internal; other sessions go on."""
    host = await RawHost.spawn(env)
    changed, broken, whole = [await Talk.start(host) for _ in range(3)]
    ask = await changed.opened("touch never.txt")
    await broken.run("pwd")
    await host.kill()
    database = sqlite3.connect(env.home / "placet.db")
    for talk, new in ((changed, "CAST(replace(CAST(body AS TEXT), 'never.txt', 'other.txt') AS BLOB)"), (broken, "x'78'")):
        rows = database.execute(f"UPDATE records SET body = {new} WHERE session = ?", (talk.id,))
        check(rows.rowcount > 0, "records to change", rows.rowcount)
    database.commit()
    database.close()
    host = await RawHost.spawn(env)
    for talk in (changed, broken, changed):
        params = {"sessionId": talk.id, "commandId": new_command_id()}
        await host.refused("session/resume", params, -32603, {"kind": "internal"})
        await host.refused("turn/start", {**params, **talk.turn_params("pwd"), "sessionId": talk.id}, -32024,
                           {"kind": "sessionNotLoaded", "sessionId": talk.id})
    await host.refused("approval/decide", changed.decision(ask, "allow_once"), -32024,
                       {"kind": "sessionNotLoaded", "sessionId": changed.id})
    for method, extra in (("session/read", {}), ("approval/listPending", {}), ("view/page", {"limit": 5})):
        await host.refused(method, {"sessionId": broken.id, **extra}, -32603, {"kind": "internal"})
    listed = {row["sessionId"]: row for row in (await host.call("session/list", {}))["sessions"]}
    equal(sorted(listed), sorted(talk.id for talk in (changed, broken, whole)), "all of them are listed")
    check(bool(listed[broken.id].get("quarantined")) and "quarantined" not in listed[whole.id], "the unreadable one, marked", listed)
    check(TIME.fullmatch(listed[broken.id]["createdAt"]) is not None, "a time as everywhere on the wire", listed[broken.id])
    await (await Talk.resume(host, whole.id)).run("pwd")
    check(not env.file("never.txt").exists() and not env.file("other.txt").exists(), "nothing to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def nothing_else_decides(env: Env) -> None:
    """No method but a decide (or the stop of its turn) closes an approval: it stays pending, and the same."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    await set_mode(talk, "promptUnmatched")
    ask = await talk.opened("touch x && touch y")
    approval, other = ask["approvalId"], await Talk.start(host)

    def ids(**members: Any) -> Dict[str, Any]:
        return {"sessionId": talk.id, "commandId": new_command_id(), "approvalId": approval, "turnId": new_command_id(),
                "itemId": ask["itemId"], "requirementId": ask["currentRequirementId"], **members}

    served: List[Any] = [
        ("session/list", ids()), ("session/read", ids()), ("session/read", ids(excludeItems=False)),
        ("approval/listPending", ids()), ("view/page", ids(limit=10)), ("view/unsubscribe", ids()), ("view/subscribe", ids()),
        ("session/resume", ids()), ("session/resume", ids(history="snapshot")), ("session/resume", ids(cursor=ask["viewCursor"])),
        *(("session/setApprovalMode", ids(mode=mode)) for mode in ("denyUnmatched", "onRequest", "allowAll")),
        ("turn/start", without(ids(input=[{"type": "text", "text": "pwd"}]), "turnId")),
        ("session/start", without(ids(workspaceRoot=str(env.ws)), "sessionId")),
    ]
    refused: List[Any] = [
        ("initialize", ids(clientInfo={"name": "raw_client", "version": "1"})), ("turn/interrupt", ids()), ("turn/cancel", ids()),
        ("approval/decide", ids(choiceId="invented")), ("approval/decide", ids(choiceId="abort", sessionId=other.id)),
        ("approval/decide", ids(choiceId="abort", requirementId={"approvalId": approval, "sourceIndex": 1})),
        ("session/start", ids(workspaceRoot=str(env.ws))),
        *((method, ids(choiceId="abort", decision="abort")) for method in (
            "approval/cancel", "approval/resolve", "approval/dismiss", "approval/request", "approval/requested",
            "approval/resolved", "approval/updated", "session/close", "session/unload", "session/fork", "userInput/cancel",
            "userInput/interrupt", "item/cancel")),
    ]
    for method, params in served:
        await host.call(method, params)
        equal(await talk.pending(), [ask], f"pending after {method}")
    for method, params in refused:
        answer = await host.answer(host.begin(method, params))
        check("error" in answer, f"{method} to be refused", answer)
        equal(await talk.pending(), [ask], f"pending after {method}")
    for method in ("approval/resolved", "approval/decide", "turn/interrupt", "userInput/engaged", "initialized"):
        host.notify(method, ids(choiceId="abort", decision="abort"))
    for answer in ({"result": {"choiceId": "allow_once"}}, {"error": {"code": -32000, "message": "no", "data": {"kind": "x"}}}):
        host.send({"jsonrpc": "2.0", "id": host.seen("approval/request")[0]["id"], **answer})
    equal(await talk.pending(), [ask], "pending after notifications and odd receipts")
    await host.call("session/leave", {"sessionId": talk.id, "commandId": new_command_id()})
    await host.event("session/leaveCompleted")
    equal(await talk.pending(), [ask], "pending after session/leave")
    equal(host.seen("approval/resolved"), [], "nothing was resolved")
    back = await Talk.resume(host, talk.id)
    again = (await back.pending())[0]
    params = back.decision(again, "abort")
    await back.decide(params)
    closed(await back.resolved(again["approvalId"]), "abort", "deny", "user", params["commandId"])
    check(not env.file("x").exists() and not env.file("y").exists(), "nothing to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def rows_name_their_cases(env: Env) -> None:
    """Each row of docs/wire.md names a case that exists, or says why this host cannot meet it."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in DOCS.read_text().splitlines()
            if line.startswith("|") and not line.startswith("|--")]
    codes = {int(code) for row in rows for code in re.findall(r"-32\d\d\d", row[0])}
    equal(sorted(codes), sorted(CODES), "the codes that the document has rows for")
    for row in rows:
        words = re.findall(r"`([a-z0-9_]+)`", row[-1])
        named = [word for word in words if word in CASES]
        equal([word for word in words if "_" in word and word not in CASES], [], f"cases that the row of {row[0]} invents")
        excused = row[-1].startswith(("never", "cannot be met", "Cases", "Shown by", "every frame"))
        check(bool(named) or excused, f"a case or a reason in the row of {row[0]}", row)

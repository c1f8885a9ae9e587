"""Bad input: every line gets its typed answer, nothing is written, and the connection lives on."""

from __future__ import annotations

import json
import uuid
from typing import Any, Dict

from harness import Env, case, check, equal
from raw import FRAME_LIMIT, RawHost, new_command_id
from talk import Talk

INVALID = {"kind": "invalidParams"}


async def _alive(host: RawHost) -> None:
    result = await host.call("session/list", {})
    check(isinstance(result.get("sessions"), list), "session/list to answer: the connection lives", result)


async def _nameless(host: RawHost, line: bytes, after: int) -> None:
    """A line whose sender cannot be named: -32700 with id null."""
    host.send_bytes(line)
    frame = await host.wait(f"an error with id null for {line[:60]!r}", lambda f: "error" in f and f.get("id") is None, after)
    host.is_error(frame, -32700, {"kind": "parseError"}, f"the line {line[:60]!r}")


@case()
async def bad_input_frames(env: Env) -> None:
    """Unparseable lines, blank lines, CR, ids of both types, envelope faults, unknown methods and members."""
    host = await RawHost.spawn(env)
    for line in (b"{\n", b"not json\n", b'{"jsonrpc":"2.0","id":1,"method":"session/list"\n', b'{"a":"\xff\xfe"}\n',
                 b"[" * 50_000 + b"\n"):
        await _nameless(host, line, len(host.frames) - 1)
        await _alive(host)
    count = len(host.frames)
    host.send_bytes(b"\n\r\n   \n\n")
    await _alive(host)
    equal(len(host.frames), count + 1, "frames: blank lines are skipped in silence")
    request = host.claim_id("session/list")
    host.send_bytes(json.dumps({"jsonrpc": "2.0", "id": request, "method": "session/list", "params": {}}).encode() + b"\r\n")
    host.result(await host.answer(request), "a frame that ends in CR LF")
    for request_id in ("7", 7000, "seven \u2713"):
        host.begin("session/list", {}, id=request_id)
        host.result(await host.answer(request_id), f"a request with the id {request_id!r}")
    for method in ("session/close", "approval/cancel", "nothing", "permissionProfile/list"):
        await host.refused(method, {}, -32601, {"kind": "methodNotFound"})
    request = host.claim_id("session/list")
    host.send({"id": request, "method": "session/list", "params": {}})
    host.is_error(await host.answer(request), -32600, {"kind": "invalidRequest"}, "a request without jsonrpc")
    host.notify("nothing/known", {"x": 1})
    host.send({"jsonrpc": "2.0", "id": 999_999, "result": {}})  # an answer to nothing
    request = host.claim_id("session/list")
    host.send({"jsonrpc": "2.0", "id": request, "method": "session/list", "params": {"commandId": new_command_id(), "new": {}},
               "trace": {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "later": True})
    host.result(await host.answer(request), "a request with unknown members and a surplus commandId")
    equal(await host.close(), 0, "exit code")


@case()
async def bad_input_handshake(env: Env) -> None:
    """Before the handshake ends only initialize is served; a second one is refused at any time."""
    host = await RawHost.spawn(env, handshake=False)
    early = {"commandId": new_command_id(), "workspaceRoot": str(env.ws)}
    for method, params in (("session/list", {}), ("session/start", early), ("no/such", {})):
        await host.refused(method, params, -32600, {"kind": "notInitialized"})
    hello = {"clientInfo": {"name": "raw_client", "version": "1"}}
    await host.refused("initialize", {}, -32602, INVALID)
    result = await host.call("initialize", hello)
    equal((result["sessionDurability"], result["schema"]["version"]), ("durable", 1), "durability, schema version")
    equal(result["museHome"], str(env.home), "museHome")
    await host.refused("session/list", {}, -32600, {"kind": "notInitialized"})
    await host.refused("initialize", hello, -32600, {"kind": "alreadyInitialized"})
    host.notify("initialized")
    await _alive(host)
    await host.refused("initialize", hello, -32600, {"kind": "alreadyInitialized"})
    equal((await host.call("session/list", {}))["sessions"], [], "the early session/start made no session")
    equal(await host.close(), 0, "exit code")


@case()
async def bad_input_params(env: Env) -> None:
    """Malformed params are -32602 before anything is written; the nulls that the schema tolerates are absent members."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch x")
    decide, turn, rows = talk.decision(ask, "allow_once"), talk.turn_params("pwd"), env.record_rows()
    mode = {"sessionId": talk.id, "commandId": new_command_id(), "mode": "denyUnmatched"}
    start = {"commandId": new_command_id(), "workspaceRoot": str(env.ws)}
    stop = {"sessionId": talk.id, "commandId": new_command_id()}
    good = {"approval/decide": decide, "turn/start": turn, "session/setApprovalMode": mode, "session/start": start,
            "turn/interrupt": stop, "turn/cancel": stop, "session/resume": stop}
    bad = [(method, {k: v for k, v in params.items() if k != "commandId"}) for method, params in good.items()]
    bad += [(method, {**params, "commandId": wrong}) for method, params in good.items() for wrong in (None, 7)]
    bad += [(method, {k: v for k, v in params.items() if k != "sessionId"}) for method, params in good.items()
            if "sessionId" in params]
    bad += [("session/setApprovalMode", {**mode, "mode": word}) for word in ("askMe", "", "AllowAll", None, 3)]
    bad += [("session/start", {**start, **wrong}) for wrong in (
        {"approvalMode": "askMe"}, {"workspaceRoot": "relative/path"}, {"workspaceRoot": "."}, {"permissionProfile": None},
        {"workspaceRoots": None}, {"config": None}, {"sessionId": 7})]
    bad += [("turn/start", {**turn, "input": wrong}) for wrong in ([], "pwd", [{"type": "text"}], [{"text": "x"}], None)]
    bad += [("approval/decide", {**decide, "requirementId": wrong}) for wrong in (
        None, 0, {}, {"approvalId": ask["approvalId"]}, {"approvalId": ask["approvalId"], "sourceIndex": -1})]
    bad += [("approval/decide", {**decide, "choiceId": None}), ("approval/decide", {**decide, "feedback": 7})]
    bad += [("approval/listPending", {}), ("approval/listPending", {"sessionId": 3}), ("approval/listPending", None)]
    for method, params in bad:
        frame = await host.answer(host.begin(method, params))
        host.is_error(frame, -32602, INVALID, f"{method} with {json.dumps(params)}")
    equal(await talk.pending(), [ask], "pending after all of it")
    equal(env.record_rows(), rows, "refused params write nothing")
    started = await Talk.start(host, approvalMode=None, providerId=None)
    equal(started.opening["session"]["approvalMode"]["mode"], "promptUnmatched", "approvalMode null: the default")
    profile = {**start, "permissionProfile": ":read-only"}
    await host.refused("session/start", profile, -32030, {"kind": "commandRejected", "commandId": profile["commandId"],
                                                          "reason": "permission_profile_unknown"})
    taken = {"commandId": new_command_id(), "workspaceRoot": str(env.ws), "sessionId": talk.id}
    await host.refused("session/start", taken, -32030, {"kind": "commandRejected", "commandId": taken["commandId"],
                                                        "reason": "session_id_conflict"})
    equal(await host.close(), 0, "exit code")


@case()
async def bad_input_sessions(env: Env) -> None:
    """A session without a log is -32020, one that is not loaded here is -32024; both name it."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch x")
    equal(await host.close(), 0, "exit code")
    host = await RawHost.spawn(env)

    def requests(session: str) -> Dict[str, Dict[str, Any]]:
        command = {"sessionId": session, "commandId": new_command_id()}
        return {
            "turn/start": {**command, "input": [{"type": "text", "text": "pwd"}]},
            "approval/decide": {**talk.decision(ask, "allow_once"), "sessionId": session},
            "session/setApprovalMode": {**command, "mode": "denyUnmatched"},
            "turn/interrupt": command,
            "turn/cancel": command,
        }

    for method, params in requests(talk.id).items():
        await host.refused(method, params, -32024, {"kind": "sessionNotLoaded", "sessionId": talk.id})
    for nobody in (str(uuid.uuid4()), "no such session", "../placet.db"):
        reads = {"approval/listPending": {"sessionId": nobody}, "view/page": {"sessionId": nobody, "limit": 5},
                 "session/read": {"sessionId": nobody},
                 "session/resume": {"sessionId": nobody, "commandId": new_command_id()}}
        for method, params in {**requests(nobody), **reads}.items():
            await host.refused(method, params, -32020, {"kind": "sessionNotFound", "sessionId": nobody})
    listed = (await host.call("session/list", {}))["sessions"]
    equal([(row["sessionId"], row["status"]) for row in listed], [(talk.id, "notLoaded")], "the stored sessions")
    resumed = await Talk.resume(host, talk.id)
    await resumed.ask(ask["turnId"])
    equal(await host.close(), 0, "exit code")


@case()
async def bad_input_oversized(env: Env) -> None:
    """Over 10 MiB: -32002 where the id can be read, else -32700; just below it passes; a turn too big for a batch."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    limit = {"kind": "inputTooLarge", "limitBytes": FRAME_LIMIT}

    def padded(request: int, size: int) -> bytes:
        head = json.dumps({"jsonrpc": "2.0", "id": request, "method": "session/list", "params": {"pad": "@"}}).encode()
        return head.replace(b"@", b"x" * (size - len(head) + 1)) + b"\n"

    for size in (FRAME_LIMIT + 1024, 3 * FRAME_LIMIT):
        request = host.claim_id("session/list")
        host.send_bytes(padded(request, size))
        host.is_error(await host.answer(request), -32002, limit, f"a frame of {size} bytes")
        await _alive(host)
    await _nameless(host, b'{"jsonrpc":"2.0","pad":"' + b"x" * (FRAME_LIMIT + 1024) + b'","id":77,"method":"session/list"}\n',
                    len(host.frames) - 1)
    await _alive(host)
    request = host.claim_id("session/list")
    host.send_bytes(padded(request, FRAME_LIMIT - 1024))
    host.result(await host.answer(request), "a frame just below the limit")

    params = talk.turn_params("echo " + "y" * (2 * 1024 * 1024))
    frame = await host.answer(host.begin("turn/start", params))
    check("error" in frame and frame["error"]["code"] == -32002, "-32002 for a turn that fits no batch", frame)
    own = frame["error"]["data"].get("limitBytes")
    check(type(own) is int and 0 < own < FRAME_LIMIT, "our own limit in limitBytes", frame["error"])
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")

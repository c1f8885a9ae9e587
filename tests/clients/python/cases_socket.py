"""A second connection, over the host's socket: who is asked, who may decide, and under which seal."""

from __future__ import annotations

import asyncio
from typing import Any, Dict

from harness import WAIT_S, Env, case, check, equal
from jsonturns import text, write
from raw import FRAME_LIMIT, RawHost, new_command_id
from talk import Talk, closed


class _Ends:
    """The two ends of a socket in the place of a child process; ending it is the host's own affair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.stdin, self.stdout, self.stderr = writer, reader, asyncio.StreamReader()
        self.stderr.feed_eof()
        self.pid, self.returncode = 0, 0

    async def wait(self) -> int:
        return 0


async def _beside(host: RawHost) -> RawHost:
    """A second connection to a running host, through the handshake."""
    sockets = list((host.env.home / "hosts").glob("*.sock"))
    equal(len(sockets), 1, "sockets of the home")
    opening = asyncio.open_unix_connection(str(sockets[0]), limit=4 * FRAME_LIMIT)
    reader, writer = await asyncio.wait_for(opening, WAIT_S)
    second = RawHost(host.env, _Ends(reader, writer), receipts=True)  # type: ignore[arg-type]
    await second.handshake()
    return second


async def _barrier(host: RawHost) -> None:
    await host.call("session/list", {})


@case()
async def asked_on_every_subscribed_connection(env: Env) -> None:
    """Each subscribed connection is asked with an id of its own, no other one; the first decision counts for all."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    second, third = await _beside(host), await _beside(host)
    await second.call("view/subscribe", {"sessionId": talk.id})
    ask = await talk.opened("echo ran >> once.txt")
    beside = await second.event("approval/request", approvalId=ask["approvalId"])
    equal((beside["params"], beside["id"]), (ask, 1), "the same question, counted by the connection")
    await third.event("session/statusChanged", attention=["approvalPending"])  # told to everybody
    await _barrier(third)
    equal((third.seen("approval/request"), third.seen("approval/requested")), ([], []), "nobody else is asked")
    other = Talk(second, talk.id, {})
    params = other.decision(ask, "allow_once")
    await other.decide(params)
    for heard in (talk, other):
        closed(await heard.resolved(ask["approvalId"]), "approved", "allow", "user", params["commandId"])
        await heard.end(ask["turnId"])
    late = await host.answer(host.begin("approval/decide", talk.decision(ask, "abort")))
    equal(late["error"]["code"], -32051, "the code of a decision behind the terminal")
    await _barrier(third)
    equal(third.seen("approval/resolved"), [], "nothing of it to who did not subscribe")
    equal(env.lines("once.txt"), ["ran"], "what ran")
    second.process.stdin.close()  # type: ignore[union-attr]
    ask = await talk.opened("touch later.txt")  # a connection that is gone asks nothing of the others
    await talk.decide(talk.decision(ask, "abort"))
    await talk.end(ask["turnId"])
    equal(await host.close(), 0, "exit code")


@case()
async def seal_of_the_socket(env: Env) -> None:
    """Who comes by the socket reaches promptUnmatched at most: at the start, by a change, and in the turns that it starts."""
    host = await RawHost.spawn(env)
    second = await _beside(host)
    for mode, allowed in (("allowAll", False), ("onRequest", False), ("promptUnmatched", True), ("denyUnmatched", True)):
        params: Dict[str, Any] = {"commandId": new_command_id(), "workspaceRoot": str(env.ws), "approvalMode": mode}
        data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": "approval_mode_ceiling"}
        if allowed:
            await second.call("session/start", params)
        else:
            await second.refused("session/start", params, -32030, data)
    talk = await Talk.start(host, "allowAll")
    await talk.run("touch free.txt")
    await second.call("view/subscribe", {"sessionId": talk.id})
    guest = Talk(second, talk.id, {})
    ask = await guest.opened("touch asked.txt")  # allowAll is held, and not for this turn
    await guest.decide(guest.decision(ask, "abort"))
    await guest.end(ask["turnId"])
    for mode, allowed in (("onRequest", False), ("denyUnmatched", True), ("allowAll", False), ("promptUnmatched", True)):
        params = {"sessionId": talk.id, "commandId": new_command_id(), "mode": mode}
        data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": "approval_mode_ceiling"}
        if allowed:
            await second.call("session/setApprovalMode", params)
        else:
            await second.refused("session/setApprovalMode", params, -32030, data)
    await host.call("session/setApprovalMode", {"sessionId": talk.id, "commandId": new_command_id(), "mode": "allowAll"})
    await talk.run("touch again.txt")  # the session's own seal was not lowered by any of it
    check(not env.file("asked.txt").exists(), "what the guest's turn wanted not to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def reviewer_is_who_decides(env: Env) -> None:
    """A protected write is decided by a connection that is subscribed itself; another one's subscription does not count."""
    env.file(".ssh").mkdir()
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    second = await _beside(host)
    await second.call("view/subscribe", {"sessionId": talk.id})
    ask = await talk.opened(text(write(".ssh/x", "key\n")))
    await host.call("view/unsubscribe", {"sessionId": talk.id})
    data = {"kind": "approvalReviewerUnavailable", "approvalId": ask["approvalId"]}
    await host.refused("approval/decide", talk.decision(ask, "allow_once"), -32054, data)
    equal(await talk.pending(), [ask], "still pending")
    other = Talk(second, talk.id, {})
    await other.decide(other.decision(ask, "allow_once"))
    await other.end(ask["turnId"])
    equal(env.file(".ssh/x").read_text(), "key\n", "what the subscribed one allowed")
    equal(await host.close(), 0, "exit code")

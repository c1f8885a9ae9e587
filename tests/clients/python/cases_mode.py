"""Modes on the wire: change, no-op, ceiling; what each mode does with an unmatched action."""

from __future__ import annotations

from typing import Any, Dict

from harness import Env, case, check, equal
from raw import CLIENT_NAME, RawHost, new_command_id
from talk import Talk


async def _set(talk: Talk, mode: str, outcome: str = "completed") -> Dict[str, Any]:
    params = {"sessionId": talk.id, "commandId": new_command_id(), "mode": mode}
    result = await talk.host.call("session/setApprovalMode", params)
    equal((result["commandId"], result["status"], result["applyOutcome"]), (params["commandId"], "accepted", outcome),
          f"the ack of setApprovalMode {mode}")
    equal(result["effectiveMode"]["mode"], mode, "effectiveMode")
    if outcome == "completed":
        equal(result["effectiveMode"], {"mode": mode, "source": "approvalReconfigure", "lastCommandId": params["commandId"]},
              "effectiveMode after a change")
        event = (await talk.host.event("session/approvalModeChanged", commandId=params["commandId"]))["params"]
        equal((event["mode"], event["source"], event["clientName"]), (mode, "approvalReconfigure", CLIENT_NAME),
              "session/approvalModeChanged")
    return result["effectiveMode"]


async def _beyond(talk: Talk, mode: str) -> None:
    params = {"sessionId": talk.id, "commandId": new_command_id(), "mode": mode}
    data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": "approval_mode_ceiling"}
    await talk.host.refused("session/setApprovalMode", params, -32030, data)
    await talk.host.refused("session/setApprovalMode", params, -32030, data)  # the same command again: the same refusal


@case()
async def mode_change(env: Env) -> None:
    """A change binds the next action; what is pending stays pending; the seal, not the held mode, bounds the way back."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    await talk.run("touch free.txt")
    await _set(talk, "promptUnmatched")
    ask = await talk.opened("touch asked.txt")
    await _set(talk, "denyUnmatched")
    equal(await talk.pending(), [ask], "the pending approval after the change to denyUnmatched")
    await talk.decide(talk.decision(ask, "allow_once"))
    await talk.end(ask["turnId"])
    check(env.file("asked.txt").exists(), "what a person allowed to run under the new mode")
    turn = await talk.turn("touch denied.txt")
    equal((await talk.item(turn, "rejected")).get("failureKind"), "approvalDenied", "failureKind under denyUnmatched")
    await talk.end(turn)
    await _set(talk, "onRequest")
    turn = await talk.turn("touch unasked.txt")
    item = await talk.item(turn, "rejected")
    equal(item.get("failureKind"), "approvalDenied", "onRequest: unmatched, unconfined and not asked for is denied")
    await talk.end(turn)
    await _set(talk, "allowAll")  # back up to the seal
    await talk.run("touch again.txt")
    check(not env.file("denied.txt").exists() and not env.file("unasked.txt").exists(), "the denied ones not to have run")
    equal([p["mode"] for p in await talk.paged("session/approvalModeChanged")],
          ["promptUnmatched", "denyUnmatched", "onRequest", "allowAll"], "the changes on the page")
    equal(await host.close(), 0, "exit code")


@case()
async def mode_noop(env: Env) -> None:
    """The mode that is held already: success, no event, and the true projection."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    held = await _set(talk, "allowAll", "noop")
    equal(held, {"mode": "allowAll", "source": "startup", "lastCommandId": None}, "effectiveMode of a noop at the start")
    changed = await _set(talk, "denyUnmatched")
    equal(await _set(talk, "denyUnmatched", "noop"), changed, "effectiveMode of a noop after a change")
    await talk.pending()
    equal(len(host.seen("session/approvalModeChanged")), 1, "events: one change, two no-ops")
    equal(len(await talk.paged("session/approvalModeChanged")), 1, "durable changes")
    equal(await host.close(), 0, "exit code")


@case()
async def mode_ceiling(env: Env) -> None:
    """Above or beside the seal: -32030 approval_mode_ceiling, and nothing changes; narrowing and back is legal."""
    host = await RawHost.spawn(env)
    legal = {"promptUnmatched": ["promptUnmatched", "denyUnmatched"], "denyUnmatched": ["denyUnmatched"],
             "onRequest": ["onRequest"]}
    for seal, allowed in legal.items():
        talk = await Talk.start(host, seal)
        for mode in ("allowAll", "promptUnmatched", "onRequest", "denyUnmatched"):
            if mode not in allowed:
                await _beyond(talk, mode)
                equal((await _set(talk, seal, "noop"))["mode"], seal, f"the mode after the refusal of {mode}")
        equal(await talk.paged("session/approvalModeChanged"), [], f"changes of a session sealed at {seal}")
    talk = await Talk.start(host)  # sealed at the default, promptUnmatched
    await _set(talk, "denyUnmatched")
    await _beyond(talk, "allowAll")
    await _beyond(talk, "onRequest")  # incomparable with the seal, "not greater" is the wrong test
    await _set(talk, "promptUnmatched")
    await talk.opened("touch asked.txt")
    equal(await host.close(), 0, "exit code")

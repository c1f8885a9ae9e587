"""Refusals of approval/decide with their exact data, and what a refusal must leave alone."""

from __future__ import annotations

import uuid

from harness import Env, case, check, equal
from raw import RawHost, new_command_id
from talk import Talk, closed


def _late(approval: str, resolved: dict) -> dict:
    resolution = {name: resolved[name] for name in ("decision", "resolvedBy", "viewCursor")}
    return {"kind": "approvalAlreadyResolved", "approvalId": approval, "resolution": resolution}


@case()
async def error_32050_not_found(env: Env) -> None:
    """An approval that this session never had, be it another session's."""
    host = await RawHost.spawn(env)
    talk, other = await Talk.start(host), await Talk.start(host)
    ask = await talk.opened("touch x")
    for stranger, speaker in ((str(uuid.uuid4()), talk), (ask["approvalId"], other)):
        params = {**speaker.decision(ask, "allow_once"), "approvalId": stranger,
                  "requirementId": {"approvalId": stranger, "sourceIndex": 0}}
        await host.refused("approval/decide", params, -32050, {"kind": "approvalNotFound", "approvalId": stranger})
    equal(await talk.pending(), [ask], "pending after the refusals")
    check(not env.file("x").exists(), "nothing to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def error_32051_already_resolved(env: Env) -> None:
    """A decide behind the terminal names the winner, whatever else is wrong with it."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    for choice, decision in (("allow_once", "approved"), ("abort", "abort")):
        ask = await talk.opened(f"echo ran >> {choice}.txt")
        await talk.decide(talk.decision(ask, choice))
        await talk.end(ask["turnId"])
        resolved = await talk.resolved(ask["approvalId"])
        equal((resolved["decision"], resolved["resolvedBy"]), (decision, "user"), "the winner")
        for late in (talk.decision(ask, "allow_once"), talk.decision(ask, "abort"),
                     talk.decision(ask, "invented"), talk.decision(ask, "allow_once", index=7)):
            await host.refused("approval/decide", late, -32051, _late(ask["approvalId"], resolved))
        equal(len(host.seen("approval/resolved", approvalId=ask["approvalId"])), 1, "terminals")
    equal((env.lines("allow_once.txt"), env.lines("abort.txt")), (["ran"], []), "what ran")
    equal(await host.close(), 0, "exit code")


@case()
async def error_32052_choice_invalid(env: Env) -> None:
    """A choice outside the current menu; the refused command id is not used up."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch x && touch y")
    rows = env.record_rows()
    command = new_command_id()
    for choice in ("invented", "allow_session", ""):  # the session choice is not on this menu
        data = {"kind": "approvalChoiceInvalid", "approvalId": ask["approvalId"], "choiceId": choice}
        await host.refused("approval/decide", talk.decision(ask, choice, command), -32052, data)
    equal(await talk.pending(), [ask], "pending after the refusals")
    equal(env.record_rows(), rows, "refusals are not recorded")
    await talk.decide(talk.decision(ask, "abort", command))
    await talk.end(ask["turnId"])
    equal(await host.close(), 0, "exit code")


@case()
async def feedback_refused(env: Env) -> None:
    """Feedback on a choice that does not take it: -32052, still pending; null feedback is none."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch x")
    for choice in ("allow_once", "allow_session"):
        data = {"kind": "approvalChoiceInvalid", "approvalId": ask["approvalId"], "choiceId": choice}
        await host.refused("approval/decide", talk.decision(ask, choice, feedback="do it well"), -32052, data)
    equal(await talk.pending(), [ask], "pending after the refusals")
    check(not env.file("x").exists(), "nothing to have run")
    await talk.decide(talk.decision(ask, "allow_once", feedback=None))
    await talk.end(ask["turnId"])
    check(env.file("x").exists(), "null feedback to be no feedback")
    equal(await host.close(), 0, "exit code")


@case()
async def error_32053_requirement_stale(env: Env) -> None:
    """Any requirement but the current one, with the current one in the data; checked before the choice."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch a && ls && touch b")
    approval = ask["approvalId"]

    async def stale(current: int, **wrong: object) -> None:
        params = {**talk.decision(ask, "allow_once"), **wrong}
        data = {"kind": "approvalRequirementStale", "approvalId": approval,
                "currentRequirementId": {"approvalId": approval, "sourceIndex": current}}
        await host.refused("approval/decide", params, -32053, data)

    for index in (1, 2, 3):  # the safe stage, a later one, none at all
        await stale(0, requirementId={"approvalId": approval, "sourceIndex": index})
    await stale(0, requirementId={"approvalId": str(uuid.uuid4()), "sourceIndex": 0})  # the whole object is compared
    await stale(0, requirementId={"approvalId": approval, "sourceIndex": 2}, choiceId="invented")
    await talk.decide(talk.decision(ask, "allow_once"), terminal=False)
    await stale(2)  # the stage that was just decided
    await stale(2, requirementId={"approvalId": approval, "sourceIndex": 1})
    again = await talk.ask(ask["turnId"], index=2)
    equal(await talk.pending(), [again], "pending after the refusals")
    await talk.decide(talk.decision(again, "allow_once"))
    await talk.end(ask["turnId"])
    check(env.file("b").exists(), "the command to run in the end")
    equal(await host.close(), 0, "exit code")


@case()
async def two_decides_race(env: Env) -> None:
    """Both on the wire before either is answered: the first wins, the other hears who did."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("echo ran >> race.txt")
    first, second = talk.decision(ask, "allow_once"), talk.decision(ask, "abort")
    ids = [host.begin("approval/decide", first), host.begin("approval/decide", second)]
    equal(host.result(await host.answer(ids[0]), "the first decide")["terminal"], True, "terminal of the winner")
    loser = await host.answer(ids[1])
    resolved = await talk.resolved(ask["approvalId"])
    closed(resolved, "approved", "allow", "user", first["commandId"])
    host.is_error(loser, -32051, _late(ask["approvalId"], resolved), "the second decide")
    check(host.seen("approval/resolved", approvalId=ask["approvalId"])[0].pos < loser.pos,
          "approval/resolved before the -32051 that names it")
    await talk.end(ask["turnId"])
    equal(env.lines("race.txt"), ["ran"], "what ran")
    equal(len(host.seen("approval/resolved")), 1, "terminals")
    equal(await host.close(), 0, "exit code")


async def _stopped_while_pending(env: Env, method: str, with_turn: bool) -> None:
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch never.txt")
    params = {"sessionId": talk.id, "commandId": new_command_id(), **({"turnId": ask["turnId"]} if with_turn else {})}
    ack = await host.call(method, params)
    equal(ack, {"commandId": params["commandId"], "status": "accepted", "turnId": ask["turnId"]}, f"the ack of {method}")
    await talk.end(ask["turnId"], "cancelled")
    await talk.item(ask["turnId"], "cancelled")
    resolved = await talk.resolved(ask["approvalId"])
    closed(resolved, "abort", "deny", "user", None)
    order = [host.seen("approval/resolved", approvalId=ask["approvalId"])[0].pos,
             [f.pos for f in host.seen("item/completed") if f["params"]["item"]["itemId"] == ask["itemId"]][0],
             host.seen("turn/completed", turnId=ask["turnId"])[0].pos]
    equal(order, sorted(order), "order: approval, item, turn")
    equal(await talk.pending(), [], "pending after the stop")
    await host.refused("approval/decide", talk.decision(ask, "allow_once"), -32051, _late(ask["approvalId"], resolved))
    equal(await host.call(method, params), ack, f"{method} again with its command id: the same ack")
    idle = {"sessionId": talk.id, "commandId": new_command_id()}
    await host.refused(method, idle, -32030, {"kind": "commandRejected", "commandId": idle["commandId"], "reason": "missing_run"})
    check(not env.file("never.txt").exists(), "nothing to have run")
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")


@case()
async def interrupt_pending(env: Env) -> None:
    """turn/interrupt: abort/deny/user without a deciding command, then the item, then the turn."""
    await _stopped_while_pending(env, "turn/interrupt", with_turn=True)


@case()
async def cancel_pending(env: Env) -> None:
    """turn/cancel, here without naming the turn, ends the same way."""
    await _stopped_while_pending(env, "turn/cancel", with_turn=False)

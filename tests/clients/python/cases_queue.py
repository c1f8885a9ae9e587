"""Many approvals of one turn: answered in any order, never more than 32 open, each action carried out once."""

from __future__ import annotations

from typing import Any, Dict, List

from harness import Env, case, check, equal
from jsonturns import ended, text, write
from raw import RawHost, new_command_id
from talk import Talk, closed, successor_of

OPEN_MAX = 32
PROPOSED = 40


def _many() -> str:
    """Each action appends to a file of its own: the number of lines is the number of executions."""
    return text(*(write(f"{number}.txt", "ran\n", append=True) for number in range(PROPOSED)))


def _written(env: Env) -> List[int]:
    """How often each action was carried out."""
    return [len(env.lines(f"{number}.txt")) for number in range(PROPOSED)]


async def _opened(talk: Talk, turn: str, count: int, after: int = -1) -> List[Dict[str, Any]]:
    """Waits for that many questions of a turn."""
    await talk.host.wait(f"{count} questions", lambda _: len(talk.host.seen("approval/request", after, turnId=turn)) >= count)
    return [frame["params"] for frame in talk.host.seen("approval/request", after, turnId=turn)]


async def _still_open(talk: Talk, count: int) -> List[Dict[str, Any]]:
    """What pends, which must be so many and, where there are any, show as the session's attention."""
    pending = await talk.pending()
    equal(len(pending), count, "open approvals")
    session = (await talk.host.call("session/read", {"sessionId": talk.id}))["session"]
    equal(session.get("attention"), ["approvalPending"] if count else None, "attention")
    return pending


async def _decide_all(talk: Talk, turn: str, choice: str = "allow_once") -> int:
    """Decides whatever opens until the turn ends; returns how many decisions that took."""
    decided: List[str] = []
    while True:
        seen = len(talk.host.frames) - 1
        pending = await talk.pending()
        if talk.host.seen("turn/completed", turnId=turn):
            equal(pending, [], "nothing pends behind the end of the turn")
            break
        check(len(pending) <= OPEN_MAX, f"at most {OPEN_MAX} open approvals", len(pending))
        for ask in pending:
            check(ask["approvalId"] not in decided, "no approval to be asked about again", ask["approvalId"])
            decided.append(ask["approvalId"])
            await talk.decide(talk.decision(ask, choice))
        if not pending:
            await talk.host.wait("another question, or the end", lambda frame: frame.get("method") in
                                 ("approval/request", "turn/completed") and frame["params"]["turnId"] == turn, seen)
    return len(decided)


@case()
async def two_approvals_in_either_order(env: Env) -> None:
    """Two actions of one turn, the later one decided first; the turn ends with the last of them."""
    host = await RawHost.spawn(env)
    for order in ((0, 1), (1, 0)):
        talk = await Talk.start(host)
        turn = await talk.turn(text(write("a.txt", "a", append=True), write("b.txt", "b", append=True)))
        asks = await _opened(talk, turn, 2)
        equal([ask["subject"]["path"] for ask in asks], ["a.txt", "b.txt"], "questions in the order of the proposals")
        equal(await _still_open(talk, 2), asks, "both are pending")
        first, second = (talk.decision(asks[index], choice) for index, choice in zip(order, ("allow_once", "abort")))
        await talk.decide(first)
        equal(await _still_open(talk, 1), [asks[order[1]]], "the other one pends")
        equal(host.seen("turn/completed", turnId=turn), [], "the turn waits for it")
        await talk.decide(second)
        items = await ended(talk, turn)
        equal([items[index]["status"] for index in order], ["completed", "rejected"], f"items, decided in the order {order}")
        closed(await talk.resolved(first["approvalId"]), "approved", "allow", "user", first["commandId"])
        closed(await talk.resolved(second["approvalId"]), "abort", "deny", "user", second["commandId"])
        await _still_open(talk, 0)
    equal((env.file("a.txt").read_text(), env.file("b.txt").read_text()), ("a", "b"), "each ran once, in its own round")
    equal(await host.close(), 0, "exit code")


@case()
async def forty_proposals(env: Env) -> None:
    """32 open, 8 wait in order; each decision lets one more in, until all are decided and carried out once."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    turn = await talk.turn(_many())
    asks = await _opened(talk, turn, OPEN_MAX)
    pending = await _still_open(talk, OPEN_MAX)
    equal(pending, asks, "what pends is what was asked")
    equal(len(host.seen("approval/requested", turnId=turn)), OPEN_MAX, "approval/requested events")
    await host.wait("all the items", lambda _: len(host.seen("item/started")) >= PROPOSED)
    started = [frame["params"]["item"] for frame in host.seen("item/started")]
    equal({item.get("heldFor") for item in started}, {"approval"}, "all of them are held")
    equal(sum("approvalId" in item for item in started), OPEN_MAX, "those with an approval")
    equal(sum(_written(env)), 0, "files written before any decision")

    await talk.decide(talk.decision(pending[5], "allow_once"))
    next_one = (await _opened(talk, turn, OPEN_MAX + 1))[-1]
    equal(next_one["subject"]["path"], f"{OPEN_MAX}.txt", "the one that waited longest comes next")
    await _still_open(talk, OPEN_MAX)
    equal(1 + await _decide_all(talk, turn), PROPOSED, "decisions")
    equal({item["status"] for item in await ended(talk, turn)}, {"completed"}, "how the items ended")
    equal(_written(env), [1] * PROPOSED, "executions of each action")
    asked = [frame["params"]["subject"]["path"] for frame in host.seen("approval/request", turnId=turn)]
    equal(asked, [f"{number}.txt" for number in range(PROPOSED)], "the questions in the order of the proposals")
    equal(len(host.seen("approval/resolved")), PROPOSED, "terminals")
    await _still_open(talk, 0)
    equal(await host.close(), 0, "exit code")


@case()
async def forty_proposals_sigkill(env: Env) -> None:
    """SIGKILL with 4 decided, 32 open, 4 waiting: the open ones are asked again as successors, nothing runs twice."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    turn = await talk.turn(_many())
    asks = await _opened(talk, turn, OPEN_MAX)
    for ask in asks[:4]:
        await talk.decide(talk.decision(ask, "allow_once"))
    await _opened(talk, turn, OPEN_MAX + 4)
    before = await _still_open(talk, OPEN_MAX)
    await host.kill()
    ran = _written(env)
    check(max(ran) <= 1 and sum(ran) <= 4, "at most what was decided to have run", ran)

    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, talk.id)
    pending = await _still_open(talk, OPEN_MAX)
    equal([ask["approvalId"] for ask in pending], [successor_of(ask["approvalId"]) for ask in before], "the successors")
    equal([ask["subject"] for ask in pending], [ask["subject"] for ask in before], "the same actions")
    equal([pointer["approvalId"] for pointer in talk.opening["pendingRequests"]], [ask["approvalId"] for ask in pending],
          "pendingRequests")
    await _decide_all(talk, turn)
    after = _written(env)
    check(max(after) <= 1, "no action to have run twice", after)
    equal(after[4:], [1] * (PROPOSED - 4), "everything that was decided after the restart ran")
    await _still_open(talk, 0)
    equal(await host.close(), 0, "exit code")


@case()
async def forty_proposals_interrupted(env: Env) -> None:
    """turn/interrupt in the middle: what is open closes as abort / deny / user, what waits never opens."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    turn = await talk.turn(_many())
    asks = await _opened(talk, turn, OPEN_MAX)
    for ask in asks[:2]:
        await talk.decide(talk.decision(ask, "allow_once"))
    await talk.host.call("turn/interrupt", {"sessionId": talk.id, "commandId": new_command_id(), "turnId": turn})
    items = await ended(talk, turn, "cancelled")
    equal(len(items), PROPOSED, "items that ended")
    equal({item["status"] for item in items[2:]}, {"cancelled"}, "what was not decided is cancelled")
    opened = host.seen("approval/requested", turnId=turn)
    terminals = host.seen("approval/resolved", turnId=turn)
    equal(sorted(frame["params"]["approvalId"] for frame in terminals),
          sorted(frame["params"]["approvalId"] for frame in opened), "every opened approval has its one terminal")
    for frame in terminals:
        if frame["params"]["approvalId"] not in [ask["approvalId"] for ask in asks[:2]]:
            closed(frame["params"], "abort", "deny", "user", None)
    await _still_open(talk, 0)
    equal(_written(env)[2:], [0] * (PROPOSED - 2), "nothing undecided ran")
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")


@case()
async def turn_replaced(env: Env) -> None:
    """A turn that replaces a parked one: its approval closes as a stop does, then the new turn begins at once."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch never.txt")
    params = {**talk.turn_params("pwd"), "ifBusy": "replace", "displayText": "Where am I?"}
    ack = await host.call("turn/start", params)
    equal((ack["turnId"], ack["startedNewTurn"], ack["disposition"]), (params["commandId"], True, "started"), "the ack")
    await talk.end(ask["turnId"], "cancelled")
    await talk.end(params["commandId"])
    closed(await talk.resolved(ask["approvalId"]), "abort", "deny", "user", None)
    order = [host.seen("approval/resolved")[0].pos, host.seen("turn/completed", turnId=ask["turnId"])[0].pos,
             host.seen("turn/started", turnId=params["commandId"])[0].pos]
    equal(order, sorted(order), "order: approval, end of the old turn, beginning of the new one")
    shown = [(f["params"]["item"]["text"], f["params"]["item"].get("displayText")) for f in host.seen("item/completed")
             if f["params"]["item"]["kind"] == "userMessage" and f["params"]["item"]["turnId"] == params["commandId"]]
    equal(shown, [("pwd", "Where am I?")], "the user message of the new turn, and how it is shown")
    check(not env.file("never.txt").exists(), "nothing of the replaced turn to have run")
    equal(await host.call("turn/start", params), ack, "the replay")
    await _still_open(talk, 0)
    equal(await host.close(), 0, "exit code")

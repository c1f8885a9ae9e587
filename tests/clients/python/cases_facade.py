"""More of the official client: reads over its connection, mode changes, and many approvals of one turn."""

from __future__ import annotations

from typing import Any, Dict, List

from harness import Env, case, check, equal
from jsonturns import text, write
from official import CLIENT_NAME, Crowd, Official, Person, end, resolved_of, say
from talk import closed


async def _pages(host: Official, session: str, direction: str) -> List[Dict[str, Any]]:
    """Every event of a session, three at a time."""
    events: List[Dict[str, Any]] = []
    params: Dict[str, Any] = {"sessionId": session, "limit": 3, "direction": direction}
    while True:
        page = await host.ask("view/page", params)
        events = events + page["events"] if direction == "forward" else page["events"] + events
        if page["nextCursor"] is None:
            return events
        params["cursor"] = page["nextCursor"]


@case()
async def official_reads(env: Env) -> None:
    """listPending of a loaded and an unloaded session, view/page both ways, a mode change and a no-op."""
    host, person = await Official.spawn_open(env), Person()
    session = await host.start(person, "allowAll")
    await end(await say(session, "echo one"))
    for outcome in ("completed", "noop"):
        ack = await host.command("session/setApprovalMode", {"sessionId": session.session_id, "mode": "promptUnmatched"})
        equal((ack["applyOutcome"], ack["effectiveMode"]["mode"]), (outcome, "promptUnmatched"), "the change")
    changed = session.fold.session_state.get("session/approvalModeChanged")
    equal((changed["mode"], changed["clientName"]), ("promptUnmatched", CLIENT_NAME), "the change in the SDK's fold")
    await say(session, "touch pending.txt")
    ask = await person.question()
    listed = await host.ask("approval/listPending", {"sessionId": session.session_id})
    equal((listed["approvals"], listed["userInputs"]), ([ask], []), "pending, loaded")
    forward, backward = [await _pages(host, session.session_id, way) for way in ("forward", "backward")]
    equal(forward, backward, "the pages both ways")
    opened = [event["params"] for event in forward if event["method"] == "approval/requested"]
    equal(opened, [ask], "the request on its page")
    host.kill()
    await host.killed()
    cold = await Official.spawn_open(env)
    listed = await cold.ask("approval/listPending", {"sessionId": session.session_id})
    equal(listed["approvals"], [ask], "pending, unloaded")
    equal(await _pages(cold, session.session_id, "forward"), forward, "the pages of a cold host")
    await cold.close()


@case()
async def official_two_approvals(env: Env) -> None:
    """Two approvals of one turn, the later one answered first."""
    host = await Official.spawn(env)
    for number, order in enumerate(((0, 1), (1, 0))):
        crowd = Crowd()
        session = await host.start(crowd)
        files = [f"{number}-{name}.txt" for name in "ab"]
        turn = await say(session, text(*(write(name, "x") for name in files)))
        asks = await crowd.questions(2)
        equal(len(session.fold.pending_approvals()), 2, "approvals pending in the SDK's fold")
        for index, choice in zip(order, ("allow_once", "abort")):
            crowd.says(asks[index], choice)
        await end(turn)
        for index, decision in zip(order, ("approved", "abort")):
            terminal = resolved_of(session, asks[index]["approvalId"])
            result = "allow" if decision == "approved" else "deny"
            closed(terminal, decision, result, "user", terminal.get("decidedByCommandId"))
        equal([env.file(files[index]).exists() for index in order], [True, False], f"what was written, answered {order}")
        equal(crowd.failures, [], "failed round trips")
    await host.close()


@case()
async def official_forty_proposals(env: Env) -> None:
    """40 proposals: the SDK is asked about 32, and about one more with each answer; each is carried out once."""
    host, crowd = await Official.spawn_open(env), Crowd()
    session = await host.start(crowd)
    turn = await say(session, text(*(write(f"{number}.txt", "ran\n", append=True) for number in range(40))))
    await crowd.questions(32)
    for number in range(40):
        pending = (await host.ask("approval/listPending", {"sessionId": session.session_id}))["approvals"]
        check(len(pending) <= 32, "at most 32 open approvals", len(pending))
        crowd.says((await crowd.questions(number + 1))[number], "allow_once")
    await end(turn)
    equal(len(crowd.asked), 40, "questions")
    equal([len(env.lines(f"{number}.txt")) for number in range(40)], [1] * 40, "executions")
    equal((session.fold.pending_approvals(), crowd.failures), ([], []), "what is left")
    await host.close()

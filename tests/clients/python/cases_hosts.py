"""Several host processes on one home: a crash that races a decide, and the lease of a session."""

from __future__ import annotations

from cases_crash import same_action
from harness import Env, case, check, equal
from raw import RawHost, new_command_id
from talk import Talk, closed, successor_of


@case()
async def kill_races_decide(env: Env) -> None:
    """A decide on the wire and SIGKILL behind it: committed or not, the log and every later answer agree."""
    outcomes = []
    for number in range(6):
        host = await RawHost.spawn(env)
        talk = await Talk.start(host)
        name = f"race-{number}.txt"
        old = await talk.opened(f"echo ran >> {name}")
        decide = talk.decision(old, "allow_once")
        request = host.begin("approval/decide", decide)
        if number % 2:
            await host.answer(request)  # acked, so it must be in the log
        await host.kill()
        host = await RawHost.spawn(env)
        talk = await Talk.resume(host, talk.id)
        terminal = (await talk.paged("approval/resolved", approvalId=old["approvalId"]))[0]
        committed = terminal.get("decidedByCommandId") == decide["commandId"]
        check(committed or number % 2 == 0, "an acked decide to be in the log", terminal)
        pending = await talk.pending()
        if committed:
            closed(terminal, "approved", "allow", "user", decide["commandId"])
            await talk.decide(decide)
            equal(pending, [], "pending: decided is decided")
            check(len(env.lines(name)) <= 1, "at most one execution", env.lines(name))
        else:
            closed(terminal, "abort", "deny", "user", None)
            equal([row["approvalId"] for row in pending], [successor_of(old["approvalId"])], "pending")
            data = {"kind": "approvalAlreadyResolved", "approvalId": old["approvalId"],
                    "resolution": {"decision": "abort", "resolvedBy": "user", "viewCursor": terminal["viewCursor"]}}
            await host.refused("approval/decide", decide, -32051, data)
            equal(await talk.pending(), pending, "the replay is never applied to the successor")
            equal(env.lines(name), [], "nothing ran")
        outcomes.append(committed)
        equal(await host.close(), 0, "exit code")
    check(outcomes[1::2] == [True] * 3, "every acked decide committed", outcomes)


@case()
async def session_in_use(env: Env) -> None:
    """Two hosts on one home: side by side on two sessions, -32021 on the same one, taken over at once after SIGKILL."""
    first, second = await RawHost.spawn(env), await RawHost.spawn(env)
    talk = await Talk.start(first)
    ask = await talk.opened("echo ran >> once.txt")
    params = {"commandId": new_command_id(), "sessionId": talk.id}
    await second.refused("session/resume", params, -32021, {"kind": "sessionInUse", "sessionId": talk.id})
    listed = await second.call("approval/listPending", {"sessionId": talk.id})
    equal(listed["approvals"], [ask], "listPending needs no lease")
    other = await Talk.start(second)
    await other.run("pwd")
    await second.refused("session/resume", {**params, "commandId": new_command_id()}, -32021,
                         {"kind": "sessionInUse", "sessionId": talk.id})
    equal(await talk.pending(), [ask], "the holder is not disturbed")
    await first.kill()
    taken = await Talk.resume(second, talk.id)  # one attempt, no waiting for a timer
    new = await taken.ask(ask["turnId"])
    same_action(ask, new)
    await taken.decide(taken.decision(new, "allow_once"))
    await taken.end(ask["turnId"])
    equal(env.lines("once.txt"), ["ran"], "what ran")
    equal(await second.close(), 0, "exit code")

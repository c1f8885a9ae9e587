"""What the frames themselves must look like: order, twins, stage advance, automatic terminals, deltas, status."""

from __future__ import annotations

from harness import Env, case, check, equal, without
from raw import RawHost, new_command_id
from talk import Talk, closed, evidence, fresh_mark, no_survivor, output, some_process, tool_shell


@case()
async def frame_order(env: Env) -> None:
    """The golden order of one approval, the held item, the attention flag, and the receipt that need not come first."""
    host = await RawHost.spawn(env, receipts=False)  # the decide goes out without any receipt
    talk = await Talk.start(host)
    equal(talk.opening["session"]["approvalMode"], {"mode": "promptUnmatched", "source": "startup", "lastCommandId": None},
          "the mode when session/start names none")
    equal(talk.opening["session"]["status"], "idle", "status after session/start")
    ask = await talk.opened("touch ordered.txt")
    turn, approval = ask["turnId"], ask["approvalId"]
    started = await host.wait("item/started", lambda f: f.get("method") == "item/started"
                              and f["params"]["item"]["itemId"] == ask["itemId"])
    item = started["params"]["item"]
    equal((item["status"], item.get("approvalId"), item.get("held"), item.get("heldFor")),
          ("inProgress", approval, True, "approval"), "the parked item")
    equal((item.get("tool"), item.get("callId"), item.get("args")), ("shell", ask["toolCallId"], ask["rawArgs"]), "the call")
    flagged = await host.event("session/statusChanged", sessionId=talk.id, attention=["approvalPending"])
    equal(flagged["params"]["status"], "running", "status while the approval is open")
    ack_id = host.begin("approval/decide", talk.decision(ask, "allow_once"))
    ack = await host.answer(ack_id)
    equal(host.result(ack, "approval/decide")["terminal"], True, "terminal")
    await talk.end(turn)
    final = await host.wait("item/completed", lambda f: f.get("method") == "item/completed"
                            and f["params"]["item"]["itemId"] == ask["itemId"])
    check(final["params"]["item"]["revision"] > item["revision"], "a higher revision at the end", final["params"]["item"])
    order = [
        ("turn/started", host.seen("turn/started", turnId=turn)[0].pos),
        ("item/started", started.pos),
        ("approval/requested", host.seen("approval/requested", approvalId=approval)[0].pos),
        ("approval/request", host.seen("approval/request", approvalId=approval)[0].pos),
        ("the ack", ack.pos),
        ("approval/resolved", host.seen("approval/resolved", approvalId=approval)[0].pos),
        ("item/completed", final.pos),
        ("turn/completed", host.seen("turn/completed", turnId=turn)[0].pos),
    ]
    equal([name for name, pos in sorted(order, key=lambda row: row[1])], [name for name, _ in order], "order of the frames")
    calm = await host.wait("session/statusChanged to idle", lambda f: f.get("method") == "session/statusChanged"
                           and f["params"]["status"] == "idle", flagged.pos)
    check(not calm["params"].get("attention"), "no attention once the approval is closed", calm)
    equal(len(host.seen("approval/resolved", approvalId=approval)), 1, "terminals of the approval")
    equal(await host.close(), 0, "exit code")


@case()
async def stage_advance_frames(env: Env) -> None:
    """A satisfied stage gives ack, update and a fresh request; the request keeps the opening cursor."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened("touch a && ls && touch b")
    decide = talk.decision(ask, "allow_once")
    await talk.decide(decide, terminal=False)
    update = (await host.event("approval/updated", approvalId=ask["approvalId"]))["params"]
    equal(update["change"], {"kind": "stageResolved", "requirementId": decide["requirementId"],
                             "choiceId": "allow_once", "decision": "approved"}, "change")
    equal(update["currentRequirementId"], {"approvalId": ask["approvalId"], "sourceIndex": 2}, "the next requirement")
    stages = [dict(row, resolution={"kind": "allowOnce"}) if index == 0 else row
              for index, row in enumerate(ask["subject"]["stages"])]
    equal(update["subject"], {**ask["subject"], "stages": stages}, "the subject with refreshed stages")
    check(update["viewCursor"] != ask["viewCursor"], "a cursor of its own on the update", update["viewCursor"])
    again = await talk.ask(ask["turnId"], index=2)
    refreshed = {"currentRequirementId": update["currentRequirementId"], "subject": update["subject"],
                 "availableChoices": update["availableChoices"]}
    equal(without(again, "sourceRange"), without({**ask, **refreshed}, "sourceRange"),
          "the second request: the opening payload (opening cursor included), stage members refreshed")
    equal(await talk.pending(), [again], "listPending in the middle of the stages")
    await talk.decide(talk.decision(again, "abort"))
    resolved = await talk.resolved(ask["approvalId"])
    equal((resolved["decision"], resolved["policyResult"]), ("abort", "deny"), "a rejection at any stage ends it all")
    equal(evidence(resolved), [(0, 1, 3, "allowOnce"), (1, 2, 3, "knownSafe"), (2, 3, 3, "unresolved")], "stageEvidence")
    await talk.item(ask["turnId"], "rejected")
    await talk.end(ask["turnId"])
    check(not env.file("a").exists(), "no stage of a rejected command to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def auto_approval_frames(env: Env) -> None:
    """Under a grant only approval/resolved appears: by policy, as approvedForSession, with evidence, without a request."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    text = "touch granted.txt"
    ask = await talk.opened(text)
    await talk.decide(talk.decision(ask, "allow_session"))
    await talk.end(ask["turnId"])
    turn = await talk.turn(text)
    await talk.end(turn)
    await talk.item(turn, "completed")
    frames = [f["method"] for f in host.frames if f.get("method", "").startswith("approval/")
              and f["params"].get("turnId") == turn]
    equal(frames, ["approval/resolved"], "approval frames of the auto-approved turn")
    resolved = host.seen("approval/resolved", turnId=turn)[0]["params"]
    closed(resolved, "approvedForSession", "allow", "policy", None)
    equal([(row[:3]) for row in evidence(resolved)], [(0, 1, 1)], "stageEvidence")
    check(evidence(resolved)[0][3] != "unresolved", "evidence that says what allowed the stage", resolved["stageEvidence"])
    equal(await talk.pending(), [], "pending")
    other = await Talk.start(host)
    again = await other.opened(text)  # another session holds no grant
    equal(tool_shell(again), ["unresolved"], "the same command in another session")
    equal(await host.close(), 0, "exit code")


@case()
async def receipt_is_not_a_decision(env: Env) -> None:
    """Whatever answers approval/request: pending set and log stay as they are, byte for byte."""
    host = await RawHost.spawn(env, receipts=False)
    for number, name in enumerate(("none", "empty", "twice", "whole decide", "error", "another id")):
        talk = await Talk.start(host)
        ask = await talk.opened(f"touch receipt-{number}.txt")
        request = host.seen("approval/request", approvalId=ask["approvalId"])[0]
        pending, rows = await talk.pending(), env.record_rows()
        equal(pending, [ask], f"pending before the receipt ({name})")
        decide = talk.decision(ask, "allow_once")
        error = {"code": -32603, "message": "no", "data": {"kind": "internal"}}
        answers = {
            "none": [],
            "empty": [{"id": request["id"], "result": {}}],
            "twice": [{"id": request["id"], "result": {}}] * 2,
            "whole decide": [{"id": request["id"], "result": {**decide, "decision": "approved", "terminal": True}}],
            "error": [{"id": request["id"], "error": error}],
            "another id": [{"id": request["id"] + 1000, "result": {}}],
        }[name]
        for answer in answers:
            host.send({"jsonrpc": "2.0", **answer})
        equal(await talk.pending(), pending, f"pending after the receipt ({name})")
        equal(env.record_rows(), rows, f"rows of the log after the receipt ({name})")
        await talk.decide(decide)  # the very body that was a mere receipt before
        await talk.end(ask["turnId"])
        check(env.record_rows() != rows, "the log to grow with a real decision (else this proves nothing)")
        check(env.file(f"receipt-{number}.txt").exists(), f"the command to run after the decision ({name})")
    equal(await host.close(), 0, "exit code")


@case()
async def large_output(env: Env) -> None:
    """Output is streamed while the command runs, and capped in the item; no frame breaks the limit."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    turn = await talk.turn("echo first; until [ -e go ]; do sleep 0.02; done; echo last")
    frame = await output(host, "first")
    equal(host.seen("turn/completed", turnId=turn), [], "the output arrived while the command was still running")
    check("." in frame["params"]["viewCursor"], "an ephemeral cursor on a delta", frame["params"]["viewCursor"])
    env.file("go").touch()
    item = await talk.item(turn, "completed")
    equal((item["visibleOutput"], item.get("exitCode")), ("first\nlast\n", 0), "output and exit status")

    total = 12_000_000
    turn = await talk.turn(f"head -c {total} /dev/zero | tr '\\0' x; echo; echo the-end")
    item = await talk.item(turn, "completed")
    await talk.end(turn)
    equal(item.get("exitCode"), 0, "the command ran to its end, unread output or not")
    size = len(item["visibleOutput"])
    check(0 < size < total // 2, "the item's output to be capped well below what the command wrote", size)
    check("xxxx" in item["visibleOutput"], "the beginning of the output in the item")
    equal([e["method"] for e in await talk.page_all() if e["method"] == "item/delta"], [], "deltas on a page")
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")


@case()
async def interrupt_running(env: Env) -> None:
    """An interrupt ends what runs, with everything below it: item and turn cancelled, no process left."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    mark = fresh_mark()
    turn = await talk.turn(f"echo begun; sh -c 'sleep {mark} & sleep {mark}'")
    await output(host, "begun")
    await some_process(mark)
    params = {"sessionId": talk.id, "commandId": new_command_id(), "turnId": turn}
    ack = await host.call("turn/interrupt", params)
    equal(ack, {"commandId": params["commandId"], "status": "accepted", "turnId": turn}, "the ack of turn/interrupt")
    await talk.item(turn, "cancelled")
    await talk.end(turn, "cancelled")
    await no_survivor(mark)
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")

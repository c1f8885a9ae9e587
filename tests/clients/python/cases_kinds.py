"""Every kind of action: what is shown, what is granted, what is really carried out, and what nobody knows."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from harness import Env, case, check, equal, without
from jsonturns import act, choice_ids, done, ended, read, text, write
from raw import RawHost
from talk import Talk, closed, evidence

OUTPUT_MAX = 64 * 1024
ONCE_OR_REJECT = ["allow_once", "abort"]
WITH_SESSION = ["allow_once", "allow_session", "abort"]
LASTING = {"network": "allow_local_network", "tool": "allow_local_mcp_tool"}


@case()
async def files_really_written_and_read(env: Env) -> None:
    """write_file and read_file work, and only behind the decision; a rejected write leaves everything as it was."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    ask = await talk.opened(text(write("a.txt", "one\n")))
    check(not env.file("a.txt").exists(), "nothing written before the decision")
    await talk.decide(talk.decision(ask, "allow_once"))
    item = (await ended(talk, ask["turnId"]))[0]
    equal((item["status"], item["tool"], item["visibleOutput"]), ("completed", "write_file", "4 bytes written\n"), "the item")
    equal(json.loads(item["args"]), {"path": "a.txt", "content": "one\n"}, "args, verbatim")
    equal(env.file("a.txt").read_text(), "one\n", "the content")
    rejected = await done(talk, write("a.txt", "two\n"), "abort", "rejected")
    equal(rejected["failureKind"], "approvalDenied", "failureKind of a rejected write")
    equal(env.file("a.txt").read_text(), "one\n", "the content after a rejected write")

    free = await Talk.start(host, "allowAll")
    for action, said, content in (
        (write("a.txt", "two\n", append=True), "4 bytes written\n", "one\ntwo\n"),
        (write("a.txt"), "nothing written\n", "one\ntwo\n"),  # no content: an existing file stays as it is
        (write("a.txt", ""), "0 bytes written\n", ""),
        (write("a.txt", "h\u00e9\u2713"), "6 bytes written\n", "h\u00e9\u2713"),
    ):
        equal((await done(free, action))["visibleOutput"], said, f"output of {action}")
        equal(env.file("a.txt").read_text(), content, f"the file after {action}")
    await done(free, write("new.txt"))
    equal(env.file("new.txt").read_bytes(), b"", "no content, no file: an empty one")
    equal((await done(free, read("a.txt")))["visibleOutput"], "h\u00e9\u2713", "what read_file read")
    env.file("big.txt").write_text("x" * (OUTPUT_MAX + 1))
    big = await done(free, read("big.txt"))
    equal((len(big["visibleOutput"]), big["truncated"]), (OUTPUT_MAX, True), "a file beyond the output cap")
    env.file("full.txt").write_text("x" * OUTPUT_MAX)
    full = await done(free, read("full.txt"))
    equal((len(full["visibleOutput"]), full["truncated"]), (OUTPUT_MAX, False), "a file that just fits")
    env.file("folder").mkdir()
    for action in (read("missing.txt"), read("folder"), write("folder", "x")):
        failed = await done(free, action, status="failed")
        check(bool(failed.get("failureReason")), f"a reason why {action} failed", failed)
    equal(await host.close(), 0, "exit code")


def _network(host: str, **members: Any) -> Dict[str, Any]:
    return act("fetch", {}, {"kind": "network", "host": host, **members})


def _process(target: str, tool: str = "signal") -> Dict[str, Any]:
    return act(tool, {}, {"kind": "process", "target": target})


SOCKET = act("connect", {}, {"kind": "unixSocket", "path": "run/agent.sock"})
HOLOGRAM = act("project", {"scene": 1}, {"kind": "hologram"})
HTTPS = _network("example.org", port=443, protocol="https")
ANY_PORT = _network("example.org", protocol="https")
FROM_PAGE = {"kind": "url", "url": "https://example.org/page"}

GRANTS: List[Tuple[Dict[str, Any], Dict[str, Any], bool]] = [
    # granted for the session, later action, is it asked about?
    (write("a.txt", "1"), write("a.txt", "2"), False),
    (write("a.txt", "1"), write("sub/../a.txt", "2"), False),  # the path is the canonical one
    (write("a.txt", "1"), write("link", "2"), False),  # a link to it
    (write("a.txt", "1"), write("b.txt", "1"), True),
    (write("a.txt", "1"), read("a.txt"), True),  # write does not imply read
    (read("a.txt"), write("a.txt", "1"), True),
    (read("a.txt"), read("a.txt"), False),
    (read("a.txt"), act("open", {}, {"kind": "fileAccess", "path": "a.txt", "access": "read"}), False),
    (HTTPS, HTTPS, False),
    (HTTPS, _network("EXAMPLE.org.", port=443, protocol="HTTPS"), False),  # one form of a name
    (HTTPS, _network("example.org", port=8443, protocol="https"), True),
    (HTTPS, _network("example.org", port=443, protocol="http"), True),
    (HTTPS, _network("example.org", port=443), True),
    (HTTPS, ANY_PORT, True),
    (HTTPS, _network("sub.example.org", port=443, protocol="https"), True),
    (ANY_PORT, HTTPS, False),  # no port was named: every port
    (ANY_PORT, _network("example.org", port=443, protocol="http"), True),
    (_process("pid 7"), _process("pid 7"), False),
    (_process("pid 7"), _process("pid 8"), True),
    (_process("pid 7"), _process("pid 7", "trace"), True),
    (act("search", {"q": "a", "n": 1}), act("search", {"n": 1, "q": "a"}), False),  # member order is no difference
    (act("search", {"q": "a"}), act("search", {"q": "b"}), True),
    (act("search", {"q": "a"}), act("find", {"q": "a"}), True),
    (act("search", {}, {"kind": "tool", "origin": FROM_PAGE}), act("search", {}), False),  # an origin is never matched
    (act("search", {}), act("search", {}, {"kind": "tool", "origin": FROM_PAGE}), False),
]


async def _asked(talk: Talk, action: Dict[str, Any]) -> bool:
    """Whether an action is asked about; what is asked is rejected, what is not is settled by the grant's policy."""
    turn = await talk.turn(text(action))
    await talk.host.wait("a question or the end of the turn", lambda f: f.get("method") in ("approval/request", "turn/completed")
                         and f["params"]["turnId"] == turn)
    pending = await talk.pending()
    for ask in pending:
        await talk.decide(talk.decision(ask, "abort"))
    item = (await ended(talk, turn))[0]
    equal(item["status"], "rejected" if pending else "completed", f"how {json.dumps(action)} ended")
    if not pending:
        terminals = talk.host.seen("approval/resolved", turnId=turn)
        equal(len(terminals), 1, "a terminal of the automatic approval")
        closed(terminals[0]["params"], "approvedForSession", "allow", "policy", None)
        equal(evidence(terminals[0]["params"]), [], "stageEvidence of a kind without stages")
    return bool(pending)


@case()
async def grants_of_every_kind(env: Env) -> None:
    """What a session grant covers, by kind: here, after SIGKILL and resume, and in no other session."""
    env.file("sub").mkdir()
    env.file("a.txt").write_text("0")
    env.file("link").symlink_to("a.txt")
    host = await RawHost.spawn(env)
    talks = []
    for granted, later, asked in GRANTS:
        talk = await Talk.start(host)
        await done(talk, granted, "allow_session")
        equal(await _asked(talk, later), asked, f"granted {json.dumps(granted)}; is {json.dumps(later)} asked about?")
        talks.append(talk)
    other = await Talk.start(host)
    equal([await _asked(other, later) for _, later, _ in GRANTS], [True] * len(GRANTS), "another session is asked")
    await host.kill()

    host = await RawHost.spawn(env)
    for talk, (granted, later, asked) in zip(talks, GRANTS):
        talk = await Talk.resume(host, talk.id)
        equal(await _asked(talk, later), asked, f"after SIGKILL: granted {json.dumps(granted)}, {json.dumps(later)}")
    fresh = await Talk.start(host)
    equal([await _asked(fresh, later) for _, later, _ in GRANTS], [True] * len(GRANTS), "a new session is asked")
    equal(await host.close(), 0, "exit code")


@case()
async def kinds_without_a_grant(env: Env) -> None:
    """Unix sockets and unknown kinds offer once and reject only, and are asked about each time."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    for action in (SOCKET, HOLOGRAM):
        for _ in range(2):
            ask = await talk.opened(text(action))
            equal(choice_ids(ask), ONCE_OR_REJECT, f"the menu of {json.dumps(action)}")
            check(all("rulePreview" not in choice for choice in ask["availableChoices"]), "no preview of a rule", ask)
            data = {"kind": "approvalChoiceInvalid", "approvalId": ask["approvalId"], "choiceId": "allow_session"}
            await host.refused("approval/decide", talk.decision(ask, "allow_session"), -32052, data)
            await talk.decide(talk.decision(ask, "allow_once"))
            equal((await ended(talk, ask["turnId"]))[0]["status"], "completed", "allowed once")
    equal(await host.close(), 0, "exit code")


@case()
async def subjects_on_the_wire(env: Env) -> None:
    """The members of each kind, and the previews of what a session grant would cover."""
    outside = env.root / "outside.txt"
    outside.write_text("x")
    origin = {"kind": "shellCommand", "command": "curl https://example.org"}
    rows: List[Tuple[Dict[str, Any], Dict[str, Any], str]] = [
        (write("dir/../a.txt", "1"), {"kind": "fileAccess", "toolName": "write_file", "path": "a.txt", "access": "write"},
         f"write {env.ws}/a.txt"),
        (read(str(env.file("a.txt"))), {"kind": "fileAccess", "toolName": "read_file", "path": "a.txt", "access": "read"},
         f"read {env.ws}/a.txt"),
        (read("../outside.txt"), {"kind": "fileAccess", "toolName": "read_file", "path": str(outside), "access": "read"},
         f"read {outside}"),
        (act("edit", {}, {"kind": "fileAccess", "path": "a.txt", "access": "write", "origin": origin}),
         {"kind": "fileAccess", "toolName": "edit", "path": "a.txt", "access": "write", "origin": origin},
         f"write {env.ws}/a.txt"),
        (HTTPS, {"kind": "network", "toolName": "fetch", "host": "example.org", "port": 443, "protocol": "https"},
         "example.org:443 (https)"),
        (act("fetch", {}, {"kind": "network", "host": "example.org", "origin": FROM_PAGE}),
         {"kind": "network", "toolName": "fetch", "host": "example.org", "origin": FROM_PAGE},
         "example.org, every port (no protocol named)"),
        (_network("2001:DB8::1", port=22), {"kind": "network", "toolName": "fetch", "host": "2001:db8::1", "port": 22},
         "[2001:db8::1]:22 (no protocol named)"),
        (SOCKET, {"kind": "unixSocket", "toolName": "connect", "path": f"{env.ws}/run/agent.sock"}, ""),
        (_process("pid 7"), {"kind": "process", "toolName": "signal", "access": "control", "target": "pid 7"},
         "control `pid 7` with `signal`"),
        (act("search", {"q": "a"}), {"kind": "tool", "toolName": "search"}, "tool `search` with exactly these arguments"),
        (act("search", "plain text", {"kind": "tool", "origin": FROM_PAGE}),
         {"kind": "tool", "toolName": "search", "origin": FROM_PAGE}, "tool `search` with exactly these arguments"),
        (HOLOGRAM, {"kind": "hologram", "toolName": "project"}, ""),
    ]
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    for action, subject, preview in rows:
        ask = await talk.opened(text(action))
        what = json.dumps(action)
        equal(ask["subject"], subject, f"the subject of {what}")
        equal(ask["toolName"], action["tool"], f"toolName of {what}")
        args = action["args"]
        equal(ask["rawArgs"] if isinstance(args, str) else json.loads(ask["rawArgs"]), args, f"rawArgs of {what}")
        equal(ask["currentRequirementId"], {"approvalId": ask["approvalId"], "sourceIndex": 0}, f"requirement of {what}")
        equal((ask["protectedWrite"], ask["judgeEscalated"]), (False, False), f"flags of {what}")
        menu = list(WITH_SESSION if preview else ONCE_OR_REJECT)
        if subject["kind"] in LASTING:
            menu.insert(2, LASTING[subject["kind"]])
        equal(choice_ids(ask), menu, f"the menu of {what}")
        previews = [choice["rulePreview"] for choice in ask["availableChoices"] if choice["scope"] == "session"]
        equal(previews, [preview] if preview else [], f"the preview of {what}")
        await talk.decide(talk.decision(ask, "abort"))
        await talk.end(ask["turnId"])
    equal(await host.close(), 0, "exit code")


@case()
async def unknown_kinds_are_always_asked(env: Env) -> None:
    """No mode, no grant and no table of safe commands covers a kind that nobody knows, or one declared wrongly."""
    host = await RawHost.spawn(env)
    unknown = [
        (HOLOGRAM, "hologram"),
        (act("shell", {"command": "pwd"}, {"kind": "hologram"}), "hologram"),  # the safe command does not help
        (act("fetch", {}, {"kind": "network", "host": "example.org", "port": 0}), "unrecognized:network"),
        (act("fetch", {}, {"kind": "network", "host": "example.org", "later": 1}), "unrecognized:network"),
        (act("edit", {}, {"kind": "fileAccess", "path": "a.txt", "access": "own"}), "unrecognized:fileAccess"),
        (act("connect", {}, {"kind": "unixSocket"}), "unrecognized:unixSocket"),
        (act("signal", {}, {"kind": "process"}), "unrecognized:process"),
        (act("search", {}, {"kind": "tool", "origin": {"kind": "dream"}}), "unrecognized:tool"),
        (act("shell", {"command": "pwd"}, {"kind": "shell"}), "unrecognized:shell"),
        (act("shell", {"cmd": "pwd"}), "unrecognized:shell"),
        (act("write_file", {"content": "x"}), "unrecognized:fileAccess"),
    ]
    for mode in ("allowAll", "promptUnmatched", "onRequest"):
        talk = await Talk.start(host, mode)
        for action, kind in unknown:
            ask = await talk.opened(text(action))
            what = f"{json.dumps(action)} under {mode}"
            equal(ask["subject"], {"kind": kind, "toolName": action["tool"]}, f"the subject of {what}")
            equal(choice_ids(ask), ONCE_OR_REJECT, f"the menu of {what}")
            await talk.decide(talk.decision(ask, "abort"))
            await talk.end(ask["turnId"])
    talk = await Talk.start(host, "denyUnmatched")
    for action, _ in unknown:
        item = await done(talk, action, status="rejected")
        equal(item["failureKind"], "approvalDenied", f"{json.dumps(action)} under denyUnmatched")
    equal(await host.close(), 0, "exit code")


@case()
async def declared_is_not_carried_out(env: Env) -> None:
    """What an agent declares about an action is judged and reported; the host carries out only what it has read itself."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    actions = (
        act("shell", {"command": "touch made.txt"}, {"kind": "shell", "command": "touch made.txt"}),
        act("write_file", {"path": "made.txt", "content": "x"}, {"kind": "fileAccess", "path": "made.txt", "access": "write"}),
        act("shell", {"command": "touch made.txt"}, {"kind": "tool"}),
        HTTPS,
        SOCKET,
        _process("pid 7"),
        HOLOGRAM,
        act("search", {"q": "a"}),
    )
    for action in actions:
        item = await done(talk, action, "allow_once")
        equal(item["visibleOutput"], f"allowed; the exec agent does not carry out `{action['tool']}`\n", f"said of {action}")
        check("exitCode" not in item, "no exit status of what did not run", item)
        item = await done(talk, action, "abort", "rejected")
        equal((item["failureKind"], item["failureReason"]), ("approvalDenied", "approval aborted"), f"said of {action}, refused")
    # What is safe in a declared command needs no question, and is no more carried out than the rest.
    item = await done(talk, act("shell", {"command": "touch made.txt"}, {"kind": "shell", "command": "pwd"}))
    check("does not carry out" in item["visibleOutput"], "a report", item)
    check(not env.file("made.txt").exists(), "nothing of it to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def request_approval_on_request(env: Env) -> None:
    """onRequest asks where the agent asked for approval; without it the denial says how to ask."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "onRequest")
    action = act("write_file", {"path": "a.txt", "content": "1"}, asked=True)
    await done(talk, action, "allow_once")
    equal(env.file("a.txt").read_text(), "1", "what was asked for and allowed")
    item = await done(talk, without(action, "requestApproval"), status="rejected")
    equal(item["failureKind"], "approvalDenied", "failureKind")
    check("approval" in item["failureReason"], "the way out in the reason", item["failureReason"])
    await done(talk, act("shell", {"command": "pwd"}))  # what is covered is not asked about
    equal(await host.close(), 0, "exit code")


@case()
async def objects_that_are_no_turn(env: Env) -> None:
    """A JSON object that is no turn fails its turn with an error; the session goes on."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host, "allowAll")
    for wrong in ("{}", '{"tool":"a","extra":1}', '{"tool":""}', '{"tool":"a","subject":"tool"}', '{"args":{}}',
                  '{"say":"a","pauseMs":9999999}', text(*[act("search", {})] * 129)):
        turn = await talk.turn(wrong)
        end = await talk.end(turn, "failed")
        equal((end["error"]["kind"], end["error"]["retryable"]), ("modelError", False), f"the error of {wrong:.40}")
        check(bool(end["error"]["message"]), "a sentence", end)
        equal(host.seen("approval/requested", turnId=turn), [], "questions of a turn that is none")
    await talk.run("pwd")
    equal(await host.close(), 0, "exit code")


@case()
async def sayings_whole_and_streamed(env: Env) -> None:
    """A saying is one item: whole at revision 1, or streamed and complete at revision 2; pages hold the durable event."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    for say, revision in (("I will look.", 1), (["I will ", "look", "."], 2)):
        turn = await talk.turn(text(say=say))
        await talk.end(turn)

        def said(frame: Dict[str, Any]) -> bool:
            item = frame.get("params", {}).get("item", {})
            return item.get("kind") == "agentMessage" and item.get("turnId") == turn

        frames = [frame for frame in host.frames if said(frame)]
        final = frames[-1]["params"]["item"]
        equal((final["text"], final["revision"], final["status"]), ("I will look.", revision, "completed"), "the whole text")
        equal([f["method"] for f in frames], ["item/completed"] if revision == 1 else ["item/started", "item/completed"],
              "item events")
        deltas = host.seen("item/delta", itemId=final["itemId"])
        equal([f["params"]["delta"] for f in deltas], [] if revision == 1 else say, "deltas")
        if revision == 2:
            first = frames[0]["params"]
            equal((first["item"]["text"], first["item"]["status"], first["item"]["revision"]), ("", "inProgress", 1), "started")
            check("sourceRange" not in first, "no record behind the beginning", first)
            equal({f["params"]["field"] for f in deltas}, {"text"}, "the streamed field")
            order = [frames[0].pos, *(f.pos for f in deltas), frames[1].pos]
            equal(order, sorted(order), "order: begun, pieces, whole")
        paged = [event["params"] for event in await talk.page_all() if said(event)]
        equal(paged, [frames[-1]["params"]], "the page holds the durable event alone")
    equal(await host.close(), 0, "exit code")

"""Recorded transcripts replayed: ours in tests/vectors/wire, and the public golden ones where they lie beside the repository.

Scripted are only the map from a turn's text to what the agent proposes, and the sentences of the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from golden import Comparison, Line, Names, compared, transcript
from harness import Env, case, check, equal
from raw import RawHost, new_command_id
from talk import Talk

ROOT = Path(__file__).resolve().parents[3]
OURS = ROOT / "tests" / "vectors" / "wire"
SCRIPT = {
    "Update Cargo.toml to bump the version": {"tool": "write_file", "args": {"path": "Cargo.toml"}},
    "Update README.md": {"tool": "write_file", "args": {"path": "README.md"}},
    "Run the agent test suite and summarize failures": {"say": ["All 214 tests pass", " except two in tbh-agent..."]},
    "Review the current test failures": {"say": "The current failures are understood.", "pauseMs": 1500},
    "Run the queued release checks": {"say": "All queued release checks passed."},
    "Fix the tests": {"say": ["All 214 tests pass", 1500, " and the fix is ready"]},
    "Show me a hologram of the workspace": {"actions": []},
    "Reach the service": {"tool": "fetch", "args": {"url": "https://example.org/"}, "subject": {
        "kind": "network", "host": "example.org", "port": 443, "protocol": "https"}},
    "Say hello": {"say": ["Hello", ", world"]},
}
FOLDERS = ("/home/me/src/proj", "/srv/project")
"""The workspaces of the recordings."""


def _shared(scenario: str) -> Optional[Path]:
    """A public golden transcript, if it is there."""
    for above in list(ROOT.parents)[:2]:
        path = above / "shared" / "oracles" / "msp_golden" / scenario / "transcript.ndjson"
        if path.is_file():
            return path
    return None


def _recordings(ours: str, *scenarios: str) -> List[Path]:
    """Our own transcript, always, and the public ones that are there."""
    return [OURS / f"{ours}.ndjson", *(path for path in map(_shared, scenarios) if path is not None)]


class Replay:
    """One transcript against one host process."""

    def __init__(self, host: RawHost, env: Env) -> None:
        self.host = host
        self.names = Names({folder: str(env.ws) for folder in FOLDERS})
        self.comparison = Comparison(self.names)
        self.at = 0

    @classmethod
    async def spawn(cls, env: Env) -> "Replay":
        """A host with the script, and nothing said yet."""
        script = env.root / "script.json"
        script.write_text(json.dumps(SCRIPT))
        host = await RawHost.spawn(env, handshake=False, receipts=False, args=("--script", str(script)))
        return cls(host, env)

    async def lines(self, lines: List[Line], what: str) -> None:
        """Sends the client's lines and expects the host's, in the recorded order."""
        for number, line in enumerate(lines, 1):
            if line.client:
                self._send(line)
                continue
            recorded = line.frame
            frame = await self._next(f"line {number} of {what}")
            while self.comparison.is_extra(recorded, frame):
                frame = await self._next(f"line {number} of {what}")
            found = self.comparison.differences(recorded, frame)
            check(not found, f"{what}, line {number}: {line.raw:.300}", {"differences": found, "frame": frame})

    async def done(self, what: str) -> None:
        """Nothing more may come; a request of our own is the barrier."""
        barrier = await self.host.answer(self.host.begin("session/list", {}, id="barrier"))
        rest = self.host.frames[self.at:barrier.pos]
        equal([frame for frame in rest if not self.comparison.is_extra(None, frame)], [], f"frames behind the end of {what}")
        self.at = barrier.pos + 1

    def _send(self, line: Line) -> None:
        command = line.frame.get("params", {}).get("commandId")
        if command is not None:
            self.names.bind_new("id", command, new_command_id())  # one home takes a command id once
        frame = self.names.translated(line.frame)
        if "method" not in frame:  # a receipt goes to the request as this host numbered it
            frame["id"] = self.comparison.requests[frame["id"]]
        elif "id" in frame:
            self.host.sent(frame["id"], frame["method"])
        ending = b"\r\n" if line.raw.endswith("\r") else b"\n"
        self.host.send_bytes(json.dumps(frame, ensure_ascii=False).encode() + ending)

    async def _next(self, what: str) -> Dict[str, Any]:
        frame = await self.host.wait(what, lambda _: True, self.at - 1)
        self.at = frame.pos + 1
        return frame


async def _replayed(env: Env, path: Path, edit: Callable[[List[Line]], List[Line]] = lambda lines: lines) -> Replay:
    replay = await Replay.spawn(env)
    what = f"{path.parent.name}/{path.name}"
    await replay.lines(edit(transcript(path)), what)
    await replay.done(what)
    return replay


@case()
async def transcript_approval(env: Env) -> None:
    """Asked, allowed for the session, carried out; the same run also rejects and opens a second session."""
    for path in _recordings("approval", "approval-round-trip"):
        replay = await _replayed(env, path)
        host = replay.host
        check(env.file("Cargo.toml").exists(), "the file that was allowed")
        sessions = {frame["params"]["session"]["sessionId"] for frame in host.seen("session/started")}
        host.receipts = True
        talk = Talk(host, host.seen("session/started")[0]["params"]["session"]["sessionId"], {})
        ask = await talk.opened("Update README.md")
        await talk.decide(talk.decision(ask, "abort"))
        await talk.end(ask["turnId"])
        item = [f["params"]["item"] for f in host.seen("item/completed") if f["params"]["item"]["itemId"] == ask["itemId"]][0]
        equal((item["status"], item["failureReason"]), ("rejected", "approval aborted"), "the item of a rejected approval")
        second = await Talk.start(host)
        check(second.id not in sessions, "a session of its own", second.id)
        ask = await second.opened("Update Cargo.toml to bump the version")
        await second.decide(second.decision(ask, "abort"))
        await second.end(ask["turnId"])
        check(not env.file("README.md").exists(), "the rejected file not to be there")
        equal(await host.close(), 0, "exit code")
        env.file("Cargo.toml").unlink()


@case()
async def transcript_streamed(env: Env) -> None:
    """A message in pieces; an item kind that only the recording host has is left out of what is expected."""
    for path in _recordings("streamed", "text-run-single-turn", "tolerance-unknown-item-kind"):
        replay = await _replayed(env, path, lambda lines: [line for line in lines if '"hologramPreview"' not in line.raw])
        equal(await replay.host.close(), 0, "exit code")


@case()
async def transcript_queued(env: Env) -> None:
    """A second turn while the first one runs: queued, and begun behind its end."""
    for path in _recordings("queued", "pending-command-ack-launch"):
        replay = await _replayed(env, path)
        equal(await replay.host.close(), 0, "exit code")


@case()
async def transcript_cr(env: Env) -> None:
    """A CR before the LF is tolerated on input and never sent; the connection works."""
    for path in _recordings("cr", "framing-tolerance-cr-input"):
        replay = await _replayed(env, path)
        check(any(line.raw.endswith("\r") for line in transcript(path)), "lines that end in CR LF")
        equal(await replay.host.close(), 0, "exit code")


@case()
async def transcript_cursor(env: Env) -> None:
    """A resume whose cursor is held, in the middle of a message: only what comes behind it is told."""
    for path in _recordings("cursor", "cursor-retained"):
        lines, what = transcript(path), f"{path.parent.name}/{path.name}"
        resume, answer = (next(line.frame for line in lines if line.client is client and line.frame.get("id") == 9)
                          for client in (True, False))
        running = answer["result"]["session"]
        seed = await RawHost.spawn(env)
        talk = await Talk.start(seed)
        for _ in range(running["turnCount"] - 1):
            await talk.run("pwd")
        equal(await seed.close(), 0, "exit code")

        replay = await Replay.spawn(env)
        host, handshake = replay.host, lines.index(next(line for line in lines if line.client and '"id":9' in line.raw))
        await replay.lines(lines[:handshake], what)
        talk = await Talk.resume(host, talk.id)  # the session was there before the recording begins
        turn = {"sessionId": talk.id, "commandId": running["activeTurnId"], "input": [{"type": "text", "text": "Fix the tests"}]}
        host.result(await host.answer(host.begin("turn/start", turn)), "the turn that runs when the recording begins")
        delta = await host.event("item/delta")
        replay.at = delta.pos + 1
        replay.names.bind("id", running["sessionId"], talk.id)
        replay.names.bind("cursor", resume["params"]["cursor"], delta["params"]["viewCursor"])
        await replay.lines(lines[handshake:], what)
        await replay.done(what)
        equal(await host.close(), 0, "exit code")


@case()
async def transcript_comparator_can_fail(env: Env) -> None:
    """The comparison finds each kind of difference; held against itself a recording has none."""
    lines = transcript(OURS / "approval.ndjson")
    frames = [line.frame for line in lines if not line.client]

    def found(change: Callable[[List[Dict[str, Any]]], Any]) -> List[str]:
        changed = json.loads(json.dumps(frames))
        change(changed)
        queue = iter(changed)
        return compared(lines, Names({}), lambda: next(queue, None))

    def place(method: str) -> int:
        return [frame.get("method") for frame in frames].index(method)

    asked, resolved = place("approval/requested"), place("approval/resolved")
    extra = {"jsonrpc": "2.0", "method": "session/statusChanged", "params": {}}
    for tolerated in (lambda f: None, lambda f: f.insert(3, extra), lambda f: f[asked]["params"].update(later=1),
                      lambda f: f[resolved]["params"].update(sourceRange={}), lambda f: f[resolved].update(emittedAtMs=7)):
        equal(found(tolerated), [], "differences of what is tolerated")
    other = {"jsonrpc": "2.0", "method": "view/gap", "params": {}}
    changes: Dict[str, Callable[[List[Dict[str, Any]]], Any]] = {
        "a frame too few": lambda f: f.pop(asked),
        "a frame too many": lambda f: f.insert(asked, other),
        "a frame at the end": lambda f: f.append(other),
        "two frames in another order": lambda f: f.insert(asked, f.pop(resolved)),
        "a member too few": lambda f: f[asked]["params"].pop("protectedWrite"),
        "another word": lambda f: f[resolved]["params"].update(decision="denied"),
        "another type": lambda f: f[asked]["params"].update(protectedWrite=0),
        "another number of choices": lambda f: f[asked]["params"]["availableChoices"].pop(),
        "another code": lambda f: f[0].update(id="1"),
        "another id for the same thing": lambda f: f[resolved]["params"].update(approvalId=new_command_id()),
        "the same id for another thing": lambda f: f[resolved]["params"].update(
            decidedByCommandId=f[resolved]["params"]["approvalId"]),
        "a cursor that was used": lambda f: f[resolved]["params"].update(viewCursor=f[asked]["params"]["viewCursor"]),
        "a time that is none": lambda f: f[place("item/started")]["params"]["item"].update(recordedAt="soon"),
        "another revision": lambda f: f[place("item/started")]["params"]["item"].update(revision=2),
    }
    for what, change in changes.items():
        check(found(change) != [], f"the comparison to find {what}")

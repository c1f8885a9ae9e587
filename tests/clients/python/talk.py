"""One session over our own client: the steps that nearly every case takes, each with its own expectations."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any, Dict, List, Optional

from harness import WAIT_S, Env, check, equal
from raw import Frame, RawHost, new_command_id

ABSENT = object()
"""Marks a member that is left out, as opposed to null."""


class Talk:
    """A session on a host: its id, and the way to talk about it."""

    def __init__(self, host: RawHost, session_id: str, opening: Dict[str, Any]) -> None:
        self.host = host
        self.id = session_id
        self.opening = opening

    @classmethod
    async def start(cls, host: RawHost, mode: Optional[str] = None, **members: Any) -> "Talk":
        """session/start in the workspace of the case; without a mode the member is left out."""
        params: Dict[str, Any] = {"commandId": new_command_id(), "workspaceRoot": str(host.env.ws), **members}
        if mode is not None:
            params["approvalMode"] = mode
        result = await host.call("session/start", params)
        return cls(host, result["session"]["sessionId"], result)

    @classmethod
    async def resume(cls, host: RawHost, session_id: str, **members: Any) -> "Talk":
        """session/resume."""
        params = {"commandId": new_command_id(), "sessionId": session_id, **members}
        return cls(host, session_id, await host.call("session/resume", params))

    # ---- turns ----------------------------------------------------------------------------------------------------

    def turn_params(self, text: str) -> Dict[str, Any]:
        """Params of turn/start with a fresh command id."""
        return {"sessionId": self.id, "commandId": new_command_id(), "input": [{"type": "text", "text": text}]}

    async def turn(self, text: str) -> str:
        """Starts a turn and returns its id, which comes from the ack."""
        params = self.turn_params(text)
        ack = await self.host.call("turn/start", params)
        equal(ack["commandId"], params["commandId"], "turn/start echoes the command id")
        equal(ack["status"], "accepted", "turn/start status")
        equal(ack["startedNewTurn"], True, "turn/start on an idle session starts a new turn")
        equal(ack["disposition"], "started", "turn/start disposition")
        return ack["turnId"]

    async def end(self, turn: str, terminal: str = "completed") -> Dict[str, Any]:
        """Waits for turn/completed with this terminal."""
        params = (await self.host.event("turn/completed", turnId=turn))["params"]
        equal(params["terminal"], terminal, f"terminal of turn {turn}")
        return params

    async def item(self, turn: str, status: str) -> Dict[str, Any]:
        """The finished tool call of a turn; it must have this status and hold nothing any more."""
        frame = await self.host.wait(f"item/completed of the tool call of turn {turn}", lambda f: _finishes(f, turn))
        item = frame["params"]["item"]
        equal(item["status"], status, f"status of the tool call ({item.get('failureKind')}, {item.get('failureReason')})")
        equal(item.get("tool"), "shell", "tool of the item")
        check("held" not in item and "heldFor" not in item, "no `held` on a finished item", item)
        return item

    async def run(self, text: str) -> Dict[str, Any]:
        """A turn that must run without a question; returns its item."""
        turn = await self.turn(text)
        item = await self.item(turn, "completed")
        await self.end(turn)
        equal(self.host.seen("approval/request", turnId=turn), [], f"nobody is asked about {text!r}")
        equal(self.host.seen("approval/requested", turnId=turn), [], f"nothing is opened for {text!r}")
        return item

    # ---- approvals ------------------------------------------------------------------------------------------------

    async def ask(self, turn: str, index: int = 0, after: int = -1) -> Dict[str, Any]:
        """The approval/request of a turn's stage, after its twin event with the same params."""
        frame = await self.host.wait(
            f"approval/request for stage {index} of turn {turn}",
            lambda f: f.get("method") == "approval/request" and "id" in f and f["params"]["turnId"] == turn
            and f["params"]["currentRequirementId"]["sourceIndex"] == index,
            after,
        )
        params = frame["params"]
        equal(params["currentRequirementId"]["approvalId"], params["approvalId"], "the requirement names its approval")
        return params

    async def opened(self, text: str) -> Dict[str, Any]:
        """Starts a turn that must ask; checks the twin frames and returns their params."""
        turn = await self.turn(text)
        params = await self.ask(turn, await self._first_index(turn))
        events = self.host.seen("approval/requested", approvalId=params["approvalId"])
        requests = self.host.seen("approval/request", approvalId=params["approvalId"])
        equal(len(events), 1, "approval/requested events for the new approval")
        equal(len(requests), 1, "approval/request frames for the new approval")
        equal(events[0]["params"], requests[0]["params"], "event and request carry the same params")
        check(events[0].pos < requests[0].pos, "the event before its request")
        return params

    async def _first_index(self, turn: str) -> int:
        frame = await self.host.event("approval/request", turnId=turn)
        return frame["params"]["currentRequirementId"]["sourceIndex"]

    def decision(self, ask: Dict[str, Any], choice: str, command: Optional[str] = None, feedback: Any = ABSENT,
                 index: Optional[int] = None) -> Dict[str, Any]:
        """Params of approval/decide for an ask; `index` names another stage than the current one."""
        requirement = dict(ask["currentRequirementId"])
        if index is not None:
            requirement["sourceIndex"] = index
        params = {
            "sessionId": self.id,
            "commandId": command or new_command_id(),
            "approvalId": ask["approvalId"],
            "requirementId": requirement,
            "choiceId": choice,
        }
        return params if feedback is ABSENT else {**params, "feedback": feedback}

    async def decide(self, params: Dict[str, Any], terminal: bool = True) -> Dict[str, Any]:
        """Sends a decide that must be accepted; returns the ack."""
        ack = await self.host.call("approval/decide", params)
        expected = {"commandId": params["commandId"], "status": "accepted", "approvalId": params["approvalId"],
                    "terminal": terminal}
        equal(ack, expected, "the ack of approval/decide")
        return ack

    async def resolved(self, approval_id: str) -> Dict[str, Any]:
        """Params of approval/resolved."""
        return (await self.host.event("approval/resolved", approvalId=approval_id))["params"]

    async def pending(self) -> List[Dict[str, Any]]:
        """approval/listPending; also a barrier: everything the host said before has arrived."""
        result = await self.host.call("approval/listPending", {"sessionId": self.id})
        equal(result["userInputs"], [], "no questions are pending")
        return result["approvals"]

    async def page_all(self, limit: int = 200, direction: str = "forward") -> List[Dict[str, Any]]:
        """Every durable event through view/page, oldest first, whatever the direction."""
        events: List[Dict[str, Any]] = []
        at: Dict[str, Any] = {}
        for _ in range(2000):
            params = {"sessionId": self.id, "limit": limit, "direction": direction, **at}
            page = await self.host.call("view/page", params)
            check(len(page["events"]) <= limit, f"at most {limit} events on a page", len(page["events"]))
            events = events + page["events"] if direction == "forward" else page["events"] + events
            if page["nextCursor"] is None:
                return events
            check(page["nextCursor"] != at.get("cursor"), "a page to move on", page["nextCursor"])
            at = {"cursor": page["nextCursor"]}
        raise AssertionError("view/page never came to an end")

    async def paged(self, method: str, **members: Any) -> List[Dict[str, Any]]:
        """Params of the durable events with this method and these members."""
        return [event["params"] for event in await self.page_all() if event["method"] == method
                and all(event["params"].get(name) == value for name, value in members.items())]


def tool_shell(ask: Dict[str, Any]) -> Any:
    """The resolutions of an ask's stages, in order."""
    return [stage["resolution"]["kind"] for stage in ask["subject"]["stages"]]


def evidence(resolved: Dict[str, Any]) -> List[Any]:
    """(index, position, total, kind) of each row of stageEvidence."""
    return [(row["requirementId"]["sourceIndex"], row["position"], row["totalStages"], row["resolution"]["kind"])
            for row in resolved["stageEvidence"]]


def closed(resolved: Dict[str, Any], decision: str, result: str, by: str, command: Optional[str]) -> None:
    """Checks the four facts of a terminal: what, with which effect, by whom, by which command."""
    got = (resolved["decision"], resolved["policyResult"], resolved["resolvedBy"], resolved.get("decidedByCommandId"))
    equal(got, (decision, result, by, command), f"the terminal of {resolved['approvalId']}")
    check(bool(resolved.get("decidedAt")), "a time of decision", resolved)


def successor_of(approval_id: str) -> str:
    """The id under which an approval is asked again after a restart: a pure function of the old id."""
    return str(uuid.uuid5(uuid.UUID(approval_id), "placet/successor"))


def fresh_mark() -> str:
    """A number of seconds that no other process sleeps for: it finds a command's processes by name."""
    return f"31337.{int.from_bytes(os.urandom(4), 'big'):010d}"


def processes_with(mark: str) -> List[int]:
    """The processes that carry a mark on their command line, ourselves excepted."""
    found = []
    if not Path("/proc/self").exists():  # macOS
        lines = subprocess.run(["ps", "-axwwo", "pid=,command="], capture_output=True, text=True, check=True).stdout
        return [int(line.split()[0]) for line in lines.splitlines() if mark in line]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


async def no_survivor(mark: str) -> None:
    """Waits until no process carries the mark; there is no frame to wait for, the host may be dead."""
    deadline = time.monotonic() + WAIT_S
    while left := processes_with(mark):
        check(time.monotonic() < deadline, f"no process with {mark} on its command line", left)
        await asyncio.sleep(0.02)


async def some_process(mark: str) -> None:
    """Waits until a process carries the mark, without which its absence later proves nothing."""
    deadline = time.monotonic() + WAIT_S
    while not processes_with(mark):
        check(time.monotonic() < deadline, f"a process with {mark} on its command line", [])
        await asyncio.sleep(0.02)


async def output(host: RawHost, text: str) -> Frame:
    """Waits until the deltas of some item, put together, hold a text."""
    collected = ""

    def matches(frame: Frame) -> bool:
        nonlocal collected
        if frame.get("method") == "item/delta":
            collected += frame["params"]["delta"]
        return text in collected

    return await host.wait(f"streamed output with {text!r}", matches)


def _finishes(frame: Frame, turn: str) -> bool:
    if frame.get("method") != "item/completed":
        return False
    item = frame["params"]["item"]
    return item.get("kind") == "toolCall" and item.get("turnId") == turn


def home_bytes_with(env: Env, needle: str) -> List[str]:
    """The files and the tables of the home that hold a text (a page border can hide it from a search of the file)."""
    files = [str(path) for path in env.files_of_home() if needle.encode() in path.read_bytes()]
    return files + [f"table {name}" for name, rows in env.tables().items() if any(needle in row for row in rows)]

"""Compares a host with a recorded transcript: the client's lines are replayed, the host's lines are expected.

Every member of a recorded host line must come with its value. What differs between any two runs is handled like this:

- ids, cursors and paths are renamed, one to one, for the whole transcript (`RENAMED`, `Names`);
- a time is any time, of the same form (`TIMES`);
- what belongs to the recording host alone is not looked at (`IGNORED`), what its tools said only for its type (`SAID`);
- the host may send more members, and more `session/statusChanged` and `item/updated`; a revision is counted without the
  latter. Nothing else may come, nothing may be missing, and the order is the recorded one.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

IGNORED = {"fingerprint", "serverInfo", "userAgent", "museHome", "modelId", "providerId", "usage", "durationMs",
           "timeToFirstTokenMs", "sourceRange"}
if sys.platform != "linux":
    IGNORED.add("platformOs")  # the recordings were made on Linux

SAID = {"visibleOutput", "message"}

TIMES = {"createdAt", "updatedAt", "recordedAt", "decidedAt", "emittedAtMs"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

RENAMED = {
    # Values of these members name the same thing wherever they stand, so they share one set of names.
    **dict.fromkeys(("sessionId", "commandId", "decidedByCommandId", "lastCommandId", "turnId", "activeTurnId", "itemId",
                     "approvalId"), "id"),
    # A host without tasks of its own sends the item's id here (msp.md 5.1), so the two need not differ.
    "taskId": "task",
    **dict.fromkeys(("callId", "toolCallId"), "call"),
    **dict.fromkeys(("viewCursor", "cursor", "after"), "cursor"),
    "path": "path",
}
"""The members whose values are renamed, and the set of names that each belongs to."""

EXTRA = ("session/statusChanged", "item/updated")


class Line(NamedTuple):
    """One line of a transcript."""

    client: bool
    raw: str

    @property
    def frame(self) -> Dict[str, Any]:
        """The line, read."""
        return json.loads(self.raw)


def transcript(path: Path) -> List[Line]:
    """Reads `{"dir", "raw"}` lines."""
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [Line(row["dir"] == "client", row["raw"]) for row in rows]


class Names:
    """What the recorded names are called in this run: one name each, both ways."""

    def __init__(self, folders: Dict[str, str]) -> None:
        self.folders = folders
        self._ours: Dict[Any, str] = {}
        self._theirs: Dict[Any, str] = {}

    def bind(self, kind: str, recorded: str, ours: str) -> bool:
        """Notes that both are the same; false where either has another name already."""
        known = self._ours.setdefault((kind, recorded), ours)
        back = self._theirs.setdefault((kind, ours), recorded)
        return known == ours and back == recorded

    def bind_new(self, kind: str, recorded: str, ours: str) -> None:
        """Gives a recorded name a name here, unless it has one."""
        if (kind, recorded) not in self._ours:
            self.bind(kind, recorded, ours)

    def translated(self, value: Any, member: str = "") -> Any:
        """A recorded value as this run has it, where it has names in it."""
        if isinstance(value, dict):
            return {name: self.translated(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.translated(inner, member) for inner in value]
        if isinstance(value, str):
            known = self._ours.get((RENAMED.get(member, ""), value))
            return self.placed(value) if known is None else known
        return value

    def placed(self, text: str) -> str:
        """A text with the recorded folders replaced by this run's."""
        for recorded, ours in self.folders.items():
            text = text.replace(recorded, ours)
        return text


class Comparison:
    """Holds the host's frames against the recorded ones, one after the other."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.requests: Dict[Any, Any] = {}
        self._updates: Dict[str, int] = {}

    def is_extra(self, recorded: Optional[Dict[str, Any]], frame: Dict[str, Any]) -> bool:
        """Whether a frame may come though it was not recorded here; counts the updates of an item."""
        method = frame.get("method")
        if method not in EXTRA or (recorded or {}).get("method") == method:
            return False
        if method == "item/updated":
            item = frame["params"]["item"]["itemId"]
            self._updates[item] = self._updates.get(item, 0) + 1
        return True

    def differences(self, recorded: Dict[str, Any], frame: Dict[str, Any]) -> List[str]:
        """Every way in which a frame is not what was recorded."""
        if "method" in recorded and "id" in recorded and "id" in frame:
            self.requests[recorded["id"]] = frame["id"]  # each host counts its own requests
            return list(self._members({**recorded, "id": 0}, {**frame, "id": 0}, ""))
        return list(self._members(recorded, frame, ""))

    def _members(self, recorded: Dict[str, Any], ours: Any, path: str) -> Iterator[str]:
        if not isinstance(ours, dict):
            yield f"{path}: expected an object, got {ours!r}"
            return
        for name, value in recorded.items():
            if name in IGNORED:
                continue
            if name not in ours:
                yield f"{path}.{name}: missing, expected {value!r:.200}"
            elif name == "revision":
                yield from self._value(value + self._updates.get(ours.get("itemId"), 0), ours[name], f"{path}.{name}", name)
            else:
                yield from self._value(value, ours[name], f"{path}.{name}", name)

    def _value(self, recorded: Any, ours: Any, path: str, name: str) -> Iterator[str]:
        if isinstance(recorded, dict):
            yield from self._members(recorded, ours, path)
        elif isinstance(recorded, list):
            if not isinstance(ours, list) or len(ours) != len(recorded):
                yield f"{path}: expected {len(recorded)} elements, got {ours!r:.200}"
            else:
                for index, (left, right) in enumerate(zip(recorded, ours)):
                    yield from self._value(left, right, f"{path}[{index}]", name)
        elif type(recorded) is not type(ours):
            yield f"{path}: expected {recorded!r:.200}, got {ours!r:.200}"
        elif name in TIMES:
            if isinstance(ours, str) and not TIME.fullmatch(ours):
                yield f"{path}: expected a time, got {ours!r}"
        elif name in RENAMED and isinstance(recorded, str):
            if not self.names.bind(RENAMED[name], recorded, ours):
                yield f"{path}: {recorded!r} and {ours!r} name different things elsewhere"
        elif name not in SAID and (self.names.placed(recorded) if isinstance(recorded, str) else recorded) != ours:
            yield f"{path}: expected {recorded!r:.300}, got {ours!r:.300}"


def compared(lines: List[Line], names: Names, take: Callable[[], Optional[Dict[str, Any]]]) -> List[str]:
    """The differences of a whole run that was recorded before; `take` gives its frames in order, then None."""
    comparison = Comparison(names)
    for number, line in enumerate(lines, 1):
        if line.client:
            continue
        recorded, frame = line.frame, take()
        while frame is not None and comparison.is_extra(recorded, frame):
            frame = take()
        if frame is None:
            return [f"line {number}: nothing came, expected {line.raw:.200}"]
        if found := comparison.differences(recorded, frame):
            return [f"line {number}: {one}" for one in found]
    while (frame := take()) is not None:
        if not comparison.is_extra(None, frame):
            return [f"behind the end: {json.dumps(frame):.200}"]
    return []

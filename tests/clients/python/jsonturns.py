"""JSON turns of the exec agent: what a turn says and proposes, and what became of it."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

from harness import equal
from talk import Talk


def act(tool: str, args: Any = None, subject: Optional[Dict[str, Any]] = None, asked: bool = False) -> Dict[str, Any]:
    """One proposed action."""
    action: Dict[str, Any] = {"tool": tool}
    if args is not None:
        action["args"] = args
    if subject is not None:
        action["subject"] = subject
    return {**action, "requestApproval": True} if asked else action


def write(path: str, content: Optional[str] = None, **members: Any) -> Dict[str, Any]:
    """A write_file action; without content the member is left out."""
    return act("write_file", {"path": path, **({} if content is None else {"content": content}), **members})


def read(path: str) -> Dict[str, Any]:
    """A read_file action."""
    return act("read_file", {"path": path})


def text(*actions: Dict[str, Any], **members: Any) -> str:
    """The text of a turn with these actions and these further members, for example `say`."""
    return json.dumps({**members, **({"actions": list(actions)} if actions else {})})


def choice_ids(ask: Dict[str, Any]) -> List[str]:
    """The ids of an ask's menu."""
    return [choice["choiceId"] for choice in ask["availableChoices"]]


async def ended(talk: Talk, turn: str, terminal: str = "completed") -> List[Dict[str, Any]]:
    """The tool calls of a turn as they ended, in the order in which they began."""
    await talk.end(turn, terminal)
    items: Dict[str, Dict[str, Any]] = {}
    for frame in talk.host.frames:
        item = frame.get("params", {}).get("item", {})
        if item.get("kind") == "toolCall" and item["turnId"] == turn:
            items[item["itemId"]] = item
    return list(items.values())


async def done(talk: Talk, action: Dict[str, Any], choice: Optional[str] = None, status: str = "completed") -> Dict[str, Any]:
    """A turn with one action, decided with `choice` or, where that is None, run without a question; returns its item."""
    if choice is None:
        turn = await talk.turn(text(action))
    else:
        ask = await talk.opened(text(action))
        turn = ask["turnId"]
        await talk.decide(talk.decision(ask, choice))
    items = await ended(talk, turn)
    asked = talk.host.seen("approval/requested", turnId=turn)
    equal((len(items), len(asked)), (1, 0 if choice is None else 1), f"items and questions of {json.dumps(action)}")
    equal(items[0]["status"], status, f"status of {json.dumps(action)} ({items[0].get('failureReason')})")
    return items[0]

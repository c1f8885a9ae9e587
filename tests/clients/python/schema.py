"""Checks a host's frame against the wire types that the official package publishes (muse_code_msp, generated).

The SDK itself validates next to nothing: a missing member surfaces as a KeyError in its read pump, as a dead host. So
every frame that our own client reads is checked here, nested members included. Unknown members are allowed (newer
hosts send them); a null where the type has none, a missing required member and a wrong type are not.
"""

from __future__ import annotations

import typing
from typing import Any, Dict, Iterator, Literal, Optional, Union

import muse_code_msp as msp

_HINTS: Dict[type, Dict[str, Any]] = {}


def params_type(method: str) -> Optional[type]:
    """The params type of a method, or None if the stable schema has none."""
    if method in ("approval/request", "approval/requested"):
        return msp.ApprovalRequestParams
    return getattr(msp, _camel(method) + "Params", None)


def result_type(method: str) -> Optional[type]:
    """The result type of a method, or None if the stable schema has none."""
    return getattr(msp, _camel(method) + "Result", None)


def problems(value: Any, wanted: Any, path: str) -> Iterator[str]:
    """Everything about `value` that the type `wanted` does not allow."""
    origin = typing.get_origin(wanted)
    if wanted is Any or wanted is object:
        return
    if wanted is None or wanted is type(None):
        if value is not None:
            yield f"{path}: must be null"
    elif origin is Literal:
        if value not in typing.get_args(wanted):
            yield f"{path}: {value!r} is none of {typing.get_args(wanted)}"
    elif _is_union(origin):
        options = typing.get_args(wanted)
        if all(list(problems(value, option, path)) for option in options):
            yield f"{path}: {value!r:.80} fits none of {options}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{path}: must be an array"
        else:
            for index, element in enumerate(value):
                yield from problems(element, typing.get_args(wanted)[0], f"{path}[{index}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{path}: must be an object"
    elif hasattr(wanted, "__required_keys__"):
        yield from _object(value, wanted, path)
    elif wanted is int:
        if not isinstance(value, int) or isinstance(value, bool):
            yield f"{path}: must be an integer, is {value!r:.80}"
    elif wanted is float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            yield f"{path}: must be a number, is {value!r:.80}"
    elif isinstance(wanted, type):
        if not isinstance(value, wanted):
            yield f"{path}: must be {wanted.__name__}, is {value!r:.80}"


def _object(value: Any, wanted: type, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: must be an object"
        return
    for name in sorted(wanted.__required_keys__ - value.keys()):  # type: ignore[attr-defined]
        yield f"{path}.{name}: missing"
    for name, hint in _hints(wanted).items():
        if name in value:
            yield from problems(value[name], hint, f"{path}.{name}")


def _hints(wanted: type) -> Dict[str, Any]:
    if wanted not in _HINTS:
        _HINTS[wanted] = typing.get_type_hints(wanted, vars(msp))
    return _HINTS[wanted]


def _is_union(origin: Any) -> bool:
    return origin is Union or getattr(origin, "__name__", "") == "UnionType"


def _camel(method: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in method.split("/"))

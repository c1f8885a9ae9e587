"""The ground under every case: the registry, the expectations, and one fresh home and workspace per case.

A case is an async function that takes an `Env`. It registers itself with `@case()` under its own name; the runner
compares the registered names with cases.txt, so that a case can neither vanish nor be skipped in silence.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, Iterator, List, Optional

WAIT_S = float(os.environ.get("PLACET_TEST_WAIT_S", "20"))
"""How long a case waits for one frame, one exit or one process to vanish."""

CASE_S = 120.0
"""The default limit of one whole case."""


@dataclass(frozen=True)
class Case:
    """One registered case."""

    name: str
    run: Callable[["Env"], Awaitable[None]]
    limit_s: float


CASES: Dict[str, Case] = {}


def case(limit_s: float = CASE_S) -> Callable[[Callable[["Env"], Awaitable[None]]], Callable[["Env"], Awaitable[None]]]:
    """Registers a case under the name of its function."""

    def register(run: Callable[["Env"], Awaitable[None]]) -> Callable[["Env"], Awaitable[None]]:
        name = run.__name__
        if name in CASES:
            raise RuntimeError(f"two cases are named {name}")
        CASES[name] = Case(name, run, limit_s)
        return run

    return register


def show(value: Any, limit: int = 1500) -> str:
    """A value for a failure message: JSON where possible, cut to a readable length."""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def check(condition: bool, expected: str, got: Any = None) -> None:
    """Fails unless `condition` holds; says what was expected and what came."""
    if not condition:
        raise AssertionError(f"expected {expected}; got {show(got)}")


def equal(got: Any, expected: Any, what: str) -> None:
    """Fails unless both values are equal. JSON types are kept apart: 1 is neither true nor 1.0."""
    if _typed(got) != _typed(expected):
        raise AssertionError(f"{what}: expected {show(expected)}; got {show(got)}")


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_typed(element) for element in value]
    return (type(value).__name__, value)


def without(value: Dict[str, Any], *names: str) -> Dict[str, Any]:
    """A copy of an object without the named members."""
    return {key: member for key, member in value.items() if key not in names}


class Env:
    """A fresh home and workspace, and every host that the case started on them.

    The components are compiled once: what the first case's host kept of them lies in every later home.
    """

    _compiled: Optional["tempfile.TemporaryDirectory[str]"] = None

    def __init__(self, placet: str, keep: bool = False) -> None:
        self.placet = placet
        self._keep = keep
        self.root = Path(tempfile.mkdtemp(prefix="placet-client-")).resolve()
        self.home = self.root / "home"  # the host of the first case has to make this folder itself
        if Env._compiled is not None:
            self.home.mkdir(mode=0o700)
            shutil.copytree(Env._compiled.name, self.home / "cache")
        self.ws = self.root / "workspace"
        self.ws.mkdir()
        self.environ = {**os.environ, "PLACET_HOME": str(self.home)}
        self.hosts: List[Any] = []

    def file(self, name: str) -> Path:
        """A path in the workspace."""
        return self.ws / name

    def lines(self, name: str) -> List[str]:
        """The lines of a workspace file; none if it does not exist. One line per execution proves exactly once."""
        path = self.file(name)
        return path.read_text().splitlines() if path.exists() else []

    def record_rows(self) -> List[str]:
        """Every row of the log, byte for byte, in a fixed order."""
        tables = self.tables()
        check("records" in tables, "a table `records` in placet.db", sorted(tables))
        return tables["records"]

    def tables(self) -> Dict[str, List[str]]:
        """The rows of every table of the database, read beside the living host."""
        database = self.home / "placet.db"
        check(database.is_file(), f"the log at {database}")
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=WAIT_S)
        try:
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: sorted(repr(row) for row in connection.execute(f'SELECT * FROM "{name}"')) for name in names}
        finally:
            connection.close()

    def files_of_home(self) -> Iterator[Path]:
        """Every regular file below the home."""
        return (path for path in sorted(self.home.rglob("*")) if path.is_file())

    def diagnosis(self) -> str:
        """What a reader of a failure needs: each host's last frames and its stderr tail."""
        return "\n".join(host.diagnosis() for host in self.hosts)

    def close(self) -> None:
        """Ends what the case left running and removes its folders."""
        for host in self.hosts:
            pid: Optional[int] = host.live_pid()
            if pid is not None:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        cache = self.home / "cache"
        if Env._compiled is None and cache.is_dir():
            Env._compiled = tempfile.TemporaryDirectory(prefix="placet-compiled-")
            shutil.copytree(cache, Env._compiled.name, dirs_exist_ok=True)
        if not self._keep:
            shutil.rmtree(self.root, ignore_errors=True)

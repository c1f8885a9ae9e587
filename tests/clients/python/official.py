"""The unmodified official client around a host: muse_code's facade, and a person who answers its questions.

Only public names of the SDK are used. The pid, which the SDK does not publish, comes from a launcher script that
writes it down and then execs the host, so that a case can send SIGKILL to exactly this process.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import shlex
import signal
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from muse_code import (
    ApprovalDecisionInput,
    ApprovalFailure,
    MuseClient,
    MuseClientOptions,
    MuseClientSpawnOptions,
    ResumeSessionOptions,
    SendUserTurnOptions,
    Session,
    StartSessionOptions,
    Turn,
    read_session_durability,
)
from muse_code.connection import Connection, MspError, spawn_msp_connection

from harness import WAIT_S, Env, check, equal

PINS = {"muse-code-sdk": "1.4.13", "muse-code-msp": "1.4.13"}
CLIENT_NAME = "placet_client_test"


def require_pins() -> None:
    """Refuses another release than the one that the contract names, and a release whose files were edited."""
    for name, wanted in PINS.items():
        package = distribution(name)
        equal(package.version, wanted, f"installed version of {name}")
        for file in package.files or []:
            if file.hash is not None and file.suffix == ".py":
                digest = hashlib.new(file.hash.mode, Path(str(file.locate())).read_bytes()).digest()
                equal(base64.urlsafe_b64encode(digest).decode().rstrip("="), file.hash.value, f"hash of {file} as published")


class Person:
    """An approval handler that the case plays by hand: it sees each question and gives each answer itself."""

    def __init__(self) -> None:
        self._asked: "asyncio.Queue[Dict[str, Any]]" = asyncio.Queue()
        self._answers: "asyncio.Queue[ApprovalDecisionInput]" = asyncio.Queue()
        self.failures: List[ApprovalFailure] = []

    async def handle(self, params: Any) -> ApprovalDecisionInput:
        """The handler given to the SDK."""
        self._asked.put_nowait(dict(params))
        return await self._answers.get()

    async def question(self) -> Dict[str, Any]:
        """The next question."""
        try:
            return await asyncio.wait_for(self._asked.get(), WAIT_S)
        except asyncio.TimeoutError:
            raise AssertionError(f"expected the SDK to ask its handler within {WAIT_S:.0f} s") from None

    def says(self, choice: str, feedback: Optional[str] = None) -> None:
        """Answers the question."""
        self._answers.put_nowait(ApprovalDecisionInput(choice_id=choice, feedback=feedback))

    def quiet(self, why: str) -> None:
        """Nothing may have been asked that the case has not taken, and no round trip may have failed."""
        check(self._asked.empty(), f"no question: {why}", self._asked.qsize())
        equal([repr(failure) for failure in self.failures], [], "failed approval round trips")


class Crowd:
    """An approval handler that holds every question until the case answers it, in whatever order."""

    def __init__(self) -> None:
        self.asked: List[Dict[str, Any]] = []
        self.failures: List[ApprovalFailure] = []
        self._answers: Dict[str, "asyncio.Future[ApprovalDecisionInput]"] = {}
        self._news = asyncio.Event()

    async def handle(self, params: Any) -> ApprovalDecisionInput:
        """The handler given to the SDK."""
        answer: "asyncio.Future[ApprovalDecisionInput]" = asyncio.get_running_loop().create_future()
        self._answers[params["approvalId"]] = answer
        self.asked.append(dict(params))
        self._news.set()
        return await answer

    async def questions(self, count: int) -> List[Dict[str, Any]]:
        """Waits until so many questions were asked in all."""
        while len(self.asked) < count:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), WAIT_S)
            except asyncio.TimeoutError:
                raise AssertionError(f"expected {count} questions; {len(self.asked)} were asked") from None
        return self.asked

    def says(self, ask: Dict[str, Any], choice: str) -> None:
        """Answers one question."""
        self._answers[ask["approvalId"]].set_result(ApprovalDecisionInput(choice_id=choice, feedback=None))


class Official:
    """One host process under the official client."""

    def __init__(self, env: Env, client: "MuseClient[Any]", pid: int) -> None:
        self.env = env
        self.client = client
        self.pid = pid
        self.over = False
        self.connection: Optional[Connection] = None

    @classmethod
    async def spawn(cls, env: Env) -> "Official":
        """Spawns `placet serve` through MuseClient.spawn on the home of the case."""
        launcher, pid_file, spare = cls._launcher(env)
        client = await asyncio.wait_for(
            MuseClient.spawn(
                MuseClientSpawnOptions(
                    muse_bin=str(launcher),
                    client_info={"name": CLIENT_NAME, "version": "1"},
                    args=["serve"],
                    cwd=str(env.root),
                    env=env.environ,
                    on_stderr=spare.said.append,
                    shutdown_timeout_ms=10_000,
                )
            ),
            WAIT_S,
        )
        spare.host = cls(env, client, int(pid_file.read_text()))
        return spare.host

    @classmethod
    async def spawn_open(cls, env: Env) -> "Official":
        """The same over the SDK's own connection, kept for commands for which its facade has no method."""
        launcher, pid_file, spare = cls._launcher(env)
        handshake = await asyncio.wait_for(
            spawn_msp_connection(str(launcher), args=("serve",), cwd=str(env.root), env=env.environ,
                                 on_stderr=spare.said.append, shutdown_timeout_ms=10_000), WAIT_S)
        spawned = await asyncio.wait_for(handshake.initialize({"clientInfo": {"name": CLIENT_NAME, "version": "1"}}), WAIT_S)
        durability = read_session_durability(spawned.initialize_result)
        client = MuseClient(spawned.connection, MuseClientOptions(durability=durability, host=spawned))
        spare.host = cls(env, client, int(pid_file.read_text()))
        spare.host.connection = spawned.connection
        return spare.host

    async def ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """A read over the SDK's connection."""
        assert self.connection is not None
        return dict(await asyncio.wait_for(self.connection.request(method, params), WAIT_S))

    async def command(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """A command over the SDK's connection, which mints its id, checks the echo and retries what is retryable."""
        assert self.connection is not None
        return dict(await asyncio.wait_for(self.connection.command(method, params), WAIT_S))

    @staticmethod
    def _launcher(env: Env) -> Any:
        number = len(env.hosts) + 1
        pid_file, launcher = env.root / f"pid-{number}", env.root / f"launch-{number}.sh"
        launcher.write_text(f"#!/bin/sh\necho $$ > {shlex.quote(str(pid_file))}\nexec {shlex.quote(env.placet)} \"$@\"\n")
        launcher.chmod(0o700)
        spare = _Spare(pid_file, [], f"official client {number}")
        env.hosts.append(spare)
        return launcher, pid_file, spare

    async def start(self, person: Union[Person, Crowd], mode: Optional[str] = None) -> "Session[Any]":
        """start_session in the workspace, with the person's handler."""
        session = await asyncio.wait_for(
            self.client.start_session(StartSessionOptions(workspace_root=str(self.env.ws), approval_mode=mode)), WAIT_S
        )
        session.on_approval(person.handle)
        session.on_approval_error(person.failures.append)
        return session

    async def resume(self, person: Person, session_id: str) -> "Session[Any]":
        """resume_session with the handler in the options: the only way to hear a re-asked approval."""
        options = ResumeSessionOptions(
            session_id=session_id, on_approval=person.handle, on_approval_error=person.failures.append
        )
        return await asyncio.wait_for(self.client.resume_session(options), WAIT_S)

    def kill(self) -> None:
        """SIGKILL to the host process."""
        os.kill(self.pid, signal.SIGKILL)

    async def killed(self) -> None:
        """Waits until the SDK has seen the death and says so."""
        row = await asyncio.wait_for(_as_coroutine(self.client.exit), WAIT_S)
        equal((row.kind, row.exit_signal), ("crash", "SIGKILL"), "the SDK's classification of the killed host")
        self.over = True

    async def close(self) -> None:
        """close(); the SDK must classify the exit as a clean shutdown, which means exit code 0."""
        await asyncio.wait_for(self.client.close(), 2 * WAIT_S)
        row = await asyncio.wait_for(_as_coroutine(self.client.exit), WAIT_S)
        equal(row.kind, "cleanShutdown", f"the SDK's classification of the exit ({row})")
        self.over = True


class _Spare:
    """What Env needs of a host that the SDK owns, also when the handshake never ended."""

    def __init__(self, pid_file: Any, said: List[str], label: str) -> None:
        self.host: Any = None
        self.said = said
        self._pid_file, self._label = pid_file, label

    def live_pid(self) -> Optional[int]:
        if self.host is not None and self.host.over or not self._pid_file.exists():
            return None
        return int(self._pid_file.read_text() or 0) or None

    def diagnosis(self) -> str:
        return f"  {self._label}; stderr tail:\n{''.join(self.said)[-4000:]}"


async def _as_coroutine(awaitable: Any) -> Any:
    return await awaitable


async def say(session: "Session[Any]", text: str) -> Turn:
    """send_user_turn with one text part."""
    return await asyncio.wait_for(
        session.send_user_turn(SendUserTurnOptions(input=[{"type": "text", "text": text}])), WAIT_S
    )


async def end(turn: Turn, terminal: str = "completed") -> None:
    """Waits until the turn settles with this terminal."""
    try:
        outcome = await asyncio.wait_for(_as_coroutine(turn.completed), WAIT_S)
    except asyncio.TimeoutError:
        raise AssertionError(f"expected turn {turn.turn_id} to end within {WAIT_S:.0f} s") from None
    equal(outcome.kind, "completed", f"how the SDK settled turn {turn.turn_id}")
    equal(outcome.params["terminal"], terminal, f"terminal of turn {turn.turn_id}")


async def tool_item(turn: Turn, status: str) -> Dict[str, Any]:
    """The latest state of the only tool call of a settled turn."""
    calls: Dict[str, Dict[str, Any]] = {}
    async for item in turn.items():
        if item.get("kind") == "toolCall":
            calls[str(item["itemId"])] = dict(item)
    equal(len(calls), 1, f"tool calls of turn {turn.turn_id}")
    item = next(iter(calls.values()))
    equal(item["status"], status, f"status of the tool call ({item.get('failureKind')})")
    return item


def resolved_of(session: "Session[Any]", approval_id: str) -> Dict[str, Any]:
    """The terminal that the SDK's fold holds for an approval."""
    found = [params for params in session.fold.resolved_approvals() if params["approvalId"] == approval_id]
    equal(len(found), 1, f"terminals of {approval_id} in the SDK's fold")
    return dict(found[0])


async def refused(what: str, attempt: Any, code: int, reason: str) -> None:
    """An attempt that the SDK must report as this typed refusal."""
    try:
        done = await asyncio.wait_for(attempt, WAIT_S)
    except MspError as error:
        equal((error.code, error.kind, error.data.get("reason")), (code, "commandRejected", reason), f"the refusal of {what}")
    else:
        raise AssertionError(f"expected {what} to be refused; got {done}")

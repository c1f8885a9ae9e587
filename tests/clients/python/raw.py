"""A small client of our own: NDJSON JSON-RPC over a host's pipes, for what the official SDK cannot express.

It keeps every inbound frame in arrival order, checks each against the envelope rules and the published wire types, and
waits for frames instead of sleeping. One violation fails the next step of the case.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
import uuid
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import schema
from harness import WAIT_S, Env, check, equal, show, without

FRAME_LIMIT = 10 * 1024 * 1024
CLIENT_NAME = "raw_client"


def new_command_id() -> str:
    """A fresh UUIDv7: the client mints command ids, never the host."""
    milliseconds = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80 | tail
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


class Frame(Dict[str, Any]):
    """One inbound frame, its place in the order of arrival, and its line as it came."""

    pos: int = -1
    raw: str = ""


class RawHost:
    """One host process and the one connection to it."""

    def __init__(self, env: Env, process: asyncio.subprocess.Process, receipts: bool) -> None:
        self.env = env
        self.process = process
        self.receipts = receipts
        self.frames: List[Frame] = []
        self.violations: List[str] = []
        self.label = f"raw host {len(env.hosts) + 1} (pid {process.pid})"
        self._methods: Dict[Any, str] = {}
        self._next_id = 0
        self._last_server_id = 0
        self._stderr = bytearray()
        self._news = asyncio.Event()
        self._ended = False
        self._readers = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._drain_stderr())]
        env.hosts.append(self)

    @classmethod
    async def spawn(cls, env: Env, *, handshake: bool = True, receipts: bool = True, args: Sequence[str] = ()) -> "RawHost":
        """Starts a host on the home of the case; by default through the handshake."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            env.placet, "serve", *args, stdin=pipe, stdout=pipe, stderr=pipe, env=env.environ, cwd=env.root,
            limit=4 * FRAME_LIMIT, start_new_session=True,
        )
        host = cls(env, process, receipts)
        if handshake:
            await host.handshake()
        return host

    async def handshake(self) -> Dict[str, Any]:
        """initialize, then initialized."""
        result = await self.call("initialize", {"clientInfo": {"name": CLIENT_NAME, "version": "1"}})
        self.notify("initialized")
        return result

    # ---- out ------------------------------------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        """Writes bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, frame: Dict[str, Any]) -> None:
        """Writes one frame."""
        self.send_bytes(json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Sends a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def begin(self, method: str, params: Optional[Dict[str, Any]] = None, id: Any = None) -> Any:
        """Sends a request and returns its id, without waiting."""
        request_id = self.claim_id(method) if id is None else id
        self._methods[request_id] = method
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, **({} if params is None else {"params": params})})
        return request_id

    def claim_id(self, method: str) -> int:
        """The next request id, for a frame that the case writes itself."""
        self._next_id += 1
        self.sent(self._next_id, method)
        return self._next_id

    def sent(self, request_id: Any, method: str) -> None:
        """Notes whose answer an id will name, for a frame that the case writes itself with an id of its own."""
        self._methods[request_id] = method
        if type(request_id) is int:
            self._next_id = max(self._next_id, request_id)

    # ---- in -------------------------------------------------------------------------------------------------------

    async def wait(self, what: str, match: Callable[[Frame], bool], after: int = -1) -> Frame:
        """The first frame behind position `after` that matches."""
        deadline = time.monotonic() + WAIT_S
        position = after + 1
        while True:
            if self.violations:
                raise AssertionError(f"the host broke the protocol: {'; '.join(self.violations[:5])}")
            while position < len(self.frames):
                if match(self.frames[position]):
                    return self.frames[position]
                position += 1
            if self._ended:
                raise AssertionError(f"expected {what}; the host closed its stdout")
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), deadline - time.monotonic())
            except asyncio.TimeoutError:
                raise AssertionError(f"expected {what} within {WAIT_S:.0f} s; {self.diagnosis()}") from None

    async def answer(self, request_id: Any) -> Frame:
        """The response to a request: the id must come back with its type."""
        what = f"the answer to request {request_id!r} ({self._methods.get(request_id)})"
        return await self.wait(what, lambda f: "method" not in f and type(f.get("id")) is type(request_id) and f["id"] == request_id)

    async def call(self, method: str, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """A request that must succeed."""
        return self.result(await self.answer(self.begin(method, params)), method)

    def result(self, frame: Frame, what: str) -> Dict[str, Any]:
        """The result of a response that must be a success."""
        check("result" in frame, f"{what} to succeed", frame.get("error"))
        return frame["result"]

    async def refused(self, method: str, params: Optional[Dict[str, Any]], code: int, data: Dict[str, Any]) -> None:
        """A request that must fail with this code and exactly these data members."""
        self.is_error(await self.answer(self.begin(method, params)), code, data, method)

    def is_error(self, frame: Frame, code: int, data: Dict[str, Any], what: str) -> None:
        """A response must be this error. `retryable` may be left out; where sent it must be false."""
        check("error" in frame, f"{what} to be refused with {code} {data.get('kind')}", frame.get("result"))
        error = frame["error"]
        equal(error["code"], code, f"error code of {what} ({show(error)})")
        equal(error["data"].get("retryable", False), False, f"retryable of {what}")
        equal(without(error["data"], "retryable"), data, f"error data of {what}")

    def seen(self, method: str, after: int = -1, **members: Any) -> List[Frame]:
        """The frames so far with this method and these params members."""
        return [f for f in self.frames[after + 1:] if f.get("method") == method and _has(f, members)]

    async def event(self, method: str, after: int = -1, **members: Any) -> Frame:
        """The first frame with this method and these params members."""
        what = f"{method} with {show(members)}"
        return await self.wait(what, lambda f: f.get("method") == method and _has(f, members), after)

    # ---- the end --------------------------------------------------------------------------------------------------

    async def kill(self) -> None:
        """SIGKILL, and the process is reaped when this returns."""
        self.process.send_signal(signal.SIGKILL)
        await asyncio.wait_for(self.process.wait(), WAIT_S)

    async def close(self) -> int:
        """EOF on stdin; the exit code, after everything the host still said has been read."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), WAIT_S)
        await asyncio.wait_for(asyncio.gather(*self._readers), WAIT_S)
        check(not self.violations, "no breach of the protocol up to the end", self.violations)
        return code

    def stop_reading(self) -> None:
        """Drops our end of the host's stdout: everything that it writes from now on fails with EPIPE."""
        pipe = self.process._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        pipe.close()

    def live_pid(self) -> Optional[int]:
        """The pid while the process has not been reaped."""
        return self.process.pid if self.process.returncode is None else None

    def diagnosis(self) -> str:
        """The last frames and the stderr tail."""
        frames = "\n".join(f"    {show(frame, 400)}" for frame in self.frames[-12:])
        tail = bytes(self._stderr[-4000:]).decode(errors="replace")
        return f"  {self.label}, exit {self.process.returncode}; last frames:\n{frames}\n  stderr tail:\n{tail}"

    async def _drain_stderr(self) -> None:
        assert self.process.stderr is not None
        while chunk := await self.process.stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-65536]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            while line := await self.process.stdout.readline():
                self._take(line)
                self._news.set()
        except (ValueError, ConnectionError) as error:
            self.violations.append(f"stdout: {error}")
        self._ended = True
        self._news.set()

    def _take(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            return  # a frame cut short by SIGKILL was never sent
        if len(line) > FRAME_LIMIT + 1:
            self.violations.append(f"a frame of {len(line)} bytes")
        try:
            frame = Frame(json.loads(line.decode("utf-8")))
        except (ValueError, TypeError) as error:
            self.violations.append(f"not one JSON object in UTF-8: {line[:200]!r} ({error})")
            return
        frame.pos, frame.raw = len(self.frames), line[:-1].decode("utf-8")
        self.frames.append(frame)
        if b"\r" in line:
            self.violations.append("a CR in a frame")
        self.violations.extend(f"{problem} in {show(frame, 300)}" for problem in self._problems(frame))
        if self.receipts and "method" in frame and "id" in frame:
            self.send({"jsonrpc": "2.0", "id": frame["id"], "result": {}})

    def _problems(self, frame: Frame) -> List[str]:
        found = [] if frame.get("jsonrpc") == "2.0" else ["jsonrpc is not 2.0"]
        method = frame.get("method")
        if method is not None:
            if "id" in frame:
                server_id = frame["id"]
                if type(server_id) is not int or server_id <= self._last_server_id:
                    found.append(f"server request id {server_id!r} after {self._last_server_id}")
                else:
                    self._last_server_id = server_id
            elif type(frame.get("emittedAtMs", 0)) is not int:
                found.append("emittedAtMs is no integer")
            wanted, body = schema.params_type(method), frame.get("params")
        else:
            if ("result" in frame) == ("error" in frame) or "id" not in frame:
                found.append("not exactly one of result and error, with an id")
            wanted, body = schema.result_type(self._methods.get(frame.get("id"), "")), frame.get("result")
            error = frame.get("error")
            if error is not None:
                data = error.get("data")
                if type(error.get("code")) is not int or not isinstance(error.get("message"), str):
                    found.append("error without code and message")
                if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
                    found.append("error without data.kind: both SDKs treat it as a protocol violation")
                return found
            if not isinstance(body, dict):
                found.append("result is no object")
        return found + ([] if wanted is None else list(schema.problems(body, wanted, method or "result")))


def _has(frame: Frame, members: Dict[str, Any]) -> bool:
    params = frame.get("params") or {}
    return all(name in params and params[name] == value for name, value in members.items())


def cursor(text: str) -> Tuple[int, int]:
    """Our cursors are a decimal sequence, with `.n` for ephemeral events behind it."""
    sequence, _, rest = text.partition(".")
    check(sequence.isdigit() and (not rest or rest.isdigit()), "a cursor like 12 or 12.3", text)
    return int(sequence), int(rest or 0)

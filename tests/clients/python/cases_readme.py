"""What the README tells a newcomer to do with the official client: it works as printed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from harness import WAIT_S, Env, case, check, equal

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "approve.py"


async def example(env: Env, command: str, typed: str) -> str:
    """The output of the example when a person types this."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLE), env.placet, command, cwd=env.ws, env=env.environ,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    output, _ = await asyncio.wait_for(process.communicate(typed.encode()), WAIT_S)
    equal(process.returncode, 0, f"exit status of the example, which said {output.decode()}")
    return output.decode()


@case()
async def readme_example(env: Env) -> None:
    """Allowed by its number the command runs and its output is shown; rejected it does not run."""
    output = await example(env, "printf seen > made.txt; cat made.txt", "1\n")
    check("completed seen" in output and "turn completed" in output, "the output of the command", output)
    output = await example(env, "touch never.txt", "4\n")
    check("rejected approval aborted" in output and "turn completed" in output, "the rejection", output)
    check(not env.file("never.txt").exists(), "a rejected command not to run")

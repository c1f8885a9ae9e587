"""Runs the real-client cases against a `placet` binary: the official Python SDK, and a raw client for the rest.

    run.py --placet PATH [--only NAME ...] [--timeout SECONDS] [--keep] [--list]

One line per case (`ok NAME  SECONDS` or `FAILED NAME` with the reason), then `N passed, M failed` alone on a line. Exit
code 1 if any case failed or the cases differ from cases.txt, 2 for a usage error.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import sys
import time
import traceback
from pathlib import Path
from typing import List

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import CASES, Case, Env  # noqa: E402
from official import require_pins  # noqa: E402
from raw import RawHost  # noqa: E402
import scenarios  # noqa: E402, F401

NAMES = Path(__file__).resolve().parent / "cases.txt"


def listed_names() -> List[str]:
    """The names that cases.txt promises."""
    return [line.strip() for line in NAMES.read_text().splitlines() if line.strip() and not line.startswith("#")]


def drift() -> List[str]:
    """How cases.txt and the registered cases differ."""
    names = listed_names()
    found = [f"cases.txt lists {name} twice" for name in sorted(set(names)) if names.count(name) > 1]
    found += [f"cases.txt lists {name}, which no module registers" for name in sorted(set(names) - set(CASES))]
    return found + [f"{name} is registered but not listed in cases.txt" for name in sorted(set(CASES) - set(names))]


async def within(case: Case, env: Env, limit_s: float) -> None:
    """One case within its limit; raw hosts that it left alive are reaped while the loop still runs."""
    try:
        await asyncio.wait_for(case.run(env), limit_s)
    finally:
        for host in env.hosts:
            if isinstance(host, RawHost) and host.live_pid() is not None:
                await host.kill()


def run_case(case: Case, placet: str, keep: bool, limit_s: float) -> bool:
    """Runs one case in a fresh home and workspace; prints its line."""
    env, begin = Env(placet, keep), time.monotonic()
    try:
        asyncio.run(within(case, env, limit_s))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever ends a case is its failure
        took = time.monotonic() - begin
        print(f"FAILED {case.name}\n  after {took:.2f} s{', its limit' if took >= limit_s else ''}", flush=True)
        print("".join(traceback.format_exception(type(error), error, error.__traceback__)), end="")
        print(env.diagnosis(), flush=True)
        return False
    finally:
        env.close()
    print(f"ok {case.name}  {time.monotonic() - begin:.2f}", flush=True)
    return True


def main() -> int:
    """Parses the arguments and runs the cases."""
    parser = argparse.ArgumentParser(description="real-client cases against a placet binary")
    parser.add_argument("--placet", help="the binary to test")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run this case only; may be repeated")
    parser.add_argument("--timeout", type=float, default=1200, help="limit of the whole run in seconds")
    parser.add_argument("--keep", action="store_true", help="keep the homes and workspaces")
    parser.add_argument("--list", action="store_true", help="print the names and exit")
    args = parser.parse_args()
    wrong = drift()
    for line in wrong:
        print(f"FAILED cases.txt: {line}")
    if args.list:
        print("\n".join(CASES))
        return 1 if wrong else 0
    unknown = [name for name in args.only if name not in CASES]
    if unknown or not args.placet or not Path(args.placet).is_file():
        print(f"no such case: {', '.join(unknown)}" if unknown else f"--placet: no binary at {args.placet}", file=sys.stderr)
        return 2
    require_pins()
    faulthandler.dump_traceback_later(args.timeout + 60, exit=True)  # a case that even cancellation cannot end
    deadline = time.monotonic() + args.timeout
    passed, failed = 0, 0
    for case in [CASES[name] for name in listed_names() if name in CASES and (not args.only or name in args.only)]:
        left = deadline - time.monotonic()
        if left <= 0:
            print(f"FAILED {case.name}\n  not started: the run took longer than {args.timeout:.0f} s")
            failed += 1
        elif run_case(case, str(Path(args.placet).resolve()), args.keep, min(case.limit_s, left)):
            passed += 1
        else:
            failed += 1
    failed += len(wrong)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

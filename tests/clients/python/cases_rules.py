"""Rules in placet.toml: in force for the next action, and for what is pending when they change."""

from __future__ import annotations

import asyncio

from harness import Env, case, check, equal
from raw import RawHost
from talk import Talk

ALLOW = '[[rule]]\nid = "makes"\neffect = "allow"\nshell = ["touch"]\n'
DENY = '[[rule]]\nid = "no-touch"\neffect = "deny"\nshell = ["touch"]\nmessage = "not here"\n'


def _write(env: Env, text: str) -> None:
    env.home.mkdir(mode=0o700, exist_ok=True)  # the host of the first case has not made it yet
    (env.home / "placet.toml").write_text(text)


@case()
async def rules_reload(env: Env) -> None:
    """A rule counts from the next action on; one that denies closes what is pending, and the late decide is told who won."""
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    _write(env, ALLOW)
    await talk.run("touch free.txt")
    _write(env, "")
    ask = await talk.opened("touch asked.txt")
    _write(env, ALLOW)
    await asyncio.sleep(1.5)  # long enough for the host to have looked; nothing is allowed by that
    equal(await talk.pending(), [ask], "what was pending when a rule came that allows it")
    _write(env, DENY)
    event = (await host.event("approval/resolved", approvalId=ask["approvalId"]))["params"]
    equal((event["decision"], event["resolvedBy"]), ("denied", "policy"), "how the rule closed it")
    item = await talk.item(ask["turnId"], "rejected")
    equal(item.get("failureKind"), "approvalDenied", "failureKind of what a rule denies")
    late = await host.answer(host.begin("approval/decide", talk.decision(ask, "allow_once")))
    equal(late.get("error", {}).get("code"), -32051, "the late decide")
    turn = await talk.turn("touch later.txt")
    equal((await talk.item(turn, "rejected")).get("failureKind"), "approvalDenied", "the next action under the rule")
    await talk.end(turn)
    check(env.file("free.txt").exists() and not env.file("asked.txt").exists(), "only what was allowed to have run")
    equal(await host.close(), 0, "exit code")


@case()
async def rules_broken(env: Env) -> None:
    """A rule file with an error allows nothing while a host runs, and says so."""
    _write(env, ALLOW)
    host = await RawHost.spawn(env)
    talk = await Talk.start(host)
    await talk.run("touch free.txt")
    _write(env, ALLOW + '[[rule]]\neffect = "allow"\nshel = ["rm"]\n')
    ask = await talk.opened("touch asked.txt")
    equal(ask["subject"]["stages"][0]["resolution"], {"kind": "unresolved"}, "a stage under a broken rule file")
    await talk.decide(talk.decision(ask, "abort"))
    await talk.end(ask["turnId"])
    equal(await host.close(), 0, "exit code")

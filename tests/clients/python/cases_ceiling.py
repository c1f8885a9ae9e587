"""The ceiling, 4 x 4, at the start and at every change: the seal bounds, never the mode that is held."""

from __future__ import annotations

from typing import Dict, List, Tuple

from harness import Env, case, equal
from official import Official, Person, end, refused, say, tool_item
from raw import RawHost, new_command_id
from talk import Talk

MODES = ("allowAll", "promptUnmatched", "onRequest", "denyUnmatched")
BELOW: Dict[str, Tuple[str, ...]] = {
    # the seal and what may be selected under it; onRequest is beside the other two, not above or below them
    "allowAll": MODES,
    "promptUnmatched": ("promptUnmatched", "denyUnmatched"),
    "onRequest": ("onRequest",),
    "denyUnmatched": ("denyUnmatched",),
}
CEILING = "approval_mode_ceiling"


def _configure(env: Env, text: str) -> None:
    env.home.mkdir(mode=0o700, exist_ok=True)
    (env.home / "placet.toml").write_text(text)


async def _held(talk: Talk) -> str:
    return (await talk.host.call("session/read", {"sessionId": talk.id}))["session"]["approvalMode"]["mode"]


async def _set(talk: Talk, mode: str, allowed: bool, what: str) -> None:
    """A change that must succeed or be refused at the ceiling; a refusal writes nothing and changes nothing."""
    params = {"sessionId": talk.id, "commandId": new_command_id(), "mode": mode}
    if allowed:
        equal((await talk.host.call("session/setApprovalMode", params))["effectiveMode"]["mode"], mode, what)
        return
    held, rows = await _held(talk), talk.host.env.record_rows()
    data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": CEILING}
    await talk.host.refused("session/setApprovalMode", params, -32030, data)
    equal((await _held(talk), talk.host.env.record_rows()), (held, rows), f"nothing changed: {what}")


async def _starts(host: RawHost, allowed: Tuple[str, ...], default: str) -> None:
    """session/start in each mode and in none, under one seal of the listener."""
    for mode in MODES:
        params = {"commandId": new_command_id(), "workspaceRoot": str(host.env.ws), "approvalMode": mode}
        if mode in allowed:
            session = (await host.call("session/start", params))["session"]
            equal(session["approvalMode"], {"mode": mode, "source": "startup", "lastCommandId": None}, f"started in {mode}")
        else:
            data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": CEILING}
            await host.refused("session/start", params, -32030, data)
    started = await Talk.start(host)
    equal(await _held(started), default, "the mode of a start that names none")


@case()
async def ceiling_at_start(env: Env) -> None:
    """Seal of the listener x starting mode; a start that names no mode takes promptUnmatched or the lower seal."""
    for seal in MODES:
        _configure(env, f'[authority]\nstdio = "{seal}"\n')
        host = await RawHost.spawn(env)
        await _starts(host, BELOW[seal], "promptUnmatched" if seal == "allowAll" else seal)
        equal(len((await host.call("session/list", {}))["sessions"]), (len(BELOW[seal]) + 1) + _made_before(seal),
              "a refused start makes no session")
        equal(await host.close(), 0, "exit code")


def _made_before(seal: str) -> int:
    return sum(len(BELOW[earlier]) + 1 for earlier in MODES[:MODES.index(seal)])


@case()
async def ceiling_at_change(env: Env) -> None:
    """Starting mode x wanted mode x mode held: what is held now, be it narrower, never counts."""
    host = await RawHost.spawn(env)
    sessions: Dict[str, str] = {}
    for seal in MODES:
        talk = await Talk.start(host, seal)
        sessions[seal] = talk.id
        for held in BELOW[seal]:
            for wanted in MODES:
                await _set(talk, held, True, f"sealed at {seal}, narrowed to {held}")
                await _set(talk, wanted, wanted in BELOW[seal], f"sealed at {seal}, holding {held}, to {wanted}")
        await _set(talk, seal, True, f"back up to {seal}")
    await host.kill()

    host = await RawHost.spawn(env)
    for seal, session in sessions.items():  # the seal is in the log: a restart widens nothing
        talk = await Talk.resume(host, session)
        for wanted in MODES:
            await _set(talk, wanted, wanted in BELOW[seal], f"sealed at {seal}, after a restart, to {wanted}")
    equal(await host.close(), 0, "exit code")


@case()
async def ceiling_of_a_lower_host(env: Env) -> None:
    """After a restart the lower of the old seal and today's counts; where they have nothing in common, nothing does."""
    first = await RawHost.spawn(env)
    lower = MODES[1:]
    sessions = {(today, seal): (await Talk.start(first, seal)).id for today in lower for seal in MODES}
    equal(await first.close(), 0, "exit code")
    for today in lower:
        _configure(env, f'[authority]\nstdio = "{today}"\n')
        host = await RawHost.spawn(env)
        for seal in MODES:
            talk = await Talk.resume(host, sessions[today, seal])
            for wanted in MODES:
                common = wanted in BELOW[today] and wanted in BELOW[seal]
                await _set(talk, wanted, common, f"sealed at {seal}, today at {today}, to {wanted}")
            turn = await talk.turn("touch never.txt")  # the last mode that it could take, or none at all, denies this
            await talk.item(turn, "rejected")
            await talk.end(turn)
        equal(await host.close(), 0, "exit code")
    _configure(env, "")
    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, sessions["promptUnmatched", "allowAll"])
    await _set(talk, "allowAll", False, "a seal that came down stays down")
    await _set(talk, "promptUnmatched", True, "what the lower host allowed")
    equal(await host.close(), 0, "exit code")
    equal(env.file("never.txt").exists(), False, "what every one of them denied")


@case()
async def modes_withheld(env: Env) -> None:
    """Withheld modes cannot be selected by anybody: the user's file for all sessions, a workspace's for its own."""
    _configure(env, '[authority]\nwithhold = ["allowAll"]\n')
    env.file("placet.toml").write_text('[authority]\nwithhold = ["onRequest", "promptUnmatched"]\n')
    plain = env.root / "plain"
    plain.mkdir()
    host = await RawHost.spawn(env)
    for workspace, allowed in ((plain, MODES[1:]), (env.ws, MODES[3:])):
        for mode in MODES:
            params = {"commandId": new_command_id(), "workspaceRoot": str(workspace), "approvalMode": mode}
            if mode in allowed:
                await host.call("session/start", params)
            else:
                data = {"kind": "commandRejected", "commandId": params["commandId"], "reason": CEILING}
                await host.refused("session/start", params, -32030, data)
    talk = await Talk.start(host, "promptUnmatched", workspaceRoot=str(plain))
    (plain / "placet.toml").write_text('[authority]\nwithhold = ["denyUnmatched"]\n')
    await _set(talk, "denyUnmatched", True, "what was withheld after the load counts from the next load on")
    equal(await host.close(), 0, "exit code")
    host = await RawHost.spawn(env)
    talk = await Talk.resume(host, talk.id)
    await _set(talk, "promptUnmatched", True, "not withheld")
    await _set(talk, "denyUnmatched", False, "withheld")
    equal(await host.close(), 0, "exit code")


@case()
async def ceiling_official(env: Env) -> None:
    """The same matrix through the official SDK: typed refusals at the start and at the change, and what binds next."""
    for seal in MODES[1:]:
        _configure(env, f'[authority]\nstdio = "{seal}"\n')
        host = await Official.spawn(env)
        for mode in MODES:
            if mode not in BELOW[seal]:
                await refused(f"a start in {mode} under {seal}", host.start(Person(), mode), -32030, CEILING)
            else:
                await host.start(Person(), mode)
        await host.close()
    _configure(env, "")
    host = await Official.spawn_open(env)
    for seal in MODES:
        person = Person()
        session = await host.start(person, seal)
        outcomes: List[str] = []
        for wanted in (*MODES, seal, seal):
            change = host.command("session/setApprovalMode", {"sessionId": session.session_id, "mode": wanted})
            if wanted in BELOW[seal]:
                outcomes.append((await change)["applyOutcome"])
            else:
                await refused(f"{seal} to {wanted}", change, -32030, CEILING)
        equal(outcomes[-1], "noop", "the same mode again")
        changed = session.fold.session_state.get("session/approvalModeChanged")
        equal(changed and changed["mode"], seal if "completed" in outcomes else None, "the mode in the SDK's fold")
        turn = await say(session, "touch bound.txt")
        if seal == "promptUnmatched":
            await person.question()
            person.says("abort")
        await end(turn)
        await tool_item(turn, "completed" if seal == "allowAll" else "rejected")
        person.quiet(f"nobody else is asked under {seal}")
    await host.close()

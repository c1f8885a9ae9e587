"""What a path makes of a command that would otherwise run unasked."""

from __future__ import annotations

from harness import Env, case, check, equal
from official import Official, Person, end, say, tool_item


@case()
async def credential_read_is_asked(env: Env) -> None:
    """A command that only reads runs unasked, but not where it would print a credential; no lasting choice then."""
    env.file(".env").write_text("TOKEN=1\n")
    env.file("notes").write_text("plain\n")
    host, person = await Official.spawn(env), Person()
    session = await host.start(person)
    turn = await say(session, "cat notes")
    await end(turn)
    await tool_item(turn, "completed")
    person.quiet("reading an ordinary file is known to be safe")

    turn = await say(session, "cat notes .env")
    ask = await person.question()
    equal(ask["protectedWrite"], True, "protectedWrite")
    equal([choice["choiceId"] for choice in ask["availableChoices"]], ["allow_once", "abort"], "the menu")
    person.says("abort")
    await end(turn)
    await tool_item(turn, "rejected")
    await host.close()


@case()
async def own_files_are_denied(env: Env) -> None:
    """Placet's own files are refused in every mode, also through a link, and nobody is asked."""
    env.file("link").symlink_to(env.home)
    host, person = await Official.spawn(env), Person()
    session = await host.start(person, "allowAll")
    for command in (f"cat {env.home}/placet.db", "cp link/home.key stolen", f"x=$(cat {env.home}/home.key)"):
        turn = await say(session, command)
        await end(turn)
        item = await tool_item(turn, "rejected")
        equal(item.get("failureKind"), "approvalDenied", f"failureKind of {command}")
        check("belongs to Placet" in str(item.get("failureReason")), "a reason that says whose it is", item)
    person.quiet("what is Placet's own is never asked about")
    check(not env.file("stolen").exists(), "the key not to be copied")
    await host.close()

"""Run one shell command under Placet with the official Python client, and decide at the terminal.

    python examples/approve.py target/debug/placet 'date > now.txt; cat now.txt'
"""

import asyncio
import os
import sys

from muse_code import (
    ApprovalDecisionInput,
    MuseClient,
    MuseClientSpawnOptions,
    SendUserTurnOptions,
    StartSessionOptions,
)


async def decide(request):
    """Show what is asked, and take a number of the menu. Whatever is no number decides nothing."""
    for stage in request["subject"].get("stages", []):
        print("  stage", stage["position"], stage["argv"], stage["resolution"]["kind"])
    menu = request["availableChoices"]
    for number, choice in enumerate(menu, 1):
        print(f"  {number}. {choice['label']}  {choice.get('rulePreview', '')}")
    print("your choice: ", end="", flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    return ApprovalDecisionInput(choice_id=menu[int(answer) - 1]["choiceId"])


async def main(placet, command):
    client = await MuseClient.spawn(
        MuseClientSpawnOptions(
            muse_bin=placet, args=["serve"], client_info={"name": "example", "version": "1"}
        )
    )
    session = await client.start_session(StartSessionOptions(workspace_root=os.getcwd()))
    session.on_approval(decide)
    print("may this run?", command)
    turn = await session.send_user_turn(
        SendUserTurnOptions(input=[{"type": "text", "text": command}])
    )
    done = await turn.completed
    async for item in turn.items():
        if item.get("kind") == "toolCall" and item["status"] != "inProgress":
            print(item["status"], item.get("visibleOutput", item.get("failureReason", "")))
    print("turn", done.params["terminal"])
    await client.close()


asyncio.run(main(os.path.abspath(sys.argv[1]), sys.argv[2]))

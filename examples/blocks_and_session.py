"""A loop with tools: the agent edits its blocks by calls, is corrected where a call is wrong, and a long conversation
stays within its limit. The model is scripted, so that this runs anywhere; put your own in its place."""

import tempfile
from collections.abc import Iterator
from typing import Any

from agent_memory import AgentMemory

SCRIPT = [
    ("blocks_append", {"label": "human", "text": "Lives in Lisbon"}),
    ("blocks_replace", {"label": "human", "old": "a", "new": "o"}),  # a mistake: which "a"?
    ("blocks_append", {"label": "human", "text": "Allergic to nuts"}),
]


def model(messages: list[dict[str, str]], tools: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What your model would call, having read these messages and schemas."""
    assert messages and tools
    yield from SCRIPT


with tempfile.TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
    memory.blocks.set("persona", "You plan trips. Be brief.", read_only=True)
    memory.blocks.set("human", "Name: Ada", limit=200)
    session = memory.session(limit_tokens=1000)
    session.add("user", "I am allergic to nuts. I live in Lisbon.")

    for name, arguments in model(session.render().messages, memory.tools("openai")):
        answer = memory.run_tool(name, arguments)
        if not answer["ok"]:
            print(f"{name} failed: {answer['error']['message']}")
    print("human:", memory.blocks.get("human").text.replace("\n", " / "))

    most = 0
    for day in range(60):
        session.add("user", f"Day {day}: find a hotel with a garden, not far from station number {day}.")
        session.add("assistant", f"Day {day}: the hotel at station {day} has a garden and costs {60 + day} euros.")
        most = max(most, session.render().total_tokens if day % 10 == 0 else 0)
    print(f"{session.render().turns[-1] + 1} turns, at most 1000 tokens: {most <= 1000}")

    found = session.search("what is she allergic to?")[0]
    print(f"found in turn {found.index}: {found.content.partition(' I live')[0]}")
    print("after undo:", memory.blocks.undo("human").text.replace("\n", " / "))

"""A recall over MCP says what it could not compare by meaning yet."""

from __future__ import annotations

from typing import Any

from talking import told

from agent_memory import AgentMemory

LONG = "The staging database of orders moved to another host and listens on port {} since the upgrade. " * 20


def test_memories_without_vectors_are_told_of(inside: Any) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add_many([{"text": LONG.replace("{}", str(number))} for number in range(400)])
    answer = told(inside(lambda client: client.call_tool("recall", {"query": "which port?", "k": 1})))
    assert "memories had no vector yet and were searched by their words only" in answer["note"]

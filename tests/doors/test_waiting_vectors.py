"""What waits for its vectors: said in a pipe and at a terminal, with how to make them."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory import AgentMemory

LONG = "The staging database of orders moved to another host and listens on port {} since the upgrade. " * 20


@pytest.fixture
def waiting() -> int:
    """More than a recall makes by the way."""
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": LONG.replace("{}", str(number))} for number in range(400)])
        return int(memory.upkeep.stats()["pending_vectors"])


def test_a_recall_in_a_pipe_and_at_a_terminal_says_it(process: Any, terminal: Any, waiting: int) -> None:
    ran = process("recall", "which port?", "-k", "1")
    assert ran.code == 0 and "\n" in ran.out and "note" not in ran.out
    assert "had no vector yet" in ran.err and "`agent-memory upkeep catch-up` makes them" in ran.err
    assert process("recall", "which port?", "-k", "1", "--json").err == "", "JSON has it itself"
    assert "had no vector yet" in " ".join(terminal("recall", "which port?", "-k", "1").out.split())

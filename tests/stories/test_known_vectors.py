"""A text that was embedded a moment ago is not embedded again, until something is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.core.write.embed import RECENT
from agent_memory.ports.embedder import Passage, Space

pytestmark = pytest.mark.local


class Counting:
    """An embedder that notes what it reads."""

    space = Space("counting", "1", 4)

    def __init__(self) -> None:
        self.read: list[str] = []

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read += texts
        return np.full((len(texts), 4), 0.5, np.float32)


def test_a_question_that_is_asked_again_is_read_once(home: Path) -> None:
    embedder = Counting()
    with AgentMemory("ada", embedder=embedder) as memory:
        memory.records.add("staging listens on 5433")
        first = memory.recall("which port?")
        for number in range(RECENT + 10):
            memory.embedder.embed_single(f"something else {number}")
            if number % 50 == 0:
                memory.recall("which port?")
        assert embedder.read.count("which port?") == 1, "what is asked again is the last to go"
        assert [hit.score for hit in memory.recall("which port?")] == [hit.score for hit in first]
        assert len(memory._client.runtime.embedding._recent) == RECENT


def test_forgetting_anything_empties_it(home: Path) -> None:
    embedder = Counting()
    with AgentMemory("ada", embedder=embedder) as memory:
        secret = memory.records.add("the code is 4711")
        memory.recall("which code?")
        assert not any(b"4711" in key for key in memory._client.runtime.embedding._recent), "no text is kept"
        memory.records.forget([secret.id])
        assert not memory._client.runtime.embedding._recent
        memory.recall("which code?")
        memory.recall("which code?")
        assert embedder.read.count("which code?") == 2

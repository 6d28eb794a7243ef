"""How much of the evidence a recall finds: our adapter for the shared `retrieval_eval.py`, over the public API.

    python ../shared/benchmarks/retrieval_eval.py --adapter benchmarks/locomo.py --data .../locomo10.json

Each item is stored as a turn of its session, as it comes; a question is one recall with the default recipe.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_memory import AgentMemory
from agent_memory.models import Turn


class Adapter:
    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._memory: AgentMemory | None = None

    def reset(self) -> None:
        if self._memory and self._folder:
            self._memory.close()
            self._folder.cleanup()
        self._folder = tempfile.TemporaryDirectory(prefix="agent-memory-")
        self._memory = AgentMemory("reader", store=f"sqlite:///{Path(self._folder.name) / 'memory.db'}")
        self._indexes: dict[str, int] = {}

    def add(self, items: list[dict[str, Any]]) -> None:
        assert self._memory
        for item in items:
            conversation = item["session_id"] or "one"
            index = self._indexes[conversation] = self._indexes.get(conversation, -1) + 1
            given = {"timestamp": _moment(item["timestamp"])} if item["timestamp"] else {}
            self._memory.store_turn(
                Turn(
                    id=item["id"],
                    conversation_id=conversation,
                    index=index,
                    role="user",
                    content=item["text"],
                    **given,
                )
            )

    def search(self, query: str, k: int, now: str | None) -> list[str]:
        assert self._memory
        return [hit.record.id for hit in self._memory.recall(query, k, kinds=["turn"])]

    def stats(self) -> dict[str, int]:
        assert self._memory
        return {"index_bytes": self._memory.upkeep.stats()["bytes_on_disk"]}


def _moment(iso: str) -> datetime:
    """The data's times name no zone."""
    return datetime.fromisoformat(iso).replace(tzinfo=UTC)

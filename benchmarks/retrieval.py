"""How much of the evidence a recall finds: our adapter for the shared `retrieval_eval.py`, over the public API.

    python EVAL/retrieval_eval.py --adapter benchmarks/retrieval.py --data EVAL/locomo/locomo10.json
    python EVAL/retrieval_eval.py --adapter benchmarks/retrieval.py --data benchmarks/operations/operations.jsonl

What has a session is stored as a turn of it, with its speaker apart from its text; what has none as an observation.
A question is one recall with the default recipe, asked at the moment that the data names. Fields of the recipe are
changed by `--arg 'recipe={"words": 0.5}'`. With `--arg aged_days=200` every question is asked so many days later, and
on each of these days all jobs ran: conversations are archived by then. What the jobs made stands for what it was made
from: a fact or an entity for the first turn that says it and is not among the hits yet.
"""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent_memory import AgentMemory
from agent_memory.models.answer import Recalled
from agent_memory.models.recipe import Recipe

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

ROLES = ("user", "assistant", "system", "tool")
PAGE = 200


class Moment:
    """The clock of whoever asks."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def now(self) -> datetime:
        return self.at


class Adapter:
    def __init__(self, recipe: dict[str, Any] | None = None, aged_days: int = 0) -> None:
        self.recipe = Recipe(**(recipe or {}))
        self._aged, self._grown = timedelta(days=int(aged_days)), False
        self._clock = Moment()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._memory: AgentMemory | None = None
        self._lengths: dict[str, int] = {}
        self._items: set[str] = set()

    def reset(self) -> None:
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="agent-memory-")
        store = str(Path(self._folder.name) / "memory.db")
        self._memory = AgentMemory("reader", store=f"sqlite:///{store}", clock=self._clock)
        self._lengths, self._items, self._grown = {}, set(), False

    def close(self) -> None:
        if self._memory and self._folder:
            self._memory.close()
            self._folder.cleanup()
            self._memory = None

    def add(self, items: list[dict[str, Any]]) -> None:
        assert self._memory
        records = [self._record(item) for item in items]
        self._items |= {record["id"] for record in records}
        for start in range(0, len(records), PAGE):
            self._memory.records.add_many(records[start : start + PAGE], embed=True)

    def search(self, query: str, k: int, now: str | None) -> list[str]:
        found: dict[str, None] = {}
        for hit in self.recall(query, k, now):
            found |= dict.fromkeys([one for one in self._told_by(hit.id) if one not in found][:1])
        return [*found]

    def _told_by(self, id: str) -> list[str]:
        """The item that a hit is, or those it comes from."""
        assert self._memory
        if id in self._items:
            return [id]
        origins = self._memory.upkeep.why(id).origins
        return [one.id for one in origins if one.id in self._items]

    def recall(self, query: str, k: int, now: str | None) -> Recalled:
        assert self._memory
        asked = _moment(now) if now else datetime.now(UTC)
        if self._aged and not self._grown:
            self._age(asked)
        self._clock.at = asked + self._aged
        return self._memory.recall(query, k, self.recipe)

    def _age(self, since: datetime) -> None:
        """Live through these days, each with its jobs."""
        assert self._memory
        for day in range(self._aged.days + 1):
            self._clock.at = since + timedelta(days=day)
            self._memory.upkeep.run_jobs()
        self._grown = True

    def stats(self) -> dict[str, int]:
        assert self._memory
        return {"index_bytes": self._memory.upkeep.stats()["bytes_on_disk"]}

    def _record(self, item: dict[str, Any]) -> dict[str, Any]:
        speaker, session = item["speaker"], item["session_id"]
        text = item["text"].removeprefix(f"{speaker}: ") or "-"
        record = {"id": item["id"], "text": text}
        if item["timestamp"]:
            record["valid_from"] = _moment(item["timestamp"])
        if session is None:
            return record
        index = self._lengths[session] = self._lengths.get(session, -1) + 1
        payload = {"index": index, "role": speaker if speaker in ROLES else "user"}
        if speaker and speaker not in ROLES:
            payload["speaker"] = speaker
        return {**record, "kind": "turn", "conversation_id": session, "payload": payload}


def _moment(iso: str) -> datetime:
    """The data's times name no zone."""
    moment = datetime.fromisoformat(iso)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

"""Freshness: what a process holds in memory follows the database, wherever that goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.parts.postgres import Server, server

from agent_memory import AgentMemory
from agent_memory.engines.postgres import open_store
from agent_memory.ports.feed import Cursor, Work


@pytest.fixture
def postgres() -> Server:
    return server(18)


class Copied:
    """A database, and a copy of it from an earlier moment."""

    def __init__(self, postgres: Server) -> None:
        self.postgres = postgres
        self.uri = postgres.fresh()
        self.name = self.uri.rpartition("/")[2]

    def copy(self) -> None:
        self.postgres.execute(f"create database {self.name}_copy template {self.name} strategy file_copy")

    def put_back(self) -> None:
        """As a restore does: who is connected is thrown out."""
        self.postgres.execute(
            f"drop database {self.name} with (force)", f"alter database {self.name}_copy rename to {self.name}"
        )

    def elsewhere(self, user: str = "ada", tenant: str = "default") -> AgentMemory:
        """With memory of its own, as another process has it."""
        return AgentMemory(user, store=f"{self.uri}?application_name=elsewhere", tenant=tenant)


@pytest.fixture
def copied(postgres: Server) -> Iterator[Copied]:
    yield Copied(postgres)


def answers(memory: AgentMemory) -> list[tuple[object, ...]]:
    found = [
        *memory.recall("which deploy failed on Tuesday?", k=20).hits,
        *memory.recall("what does Quetzal Labs do?", k=20).hits,
    ]
    return [(hit.record.id, hit.record.text, pytest.approx(hit.score, abs=1e-5)) for hit in found]  # time goes on


@pytest.mark.requirement("C13")
@pytest.mark.parametrize("others", [0, 3, 6, 12])
def test_a_database_that_was_set_back(copied: Copied, others: int) -> None:
    """Its journal ends earlier, with the same number, or later than the one that was read."""
    with copied.elsewhere() as memory:
        for number in range(5):
            memory.records.add(f"Deploy {number} went well on Tuesday.")
    copied.copy()
    with AgentMemory("ada", store=copied.uri) as warm:
        warm.records.add("Quetzal Labs", kind="entity", payload={"name": "Quetzal Labs", "type": "company"})
        for number in range(5):
            warm.records.add(f"Deploy {number} failed on Tuesday, since the disk was full.")
        assert answers(warm)
        copied.put_back()
        with copied.elsewhere() as cold:
            for number in range(others):
                cold.records.add(f"Deploy {number} failed on Tuesday, and nobody knows why.")
            assert answers(warm) == answers(cold)
            cold.records.add("Deploy 7 failed on Tuesday, too.")
            warm.records.add("Deploy 8 failed on Tuesday, too.")
            assert answers(warm) == answers(cold)
            assert warm.upkeep.verify().ok


def test_a_job_whose_journal_is_another_starts_anew_and_says_so(
    copied: Copied, caplog: pytest.LogCaptureFixture
) -> None:
    """Its cursor was kept, and the journal was not."""
    store = open_store(copied.uri)
    try:
        with copied.elsewhere() as memory:
            memory.records.add("Deploy 1 went well.")
            lines = store.feed.lines(Cursor("default"))
            lease = store.feed.lease("read", "me", 60.0)
            assert lease is not None
            store.feed.advance(Work(lease, Cursor("default"), lines[-1].cursor))
        assert store.feed.news("read") == [] and store.feed.cursor("read", "default").seq == lines[-1].seq
        copied.postgres.execute("update agent_memory.cursors set chain = repeat('00', 32)", database=copied.name)
        assert store.feed.news("read") == ["default"]
        assert store.feed.cursor("read", "default") == Cursor("default")
        assert "the job read starts anew" in caplog.text
        assert store.feed.lines(store.feed.cursor("read", "default")) == lines
    finally:
        store.close()

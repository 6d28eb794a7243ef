"""How often a call goes to the file, counted by a wrapper around the real connections; and what it reads there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.engines.sqlite import write as writing
from agent_memory.engines.sqlite.connection import Connections

QUESTIONS = (
    "What does Checkout's failover depend on?",  # two hops from an entity, and the name of one on the way
    "how long does the failover take",
    "What did Melanie say about the failover before the move?",
)


class Trips:
    """`kinds` has one word for each transaction, or step of a write; `statements` what was run in those that read."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.statements: list[str] = []

    def taken(self) -> list[str]:
        kinds, self.kinds = self.kinds, []
        return kinds

    def run(self) -> list[str]:
        statements, self.statements = self.statements, []
        return statements


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> Trips:
    counted = Trips()
    reading = Connections.reading

    @contextmanager
    def counting(self: Connections) -> Iterator[sqlite3.Connection]:
        counted.kinds.append("read")
        with reading(self) as connection:
            connection.set_trace_callback(counted.statements.append)
            try:
                yield connection
            finally:
                connection.set_trace_callback(None)

    def step(name: str, function: object) -> object:
        def stepping(*arguments: object, **named: object) -> object:
            counted.kinds.append(name)
            return function(*arguments, **named)  # type: ignore[operator]

        return stepping

    monkeypatch.setattr(Connections, "reading", counting)
    monkeypatch.setattr(writing.SqliteLook, "present", step("read step", writing.SqliteLook.present))
    monkeypatch.setattr(writing.SqliteWriter, "write", step("write step", writing.SqliteWriter.write))
    return counted


def opened(user: str = "ada") -> AbstractContextManager[AgentMemory]:
    return AgentMemory(user)


def tell(memory: AgentMemory) -> None:
    services = ("checkout", "pg-main", "billing")
    memory.graph.create_entities([{"name": one, "entity_type": "service", "observations": []} for one in services])
    memory.graph.create_relations(
        [
            {"source": "checkout", "target": "pg-main", "relation_type": "DEPENDS_ON"},
            {"source": "pg-main", "target": "billing", "relation_type": "FEEDS"},
        ]
    )
    memory.records.add("Melanie said that the failover of the database takes a minute")


@pytest.mark.requirement("L10")
def test_a_write_is_two_steps_and_a_warm_recall_at_most_three_trips(home: Path, trips: Trips) -> None:
    with opened() as memory:
        tell(memory)
        trips.taken()
        memory.records.add("pg-main has two replicas")
        assert trips.taken() == ["read step", "write step"]
        for question in QUESTIONS:
            memory.recall(question)
            trips.taken()
            assert memory.recall(question).hits
            assert 2 <= len(trips.taken()) <= 3, "the snapshot, the records, and at most once more"
        (far,) = [hit for hit in memory.recall(QUESTIONS[0]) if hit.record.payload.get("name") == "billing"]
        assert far.why.entities == ["checkout → DEPENDS_ON → pg-main → FEEDS"], "so links were followed"


@pytest.mark.requirement("L10")
def test_what_a_reader_wrote_costs_one_trip_more(home: Path, trips: Trips) -> None:
    with opened() as memory:
        tell(memory)
        for question in QUESTIONS:
            memory.recall(question)
            trips.taken()
            memory.recall(question)
            warm = trips.taken()
            memory.records.add(f"the failover was tried again: {question}")
            trips.taken()
            memory.recall(question)
            assert len(trips.taken()) == len(warm) + 1


@pytest.mark.requirement("L10")
def test_writes_of_others_make_no_shelf_read(home: Path, trips: Trips) -> None:
    with opened() as ada, opened("bob") as bob:
        tell(ada)
        for memory in (ada, bob):
            memory.recall(QUESTIONS[0])
        trips.run()
        before = [(hit.id, hit.score) for hit in ada.recall(QUESTIONS[0])]
        warm = [statement.split(" where ")[0] for statement in trips.run()]
        for number in range(30):
            bob.records.add(f"checkout is mine, too: {number}", "observation")
        trips.run()
        assert [(hit.id, hit.score) for hit in ada.recall(QUESTIONS[0])] == before
        assert [statement.split(" where ")[0] for statement in trips.run()] == warm
        assert len(bob.recall("checkout", k=50).hits) == 30, "while his own shelf is as new as they are"


@pytest.mark.requirement("E6")
def test_where_there_is_no_adapter_nothing_is_read_for_one(
    home: Path, trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    for adapters in ("off", "on"):
        monkeypatch.setenv("AGENT_MEMORY_ADAPTERS", adapters)
        with opened() as memory:
            if adapters == "off":
                tell(memory)
            for question in QUESTIONS:
                memory.recall(question)
                trips.run(), trips.taken()
                memory.recall(question)
                taken.append((trips.taken(), len(trips.run())))
    assert taken[: len(QUESTIONS)] == taken[len(QUESTIONS) :]

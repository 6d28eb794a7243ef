"""How often a call waits for the database, counted on the wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.parts.postgres import server
from tests.parts.proxy import Proxy, between

from agent_memory import AgentMemory

WRITE = 2  # what it has to know, in one; what it writes, and the commit
RECALL = 3
ASKED = 12  # statements of a warm recall, `begin` and `commit` among them: each costs both sides about as much as a row


@pytest.fixture
def wire() -> Iterator[Proxy]:
    with between(server(18).port) as proxy:
        yield proxy


@pytest.fixture
def memory(wire: Proxy) -> Iterator[AgentMemory]:
    uri = server(18).fresh().replace(f":{server(18).port}/", f":{wire.port}/")
    with AgentMemory("ada", store=uri) as opened:
        for number in range(20):
            opened.records.add(f"Note {number} of the deploy on Tuesday.")
        opened.recall("which deploy?")
        yield opened


def trips(wire: Proxy, call: Callable[[], object]) -> list[int]:
    """Of ten calls: a flush of receipts may fall into one of them."""
    counted = []
    for _ in range(10):
        before = wire.trips
        call()
        counted.append(wire.trips - before)
    return sorted(counted)


@pytest.mark.requirement("C13")
def test_a_write(memory: AgentMemory, wire: Proxy) -> None:
    counted = trips(wire, lambda: memory.records.add("The deploy of Tuesday failed."))
    assert counted[len(counted) // 2] <= WRITE, counted


@pytest.mark.requirement("C13")
def test_a_warm_recall(memory: AgentMemory, wire: Proxy) -> None:
    counted = trips(wire, lambda: memory.recall("which deploy failed?"))
    assert counted[len(counted) // 2] <= RECALL, counted


@pytest.mark.requirement("C13")
def test_statements_of_a_warm_recall(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[int, int] = {}
    execute = psycopg.Connection.execute

    def counted(connection: psycopg.Connection, *args: Any, **kwargs: Any) -> psycopg.Cursor:
        asked[threading.get_ident()] = asked.get(threading.get_ident(), 0) + 1
        return execute(connection, *args, **kwargs)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    memory.recall("which deploy failed?")
    assert asked[threading.get_ident()] <= ASKED

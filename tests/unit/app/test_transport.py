"""A client is one class, whatever the way to its store: the way is a `Transport`, and namespaces are made on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.client import Client, Here
from agent_memory.app.operations import NAMESPACES, TABLE, Namespace, Operation, namespace
from agent_memory.app.remote import Away
from agent_memory.models.errors import Denied, InvalidInput, StoreError
from agent_memory.models.record import Scope

ADA = Scope(tenant="default", user="ada")


class Noting(Here):
    """In this process, and it notes what goes by."""

    def __init__(self, way: Here) -> None:
        super().__init__(lambda: way.runtime)
        self.noted: list[tuple[str, dict[str, Any]]] = []

    def call(self, operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any:
        self.noted.append((operation.name, arguments))
        return super().call(operation, namespace, arguments)


def test_every_call_takes_the_transport_with_checked_arguments(home: Path) -> None:
    with AgentMemory("ada") as memory:
        way = memory._client.transport
        assert isinstance(way, Here)
        noting = memory._client.transport = Noting(way)
        added = memory.records.add("staging listens on 5433", importance="0.5")  # type: ignore[arg-type]
        assert memory._client.ask("records.get", id=added.id) == memory._client.ask("records.get", {"id": added.id})
        assert memory.recall("staging")
        with pytest.raises(InvalidInput):
            memory.records.get(3)  # type: ignore[arg-type]
        memory._client.transport = way
    assert [name for name, _ in noting.noted] == ["records.add", "records.get", "records.get", "recall"]
    assert noting.noted[0][1]["importance"] == 0.5


def test_namespaces_are_made_when_they_are_asked_for(home: Path) -> None:
    with AgentMemory("ada") as memory:
        assert not {*NAMESPACES} & vars(memory).keys()
        assert memory.retriever is memory.retriever, "it keeps weights"
        assert {*NAMESPACES} & vars(memory).keys() == {"retriever"}
        assert {one.owner for one in TABLE.values()} == {*map(namespace, NAMESPACES)}


def test_a_server_is_no_store_in_this_process() -> None:
    memory = AgentMemory.unopened(config.load(store="http://127.0.0.1:9"), ADA)
    assert type(memory._client) is Client and isinstance(memory._client.transport, Away)
    for needed in (lambda: memory._client.runtime, memory._client.clock.now):
        with pytest.raises(StoreError, match="needs a store in this process"):
            needed()
    memory.close(clear=False)
    with pytest.raises(StoreError, match="closed"):
        memory._client.ask("upkeep.stats")


def test_a_permission_is_asked_for_by_dispatch(home: Path) -> None:
    with AgentMemory("ada") as memory:
        memory._client.caller = memory._client.caller._replace(permissions=frozenset())
        with pytest.raises(Denied):
            memory.upkeep.stats()

"""Behind a pooler in transaction mode: each transaction may have another connection. `tests/parts/pooler.py` stands in
for PgBouncer."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest
from tests.parts.pooler import Pooler, pooled
from tests.parts.postgres import Server, emptied, server

from agent_memory import AgentMemory
from agent_memory.engines.postgres import open_store
from agent_memory.ports.store import Store
from agent_memory.testing import conformance

pytestmark = pytest.mark.engines


@pytest.fixture
def postgres() -> Server:
    return server(18)


@pytest.fixture
def pooler(postgres: Server) -> Iterator[Pooler]:
    with pooled(postgres.port) as made:
        yield made


def through(pooler: Pooler, uri: str) -> str:
    return uri.replace(f":{server(18).port}/", f":{pooler.port}/")


@pytest.fixture
def store(pooler: Pooler) -> Iterator[Store]:
    opened = open_store(through(pooler, emptied(18)))
    yield opened
    opened.close()
    assert pooler.left_behind() == []


@pytest.mark.requirement("C13")
class TestLinks(conformance.LinkConformance): ...


@pytest.mark.requirement("C13")
class TestSearch(conformance.SearchConformance): ...


def test_the_pooler_notices_what_a_session_leaves(postgres: Server, pooler: Pooler) -> None:
    with psycopg.connect(through(pooler, postgres.fresh()), autocommit=True) as raw:
        raw.execute("set lock_timeout = 1234")
        asked = [raw.execute("show lock_timeout").fetchone() for _ in range(3)]
        with raw.transaction():
            raw.execute("set local statement_timeout = 4321")
    assert len(pooler.left_behind()) == 1
    assert len(pooler.handed) == 1 or ("0",) in asked


@pytest.mark.requirement("C13")
def test_many_at_once_share_a_few_connections(postgres: Server, pooler: Pooler) -> None:
    """Two tenants, whose walls are settings of a transaction, and statements that are prepared on each connection."""
    uri = through(pooler, postgres.fresh())
    failed: list[BaseException] = []

    def work(tenant: str, user: str) -> None:
        try:
            with AgentMemory(user, store=uri, tenant=tenant) as memory:
                for turn in range(8):
                    memory.records.add(f"{tenant} and {user} said {turn} things")
                    found = memory.recall(f"what did {user} say?", k=20)
                    assert len(found) == turn + 1
                    assert all(hit.text.startswith(f"{tenant} and {user} ") for hit in found)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"t{place % 2}", f"u{place}")) for place in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [str(one) for one in failed] == []
    with AgentMemory("u0", store=uri, tenant="t0") as memory:
        assert memory.upkeep.verify().ok
    assert len(pooler.handed) == 2 and all(times > 20 for times in pooler.handed.values())
    assert pooler.left_behind() == []

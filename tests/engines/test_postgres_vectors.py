"""pgvector as the vector store of records on SQLite, for real: in use, stopped, killed, back again. L5, L9."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.parts.postgres import Server, emptied, started

from agent_memory import AgentMemory
from agent_memory.engines.postgres import open_store
from agent_memory.engines.postgres.statements import SQL
from agent_memory.models.errors import InvalidInput
from agent_memory.ports.vectors import Scored, inside
from agent_memory.testing.builders import ALICE

pytestmark = pytest.mark.engines


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, str]]:
    """A server of this test's own, and the address of a database in it, which is the vector store."""
    with started() as server:
        uri = server.fresh()
        monkeypatch.setenv("AGENT_MEMORY_VECTORS", uri)
        yield server, uri.rpartition("/")[2]


def rows(server: Server, name: str) -> list[tuple[str, str]]:
    """What the vector store has: by the name of the namespace, and the id."""
    found = server.execute("select namespace, id from agent_memory.namespaces order by 1, 2", database=name)
    return [(namespace.rpartition("\x1f")[2], id) for namespace, id in found]


@pytest.mark.requirement("L5", "L9")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "killed"])
def test_records_on_sqlite_and_vectors_in_postgresql(
    home: Path, database: tuple[Server, str], how: signal.Signals
) -> None:
    server, name = database
    with AgentMemory(user_id="ada", store=home / "memory.db") as memory:
        ids = [memory.records.add(text).id for text in ("the printer is upstairs", "tea is served", "the disk is full")]
        memory.vectors.embed(ids, ["long_term", "short_term"])
        assert rows(server, name) == sorted((space, id) for space in ("long_term", "short_term") for id in ids)
        before = memory.vectors.recall("where can I print?", "short_term")
        assert (before.source, before.hits[0].id) == ("store", ids[0])

        server.stop(how)
        after = memory.vectors.recall("where can I print?", "short_term")
        assert [one.id for one in after.hits] == [one.id for one in before.hits]
        assert [one.score for one in after.hits] == pytest.approx([one.score for one in before.hits], abs=1e-6)
        assert after.source == "mirror" and name in str(after.trouble)
        memory.vectors.delete("short_term", ids[1:2])
        memory.vectors.upsert("picture", ids[0], [1.0, 0.0], model="clip")
        memory.records.forget(ids[2:])
        assert memory.upkeep.stats()["behind"][0]["vectors"] == 2
        found = memory.vectors.recall("where can I print?", "short_term")
        assert ([one.id for one in found.hits], found.source) == (ids[:1], "mirror")
    with AgentMemory(user_id="ada", store=home / "memory.db") as memory:  # while it is away
        assert [one.id for one in memory.vectors.recall("print", "short_term").hits] == ids[:1]

    server.start()
    with AgentMemory(user_id="ada", store=home / "memory.db") as memory:
        memory.upkeep.run_jobs()
        assert memory.upkeep.stats()["behind"] == [] == memory.upkeep.stats()["debts"]
        assert rows(server, name) == [
            ("long_term", ids[0]),
            ("long_term", ids[1]),
            ("picture", ids[0]),
            ("short_term", ids[0]),
        ]
        assert memory.vectors.recall("where can I print?", "short_term").source == "store"
        assert memory.upkeep.verify().ok


def test_the_address_is_checked_at_once_and_no_password_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_VECTORS", "postgresql://ada:hunter2@127.0.0.1:notaport/x")
    with pytest.raises(InvalidInput, match="vectors: ") as refused:
        AgentMemory(user_id="ada", store=home / "memory.db")
    assert "hunter2" not in str(refused.value)
    monkeypatch.setenv("AGENT_MEMORY_VECTORS", "postgresql://ada:hunter2@127.0.0.1:1/x")
    with AgentMemory(user_id="ada", store=home / "memory.db") as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0])
        told = memory.upkeep.stats()["behind"]
        assert told[0]["error"] and "hunter2" not in str(told)


@pytest.mark.requirement("L5")
def test_a_look_up_by_namespace_uses_an_index() -> None:
    uri = emptied(18)
    store = open_store(uri)
    for number in range(20):
        store.vectors.upsert(inside(ALICE, f"n{number}"), "a", [1.0, 0.0], {})
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("set search_path = agent_memory, public")
        connection.execute(
            "insert into namespaces (tenant, namespace, id, dimension, embedding, metadata) select tenant, namespace, "
            "n::text, 2, embedding, metadata from namespaces, generate_series(1, 500) n"
        )
        connection.execute("analyze namespaces")
        (tenant,) = connection.execute("select max(tenant) from namespaces").fetchone() or (0,)
        asked = {"tenant": tenant, "namespace": inside(ALICE, "n7"), "vector": "[1,0]"}
        for name in ("namespace_nearest", "namespace_settled"):
            plan = connection.execute(sql.SQL("explain " + SQL[name]), asked).fetchall()  # type: ignore[arg-type]
            said = "\n".join(line for (line,) in plan)
            assert "namespaces_pkey" in said and "Seq Scan" not in said, said
    store.close()


@pytest.mark.requirement("L5")
@pytest.mark.parametrize("late", ["scored", "delete", "upsert"])
def test_whoever_comes_while_a_record_is_erased_waits_for_the_end(late: str) -> None:
    """And leaves nothing of it, nor do two wait for each other."""
    uri, name = emptied(18), inside(ALICE, "n")
    store = open_store(uri)
    store.vectors.upsert(name, "a", [1.0, 0.0], {})
    store.vectors.scored([Scored(name, "a", 0.5, 1)])
    calls = {
        "scored": lambda: store.vectors.scored([Scored(name, "a", 0.7, 2)]),
        "delete": lambda: store.vectors.delete(name, ["a"]),
        "upsert": lambda: store.vectors.upsert(inside(ALICE, "new"), "a", [1.0, 0.0], {}),
    }
    waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    watched = psycopg.connect(uri, autocommit=True)
    with ThreadPoolExecutor(1) as pool, watched, psycopg.connect(uri) as connection:
        connection.execute("set search_path = agent_memory, public")
        (tenant,) = connection.execute("select max(tenant) from namespaces").fetchone() or (0,)
        erased = {"tenant": tenant, "namespace": name, "ids": ["a"]}
        for statement in ("namespaces_hold", "namespace_delete"):
            connection.execute(sql.SQL(SQL[statement]), erased)  # type: ignore[arg-type]
        begun = pool.submit(calls[late])
        while not watched.execute(waits).fetchone():
            assert not begun.done()
        connection.execute(sql.SQL(SQL["delete_scores"]), erased)  # type: ignore[arg-type]
        connection.commit()
        begun.result()
        assert connection.execute("select * from scores").fetchall() == []
    store.close()

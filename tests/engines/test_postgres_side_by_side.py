"""Programs of two versions on one database. The newer one has a script more than this one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.parts.postgres import server

from agent_memory import AgentMemory
from agent_memory.app.databases import check_database
from agent_memory.app.migrating import migrate
from agent_memory.engines.postgres import SHELF_LINES, schema
from agent_memory.engines.postgres.connection import Database
from agent_memory.models.errors import AgentMemoryError, StoreNewer

NEXT = max(schema.migrations()) + 1
EXPANDING = f"{schema.EXPANDS}alter table receipts add column mood text;\n"
INDEX = """drop index concurrently if exists agent_memory.receipts_mood;
create index concurrently receipts_mood on agent_memory.receipts (mood);
"""
CONTRACTING = "alter table receipts drop column mood;\n"


@pytest.fixture
def uri() -> str:
    return server(18).fresh()


@pytest.fixture
def memory(uri: str) -> Iterator[AgentMemory]:
    with AgentMemory("ada", store=uri) as opened:
        opened.records.add("before")
        yield opened


def upgraded(uri: str, *scripts: str) -> None:
    """By a newer program, which has these as well."""
    database = Database(uri)
    try:
        schema.upgrade(database, {**schema.migrations(), **dict(enumerate(scripts, NEXT))})
    finally:
        database.close()


def asked(uri: str, statement: Any) -> list[Any]:
    with psycopg.connect(uri, autocommit=True) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.requirement("C13")
def test_after_an_expanding_migration_older_servers_go_on(memory: AgentMemory, uri: str) -> None:
    upgraded(uri, EXPANDING)
    memory.records.add("by one that was open")
    memory.close()  # or the next one shares its pool
    with AgentMemory("ada", store=uri) as other:
        other.records.add("by one that came later")
        assert len(other.recall("by one that").hits) == 3
        assert other.upkeep.verify().ok
    noted = asked(uri, "select name, value from agent_memory.meta where name in ('schema', 'floor') order by 1")
    floor = schema.lowest(schema.migrations())
    assert noted == [("floor", str(floor)), ("schema", str(NEXT))], "the older one left it as it was"
    (told,) = [one for one in check_database(uri, None, SHELF_LINES) if one.name == "schema"]
    assert f"version {NEXT}, which this agent-memory may use" in told.detail


@pytest.mark.requirement("C13")
def test_after_a_contracting_migration_older_servers_are_refused(memory: AgentMemory, uri: str) -> None:
    upgraded(uri, EXPANDING, CONTRACTING)
    with pytest.raises(StoreNewer, match="upgraded by another process") as caught:
        memory.records.add("too late")
    assert f"less than {NEXT + 1} may write" in caught.value.message and "upgrade agent-memory" in caught.value.hint
    with pytest.raises(StoreNewer, match=f"schema version {NEXT + 1}"):
        schema.open_database(uri)
    assert asked(uri, "select text from agent_memory.contents") == [("before",)]


@pytest.mark.requirement("C13")
def test_what_an_older_program_does_not_know_is_not_moved_by_it(memory: AgentMemory, uri: str, tmp_path: Path) -> None:
    upgraded(uri, EXPANDING)
    with pytest.raises(StoreNewer, match="cannot move"):
        migrate(uri, f"{tmp_path}/copy.jsonl")


@pytest.mark.requirement("C13")
def test_an_index_is_made_outside_of_the_transaction(
    memory: AgentMemory, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While others write. Where it was stopped half-way, whoever opens the tables next makes it anew, once."""
    script, stopped = EXPANDING + schema.OUTSIDE + INDEX, list[AgentMemoryError]()
    valid = "select indexrelid, indisvalid from pg_index where indexrelid = to_regclass('agent_memory.receipts_mood')"

    def upgrade() -> None:
        try:
            upgraded(uri, script)
        except AgentMemoryError as error:
            stopped.append(error)

    upgraded(uri, EXPANDING)
    with psycopg.connect(uri) as held:
        held.execute("lock table agent_memory.receipts in row exclusive mode")  # as one that writes, and does not end
        upgrading = threading.Thread(target=upgrade, daemon=True)
        upgrading.start()
        while not (making := asked(uri, "select pid from pg_stat_progress_create_index")):
            assert upgrading.is_alive()
        memory.records.add("meanwhile")
        upgraded(uri, script)  # by another server, which waits for nobody
        asked(uri, f"select pg_terminate_backend({making[0][0]})")
        upgrading.join()
    assert stopped and [one for _, one in asked(uri, valid)] == [False]
    newer = {**schema.migrations(), NEXT: script}
    monkeypatch.setattr(schema, "migrations", lambda: newer)
    schema.open_database(uri).close()
    made = asked(uri, valid)
    assert [one for _, one in made] == [True]
    schema.open_database(uri).close()
    assert asked(uri, valid) == made

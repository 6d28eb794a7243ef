"""What other tools see in the tables, and what they hold that PostgreSQL does not: NUL, long keys, encoded texts."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from tests.parts.postgres import emptied, server

from agent_memory.engines.postgres import open_store, schema
from agent_memory.engines.postgres.connection import Database
from agent_memory.models.kinds.knowledge import KINDS
from agent_memory.models.record import Status
from agent_memory.ports.reading import ReadLine, ReadsWanted
from agent_memory.ports.store import Store
from agent_memory.testing.builders import put, view, write

pytestmark = pytest.mark.engines


@pytest.fixture
def uri() -> str:
    return emptied(18)


@pytest.fixture
def store(uri: str) -> Iterator[Store]:
    opened = open_store(uri)
    yield opened
    opened.close()


def test_no_payload_breaks_a_view(uri: str, store: Store) -> None:
    kind = KINDS[0]
    field = next(name for name in kind.payload.model_fields)
    said = {"nul": "a\0\0b", "escaped": "a\\u0000b", "mark": "\uffff", "plain": "a"}
    write(store, *(put(id, id=id, kind=kind.name, payload={field: text}) for id, text in said.items()))
    store.records.prepare([kind])
    with psycopg.connect(uri) as connection:
        rows = connection.execute(f'select id, "{field}" from agent_memory."{kind.plural}"').fetchall()  # type: ignore[call-overload]
    shown = dict(rows)
    assert shown == said | {"nul": "a\ufffd\ufffdb", "mark": "\uffff\uffff"}  # as they are stored
    assert {one.id: one.payload[field] for one in store.records.get(view(), [*said])} == said


def test_a_view_shows_what_is_active(uri: str, store: Store) -> None:
    (kind,) = [one for one in KINDS if one.name == "fact"]
    statuses = (Status.ACTIVE, Status.HELD, Status.ARCHIVED, Status.REJECTED)
    write(store, *(put(one, id=one, kind=kind.name, status=one) for one in statuses))
    store.records.prepare([kind])
    with psycopg.connect(uri) as connection:
        rows = connection.execute(f'select id, record_status from agent_memory."{kind.plural}"').fetchall()  # type: ignore[call-overload]
    assert rows == [("active", "active")]


def test_lines_of_the_access_log_become_pages() -> None:
    uri = server(18).fresh()
    database = Database(uri)
    schema.upgrade(database, {number: step for number, step in schema.migrations().items() if number < 9})
    with psycopg.connect(uri) as connection:
        connection.execute("create view agent_memory.facts as select 'held' as record_status")
        line = (7, "acme", "ada", "*", None, "cli", "recall", 'a"1 b2', 2, "INC-7", 900, 5, 0.25, "r")
        for at, ids in ((7, 'a"1 b2'), (8, "")):
            told = (at, *line[1:7], ids, *line[8:])
            connection.execute(
                'insert into agent_memory.reads (at, tenant, "user", agent, key, door, operation, ids, shown, why, '
                f"micros, tokens, money, receipt) values ({', '.join(['%s'] * len(told))})",
                told,
            )
    database.close()
    store = open_store(uri)
    store.records.prepare(KINDS)
    with psycopg.connect(uri) as connection:
        shown = connection.execute("select pg_get_viewdef('agent_memory.facts'::regclass)").fetchone()
    assert shown is not None and "'active'" in shown[0]
    assert store.reading is not None
    newer, older = store.reading.lines("acme", ReadsWanted(), 9)
    assert older == ReadLine(*line)._replace(ids=('a"1', "b2")) and newer == older._replace(at=8, ids=())
    assert store.reading.lines("acme", ReadsWanted(id='a"1'), 9) == [older]
    store.close()


def test_a_key_may_be_longer_than_an_entry_of_an_index(store: Store) -> None:
    long = "k" * 100_000
    write(store, put("one", id="a", key=long))
    write(store, put("two", id="b", key=long))
    found = store.records.by_key(view(), "note", long)
    assert found is not None and (found.id, found.text, found.version) == ("a", "two", 2)


def test_a_text_keeps_what_it_says_in_another_codec(store: Store) -> None:
    texts = {"long": "red green " * 200, "nul": "a\0b" * 100, "short": "a"}
    write(store, *(put(text, id=id) for id, text in texts.items()))
    for codec, changed in (("lz4", 2), ("lz4", 0), (None, 2)):
        made = store.recode(codec, limit=100)
        assert made.changed == changed
        assert {one.id: one.text for one in store.records.get(view(), [*texts])} == texts
        assert store.records.verify("acme").problems == ()

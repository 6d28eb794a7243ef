"""Every table and column is carried by `migrate`, or named here with a reason: whoever adds one decides which. L10."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from tests.parts.postgres import server

from agent_memory.engines.postgres import open_store as open_postgres
from agent_memory.engines.postgres.statements import SQL as POSTGRES
from agent_memory.engines.sqlite import open_store as open_sqlite
from agent_memory.engines.sqlite.connection import connect
from agent_memory.engines.sqlite.statements import SQL as SQLITE
from agent_memory.ledger.shipment import SECTIONS

pytestmark = pytest.mark.requirement("L10")

LEFT = {
    "leases": "who does a job, and until when: nobody does it in another store; each job runs there when it is due",
    "storage": "what is owed to this database's files",
    "sqlite_sequence": "numbers of the file's own",
    "large_scopes": "follows from the records: the job `index` makes it",
    "large_words": "follows from the records: the job `index` makes it",
    "large_vectors": "follows from the records: the job `index` makes it",
}
"""Tables that stay behind, and why."""

LEFT_COLUMNS = {
    "seal": "a checksum over numbers of the file's own: made anew",
    "last": "follows from the journal",
    "lines": "follows from the journal",
    "founded": "follows from the journal",
    "key_hash": "PostgreSQL makes it",
    "conversation_hash": "PostgreSQL makes it",
    "dimension": "as many as the vector has",
    "receipt": "its order is kept",
    "reads.first": "follows from the lines of its page",
    "reads.reasons": "follows from the lines of its page",
}
"""Columns that are made anew, and why."""


def statements(known: Mapping[str, str]) -> list[str]:
    return [known[f"show_{name}"] for name in SECTIONS]


def missing(tables: Mapping[str, Iterable[str]], known: Mapping[str, str]) -> list[str]:
    found = []
    for table, columns in tables.items():
        shown = [one for one in statements(known) if re.search(rf'(from|join) "?{table}\b', one)]
        if not shown:
            found += [] if table in LEFT else [table]
            continue
        said = " ".join(shown)
        kept = [one for one in columns if not {one, f"{table}.{one}"} & LEFT_COLUMNS.keys()]
        found += [f"{table}.{one}" for one in kept if not re.search(rf"\b{one}\b", said)]
    return found


def test_every_table_of_sqlite_is_carried(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    open_sqlite(file).close()
    connection = connect(file)
    tables = {
        name: [column for _, column, *_ in connection.execute(f'pragma table_info("{name}")')]
        for (name,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    }
    connection.close()
    assert len(tables) > 25
    assert missing(tables, SQLITE) == []
    assert missing({**tables, "leftovers": ["any"]}, SQLITE) == ["leftovers"]


def test_every_table_of_postgresql_is_carried() -> None:
    uri = server().fresh()
    open_postgres(uri).close()
    rows = server().execute(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid "
        "where c.relnamespace = 'agent_memory'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 "
        "and not a.attisdropped",
        database=uri.rpartition("/")[2],
    )
    tables = {name: [column for table, column in rows if table == name] for name, _ in rows}
    assert len(tables) > 20
    assert missing(tables, POSTGRES) == []


def test_every_section_has_its_columns() -> None:
    """What an engine shows has as many cells as the section has columns: `strict`, when a line is written."""
    for section in SECTIONS.values():
        assert section.packed <= set(section.columns)
    assert len(statements(SQLITE)) == len(statements(POSTGRES)) == len(SECTIONS)

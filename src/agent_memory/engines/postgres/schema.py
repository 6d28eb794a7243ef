"""Opening a database: create our tables, upgrade them by numbered migrations, or say why not."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple

from agent_memory.engines.postgres import Opening
from agent_memory.engines.postgres.connection import Database, Row, Session
from agent_memory.ledger.journal import genesis
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.shipment import FILLING, being_filled, occupied
from agent_memory.models.errors import InvalidInput, PartMissing, StoreError, StoreNewer

OLDEST_SERVER = 16
OLDEST_VECTOR = (0, 7)


def migrations() -> dict[int, str]:
    """Number -> script, in order."""
    folder = resources.files("agent_memory.engines.postgres") / "migrations"
    found = {int(file.name[:4]): file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}
    return dict(sorted(found.items()))


@cache
def newest() -> int:
    return max(migrations())


def check_version(found: Row | None) -> None:
    """Every write asks: another process may have upgraded the tables since they were opened."""
    if found != (newest(),):
        if found is not None and found[0] > FILLING:
            raise being_filled("this database")
        raise StoreError("the store was upgraded by another process", hint="restart this one with the same version")


def open_database(uri: str, how: Opening = Opening()) -> Database:  # noqa: B008
    """A pool on a database of the current schema version. Until that is known, nothing is changed."""
    database = Database(uri)
    try:
        _prepare(database, how)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: Database, how: Opening) -> None:
    scripts = migrations()
    with database.reading(None) as session:
        _check_server(session, database.name)
        current = _version(session, database.name, max(scripts), filling=how.filling)
        if how.filling and current not in (0, max(scripts)):
            raise occupied(database.name)
        if current == 0 and how.maybe_others and session.cell("others_tables"):
            raise InvalidInput(
                f"POSTGRES_URI names a database that another program uses: {database.name}",
                hint="to use it all the same, set AGENT_MEMORY_POSTGRES_URI; for a SQLite file, set AGENT_MEMORY_STORE",
                field="postgres_uri",
            )
    if current == 0 and not how.create:
        raise StoreError(
            f"there is no store in {database.name}: the database has no tables of agent-memory",
            hint="`agent-memory add` creates them, and so does `agent-memory upgrade`; or is it another database?",
        )
    if current == max(scripts):
        return
    with database.writing(None) as session:
        session.send("schema_lock")
        current = _version(session, database.name, max(scripts))
        if current == 0:
            session.send("create_schema")
        _extension(session, database.name)
        for number in (number for number in scripts if number > current):
            for statement in _statements(scripts[number]):
                session.connection.execute(statement.encode())
        if current == 0:
            salt = secrets.token_bytes(SALT_BYTES)
            session.send("insert_store", {"salt": salt, "genesis": genesis(salt, None)})
        session.send("put_version", {"version": str(max(scripts))})


def _statements(script: str) -> Iterator[str]:
    """One by one: several are not sent at once where their answers are read later."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if line.rstrip().endswith(";") and pending.count("$$") % 2 == 0:
            yield pending
            pending = ""


def _check_server(session: Session, name: str) -> None:
    version, replica, encoding = session.row("server") or (0, False, "")
    if version // 10_000 < OLDEST_SERVER:
        raise StoreError(
            f"this is PostgreSQL {version // 10_000}, and agent-memory needs {OLDEST_SERVER} or newer: {name}",
            hint="upgrade the server, or use another",
        )
    if replica:
        raise StoreError(
            f"the database is a read-only replica: {name}", hint="name the primary in AGENT_MEMORY_POSTGRES_URI"
        )
    if encoding != "UTF8":
        raise StoreError(
            f"the database is encoded in {encoding}, not UTF8: {name}", hint="create one with encoding UTF8"
        )


def _extension(session: Session, name: str) -> None:
    if session.cell("extension") is None and not session.cell("extension_available"):
        raise PartMissing(f"the database server has no pgvector: {name}", hint="install pgvector 0.7 or newer there")
    session.send("create_extension")
    found, place = session.row("extension") or ("", "")
    if place not in ("public", "agent_memory"):
        raise PartMissing(
            f"pgvector is in the schema {place!r}, where our tables do not look for it: {name}",
            hint="run: alter extension vector set schema public",
        )
    if tuple(map(int, re.findall(r"\d+", found)[:2])) < OLDEST_VECTOR:
        raise PartMissing(
            f"pgvector is {found}, and agent-memory needs 0.7 or newer: {name}",
            hint="install a newer one, then run: alter extension vector update",
        )


def _version(session: Session, name: str, newest: int, *, filling: bool = False) -> int:
    """Of our tables; 0: there are none."""
    if not session.cell("tables_there"):
        return 0
    if not session.cell("may_use"):
        raise StoreError(
            f"this role may not use the schema agent_memory: {name}", hint="docs/guides/postgresql.md has the grants"
        )
    found: int = session.cell("version") or 0
    if filling and found == FILLING + newest:
        return newest
    if found > FILLING:
        raise being_filled(name)
    if found > newest:
        raise StoreNewer(
            f"the store has schema version {found}, this agent-memory knows {newest}: {name}",
            hint="upgrade agent-memory; nothing was changed",
        )
    return found


class Health(NamedTuple):
    """What a doctor wants to know. `newest` is the schema that we know, `schema` the one that is there (0: none)."""

    place: str
    server: str
    role: str
    superuser: bool
    bypasses: bool
    encrypted: bool
    local: bool
    now: int
    size: int
    extension: str | None
    schema: int
    newest: int
    owns: bool


def health(uri: str) -> Health:
    """Looked at without changing anything; an error says why it cannot be used."""
    database = Database(uri, most=1)
    try:
        with database.reading(None) as session:
            _check_server(session, database.name)
            found: Row = session.row("health") or ()
            version = _version(session, database.name, max(migrations()))
            owns = bool(version) and bool(session.cell("owns"))
            return Health._make((database.name, *found, session.cell("extension"), version, max(migrations()), owns))
    finally:
        database.close()

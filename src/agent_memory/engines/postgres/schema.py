"""Opening a database: create our tables, upgrade them by numbered migrations, or say why not.

A script that begins with `EXPANDS` only adds what a program of the version before need not know: servers of both use
the tables side by side. Any other raises the floor: whoever does not know it is refused. What stands after `OUTSIDE`
cannot be in a transaction (`create index concurrently`): it is done after the others, and done again where it was
stopped, so that it names the schema and begins by dropping what half of it left. docs/decisions/0027-side-by-side.md
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple

from agent_memory.engines.postgres import Opening
from agent_memory.engines.postgres.connection import LOCK_SECONDS, Database, PostgresSession, Row
from agent_memory.ledger.journal import genesis
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.shipment import FILLING, being_filled, occupied
from agent_memory.models.errors import InvalidInput, PartMissing, StoreError, StoreNewer

OLDEST_SERVER = 16
OLDEST_VECTOR = (0, 7)
EXPANDS = "-- expands\n"
OUTSIDE = "-- outside a transaction\n"


def migrations() -> dict[int, str]:
    """Number -> script, in order."""
    folder = resources.files("agent_memory.engines.postgres") / "migrations"
    found = {int(file.name[:4]): file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql")}
    return dict(sorted(found.items()))


@cache
def newest() -> int:
    return max(migrations())


def lowest(scripts: dict[int, str]) -> int:
    """The oldest version of the tables that a program must know to use those that these scripts make."""
    return max(number for number, script in scripts.items() if not script.startswith(EXPANDS))


def check_version(version: int, floor: int) -> None:
    """Every write asks: another process may have upgraded the tables since they were opened, or put others there."""
    if version > FILLING:
        raise being_filled("this database")
    if version < newest():
        raise StoreError(
            f"the tables were replaced by older ones: version {version}, not {newest()}", hint="restart this process"
        )
    if floor > newest():
        raise StoreNewer(
            f"the store was upgraded by another process: it has schema version {version}, and no program that knows "
            f"less than {floor} may write to it; this one knows {newest()}",
            hint="upgrade agent-memory here as well; nothing was written",
        )


def declare(session: PostgresSession, scripts: dict[int, str] | None = None, *, filling: bool = False) -> None:
    """Note of which version the tables are, and who may use them. `filling`: nobody, for now."""
    known = scripts or migrations()
    version = max(known) + (FILLING if filling else 0)
    session.send("put_version", {"version": str(version), "floor": str(lowest(known))})


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
        current = _version(session, database.name, scripts, filling=how.filling)
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
    if current < max(scripts):
        upgrade(database, scripts)
    elif not how.filling and _unfinished(database, _afterwards(scripts)):
        _finish(database, _afterwards(scripts))


def upgrade(database: Database, scripts: dict[int, str]) -> None:
    """In one transaction, all or nothing; then what cannot be in one."""
    with database.writing(None) as session:
        session.send("schema_lock")
        current = _version(session, database.name, scripts)
        if current < max(scripts):
            _upgrade(session, database.name, current, scripts)
    if steps := _afterwards(scripts):
        _finish(database, steps)


def _upgrade(session: PostgresSession, name: str, current: int, scripts: dict[int, str]) -> None:
    if current == 0:
        session.send("create_schema")
    _extension(session, name)
    for number in (number for number in scripts if number > current):
        for statement in _statements(scripts[number].partition(OUTSIDE)[0]):
            session.connection.execute(statement.encode())
    if current == 0:
        salt = secrets.token_bytes(SALT_BYTES)
        session.send("insert_store", {"salt": salt, "genesis": genesis(salt, None)})
    declare(session, scripts)


def _afterwards(scripts: dict[int, str]) -> dict[int, str]:
    return {number: after for number, script in scripts.items() if (after := script.partition(OUTSIDE)[2])}


def _finish(database: Database, steps: dict[int, str]) -> None:
    """By one process at a time; others do not wait for it, since an index is made when all who wait have ended."""
    with database.writing(None) as session:
        if not session.cell("try_schema_lock"):
            return
        done = _done(session)
        session.send("idle_at_will")  # the last, so that nothing that was read here stays open
        session.pipeline.sync()
        for number in (number for number in steps if number > done):
            for statement in _statements(steps[number]):
                database.alone(statement, seconds=LOCK_SECONDS)
        session.send("put_meta", {"name": "outside", "value": str(max(steps))})


def _unfinished(database: Database, steps: dict[int, str]) -> bool:
    """Whether something was stopped that this role may do."""
    if not steps:
        return False
    with database.reading(None) as session:
        return bool(session.cell("owns")) and _done(session) < max(steps)


def _done(session: PostgresSession) -> int:
    return int(session.cell("get_meta", {"name": "outside"}) or 0)


def _statements(script: str) -> Iterator[str]:
    """One by one: several are not sent at once where their answers are read later."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if line.rstrip().endswith(";") and pending.count("$$") % 2 == 0:
            yield pending
            pending = ""


def _check_server(session: PostgresSession, name: str) -> None:
    version, replica, encoding = session.row("server") or (0, False, "")
    if version // 10_000 < OLDEST_SERVER:
        raise StoreError(
            f"this is PostgreSQL {version // 10_000}, and agent-memory needs {OLDEST_SERVER} or newer: {name}",
            hint="upgrade the server, or use another",
        )
    if replica:
        raise StoreError(
            f"the database is a read-only replica: {name}",
            hint="give the address of the primary (AGENT_MEMORY_POSTGRES_URI)",
        )
    if encoding != "UTF8":
        raise StoreError(
            f"the database is encoded in {encoding}, not UTF8: {name}", hint="create one with encoding UTF8"
        )


def _extension(session: PostgresSession, name: str) -> None:
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


def _version(session: PostgresSession, name: str, scripts: dict[int, str], *, filling: bool = False) -> int:
    """Of our tables; 0: there are none. A newer one is told only where these programs may use it."""
    newest = max(scripts)
    if not session.cell("tables_there"):
        return 0
    if not session.cell("may_use"):
        raise StoreError(
            f"this role may not use the schema agent_memory: {name}", hint="docs/guides/postgresql.md has the grants"
        )
    found, floor = session.row("version") or (0, 0)
    if filling and found == FILLING + newest:
        return newest
    if found > FILLING:
        raise being_filled(name)
    if floor > newest or (filling and found > newest):
        raise StoreNewer(
            f"the store has schema version {found}, this agent-memory knows {newest}: {name}",
            hint="upgrade agent-memory; nothing was changed",
        )
    return int(found)


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
            version = _version(session, database.name, migrations())
            owns = bool(version) and bool(session.cell("owns"))
            return Health._make((database.name, *found, session.cell("extension"), version, max(migrations()), owns))
    finally:
        database.close()

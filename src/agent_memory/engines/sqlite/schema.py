"""Opening a file: create it, upgrade it by numbered migrations, or say why not. Views for other SQL tools."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from agent_memory.engines.sqlite import chains, keyring, owning
from agent_memory.engines.sqlite.connection import Connections, called, connect, looking, translated
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.shipment import FILLING, being_filled, occupied
from agent_memory.models.errors import InvalidInput, StoreError, StoreNewer
from agent_memory.models.kinds.kind import Kind

APPLICATION_ID = 0x61674D65  # "agMe": tells our files from other SQLite databases
KEYS_SEALED = 4  # the step from which on the journal has lines for keys
CHAIN_A_TENANT = 6  # the step that makes a journal for each tenant out of one for all
NAMES_OF_A_TENANT = 10  # the step that gives each tenant names of its own
ACTIVE_VIEWS = 15  # the step from which on views show only what is active
_COLUMNS = frozenset(  # of every view: a payload field of the same name is left out
    "id tenant user agent text record_status importance confidence record_source key conversation_id valid_from "
    "valid_to recorded_at".split()
)


def migrations() -> dict[int, str]:
    """Number -> script, in order."""
    found = {
        int(file.name[:4]): file.read_text("utf-8") for file in Path(__file__).with_name("migrations").glob("*.sql")
    }
    return dict(sorted(found.items()))


def open_file(
    path: Path, *, accept_damage: bool = False, setting: str | None = None, filling: bool = False
) -> Connections:
    """A pool on a file of the current schema version. Before that is known, not a byte is changed. `accept_damage`: a
    file of 0.1 is upgraded although its journal is broken. `setting`: as in `Connections`. `filling`: also a file that
    is being filled, in this version of the schema."""
    name = called(path, setting)
    try:
        if path.is_dir():
            raise StoreError(f"there is a directory where the store should be: {name}", hint="name a file inside it")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
        empty = path.stat().st_size == 0
    except OSError as error:
        raise StoreError(
            f"the store cannot be created: {name}: {error.strerror}", hint="choose another path"
        ) from error
    scripts = migrations()
    current = 0 if empty else _look(path, max(scripts) + (FILLING if filling else 0), name)
    if filling and current == FILLING + max(scripts):
        return Connections(path, setting=setting)
    if filling and current not in (0, max(scripts)):
        raise occupied(name)
    connections = Connections(path, read_only=not _writable(path), setting=setting)
    if connections.read_only:
        if current != max(scripts):
            raise StoreError(
                f"the store is read-only, and its schema has version {current}, not {max(scripts)}: {name}",
                hint="copy it to where it can be written and upgraded",
            )
        return connections
    try:
        upgrade(connections, scripts, accept_damage=accept_damage)
    except BaseException:
        connections.close()
        raise
    return connections


def version(path: Path) -> int:
    """That of a file of ours; nothing is changed."""
    return _look(path, max(migrations()), str(path))


def _look(path: Path, newest: int, name: str) -> int:
    """The version of a file that may be anybody's."""
    how = looking(path)
    try:
        with closing(connect(path, read_only=True)) as connection:
            return _version(connection, name, newest)
    except sqlite3.Error as error:
        if how != looking(path):  # somebody began to write, or ended, under our eyes
            return _look(path, newest, name)
        raise translated(error, name) from error


def _writable(path: Path) -> bool:
    """Whether SQLite can write the file and its log: that is made beside it, or there already."""
    beside = [Path(f"{path}{end}") for end in ("-wal", "-shm")]
    return os.access(path, os.W_OK) and (
        os.access(path.parent, os.W_OK) or all(os.access(one, os.W_OK) for one in beside)
    )


def upgrade(connections: Connections, scripts: dict[int, str], *, accept_damage: bool = False) -> None:
    """Bring the file to the newest version, each step in one transaction; processes that come at once wait."""
    newest = max(scripts)
    with connections.reading() as connection:
        if _version(connection, connections.name, newest) == newest:
            return
    with connections.writing() as connection:
        current = _version(connection, connections.name, newest)
        for number in (number for number in scripts if number > current):
            for statement in _statements(scripts[number]):
                connection.execute(statement)
            if number == CHAIN_A_TENANT:
                chains.part(connection, connections.name, accept_damage=accept_damage)
            elif number == NAMES_OF_A_TENANT:
                owning.part(connection)
            elif number == ACTIVE_VIEWS:
                for (name,) in connection.execute(SQL["views_of_kinds"]).fetchall():
                    connection.execute(f'drop view "{name}"')
        if current < KEYS_SEALED:
            keyring.note_all(connection)
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(f"pragma user_version = {newest}")


def check_version(connection: sqlite3.Connection, name: str) -> None:
    """Every write asks: another process may have upgraded the file since it was opened."""
    if cell(connection, "pragma user_version") != newest():
        _version(connection, name, newest())
        raise StoreError(f"the store was upgraded by another process: {name}", hint="open it again")


def newest() -> int:
    global _NEWEST
    if _NEWEST is None:
        _NEWEST = max(migrations())
    return _NEWEST


_NEWEST: int | None = None


def _version(connection: sqlite3.Connection, name: str, newest: int) -> int:
    version: int = cell(connection, "pragma user_version")
    ours = cell(connection, "pragma application_id") == APPLICATION_ID
    if not ours and (version or not cell(connection, SQL["is_empty"])):
        raise StoreError(f"the file is a database of another program: {name}", hint="choose another path")
    if newest < FILLING < version:
        raise being_filled(name)
    if version > newest:
        raise StoreNewer(
            f"the store has schema version {version}, this agent-memory knows {newest}: {name}",
            hint="upgrade agent-memory; nothing was changed",
        )
    return version


def _statements(script: str) -> Iterable[str]:
    """One by one: `executescript` would commit the transaction that keeps a step whole."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending


def create_views(connection: sqlite3.Connection, kinds: Iterable[Kind], *, replace: bool = False) -> None:
    """A view per kind, named by its plural: what is active and holds now, one column per payload field."""
    taken = dict(connection.execute(SQL["tables_and_views"]))
    for kind in kinds:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", kind.plural) or taken.get(kind.plural) == "table":
            raise InvalidInput(
                f"kind {kind.name}: its plural {kind.plural!r} cannot name a view",
                hint="use lower-case letters, digits and _, and none of our table names",
                field="plural",
            )
        if kind.plural in taken and not replace:
            continue
        connection.execute(f'drop view if exists "{kind.plural}"')
        connection.execute(_view(kind))


def _view(kind: Kind) -> str:
    fields = [name for name in kind.payload.model_fields if name not in _COLUMNS]
    extracted = "".join(f""",\n    json_extract(c.payload, '$.{name}') as "{name}\"""" for name in fields)
    name = kind.name.replace("'", "''")
    return SQL["create_view"].format(plural=kind.plural, kind=name, fields=extracted)

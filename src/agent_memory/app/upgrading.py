"""Upgrading a store when its owner asks for it. Every command does so by itself; this one can be told to go on where
the journal of an old file is broken, which opening it never does, and it makes the tables of a new database."""

from __future__ import annotations

from dataclasses import dataclass

from agent_memory.app import config, registry
from agent_memory.engines.sqlite import schema
from agent_memory.models.errors import InvalidInput


@dataclass(frozen=True)
class Upgraded:
    """The version of the schema before and after."""

    store: str
    before: int
    after: int


def upgrade(url: str, *, accept_damage: bool = False) -> Upgraded:
    """`Corrupt` names the first line of the journal that is broken, unless that is accepted."""
    located = registry.locate(url)
    if located.partition("://")[0] in registry.POSTGRES:
        return _database(located)
    if not located.startswith("sqlite://"):
        raise InvalidInput(
            f"store: {config.shown('store', url)} is not a file",
            hint="only SQLite files and PostgreSQL databases are upgraded here",
            field="store",
        )
    registry.check_there(located)
    path = registry.sqlite_path(located)
    before = schema.version(path)
    schema.open_file(path, accept_damage=accept_damage).close()
    return Upgraded(str(path), before, schema.version(path))


def _database(url: str) -> Upgraded:
    registry.postgres("store")
    from agent_memory.engines.postgres import schema

    before = schema.health(url)
    schema.open_database(url).close()
    return Upgraded(before.place, before.schema, schema.health(url).schema)

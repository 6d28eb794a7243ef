"""Vocabularies: in which words this store is written, and which of them a rebuild has still to make again."""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.rebuild import begins
from agent_memory.ledger.seals import sealed
from agent_memory.ports.changes import Vocabulary


def stored(connections: Connections) -> tuple[Vocabulary, ...]:
    with connections.reading() as connection:
        return known(connection)


def known(connection: sqlite3.Connection) -> tuple[Vocabulary, ...]:
    """The one that is written, then the others."""
    return tuple(Vocabulary(name, digest) for _, name, digest, _ in connection.execute(SQL["vocabularies"]))


def names(connection: sqlite3.Connection) -> dict[int, str]:
    """By number."""
    return {number: name for number, name, _, _ in connection.execute(SQL["vocabularies"])}


def written(connection: sqlite3.Connection) -> Vocabulary | None:
    return next(iter(known(connection)), None)


def settle(connection: sqlite3.Connection, vocabulary: Vocabulary) -> None:
    """From now on words are written so; what is there is left to a rebuild."""
    for number, name, digest, active in connection.execute(SQL["vocabularies"]).fetchall():
        if active:
            connection.execute(SQL["put_vocabulary"], sealed(number, name, digest, 0))
    number = cell(connection, SQL["next_vocabulary"])
    connection.execute(SQL["put_vocabulary"], sealed(number, vocabulary.name, vocabulary.digest, 1))


def begin(connection: sqlite3.Connection, vocabulary: Vocabulary) -> None:
    if begins(known(connection), vocabulary):
        settle(connection, vocabulary)

"""Vocabularies: in which words this store is written, and which of them a rebuild has still to make again."""

from __future__ import annotations

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.ledger.rebuild import begins
from agent_memory.models.errors import Changed
from agent_memory.ports.changes import Vocabulary


def stored(database: Database) -> tuple[Vocabulary, ...]:
    with database.reading(None) as session:
        return known(session)


def known(session: PostgresSession) -> tuple[Vocabulary, ...]:
    """The one that is written, then the others."""
    return tuple(Vocabulary(name, digest) for _, name, digest, _ in session.rows("vocabularies"))


def written(session: PostgresSession) -> Vocabulary | None:
    return next((Vocabulary(*said) for said in session.rows("written")), None)


def settle_first(session: PostgresSession, vocabulary: Vocabulary) -> None:
    """For the first write of a store: `Changed` when another one, in other words, was faster."""
    session.send("first_vocabulary", {"name": vocabulary.name, "digest": vocabulary.digest})
    stored = written(session)
    if stored is None or stored.name != vocabulary.name:
        raise Changed("the words of the store are made otherwise now", hint="open it again")


def begin(session: PostgresSession, vocabulary: Vocabulary) -> None:
    """A rebuild, unless one in these words was begun and did not come to its end. Nobody writes meanwhile."""
    session.send("change_spaces")
    if begins(known(session), vocabulary):
        session.send("end_vocabulary")
        session.send("next_vocabulary", {"name": vocabulary.name, "digest": vocabulary.digest})

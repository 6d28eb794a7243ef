"""The job that prepares scopes which are too large for memory: words and vectors of each in tables, batch by batch,
then an HNSW index of its own, made beside whoever reads and writes. Until it is ready, readers go on with shelves.

How far a scope has come is stored with each batch, so one that is killed goes on there; an index that was left half
made is dropped, and made again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from agent_memory.engines.postgres.connection import LOCK_SECONDS, Database, PostgresSession
from agent_memory.engines.postgres.statements import SQL

RECENT = 2000  # contents of a large scope that stay in memory, the newest: what is told of all is estimated by them
BATCH = 500  # journal lines in one transaction, for which erasures wait
MOST_DIMENSIONS = 4000  # of a vector that pgvector can index


class ScopeProgress(NamedTuple):
    """A scope, how far it is prepared, and its last line. `stands`: what is there counts."""

    tenant: str
    scope: int
    line: int
    last: int
    ready: bool
    stands: bool

    @property
    def done(self) -> bool:
        return self.ready and self.stands and self.line >= self.last


class PostgresIndexing:
    """The `Indexing` port: for scopes that more than `most` lines tell of."""

    def __init__(self, database: Database, most: int) -> None:
        self._database, self._most = database, most

    def able(self) -> bool:
        with self._database.reading(None) as session:
            return bool(session.cell("large_able"))

    def wanting(self) -> int:
        return sum(not (one.ready and one.stands) for one in self._wanted())

    def left(self) -> int:
        return sum(not one.done for one in self._wanted()) if self.able() else 0

    def run(self, seconds: float | None) -> Mapping[str, int]:
        deadline = None if seconds is None else time.monotonic() + seconds
        if not self.able():
            return {"contents": 0, "left": 0}
        building = self._tidied()
        contents = left = 0
        for one in self._wanted():
            if not one.done and (deadline is None or time.monotonic() < deadline):
                contents += self._prepared(one, deadline, building)
        left = sum(not one.done for one in self._wanted())
        return {"contents": contents, "left": left}

    def _wanted(self) -> list[ScopeProgress]:
        asked = {"most": self._most, "dimensions": MOST_DIMENSIONS}
        with self._database.reading(None) as session:
            return [*map(ScopeProgress._make, session.rows("large_wanted", asked))]

    def _tidied(self) -> bool:
        """Without indexes that are of no use; True while one is being made, which may be any of them."""
        with self._database.reading(None) as session:
            if session.cell("large_building"):
                return True
            useless = [name for name, used in session.rows("large_indexes") if not used]
        for name in useless:
            self._database.alone(SQL["drop_large_index"].format(index=name), seconds=LOCK_SECONDS)
        return False

    def _prepared(self, one: ScopeProgress, deadline: float | None, building: bool) -> int:
        """How many contents were added."""
        if not one.stands:
            self._begin(one)
        added, more = 0, True
        while more and (deadline is None or time.monotonic() < deadline):
            count, more = self._batch(one)
            added += count
        if not more and not building and not (one.ready and one.stands):
            self._finish(one)
        return added

    def _begin(self, one: ScopeProgress) -> None:
        """After whoever erases something now, who does not know yet that words and vectors may be added."""
        with self._database.writing(one.tenant) as session:
            if session.row("lock_mine") is not None:
                session.send("begin_large", {"scope": one.scope})

    def _batch(self, one: ScopeProgress) -> tuple[int, bool]:
        """How many contents were added, and whether there may be more."""
        with self._database.writing(one.tenant) as session:
            held = session.row("hold_large_scope", {"scope": one.scope})
            if held is None:
                return 0, False  # the tenant was erased
            space, line = held
            if line < 0:
                _empty(session, one.scope, -line)
                return 0, True
            asked = {
                "scope": one.scope,
                "space": space,
                "line": line,
                "batch": BATCH,
                "recent": min(RECENT, self._most),
            }
            to = session.cell("large_next", asked)
            if to is None:
                return 0, False
            asked["to"] = to
            session.send("fill_large_words", asked)
            session.send("fill_large_vectors", asked)
            return session.cell("move_large", asked), True

    def _finish(self, one: ScopeProgress) -> None:
        with self._database.reading(one.tenant) as session:
            held, extension = session.row("large_place", {"scope": one.scope}), session.row("extension")
        if held is None or extension is None:
            return
        tenant, space, dimension = held
        if dimension:
            numbers = {"tenant": tenant, "scope": one.scope, "space": space, "dimension": dimension}
            filled = {name: str(number) for name, number in numbers.items()}
            statement = SQL["make_large_index"].format(schema=extension[1], **filled)
            self._database.alone(statement, seconds=LOCK_SECONDS)
        with self._database.writing(one.tenant) as session:
            session.row("hold_large_scope", {"scope": one.scope})
            made = f"large_hnsw_{tenant}_{one.scope}_{space}", True
            if not dimension or made in session.rows("large_indexes"):  # else somebody left half of it, or dropped it
                session.send("ready_large", {"scope": one.scope})


def _empty(session: PostgresSession, scope: int, lines: int) -> None:
    """A batch of what was prepared before, of so many lines: forgetting waits for one of them, not for all."""
    asked = {"scope": scope, "from": lines, "to": max(0, lines - BATCH)}
    for statement in ("empty_large_words", "empty_large_vectors", "large_emptied"):
        session.send(statement, asked)

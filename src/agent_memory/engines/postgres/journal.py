"""Appending to a journal, under the lock of its head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from agent_memory.engines.postgres.connection import PostgresSession
from agent_memory.ledger.journal import NOBODYS, Head, Line
from agent_memory.models.record import Scope

STORE = 0
"""The tenant whose journal is the store's own."""


def append(
    session: PostgresSession, tenant: int, lines: Iterable[Line], scopes: Mapping[Scope, int] | None = None
) -> None:
    """Whoever calls it holds the head. `scopes` has the number of each that a line is about."""
    made, known = list(lines), scopes or {}
    if not made:
        return
    numbers = [NOBODYS if line.scope is None else known[line.scope] for line in made]
    columns = dict(zip(Line._fields, map(list, zip(*made, strict=True)), strict=True))
    session.send("insert_lines", columns | {"tenant": tenant, "scope": numbers})
    last = made[-1]
    session.appended[None if tenant == STORE else session.tenant] = last.seq
    session.send("move_head", {"tenant": tenant, "seq": last.seq, "at": last.at, "chain": last.chain})
    lasts = {number: line.seq for number, line in zip(numbers, made, strict=True) if number != NOBODYS}
    if lasts:
        told = Counter(numbers)
        session.send(
            "touch_scopes",
            {
                "tenant": tenant,
                "scopes": [*lasts],
                "lasts": [*lasts.values()],
                "lines": [told[number] for number in lasts],
            },
        )


def tell_store(session: PostgresSession, lines: Callable[[Head], Sequence[Line]]) -> None:
    """Lines in the store's own journal, made for where it stands."""
    append(session, STORE, lines(Head(*(session.row("lock_head", {"tenant": STORE}) or ()))))

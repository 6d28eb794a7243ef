"""Texts in another codec, where they stand: no version and no line comes of it, since seals are over the text."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.schema import check_version, create_views
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.codecs import encoded, plain
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.store import Recoded


class SqliteRecoding:
    """The `Recode` of a store. `kinds` are those that have views."""

    def __init__(self, connections: Connections, kinds: Callable[[], Iterable[Kind]]) -> None:
        self._connections = connections
        self._kinds = kinds

    def __call__(self, codec: str | None, *, after: int = 0, until: int | None = None, limit: int = 256) -> Recoded:
        """Encoded before anybody has to wait; what went meanwhile, or was encoded by another, is passed over."""
        which = {"codec": codec, "after": after, "until": until, "limit": limit}
        with self._connections.reading() as connection:
            rows = connection.execute(SQL["codable"], which).fetchall()
        if not rows:
            return Recoded(0, None)
        made = [{"content": content, "before": before, **_made(raw, before, codec)} for content, raw, before in rows]
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            if codec is not None:
                _renew_views(connection, self._kinds())
            told = [one for one in made if one["codec"] != one["before"]]
            changed = sum(connection.execute(SQL["recode"], one).rowcount for one in told)
        return Recoded(changed, max(content for content, _, _ in rows))


def _made(raw: object, before: str | None, codec: str | None) -> dict[str, object]:
    """The cells of a text in a codec, or as it stands, where that is not smaller. What is damaged stays as it is."""
    try:
        text = plain(raw, before) if before is not None else bytes(raw).decode()  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return {"text": raw, "codec": before}
    data = text.encode()
    small = None if codec is None else encoded(data, codec)
    return {"text": data, "codec": None} if small is None else {"text": small, "codec": codec}


def _renew_views(connection: sqlite3.Connection, kinds: Iterable[Kind]) -> None:
    """Those of an older version would show what is encoded as a text."""
    if old := connection.execute(SQL["plain_views"]).fetchall():
        for (name,) in old:
            connection.execute(f'drop view "{name}"')
        create_views(connection, kinds)

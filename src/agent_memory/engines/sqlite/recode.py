"""Texts in another codec, where they stand: no version and no line comes of it, since seals are over the text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence

from agent_memory.engines.sqlite.cells import lenient
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning
from agent_memory.engines.sqlite.schema import check_version, create_views
from agent_memory.engines.sqlite.statements import SQL, listed
from agent_memory.ledger.codecs import encoded, plain, sized
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.records import View
from agent_memory.ports.store import Recoded, TextSizes


class SqliteRecoding:
    """The `Recode` and the `Encodings` of a store. `kinds` are those that have views."""

    def __init__(self, connections: Connections, interning: Interning, kinds: Callable[[], Iterable[Kind]]) -> None:
        self._connections = connections
        self._interning = interning
        self._kinds = kinds

    def sizes(self, view: View) -> TextSizes:
        with self._connections.reading() as connection, lenient(connection):
            scopes = listed(self._interning.readable(connection, view.scope))
            counted = connection.execute(SQL["text_sizes"].format(scopes=scopes)).fetchone()
            sample = connection.execute(SQL["encoded_sample"].format(scopes=scopes)).fetchall()
        return sized(counted, sample)

    def encoded(self, view: View, ids: Sequence[str]) -> set[str]:
        with self._connections.reading() as connection:
            scopes = listed(self._interning.readable(connection, view.scope))
            return {
                id for (id,) in connection.execute(SQL["encoded_ids"].format(scopes=scopes), {"ids": json.dumps(ids)})
            }

    def __call__(self, codec: str | None, *, after: int = 0, before: int | None = None, limit: int = 256) -> Recoded:
        """Encoded before anybody has to wait; what went meanwhile, or was encoded by another, is passed over."""
        which = {"codec": codec, "after": after, "before": before, "limit": limit}
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

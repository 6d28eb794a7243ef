"""Texts in another codec, where they stand: no version and no line comes of it, since seals are over the text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.schema import check_version, create_views
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.codecs import encoded, plain
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.records import Recoded


def recode(
    connections: Connections, kinds: Iterable[Kind], codec: str | None, which: Mapping[str, int | None]
) -> Recoded:
    """Encoded before anybody has to wait; a content that went meanwhile, or that another encoded, is passed over."""
    with connections.reading() as connection:
        rows = connection.execute(SQL["codable"], {**which, "codec": codec}).fetchall()
    made = [{"content": content, "before": before, **_made(raw, before, codec)} for content, raw, before in rows]
    with connections.writing() as connection:
        check_version(connection, connections.name)
        if made and codec is not None:
            _renew_views(connection, kinds)
        changed = sum(connection.execute(SQL["recode"], one).rowcount for one in made if one["codec"] != one["before"])
    return Recoded(changed, rows[-1][0] if rows else None)


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

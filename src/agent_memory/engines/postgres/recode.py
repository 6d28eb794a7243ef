"""Texts in another codec, where they stand: no version and no line comes of it, since seals are over the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_memory.engines.postgres.connection import Database, Row
from agent_memory.engines.postgres.present import columns
from agent_memory.engines.postgres.read import content, reader
from agent_memory.ledger.codecs import encoded, sized
from agent_memory.ports.records import View
from agent_memory.ports.store import Recoded, TextSizes

_CONTENTS = 2**40  # of one tenant, and more: what comes out is where to go on, and means nothing else


class PostgresRecoding:
    """The `Recode` of a store, of the contents of its tenants, one after the other, and its `Encodings`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sizes(self, view: View) -> TextSizes:
        mine = reader(view.scope)
        with self._database.reading(view.scope.tenant) as session:
            counted, sample = session.send("text_sizes", mine), session.send("encoded_sample", mine)
        return sized(counted.fetchone() or (0, 0, 0, 0), sample.fetchall())

    def encoded(self, view: View, ids: Sequence[str]) -> set[str]:
        with self._database.reading(view.scope.tenant) as session:
            return {id for (id,) in session.rows("encoded_ids", reader(view.scope) | {"ids": [*ids]})}

    def __call__(self, codec: str | None, *, after: int = 0, before: int | None = None, limit: int = 256) -> Recoded:
        """Encoded before anybody has to wait; what went meanwhile, or was encoded by another, is passed over."""
        tenant, first = divmod(after, _CONTENTS)
        which = {"tenant": tenant, "after": first, "before": before, "codec": codec, "limit": limit}
        with self._database.reading(None) as session:
            rows = session.rows("codable", which)
        if not rows:
            return Recoded(0, None)
        made = columns("tenants contents before texts encoded codecs", _made(rows, codec))
        with self._database.writing(None) as session:
            changed = session.changed("recode", made) if made["contents"] else 0
        return Recoded(changed, max(tenant * _CONTENTS + number for tenant, number, *_ in rows))


def _made(rows: list[Row], codec: str | None) -> Iterator[Row]:
    """The cells of texts in a codec, or as they stand, where that is not smaller. What is damaged stays as it is."""
    for tenant, number, text, data, before in rows:
        try:
            said = content(text, data, before)
        except (TypeError, ValueError):
            continue
        small = None if codec is None else encoded(said.encode(), codec)
        if (after := None if small is None else codec) != before:
            yield tenant, number, before, said if small is None else None, small, after

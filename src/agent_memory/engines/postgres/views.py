"""Views for other SQL tools: what each kind has now, one column for each field of its payload."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from psycopg.errors import InsufficientPrivilege, LockNotAvailable

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, Database, PostgresSession
from agent_memory.models.errors import InvalidInput, StoreError
from agent_memory.models.kinds.kind import Kind

_COLUMNS = frozenset(  # of every view: a payload field of the same name is left out
    "id tenant user agent text record_status importance confidence record_source key conversation_id valid_from "
    "valid_to recorded_at".split()
)


def prepare(database: Database, kinds: Sequence[Kind]) -> None:
    """Other tools can wait for their views: where this role may make none, whoever may makes them."""
    with database.reading(None) as session:
        taken = {name for name, is_view in session.rows("relations") if is_view}
    if any(kind.plural not in taken for kind in kinds):
        try:
            with database.writing(None, seconds=BRIEF_SECONDS) as session:
                create(session, kinds)
        except StoreError as error:
            if not isinstance(error.__cause__, InsufficientPrivilege | LockNotAvailable):
                raise


def create(session: PostgresSession, kinds: Iterable[Kind], *, anew: bool = False) -> None:
    session.send("schema_lock")
    taken: dict[str, bool] = dict(session.rows("relations"))
    for kind in kinds:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", kind.plural) or taken.get(kind.plural) is False:
            raise InvalidInput(
                f"kind {kind.name}: its plural {kind.plural!r} cannot name a view",
                hint="use lower-case letters, digits and _, and none of our table names",
                field="plural",
            )
        if anew:
            session.send("drop_view", plural=kind.plural)
        if anew or kind.plural not in taken:
            fields = [name for name in kind.payload.model_fields if name not in _COLUMNS]
            said = "".join(f",\n    said(c.payload, '{name}') as \"{name}\"" for name in fields)
            session.send("create_view", plural=kind.plural, kind=kind.name.replace("'", "''"), fields=said)

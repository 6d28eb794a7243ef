"""Records out and in as lines of JSON (NDJSON): every door streams them, none holds them all.

What goes out is every record of the user's own as it holds now; what comes in is what `records.add` takes, and what an
export wrote. The same lines again change nothing, so that an import that broke off can be repeated from its beginning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.models.record import Record, Status

Call = Callable[[str, dict[str, Any]], Any]

PAGE = 500
LONGEST_LINE = 8 * 1024 * 1024
JOIN = "\x1f"
"""Only a key that a kind made of several fields has it: the kind makes it again."""
STORE_S_OWN = frozenset({"scope", "recorded_at", "recorded_to", "seq", "version"})
"""Fields of an export that the store that takes it in makes anew."""


def exported(call: Call, user: str, where: dict[str, Any]) -> Iterator[list[Record]]:
    """Pages of the records that `records.find` gives, of this user alone; of every standing unless one is named. The
    oldest come first, and so they are taken in again."""
    for status in [where["status"]] if where.get("status") else list(Status):
        after_id = None
        while True:
            paging = {"status": status, "limit": PAGE, "after_id": after_id, "oldest_first": True}
            page = call("records.find", {**where, **paging})
            yield [record for record in page if record.scope.user == user]
            if len(page) < PAGE:
                break
            after_id = page[-1].id


class Import:
    """Lines that come in, a page of them a transaction. `lines` counts those that are in the store."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.lines = 0
        self.effects = {"created": 0, "updated": 0, "unchanged": 0}

    def take(self, lines: Sequence[bytes]) -> None:
        """The first line that is refused is an error; those before it are in the store, those after it are not."""
        for start in range(0, len(lines), PAGE):
            page = lines[start : start + PAGE]
            try:
                self._write(page)
            except AgentMemoryError:
                for line in page:  # which of them it is
                    self._write([line])

    def _write(self, lines: Sequence[bytes]) -> None:
        said = [record for line in lines if (record := _read(line)) is not None]
        for written in self._call("records.add_many", {"records": said}) if said else ():
            self.effects[written.effect] += 1
        self.lines += len(lines)


def _read(line: bytes) -> dict[str, Any] | None:
    """What an empty line says is nothing."""
    if not line.strip():
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"no JSON: {error}", hint="one JSON object a line") from None
    if not isinstance(found, dict):
        raise InvalidInput("no JSON object", hint='such as {"text": "…"}')
    if JOIN in str(found.get("key")):
        del found["key"]
    return {name: value for name, value in found.items() if name not in STORE_S_OWN and value is not None}

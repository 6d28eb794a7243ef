"""Records out and in as lines of JSON (NDJSON): every door streams them, none holds them all.

What goes out is every version of the user's own records that is believed, whenever it holds, and the links between
them; what comes in is what `records.add` takes, and what an export wrote. So what was true when travels, and a store
that takes it in answers the same, now and at every moment of valid time. What was once believed and is not any more,
and when the old store came to know things, stay with its journal: a store says of nothing that it knew it earlier than
it did. The same lines again change nothing, so that an import that broke off can be repeated from its beginning.
What was forgotten here does not come back unless that is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agent_memory.app.weight import too_heavy
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.models.kinds.govern import DECIDED_APART
from agent_memory.models.record import Link, Linked, Status
from agent_memory.ports.changes import HAS_TURN

Call = Callable[[str, dict[str, Any]], Any]

PAGE = 500
LONGEST_LINE = 8 * 1024 * 1024
JOIN = "\x1f"
"""Only a key that a kind made of several fields has it: the kind makes it again."""
STORE_S_OWN = frozenset({"scope", "recorded_at", "recorded_to", "seq", "version"})
"""Fields of an export that the store that takes it in makes anew."""


def exported(call: Call, user: str, where: dict[str, Any]) -> Iterator[list[Linked]]:
    """Pages of the versions that `records.versions` gives, of this user alone; of every standing unless one is named.
    What came first goes first, and so it is taken in again."""
    placing = _Placing()
    for status in [where["status"]] if where.get("status") else list(Status):
        after_seq = 0
        while True:
            page = call("records.versions", {**where, "status": status, "limit": PAGE, "after_seq": after_seq})
            yield [placing.placed(version) for version in page if _leaves(version, user)]
            if len(page) < PAGE:
                break
            after_seq = page[-1].seq


def _leaves(version: Linked, user: str) -> bool:
    """What a tenant decided stays with it: its fingerprints say nothing elsewhere. So does what recall learned."""
    return version.scope.user == user and version.kind not in DECIDED_APART


class _Placing:
    """A link stands with whichever of its ends comes later: then both are there when it is taken in. One that leads out
    of what is exported stays behind."""

    def __init__(self) -> None:
        self._gone: set[str] = set()
        self._waiting: dict[str, list[Link]] = {}

    def placed(self, version: Linked) -> Linked:
        links = self._waiting.pop(version.id, [])
        if version.id not in self._gone:
            self._gone.add(version.id)
            for link in version.links:
                near = link.target_id in self._gone
                (links if near else self._waiting.setdefault(link.target_id, [])).append(link)
        return version.model_copy(update={"links": links})


class Import:
    """Lines that come in, a page of them a transaction. `lines` counts those that are in the store."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._became: dict[str, str] = {}  # where a key led to a record that was there before
        self.lines = 0
        self.effects = {"created": 0, "updated": 0, "unchanged": 0, "held": 0, "forgotten": 0}

    def take(self, lines: Sequence[bytes], *, restore_forgotten: bool = False) -> None:
        """The first line that is refused is an error; those before it are in the store, those after it are not. Lines
        with the id of something that was forgotten are passed over and counted, or with `restore_forgotten` stored."""
        for start in range(0, len(lines), PAGE):
            page = lines[start : start + PAGE]
            try:
                self._write(page, not restore_forgotten)
            except AgentMemoryError:
                for line in page:  # which of them it is
                    self._write([line], not restore_forgotten)

    def _write(self, lines: Sequence[bytes], skip_forgotten: bool) -> None:
        said = [self._renamed(record) for line in lines if (record := _read(line)) is not None]
        asked = {"records": said, "skip_forgotten": skip_forgotten}
        for record, written in zip(said, self._call("records.add_many", asked) if said else (), strict=True):
            self.effects[written.effect] += 1
            if record.get("id") not in (None, written.id):
                self._became[record["id"]] = written.id
        self.lines += len(lines)

    def _renamed(self, record: dict[str, Any]) -> dict[str, Any]:
        """Links of a record lead to what their ends became, if that was in a page before."""
        links = record.get("links")
        if not self._became or not isinstance(links, list):
            return record
        return {**record, "links": [self._renamed_link(link) for link in links]}

    def _renamed_link(self, link: Any) -> Any:
        if not isinstance(link, dict):
            return link
        ends = {end: link[end] for end in ("source_id", "target_id") if isinstance(link.get(end), str)}
        return {**link, **{end: self._became.get(id, id) for end, id in ends.items()}}


def _read(line: bytes) -> dict[str, Any] | None:
    """What an empty line says is nothing."""
    if not line.strip():
        return None
    if (heavy := too_heavy(line)) is not None:
        raise heavy
    try:
        found = json.loads(line.decode("utf-8-sig"))  # of bytes it takes UTF-16, too, which nobody weighed
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}", hint="one JSON object a line") from None
    if not isinstance(found, dict):
        raise InvalidInput("not a JSON object", hint='such as {"text": "…"}')
    if JOIN in str(found.get("key")):
        del found["key"]
    if isinstance(links := found.get("links"), list):
        found["links"] = [one for one in links if not (isinstance(one, dict) and one.get("type") == HAS_TURN)]
    return {name: value for name, value in found.items() if name not in STORE_S_OWN and value is not None}

"""Receipts: what a read left behind. Flushed off the hot path; they never fail a read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from agent_memory.models.record import Scope
from agent_memory.ports.records import View

RETENTION = 90 * 86_400_000_000  # microseconds
JUST_NOW = 10  # what happened in the last tenth of a span does not prove that the span has passed


class ReceiptLine(NamedTuple):
    """One receipt: `body` is JSON; `handles` are the versions that were shown, and count as accessed. `terms` are the
    words of the query, hashed like those of contents (8 bytes each), so that an erasure finds who asked in its words;
    `APART` stands between those of one vocabulary and of another.
    `named` are versions that the body names without having shown them: no access, but erased with the record.
    Without a body it is an access alone, and no receipt is kept.
    `store` is the last line of the store's journal then, where it is known: if the tenant was erased since, and
    another has its name, this is not kept.
    """

    id: str
    view: View
    seq: int
    body: str
    handles: tuple[int, ...]
    terms: bytes = b""
    named: tuple[int, ...] = ()
    store: int | None = None

    def without_query(self) -> ReceiptLine:
        """The same, but nobody can tell what was asked."""
        if not self.body:
            return self
        body = json.loads(self.body)
        if "query" in body:
            body["query"] = None
        return self._replace(body=json.dumps(body, ensure_ascii=False, separators=(",", ":")), terms=b"")


def access(view: View, handle: int) -> ReceiptLine:
    """That somebody asked for this version by its name."""
    return ReceiptLine("", view, handle, "", (handle,))


class Accesses(NamedTuple):
    """`times` is None when it is not known any more how many there were; `last`, when it is not known when that was."""

    times: int | None
    last: int | None


class Kept(NamedTuple):
    """A receipt that was kept, whose it is and when the recall was."""

    id: str
    scope: Scope
    at: int
    body: str


class ReceiptStore(Protocol):
    """No receipt tells what was erased. `Erase` takes those that showed or named the record, and those of its readers
    whose query has at least half of its words in one of the erased contents."""

    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        """Lines may come late. One that tells of what is gone meanwhile is dropped. One whose reader saw a scope in
        which something was erased after the line's `seq` is kept without its query: nobody can compare the words any
        more. (So is a recall as of a moment before an erasure.)"""
        ...

    def expire(self, now: int) -> int:
        """Let go of what is older than `RETENTION` at this moment; how many receipts that were. `keep` does the same as
        of its newest line. A moment that nothing leads up to, no receipt and no line of the journal in the span before
        it (the last tenth apart), may be that of a wrong clock: then all is kept."""
        ...

    def receipt(self, view: View, id: str) -> str | None:
        """The body; None when there is none for this reader, or its retention is over."""
        ...

    def since(self, whose: View | str, moment: int, limit: int) -> list[Kept]:
        """The newest first, none older than a moment: those that this reader may see, or all of a tenant."""
        ...

    def accesses(self, view: View, ids: Sequence[str], *, until: int | None = None) -> Mapping[str, Accesses]:
        """How often and when last each record was recalled, in all or until a moment (microseconds); records that never
        were are left out. The total is known for ever, each single access for `RETENTION`: for so long, what came
        later than a moment can be taken off the total."""
        ...

"""A tenant that is erased whole: the lines that it leaves in the store's journal, and what these still prove.

None of them has its name. That of the tenant itself says which number it had, how many lines went with it and where its
chain ended: whoever noted that end elsewhere can tell that it is this one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from agent_memory.ledger.journal import (
    BROKEN,
    CLOSED,
    DEPARTED,
    KEY,
    TENANT,
    Head,
    Journal,
    Line,
    LineSubject,
    Signature,
)
from agent_memory.models.errors import NotFound
from agent_memory.ports.changes import Author, Mark

NO_KEY = b""
"""The proof in the last line about a key that went with its tenant: nothing."""


class Leaving(NamedTuple):
    """What an engine finds of a tenant, under the lock that keeps its writers out: its number, the end of its journal
    and how many lines that has, and the ids of its keys. `old`: where the journal ended that all tenants had before
    0.2, if this one has lines of it: its last line, and the value of its chain there."""

    number: int
    head: Head
    lines: int
    keys: tuple[str, ...] = ()
    old: tuple[int, bytes] | None = None


def farewell(tenant: str, found: Leaving | None, store: Head, author: Author, now: int) -> tuple[Line, ...]:
    """The lines of the store's journal that are left of a tenant."""
    if found is None:
        raise missing(tenant)
    journal = Journal(store)
    for id in found.keys:
        journal.append(KEY, LineSubject(), Signature(now, reason=id), NO_KEY)
    if found.old is not None:
        line, value = found.old
        journal.append(CLOSED, LineSubject(None, line), Signature(now), value)
    by = Signature(now, author.actor, author.reason)
    journal.append(DEPARTED, LineSubject(None, found.number, found.lines), by, found.head.chain)
    return tuple(journal.lines)


def missing(tenant: str) -> NotFound:
    return NotFound(
        f"there is no tenant {tenant!r}", hint="`agent-memory tenants list` names those there are", field="name"
    )


def another(founded: int, store: int | None, seq: int) -> bool:
    """Whether what was read at line `seq` of a tenant, when the store's journal ended at `store`, is another tenant's
    than the one that has the name now. That one is told of in line `founded` of the store's journal; 0: nobody has
    written in this name, or whoever did is erased. Without `store` nobody can tell; before line 1 it is nobody's."""
    return store is not None and seq > 0 and not 0 < founded <= store


class TenantHistory:
    """What the store's journal tells of tenants, for `verify`. Whatever stands in a line, nothing fails here."""

    def __init__(self) -> None:
        self.founded: dict[object, object] = {}  # number of a tenant -> where its chain begins
        self.departed: dict[object, int] = {}  # -> how many lines went with it
        self.closed: tuple[int, bytes] | None = None  # of the journal that all had: its last line and value
        self.accepted = ""  # lines of that one that were broken when the store was upgraded
        self.unread = 0  # of these, how many were missing
        self._accepted: list[range] = []

    def hear(self, operation: str | None, record: object, other: object, digest: object, reason: object) -> None:
        if operation == TENANT:
            self.founded[record] = digest
        elif operation == DEPARTED:
            self.departed[record] = other if isinstance(other, int) else 0
        elif operation == CLOSED and isinstance(record, int) and isinstance(digest, bytes):
            self.closed = record, digest
        elif operation == BROKEN:
            self.accepted, self.unread = str(reason), other if isinstance(other, int) else 0
            found = (part.partition("-") for part in self.accepted.split())
            pairs = [(first, last or first) for first, _, last in found if f"{first}{last}".isdecimal()]
            self._accepted = [range(int(first), int(last) + 1) for first, last in pairs]

    def knew(self, lines: range) -> bool:
        """Whether these lines are among those that were `accepted`."""
        place = bisect_right(self._accepted, lines.start, key=lambda one: one.start)
        return place > 0 and lines.stop <= self._accepted[place - 1].stop

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not as it should be, and known to be so."""
        if not self.accepted:
            return ()
        return (
            f"journal: of the one that all tenants had, these lines were not what was written when the store was "
            f"upgraded, which an operator accepted: {self.accepted}",
        )

    def wrong(self, there: Collection[object]) -> Iterator[tuple[object, str]]:
        """Numbers of tenants that are not `there` and should be, and the other way round."""
        yield from ((number, "is gone") for number in self.founded if number not in {*there, *self.departed})
        yield from ((number, "was erased, and is there again") for number in self.departed if number in there)


def lost(missing: Sequence[range], told: TenantHistory) -> Iterator[str]:
    """Rows of a file that are not there, unless they are as many as went with tenants. Only the end of a journal could
    be cut off so that its own chain does not tell."""
    went = sum(told.departed.values())
    if not told.departed:
        yield from (f"journal: row {rows.start} of the file is missing" for rows in missing)
    elif more := unaccounted(missing, told):
        yield f"journal: {went - more} rows of the file are missing, and {went} went with tenants that were erased"


def unaccounted(missing: Sequence[range], told: TenantHistory) -> int:
    """How many more rows went with tenants than are missing."""
    gone = sum(max(0, rows.stop - rows.start) for rows in missing) - (told.unread if told.closed else 0)
    return sum(told.departed.values()) - gone


def unlike(expect: Mark, end: int, told: TenantHistory) -> str:
    """What it means that a journal, which ends at line `end`, does not hold a line that somebody noted."""
    if told.closed is not None and expect.seq <= told.closed[0]:
        return (
            f"journal: line {expect.seq} was noted when all tenants had one journal; its values went when a tenant of "
            "it was erased; note the head that is printed now"
        )
    if end < expect.seq:
        return (
            f"journal: it ends at line {end}, and line {expect.seq} was noted: the end was cut off, or the mark is "
            "another tenant's"
        )
    return f"journal: line {expect.seq} is not the one that was noted: what came before it was changed"

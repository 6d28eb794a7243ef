"""Hash-chained journals: what a line says, and how it is proved. Each tenant has one of its own, in which nothing of
another tenant leaves a trace; the store has one for what concerns all of them: keys, spaces, and which tenants there
are and were."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agent_memory.models.record import Scope

PUT, AMEND, CONNECT, DISCONNECT, ERASE, EMBED, ADOPT, KEY, TENANT = (
    "put",
    "amend",
    "connect",
    "disconnect",
    "erase",
    "embed",
    "adopt",
    "key",
    "tenant",
)
DEPARTED, CLOSED, BROKEN = "departed", "closed", "broken"  # a tenant went; what 0.1 kept of the chain, and its damage
NAMES = dict(
    enumerate((PUT, AMEND, CONNECT, DISCONNECT, ERASE, EMBED, ADOPT, KEY, TENANT, DEPARTED, CLOSED, BROKEN), 1)
)
OPERATIONS = {name: number for number, name in NAMES.items()}
OF_TENANTS = tuple(OPERATIONS[name] for name in (TENANT, DEPARTED, CLOSED, BROKEN))
GENESIS = bytes(32)
OURSELVES = "agent-memory"  # the actor of what the library does by itself
NOBODYS = 0  # the scope in a line of the store's own journal


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def digest(salt: bytes, *values: object) -> bytes:
    """Proves values without telling them: nobody can guess them without the salt."""
    return hashlib.sha256(salt + _encode(values).encode()).digest()


def chained(before: bytes, line: Sequence[object], proof: bytes) -> bytes:
    """Each line seals itself and, through `before`, all lines that came before it. `line` names the actor in words."""
    return hashlib.sha256(before + _encode(line).encode() + proof).digest()


def genesis(salt: bytes, tenant: str | None, base: int = 0, before: bytes = b"") -> bytes:
    """Where the chain of a tenant begins, or that of the store (None). It seals whose it is; and, in a store that had
    one journal for all, where that ended: its last line and the value of its chain there. Without the salt, which goes
    with the tenant, it does not tell the name."""
    return digest(salt, tenant, base, before.hex())


class Common:
    """The one journal that all tenants had before 0.2, walked line by line: `broken` are those that are missing, or not
    what was written."""

    def __init__(self) -> None:
        self.last = 0
        self.value = GENESIS
        self.broken: list[range] = []
        self.missing = 0

    def follow(self, line: int, said: Sequence[object], proof: bytes, value: object) -> list[range]:
        """`value` is that of the chain at this line, as it is stored. What is found to be broken now."""
        gap = range(self.last + 1, line)
        self.missing += max(0, gap.stop - gap.start)
        try:
            whole = chained(self.value, said, proof) == value
        except (TypeError, ValueError):
            whole = False
        found = [*([gap] if gap else []), *([] if whole else [range(line, line + 1)])]
        self.broken += found
        self.last, self.value = line, value if isinstance(value, bytes) else GENESIS
        return found


def ranges(lines: Sequence[range]) -> str:
    """`7 20-22`."""
    parts: list[range] = []
    for one in lines:
        if parts and parts[-1].stop == one.start:
            parts[-1] = range(parts[-1].start, one.stop)
        else:
            parts.append(one)
    return " ".join(f"{one.start}" if one.stop == one.start + 1 else f"{one.start}-{one.stop - 1}" for one in parts)


class Head(NamedTuple):
    """The last line there is, and when it was written."""

    seq: int = 0
    at: int = 0
    chain: bytes = GENESIS


class Line(NamedTuple):
    """`scope` None: it is one of the store's journal, and no reader's. `record` is the one that changed, or where a
    link starts; `other` is where it ends; all are numbers of the same journal. Never content, only its salted
    digest."""

    seq: int
    at: int
    operation: int
    scope: Scope | None
    record: int | None
    other: int | None
    actor: str
    reason: str | None
    digest: bytes
    chain: bytes


class Journal:
    """The lines of one transaction: hands out `seq`. `scopes` are the numbers that lines are chained by, within the
    tenant: no number that the rest of a store has to do with is ever hashed."""

    def __init__(self, head: Head, scopes: Mapping[Scope, int] | None = None) -> None:
        self.head = head
        self.lines: list[Line] = []
        self._scopes = scopes or {}

    @property
    def next(self) -> int:
        return self.head.seq + 1

    def clock(self, now: int) -> int:
        """Recorded time never goes backwards, whatever the clock does."""
        return max(now, self.head.at)

    def append(self, operation: str, subject: LineSubject, by: Signature, proof: bytes = b"") -> int:
        scope, record, other = subject
        said = (self.next, self.clock(by.now), OPERATIONS[operation])
        number = NOBODYS if scope is None else self._scopes[scope]
        chain = chained(self.head.chain, (*said, number, record, other, by.actor, by.reason), proof)
        self.lines.append(Line(*said, scope, record, other, by.actor, by.reason, proof, chain))
        self.head = Head(said[0], said[1], chain)
        return self.head.seq


def broken(head: Head, common: Common, now: int) -> Line:
    """The line that tells for ever which lines of the common journal were broken when a store was upgraded, and an
    operator went on all the same. `other`: how many of them are missing."""
    journal = Journal(head)
    by = Signature(now, reason=ranges(common.broken))
    journal.append(BROKEN, LineSubject(None, common.broken[0].start, common.missing), by)
    return journal.lines[0]


def founding(head: Head, number: int, beginning: bytes, now: int) -> Line:
    """The line that a tenant's first write leaves in the store's journal: its number, and where its chain begins."""
    journal = Journal(head)
    journal.append(TENANT, LineSubject(None, number), Signature(now), beginning)
    return journal.lines[0]


class LineSubject(NamedTuple):
    """What a line is about."""

    scope: Scope | None = None
    record: int | None = None
    other: int | None = None


class Signature(NamedTuple):
    """Who writes lines, why and when."""

    now: int
    actor: str = OURSELVES
    reason: str | None = None

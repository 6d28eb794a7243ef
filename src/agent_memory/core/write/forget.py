"""Forgetting: the records that were named or that fit, and whatever was derived from them alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_memory.core.write.commit import Writing, write
from agent_memory.models.errors import NotFound
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Applied, Author, Erase
from agent_memory.ports.progress import tell
from agent_memory.ports.records import Filter, RecordStore, View

SLICE = 500  # records that go in one transaction


def forget(writing: Writing, ids: Sequence[str], author: Author, now: int, version: int | None = None) -> Applied:
    """All or none of these; `erased` names everything that went. With `version`, only while it is the newest one.

    The engine finds what was derived, in the same transaction: also what no longer holds, was superseded or archived.
    A record with another source stays, with its history: versions of it that came from what is forgotten are forgotten
    only by forgetting that record.
    """
    return write(writing, [Erase(id, True, version) for id in dict.fromkeys(ids)], author, now)


@dataclass
class Sweep:
    """How many fitted, and how many more went with them."""

    kinds: dict[str, int] = field(default_factory=dict)
    derived: int = 0
    scrubbed: bool = True

    @property
    def count(self) -> int:
        return sum(self.kinds.values())


def sweep(writing: Writing, view: View, where: Filter, author: Author | None) -> Sweep:
    """Count what fits among the reader's own, and with an `author` erase it. What he only shares with others stays.

    What fits is counted before anything goes: something that is derived from another one that fits counts as itself,
    and so does what somebody else forgets meanwhile.
    """
    records = writing.records
    kinds = _fitting(records, view, where)
    done = Sweep(dict(sorted(Counter(kinds.values()).items())))
    left, gone = list(kinds) if author is not None else [], set[str]()
    while author is not None and left:
        tell("forgetting", len(kinds) - len(left), len(kinds))
        some, left = left[:SLICE], left[SLICE:]
        try:
            applied = write(writing, [Erase(id, True, scope=scope) for scope, id in some], author, view.now)
        except NotFound:
            left = [one for one in _fitting(records, view, where) if one in kinds]
            if set(some) <= set(left):
                raise
            continue
        erased = set(applied.erased)
        gone |= erased
        done.scrubbed = applied.scrubbed
        left = [(scope, id) for scope, id in left if id not in erased]
        left = left or [one for one in _fitting(records, view, where) if one in kinds]  # of another scope, the same id
    tell("forgetting", len(kinds), len(kinds))
    done.derived = len(gone - {id for _, id in kinds})
    return done


def _fitting(records: RecordStore, view: View, where: Filter) -> dict[tuple[Scope, str], str]:
    """The kinds of those that fit, by their scope and id: an agent and its user may each have one with the same id."""
    after, kinds = 0, dict[tuple[Scope, str], str]()
    while page := records.believed(view, where, after=after, limit=SLICE):
        kinds |= {(one.scope, one.id): one.kind for one in page if one.scope.user == view.scope.user}
        after = page[-1].seq
    return kinds

"""From working memory into the archive: what is over and old gets the status `archived`, and each batch a summary. T10.

The archive is the same store: nothing is copied or lost, history and search go on, and what is forgotten is forgotten
once. A summary quotes some of the records that it is about, word by word, and goes with any of them that is forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from agent_memory.core.recall.summary import summary
from agent_memory.core.write.commit import SELF, How, Writing, commit, until_settled
from agent_memory.models.draft import Draft
from agent_memory.models.record import Link, Record, Status
from agent_memory.models.trust import least, trust_of
from agent_memory.models.visible import visible
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Expect
from agent_memory.ports.feed import Work
from agent_memory.ports.records import Filter, View

BATCH = 500
SAMPLES = 5
SAME = 0.8  # likeness from which on two of them say the same
LONGEST = 300  # characters that are quoted of one
OVER: Mapping[str, frozenset[str] | None] = {
    "decision": None,
    "event": None,
    "goal": frozenset({"completed", "abandoned"}),
    "task": frozenset({"completed", "done", "failed", "cancelled"}),
}
"""What is moved: kinds, and the statuses in which one is over; None: it always is."""


class Moving(NamedTuple):
    """How many records one write moves, for which job, and what is to stay."""

    batch: int = BATCH
    work: Work | None = None
    keep: Callable[[Record], bool] = lambda record: False


def migrate(
    writing: Writing,
    view: View,
    author: Author,
    cutoff: int,
    kinds: Collection[str] = OVER,
    how: Moving = Moving(),  # noqa: B008
) -> dict[str, int]:
    """How many of each kind were moved; those that began at the cutoff or later stay, and so does what others share."""
    moved = dict.fromkeys((kind for kind in kinds if kind in writing.kinds), 0)
    for kind in moved:
        last: str | None = None
        where = Filter(kinds=(kind,), before=cutoff)
        while page := writing.records.find(view, where, limit=how.batch, after=last):
            last = page[-1].id
            ids = [one.id for one in page if one.scope == author.scope and is_over(one) and not how.keep(one)]
            moved[kind] += until_settled(
                partial(_move, writing, author, view.now, how.work), partial(_over, writing, author, kind, ids)
            )
    return moved


def _over(writing: Writing, author: Author, kind: str, ids: list[str]) -> list[Record]:
    """Of these, what is over at this moment: one may have been taken up again since it was found."""
    heads = (writing.records.head(author.scope, kind, id=id) for id in ids)
    return [one for one in heads if one is not None and one.status == Status.ACTIVE and is_over(one)]


def _move(writing: Writing, author: Author, now: int, work: Work | None, batch: list[Record]) -> int:
    if batch:
        changes = [Amend(one.id, status=Status.ARCHIVED) for one in batch]
        expect = [Expect(one.version, id=one.id) for one in batch]
        how = How(changes=changes, expect=expect, work=work)
        commit(writing, [_summary(batch[0].kind, batch)], author, now, how)
    return len(batch)


def is_over(record: Record) -> bool:
    ended = OVER[record.kind]
    return ended is None or record.payload.get("status") in ended


def _quoted(text: str) -> str:
    """Its first line, cut between words."""
    line = visible(text.strip().split("\n", 1)[0])
    return line if len(line) <= LONGEST else line[: line.rfind(" ", 1, LONGEST) if " " in line[1:LONGEST] else LONGEST]


def _source(batch: list[Record]) -> str:
    """What quotes a stranger is a stranger's, however much else it quotes."""
    foreign = {trust_of(one.source): one.source for one in batch if trust_of(one.source).foreign}
    return foreign[least(foreign)] if foreign else "archive"


def _summary(kind: str, batch: list[Record]) -> Draft:
    ids, said = [one.id for one in batch], summary([_quoted(one.text) for one in batch], SAMPLES, SAME)
    first, last = min(one.valid_from for one in batch), max(one.valid_from for one in batch)
    return Draft(
        kind="summary",
        id=hashlib.blake2b(f"archive {' '.join(sorted(ids))}".encode(), digest_size=13).hexdigest(),
        text="\n- ".join(
            [f"archived: {len(ids)} records of kind {kind}, from {first:%Y-%m-%d} to {last:%Y-%m-%d}", *said]
        ),
        payload={
            "archived": kind,
            "count": len(ids),
            "first": first.isoformat(),
            "last": last.isoformat(),
            "samples": ids[:SAMPLES],
        },
        source=_source(batch),
        links=tuple(Link(source_id=SELF, target_id=id, type=DERIVED_FROM) for id in ids),
    )

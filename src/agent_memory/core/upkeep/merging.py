"""Records that state the same fact become one: the original words of one of them, in the place of all. E3.

Two may be merged when their vectors are more than `ALIKE` similar and their texts agree (`agreement.py`), in one scope,
of one kind that merges, from the same source, with the same payload, repository and conversation. Agreement is an
equality, so that candidates are found by a digest, one pass over a scope; only inside of one digest are vectors read,
and every pair is compared.

A group is written as a whole, and only while all of its members are what was read: killed anywhere, nothing is lost or
doubled, and what is merged once is not found again. Several groups are one write, since each write waits for the disk;
where it is refused, each of them is written alone, so that one that is busy stops no other. The originals are archived
with the reason `merged` and stay the sources of the new record, so that it can be taken apart. What was taken apart is
not merged again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.core.recall.summary import ranked
from agent_memory.core.upkeep.agreement import form
from agent_memory.core.upkeep.pruning import Pins, pins_of
from agent_memory.core.write.commit import How, Writing, connect, until_settled, with_vectors, write
from agent_memory.core.write.normalise import normalise
from agent_memory.ledger.request import own
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Changed, Conflict, Denied, NotFound, WriteRefused
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.kinds.pin import PIN
from agent_memory.models.merged import ACCESSES, FROM, Merged, accesses_before, consolidated_from
from agent_memory.models.record import Link, Record, Scope, Status
from agent_memory.ports.changes import DERIVED_FROM, DERIVING, Amend, Author, Change, Erase, Expect, Put, Vector
from agent_memory.ports.feed import Work
from agent_memory.ports.progress import tell
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIKE = 0.85
FEWEST = 100  # memories of a scope; of fewer none are merged
MOST = 50  # memories of one group
AT_ONCE = 200  # changes of one write of several groups
MOST_LINKS = 200  # of the members of a group; who has more is a place of its own in the graph
RISE = 1.1  # what was told again matters more
PAGE = 500
ACTOR, REASON, UNDONE = "upkeep", "merged", "taken apart"
_LOGS = ("agent_id", "cycle_id", "run_id")
_OURS = frozenset((FROM, ACCESSES))

Vectors = Mapping[int, tuple[Vector, ...]]


class Merging(NamedTuple):
    """Of which store, when, and for which job, if one does it. With `dry_run` nothing is written."""

    store: Store
    writing: Writing
    now: int
    work: Work | None = None
    dry_run: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.writing.kinds.items() if kind.merges)


def mergeable(record: Record, pins: Pins) -> bool:
    """Whether it may be merged with another at all: it stands alone, holds on, is not pinned and is not an entry in the
    log of a run."""
    alone = record.status is Status.ACTIVE and record.key is None and record.valid_to is None
    return alone and not pins.keep(record) and not any(record.payload.get(name) for name in _LOGS)


class Group(NamedTuple):
    """One that can be written. `linked`: with which others its members have a link."""

    made: Merged
    members: list[Record]
    changes: list[Change]
    linked: frozenset[str]


def merged_in(merging: Merging, scope: Scope) -> Iterator[list[Merged]]:
    """Everything in exactly this scope that is the same, write by write."""
    left, found = _buckets(merging, scope)
    if found < FEWEST:
        return
    while left:
        into = dict[str, str]()
        long = [ids for ids in left if len(ids) > MOST]
        for made in _in_steps(merging, scope, [ids[at : at + MOST] for ids in left for at in range(0, len(ids), MOST)]):
            yield made
            into |= {id: one.id for one in made for id in one.sources} if long else {}
        if merging.dry_run:
            return
        left = [_left(ids, into) for ids in long if not into.keys().isdisjoint(ids)]


def _left(ids: Sequence[str], into: Mapping[str, str]) -> list[str]:
    """What became of them, and those that nothing became of."""
    return [*dict.fromkeys(into[id] for id in ids if id in into), *(id for id in ids if id not in into)]


def _in_steps(merging: Merging, scope: Scope, slices: Sequence[Sequence[str]]) -> Iterator[list[Merged]]:
    """As many groups in one write as it may have changes. What is linked with a group of it waits for the next one: the
    link then leads to the merged record."""
    view, step = View(scope, merging.now), list[Group]()
    for done, ids in enumerate(slices):
        tell("merging", done, len(slices))
        for members, vectors in _agreeing(merging, scope, ids):
            group = _group(merging, view, members, vectors)
            if group is not None and step and not _fits(step, group):
                yield _written(merging, view, step)
                step, group = [], _group(merging, view, members, vectors)
            if group is not None:
                step.append(group)
    if step:
        yield _written(merging, view, step)


def _fits(step: Sequence[Group], group: Group) -> bool:
    changes = sum(len(one.changes) for one in (*step, group))
    return changes <= AT_ONCE and all(group.linked.isdisjoint(one.made.sources) for one in step)


def _buckets(merging: Merging, scope: Scope) -> tuple[list[list[str]], int]:
    """Ids of what agrees, the oldest first, and how many memories there are. Of each only a digest is kept."""
    seen: dict[bytes, list[str]] = {}
    view, where = View(scope, merging.now, valid_at=merging.now), Filter(kinds=merging.kinds)
    pins, after, found = pins_of(merging.store.records, scope, merging.now), 0, 0
    while page := merging.store.records.believed(view, where, after=after, limit=PAGE):
        own = [one for one in page if one.scope == scope and mergeable(one, pins)]
        for one in own:
            seen.setdefault(_digest(one), []).append(one.id)
        after, found = page[-1].seq, found + len(own)
        tell("comparing", found, found)
    return [ids for ids in seen.values() if len(ids) > 1], found


def _digest(record: Record) -> bytes:
    """Of everything that must be the same."""
    said = {name: value for name, value in record.payload.items() if name not in _OURS}
    same = (record.kind, record.source, record.repository, record.conversation_id, canonical_json(said))
    return hashlib.blake2b(repr((same, form(record.text, record.valid_from))).encode(), digest_size=16).digest()


def _agreeing(merging: Merging, scope: Scope, ids: Sequence[str]) -> Iterator[tuple[list[Record], Vectors]]:
    view, pins = View(scope, merging.now), pins_of(merging.store.records, scope, merging.now)
    found = [one for one in merging.store.records.get(view, ids) if one.scope == scope and mergeable(one, pins)]
    vectors = merging.store.index.vectors(view, [one.seq for one in found])
    rows = {one.id: _rows(merging, view, one, vectors) for one in found if one.seq in vectors} if len(found) > 1 else {}
    for members in groups(found, rows):
        whole = [one for one in members if not _was_taken_apart(merging, view, one)]
        if len(whole) > 1:
            yield whole, vectors


def groups(found: Sequence[Record], rows: Mapping[str, NDArray[np.float32]]) -> list[list[Record]]:
    """Of records that agree, those of which every pair is similar enough; of each its vectors. Who waits for a vector
    is not compared."""
    made: list[tuple[list[Record], list[NDArray[np.float32]]]] = []
    for one in sorted(found, key=lambda one: (one.valid_from, one.id)):
        if (own := rows.get(one.id)) is None:
            continue
        for members, others in made:
            if all(float((own @ other.T).min()) > ALIKE for other in others):
                members.append(one)
                others.append(own)
                break
        else:
            made.append(([one], [own]))
    return [members for members, _ in made if len(members) > 1]


def _rows(merging: Merging, view: View, record: Record, vectors: Vectors) -> NDArray[np.float32]:
    """Its vector; of a merged record those of all that it stands for, so that what joins it is like each of them."""
    import numpy as np

    known, left, single = dict(vectors), [record], list[Record]()
    while left:
        merged = [one.id for one in left if consolidated_from(one)]
        single += [one for one in left if not consolidated_from(one)]
        links = merging.store.records.links(view, merged) if merged else []
        ids = [one.target_id for one in links if one.type == DERIVED_FROM and one.source_id in merged]
        left = merging.store.records.get(view, sorted(ids)) if ids else []
    if missing := [one.seq for one in single if one.seq not in known]:
        known |= merging.store.index.vectors(view, missing)
    of = [known[one.seq] for one in single if one.seq in known] or [known[record.seq]]
    rows = np.stack([_middle(one) for one in of])
    return np.unique(rows, axis=0) if len(rows) > 1 else rows


def _middle(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    import numpy as np

    total: NDArray[np.float32] = np.sum([one.numbers for one in vectors], axis=0)
    return total / (np.linalg.norm(total) or np.float32(1))


def _was_taken_apart(merging: Merging, view: View, record: Record) -> bool:
    """By the line of each of its versions: a journal is long, and is not searched for a record. One that never changed
    was never merged; one that is gone by now is left alone."""
    if record.version == 1:
        return False
    records = merging.store.records
    try:
        seqs = {one.seq for one in records.history(view, record.id)}
    except NotFound:
        return True
    lines = (records.journal(view, after=seq - 1, limit=1, id=record.id) for seq in sorted(seqs))
    return any(line.reason == UNDONE for found in lines for line in found)


def _group(merging: Merging, view: View, members: list[Record], vectors: Vectors) -> Group | None:
    """What is to be written for these; None: they have too many links."""
    shown = members[ranked([one.text for one in members])[0]]
    ids = [one.id for one in members]
    made = Merged(id=_id_of(ids), text=shown.text, sources=ids)
    links = _links(merging, view, set(ids), made.id)
    if links is None:
        return None
    linked = frozenset(end for one in links if one.type != DERIVED_FROM for end in (one.source_id, one.target_id))
    if merging.dry_run:
        return Group(made, members, [], linked)
    puts = [_put(merging, draft, shown, vectors) for draft in _drafts(merging, view, members, shown, made.id)]
    archived = [Amend(id, status=Status.ARCHIVED) for id in ids]
    return Group(made, members, [*puts, *map(connect, links), *archived], linked)


def _written(merging: Merging, view: View, step: Sequence[Group]) -> list[Merged]:
    """In one write, or each of them in one, or not at all: where a member was changed or pinned meanwhile, or a gate
    refuses, its group stays as it is."""
    if merging.dry_run:
        return [one.made for one in step]
    pins = pins_of(merging.store.records, view.scope, merging.now)
    step = [one for one in step if not any(map(pins.keep, one.members))]
    expect = [Expect(0, id=one.made.id) for one in step]
    expect += [Expect(member.version, id=member.id) for one in step for member in one.members]
    # Each word of it is in force already: nothing is decided anew.
    author = Author(view.scope, ACTOR, REASON, reviewed=True)
    how = How(expect=expect, work=merging.work)
    try:
        if step:
            write(merging.writing, [change for one in step for change in one.changes], author, merging.now, how)
    except (Changed, WriteRefused):
        return [made for one in step for made in _written(merging, view, [one])] if len(step) > 1 else []
    return [one.made for one in step]


def _drafts(merging: Merging, view: View, members: list[Record], shown: Record, id: str) -> list[Draft]:
    """It has held since it was first told. From when it was last told it is a version of its own, and as recent."""
    counted = merging.store.receipts.accesses(view, [one.id for one in members])
    times = [(counted[one.id].times or 0) if one.id in counted else 0 for one in members]
    payload = {
        **shown.payload,
        FROM: sum(consolidated_from(one) or 1 for one in members),
        ACCESSES: sum(times) + sum(map(accesses_before, members)),
    }
    first, last = members[0].valid_from, members[-1].valid_from
    draft = replace(
        Draft.of(shown),
        id=id,
        payload=payload,
        importance=min(1.0, max(one.importance for one in members) * RISE),
        confidence=max(one.confidence for one in members),
        valid_from=last,
        valid_to=None,
    )
    return [draft] if first == last else [replace(draft, valid_from=first, valid_to=last), draft]


def _put(merging: Merging, draft: Draft, shown: Record, vectors: Vectors) -> Put:
    """Its words are those of a record that has its vectors: no model is asked."""
    put = normalise(draft, merging.writing.kinds, merging.now, merging.writing.wording.analyser)
    embedding = merging.writing.embedding
    if embedding.agree():  # those of an earlier model are not carried on: new ones are made later
        put = with_vectors(put, embedding.space, vectors[shown.seq], True)
    return put._replace(succeeds=True)


def _links(merging: Merging, view: View, ids: set[str], id: str) -> list[Link] | None:
    """To its originals, and to whatever they are connected with; None: these are too many."""
    made = {(id, one, DERIVED_FROM): Link(source_id=id, target_id=one, type=DERIVED_FROM) for one in sorted(ids)}
    for link in merging.store.records.links(view, sorted(ids)):
        source, target = (id if end in ids else end for end in (link.source_id, link.target_id))
        if link.type not in DERIVING and source != target:
            made.setdefault(
                (source, target, link.type), link.model_copy(update={"source_id": source, "target_id": target})
            )
    return [*made.values()] if len(made) <= MOST_LINKS else None


def _given_back(
    store: Store, writing: Writing, view: View, merged: Record, originals: Sequence[Record]
) -> Iterator[Link]:
    """What was connected with the merged record, or made from it, since: it is with the original whose words it has.
    What retells it, and its pin, go with it."""
    heir = next((one.id for one in originals if one.text == merged.text), None)
    ids = {one.id for one in originals}
    links, known = store.records.links(view, [merged.id]), store.records.links(view, sorted(ids))
    there = {(*(heir if end in ids else end for end in one.ends[:2]), one.type) for one in known}
    kinds = {one.id: one.kind for one in store.records.get(view, sorted({one.source_id for one in links}))}
    for link in links if heir is not None else ():
        kind = kinds.get(link.source_id)
        source, target = (heir if end == merged.id else end for end in link.ends[:2])
        goes = link.type in DERIVING and (kind is None or kind == PIN or writing.kinds[kind].retells)
        own_sources = source == heir and target in ids
        if not goes and not own_sources and (source, target, link.type) not in there:
            yield link.model_copy(update={"source_id": source, "target_id": target})


def _id_of(ids: Sequence[str]) -> str:
    return hashlib.blake2b(f"merged {' '.join(sorted(ids))}".encode(), digest_size=13).hexdigest()


def taken_apart(store: Store, writing: Writing, view: View, author: Author, id: str) -> list[str]:
    """The originals hold again and the merged record is gone, in one write; gives the ids of the originals."""

    def read() -> tuple[Record, list[Record]]:
        found = store.records.get(view, [id])
        if not found or not consolidated_from(found[0]):
            raise NotFound(f"no merged record {id!r}", hint="`agent-memory why ID` shows its origins", field="id")
        if found[0].scope not in own(author.scope):
            raise Denied(f"record {id!r} is shared by all users", hint="undo it with shared=True", field="id")
        links = [one for one in store.records.links(view, [id]) if one.type == DERIVED_FROM]
        if found[0].status is not Status.ACTIVE:
            into = next((one.source_id for one in links if one.target_id == id), "another")
            raise Conflict(f"{id} was merged again, into {into}", hint="undo that first", field="id")
        if len({one.text for one in store.records.history(view, id)}) > 1:
            raise Conflict(f"{id} was edited since it was merged", hint="edit or forget it instead", field="id")
        return found[0], store.records.get(view, [one.target_id for one in links if one.source_id == id])

    def attempt(present: tuple[Record, list[Record]]) -> list[str]:
        merged, originals = present
        changes: list[Change] = [
            Amend(one.id, status=Status.ACTIVE) for one in originals if one.status is Status.ARCHIVED
        ]
        changes += map(connect, _given_back(store, writing, view._replace(scope=merged.scope), merged, originals))
        changes.append(Erase(merged.id, with_derived=True, scope=merged.scope))
        by = author._replace(scope=merged.scope, reason=UNDONE)
        expect = [Expect(one.version, id=one.id) for one in (merged, *originals)]
        write(writing, changes, by, view.now, How(expect=expect))
        return [one.id for one in originals]

    return until_settled(attempt, read)

"""What may be pruned, and doing it: archived first, brought back if somebody wants it, removed after a time of grace.

Nothing marks what was pruned but the journal: a record is, whose newest version was archived by upkeep for one of these
reasons. What somebody else archived, for whatever reason, is no concern of ours. E5, C12, L11."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from agent_memory.core.graph.draft import ABOUT
from agent_memory.core.write.commit import How, Writing, until_settled, write
from agent_memory.models.decay import RATE, Decay
from agent_memory.models.kinds.documents import CHUNK, DOCUMENT
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.kinds.pin import PIN
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import SHARED, Record, Scope, Status
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Erase, Expect
from agent_memory.ports.feed import Work
from agent_memory.ports.receipts import Accesses, ReceiptStore
from agent_memory.ports.records import Filter, RecordStore, View

ACTOR = "upkeep"
UNIMPORTANT = "pruned: unimportant, old and hardly accessed"
FADED = "pruned: faded, untouched and without facts"
PRUNED = (UNIMPORTANT, FADED)
RESTORED = "restored"
RETENTION = "retention"
LOW = 0.1  # importance, or salience as it is read, below which something may go
OLD = timedelta(days=30)
FEW = 2  # accesses that keep it
MOST_PINS = 10_000
SLICE = 100  # changes of one transaction
NEVER = ("procedure", DOCUMENT, CHUNK, "run", "feedback", PIN)
"""Kinds that others keep in step with something, or that only make sense whole."""


class ForgettingTerms(NamedTuple):
    """What the settings say; `certain` is what a fact is taken for true from."""

    rate: float = RATE
    retention_days: float = 90.0
    grace_days: float = 30.0
    certain: float = 0.7


class Prunable(NamedTuple):
    record: Record
    reason: str
    why: str


class Pruner(NamedTuple):
    """Who looks, and as of when. `work`: for which job."""

    writing: Writing
    receipts: ReceiptStore
    terms: ForgettingTerms
    now: int
    work: Work | None = None

    @property
    def records(self) -> RecordStore:
        return self.writing.records

    @property
    def moment(self) -> datetime:
        return from_micros(self.now)

    @property
    def grace(self) -> timedelta:
        return timedelta(days=self.terms.grace_days)

    @property
    def retention(self) -> timedelta:
        return timedelta(days=self.terms.retention_days)

    def prunable(self, scope: Scope, found: Iterable[Record], pins: Pins) -> list[Prunable]:
        """Those of these records of a scope that may be archived, and why."""
        decay = Decay(self.moment, self.terms.rate)
        some = [one for one in found if _eligible(one, scope, self.writing.kinds, self.moment) and not pins.keep(one)]
        if not some:
            return []
        view, ids = View(scope, self.now), [one.id for one in some]
        told = self.receipts.accesses(view, ids)
        judged = (verdict(one, told.get(one.id), decay) for one in some)
        likely = [one for one in judged if one is not None]
        needed = self._needed(view, [one.record.id for one in likely])
        return [one for one in likely if one.record.id not in needed and not self._restored(view, one.record)]

    def _needed(self, view: View, ids: Sequence[str]) -> set[str]:
        """What facts are about, and what something else was made from: also those that the user's agents have."""
        if not ids:
            return set()
        tenant, user, agent = view.scope.tenant, view.scope.user, view.scope.agent
        agents = self.records.agents(tenant, user) if agent == SHARED else []
        views = (
            view._replace(scope=Scope(tenant=tenant, user=user, agent=one)) for one in dict.fromkeys((agent, *agents))
        )
        return {id for one in views for id in self._needed_by(one, ids)}

    def _needed_by(self, view: View, ids: Sequence[str]) -> set[str]:
        links = [one for one in self.records.links(view, ids) if one.type in (ABOUT, DERIVED_FROM)]
        sources = sorted({one.source_id for one in links})
        by = {one.id: one for one in self.records.get(view, sources)} if sources else {}
        return {
            one.target_id
            for one in links
            if (source := by.get(one.source_id)) is not None
            and source.kind not in ("feedback", PIN)
            and (one.type == DERIVED_FROM or (source.kind == "fact" and source.status == Status.ACTIVE))
        }

    def _restored(self, view: View, record: Record) -> bool:
        """Whether somebody wanted it back, not long ago."""
        return from_micros(self.now) - record.recorded_at <= OLD and self.line(view, record)[1] == RESTORED

    def line(self, view: View, record: Record) -> tuple[str, str | None]:
        """Who brought this version, and why."""
        lines = self.records.journal(view, after=record.seq - 1, limit=1, id=record.id)
        return (lines[0].actor, lines[0].reason) if lines and lines[0].seq == record.seq else ("", None)

    def pruned(self, scope: Scope, record: Record) -> str | None:
        """Why it was pruned; None where it was not, or is not archived any more."""
        if record.status != Status.ARCHIVED or record.scope != scope:
            return None
        actor, reason = self.line(View(scope, self.now), record)
        return reason if actor == ACTOR and reason in PRUNED else None

    def archive(self, scope: Scope, ids: Sequence[str], pins: Pins) -> list[Prunable]:
        """Archive those of these records that may be pruned, a slice at a time; what somebody changes meanwhile is
        looked at again."""
        done: list[Prunable] = []
        for start in range(0, len(ids), SLICE):
            some = ids[start : start + SLICE]

            def read(some: Sequence[str] = some) -> list[Prunable]:
                return self.prunable(scope, self.records.get(View(scope, self.now), some), pins)

            for reason in PRUNED:
                done += until_settled(
                    lambda found, reason=reason: self._archive(scope, found, reason),  # type: ignore[misc]
                    read,
                )
        return done

    def _archive(self, scope: Scope, found: Sequence[Prunable], reason: str) -> list[Prunable]:
        chosen = [one for one in found if one.reason == reason]
        if chosen:
            changes = [Amend(one.record.id, Status.ARCHIVED) for one in chosen]
            expect = [Expect(one.record.version, id=one.record.id) for one in chosen]
            write(self.writing, changes, Author(scope, ACTOR, reason), self.now, How(expect=expect, work=self.work))
        return chosen

    def overdue(self, scope: Scope, found: Iterable[Record], pins: Pins) -> list[Record]:
        """What was pruned so long ago that nobody wants it back, and nothing was made from since."""
        due = [one for one in found if one.status == Status.ARCHIVED and one.recorded_at + self.grace <= self.moment]
        gone = [one for one in due if not pins.keep(one) and self.pruned(scope, one)]
        needed = self._needed(View(scope, self.now), [one.id for one in gone])
        return [one for one in gone if one.id not in needed]

    def remove(self, scope: Scope, ids: Sequence[str], pins: Pins) -> int:
        """Forget those of these records that are overdue, and nothing else with them."""
        done = 0
        for start in range(0, len(ids), SLICE):
            some = ids[start : start + SLICE]

            def read(some: Sequence[str] = some) -> list[Record]:
                return self.overdue(scope, self.records.get(View(scope, self.now), some), pins)

            done += until_settled(lambda found: self._remove(scope, found), read)
        return done

    def _remove(self, scope: Scope, found: Sequence[Record]) -> int:
        if found:
            changes = [Erase(one.id, version=one.version, scope=scope) for one in found]
            write(self.writing, changes, Author(scope, ACTOR, RETENTION), self.now, How(work=self.work))
        return len(found)


class Pins(NamedTuple):
    """The records of a scope that are pinned, and the conversations that these are, or are of."""

    ids: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()

    def keep(self, record: Record) -> bool:
        """A pinned conversation keeps its turns; a pinned turn keeps only itself, and its conversation live."""
        if record.kind == "conversation":
            return record.id in self.ids or record.conversation_id in self.touched
        return record.id in self.ids or record.conversation_id in self.whole


def pins_of(records: RecordStore, scope: Scope, now: int) -> Pins:
    view = View(scope, now)
    ids = [one.payload["record_id"] for one in _own(records, view, Filter(kinds=(PIN,)))]
    found = [one for one in records.get(view, ids) if one.conversation_id is not None] if ids else []
    whole = (one.conversation_id for one in found if one.kind == "conversation")
    return Pins(
        frozenset(ids),
        frozenset(id for id in whole if id is not None),
        frozenset(one.conversation_id for one in found if one.conversation_id is not None),
    )


def _own(records: RecordStore, view: View, where: Filter) -> Iterator[Record]:
    """All that fits, of exactly this scope."""
    after = None
    while page := records.find(view, where, limit=MOST_PINS, after=after):
        yield from (one for one in page if one.scope == view.scope)
        if len(page) < MOST_PINS:
            return
        after = page[-1].id


def verdict(record: Record, accesses: Accesses | None, decay: Decay) -> Prunable | None:
    """Whether it may be pruned, as far as itself and its accesses tell. Where nobody knows how many these were, there
    were enough."""
    if record.kind == "entity":
        last = maybe_moment(accesses.last) if accesses else None
        touched = max(last or record.recorded_at, record.recorded_at)
        salience, days = decay.salience(record, last), (decay.now - touched).days
        if salience >= LOW or decay.now - touched <= OLD:
            return None
        return Prunable(record, FADED, f"salience {salience:.2f}, untouched for {days} days, no facts")
    times = accesses.times if accesses else 0
    if record.importance >= LOW or decay.now - record.valid_from <= OLD or times is None or times >= FEW:
        return None
    days, often = (decay.now - record.valid_from).days, f"{times} access" if times == 1 else f"{times} accesses"
    return Prunable(record, UNIMPORTANT, f"importance {record.importance:.2f}, {days} days old, {often}")


def _eligible(record: Record, scope: Scope, kinds: Mapping[str, Kind], now: datetime) -> bool:
    """Whether it is worth asking for its accesses."""
    kind = kinds.get(record.kind)
    if record.status != Status.ACTIVE or record.scope != scope or kind is None or record.kind in NEVER:
        return False
    if record.kind == "entity":  # of shared ones nobody knows who has facts about them
        return scope.user != SHARED and now - record.recorded_at > OLD
    long_term = kind.searchable and kind.tier in ("longterm", "knowledge")
    return long_term and record.importance < LOW and now - record.valid_from > OLD

"""The operational tier: one ring of events for each scope, the last value of each metric, the tasks under way. T1, T10.

A push only appends to a list of the process. A second later at the latest, or at once where it came over a door, it is
in the working set, which processes share: whoever asks sees one ring, in whichever process. There a ring is a row of
blocks. What falls out, because newer ones came or because it grew old, is taken by whoever deletes its block, and
written as a summary for each category. What is critical was written as a record before it went into the ring.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from agent_memory.core.write.commit import Writing, commit
from agent_memory.models.draft import Draft
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.kinds.operational import Event
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Scope
from agent_memory.ports import spans
from agent_memory.ports.changes import Author
from agent_memory.ports.clock import Clock
from agent_memory.ports.working import Desk, WorkingStore

PLACE = "\x1foperational"  # no conversation can be called so
EVENT, METRIC, TASK = "e", "m", "t"
BLOCK = 500  # events
SAMPLES = 5
FLUSH_SECONDS = 1.0
LOOKED_AT = 200  # newest events, for a snapshot
AGING = 60  # seconds after which a ring is looked at, whether or not somebody pushes
MOST_OWED = 1000
LOOK_EVERY = 200  # pushes of one process after which it looks for what falls out
HOUR = 3_600_000_000
FOREVER = 100 * 366 * 24 * HOUR
_log = spans.log(__name__)
Spelled = dict[str, Any]
"""An event as JSON."""


class RingBounds(NamedTuple):
    """How many events a ring holds, and for how long."""

    events: int = 10_000
    hours: float = 24.0

    @property
    def age(self) -> int:
        return int(self.hours * HOUR)


class RingPresent(NamedTuple):
    """What is so right now: the newest events, the newest first; metrics and tasks, the latest first."""

    events: list[Event]
    metrics: list[dict[str, Any]]
    tasks: list[dict[str, Any]]


class Rings:
    """Of all scopes that this process has to do with. Safe to use from several threads. `clean` takes the secrets of a
    tenant out of JSON: a push has no time to."""

    def __init__(
        self,
        store: Callable[[], WorkingStore],
        writing: Callable[[], Writing],
        bounds: RingBounds,
        clean: Callable[[str, str], str] = lambda tenant, text: text,
    ) -> None:
        self._store = store
        self._writing = writing
        self._clean = clean
        self.bounds = bounds
        self._waiting: dict[Scope, deque[Event]] = {}
        self._clocks: dict[Scope, Clock] = {}
        self._lent: set[Scope] = set()
        self._reset()

    def _reset(self) -> None:
        self._owed: deque[tuple[Scope, list[Draft]]] = deque(maxlen=MOST_OWED)
        self._lock = threading.RLock()
        self._pushed: dict[Scope, int] = {}
        self._last = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def waiting(self, scope: Scope, clock: Clock) -> deque[Event]:
        """Where pushes of this process wait to be written, within a second. Whoever asks may keep it."""
        with self._lock:
            self._lent.add(scope)
            return self._known(scope, clock)

    def _known(self, scope: Scope, clock: Clock) -> deque[Event]:
        self._clocks[scope] = clock
        self._begin()
        return self._waiting.setdefault(scope, deque())

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="agent-memory-rings", daemon=True)
                self._thread.start()

    def push(self, scope: Scope, event: Event, clock: Clock) -> None:
        """At once: whoever asks next sees it, in any process."""
        with self._lock:
            self._known(scope, clock).append(event)
            self.flush(scope)

    def flush(self, scope: Scope) -> None:
        """Write what waits; what cannot be written now waits on, as far as a ring holds it."""
        with self._lock:
            if scope not in self._waiting:
                return
            waiting, now = self._waiting[scope], self._now(scope)
            batch = [waiting.popleft() for _ in range(len(waiting))]
            if not batch:
                return
            beyond = max(0, len(batch) - self.bounds.events)
            written = beyond
            try:
                for block in _blocks(batch[beyond:]):
                    self._put(scope, block, now)
                    written += len(block)
            finally:
                waiting.extendleft(reversed(batch[written:]))
                self._summarise(scope, [_spelled(one) for one in batch[:beyond]], now)
            self._pushed[scope] = self._pushed.get(scope, LOOK_EVERY) + len(batch)
            if self._pushed[scope] >= LOOK_EVERY:
                self.look(scope)

    def look(self, scope: Scope) -> None:
        """Let go of what is beyond the bounds. Of several processes that look, whoever deletes a block has it."""
        with self._lock:
            if scope not in self._waiting:
                return
            self._pushed[scope] = 0
            desk, store, now = Desk(scope, PLACE), self._store(), self._now(scope)
            values = store.values(desk, now=now)
            blocks = sorted(key for key in values if key[0] == EVENT)
            total = sum(_count(key) for key in blocks)
            gone: list[Spelled] = []
            for key in blocks:
                if total - _count(key) < self.bounds.events and _time(key) > now - self.bounds.age:
                    break
                total -= _count(key)
                if store.delete(desk, key):
                    gone += _spelled_in(values[key])
            self._summarise(scope, gone, now)
            if not total and scope not in self._lent and not self._waiting[scope]:
                for known in (self._waiting, self._clocks, self._pushed):
                    known.pop(scope, None)

    def events(self, scope: Scope, now: int) -> Iterator[Event]:
        """The newest first. Nothing is written: what waits is counted in."""
        return islice(self._newest(*self._values(scope, now), now), self.bounds.events)

    def present(self, scope: Scope, now: int) -> RingPresent:
        values, waiting = self._values(scope, now)
        found = [[json.loads(text) for key, text in values.items() if key[0] == kind] for kind in (METRIC, TASK)]
        metrics, tasks = (sorted(one, key=lambda value: -value["at"]) for one in found)
        return RingPresent(list(islice(self._newest(values, waiting, now), LOOKED_AT)), metrics, tasks)

    def _values(self, scope: Scope, now: int) -> tuple[dict[str, str], list[Event]]:
        """What is stored, and what waits: read together, so that no event is in both or in neither."""
        with self._lock:
            waiting = [self._cleaned(scope, one) for one in self._waiting.get(scope, ())]
            return self._store().values(Desk(scope, PLACE), now=now), waiting

    def _cleaned(self, scope: Scope, event: Event) -> Event:
        text = canonical_json(_spelled(event))
        clean = self._clean(scope.tenant, text)
        return event if clean == text else Event(**json.loads(clean))

    def _newest(self, values: dict[str, str], waiting: list[Event], now: int) -> Iterator[Event]:
        yield from reversed(waiting)
        for key in sorted((key for key in values if key[0] == EVENT), reverse=True):
            if _time(key) > now - self.bounds.age:
                yield from (Event(**one) for one in reversed(_spelled_in(values[key])))

    def tell(self, scope: Scope, kind: str, name: str, value: dict[str, Any], now: int) -> None:
        """The latest of a metric or a task; it stays for as long as an event would."""
        text = canonical_json({**value, "at": now})
        self._store().set(Desk(scope, PLACE), kind + name, text, expires_at=now + self.bounds.age, now=now)

    def untell(self, scope: Scope, kind: str, name: str) -> bool:
        return self._store().delete(Desk(scope, PLACE), kind + name)

    def drop(self, tenant: str) -> None:
        """What waits of a tenant that is erased."""
        with self._lock:
            for scope in [scope for scope in self._waiting if scope.tenant == tenant]:
                self._waiting[scope].clear()
            self._owed = deque((one for one in self._owed if one[0].tenant != tenant), MOST_OWED)

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._settle(look=False)

    def after_fork(self) -> None:
        """In a child process: the parent writes what is waiting."""
        running = self._thread is not None
        for waiting in self._waiting.values():
            waiting.clear()
        self._reset()
        if running:
            self._begin()

    def _run(self) -> None:
        stop, ticks = self._stop, 0
        while not stop.wait(FLUSH_SECONDS):
            ticks += 1
            self._settle(look=ticks % AGING == 0)

    def _settle(self, look: bool) -> None:
        for scope in list(self._waiting):
            try:
                self.flush(scope)
                if look or self._pushed.get(scope):
                    self.look(scope)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next ring and the next second get their turn
                _log.info("events of a ring wait: %s", error)

    def _now(self, scope: Scope) -> int:
        return to_micros(self._clocks[scope].now())

    def _put(self, scope: Scope, block: Sequence[Event], now: int) -> None:
        """A critical event stands alone, under the id of its record: who forgets that forgets this."""
        self._last = max(now, self._last + 1)
        key = f"{EVENT}{self._last:020d}-{len(block):05d}-{os.getpid()}-{secrets.token_hex(4)}"
        items = [_spelled(one) for one in block]
        text = self._clean(scope.tenant, canonical_json(items[0] if block[0].id else items))
        self._store().set(Desk(scope, PLACE), key, text, expires_at=now + FOREVER, now=now)

    def _summarise(self, scope: Scope, gone: Sequence[Spelled], now: int) -> None:
        """What cannot be written now is written the next time."""
        if drafts := summaries(gone):
            self._owed.append((scope, drafts))
        try:
            while self._owed:
                whose, drafts = self._owed[0]
                commit(self._writing(), drafts, Author(whose, actor="operational"), now)
                self._owed.popleft()
        except AgentMemoryError as error:
            _log.warning("summaries of events wait: %s", error)


def summaries(gone: Iterable[Spelled]) -> list[Draft]:
    """One for each category: how many, the first, the last, five of them. What has a record needs none."""
    found: dict[str, list[Spelled]] = {}
    for event in gone:
        if "id" not in event:
            found.setdefault(event["category"], []).append(event)
    return [_summary(category, events) for category, events in found.items()]


def _summary(category: str, events: list[Spelled]) -> Draft:
    first, last = min(one["time"] for one in events), max(one["time"] for one in events)
    step = max(1, len(events) // SAMPLES)
    return Draft(
        kind="summary",
        text=f"{len(events)} event{'s' if len(events) > 1 else ''} of {category}, from {first[:19]} to {last[:19]}",
        payload={
            "operational": category,
            "count": len(events),
            "first": first,
            "last": last,
            "samples": events[::step][:SAMPLES],
        },
        source="operational",
    )


def _blocks(events: Sequence[Event]) -> Iterable[Sequence[Event]]:
    """In their order; what has a record alone, others together."""
    block: list[Event] = []
    for event in events:
        if block and (event.id or len(block) == BLOCK):
            yield block
            block = []
        block.append(event)
        if event.id:
            yield block
            block = []
    if block:
        yield block


def _spelled(event: Event) -> Spelled:
    fields = {"category": event.category, "severity": event.severity, "payload": event.payload}
    return {**fields, "time": event.time.isoformat(), **({"id": event.id} if event.id else {})}


def _spelled_in(text: str) -> list[Spelled]:
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def _time(key: str) -> int:
    return int(key[1:21])


def _count(key: str) -> int:
    return int(key[22:27])

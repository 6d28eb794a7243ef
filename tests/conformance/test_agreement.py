"""Random operations on the SQLite engine and on the reference: after each, both show everybody the same.

The reference looks at all rows at every read; what SQLite does with indexes, caches and shelves must not be noticed.
Small worlds (few ids, keys, words and moments) make things meet.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agent_memory.engines import sqlite
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.record import Record, Scope, Status
from agent_memory.ports.changes import (
    Amend,
    Author,
    Change,
    Connect,
    Derived,
    Disconnect,
    Erase,
    Expect,
    Key,
    Once,
    Put,
)
from agent_memory.ports.index import Embedded, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store
from agent_memory.testing import memory
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    BOT,
    EVERYTHING,
    OTHER_SPACE,
    SHARED,
    SPACE,
    STRANGER,
    direction,
    put,
    term,
    terms,
    text_vector,
    with_vectors,
)

IDS, KINDS, KEYS, TYPES = "abcd", ("note", "fact"), ("k1", "k2"), ("about", "knows")
WORDS = ("red", "green", "blue")
SCOPES = (ALICE, ALICES_BOT, BOT, SHARED, BOB, STRANGER)
QUESTIONS = {SPACE: (1.0, 1.0, 1.0, 1.0), OTHER_SPACE: (1.0, 0.0, 0.0)}  # exact halves and ones: no rounding anywhere

moments = st.integers(0, 20)
perhaps = st.none() | moments
identifiers = st.sampled_from(IDS)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
units = st.sampled_from((0.0, 0.25, 0.5, 1.0))
scopes = st.sampled_from(SCOPES)


@st.composite
def puts(draw: st.DrawFn) -> Put:
    id, begin, lasts = draw(identifiers), draw(moments), draw(st.none() | st.integers(1, 9))
    new = put(
        draw(texts),
        id=id,
        kind=KINDS[id in "ab"] if draw(st.integers(0, 9)) else KINDS[0],  # the wrong kind is an error: rarely
        payload={"n": draw(st.integers(0, 2))},
        key=draw(st.none() | st.sampled_from(KEYS)),
        conversation_id=draw(st.none() | st.sampled_from(("c1", "c2"))),
        position=draw(st.sampled_from((None, None, None, 0, 1))),
        repository=draw(st.none() | st.just("r1")),
        status=draw(st.sampled_from((Status.ACTIVE, Status.ACTIVE, Status.HELD))),
        importance=draw(units),
        confidence=draw(units),
        source=draw(st.sampled_from(("user", "tool"))),
        valid_from=begin,
        valid_to=None if lasts is None else begin + lasts,
    )
    parts = tuple(text_vector(f"{new.content.text}{part}", part) for part in range(draw(st.integers(0, 2))))
    new = with_vectors(new, *parts, complete=draw(st.booleans()))
    return replace(new, succeeds=draw(st.booleans()), dated=draw(st.booleans()))


def others(ids: st.SearchStrategy[str]) -> st.SearchStrategy[Change]:
    """Changes of what is there already."""
    optional = {"importance": st.none() | units, "confidence": st.none() | units, "valid_to": perhaps}
    properties = st.sampled_from(("{}", '{"why":1}'))
    types = st.sampled_from(TYPES)
    ends = ids | ids | st.builds(Key, st.sampled_from(KINDS), st.sampled_from(KEYS))
    return st.one_of(
        st.builds(Amend, ids, status=st.none() | st.sampled_from(Status), **optional),
        st.builds(Connect, ids, ids, types, st.just(b"salt"), weight=units, properties=properties),
        st.builds(Connect, ends, ends, types, st.just(b"salt"), weight=units, if_there=st.booleans()),
        st.builds(Disconnect, ids, ids, types),
    )


expectations = st.one_of(
    st.builds(Expect, st.integers(0, 2), id=identifiers),
    st.builds(Expect, st.integers(0, 2), kind=st.sampled_from(KINDS), key=st.sampled_from(KEYS)),
)
filters = st.builds(
    Filter,
    kinds=st.none() | st.just(("note",)) | st.just(("fact", "unheard", "note")),
    statuses=st.sampled_from(((Status.ACTIVE,), tuple(Status))),
    conversation_id=st.none() | st.none() | st.sampled_from(("c1", "unheard")),
    repository=st.none() | st.none() | st.just("r1"),
    after=st.none() | perhaps,
    before=st.none() | perhaps,
    min_confidence=st.none() | st.none() | units,
    fields=st.just(()) | st.just((("n", 1),)),
)


@st.composite
def looks(draw: st.DrawFn) -> tuple[View, int | None, Filter]:
    """A view at the present, how many lines to go back for another, and a filter."""
    view = View(draw(scopes), draw(moments), valid_at=draw(perhaps))
    return view, draw(st.none() | st.integers(0, 30)), draw(filters)


def public(record: Record) -> dict[str, Any]:
    return record.model_dump()


def answer(ask: Callable[[], Any]) -> Any:
    """What it gives, or the name of the error."""
    try:
        return ask()
    except AgentMemoryError as error:
        return type(error).__name__


def gathered(store: Store, view: View, where: Filter, pool: int) -> Any:
    """A pool without handles: (id, scope, version) -> evidence."""
    space = store.index.space()
    question = direction(*QUESTIONS[space]) if space else None
    found = store.index.gather(
        Probe(view, where, pool, terms=tuple(map(term, ("red", "unheard"))), vector=question, space=space, key="k1")
    )
    hits = store.index.hydrate(found.handles.tolist())
    assert len(hits) == len(found.handles)
    columns = (found.valid_from, found.importance, found.similarity, found.lengths, found.exact)
    rows = {
        (hit.id, str(hit.scope), hit.version): (
            [None if math.isnan(column[place]) else column[place].item() for column in columns],
            found.counts[place].tolist(),
        )
        for place, hit in enumerate(hits)
    }
    talks = [(hit.conversation_id, hit.id, str(hit.scope)) for hit in hits]
    together = {talk: [one for one in talks if one[0] == talk] for talk, _, _ in talks}
    assert [one for run in together.values() for one in run] == talks, "a conversation is torn apart"
    return (
        found.seq,
        rows,
        together,
        found.documents,
        found.pending,
        found.frequencies.tolist(),
        round(found.mean_length, 9),
    )


def seen(store: Store, view: View, where: Filter) -> dict[str, Any]:
    """Everything that this view shows, in public values."""
    records, everywhere = store.records, (*IDS, "nobody")
    keyed = [records.by_key(view, kind, key) for kind in KINDS for key in KEYS]
    return {
        "get": [public(one) for one in records.get(view, everywhere)],
        "by_key": [one and public(one) for one in keyed],
        "head": [
            one and public(one)
            for kind in KINDS
            for one in (
                *(records.head(view.scope, kind, key=key) for key in KEYS),
                *(records.head(view.scope, kind, id=id) for id in IDS),
            )
        ],
        "find": [public(one) for one in records.find(view, where, limit=100)],
        "oldest": [public(one) for one in records.find(view, where, limit=3, oldest_first=True)],
        "after": [
            answer(lambda id=id: [one.id for one in records.find(view, where, limit=2, after=id)])  # type: ignore[misc]
            for id in everywhere
        ],
        "history": [
            answer(lambda id=id: [public(one) for one in records.history(view, id)])  # type: ignore[misc]
            for id in everywhere
        ],
        "links": [one.model_dump() for one in records.links(view, everywhere)],
        "some links": [one.model_dump() for one in records.links(view, IDS[:1])],
        "walk": [
            (public(one.record), one.link.model_dump(), one.distance)
            for types in ((), TYPES[:1])
            for one in records.walk(view, IDS[:1], depth=3, types=types, limit=4)
        ],
        "journal": [
            one.model_dump(exclude={"digest", "chain"})
            for id in (None, "a")
            for one in records.journal(view, limit=500, id=id)
        ],
        "pools": [gathered(store, view, where, pool) for pool in (0, 2, 100)],
        "accesses": store.receipts.accesses(view, everywhere),
        "receipts": [store.receipts.receipt(view, f"r{number}") for number in range(3)],
        "pending": [store.index.pending(space, one) for space in (SPACE, OTHER_SPACE) for one in (view, None)],
        "waiting": [(one.text, one.part) for one in store.index.unembedded(SPACE, view, 5)],
        "stats": {**records.stats(view), "bytes_on_disk": 0},
    }


class Agreement(RuleBasedStateMachine):
    """Every rule does the same to both, and then somebody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.engine = sqlite.open_store(Path(self.folder.name) / "memory.db")
        self.reference = memory.open_store()
        self.receipts = 0

    def teardown(self) -> None:
        problems = [store.records.verify().problems for store in (self.engine, self.reference)]
        self.engine.close()
        self.folder.cleanup()
        assert problems == [(), ()]

    @initialize(early=st.booleans())
    def start(self, early: bool) -> None:
        if early:
            self.both(lambda store: store.index.begin(SPACE))

    @rule(batch=st.lists(puts(), min_size=1, max_size=3), scope=scopes, now=moments, look=looks())
    def put(self, batch: list[Put], scope: Scope, now: int, look: Any) -> None:
        self.apply(batch, Author(scope, "tester", "why" if now % 2 else None), now)
        self.compare(look, scope)

    @rule(data=st.data(), scope=scopes, now=moments, look=looks())
    def change(self, data: st.DataObject, scope: Scope, now: int, look: Any) -> None:
        batch = data.draw(st.lists(others(self.present(scope)), min_size=1, max_size=3))
        self.apply(batch, Author(scope), now)
        self.compare(look, scope)

    @rule(data=st.data(), before=st.lists(puts(), max_size=1), scope=scopes, now=moments, look=looks())
    def erase(self, data: st.DataObject, before: list[Put], scope: Scope, now: int, look: Any) -> None:
        self.apply([*before, Erase(data.draw(self.present(scope)))], Author(scope), now)
        self.compare(look, scope)

    @rule(
        batch=st.lists(puts() | others(identifiers), min_size=1, max_size=4),
        scope=scopes,
        now=moments,
        expect=st.lists(expectations, max_size=1),
        once=st.none() | st.builds(Once, st.sampled_from("xyz"), st.sampled_from((b"1", b"2"))),
        look=looks(),
    )
    def write_with_conditions(
        self, batch: list[Change], scope: Scope, now: int, expect: list[Expect], once: Once | None, look: Any
    ) -> None:
        """Many of these fail, and must leave no trace."""
        self.both(lambda store: store.records.apply(batch, author=Author(scope), now=now, expect=expect, once=once))
        self.compare(look, scope)

    @rule(space=st.sampled_from((SPACE, SPACE, OTHER_SPACE)), whose=st.none() | scopes, data=st.data(), look=looks())
    def embed(self, space: Any, whose: Scope | None, data: st.DataObject, look: Any) -> None:
        limit, whole, now = data.draw(st.integers(1, 5)), data.draw(st.booleans()), data.draw(moments)

        def act(store: Store) -> Any:
            waiting = store.index.unembedded(space, View(whose, now) if whose else None, limit)
            batch = [Embedded(one.handle, (text_vector(one.text, one.part, space),), whole) for one in waiting]
            store.index.embedded(space, batch, now=now)
            return [(one.text, one.part) for one in waiting]

        self.both(act)
        self.compare(look)

    @rule(space=st.sampled_from((SPACE, OTHER_SPACE)), begin=st.booleans(), look=looks())
    def change_space(self, space: Any, begin: bool, look: Any) -> None:
        self.both(lambda store: store.index.begin(space) if begin else store.index.switch(space))
        self.compare(look)

    @rule(look=looks(), shown=st.integers(0, 3))
    def recall(self, look: Any, shown: int) -> None:
        view, _, where = look
        self.receipts += 1

        def act(store: Store) -> None:
            hits = [one.seq for one in store.records.find(view, where, limit=shown)]
            handles = store.index.gather(Probe(view, EVERYTHING, pool=100)).handles.tolist()
            chosen = tuple(handle for handle in handles if store.index.hydrate([handle])[0].seq in hits)
            store.receipts.keep([ReceiptLine(f"r{self.receipts}", view, 0, "{}", chosen)])

        self.both(act)
        self.compare(look)

    @rule(louder=st.booleans(), look=looks())
    def rebuild(self, louder: bool, look: Any) -> None:
        def derive(kind: str, text: str, payload: str) -> Derived:
            return Derived(terms(f"{text} {WORDS[0]}" if louder else text), (("n", len(text) % 3),))

        self.both(lambda store: store.records.rebuild(derive)["contents"])
        self.compare(look)

    @rule(look=looks())
    def read(self, look: Any) -> None:
        self.compare(look)

    def present(self, scope: Scope) -> st.SearchStrategy[str]:
        """Ids that somebody of this scope sees now, if there are any."""
        found = self.reference.records.find(View(scope, 0), EVERYTHING, limit=100)
        return st.sampled_from(sorted({record.id for record in found}) or [*IDS])

    def apply(self, batch: Sequence[Change], author: Author, now: int) -> None:
        self.both(lambda store: store.records.apply(batch, author=author, now=now))

    def both(self, act: Callable[[Store], Any]) -> None:
        assert answer(lambda: act(self.engine)) == answer(lambda: act(self.reference))

    def compare(self, look: tuple[View, int | None, Filter], scope: Scope | None = None) -> None:
        """`scope`: who wrote, and looks at it first."""
        view, back, where = look
        head = self.reference.records.stats(view)["seq"]
        views = [view, replace(view, valid_at=None)]
        if scope is not None:
            views.append(replace(view, scope=scope))
        if back is not None:
            views.append(replace(view, seq=max(0, head - back)))
        for one in dict.fromkeys(views):
            ours, expected = seen(self.engine, one, where), seen(self.reference, one, where)
            for name, value in expected.items():
                assert ours[name] == value, f"{name} differs for {one}, {where}"
        for scope in SCOPES:  # so that what an engine keeps in memory for each of them is always in use
            everybody = replace(view, scope=scope, valid_at=None)
            pools = [gathered(store, everybody, EVERYTHING, 100) for store in (self.engine, self.reference)]
            assert pools[0] == pools[1], f"search differs for {everybody}"
        assert [self.engine.records.seq_at(one) for one in range(22)] == [
            self.reference.records.seq_at(one) for one in range(22)
        ]


class LongAgreement(Agreement):
    """The same, for hours if need be."""


TestAgreement = Agreement.TestCase
TestAgreement.settings = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

TestLongAgreement = pytest.mark.soak(LongAgreement.TestCase)
TestLongAgreement.settings = settings(
    max_examples=500,
    stateful_step_count=60,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

"""Random operations on the SQLite engine and on the reference: after each, both show everybody the same.

The reference looks at all rows at every read; what SQLite does with indexes, caches and shelves must not be noticed.
Small worlds (few ids, keys, words and moments) make things meet.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from choosing import (
    CALLING,
    IDS,
    KEYS,
    KINDS,
    NOTHING,
    QUESTIONS,
    SCOPES,
    WORDS,
    WRITERS,
    moment,
    some_change,
    some_condition,
    some_filter,
    some_put,
)
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agent_memory.engines import sqlite
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import (
    Author,
    Change,
    Derived,
    Erase,
    Once,
)
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store
from agent_memory.testing import memory
from agent_memory.testing.builders import (
    EVERYTHING,
    OTHER_SPACE,
    SPACE,
    direction,
    term,
    terms,
    text_vector,
)

seeds = st.integers(0, 2**32 - 1)  # Hypothesis chooses what happens; the details follow from a seed


def public(record: Record) -> dict[str, Any]:
    return record.model_dump()


def answer(ask: Callable[[], Any]) -> Any:
    """What it gives, or the name of the error."""
    try:
        return ask()
    except AgentMemoryError as error:
        return type(error).__name__


def gathered(
    store: Store, view: View, where: Filter, pool: int, until: int | None = None, past: Sequence[int] = ()
) -> Any:
    """A pool without handles: (id, scope, version) -> evidence. `past` are moments: what held between two of them."""
    space = store.index.space()
    question = direction(*QUESTIONS[space]) if space else None
    words = tuple(map(term, ("red", "unheard")))
    probe = Probe(view, where, pool, terms=words, vector=question, space=space, key="k1", tell_hidden=True)
    intervals = tuple(pairwise(past))
    found = store.index.gather(replace(probe, vectors_until=until, also=(1, 2, 3), past=intervals))
    hits = store.index.hydrate(found.handles.tolist())
    assert len(hits) == len(found.handles)
    columns = [found.valid_from, found.importance, found.similarity, found.lengths, found.exact]
    columns += [found.valid_to] if found.valid_to is not None else []
    rows = {
        (hit.id, str(hit.scope), hit.version): (
            [None if math.isnan(column[place]) else column[place].item() for column in columns],
            found.counts[place].tolist(),
        )
        for place, hit in enumerate(hits)
    }
    talks = [(hit.conversation_id, hit.id, str(hit.scope)) for hit in hits]
    numbers = [] if found.records is None else found.records.tolist()
    same = {
        number: {(hit.id, str(hit.scope)) for hit, own in zip(hits, numbers, strict=True) if own == number}
        for number in numbers
    }
    assert all(len(one) == 1 for one in same.values()) and len(same) == len(set().union(*same.values()))
    together = {talk: [one for one in talks if one[0] == talk] for talk, _, _ in talks}
    assert [one for run in together.values() for one in run] == talks, "a conversation is torn apart"
    return (
        found.seq,
        rows,
        together,
        found.documents,
        found.pending,
        found.frequencies.tolist(),
        found.hidden,
        found.head,
    )


def stepped(store: Store, view: View, most: int) -> Any:
    """Every link that leads from what somebody sees, without handles."""
    everybody = (one for scope in SCOPES for one in store.records.find(View(scope, view.now), EVERYTHING, limit=100))
    handles = sorted({record.seq for record in everybody})
    steps = store.index.steps(view, handles, most=most)
    ends = {handle: store.index.hydrate([handle])[0] for one in steps for handle in (one.here, one.there)}
    named = {handle: (one.id, str(one.scope), one.version) for handle, one in ends.items()}
    return [(named[one.here], named[one.there], one.type, one.weight, one.outward, one.status) for one in steps]


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
        "believed": [public(one) for one in records.believed(view, where, after=3, limit=100)],
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
        "steps": [stepped(store, view, most) for most in (1, 100)],
        "called": [
            (found.seq, [public(one) for one in found.records])
            for most in (1, 100)
            for found in (store.index.called(view, ("0", "2", "x"), CALLING, most=most),)
        ],
        "journal": [
            one.model_dump(exclude={"digest", "chain"})
            for id in (None, "a")
            for one in records.journal(view, limit=500, id=id)
        ],
        "pools": [gathered(store, view, where, pool, until) for pool, until in ((0, None), (2, view.seq), (100, None))],
        "past": gathered(store, view, where, 100, past=(3, 6, 12)),
        "adopted": [store.index.adopted(after) for after in range(0, 100, 10)],
        "accesses": [
            store.receipts.accesses(view, everywhere, until=until) for until in (None, view.now, view.valid_at)
        ],
        "receipts": [store.receipts.receipt(view, f"r{number}") for number in range(3)],
        "pending": [store.index.pending(space, one) for space in (SPACE, OTHER_SPACE) for one in (view, None)],
        "waiting": [(one.text, one.part) for one in store.index.unembedded(SPACE, view, 5)],
        "stats": {**records.stats(view), "bytes_on_disk": 0},
    }


class Agreement(RuleBasedStateMachine):
    """Every rule does the same to both, and then somebody looks."""

    def __init__(self) -> None:
        super().__init__()
        # In memory where there is such a folder: this is about answers, and a thousand syncs take long.
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.engine = sqlite.open_store(Path(self.folder.name) / "memory.db")
        self.reference = memory.open_store()
        self.receipts = 0

    def teardown(self) -> None:
        problems = [store.records.verify().problems for store in (self.engine, self.reference)]
        self.engine.close()
        self.folder.cleanup()
        assert problems == [(), ()]

    @initialize(early=st.booleans(), busy=st.sampled_from((True, True, False)), seed=seeds)
    def start(self, early: bool, busy: bool, seed: int) -> None:
        """With an embedder or without; in a new store, or in one that has seen something."""
        if early:
            self.both(lambda store: store.index.begin(SPACE))
        pick = Random(seed)
        for _ in range(8 * busy):
            self.apply(pick, [some_put(pick), some_put(pick)], pick.choice(WRITERS))
            scope = pick.choice(WRITERS)
            self.apply(pick, [some_change(pick, self.present(scope))], scope)
        self.compare(pick)

    @rule(seed=seeds)
    def put(self, seed: int) -> None:
        pick = Random(seed)
        self.write(pick, [some_put(pick) for _ in range(pick.randint(1, 3))])

    @rule(seed=seeds)
    def change(self, seed: int) -> None:
        pick = Random(seed)
        scope = pick.choice(WRITERS)
        self.write(pick, [some_change(pick, self.present(scope)) for _ in range(pick.randint(1, 2))], scope=scope)

    @rule(seed=seeds)
    def erase(self, seed: int) -> None:
        pick = Random(seed)
        scope = pick.choice(WRITERS)
        before = [some_put(pick)] * (pick.random() < 0.3)
        gone = pick.choices(self.present(scope), k=pick.choice((1, 1, 2)))
        self.write(pick, [*before, *(Erase(id, with_derived=pick.random() < 0.7) for id in gone)], scope=scope)

    @rule(seed=seeds)
    def write_what_may_fail(self, seed: int) -> None:
        """And then it must leave no trace."""
        pick = Random(seed)
        batch = [some_put(pick) if pick.random() < 0.5 else some_change(pick, IDS) for _ in range(pick.randint(1, 4))]
        expect = [some_condition(pick)] * (pick.random() < 0.5)
        once = Once(pick.choice("xyz"), pick.choice((b"1", b"2"))) if pick.random() < 0.3 else None
        self.write(pick, batch, expect=expect, once=once)

    @rule(seed=seeds)
    def embed(self, seed: int) -> None:
        pick = Random(seed)
        space, whose = pick.choice((SPACE, SPACE, OTHER_SPACE)), pick.choice((*NOTHING, *SCOPES))
        limit, whole, now = pick.choice((1, 5, 100)), pick.random() < 0.7, moment(pick)

        def act(store: Store) -> Any:
            waiting = store.index.unembedded(space, View(whose, now) if whose else None, limit)
            batch = [Embedded(one.handle, (text_vector(one.text, one.part, space),), whole) for one in waiting]
            store.index.embedded(space, batch, now=now)
            return [(one.text, one.part) for one in waiting]

        self.both(act)
        self.compare(pick)

    @rule(seed=seeds, space=st.sampled_from((SPACE, OTHER_SPACE)), begin=st.booleans())
    def change_space(self, seed: int, space: Space, begin: bool) -> None:
        self.both(lambda store: store.index.begin(space) if begin else store.index.switch(space))
        self.compare(Random(seed))

    @rule(seed=seeds)
    def recall(self, seed: int) -> None:
        pick = Random(seed)
        view, shown, also = View(pick.choice(SCOPES), moment(pick)), pick.randrange(4), pick.choice((0, 0, 2))
        self.receipts += 1
        query = " ".join(pick.choices((*WORDS, "unheard"), k=pick.randrange(4)))
        seq = max(0, self.reference.records.stats(view)["seq"] - pick.choice((0, 0, 1, 9)))

        def act(store: Store) -> None:
            found = [one.seq for one in store.records.find(view, EVERYTHING, limit=shown + also)]
            handles = store.index.gather(Probe(view, EVERYTHING, pool=100)).handles.tolist()
            numbers = {store.index.hydrate([handle])[0].seq: handle for handle in handles}
            told = [numbers[one] for one in found]
            body, asked = f'{{"query":"{query}"}}', terms(query).hashes
            line = ReceiptLine(f"r{self.receipts}", view, seq, body, tuple(told[:shown]), asked, tuple(told[shown:]))
            store.receipts.keep([line])

        self.both(act)
        self.compare(pick)

    @rule(seed=seeds, louder=st.booleans())
    def rebuild(self, seed: int, louder: bool) -> None:
        def derive(kind: str, text: str, payload: str) -> Derived:
            return Derived(terms(f"{text} {WORDS[0]}" if louder else text), (("n", len(text) % 3),))

        self.both(lambda store: store.records.rebuild(derive)["contents"])
        self.compare(Random(seed))

    def present(self, scope: Scope) -> list[str]:
        """Ids that somebody of this scope sees, if there are any."""
        found = self.reference.records.find(View(scope, 0), EVERYTHING, limit=100)
        return sorted({record.id for record in found}) or [*IDS]

    def write(self, pick: Random, batch: Sequence[Change], scope: Scope | None = None, **conditions: Any) -> None:
        scope = scope or pick.choice(WRITERS)
        self.apply(pick, batch, scope, **conditions)
        self.compare(pick, scope)

    def apply(self, pick: Random, batch: Sequence[Change], scope: Scope, **conditions: Any) -> None:
        now = moment(pick)
        author = Author(scope, "tester", "why" if now % 2 else None)
        note(f"{batch} {author} {now} {conditions}")
        self.both(lambda store: store.records.apply(batch, author=author, now=now, **conditions))

    def both(self, act: Callable[[Store], Any]) -> None:
        assert answer(lambda: act(self.engine)) == answer(lambda: act(self.reference))

    def compare(self, pick: Random, writer: Scope | None = None) -> None:
        """Somebody looks: at the present, at another time, as of before; and then whoever wrote."""
        view, where = View(pick.choice(SCOPES), moment(pick)), some_filter(pick)
        head = self.reference.records.stats(view)["seq"]
        views = [
            view,
            replace(view, valid_at=moment(pick)),
            replace(view, seq=pick.randint(0, head), valid_at=pick.choice((*NOTHING, moment(pick)))),
            replace(view, scope=writer or view.scope),
        ]
        for one in dict.fromkeys(views):
            ours, expected = seen(self.engine, one, where), seen(self.reference, one, where)
            for name, value in expected.items():
                assert ours[name] == value, f"{name} differs for {one}, {where}"
        for scope in SCOPES:  # so that what an engine keeps in memory for each of them is always in use
            everybody = replace(view, scope=scope)
            pools = [gathered(store, everybody, EVERYTHING, 100) for store in (self.engine, self.reference)]
            assert pools[0] == pools[1], f"search differs for {everybody}"
        assert [self.engine.records.seq_at(one) for one in range(22)] == [
            self.reference.records.seq_at(one) for one in range(22)
        ]


class LongAgreement(Agreement):
    """The same, for hours if need be."""


TestAgreement = pytest.mark.timeout(900)(Agreement.TestCase)  # when it fails, it looks for a short example
TestAgreement.settings = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

TestLongAgreement = pytest.mark.timeout(7200)(pytest.mark.soak(LongAgreement.TestCase))
TestLongAgreement.settings = settings(
    max_examples=120,
    stateful_step_count=40,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

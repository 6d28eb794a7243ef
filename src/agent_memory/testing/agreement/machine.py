"""Every rule does the same to two stores."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agent_memory.ledger.request import Request
from agent_memory.models.record import Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Author, Change, Derived, Erase, Once
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Cursor, JobOutcome, Work
from agent_memory.ports.index import NEVER, Embedded, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Analysis, View
from agent_memory.ports.store import Store
from agent_memory.ports.working import Desk
from agent_memory.testing import memory
from agent_memory.testing.agreement.choosing import (
    IDS,
    NAMESPACES,
    NOTHING,
    READERS,
    SCOPES,
    TENANTS,
    WORDS,
    WRITERS,
    moment,
    some_change,
    some_condition,
    some_filter,
    some_put,
)
from agent_memory.testing.agreement.looking import answer, gathered, seen, together
from agent_memory.testing.builders import (
    EVERYTHING,
    LOUD,
    OTHER_SPACE,
    PLAIN,
    SPACE,
    embed_all,
    gather,
    terms,
    text_vector,
)

seeds = st.integers(0, 2**32 - 1)  # Hypothesis chooses what happens; the details follow from a seed


class Both(RuleBasedStateMachine):
    """An engine beside the reference."""

    open_store: Callable[[Path], Store]

    def __init__(self) -> None:
        super().__init__()
        # In memory where there is such a folder: this is about answers, and a thousand syncs take long.
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.engine = self.open_store(Path(self.folder.name))
        self.reference = memory.open_store()
        self.receipts = self.keys = 0

    def teardown(self) -> None:
        proofs = [store.records.verify(SCOPES[0].tenant) for store in (self.engine, self.reference)]
        self.engine.close()
        self.folder.cleanup()
        assert [one.problems for one in proofs] == [(), ()]
        ends = [{name: mark.seq for name, mark in one.heads.items()} for one in proofs]
        assert ends[0] == ends[1]

    @initialize(early=st.booleans(), busy=st.sampled_from((True, True, False)), seed=seeds)
    def start(self, early: bool, busy: bool, seed: int) -> None:
        """With an embedder or without; in a new store, or in one that has seen something."""
        if early:
            self._both(lambda store: store.index.begin(SPACE))
        pick = Random(seed)
        for _ in range(8 * busy):
            self._apply(pick, [some_put(pick), some_put(pick)], pick.choice(WRITERS))
            scope = pick.choice(WRITERS)
            self._apply(pick, [some_change(pick, self._present(scope))], scope)
        self._compare(pick)

    def _present(self, scope: Scope) -> list[str]:
        """Ids that somebody of this scope sees, if there are any."""
        found = self.reference.records.find(View(scope, 0), EVERYTHING, limit=100)
        return sorted({record.id for record in found}) or [*IDS]

    def _write(self, pick: Random, batch: Sequence[Change], scope: Scope | None = None, **conditions: Any) -> None:
        scope = scope or pick.choice(WRITERS)
        self._apply(pick, batch, scope, **conditions)
        self._compare(pick, scope)

    def _apply(self, pick: Random, batch: Sequence[Change], scope: Scope, **conditions: Any) -> None:
        now = moment(pick)
        author = Author(scope, "tester", "why" if now % 2 else None)
        note(f"{batch} {author} {now} {conditions}")
        # When what is erased leaves the disk is an engine's own affair.
        self._both(
            lambda store: store.records.apply(batch, author=author, now=now, **conditions)._replace(scrubbed=True)
        )

    def _both(self, act: Callable[[Store], Any]) -> None:
        assert answer(lambda: act(self.engine)) == answer(lambda: act(self.reference))

    def _compare(self, pick: Random, writer: Scope | None = None) -> None:
        """Somebody looks: at the present, at another time, as of before, or as whoever wrote; all of them search."""
        view, where = View(pick.choice(SCOPES), moment(pick)), some_filter(pick)
        head = self.reference.records.stats(view)["seq"]
        views = [
            view,
            view._replace(valid_at=moment(pick)),
            view._replace(seq=pick.randint(0, head), valid_at=pick.choice((*NOTHING, moment(pick)))),
            view._replace(scope=writer or view.scope),
        ]
        one = pick.choice(views)
        ours, expected = seen(self.engine, one, where), seen(self.reference, one, where)
        for name, value in expected.items():
            assert ours[name] == value, f"{name} differs for {one}, {where}"
        for scope in SCOPES:  # so that what an engine keeps in memory for each of them is always in use
            everybody = view._replace(scope=scope)
            pools = [gathered(store, everybody, EVERYTHING, 100) for store in (self.engine, self.reference)]
            assert pools[0] == pools[1], f"search differs for {everybody}"
        times = [(scope.tenant, one) for scope in (view.scope, SCOPES[0]) for one in range(22)]
        assert [self.engine.records.seq_at(*one) for one in times] == [
            self.reference.records.seq_at(*one) for one in times
        ]


class Agreement(Both):
    """Every rule does the same to both, and then somebody looks."""

    @rule(seed=seeds)
    def put(self, seed: int) -> None:
        pick = Random(seed)
        self._write(pick, [some_put(pick) for _ in range(pick.randint(1, 3))])

    @rule(seed=seeds)
    def change(self, seed: int) -> None:
        pick = Random(seed)
        scope = pick.choice(WRITERS)
        ids = self._present(scope)
        links = self.reference.records.links(View(scope, 0), ids)
        self._write(pick, [some_change(pick, ids, links) for _ in range(pick.randint(1, 2))], scope=scope)

    @rule(seed=seeds)
    def erase(self, seed: int) -> None:
        pick = Random(seed)
        scope = pick.choice(WRITERS)
        before = [some_put(pick)] * (pick.random() < 0.3)
        gone = pick.choices(self._present(scope), k=pick.choice((1, 1, 2)))
        self._write(pick, [*before, *(Erase(id, with_derived=pick.random() < 0.7) for id in gone)], scope=scope)

    @rule(seed=seeds)
    def write_what_may_fail(self, seed: int) -> None:
        """And then it must leave no trace."""
        pick = Random(seed)
        batch = [some_put(pick) if pick.random() < 0.5 else some_change(pick, IDS) for _ in range(pick.randint(1, 4))]
        expect = [some_condition(pick)] * (pick.random() < 0.5)
        once = Once(pick.choice("xyz"), pick.choice((b"1", b"2"))) if pick.random() < 0.3 else None
        self._write(pick, batch, expect=expect, once=once)

    @rule(seed=seeds)
    def write_together(self, seed: int) -> None:
        """Requests that waited for each other, of which some fail: as if they had come one after the other."""
        pick = Random(seed)
        tenant, now = pick.choice(TENANTS), moment(pick)
        requests = []
        for _ in range(pick.randint(2, 4)):
            batch = [
                some_put(pick) if pick.random() < 0.6 else some_change(pick, IDS) for _ in range(pick.randint(1, 3))
            ]
            scope = pick.choice([one for one in WRITERS if one.tenant == tenant])
            expect = [some_condition(pick)] * (pick.random() < 0.2)
            once = Once(pick.choice("xyz"), pick.choice((b"1", b"2"))) if pick.random() < 0.3 else None
            requests.append(Request(batch, Author(scope, "tester"), now, expect, once))
        note(f"together: {requests}")
        self._both(lambda store: together(store, requests))
        self._compare(pick)

    @rule(seed=seeds)
    def embed(self, seed: int) -> None:
        pick = Random(seed)
        space, whose = pick.choice((SPACE, SPACE, OTHER_SPACE)), pick.choice((*NOTHING, *SCOPES))
        limit, whole, now = pick.choice((1, 5, 100)), pick.random() < 0.7, moment(pick)

        def act(store: Store) -> Any:
            waiting = store.index.unembedded(space, View(whose, now), limit) if whose else []
            batch = [Embedded(one.handle, (text_vector(one.text, one.part, space),), whole) for one in waiting]
            for tenant in {one.tenant for one in waiting}:
                store.index.embedded(space, tenant, batch, now=now)
            return [(one.text, one.part) for one in waiting] if whose else sorted(embed_all(store, space, now=now))

        self._both(act)
        self._compare(pick)

    @rule(seed=seeds, space=st.sampled_from((SPACE, OTHER_SPACE)), begin=st.booleans())
    def change_space(self, seed: int, space: Space, begin: bool) -> None:
        self._both(lambda store: store.index.begin(space) if begin else store.index.switch(space))
        self._compare(Random(seed))

    @rule(seed=seeds)
    def recall(self, seed: int) -> None:
        pick = Random(seed)
        view, shown, also = View(pick.choice(SCOPES), moment(pick)), pick.randrange(4), pick.choice((0, 0, 2))
        self.receipts += 1
        query = " ".join(pick.choices((*WORDS, "unheard"), k=pick.randrange(4)))
        seq = max(0, self.reference.records.stats(view)["seq"] - pick.choice((0, 0, 1, 9)))

        def act(store: Store) -> None:
            found = [one.seq for one in store.records.find(view, EVERYTHING, limit=shown + also)]
            handles = gather(store, Probe(view, EVERYTHING, pool=100)).handles.tolist()
            numbers = {store.index.hydrate(view, [handle])[0].seq: handle for handle in handles}
            told = [numbers[one] for one in found]
            body, asked = f'{{"query":"{query}"}}', terms(query).hashes
            line = ReceiptLine(f"r{self.receipts}", view, seq, body, tuple(told[:shown]), asked, tuple(told[shown:]))
            store.receipts.keep([line])

        self._both(act)
        self._compare(pick)

    @rule(seed=seeds)
    def work(self, seed: int) -> None:
        """On a desk, where pictures of records may lie. What is over stays so: when it is swept is the engine's."""
        pick = Random(seed)
        desk, key = Desk(pick.choice(SCOPES), pick.choice(("c1", "c2"))), pick.choice(("k1", "k2"))
        value = pick.choice(("1", '{"id":"a"}', '{"id":"b"}', '["a"]'))
        lasts = {"expires_at": 1000, "now": 10}

        def act(store: Store) -> Any:
            match pick_one:
                case 0:
                    store.working.set(desk, key, value, **lasts)
                    store.working.set(desk, "brief", value, expires_at=5, now=0)
                case 1:
                    store.working.push(desk, "l1", value, keep=3, **lasts)
                    store.working.push(desk, "over", value, keep=3, expires_at=5, now=0)
                case 2:
                    return store.working.delete(desk, key)
                case 3:
                    store.working.clear(desk)
            return None

        pick_one = pick.choice((0, 0, 0, 1, 1, 1, 2, 3))
        self._both(act)
        self._compare(pick)

    @rule(seed=seeds)
    def place(self, seed: int) -> None:
        """Plain vectors; one of another length than those before it is refused."""
        pick = Random(seed)
        space, id = pick.choice(NAMESPACES), pick.choice(IDS)
        numbers = [float(pick.randrange(1, 4)) for _ in range(pick.choice((3, 3, 3, 3, 2)))]
        said, gone = {"n": pick.randrange(2)}, pick.random() < 0.3
        self._both(
            lambda store: (
                store.vectors.delete(space, [id, "b"]) if gone else store.vectors.upsert(space, id, numbers, said)
            )
        )
        self._compare(pick)

    @rule(seed=seeds)
    def admit(self, seed: int) -> None:
        """Keys come, replace others and end; calls are refused."""
        pick = Random(seed)
        scope, at, old = pick.choice(SCOPES), moment(pick), f"key{pick.randrange(self.keys + 1)}"
        instead, ends, refused = pick.choice((*NOTHING, old)), pick.random() < 0.3, pick.random() < 0.5
        key = KeyRow(f"key{self.keys}", b"digest", "label", scope.tenant, scope.user, ("read",), at)
        self.keys += not ends
        lines = [Refusal(at, scope.tenant, scope.user, "recall", "why", pick.choice((None, old))) for _ in range(2)]

        def act(store: Store) -> Any:
            if refused:
                store.access.refuse(lines)
            return store.access.end(old, at) if ends else store.access.add(key, instead=instead)

        self._both(act)
        self._compare(pick)

    @rule(seed=seeds)
    def follow(self, seed: int) -> None:
        """A job reads on, and makes something of it or not; sometimes its lease is another's, or it read nothing."""
        pick = Random(seed)
        reader, tenant, limit = pick.choice(READERS), pick.choice(TENANTS), pick.choice((1, 3, 100))
        scope = pick.choice([one for one in SCOPES if one.tenant == tenant])
        made, lost, stale = pick.choice((None, some_put(pick))), pick.random() < 0.2, pick.random() < 0.2
        run, now = pick.choice((None, JobOutcome(0.5, {"made": 1}), JobOutcome(0.5, error="why"))), moment(pick)

        def act(store: Store) -> Any:
            lease = store.feed.lease(reader, "tester", 3600.0)
            assert lease is not None
            since = Cursor(tenant) if stale else store.feed.cursor(reader, tenant)
            lines = store.feed.lines(since, limit=limit)
            done = Work(lease, since, lines[-1].cursor) if lines else Work(lease)
            if lost:
                store.feed.release(lease, run)
            try:
                if made is None:
                    return store.feed.advance(done)
                return store.records.apply([made], author=Author(scope, "job"), now=now, work=done)
            finally:
                store.feed.release(lease, run)

        self._both(act)
        self._compare(pick, scope)

    @rule(seed=seeds)
    def depart(self, seed: int) -> None:
        """Now and then a tenant is erased whole; somebody may write in its name again."""
        pick = Random(seed)
        tenant, at, author = pick.choice(TENANTS), moment(pick), Author(pick.choice(SCOPES), "operator")
        if self.reference.records.seq_at(tenant, NEVER) and pick.random() < 0.3:
            self._both(lambda store: store.tenants.erase(tenant, author, at).census)
        self._compare(pick)

    @rule(seed=seeds, louder=st.booleans())
    def rebuild(self, seed: int, louder: bool) -> None:
        def derive(kind: str, text: str, payload: str) -> Derived:
            return Derived(terms(f"{text} {WORDS[0]}" if louder else text), (("n", len(text) % 3),))

        words = Analysis(LOUD if louder else PLAIN, derive, lambda query: terms(query).hashes)
        self._both(lambda store: store.records.rebuild(words)["contents"])
        self._compare(Random(seed))

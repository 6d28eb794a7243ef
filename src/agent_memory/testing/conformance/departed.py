"""A tenant that is erased whole: nothing of it is left, the others do not notice, and whoever writes in its name
begins anew."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.models.record import Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Author, Change, Erase, Mark, Once
from agent_memory.ports.feed import Cursor, Work
from agent_memory.ports.index import Embedded, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.store import Store
from agent_memory.ports.tenants import Census
from agent_memory.ports.vectors import inside
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    EVERYTHING,
    NOW,
    SPACE,
    STRANGER,
    gather,
    ids,
    link,
    put,
    term,
    terms,
    text_vector,
    vector,
    view,
    with_vectors,
    write,
)

OURS, THEIRS = ALICE.tenant, STRANGER.tenant
OPERATOR = Author(Scope(tenant="operators", user="olga"), "olga", "they left")
LATER = NOW + 1000


def fill(store: Store, scope: Scope) -> None:
    """Something of everything."""
    tenant = scope.tenant
    once = Once("once", b"asked")
    batch: list[Change] = [
        with_vectors(put("red secret", id="a", key="k", conversation_id="c", repository="r"), vector(1, 0, 0, 0)),
        put("blue", id="b"),
        link("a", "b", "HOLDS"),
    ]
    store.records.apply(batch, author=Author(scope, f"who at {tenant}", "why"), now=NOW, once=once)
    write(store, put("green", id="gone"), scope=scope)
    write(store, Erase("gone"), scope=scope)
    line = ReceiptLine(f"receipt of {tenant}", view(scope), 1, '{"query":"red"}', (1,), terms("red").hashes)
    store.receipts.keep([line])
    store.working.set(Desk(scope, "c"), "colour", '"red"', expires_at=LATER, now=NOW)
    store.working.push(Desk(scope, "c"), "thoughts", '"red"', keep=9, expires_at=LATER, now=NOW)
    store.vectors.upsert(inside(scope, "mine"), "v", (1.0, 0.0), {})
    store.access.add(KeyRow(f"key of {tenant}", b"digest", "label", tenant, None, ("read",), NOW))
    store.access.refuse([Refusal(NOW, tenant, scope.user, "recall", "why", None)])
    lease = store.feed.lease(f"job of {tenant}", "me", 60.0)
    assert lease is not None
    store.feed.advance(Work(lease, Cursor(tenant), store.feed.lines(Cursor(tenant), limit=2)[-1].cursor))
    store.feed.release(lease)


def shown(store: Store, scope: Scope) -> list[object]:
    """All that a reader and an operator are shown of a tenant."""
    mine, tenant = view(scope), scope.tenant
    pool = gather(store, Probe(mine, EVERYTHING, pool=9, terms=(term("red"),)))
    return [
        [one.model_dump() for one in store.records.find(mine, EVERYTHING, limit=9)],
        [one.model_dump() for one in store.records.journal(mine)],
        [one.model_dump() for one in store.records.links(mine, ["a", "b"])],
        {**store.records.stats(mine), "bytes_on_disk": 0, "scrub_owed_since": None},
        sorted(ids(store.index.hydrate(mine, pool.handles.tolist()))),
        (pool.documents, pool.frequencies.tolist(), pool.head),
        store.receipts.receipt(mine, f"receipt of {tenant}"),
        store.receipts.accesses(mine, ["a"]),
        store.receipts.since(tenant, 0, 9),
        store.working.values(Desk(scope, "c"), now=NOW),
        list(store.working.items(Desk(scope, "c"), "thoughts", limit=9, now=NOW)),
        [one.id for one in store.vectors.query(inside(scope, "mine"), (1.0, 0.0))],
        store.access.keys(tenant),
        store.access.refused(tenant, 9, keyed=False),
        store.feed.lines(Cursor(tenant)),
        store.feed.cursor(f"job of {tenant}", tenant),
        store.tenants.census(tenant),
    ]


class DepartedConformance:
    """Two tenants, `acme` and `rival`; the first goes."""

    def test_they_are_counted(self, store: Store) -> None:
        assert store.tenants.census() == []
        fill(store, ALICE)
        write(store, put("more", id="a"), scope=BOB)
        fill(store, STRANGER)
        rival = Census(THEIRS, users=1, records=2, versions=2, links=1, receipts=1, vectors=1, keys=1)
        assert store.tenants.census() == [rival._replace(tenant=OURS, users=2, records=3, versions=3), rival]
        assert store.tenants.census(THEIRS) == [rival] and store.tenants.census("nobody") == []

    def test_nothing_is_left_of_it(self, store: Store) -> None:
        store.index.begin(SPACE)
        never = shown(store, ALICE)
        fill(store, ALICE)
        fill(store, STRANGER)
        before, known = shown(store, STRANGER), store.tenants.census(OURS)
        assert all(mine != nothing for mine, nothing in zip(shown(store, ALICE), never, strict=True))
        departed = store.tenants.erase(OURS, OPERATOR, NOW + 9)
        assert [departed.census] == known and (departed.scrubbed or store.owes())
        assert shown(store, ALICE) == never
        assert shown(store, STRANGER) == before, "others do not notice"
        assert store.access.find(f"key of {OURS}") is None and store.access.guarded()
        assert store.feed.news("another job") == [THEIRS]
        assert store.index.pending(SPACE) == 1

    def test_one_line_in_the_stores_journal_stays_and_one_for_each_key(self, store: Store) -> None:
        for scope in (ALICE, STRANGER):
            fill(store, scope)
        before = store.records.verify(THEIRS)
        store.tenants.erase(OURS, OPERATOR, NOW + 9)
        after = store.records.verify(THEIRS)
        assert (before.problems, after.problems) == ((), ())
        assert {*after.heads} == {None, THEIRS} and after.heads[THEIRS] == before.heads[THEIRS]
        assert after.heads[None].seq == before.heads[None].seq + 2
        alone = store.records.verify(None, expect=before.heads[None], alone=True)
        assert alone.problems == (), "what was noted of the store's journal still proves something"

    def test_whoever_writes_in_its_name_begins_anew(self, store: Store) -> None:
        fill(store, ALICE)
        gather(store, Probe(view(), EVERYTHING, pool=9, terms=(term("red"),)))
        old = store.records.verify(OURS)
        store.tenants.erase(OURS, OPERATOR, NOW + 9)
        assert write(store, put("red again", id="a")).seq == 1
        pool = gather(store, Probe(view(), EVERYTHING, pool=9, terms=(term("red"), term("secret"))))
        assert (pool.head, pool.documents, pool.frequencies.tolist()) == (1, 1, [1, 0])
        assert [one.text for one in store.index.hydrate(view(), pool.handles.tolist())] == ["red again"]
        new = store.records.verify(OURS)
        assert new.problems == () and new.seq == 1 and new.head != old.head
        assert store.records.verify(OURS, expect=Mark(old.seq, old.head)).problems, "that was another one"
        store.tenants.erase(OURS, OPERATOR, NOW + 10)
        assert store.records.verify(OURS).problems == () and store.tenants.census() == []

    def test_one_that_is_not_there(self, store: Store) -> None:
        write(store, put("one", id="a"))
        before = store.records.verify(None).heads
        with pytest.raises(NotFound):
            store.tenants.erase(THEIRS, OPERATOR, NOW)
        assert store.records.verify(None).heads == before

    def test_one_that_has_keys_or_vectors_alone(self, store: Store) -> None:
        store.access.add(KeyRow("k1", b"digest", "label", OURS, None, ("read",), NOW))
        store.vectors.upsert(inside(STRANGER, "mine"), "v", (1.0, 0.0), {})
        assert store.tenants.census() == [Census(OURS, keys=1), Census(THEIRS, vectors=1)]
        for tenant in (OURS, THEIRS):
            store.tenants.erase(tenant, OPERATOR, NOW)
        assert store.tenants.census() == [] and store.records.verify(OURS).problems == ()
        assert store.access.keys() == [] and store.access.guarded()

    def test_a_receipt_that_comes_late_is_not_that_of_the_next(self, store: Store) -> None:
        fill(store, ALICE)
        pool = gather(store, Probe(view(), EVERYTHING, pool=9))
        late = ReceiptLine("late", view(), 1, '{"query":"red"}', (1,), terms("red").hashes, store=pool.store)
        store.tenants.erase(OURS, OPERATOR, NOW + 9)
        store.receipts.keep([late, late._replace(id="empty", handles=())])
        assert store.tenants.census() == []
        fill(store, ALICE)
        store.receipts.keep([late, late._replace(id="empty", handles=())])
        assert [store.receipts.receipt(view(), id) for id in ("late", "empty")] == [None, None]

    def test_vectors_that_come_late_are_not_those_of_the_next(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("old", id="a"))
        [waiting] = store.index.unembedded(SPACE, None, 9)
        late = Embedded(waiting.handle, (text_vector("old"),), complete=True, store=waiting.store)
        store.tenants.erase(OURS, OPERATOR, NOW + 9)
        store.index.embedded(SPACE, OURS, [late], now=NOW)
        assert store.tenants.census() == []
        write(store, put("new", id="a"))
        store.index.embedded(SPACE, OURS, [late], now=NOW)
        assert store.index.pending(SPACE) == 1 and store.records.verify(OURS).problems == ()

    def test_every_place_outside_owes_it_as_a_whole(self, store: Store) -> None:
        debts = store.debts
        assert debts is not None
        debts.attach("x")
        for scope in (ALICE, STRANGER):
            fill(store, scope)
        assert [(one.scope.tenant, one.id) for one in debts.owed("x", 9)] == [(OURS, "gone"), (THEIRS, "gone")]
        store.tenants.erase(OURS, OPERATOR, NOW + 9)
        whole, other = debts.owed("x", 9)
        assert (whole.scope, whole.id) == (Scope(tenant=OURS), None) and other.scope.tenant == THEIRS
        assert [(one.records, one.tenants, one.left) for one in debts.standing()] == [(1, 1, 2)]
        debts.paid([whole])
        assert debts.owed("x", 9) == [other]

"""Erasing: the record is gone everywhere, at every moment, and the rest still proves itself."""

from __future__ import annotations

import json

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.ports.changes import Amend, Effect, Erase
from agent_memory.ports.index import Embedded, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.store import Store
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import (
    ALICE,
    DAY,
    EVERYTHING,
    NOW,
    SHARED,
    SPACE,
    direction,
    ids,
    link,
    put,
    term,
    text_vector,
    vector,
    view,
    with_vectors,
    write,
    write_one,
)


def full(store: Store) -> None:
    """A record with versions, vectors and links, between two others that stay."""
    store.index.begin(SPACE)
    write(
        store,
        with_vectors(put("the secret", id="gone", key="k", conversation_id="c"), vector(1, 0, 0, 0)),
        with_vectors(put("the first", id="a"), vector(0, 1, 0, 0)),
        with_vectors(put("the last", id="z"), vector(0, 0, 1, 0)),
    )
    write(store, put("another secret", id="gone", key="k", conversation_id="c"))
    write(store, Amend("gone", importance=0.9), link("a", "gone"), link("gone", "z"), link("a", "z"))


class ErasureConformance:
    """Physically, with all versions, contents, words, vectors, links and traces in receipts."""

    def test_an_erased_record_is_nowhere(self, store: Store) -> None:
        full(store)
        before = store.records.stats(view())["seq"]
        applied = write(store, Erase("gone"))
        assert (applied.outcomes[0].effect, applied.outcomes[0].id) == (Effect.ERASED, "gone")
        for moment in (view(), view(seq=before), view(seq=4), view(valid_at=NOW)):
            assert store.records.get(moment, ["gone"]) == []
            assert store.records.by_key(moment, "note", "k") is None
            assert "gone" not in ids(store.records.find(moment, EVERYTHING, limit=10))
            with pytest.raises(NotFound):
                store.records.history(moment, "gone")

    def test_its_links_are_gone_and_the_others_stay(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        assert [(one.source_id, one.target_id) for one in store.records.links(view(), ["a", "z"])] == [("a", "z")]
        assert [one.record.id for one in store.records.walk(view(), ["a"], depth=3)] == ["z"]

    def test_search_does_not_know_it_any_more(self, store: Store) -> None:
        full(store)
        question = (term("secret"), term("the"))
        probe = Probe(view(), EVERYTHING, pool=9, terms=question, vector=direction(1, 0, 0, 0), space=SPACE, key="k")
        assert store.index.gather(probe).documents == 3  # so that whatever is cached has seen it
        write(store, Erase("gone"))
        pool = store.index.gather(probe)
        assert sorted(ids(store.index.hydrate(pool.handles.tolist()))) == ["a", "z"]
        assert (pool.documents, pool.frequencies.tolist(), pool.mean_length) == (2, [0, 2], 2.0)

    def test_a_handle_from_before_leads_nowhere(self, store: Store) -> None:
        full(store)
        handles = store.index.gather(Probe(view(), EVERYTHING, pool=9)).handles.tolist()
        assert len(store.index.hydrate(handles)) == 3
        write(store, Erase("gone"))
        assert sorted(ids(store.index.hydrate(handles))) == ["a", "z"]

    def test_nothing_is_counted_or_pending_for_it(self, store: Store) -> None:
        full(store)
        waiting = store.index.unembedded(SPACE, None, 10)
        assert [one.text for one in waiting] == ["another secret"]
        write(store, Erase("gone"))
        assert store.index.pending(SPACE) == 0
        late = [Embedded(one.handle, (text_vector(one.text),), complete=True) for one in waiting]
        store.index.embedded(SPACE, late, now=NOW)
        stats = store.records.stats(view())
        assert (stats["records"], stats["versions"], stats["links"], stats["vectors"]) == (2, 2, 1, 2)

    def test_receipts_that_showed_it_are_gone_and_the_others_stay(self, store: Store) -> None:
        full(store)
        by_id = {one.id: one.seq for one in store.records.get(view(), ["gone", "a"])}
        handles = store.index.gather(Probe(view(), EVERYTHING, pool=9)).handles.tolist()
        handle = {id: next(one for one in handles if store.index.hydrate([one])[0].seq == by_id[id]) for id in by_id}
        store.receipts.keep(
            [
                ReceiptLine("both", view(), 1, "{}", (handle["gone"], handle["a"])),
                ReceiptLine("other", view(), 1, "{}", (handle["a"],)),
            ]
        )
        write(store, Erase("gone"))
        assert store.receipts.receipt(view(), "both") is None
        assert store.receipts.receipt(view(), "other") == "{}"
        assert store.receipts.accesses(view(), ["gone", "a"]) == {"a": (2, NOW)}

    def test_the_working_set_of_its_scope_forgets_it(self, store: Store) -> None:
        full(store)
        desk = Desk(ALICE, "c")
        gone, other = (json.dumps({"id": id, "text": "the secret"}) for id in ("gone", "a"))
        for item in (other, gone, '"gone"', "[]"):
            store.working.push(desk, "turns", item, keep=9, expires_at=NOW + DAY)
        store.working.set(desk, "last", gone, expires_at=NOW + DAY)
        store.working.set(desk, "plain", '"gone"', expires_at=NOW + DAY)
        write(store, Erase("gone"))
        assert list(store.working.items(desk, "turns", limit=9, now=NOW)) == ["[]", '"gone"', other]
        assert store.working.values(desk, now=NOW) == {"plain": '"gone"'}

    def test_the_rest_still_verifies(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        assert store.records.verify().problems == ()
        write(store, put("later", id="b"), Erase("a"))
        assert store.records.verify().problems == ()

    def test_the_journal_still_tells_that_it_was_there(self, store: Store) -> None:
        full(store)
        lines = store.records.journal(view())
        write(store, Erase("gone"), now=NOW + 1)
        after = store.records.journal(view())
        assert after[:-1] == lines
        assert (after[-1].operation, after[-1].record_id) == ("erase", "gone")

    def test_its_id_and_key_can_be_used_again(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        outcome = write_one(store, put("new life", id="gone", key="k", kind="fact"))
        assert (outcome.effect, outcome.version) == (Effect.CREATED, 1)
        assert [record.text for record in store.records.history(view(), "gone")] == ["new life"]
        assert store.records.links(view(), ["gone"]) == []
        assert store.receipts.accesses(view(), ["gone"]) == {}

    def test_a_conversation_that_others_use_stays(self, store: Store) -> None:
        write(store, put("one", id="a", conversation_id="c1", repository="r"))
        write(store, put("two", id="b", conversation_id="c1"), put("three", id="d", conversation_id="c2"))
        write(store, Erase("a"))
        write(store, put("four", id="e", conversation_id="c3", repository="r2"))
        records = store.records.get(view(), ["b", "d", "e"])
        assert [(one.conversation_id, one.repository) for one in records] == [("c1", None), ("c2", None), ("c3", "r2")]

    def test_a_second_erasure_is_not_found(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        with pytest.raises(NotFound):
            write(store, Erase("gone"))

    def test_others_of_the_same_id_stay(self, store: Store) -> None:
        write(store, put("for all", id="a"), scope=SHARED)
        write(store, put("alice's", id="a"), scope=ALICE)
        write(store, Erase("a"), scope=SHARED)
        assert [record.text for record in store.records.get(view(ALICE), ["a"])] == ["alice's"]
        assert store.records.get(view(SHARED), ["a"]) == []

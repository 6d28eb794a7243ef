"""Embedding spaces: what is pending in one, and how another takes its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from agent_memory.models.errors import Conflict, SpaceMismatch
from agent_memory.ports.changes import Amend, Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Pool, Probe
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    EVERYTHING,
    NOW,
    OTHER_SPACE,
    SHARED,
    SPACE,
    direction,
    embed_all,
    gather,
    put,
    text_vector,
    vector,
    view,
    with_vectors,
    write,
)

FORWARD = {SPACE: (1.0, 0.0, 0.0, 0.0), OTHER_SPACE: (1.0, 0.0, 0.0)}


def similar(store: Store, space: Space = SPACE, until: int | None = None) -> Pool:
    question = direction(*FORWARD[space])
    return gather(store, Probe(view(), EVERYTHING, pool=100, vector=question, space=space, vectors_until=until))


def vectors(store: Store, handles: Sequence[int]) -> Mapping[int, tuple[Vector, ...]]:
    return store.index.vectors(view(), handles)


class SpaceConformance:
    """Vectors of the active space answer; another can be built beside it."""

    def test_a_store_begins_without_a_space(self, store: Store) -> None:
        assert store.index.space() is None
        write(store, put("one", id="a"))
        assert store.index.pending(SPACE) == 0
        assert store.index.unembedded(SPACE, None, 10) == []

    def test_the_first_space_is_active_and_all_is_pending_in_it(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("three", id="a"))
        store.index.begin(SPACE)
        assert store.index.space() == SPACE
        assert store.index.pending(SPACE) == 3
        assert store.index.pending(OTHER_SPACE) == 0
        store.index.begin(SPACE)
        assert store.index.pending(SPACE) == 3

    def test_what_comes_without_vectors_is_pending(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"), with_vectors(put("two", id="b"), vector(1, 0, 0, 0)))
        write(store, with_vectors(put("three", id="c"), vector(1, 0, 0), space=OTHER_SPACE))
        write(store, with_vectors(put("four", id="d"), vector(1, 0, 0, 0), complete=False))
        waiting = store.index.unembedded(SPACE, None, 10)
        assert [(one.text, one.part) for one in waiting] == [("four", 1), ("three", 0), ("one", 0)]

    def test_the_newest_are_handed_out_first(self, store: Store) -> None:
        store.index.begin(SPACE)
        for number, scope in enumerate((ALICE, SHARED, BOB) * 3):
            write(store, put(f"{number}", id=f"{number}"), scope=scope)
        assert [one.text for one in store.index.unembedded(SPACE, None, 4)] == ["8", "7", "6", "5"]
        assert [one.text for one in store.index.unembedded(SPACE, view(ALICE), 4)] == ["7", "6", "4", "3"]
        assert store.index.pending(SPACE, view(ALICE)) == similar(store).pending == 6

    def test_what_was_pending_is_found_once_it_is_embedded(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"), put("two", id="b"))
        assert np.isnan(similar(store).similarity).all()
        before = store.records.stats(view())["seq"]
        assert embed_all(store, now=NOW + 9) == ["two", "one"]
        assert store.index.pending(SPACE) == 0
        assert not np.isnan(similar(store).similarity).any()
        [line] = store.records.journal(view(), after=before)
        assert (line.operation, line.record_id) == ("embed", None)
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_a_replay_leaves_out_vectors_that_came_later(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, with_vectors(put("at once", id="a"), vector(1, 0, 0, 0)), put("later", id="b"))
        long = with_vectors(put("long", id="c"), vector(0, 1, 0, 0), complete=False)
        write(store, long)
        before = similar(store)
        assert np.isnan(before.similarity).sum() == 1
        waiting = {one.text: one for one in store.index.unembedded(SPACE, None, 10)}
        rest = Embedded(waiting["long"].handle, (vector(1, 0, 0, 0, part=1),), complete=True)
        store.index.embedded(SPACE, ALICE.tenant, [rest], now=NOW)
        between = similar(store)
        embed_all(store)
        now = similar(store)
        for pool in (before, between, now):
            again = similar(store, until=pool.head)
            assert again.handles.tolist() == pool.handles.tolist()
            assert np.array_equal(again.similarity, pool.similarity, equal_nan=True)
        assert before.head < between.head < now.head == store.records.stats(view())["seq"]
        assert not np.array_equal(before.similarity, between.similarity, equal_nan=True)
        assert np.isnan(similar(store, until=0).similarity).all()

    def test_what_is_read_as_of_a_moment_uses_all_vectors(self, store: Store) -> None:
        store.index.begin(SPACE)
        seq = write(store, put("one", id="a")).seq
        embed_all(store)
        question = direction(*FORWARD[SPACE])
        pool = gather(store, Probe(view(seq=seq), EVERYTHING, pool=9, vector=question, space=SPACE))
        assert not np.isnan(pool.similarity).any()
        assert pool.seq == seq < pool.head

    def test_a_store_knows_since_when_its_space_answers(self, store: Store) -> None:
        assert not store.index.adopted(0)
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        embed_all(store)
        seq = gather(store, Probe(view(), EVERYTHING, pool=9)).store
        assert store.index.adopted(0) and not store.index.adopted(seq)
        for space in (OTHER_SPACE, SPACE):  # there, and back again
            store.index.begin(space)
            embed_all(store, space)
            assert store.index.adopted(seq) == (space == SPACE), "the old one answers until the new one is complete"
            store.index.switch(space)
            assert store.index.adopted(seq)

    def test_each_scope_is_told_by_a_line_of_its_own(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"), put("two", id="b"), scope=ALICE)
        write(store, put("three", id="c"), scope=BOB)
        before = store.records.stats(view())["seq"]
        embed_all(store)
        assert store.records.stats(view())["seq"] == before + 2
        assert len(store.records.journal(view(ALICE), after=before)) == 1

    def test_a_long_text_is_embedded_part_by_part(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("long", id="a"))
        [one] = store.index.unembedded(SPACE, None, 10)
        first, rest = (vector(0, 1, 0, 0, part=0),), (vector(0, 0, 1, 0, part=1), vector(1, 0, 0, 0, part=2))
        store.index.embedded(SPACE, ALICE.tenant, [Embedded(one.handle, first, complete=False)], now=NOW)
        assert [one.part for one in store.index.unembedded(SPACE, None, 10)] == [1]
        assert similar(store).similarity.tolist() == [pytest.approx(0.0, abs=0.01)]
        store.index.embedded(SPACE, ALICE.tenant, [Embedded(one.handle, rest, complete=True)], now=NOW)
        assert store.index.pending(SPACE) == 0
        assert similar(store).similarity.tolist() == [pytest.approx(1.0, abs=0.01)]

    def test_what_somebody_else_embedded_meanwhile_is_passed_over(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        [one] = store.index.unembedded(SPACE, None, 10)
        made = Embedded(one.handle, (text_vector("one"),), complete=True)
        part = Embedded(one.handle, (text_vector("one"),), complete=False)
        store.index.embedded(SPACE, ALICE.tenant, [part], now=NOW)
        store.index.embedded(SPACE, ALICE.tenant, [part, made], now=NOW)  # both begin at a part that is there already
        assert store.records.stats(view())["vectors"] == 1
        assert [one.part for one in store.index.unembedded(SPACE, None, 10)] == [1]
        store.index.embedded(OTHER_SPACE, ALICE.tenant, [made], now=NOW)
        assert store.records.stats(view())["vectors"] == 1

    def test_another_space_is_built_beside_the_active_one(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        embed_all(store)
        before = similar(store).similarity.tolist()
        store.index.begin(OTHER_SPACE)
        assert store.index.space() == SPACE
        assert (store.index.pending(SPACE), store.index.pending(OTHER_SPACE)) == (0, 1)
        embed_all(store, OTHER_SPACE)
        assert similar(store).similarity.tolist() == before
        assert similar(store).pending == 0
        with pytest.raises(SpaceMismatch):
            similar(store, OTHER_SPACE)

    def test_what_is_written_meanwhile_is_pending_in_both(self, store: Store) -> None:
        store.index.begin(SPACE)
        store.index.begin(OTHER_SPACE)
        write(store, put("one", id="a"), with_vectors(put("two", id="b"), vector(1, 0, 0, 0)))
        assert (store.index.pending(SPACE), store.index.pending(OTHER_SPACE)) == (1, 2)

    def test_a_space_takes_over_when_nothing_is_pending_in_it(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        embed_all(store)
        store.index.begin(OTHER_SPACE)
        similar(store)  # so that whatever is cached is of the old space
        with pytest.raises(Conflict):
            store.index.switch(OTHER_SPACE)
        assert store.index.space() == SPACE
        embed_all(store, OTHER_SPACE)
        store.index.switch(OTHER_SPACE)
        assert store.index.space() == OTHER_SPACE
        assert not np.isnan(similar(store, OTHER_SPACE).similarity).any()
        with pytest.raises(SpaceMismatch):
            similar(store)
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_the_others_are_dropped(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        embed_all(store)
        write(store, put("two", id="b"))
        store.index.begin(OTHER_SPACE)
        embed_all(store, OTHER_SPACE)
        store.index.switch(OTHER_SPACE)
        assert store.records.stats(view())["vectors"] == 2
        assert store.index.pending(SPACE) == 0
        write(store, put("three", id="c"))
        assert (store.index.pending(SPACE), store.index.pending(OTHER_SPACE)) == (0, 1)
        with pytest.raises(Conflict):
            store.index.switch(SPACE)
        store.index.begin(SPACE)  # again, and from nothing
        assert store.index.pending(SPACE) == 3

    def test_a_space_that_nobody_began_cannot_take_over(self, store: Store) -> None:
        store.index.begin(SPACE)
        with pytest.raises(Conflict):
            store.index.switch(OTHER_SPACE)

    def test_the_vectors_of_the_active_space_are_made_anew(self, store: Store) -> None:
        store.index.begin(SPACE)
        brought = vector(1, 0, 0, 0)._replace(end=0)
        write(store, put("one", id="a"), put("two", id="b"), with_vectors(put("three", id="c"), brought))
        embed_all(store)
        before = similar(store).store
        store.index.begin(SPACE, anew=True)
        assert store.index.pending(SPACE) == 2, "nobody but the caller could make the third again"
        assert not np.isnan(similar(store).similarity).any(), "the old ones answer until the new ones come"
        with pytest.raises(Conflict):
            store.index.switch(SPACE, anew=True)
        for one in store.index.unembedded(SPACE, None, 10):
            store.index.embedded(
                SPACE, ALICE.tenant, [Embedded(one.handle, (vector(0, 1, 0, 0),), complete=True)], now=NOW
            )
        store.index.switch(SPACE, anew=True)
        assert store.records.stats(view())["vectors"] == 3
        assert store.index.adopted(before)
        assert sorted(similar(store).similarity.round(2).tolist()) == sorted([0.0, 0.0, 1.0])
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_a_space_that_is_being_built_is_not_begun_anew(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"), put("two", id="b"))
        store.index.begin(OTHER_SPACE)
        [one, _] = store.index.unembedded(OTHER_SPACE, None, 10)
        made = Embedded(one.handle, (text_vector("two", space=OTHER_SPACE),), complete=True)
        store.index.embedded(OTHER_SPACE, ALICE.tenant, [made], now=NOW)
        store.index.begin(OTHER_SPACE, anew=True)
        assert store.index.pending(OTHER_SPACE) == 1

    def test_a_sample_is_of_what_was_made_from_a_text(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"), with_vectors(put("three", id="c"), vector(1, 0, 0, 0)._replace(end=0)))
        embed_all(store)
        [one] = store.index.sample(SPACE, 5)
        assert (one.text, one.vector) == ("one", text_vector("one"))
        assert store.index.sample(OTHER_SPACE, 5) == []

    def test_versions_have_their_vectors_in_the_active_space(self, store: Store) -> None:
        store.index.begin(SPACE)
        own = with_vectors(put("two", id="b"), vector(1, 0, 0, 0))
        seqs = [write(store, put("one", id="a")).seq, write(store, own).seq]
        half = with_vectors(put("four", id="c"), vector(0, 1, 0, 0), complete=False)
        seqs += [write(store, own, scope=BOB).seq, write(store, half).seq]
        assert {one: [made.part for made in found] for one, found in vectors(store, seqs).items()} == {seqs[1]: [0]}
        embed_all(store)
        found = vectors(store, [*seqs, 10**6])
        assert [*sorted(found)] == [seqs[0], seqs[1], seqs[3]] and found[seqs[0]][0].numbers @ text_vector(
            "one"
        ).numbers > 0.99
        amended = write(store, Amend("b", importance=0.9)).seq
        assert vectors(store, [amended])[amended] == found[seqs[1]]

    def test_switching_to_the_active_space_changes_nothing(self, store: Store) -> None:
        store.index.begin(SPACE)
        before = store.records.stats(view())["seq"]
        store.index.switch(SPACE)
        assert (store.index.space(), store.records.stats(view())["seq"]) == (SPACE, before)

"""`Index.gather`: all evidence about what a reader may see, and nothing else."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pytest

from agent_memory.models.errors import SpaceMismatch
from agent_memory.models.record import Status
from agent_memory.ports.changes import Amend, Erase
from agent_memory.ports.index import Pool, Probe
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    BOT,
    DAY,
    EVERYTHING,
    NOW,
    OTHER_SPACE,
    SHARED,
    SPACE,
    direction,
    embed_all,
    gather,
    ids,
    link,
    put,
    succeeding,
    term,
    vector,
    view,
    with_vectors,
    write,
)

ALL = 10_000


def look(store: Store, words: str = "", at: View | None = None, where: Filter | None = None, **rest: Any) -> Pool:
    """Ask with words; `rest` holds other fields of a probe."""
    terms = tuple(term(word) for word in words.split())
    return gather(store, Probe(at or view(), where or Filter(), **{"pool": 0, "terms": terms, **rest}))


def names(store: Store, pool: Pool) -> list[str]:
    """The ids of the candidates, sorted."""
    return sorted(ids(store.index.hydrate(view(), pool.handles.tolist())))


def evidence(store: Store, pool: Pool, column: str) -> dict[str, Any]:
    """id -> what one column of the pool says about it."""
    rows = getattr(pool, column)
    return {
        store.index.hydrate(view(), [int(handle)])[0].id: rows[place].tolist()
        for place, handle in enumerate(pool.handles)
    }


class WordsConformance:
    def test_a_snapshot_answers_as_of_its_line(self, store: Store) -> None:
        first = write(store, put("red ball", id="a"), put("red car", id="b")).seq
        before = store.index.snapshot(ALICE)
        write(store, put("red bus", id="c"), put("blue ball", id="a"), link("a", "b"))
        probe = Probe(view(), EVERYTHING, 0, (term("red"),))
        for _ in range(2):  # also when whatever is cached is ahead of it
            (old,), (new,) = (store.index.gather(one, [probe]) for one in (before, store.index.snapshot(ALICE)))
            assert (names(store, old), old.seq, old.head) == (["a", "b"], first, first)
            assert (names(store, new), new.frequencies.tolist()) == (["b", "c"], [2])
        handles = [one.seq for one in store.records.get(view(), ["a", "b"])]
        assert store.index.steps(before, view(), handles, most=9) == []
        assert len(store.index.steps(store.index.snapshot(ALICE), view(), handles, most=9)) == 2

    def test_an_erasure_shows_through_a_snapshot(self, store: Store) -> None:
        write(store, put("red ball", id="a"), put("red car", id="b"))
        before = store.index.snapshot(ALICE)
        write(store, Erase("a"))
        gather(store, Probe(view(), EVERYTHING, 0, (term("red"),)))  # so that whatever is cached has heard of it
        (pool,) = store.index.gather(before, [Probe(view(), EVERYTHING, 0, (term("red"),))])
        assert (names(store, pool), pool.frequencies.tolist()) == (["b"], [1])

    def test_several_probes_are_answered_each_by_itself(self, store: Store) -> None:
        write(store, put("red ball", id="a"), put("red car", id="b", kind="fact"), put("blue car", id="c", kind="fact"))
        probes = [Probe(view(), Filter(kinds=kinds), 0, (term("red"),)) for kinds in (("note",), ("fact",), None)]
        found = store.index.gather(store.index.snapshot(ALICE), probes)
        assert [names(store, pool) for pool in found] == [["a"], ["b"], ["a", "b"]]
        assert [(pool.documents, pool.frequencies.tolist()) for pool in found] == [(1, [1]), (2, [1]), (3, [2])]
        assert {(pool.seq, pool.head) for pool in found} == {(found[0].seq, found[0].head)}

    """Words bring all their matches, and the statistics are those of the reader."""

    def test_an_empty_store_gives_an_empty_pool(self, store: Store) -> None:
        pool = look(store, "any thing", pool=5)
        assert (pool.seq, pool.documents) == (0, 0)
        assert pool.frequencies.tolist() == [0, 0]
        assert pool.counts.shape == (0, 2)
        assert len(pool.handles) == 0

    def test_what_is_hidden_is_counted_by_what_hides_it(self, store: Store) -> None:
        write(store, put("red", id="a"), put("old", id="b"), put("ended", id="c", valid_to=NOW + 1), put("x", id="d"))
        write(store, put("new", id="b"), put("a fact", id="e", kind="fact"), put("held", id="f", status=Status.HELD))
        write(store, put("his", id="g"), scope=BOB)
        later, notes = view(now=NOW + 2), Filter(kinds=("note",))
        pool = look(store, "red", later, notes, tell_hidden=True)
        assert {name: count for name, count in (pool.hidden or {}).items() if count} == {
            "recorded": 1,
            "valid": 1,
            "kinds": 1,
            "statuses": 1,
        }
        assert pool.documents == 3
        assert look(store, "red", later, notes).hidden is None

    def test_candidates_tell_whether_their_conversation_is_put_aside(self, store: Store) -> None:
        write(
            store,
            put("red one", id="a", conversation_id="cold"),
            put("red two", id="b", conversation_id="warm"),
            put("red three", id="c"),
            put("", id="d", kind="talk", conversation_id="cold", payload={"archived": True}),
            put("", id="e", kind="talk", conversation_id="warm", payload={"archived": False}),
        )
        write(store, put("red his", id="f", conversation_id="cold"), scope=SHARED)  # another conversation
        aside = Filter(kinds=("talk",), fields=(("archived", True),))
        for where in (Filter(kinds=("note",)), EVERYTHING):
            pool = look(store, "red", None, where, aside=aside)
            told = evidence(store, pool, "aside")
            assert {id for id, apart in told.items() if apart} - {"d"} == {"a"}
            assert look(store, "red", None, where).aside is None
        before = store.index.snapshot(ALICE)
        write(store, put("", id="d", kind="talk", conversation_id="cold", payload={"archived": False}))
        probe = Probe(view(), Filter(kinds=("note",)), 9, (term("red"),), aside=aside)
        (then,), (now,) = (store.index.gather(one, [probe]) for one in (before, store.index.snapshot(ALICE)))
        assert then.aside is not None and then.aside.sum() == 1
        assert now.aside is not None and not now.aside.any()

    def test_every_match_is_a_candidate_with_its_counts(self, store: Store) -> None:
        write(store, put("red red blue", id="a"), put("blue", id="b"), put("green", id="c"))
        pool = look(store, "red blue")
        assert evidence(store, pool, "counts") == {"a": [2, 1], "b": [0, 1]}
        assert evidence(store, pool, "lengths") == {"a": 3, "b": 1}
        assert pool.frequencies.tolist() == [1, 2]
        assert (pool.seq, pool.documents) == (3, 3)

    def test_a_candidate_tells_its_time_and_importance(self, store: Store) -> None:
        write(store, put("red", id="a", valid_from=NOW - DAY, importance=0.25), put("red", id="b", importance=1.0))
        pool = look(store, "red")
        assert evidence(store, pool, "valid_from") == {"a": NOW - DAY, "b": NOW}
        assert evidence(store, pool, "importance") == {"a": 0.25, "b": 1.0}

    def test_statistics_cover_all_that_is_visible_and_only_that(self, store: Store) -> None:
        write(store, *(put("red herring", id=f"b{number}") for number in range(5)), scope=BOB)
        write(store, put("red", id="s"), scope=SHARED)
        write(store, put("red blue green", id="a"), put("blue", id="b"), scope=ALICE)
        pool = look(store, "red herring", view(ALICE))
        assert (pool.documents, pool.frequencies.tolist()) == (3, [2, 0])
        pool = look(store, "red herring", view(BOB))
        assert (pool.documents, pool.frequencies.tolist()) == (6, [6, 5])

    def test_only_the_version_that_is_shown_counts(self, store: Store) -> None:
        before = write(store, put("red", id="a")).seq
        assert names(store, look(store, "red")) == ["a"]
        write(store, put("blue blue", id="a"))
        assert names(store, look(store, "red")) == []
        assert names(store, look(store, "blue")) == ["a"]
        then = look(store, "red blue", view(seq=before))
        assert (names(store, then), then.seq) == (["a"], before)
        assert (then.documents, then.frequencies.tolist()) == (1, [1, 0])

    def test_valid_time_is_respected(self, store: Store) -> None:
        write(store, put("red", id="a", valid_from=NOW - 2 * DAY))
        write(store, succeeding(put("blue", id="a", valid_from=NOW - DAY)))
        write(store, succeeding(put("green", id="a", valid_from=NOW + DAY)))
        moments = {
            "red": view(valid_at=NOW - 2 * DAY),
            "blue": view(),
            "green": view(now=NOW + DAY),
        }
        for colour, moment in moments.items():
            pool = look(store, "red blue green", moment)
            assert pool.counts.tolist() == [[int(colour == one) for one in ("red", "blue", "green")]]
        assert look(store, "red", view(valid_at=NOW - 3 * DAY)).documents == 0

    def test_what_is_still_to_come_shows_its_first_version(self, store: Store) -> None:
        write(store, put("red", id="a", valid_from=NOW + DAY))
        write(store, succeeding(put("blue", id="a", valid_from=NOW + 2 * DAY)))
        pool = look(store, "red blue")
        assert (pool.documents, pool.frequencies.tolist()) == (1, [1, 0])

    def test_an_amended_version_keeps_the_words_and_vectors_of_its_content(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, with_vectors(put("red", id="a"), vector(1, 0, 0, 0)))
        assert names(store, look(store, "red")) == ["a"]
        write(store, Amend("a", importance=0.9))
        pool = look(store, "red", vector=direction(1, 0, 0, 0), space=SPACE)
        assert evidence(store, pool, "importance") == {"a": pytest.approx(0.9)}
        assert evidence(store, pool, "similarity") == {"a": pytest.approx(1.0, abs=0.01)}
        assert (pool.documents, pool.frequencies.tolist()) == (1, [1])

    def test_what_the_filter_drops_counts_nowhere(self, store: Store) -> None:
        write(store, put("red", id="a", conversation_id="c1", confidence=0.7))
        write(store, put("red", id="b", kind="fact", repository="r1", confidence=0.8))
        write(store, put("red", id="c", status=Status.HELD), put("red", id="d", payload={"n": 1}, valid_from=NOW - 9))
        write(store, put("red", id="e", kind="procedure", payload={"origin": "r1"}, confidence=0.1, valid_from=NOW - 1))
        for where, expected in (
            (Filter(), ["a", "b", "d", "e"]),
            (Filter(conversation_id="c1"), ["a"]),
            (Filter(kinds=("fact", "unheard")), ["b"]),
            (Filter(repository="r1"), ["b"]),
            (Filter(statuses=(Status.HELD,)), ["c"]),
            (Filter(fields=(("n", 1),)), ["d"]),
            (Filter(before=NOW), ["d", "e"]),
            (Filter(min_confidence=0.8), ["b", "d"]),
            (Filter(after=NOW), ["a", "b"]),
            (Filter(conversation_id="unheard"), []),
            (Filter(kinds=()), []),
            (Filter(kinds=("unheard", "neither")), []),
            (Filter(statuses=()), []),
            (Filter(statuses=tuple(Status), kinds=("note", "note")), ["a", "c", "d"]),
            (Filter(pages=()), ["a", "b", "d"]),
            (Filter(pages=("r1",)), ["a", "b", "d", "e"]),
            (Filter(pages=("r2",), kinds=("procedure",)), []),
        ):
            pool = look(store, "red", where=where)
            assert names(store, pool) == expected
            assert (pool.documents, pool.frequencies.tolist()) == (len(expected), [len(expected)])

    def test_a_conversation_stands_together_and_in_its_order(self, store: Store) -> None:
        said = [(3, ALICE, "c1"), (1, ALICES_BOT, "c1"), (2, ALICE, "c2"), (2, SHARED, "c1"), (1, BOT, "c2")]
        for position, scope, talk in said:
            new = put("red", id=f"{talk}-{position}", key=f"{talk}{position}", conversation_id=talk, position=position)
            write(store, new, put("red", id=f"alone {talk} {position}"), scope=scope)
        pool = look(store, "red", view(ALICES_BOT))
        talks = pool.conversations.tolist()
        hits = ids(store.index.hydrate(view(ALICES_BOT), pool.handles.tolist()))
        runs = [[id for _, id in run] for talk, run in groupby(zip(talks, hits, strict=True), itemgetter(0)) if talk]
        assert sorted(runs) == [["c1-1", "c1-2", "c1-3"], ["c2-1", "c2-2"]]
        assert [id.startswith("alone") for id in hits] == [talk == 0 for talk in talks]

    def test_words_bring_matches_beyond_the_pool(self, store: Store) -> None:
        write(store, *(put("red", id=f"{number}") for number in range(30)))
        assert len(look(store, "red", pool=3).handles) == 30

    def test_a_key_that_is_asked_for_is_exact(self, store: Store) -> None:
        write(store, put("x", id="a", key="k"), put("red", id="b", key="other"), put("x", id="c", kind="fact", key="k"))
        write(store, put("x", id="d", key="k"), scope=BOB)
        assert evidence(store, look(store, "red", key="k"), "exact") == {"a": True, "b": False, "c": True}
        assert evidence(store, look(store, "red"), "exact") == {"b": False}

    def test_handles_become_records_in_their_order(self, store: Store) -> None:
        write(store, put("red", id="a"), put("red", id="b"), put("red", id="c"))
        handles = look(store, "red").handles.tolist()
        forwards, backwards = store.index.hydrate(view(), handles), store.index.hydrate(view(), handles[::-1])
        assert ids(forwards) == ids(backwards)[::-1]
        assert forwards == [store.records.get(view(), [one.id])[0] for one in forwards]
        assert store.index.hydrate(view(), []) == store.index.hydrate(view(), [10**9]) == []

    def test_an_old_handle_still_leads_to_its_version(self, store: Store) -> None:
        write(store, put("red", id="a"))
        handles = look(store, "red").handles.tolist()
        write(store, put("blue", id="a"))
        assert [(one.text, one.version) for one in store.index.hydrate(view(), handles)] == [("red", 1)]


class SimilarityConformance:
    """Exact over what the reader may see; similarity and recency may each bring `pool` candidates."""

    def near(self, store: Store, *numbers: float, pool: int = ALL, **rest: Any) -> Pool:
        return look(store, pool=pool, vector=direction(*numbers), space=SPACE, **rest)

    def test_similarity_is_the_cosine(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(
            store,
            with_vectors(put("x", id="a"), vector(1, 0, 0, 0)),
            with_vectors(put("x", id="b"), vector(1, 1, 0, 0)),
            with_vectors(put("x", id="c"), vector(-1, 0, 0, 0)),
            put("x", id="none"),
        )
        similarity = evidence(store, self.near(store, 1, 0, 0, 0), "similarity")
        assert np.isnan(similarity.pop("none"))
        assert similarity == pytest.approx({"a": 1.0, "b": 0.5**0.5, "c": -1.0}, abs=0.01)

    def test_without_a_question_there_is_no_similarity(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, with_vectors(put("red", id="a"), vector(1, 0, 0, 0)))
        assert np.isnan(look(store, "red").similarity).all()

    def test_of_several_vectors_the_best_counts(self, store: Store) -> None:
        store.index.begin(SPACE)
        parts = (vector(0, 1, 0, 0, part=0), vector(1, 0, 0, 0, part=1), vector(-1, 0, 0, 0, part=2))
        write(store, with_vectors(put("long", id="a"), *parts), with_vectors(put("x", id="b"), vector(0, 0, 1, 0)))
        pool = self.near(store, 1, 0, 0, 0, pool=1)
        assert evidence(store, pool, "similarity")["a"] == pytest.approx(1.0, abs=0.01)
        assert pool.documents == 2
        assert self.near(store, 0, 1, 0, 0).handles.tolist().count(pool.handles[0]) == 1

    def test_each_channel_brings_at_most_a_pool(self, store: Store) -> None:
        store.index.begin(SPACE)
        for number in range(20):
            # The older, the more similar: the two channels bring different records.
            new = put("x", id=f"{number:02}", valid_from=NOW - number * DAY)
            write(store, with_vectors(new, vector(number, 20, 0, 0)))
        assert names(store, self.near(store, 1, 0, 0, 0, pool=3)) == ["00", "01", "02", "17", "18", "19"]
        assert names(store, look(store, pool=2)) == ["00", "01"]
        assert len(self.near(store, 1, 0, 0, 0, pool=0).handles) == 0

    def test_equals_do_not_make_a_pool_larger(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, *(with_vectors(put("x", id=f"{n}"), vector(1, 0, 0, 0)) for n in range(9)))
        assert len(look(store, pool=4).handles) == 4
        once, again = (self.near(store, 1, 0, 0, 0, pool=4).handles.tolist() for _ in range(2))
        assert once == again
        assert 4 <= len(once) <= 8

    def test_a_larger_pool_holds_the_smaller_one(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, *(put(f"text {number}", id=f"{number}") for number in range(40)))
        embed_all(store)
        before: set[int] = set()
        for size in (1, 5, 20, 39):
            handles = set(self.near(store, 1, 1, 0, 0, pool=size).handles.tolist())
            assert before <= handles
            before = handles

    def test_the_filter_comes_before_the_pool(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, *(with_vectors(put("x", id=f"{n}"), vector(1, 0, 0, 0)) for n in range(20)))
        write(store, with_vectors(put("x", id="far", kind="fact", valid_from=NOW - DAY), vector(-1, 0, 0, 0)))
        pool = self.near(store, 1, 0, 0, 0, pool=1, where=Filter(kinds=("fact",)))
        assert names(store, pool) == ["far"]

    def test_the_wall_comes_before_the_pool(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, *(with_vectors(put("x", id=f"{n}"), vector(1, 0, 0, 0)) for n in range(20)), scope=BOB)
        write(store, with_vectors(put("x", id="mine", valid_from=NOW - DAY), vector(-1, 0, 0, 0)))
        assert names(store, self.near(store, 1, 0, 0, 0, pool=1)) == ["mine"]

    def test_only_the_version_that_is_shown_is_similar(self, store: Store) -> None:
        store.index.begin(SPACE)
        before = write(store, with_vectors(put("x", id="a"), vector(1, 0, 0, 0))).seq
        write(store, with_vectors(put("y", id="a"), vector(0, 1, 0, 0)))
        now, then = self.near(store, 1, 0, 0, 0), self.near(store, 1, 0, 0, 0, at=view(seq=before))
        assert evidence(store, now, "similarity") == {"a": pytest.approx(0.0, abs=0.01)}
        assert evidence(store, then, "similarity") == {"a": pytest.approx(1.0, abs=0.01)}

    def test_many_records_are_compared_exactly(self, store: Store) -> None:
        store.index.begin(SPACE)
        angles = np.linspace(0, np.pi / 2, 1500)
        write(
            store,
            *(
                with_vectors(put("x", id=f"{n:04}"), vector(np.cos(angle), np.sin(angle), 0, 0))
                for n, angle in enumerate(angles)
            ),
        )
        similarity = evidence(store, self.near(store, 1, 0, 0, 0), "similarity")
        assert similarity == pytest.approx({f"{n:04}": np.cos(angle) for n, angle in enumerate(angles)}, abs=0.01)

    def test_a_question_of_another_space_is_refused(self, store: Store) -> None:
        with pytest.raises(SpaceMismatch):
            self.near(store, 1, 0, 0, 0)
        store.index.begin(SPACE)
        with pytest.raises(SpaceMismatch):
            look(store, vector=direction(1, 0, 0), space=OTHER_SPACE)
        with pytest.raises(SpaceMismatch):
            look(store, vector=direction(1, 0, 0, 0), space=None)
        self.near(store, 1, 0, 0, 0)

"""`VectorStore`: vectors in namespaces. `Mirror`: the same on the records' engine, with what others of them missed."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory.models.errors import InvalidInput, LeaseLost
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Author, Erase
from agent_memory.ports.feed import Work
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import PlacedVector, Scored, inside
from agent_memory.testing.builders import ALICE, ALICES_BOT, BOB, NOW, SHARED, STRANGER, put, write

PLACE = "vectors y://"


def found(store: Store, namespace: str, *vector: float, **rest: Any) -> list[str]:
    return [match.id for match in store.vectors.query(namespace, vector, **rest)]


class VectorConformance:
    """Within a namespace ids are unique and all vectors have one dimension."""

    def test_the_nearest_come_first_with_their_cosine(self, store: Store) -> None:
        for id, vector in (("a", (2.0, 0.0)), ("b", (1.0, 1.0)), ("c", (-3.0, 0.0)), ("d", (0.0, 0.1))):
            store.vectors.upsert("n", id, vector, {"name": id})
        matches = store.vectors.query("n", (5.0, 0.0))
        assert [match.id for match in matches] == ["a", "b", "d", "c"]
        assert [match.score for match in matches] == pytest.approx([1.0, 0.5**0.5, 0.0, -1.0], abs=0.01)
        assert [match.metadata for match in matches] == [{"name": id} for id in "abdc"]

    def test_there_are_at_most_k(self, store: Store) -> None:
        for number in range(20):
            store.vectors.upsert("n", f"{number:02}", (20.0 - number, number), {})
        assert found(store, "n", 1.0, 0.0, k=3) == ["00", "01", "02"]
        assert len(found(store, "n", 1.0, 0.0)) == 10
        assert len(found(store, "n", 1.0, 0.0, k=100)) == 20

    def test_equals_come_in_the_order_of_their_ids(self, store: Store) -> None:
        for id in ("b", "c", "a"):
            store.vectors.upsert("n", id, (1.0, 0.0), {})
        assert found(store, "n", 1.0, 0.0, k=2) == ["a", "b"]

    def test_the_same_id_again_replaces(self, store: Store) -> None:
        store.vectors.upsert("n", "a", (1.0, 0.0), {"old": True})
        store.vectors.upsert("n", "a", (0.0, 1.0), {"new": True})
        [match] = store.vectors.query("n", (0.0, 1.0))
        assert (match.id, match.metadata) == ("a", {"new": True})
        assert match.score == pytest.approx(1.0, abs=0.01)

    def test_namespaces_are_independent(self, store: Store) -> None:
        store.vectors.upsert("n", "a", (1.0, 0.0), {"in": "n"})
        store.vectors.upsert("m", "a", (1.0, 0.0, 0.0), {"in": "m"})
        assert [match.metadata for match in store.vectors.query("n", (1.0, 0.0))] == [{"in": "n"}]
        assert [match.metadata for match in store.vectors.query("m", (1.0, 0.0, 0.0))] == [{"in": "m"}]
        assert store.vectors.delete("n", ["a"]) == 1
        assert found(store, "m", 1.0, 0.0, 0.0) == ["a"]

    def test_a_namespace_that_is_not_there_is_empty(self, store: Store) -> None:
        assert store.vectors.query("nowhere", (1.0, 0.0)) == []
        assert store.vectors.delete("nowhere", ["a"]) == 0

    def test_metadata_must_equal_in_every_field(self, store: Store) -> None:
        for id, metadata in (("a", {"n": 1, "tag": "x"}), ("b", {"n": 2, "tag": "x"}), ("c", {"tag": ["x"]})):
            store.vectors.upsert("n", id, (1.0, 0.0), metadata)
        assert found(store, "n", 1.0, 0.0, where={"tag": "x"}) == ["a", "b"]
        assert found(store, "n", 1.0, 0.0, where={"tag": "x", "n": 2}) == ["b"]
        assert found(store, "n", 1.0, 0.0, where={"tag": ["x"]}) == ["c"]
        assert found(store, "n", 1.0, 0.0, where={"n": "1"}) == []
        assert found(store, "n", 1.0, 0.0, where={}) == ["a", "b", "c"]

    def test_the_filter_comes_before_k(self, store: Store) -> None:
        for number in range(20):
            store.vectors.upsert("n", f"{number:02}", (1.0, 0.0), {"far": False})
        store.vectors.upsert("n", "far", (-1.0, 0.0), {"far": True})
        assert found(store, "n", 1.0, 0.0, k=1, where={"far": True}) == ["far"]

    def test_another_dimension_is_refused(self, store: Store) -> None:
        store.vectors.upsert("n", "a", (1.0, 0.0), {})
        with pytest.raises(InvalidInput):
            store.vectors.upsert("n", "b", (1.0, 0.0, 0.0), {})
        with pytest.raises(InvalidInput):
            store.vectors.query("n", (1.0, 0.0, 0.0))
        assert found(store, "n", 1.0, 0.0) == ["a"]

    @pytest.mark.parametrize("vector", [(), (0.0, 0.0), (float("nan"), 1.0), (float("inf"), 1.0)])
    def test_what_is_no_direction_is_refused(self, store: Store, vector: tuple[float, ...]) -> None:
        with pytest.raises(InvalidInput):
            store.vectors.upsert("n", "a", vector, {})
        with pytest.raises(InvalidInput):
            store.vectors.query("n", vector)

    def test_metadata_that_is_no_json_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            store.vectors.upsert("n", "a", (1.0, 0.0), {"x": object()})
        assert found(store, "n", 1.0, 0.0) == []

    def test_metadata_is_kept_as_it_was_then(self, store: Store) -> None:
        metadata = {"tags": ["x"]}
        store.vectors.upsert("n", "a", (1.0, 0.0), metadata)
        metadata["tags"].append("y")
        assert [match.metadata for match in store.vectors.query("n", (1.0, 0.0))] == [{"tags": ["x"]}]

    def test_deleting_says_how_many_there_were(self, store: Store) -> None:
        for id in ("a", "b", "c"):
            store.vectors.upsert("n", id, (1.0, 0.0), {})
        assert store.vectors.delete("n", ["a", "c", "nobody", "a"]) == 2
        assert found(store, "n", 1.0, 0.0) == ["b"]
        assert store.vectors.delete("n", []) == 0

    def test_forgetting_takes_an_id_from_every_namespace_that_sees_its_scope(self, store: Store) -> None:
        readers = (ALICE, ALICES_BOT, BOB, STRANGER)
        for scope in readers:
            for name in ("n", "m"):
                for id in ("r1", "r2"):
                    store.vectors.upsert(inside(scope, name), id, (1.0, 0.0), {})
        store.vectors.forget(ALICE, ["r1", "unheard"])
        for scope in readers:
            left = ["r2"] if ALICE in scope.readable() else ["r1", "r2"]
            assert [found(store, inside(scope, name), 1.0, 0.0) for name in ("n", "m")] == [left, left]
        store.vectors.forget(SHARED, ["r2"])
        assert [found(store, inside(scope, "n"), 1.0, 0.0) for scope in readers] == [[], [], ["r1"], ["r1", "r2"]]

    def test_all_namespaces_of_a_tenant_are_forgotten(self, store: Store) -> None:
        longer = STRANGER.model_copy(update={"tenant": f"{ALICE.tenant} and sons"})
        for scope in (ALICE, SHARED, STRANGER, longer):
            store.vectors.upsert(inside(scope, "n"), "r1", [1.0, 0.0], {})
        for _ in range(2):  # it may be asked twice
            store.vectors.forget_tenant(ALICE.tenant)
        left = [found(store, inside(scope, "n"), 1.0, 0.0) for scope in (ALICE, SHARED, STRANGER, longer)]
        assert left == [[], [], ["r1"], ["r1"]]
        store.vectors.forget_tenant("never seen")

    def test_what_was_told_twice_is_there_once(self, store: Store) -> None:
        """Whoever was killed before it could note that it was told tells it again."""
        for _ in range(2):
            store.vectors.upsert("n", "a", (1.0, 0.0), {"n": 1})
        assert found(store, "n", 1.0, 0.0) == ["a"]
        assert [store.vectors.delete("n", ["a"]) for _ in range(2)] == [1, 0]

    @pytest.mark.parametrize("name", ["short_term", "müller’s 長期", "a b", "x" * 200])
    def test_any_name_will_do(self, store: Store, name: str) -> None:
        store.vectors.upsert(inside(ALICE, name), name, (1.0, 0.0), {name: name})
        [match] = store.vectors.query(inside(ALICE, name), (1.0, 0.0))
        assert (match.id, match.metadata) == (name, {name: name})
        assert store.vectors.delete(inside(ALICE, name), [name]) == 1


class MirrorConformance(VectorConformance):
    """What the records' engine offers beyond that: models, scores, and what a place elsewhere has not been told."""

    def test_a_namespace_is_of_one_model(self, store: Store) -> None:
        store.vectors.upsert("n", "a", (1.0, 0.0), {}, "small")
        store.vectors.upsert("n", "a", (0.0, 1.0), {}, "small")
        store.vectors.upsert("m", "a", (1.0, 0.0), {})
        for namespace, model in (("n", "large"), ("n", None), ("m", "small")):
            with pytest.raises(InvalidInput, match="model"):
                store.vectors.upsert(namespace, "b", (1.0, 0.0), {}, model)
        assert found(store, "n", 0.0, 1.0) == found(store, "m", 0.0, 1.0) == ["a"]

    def test_a_record_has_several(self, store: Store) -> None:
        for name, vector, model in (("short", (1.0, 0.0), None), ("long", (0.0, 1.0, 0.0), "big")):
            store.vectors.upsert(inside(ALICE, name), "r1", vector, {"in": name}, model)
        for scope, name in ((ALICE, "long"), (BOB, "short"), (ALICES_BOT, "short"), (STRANGER, "short")):
            store.vectors.upsert(inside(scope, name), "r2", (0.0, 1.0, 1.0), {}, "big")
        long, short = store.vectors.held(ALICE, "r1")
        assert (long.namespace, long.model, long.metadata) == (inside(ALICE, "long"), "big", {"in": "long"})
        assert (short.namespace, short.model) == (inside(ALICE, "short"), None)
        assert [*short.vector] == pytest.approx([1.0, 0.0])
        assert (long.score, long.scored_at) == (None, None)
        told = [(one.namespace, one.model, one.dimension, one.vectors) for one in store.vectors.namespaces(ALICE)]
        assert told == [(inside(ALICE, "long"), "big", 3, 2), (inside(ALICE, "short"), None, 2, 1)]
        assert store.vectors.held(ALICE, "nobody") == [] == store.vectors.namespaces(SHARED)
        known = [store.vectors.settled(inside(ALICE, name)) for name in ("long", "short", "nowhere")]
        assert known == [(3, "big"), (2, None), None]

    def test_where_a_record_is_held(self, store: Store) -> None:
        """By whoever sees it: its user, and the agents of that user."""
        user, agent = Scope(tenant="acme", user="alice"), Scope(tenant="acme", user="alice", agent="helper")
        others = [Scope(tenant="acme", user="bob"), Scope(tenant="rival", user="alice")]
        for scope in (user, agent, *others):
            for id in ("a", "b"):
                store.vectors.upsert(inside(scope, "ns"), id, [1.0, 0.0], {"of": scope.agent}, "m1")
        found = store.vectors.places(user, ["a", "none"])
        assert found == [
            PlacedVector(inside(user, "ns"), "a", "m1", {"of": "*"}),
            PlacedVector(inside(agent, "ns"), "a", "m1", {"of": "helper"}),
        ]
        assert [one.namespace for one in store.vectors.places(agent, ["b"])] == [inside(agent, "ns")]
        assert store.vectors.places(user, []) == []

    def test_the_last_score_is_kept(self, store: Store) -> None:
        name = inside(ALICE, "n")
        store.vectors.upsert(name, "a", (1.0, 0.0), {})
        for score in (0.5, 0.25):
            store.vectors.scored([Scored(name, "a", score, NOW), Scored(name, "gone", score, NOW)])
        [held] = store.vectors.held(ALICE, "a")
        assert (held.score, held.scored_at) == (0.25, NOW)
        store.vectors.delete(name, ["a"])
        store.vectors.upsert(name, "a", (1.0, 0.0), {})
        assert [one.score for one in store.vectors.held(ALICE, "a")] == [None]

    def test_a_change_is_missed_until_it_is_told(self, store: Store) -> None:
        name, work = inside(ALICE, "n"), begun(store)
        store.vectors.upsert(name, "a", (1.0, 0.0), {"n": 1})
        attached(store)
        store.vectors.upsert(name, "b", (0.0, 1.0), {"n": 2})
        store.vectors.upsert(inside(BOB, "n"), "a", (0.0, 1.0), {})
        first, second, third = store.vectors.missed(PLACE, 0, 9)
        assert [(one.namespace, one.id, one.metadata) for one in (first, second)] == [
            (name, "a", {"n": 1}),
            (name, "b", {"n": 2}),
        ]
        assert first.vector == pytest.approx([1.0, 0.0]) and first.number < second.number < third.number
        assert store.vectors.missed(PLACE, first.number, 1) == [second]
        assert [(one.place, one.vectors, one.error) for one in store.vectors.lags()] == [(PLACE, 3, None)]
        assert all(one.since > 0 for one in store.vectors.lags())
        store.vectors.told(PLACE, [first, second], work)
        assert (store.vectors.lags_in(PLACE, name), store.vectors.lags_in(PLACE, third.namespace)) == (False, True)
        assert store.vectors.missed(PLACE, 0, 9) == [third]
        store.vectors.told(PLACE, [third], work)
        assert store.vectors.lags() == []

    def test_what_changed_meanwhile_is_still_missed(self, store: Store) -> None:
        name, work = inside(ALICE, "n"), begun(store)
        attached(store)
        store.vectors.upsert(name, "a", (1.0, 0.0), {})
        store.vectors.upsert(name, "b", (1.0, 0.0), {})
        before = store.vectors.missed(PLACE, 0, 9)
        store.vectors.upsert(name, "a", (0.0, 1.0), {})
        store.vectors.delete(name, ["b", "nobody"])
        store.vectors.told(PLACE, before, work)
        again = store.vectors.missed(PLACE, 0, 9)
        assert [(one.id, one.vector is None) for one in again] == [("a", False), ("b", True), ("nobody", True)]
        store.vectors.told(PLACE, again, work)
        assert store.vectors.missed(PLACE, 0, 9) == []
        store.vectors.untold(PLACE, again[:2])
        assert [(one.id, one.vector is None) for one in store.vectors.missed(PLACE, 0, 9)] == [
            ("a", False),
            ("b", True),
        ]

    def test_whoever_lost_the_lease_has_told_nothing(self, store: Store) -> None:
        attached(store)
        store.vectors.upsert("n", "a", (1.0, 0.0), {})
        work = begun(store)
        store.feed.release(work.lease)
        begun(store)
        with pytest.raises(LeaseLost):
            store.vectors.told(PLACE, store.vectors.missed(PLACE, 0, 9), work)
        assert len(store.vectors.missed(PLACE, 0, 9)) == 1

    def test_what_is_erased_while_it_is_told_is_taken_back(self, store: Store) -> None:
        """Somebody may be writing it to the place right now: then its debt is paid before it is there."""
        name, work = inside(ALICE, "n"), begun(store)
        attached(store)
        write(store, put("one", id="a"), put("two", id="b"))
        for id in ("a", "b"):
            store.vectors.upsert(name, id, (1.0, 0.0), {})
        store.vectors.scored([Scored(name, "a", 0.5, NOW)])
        told, telling = store.vectors.missed(PLACE, 0, 9)
        store.vectors.told(PLACE, [told], work)
        write(store, Erase("a"), Erase("b"))
        store.vectors.told(PLACE, [telling], work)
        assert [(one.id, one.vector) for one in store.vectors.missed(PLACE, 0, 9)] == [("b", None)]
        assert store.vectors.lags_in(PLACE, inside(ALICE, "another")), "it still has to forget something"
        assert store.vectors.held(ALICE, "a") == []

    def test_what_a_tenant_had_is_taken_back(self, store: Store) -> None:
        name, work = inside(STRANGER, "n"), begun(store)
        attached(store)
        store.vectors.upsert(name, "a", (1.0, 0.0), {})
        telling = store.vectors.missed(PLACE, 0, 9)
        store.tenants.erase(STRANGER.tenant, Author(STRANGER, "somebody"), NOW)
        store.vectors.told(PLACE, telling, work)
        [left] = store.vectors.missed(PLACE, 0, 9)
        assert (left.namespace, left.id, left.vector) == (name, "a", None)
        assert store.vectors.lags_in(PLACE, name)
        store.vectors.told(PLACE, [left], work)
        assert store.vectors.missed(PLACE, 0, 9) == [] == store.vectors.namespaces(Scope(tenant=STRANGER.tenant))

    def test_only_stores_of_vectors_miss_them(self, store: Store) -> None:
        assert store.debts is not None
        store.debts.attach("working x://")
        attached(store)
        store.vectors.upsert("n", "a", (1.0, 0.0), {})
        assert [one.place for one in store.vectors.lags()] == [PLACE]
        store.debts.detach(PLACE)
        assert store.vectors.lags() == [] == store.vectors.missed(PLACE, 0, 9)
        store.vectors.upsert("n", "b", (1.0, 0.0), {})
        attached(store)
        assert {one.id for one in store.vectors.missed(PLACE, 0, 9)} == {"a", "b"}, "a new one misses everything"

    def test_what_went_wrong_is_over_once_something_was_told(self, store: Store) -> None:
        assert store.debts is not None
        work = begun(store)
        attached(store)
        store.vectors.upsert("n", "a", (1.0, 0.0), {})
        store.debts.failed(PLACE, "away")
        assert [one.error for one in store.vectors.lags()] == ["away"]
        store.vectors.told(PLACE, store.vectors.missed(PLACE, 0, 9), work)
        store.vectors.upsert("n", "a", (1.0, 0.0), {})
        assert [one.error for one in store.vectors.lags()] == [None]


def attached(store: Store) -> None:
    assert store.debts is not None
    store.debts.attach(PLACE)


def begun(store: Store) -> Work:
    lease = store.feed.lease("vectors", "one", 60.0)
    assert lease is not None
    return Work(lease)

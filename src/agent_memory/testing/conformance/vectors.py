"""`VectorStore`: plain vectors in namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory.models.errors import InvalidInput
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import inside
from agent_memory.testing.builders import ALICE, ALICES_BOT, BOB, SHARED, STRANGER


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

"""Names: which records a reader's question may mean by one, at the moment of the view."""

from __future__ import annotations

from typing import Any

from agent_memory.models.record import Record
from agent_memory.ports.changes import Amend, Erase, Put
from agent_memory.ports.records import View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, CALLING, DAY, NOW, SHARED, ids, put, succeeding, view, write


def thing(*names: str, id: str, **state: Any) -> Put:
    return put(f"thing {id}", id=id, kind="thing", payload={"name": names[0], "others": list(names[1:])}, **state)


def called(store: Store, *names: str, seen_by: View | None = None, most: int = 10) -> list[str]:
    return ids(store.index.called(seen_by or view(), names, CALLING, most=most).records)


class NameConformance:
    """`Index.called`: only kinds that have names, only what the view shows under them."""

    def test_a_record_goes_by_each_of_its_names(self, store: Store) -> None:
        write(store, thing("pump", "water pump", id="a"), thing("valve", id="b"), put("pump", id="c"))
        assert called(store, "pump") == called(store, "water pump", "pump") == ["a"]
        assert called(store, "valve", "pump") == ["a", "b"]
        assert called(store, "pum") == called(store, "Pump") == called(store) == []

    def test_several_can_share_a_name_but_not_too_many(self, store: Store) -> None:
        write(store, *(thing("pump", id=id) for id in "abc"), thing("pump", "valve", id="d"))
        assert called(store, "pump", most=4) == ["a", "b", "c", "d"]
        assert called(store, "pump", most=3) == []
        assert called(store, "pump", "valve", most=3) == ["d"]

    def test_it_tells_as_of_which_line(self, store: Store) -> None:
        first = write(store, thing("pump", id="a")).seq
        last = write(store, thing("valve", id="b")).seq
        assert store.index.called(view(), ["x"], CALLING, most=1).seq == last
        assert store.index.called(view(seq=first), ["x"], CALLING, most=1).seq == first
        assert store.index.called(view(seq=last + 9), ["x"], CALLING, most=1).seq == last

    def test_a_name_has_its_moment(self, store: Store) -> None:
        first = write(store, thing("pump", id="a")).seq
        assert called(store, "pump") == ["a"]
        renamed = write(store, thing("valve", id="a")).seq
        write(store, thing("valve", id="b"))
        assert called(store, "pump") == called(store, "valve", most=1) == []
        assert called(store, "valve") == ["a", "b"]
        assert called(store, "pump", seen_by=view(seq=first)) == ["a"]
        assert called(store, "valve", seen_by=view(seq=renamed), most=1) == ["a"]
        assert called(store, "valve", seen_by=view(seq=first)) == called(store, "pump", seen_by=view(seq=0)) == []

    def test_a_name_holds_in_valid_time(self, store: Store) -> None:
        write(store, thing("pump", id="a", key="k", valid_from=NOW - DAY))
        write(store, succeeding(thing("valve", id="a", key="k", valid_from=NOW)))
        assert called(store, "pump") == []
        assert called(store, "pump", seen_by=view(valid_at=NOW - 1)) == ["a"]
        assert called(store, "valve", seen_by=view(valid_at=NOW - 1)) == []

    def test_an_amended_record_keeps_its_names(self, store: Store) -> None:
        write(store, thing("pump", id="a"))
        write(store, Amend("a", importance=0.9))
        found = store.index.called(view(), ["pump"], CALLING, most=1).records
        assert [(one.id, one.importance) for one in found] == [("a", 0.9)]

    def test_who_is_erased_has_no_name(self, store: Store) -> None:
        before = write(store, thing("pump", id="a"), thing("pump", id="b")).seq
        assert called(store, "pump") == ["a", "b"]
        write(store, Erase("a"))
        assert called(store, "pump", most=1) == called(store, "pump", seen_by=view(seq=before), most=1) == ["b"]

    def test_the_same_id_in_two_scopes_is_two(self, store: Store) -> None:
        write(store, thing("pump", id="a"), scope=SHARED)
        write(store, thing("pump", id="a"), scope=ALICE)
        found: list[Record] = list(store.index.called(view(), ["pump"], CALLING, most=2).records)
        assert [one.scope for one in found] == [SHARED, ALICE]

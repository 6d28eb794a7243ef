"""Names: which records a reader's question may mean by one, at the moment of the view."""

from __future__ import annotations

from typing import Any

from agent_memory.models.record import Record, Status
from agent_memory.ports.changes import Amend, Erase, Put
from agent_memory.ports.records import View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, CALLING, DAY, NOW, SHARED, called, ids, put, succeeding, view, write


def thing(*names: str, id: str, **state: Any) -> Put:
    return put(f"thing {id}", id=id, kind="thing", payload={"name": names[0], "others": list(names[1:])}, **state)


def named(store: Store, *names: str, seen_by: View | None = None, most: int = 10) -> list[Record]:
    found = called(store, seen_by or view(), names, most)
    return store.index.hydrate(seen_by or view(), [one.handle for one in found])


def goes_by(store: Store, *names: str, seen_by: View | None = None, most: int = 10) -> list[str]:
    return ids(named(store, *names, seen_by=seen_by, most=most))


class NameConformance:
    """`Index.called`: only kinds that have names, only what the view shows under them."""

    def test_a_record_goes_by_each_of_its_names(self, store: Store) -> None:
        write(store, thing("pump", "water pump", id="a"), thing("valve", id="b"), put("pump", id="c"))
        assert goes_by(store, "pump") == goes_by(store, "water pump", "pump") == ["a"]
        assert goes_by(store, "valve", "pump") == ["a", "b"]
        assert goes_by(store, "pum") == goes_by(store, "Pump") == goes_by(store) == []

    def test_several_can_share_a_name_but_not_too_many(self, store: Store) -> None:
        write(store, *(thing("pump", id=id) for id in "abc"), thing("pump", "valve", id="d"))
        assert goes_by(store, "pump", most=4) == ["a", "b", "c", "d"]
        assert goes_by(store, "pump", most=3) == []
        assert goes_by(store, "pump", "valve", most=3) == ["d"]

    def test_it_tells_which_of_the_names_and_the_status(self, store: Store) -> None:
        write(store, thing("pump", "valve", "other", id="a"), thing("valve", id="b", status=Status.HELD))
        found = called(store, view(), ["valve", "pump", "x"], 2)
        assert [(sorted(one.names), one.status) for one in found] == [
            (["pump", "valve"], Status.ACTIVE),
            (["valve"], Status.HELD),
        ]
        [found_by_one] = called(store, view(), ["valve", "pump"], 1)
        assert sorted(found_by_one.names) == ["pump", "valve"], "also one that too many have"

    def test_an_older_snapshot_knows_nothing_newer(self, store: Store) -> None:
        write(store, thing("pump", id="a"))
        before = store.index.snapshot(ALICE)
        write(store, thing("pump", id="b"), thing("valve", id="a"))
        assert goes_by(store, "pump") == ["b"]
        [old] = store.index.called(before, view(), ["pump", "valve"], CALLING, most=1)
        assert (store.index.hydrate(view(), [old.handle])[0].id, [*old.names]) == ("a", ["pump"])

    def test_a_name_has_its_moment(self, store: Store) -> None:
        first = write(store, thing("pump", id="a")).seq
        assert goes_by(store, "pump") == ["a"]
        renamed = write(store, thing("valve", id="a")).seq
        write(store, thing("valve", id="b"))
        assert goes_by(store, "pump") == goes_by(store, "valve", most=1) == []
        assert goes_by(store, "valve") == ["a", "b"]
        assert goes_by(store, "pump", seen_by=view(seq=first)) == ["a"]
        assert goes_by(store, "valve", seen_by=view(seq=renamed), most=1) == ["a"]
        assert goes_by(store, "valve", seen_by=view(seq=first)) == goes_by(store, "pump", seen_by=view(seq=0)) == []

    def test_a_name_holds_in_valid_time(self, store: Store) -> None:
        write(store, thing("pump", id="a", key="k", valid_from=NOW - DAY))
        write(store, succeeding(thing("valve", id="a", key="k", valid_from=NOW)))
        assert goes_by(store, "pump") == []
        assert goes_by(store, "pump", seen_by=view(valid_at=NOW - 1)) == ["a"]
        assert goes_by(store, "valve", seen_by=view(valid_at=NOW - 1)) == []

    def test_an_amended_record_keeps_its_names(self, store: Store) -> None:
        write(store, thing("pump", id="a"))
        write(store, Amend("a", importance=0.9))
        found = named(store, "pump", most=1)
        assert [(one.id, one.importance) for one in found] == [("a", 0.9)]

    def test_who_is_erased_has_no_name(self, store: Store) -> None:
        before = write(store, thing("pump", id="a"), thing("pump", id="b")).seq
        assert goes_by(store, "pump") == ["a", "b"]
        write(store, Erase("a"))
        assert goes_by(store, "pump", most=1) == goes_by(store, "pump", seen_by=view(seq=before), most=1) == ["b"]

    def test_the_same_id_in_two_scopes_is_two(self, store: Store) -> None:
        write(store, thing("pump", id="a"), scope=SHARED)
        write(store, thing("pump", id="a"), scope=ALICE)
        found: list[Record] = named(store, "pump", most=2)
        assert [one.scope for one in found] == [SHARED, ALICE]

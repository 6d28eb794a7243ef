"""The working set: values with a time to live, short lists, one desk per scope and conversation."""

from __future__ import annotations

from agent_memory.ports.store import Store
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import ALICE, ALICES_BOT, BOB, DAY, NOW, SHARED, STRANGER

DESK = Desk(ALICE, "c1")
OTHERS = [Desk(ALICE, "c2"), *(Desk(scope, "c1") for scope in (BOB, SHARED, ALICES_BOT, STRANGER))]
LATER = NOW + 1000


class WorkingConformance:
    """Values and items are JSON texts and come back as they were."""

    def test_a_value_lives_until_its_end(self, store: Store) -> None:
        store.working.set(DESK, "mood", '{"a": [1, "ü"]}', expires_at=NOW + 10, now=NOW)
        assert store.working.get(DESK, "mood", now=NOW) == '{"a": [1, "ü"]}'
        assert store.working.get(DESK, "mood", now=NOW + 9) is not None
        assert store.working.get(DESK, "mood", now=NOW + 10) is None
        assert store.working.get(DESK, "other", now=NOW) is None

    def test_setting_again_replaces_value_and_end(self, store: Store) -> None:
        store.working.set(DESK, "mood", "1", expires_at=NOW + 10, now=NOW)
        store.working.set(DESK, "mood", "2", expires_at=NOW + 20, now=NOW)
        assert store.working.get(DESK, "mood", now=NOW + 15) == "2"
        store.working.set(DESK, "mood", "3", expires_at=NOW + 5, now=NOW)
        assert store.working.get(DESK, "mood", now=NOW + 5) is None

    def test_all_live_values_at_once(self, store: Store) -> None:
        for key, end in (("a", NOW + 5), ("b", NOW + 10), ("c", NOW)):
            store.working.set(DESK, key, f'"{key}"', expires_at=end, now=NOW)
        assert store.working.values(DESK, now=NOW) == {"a": '"a"', "b": '"b"'}
        assert store.working.values(DESK, now=NOW + 5) == {"b": '"b"'}
        assert store.working.values(Desk(BOB, "never seen"), now=NOW) == {}

    def test_deleting_says_whether_there_was_something(self, store: Store) -> None:
        store.working.set(DESK, "a", "1", expires_at=LATER, now=NOW)
        assert store.working.delete(DESK, "a") is True
        assert store.working.delete(DESK, "a") is False
        assert store.working.get(DESK, "a", now=NOW) is None

    def test_the_newest_item_comes_first(self, store: Store) -> None:
        for item in ("1", "2", "3"):
            store.working.push(DESK, "turns", item, keep=10, expires_at=LATER, now=NOW)
        assert list(store.working.items(DESK, "turns", limit=10, now=NOW)) == ["3", "2", "1"]
        assert list(store.working.items(DESK, "turns", limit=2, now=NOW)) == ["3", "2"]
        assert list(store.working.items(DESK, "turns", limit=0, now=NOW)) == []
        assert list(store.working.items(DESK, "others", limit=9, now=NOW)) == []

    def test_a_list_that_is_over_stays_so(self, store: Store) -> None:
        store.working.push(DESK, "turns", "1", keep=10, expires_at=NOW + 2 * DAY, now=NOW)
        store.working.push(DESK, "turns", "2", keep=10, expires_at=NOW + 10, now=NOW)
        store.working.set(OTHERS[0], "any", "1", expires_at=NOW + 2 * DAY, now=NOW + DAY)  # sweeps, maybe
        assert list(store.working.items(DESK, "turns", limit=10, now=NOW + DAY)) == []

    def test_the_same_item_may_come_twice(self, store: Store) -> None:
        for _ in range(2):
            store.working.push(DESK, "turns", '"again"', keep=10, expires_at=LATER, now=NOW)
        assert list(store.working.items(DESK, "turns", limit=10, now=NOW)) == ['"again"', '"again"']

    def test_only_so_many_are_kept(self, store: Store) -> None:
        for number in range(10):
            store.working.push(DESK, "turns", str(number), keep=3, expires_at=LATER, now=NOW)
            store.working.push(DESK, "thoughts", str(number), keep=5, expires_at=LATER, now=NOW)
        assert list(store.working.items(DESK, "turns", limit=10, now=NOW)) == ["9", "8", "7"]
        assert list(store.working.items(DESK, "thoughts", limit=10, now=NOW)) == ["9", "8", "7", "6", "5"]

    def test_a_list_lives_until_the_end_of_its_last_push(self, store: Store) -> None:
        store.working.push(DESK, "turns", "1", keep=9, expires_at=NOW + 5, now=NOW)
        store.working.push(DESK, "turns", "2", keep=9, expires_at=NOW + 10, now=NOW)
        assert list(store.working.items(DESK, "turns", limit=9, now=NOW + 9)) == ["2", "1"]
        assert list(store.working.items(DESK, "turns", limit=9, now=NOW + 10)) == []

    def test_a_desk_is_nobody_elses(self, store: Store) -> None:
        store.working.set(DESK, "a", "1", expires_at=LATER, now=NOW)
        store.working.push(DESK, "turns", "1", keep=9, expires_at=LATER, now=NOW)
        for other in OTHERS:
            assert store.working.get(other, "a", now=NOW) is None
            assert store.working.values(other, now=NOW) == {}
            assert list(store.working.items(other, "turns", limit=9, now=NOW)) == []
            assert store.working.delete(other, "a") is False
        for other in OTHERS:
            store.working.set(other, "a", "2", expires_at=LATER, now=NOW)
            store.working.push(other, "turns", "2", keep=1, expires_at=LATER, now=NOW)
        assert store.working.get(DESK, "a", now=NOW) == "1"
        assert list(store.working.items(DESK, "turns", limit=9, now=NOW)) == ["1"]

    def test_clearing_empties_one_desk(self, store: Store) -> None:
        for desk in (DESK, *OTHERS):
            store.working.set(desk, "a", "1", expires_at=LATER, now=NOW)
            store.working.push(desk, "turns", "1", keep=9, expires_at=LATER, now=NOW)
        store.working.clear(DESK)
        assert store.working.values(DESK, now=NOW) == {}
        assert list(store.working.items(DESK, "turns", limit=9, now=NOW)) == []
        for other in OTHERS:
            assert store.working.values(other, now=NOW) == {"a": "1"}
            assert list(store.working.items(other, "turns", limit=9, now=NOW)) == ["1"]
        store.working.clear(Desk(BOB, "never seen"))

    def test_values_and_lists_do_not_meet(self, store: Store) -> None:
        store.working.set(DESK, "turns", "1", expires_at=LATER, now=NOW)
        store.working.push(DESK, "turns", "2", keep=9, expires_at=LATER, now=NOW)
        assert store.working.get(DESK, "turns", now=NOW) == "1"
        assert list(store.working.items(DESK, "turns", limit=9, now=NOW)) == ["2"]
        assert store.working.delete(DESK, "turns") is True
        assert list(store.working.items(DESK, "turns", limit=9, now=NOW)) == ["2"]

    def test_forgetting_takes_what_pictures_a_record_from_every_desk_that_could_show_it(self, store: Store) -> None:
        for desk in (DESK, *OTHERS):
            for key, value in (("gone", '{"id": "r1", "text": "x"}'), ("stays", '{"id": "r2"}'), ("plain", '"r1"')):
                store.working.set(desk, key, value, expires_at=LATER, now=NOW)
            for item in ('{"id": "r1"}', '{"id": "r2"}', '["r1"]'):
                store.working.push(desk, "turns", item, keep=9, expires_at=LATER, now=NOW)
        store.working.forget(ALICE, ["r1", "unheard"])
        for desk in (DESK, *OTHERS):
            left = {"plain", "stays"} if ALICE in desk.scope.readable() else {"plain", "stays", "gone"}
            assert set(store.working.values(desk, now=NOW)) == left
            assert len(store.working.items(desk, "turns", limit=9, now=NOW)) == len(left)
        store.working.forget(ALICE, ["r1"])  # it may be asked twice
        store.working.forget(SHARED, ["r2"])
        assert all("stays" not in store.working.values(desk, now=NOW) for desk in (DESK, *OTHERS[:-1]))
        assert "stays" in store.working.values(Desk(STRANGER, "c1"), now=NOW)

    def test_a_tenant_is_forgotten_whole(self, store: Store) -> None:
        for desk in (DESK, *OTHERS):
            store.working.set(desk, "a", "1", expires_at=LATER, now=NOW)
            store.working.push(desk, "turns", "1", keep=9, expires_at=LATER, now=NOW)
        for _ in range(2):  # it may be asked twice
            store.working.forget_tenant(DESK.scope.tenant)
        for desk in (DESK, *OTHERS):
            left = desk.scope.tenant != DESK.scope.tenant
            assert store.working.values(desk, now=NOW) == ({"a": "1"} if left else {})
            assert list(store.working.items(desk, "turns", limit=9, now=NOW)) == (["1"] if left else [])
        store.working.forget_tenant("never seen")

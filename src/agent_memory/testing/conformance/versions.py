"""How a record changes: corrections, successions, amendments, and when nothing changes at all."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Record, Status
from agent_memory.ports.changes import Amend, Author, Disconnect, Effect, Erase, Expect
from agent_memory.ports.records import Filter
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    DAY,
    NOW,
    SHARED,
    link,
    put,
    succeeding,
    view,
    write,
    write_one,
)


def lives(store: Store, *moments: int) -> list[str | None]:
    """What the record with the key `lives` says at each moment of valid time."""
    found = (store.records.by_key(view(valid_at=moment), "note", "lives") for moment in moments)
    return [None if record is None else record.text for record in found]


def intervals(history: list[Record]) -> list[tuple[str, int, int | None]]:
    """(text, days from NOW to its beginning, days from NOW to its end) of what is still believed."""
    believed = [record for record in history if record.recorded_to is None]
    return sorted(
        (
            record.text,
            (to_micros(record.valid_from) - NOW) // DAY,
            None if record.valid_to is None else (to_micros(record.valid_to) - NOW) // DAY,
        )
        for record in believed
    )


class VersionConformance:
    """Same key or same id: a new version of the same thing."""

    def test_same_key_and_content_is_no_new_version(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives"))
        outcome = write_one(store, put("Berlin", id="b", key="lives", valid_from=NOW + DAY), now=NOW + DAY)
        assert (outcome.effect, outcome.id, outcome.version) == (Effect.UNCHANGED, "a", 1)
        assert store.records.get(view(), ["b"]) == []

    def test_same_content_with_another_standing_is_a_new_version(self, store: Store) -> None:
        first = put("Berlin", id="a", key="lives")
        write(store, first)
        for number, other in enumerate(
            [{"importance": 0.9}, {"confidence": 0.1}, {"status": Status.HELD}, {"source": "tool"}], 2
        ):
            outcome = write_one(store, first._replace(state=first.state._replace(**other)))  # type: ignore[arg-type]
            assert (outcome.effect, outcome.version) == (Effect.UPDATED, number)

    def test_another_payload_is_a_new_version(self, store: Store) -> None:
        write(store, put("Berlin", id="a", payload={"since": 1}))
        assert write_one(store, put("Berlin", id="a", payload={"since": 2})).effect is Effect.UPDATED

    def test_all_that_is_believed_is_listed_whenever_it_holds(self, store: Store) -> None:
        write(store, succeeding(put("Berlin", id="a", key="lives", valid_from=NOW - 2 * DAY)))
        write(store, succeeding(put("Lisbon", id="b", key="lives", valid_from=NOW - DAY)))
        write(store, put("over", id="c", valid_from=NOW - 3 * DAY), Amend("c", valid_to=NOW - DAY))
        write(store, put("corrected", id="d"), put("right", id="d"))
        found = store.records.believed(view(), Filter(), after=0, limit=10)
        assert intervals(list(found)) == [
            ("Berlin", -2, -1),
            ("Lisbon", -1, None),
            ("over", -3, -1),
            ("right", 0, None),
        ]
        assert [one.seq for one in found] == sorted(one.seq for one in found)
        pages = [store.records.believed(view(), Filter(), after=last.seq, limit=1) for last in found]
        assert [one.seq for page in pages for one in page] == [one.seq for one in found[1:]] and pages[-1] == []
        then = store.records.believed(view(valid_at=NOW - 2 * DAY), Filter(), after=0, limit=10)
        assert {one.text for one in then} == {"Berlin", "over"}
        assert store.records.believed(view(scope=SHARED), Filter(), after=0, limit=10) == []

    def test_links_are_listed_where_they_start_whether_or_not_the_ends_hold(self, store: Store) -> None:
        write(store, put("one", id="a"), put("over", id="b", valid_from=NOW - 2 * DAY), put("three", id="c"))
        write(store, link("a", "b"), link("b", "c"), link("c", "a"), Amend("b", valid_to=NOW - DAY))
        write(store, Disconnect("c", "a", "about"))
        found = store.records.believed(view(), Filter(), after=0, limit=10)
        ends = {(one.id, to.target_id) for one in found for to in one.links}
        assert ends == {("a", "b"), ("b", "c")}
        assert store.records.believed(view(scope=SHARED), Filter(), after=0, limit=10) == []

    def test_a_correction_replaces_what_was_believed(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - 2 * DAY))
        outcome = write_one(store, put("Bremen", id="b", key="lives", valid_from=NOW - DAY)._replace(dated=True))
        assert (outcome.effect, outcome.id, outcome.version) == (Effect.UPDATED, "a", 2)
        assert lives(store, NOW - 2 * DAY, NOW) == [None, "Bremen"]
        old, new = store.records.history(view(), "a")
        assert (old.text, new.text) == ("Berlin", "Bremen")
        assert (old.recorded_to, new.recorded_to) == (new.recorded_at, None)

    def test_a_succession_leaves_the_past_as_it_was(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - 2 * DAY))
        outcome = write_one(store, succeeding(put("Lisbon", id="b", key="lives", valid_from=NOW)))
        assert (outcome.effect, outcome.id) == (Effect.UPDATED, "a")
        assert lives(store, NOW - 3 * DAY, NOW - 1, NOW, NOW + DAY) == [None, "Berlin", "Lisbon", "Lisbon"]
        assert intervals(store.records.history(view(), "a")) == [("Berlin", -2, 0), ("Lisbon", 0, None)]

    def test_a_late_arrival_ends_where_what_follows_begins(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - 9 * DAY))
        write(store, succeeding(put("Lisbon", id="b", key="lives", valid_from=NOW - 3 * DAY)))
        write(store, succeeding(put("Porto", id="c", key="lives", valid_from=NOW - 6 * DAY)))
        history = store.records.history(view(), "a")
        assert intervals(history) == [("Berlin", -9, -6), ("Lisbon", -3, None), ("Porto", -6, -3)]
        assert [record.text for record in store.records.get(view(), ["a"])] == ["Lisbon"]

    def test_a_bounded_succession_cuts_a_hole(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - 9 * DAY))
        visit = put("Rome", id="b", key="lives", valid_from=NOW - 6 * DAY, valid_to=NOW - 3 * DAY)
        write(store, succeeding(visit))
        history = store.records.history(view(), "a")
        assert intervals(history) == [("Berlin", -9, -6), ("Berlin", -3, None), ("Rome", -6, -3)]

    def test_the_same_succession_again_changes_nothing(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - 2 * DAY))
        following = succeeding(put("Lisbon", id="b", key="lives", valid_from=NOW))
        number = write_one(store, following).version
        outcome = write_one(store, following)
        assert (outcome.effect, outcome.version) == (Effect.UNCHANGED, number)
        later = succeeding(put("Lisbon", id="b", key="lives", valid_from=NOW + DAY))
        assert write_one(store, later).effect is Effect.UNCHANGED

    def test_another_beginning_is_a_change_only_when_it_was_given(self, store: Store) -> None:
        write(store, put("Berlin", id="a", valid_from=NOW))
        moved = put("Berlin", id="a", valid_from=NOW - DAY)
        assert write_one(store, moved).effect is Effect.UNCHANGED
        assert write_one(store, moved._replace(dated=True)).effect is Effect.UPDATED
        assert intervals(store.records.history(view(), "a")) == [("Berlin", -1, None)]

    def test_versions_are_counted_in_the_order_they_came(self, store: Store) -> None:
        for day, text in enumerate(["Berlin", "Lisbon", "Porto"]):
            write(store, succeeding(put(text, id="a", valid_from=NOW + day * DAY)))
        history = store.records.history(view(), "a")
        assert [record.version for record in history] == [1, 2, 3, 4, 5]
        assert [record.seq for record in history] == [1, 2, 3, 4, 5]
        assert [record.text for record in history] == ["Berlin", "Berlin", "Lisbon", "Lisbon", "Porto"]

    def test_a_corrected_key_is_free_again(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives"))
        write(store, put("Berlin", id="a", key="works"))
        assert store.records.by_key(view(), "note", "lives") is None
        assert write_one(store, put("Lisbon", id="b", key="lives")).effect is Effect.CREATED
        works = store.records.by_key(view(), "note", "works")
        assert works is not None
        assert works.id == "a"


class AmendConformance:
    """A new version of the same content."""

    def test_only_what_is_given_changes(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", importance=0.2, confidence=0.3, conversation_id="c"))
        outcome = write_one(store, Amend("a", status=Status.ARCHIVED), now=NOW + 1)
        assert (outcome.effect, outcome.id, outcome.version) == (Effect.UPDATED, "a", 2)
        [record] = store.records.get(view(), ["a"])
        assert (record.status, record.importance, record.confidence) == (Status.ARCHIVED, 0.2, 0.3)
        assert (record.text, record.key, record.conversation_id) == ("Berlin", "lives", "c")
        assert [one.status for one in store.records.history(view(), "a")] == [Status.ACTIVE, Status.ARCHIVED]

    def test_what_is_so_already_is_no_change(self, store: Store) -> None:
        write(store, put("Berlin", id="a", importance=0.2))
        for amend in (Amend("a", importance=0.2), Amend("a", status=Status.ACTIVE), Amend("a")):
            outcome = write_one(store, amend)
            assert (outcome.effect, outcome.version) == (Effect.UNCHANGED, 1)

    def test_a_record_can_be_closed(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - DAY))
        write(store, Amend("a", valid_to=NOW))
        assert lives(store, NOW - 1, NOW) == ["Berlin", None]
        assert store.records.get(view(), ["a"]) == []
        assert len(store.records.get(view(now=NOW - 1), ["a"])) == 1

    def test_the_latest_of_several_versions_is_meant(self, store: Store) -> None:
        write(store, put("Berlin", id="a", valid_from=NOW - DAY))
        write(store, succeeding(put("Lisbon", id="a", valid_from=NOW)))
        write(store, Amend("a", importance=1.0))
        assert [one.importance for one in store.records.get(view(valid_at=NOW), ["a"])] == [1.0]
        assert [one.importance for one in store.records.get(view(valid_at=NOW - 1), ["a"])] == [0.5]

    def test_a_correction_that_names_no_beginning_keeps_the_old_one(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - 2 * DAY))
        write(store, put("Bremen", id="b", key="lives", valid_from=NOW))
        assert lives(store, NOW - 2 * DAY, NOW) == ["Bremen", "Bremen"]

    def test_of_several_versions_the_one_that_holds_is_amended(self, store: Store) -> None:
        write(store, put("Berlin", id="a", valid_from=NOW - DAY))
        write(store, succeeding(put("Lisbon", id="a", valid_from=NOW + DAY)))
        write(store, Amend("a", importance=1.0))
        assert [one.importance for one in store.records.get(view(valid_at=NOW), ["a"])] == [1.0]
        assert [one.importance for one in store.records.get(view(valid_at=NOW + DAY), ["a"])] == [0.5]

    def test_a_record_of_all_users_is_changed_only_for_all_of_them(self, store: Store) -> None:
        write(store, put("Berlin", id="a"), scope=SHARED)
        for change in (Amend("a", importance=1.0), Erase("a")):
            with pytest.raises(Denied):
                write(store, change, scope=ALICE)
        assert write_one(store, Amend("a", importance=1.0), scope=SHARED).version == 2

    def test_an_agent_may_change_what_is_its_users(self, store: Store) -> None:
        write(store, put("Berlin", id="a"), scope=ALICE)
        assert write_one(store, Amend("a", importance=1.0), scope=ALICES_BOT).version == 2
        [record] = store.records.get(view(ALICE), ["a"])
        assert (record.importance, record.scope) == (1.0, ALICE)

    def test_an_interval_is_not_cut_to_nothing(self, store: Store) -> None:
        write(store, put("soon", id="a", valid_from=NOW + DAY))
        for end in (NOW, NOW + DAY):
            with pytest.raises(InvalidInput):
                write(store, Amend("a", valid_to=end))

    def test_the_head_is_the_last_version_of_exactly_this_scope(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - DAY), scope=ALICE)
        write(store, Amend("a", valid_to=NOW - 1), scope=ALICE)
        for named in ({"key": "lives"}, {"id": "a"}):
            head = store.records.head(ALICE, "note", **named)
            assert head is not None and (head.text, head.version) == ("Berlin", 2)
            assert store.records.head(ALICES_BOT, "note", **named) is None
            assert store.records.head(ALICE, "fact", **named) is None

    def test_the_head_is_found_by_the_key_of_an_earlier_version(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW - DAY))
        write(store, succeeding(put("Lisbon", id="a", key="stays", valid_from=NOW)))
        for key in ("lives", "stays"):
            head = store.records.head(ALICE, "note", key=key)
            assert head is not None
            assert (head.text, head.key, head.version) == ("Lisbon", "stays", 3)
            store.records.apply([], author=Author(ALICE), now=NOW, expect=[Expect(3, kind="note", key=key)])

    def test_the_head_is_believed(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="lives", valid_from=NOW))
        write(store, put("Bremen", id="a", key="lives", valid_from=NOW - DAY)._replace(dated=True))
        head = store.records.head(ALICE, "note", id="a")
        assert head is not None
        assert (head.text, head.version) == ("Bremen", 2)

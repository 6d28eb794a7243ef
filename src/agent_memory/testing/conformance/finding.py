"""`RecordStore.find`: lists that are filtered, in order, and can be continued."""

from __future__ import annotations

from itertools import pairwise

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.models.record import Status
from agent_memory.ports.changes import Amend
from agent_memory.ports.records import Filter
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOT,
    DAY,
    EVERYTHING,
    NOW,
    SHARED,
    ids,
    put,
    view,
    write,
)


def found(store: Store, **where: object) -> list[str]:
    return sorted(ids(store.records.find(view(), Filter(**where), limit=100)))  # type: ignore[arg-type]


class FindConformance:
    """Everything that is given must hold."""

    def test_the_newest_comes_first(self, store: Store) -> None:
        write(store, *(put("x", id=str(day), valid_from=NOW - day * DAY, kind=f"k{day % 2}") for day in (3, 1, 2)))
        assert ids(store.records.find(view(), Filter(), limit=10)) == ["1", "2", "3"]
        assert ids(store.records.find(view(), Filter(), limit=10, oldest_first=True)) == ["3", "2", "1"]

    def test_of_the_same_age_the_last_one_comes_first(self, store: Store) -> None:
        write(store, put("x", id="a", kind="k1"), put("x", id="c", kind="k2"), put("x", id="b", kind="k1"))
        assert ids(store.records.find(view(), Filter(), limit=10)) == ["b", "c", "a"]
        assert ids(store.records.find(view(), Filter(), limit=10, oldest_first=True)) == ["a", "c", "b"]

    def test_there_are_never_more_than_the_limit(self, store: Store) -> None:
        write(store, *(put("x", id=str(day), valid_from=NOW - day * DAY, kind=f"k{day % 2}") for day in range(6)))
        assert ids(store.records.find(view(), Filter(), limit=3)) == ["0", "1", "2"]
        assert ids(store.records.find(view(), Filter(), limit=2, oldest_first=True)) == ["5", "4"]

    def test_ids_are_found_by_how_they_begin(self, store: Store) -> None:
        for id in ("abc", "abd", "ab", "b", "ab%", "AB", "ab\U0010ffef"):
            write(store, put("x", id=id))
        write(store, put("y", id="abc"), Amend("abd", Status.ARCHIVED))
        write(store, put("past", id="abe", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY))
        every = store.records.beginning(view(), "ab", limit=100)
        assert every == ["ab", "ab%", "abc", "abd", "abe", "ab\U0010ffef"]
        assert store.records.beginning(view(), "ab", limit=2) == ["ab", "ab%"]
        assert store.records.beginning(view(), "abc", limit=2) == ["abc"]
        assert store.records.beginning(view(), "zz", limit=2) == []
        assert store.records.beginning(view(seq=1), "ab", limit=9) == ["abc"]

    def test_pages_make_up_the_whole_list(self, store: Store) -> None:
        for number, scope in enumerate((ALICES_BOT, ALICE, BOT, SHARED) * 4):
            # Every moment is shared by two records of different scopes and kinds.
            new = put("x", id=f"{number}", kind=f"k{number % 3}", valid_from=NOW - number // 2 * DAY)
            write(store, new, scope=scope)
        reader = view(ALICES_BOT)
        for oldest_first in (False, True):
            whole = ids(store.records.find(reader, Filter(), limit=100, oldest_first=oldest_first))
            assert len(whole) == 16
            for size in (1, 3, 5):
                pages: list[str] = []
                while page := store.records.find(
                    reader,
                    Filter(),
                    limit=size,
                    after=pages[-1] if pages else None,
                    oldest_first=oldest_first,
                ):
                    pages += ids(page)
                assert pages == whole

    def test_the_list_goes_on_after_a_record_that_the_filter_drops_now(self, store: Store) -> None:
        write(store, *(put("x", id=str(day), valid_from=NOW - day * DAY) for day in range(3)))
        write(store, Amend("1", status=Status.ARCHIVED))
        assert ids(store.records.find(view(), Filter(), limit=10, after="1")) == ["2"]

    def test_a_page_after_nobody_is_not_found(self, store: Store) -> None:
        write(store, put("x", id="a"))
        with pytest.raises(NotFound):
            store.records.find(view(), Filter(), limit=10, after="nobody")

    def test_by_kind(self, store: Store) -> None:
        write(store, put("x", id="a", kind="note"), put("x", id="b", kind="fact"), put("x", id="c", kind="goal"))
        assert found(store) == ["a", "b", "c"]
        assert found(store, kinds=("note",)) == ["a"]
        assert found(store, kinds=("goal", "note", "note")) == ["a", "c"]
        assert found(store, kinds=("unheard",)) == []
        assert found(store, kinds=()) == []

    def test_by_status_and_active_by_default(self, store: Store) -> None:
        write(store, *(put("x", id=status.value, status=status) for status in Status))
        assert found(store) == ["active"]
        assert found(store, statuses=(Status.HELD, Status.ARCHIVED)) == ["archived", "held"]
        assert found(store, statuses=()) == []
        assert len(store.records.find(view(), EVERYTHING, limit=10)) == 4

    def test_by_conversation_and_repository(self, store: Store) -> None:
        write(
            store,
            put("x", id="a", conversation_id="c1", repository="r1"),
            put("x", id="b", conversation_id="c1", repository="r2"),
            put("x", id="c", conversation_id="r1"),
            put("x", id="d"),
        )
        assert found(store, conversation_id="c1") == ["a", "b"]
        assert found(store, repository="r1") == ["a"]
        assert found(store, conversation_id="c1", repository="r2") == ["b"]
        assert found(store, conversation_id="unheard") == []
        assert found(store, repository="unheard") == []

    def test_by_confidence(self, store: Store) -> None:
        write(store, *(put("x", id=f"{tenths}", confidence=tenths / 10) for tenths in (6, 7, 8)))
        assert found(store, min_confidence=0.7) == ["7", "8"]
        assert found(store, min_confidence=0.0) == ["6", "7", "8"]

    def test_by_time_half_open(self, store: Store) -> None:
        write(store, *(put("x", id=str(day), valid_from=NOW + day) for day in range(5)))
        assert found(store, after=NOW + 1) == ["1", "2", "3", "4"]
        assert found(store, before=NOW + 3) == ["0", "1", "2"]
        assert found(store, after=NOW + 1, before=NOW + 3) == ["1", "2"]

    def test_by_indexed_fields(self, store: Store) -> None:
        write(
            store,
            put("x", id="a", payload={"role": "user", "index": 1, "score": 0.5}),
            put("x", id="b", payload={"role": "user", "index": 2, "score": 0.5}),
            put("x", id="c", payload={"role": "1", "other": "user"}),
        )
        assert found(store, fields=(("role", "user"),)) == ["a", "b"]
        assert found(store, fields=(("role", "user"), ("index", 2))) == ["b"]
        assert found(store, fields=(("score", 0.5),)) == ["a", "b"]
        assert found(store, fields=(("role", 1),)) == []
        assert found(store, fields=(("index", "1"),)) == []
        assert found(store, fields=(("unheard", "user"),)) == []

    def test_what_is_confined_to_a_place_is_found_there_alone(self, store: Store) -> None:
        write(
            store,
            put("x", id="a", kind="procedure", payload={"origin": "one"}),
            put("x", id="b", kind="procedure", payload={"origin": "two"}),
            put("x", id="c", kind="procedure", payload={"name": "two"}),
            put("x", id="d", payload={"origin": "two"}),
        )
        assert found(store) == ["a", "b", "c", "d"]
        assert found(store, pages=()) == ["c", "d"]
        assert found(store, pages=("one",)) == ["a", "c", "d"]
        assert found(store, pages=("one", "two")) == ["a", "b", "c", "d"]

    def test_a_filter_looks_at_the_version_that_is_shown(self, store: Store) -> None:
        first = write(store, put("x", id="a", payload={"n": 1}, conversation_id="c1")).seq
        write(store, put("y", id="a", payload={"n": 2}, conversation_id="c2"))
        assert found(store, fields=(("n", 1),)) == []
        assert found(store, conversation_id="c1") == []
        then = store.records.find(view(seq=first), Filter(fields=(("n", 1),), conversation_id="c1"), limit=5)
        assert ids(then) == ["a"]

    def test_the_filter_comes_before_the_limit(self, store: Store) -> None:
        many = [put("x", id=f"n{day}", valid_from=NOW - day, status=Status.HELD) for day in range(20)]
        write(store, *many, put("x", id="old", valid_from=NOW - DAY))
        assert ids(store.records.find(view(), Filter(), limit=1)) == ["old"]

    def test_a_list_shows_every_record_once(self, store: Store) -> None:
        for text in ("one", "two", "three"):
            write(store, put(text, id="a"), put(text, id="b", key="k"))
        listed = ids(store.records.find(view(), EVERYTHING, limit=10))
        assert sorted(listed) == ["a", "b"]
        assert all(one != other for one, other in pairwise(listed))

"""Shelves on a stock that is a plain object: what they answer, and what they ask for. No engine, no file."""

from __future__ import annotations

import copy
import threading
from collections.abc import Collection, Mapping
from contextlib import nullcontext

import numpy as np
import pytest
from tests.patience import until
from tests.toy.stock import TableStock
from tests.toy.tables import Tables

from agent_memory.ledger.journal import AMEND, Head, Journal, LineSubject, Signature
from agent_memory.ledger.marks import LastSeen
from agent_memory.ledger.request import Request
from agent_memory.ledger.shelves import following
from agent_memory.ledger.shelves.following import Following, Since
from agent_memory.ledger.shelves.shelf import Shelf, posted
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.ledger.spaces import adopting
from agent_memory.models.errors import SpaceMismatch, StoreError
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import Amend, Author, Change, Disconnect, Erase
from agent_memory.ports.index import Pool, Probe, Snapshot
from agent_memory.ports.records import Filter
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    CALLING,
    EVERYTHING,
    NOW,
    OTHER_SPACE,
    SHARED,
    SPACE,
    direction,
    link,
    put,
    term,
    vector,
    view,
    with_vectors,
)

LINES = 20_000  # of others


class Library:
    """Tables, a stock out of them, and the shelves that follow it."""

    def __init__(self) -> None:
        self.tables = Tables(spaces=(SPACE,))
        self.stock = self.opened = TableStock(self.tables)
        self.shelves = Shelves(lambda tenant: nullcontext(self.opened))

    def write(self, *changes: Change, scope: Scope = ALICE) -> int:
        self.tables.apply([Request(changes, Author(scope), NOW)])
        return self.stock.seq

    def head(self) -> Head:
        last = self.tables.lines[-1]
        return Head(last.seq, last.at, last.chain)

    def look(self, words: str = "", where: Filter = EVERYTHING, at: Snapshot | None = None, **more: object) -> Pool:
        probe = Probe(view(), where, 0, tuple(map(term, words.split())), tell_hidden=True, **more)  # type: ignore[arg-type]
        return self.shelves.gather(at or self.snapshot(), [probe])[0]

    def found(self, words: str = "", where: Filter = EVERYTHING, **more: object) -> list[str]:
        return sorted(self.tables.versions[one].place.id for one in self.look(words, where, **more).handles.tolist())

    def called(self, name: str) -> list[str]:
        found = self.shelves.called(self.opened.snapshot(ALICE), view(), [name], CALLING, most=9)
        return [self.tables.versions[one.handle].place.id for one in found]

    def steps(self, id: str, at: Snapshot | None = None, most: int = 9) -> list[tuple[str, float, bool]]:
        """What links lead to from a record, their weight, and whether with them."""
        handles = [row.version for row in self.tables.versions.values() if row.place.id == id]
        found = self.shelves.steps(at or self.snapshot(), view(), handles, most=most)
        return [(self.tables.versions[one.there].place.id, one.weight, one.outward) for one in found]

    def snapshot(self) -> Snapshot:
        return self.stock.snapshot(ALICE)

    def asked(self) -> list[tuple[object, ...]]:
        """Since it was last looked at."""
        asked, self.stock.asked = self.stock.asked, []
        return asked


class Watched:
    """Shelves of two tenants. The next to be read on meet these failures."""

    def __init__(self) -> None:
        self.fails: list[BaseException] = []
        self.refreshed = 0

    def filled(self) -> dict[str, int]:
        return {"acme": 3, "rival": 3}

    def drop(self, tenant: str) -> None: ...

    def refresh(self, scopes: Collection[Scope]) -> None:
        if self.fails:
            raise self.fails.pop()
        self.refreshed += 1


@pytest.fixture(params=["in memory", "within a bound"])
def library(request: pytest.FixtureRequest) -> Library:
    """Everything holds also where vectors are kept in a file."""
    made = Library()
    if request.param == "within a bound":
        made.shelves.bound(1 << 30)
    return made


def some(library: Library) -> int:
    """Three records, on a shelf."""
    last = library.write(*(put(f"red {id}", id=id, key=f"k{id}", payload={"n": id}) for id in "abc"))
    assert library.look("red").documents == 3
    library.asked()
    return last


class TestAsking:
    def test_what_did_not_change_is_not_asked_for(self, library: Library) -> None:
        last = some(library)
        assert library.found("red", key="ka") == ["a", "b", "c"] and library.asked() == []
        library.write(put("red d", id="d"))
        assert library.found("red") == ["a", "b", "c", "d"]
        assert library.asked() == [("follow", ALICE, last)]

    def test_texts_keys_and_fields_are_on_the_shelf(self, library: Library) -> None:
        library.write(
            put("red", id="a", key="k", conversation_id="c1", repository="r1", payload={"n": 1}),
            put("red", id="b", kind="fact", status=Status.HELD, payload={"n": 1.0, "m": "1"}),
            put("red", id="c", kind="procedure", payload={"origin": "r1"}),
        )
        library.write(put("red", id="d", key="k"), scope=BOB)
        for where, expected in (
            (Filter(), "ac"),
            (Filter(kinds=("fact", "procedure"), statuses=tuple(Status)), "bc"),
            (Filter(statuses=(Status.HELD,)), "b"),
            (Filter(conversation_id="c1"), "a"),
            (Filter(repository="c1"), ""),
            (Filter(statuses=tuple(Status), fields=(("n", 1),)), "ab"),
            (Filter(statuses=tuple(Status), fields=(("m", 1),)), ""),
            (Filter(pages=()), "a"),
            (Filter(pages=("r1", "r2")), "ac"),
        ):
            assert library.found("red", where) == [*expected], where
        pool = library.look("red", key="k")
        assert pool.exact.tolist() == [library.tables.versions[one].place.id == "a" for one in pool.handles.tolist()]
        assert {what for what, *_ in library.asked()} == {"follow", "fields"}

    def test_a_field_is_asked_for_once(self, library: Library) -> None:
        last = some(library)
        for _ in range(2):
            assert library.found("red", Filter(fields=(("n", "a"),))) == ["a"]
        assert library.asked() == [("fields", ALICE, 0, "n")]
        library.write(put("red", id="d", payload={"n": "a"}))
        assert library.found("red", Filter(fields=(("n", "a"),))) == ["a", "d"]
        assert library.asked() == [("follow", ALICE, last), ("fields", ALICE, last, "n")]

    def test_links_and_names_are_asked_for_once(self, library: Library) -> None:
        library.write(put("red", id="a", kind="thing", payload={"name": "the a"}), put("red", id="b"), link("a", "b"))
        for _ in range(2):
            assert library.called("the a") == ["a"] and library.steps("a") == [("b", 1.0, True)]
        last = library.stock.seq
        assert library.asked() == [("follow", ALICE, 0), ("payloads",), ("links", ALICE, 0)]
        library.write(put("red", id="c"), link("c", "a"))
        assert library.steps("a") == [("b", 1.0, True), ("c", 1.0, False)]
        assert sorted(library.asked()) == [("follow", ALICE, last), ("links", ALICE, last)]

    def test_other_users_lines_are_not_asked_for(self, library: Library) -> None:
        last = some(library)
        library.write(put("blue", id="x"), scope=BOB)
        journal = Journal(library.head(), library.tables.scopes)
        for _ in range(LINES):
            journal.append(AMEND, LineSubject(BOB, last + 1), Signature(NOW))
        library.tables.lines += journal.lines
        assert library.look("red").documents == 3 and library.asked() == []
        last = library.stock.seq
        library.write(put("red", id="d"))
        assert library.look("red").documents == 4
        assert library.asked() == [("follow", ALICE, last)], "nor later"

    def test_a_space_that_is_adopted_is_read_anew(self, library: Library) -> None:
        some(library)
        library.tables.store.append(adopting(Head(), "again"))
        assert library.found("red") == ["a", "b", "c"]
        assert library.asked() == [("follow", ALICE, 0)]
        assert library.found("red") == ["a", "b", "c"] and library.asked() == [], "once"

    def test_a_question_of_another_space_is_refused(self, library: Library) -> None:
        some(library)
        with pytest.raises(SpaceMismatch):
            library.look(vector=direction(1, 0, 0), space=OTHER_SPACE)


class TestErasing:
    def test_it_is_masked_where_it_stands(self, library: Library) -> None:
        first = library.write(
            with_vectors(put("red secret", id="a", key="k", payload={"n": 1}), vector(1, 0, 0, 0)),
            *(with_vectors(put(f"red {id}", id=id, payload={"n": 1}), vector(0, 1, 0, 0)) for id in "bcd"),
        )
        question = {"vector": direction(1, 0, 0, 0), "space": SPACE, "key": "k"}
        assert library.found("secret", **question) == ["a"]
        assert library.shelves.occurring(library.snapshot(), [term("secret")])
        library.asked()
        library.write(Erase("a"))
        pool = library.look("red secret", Filter(fields=(("n", 1),)), **question)
        assert (pool.documents, pool.frequencies.tolist(), pool.exact.any()) == (3, [3, 0], False)
        assert not any((pool.hidden or {}).values()), "it is gone, not hidden"
        assert not library.shelves.occurring(library.snapshot(), [term("secret")])
        (shelf,) = library.shelves._shelves.values()
        assert [row.any() for row in shelf.vectors["data"].rows[:]] == [False, True, True, True]
        assert [len(shelf.words.find(term(word))[0]) for word in ("red", "secret")] == [3, 0], "nor its words"
        assert len(shelf.fields.find(posted(("n", 1)))[0]) == 3
        assert ("follow", ALICE, 0) not in library.asked()
        assert library.look("secret").seq > first

    def test_what_came_and_went_is_nothing(self, library: Library) -> None:
        last = some(library)
        library.write(put("red", id="d"), Erase("d"))
        library.write(Erase("c"), put("red anew", id="c"), Amend("a", importance=1.0))
        assert library.found("red") == ["a", "b", "c"] and library.found("anew") == ["c"]
        hidden = library.look("red").hidden or {}
        assert sum(hidden.values()) == hidden["recorded"] == 1, "the version that was amended"
        assert library.asked() == [("follow", ALICE, last)]

    def test_what_is_erased_while_nobody_asks(self, library: Library) -> None:
        """It is read on once, from where the last look ended; what was set back, or is gone whole, is dropped."""
        last = some(library)
        looks: list[dict[str, int]] = []
        erased, chain = [ALICE], [b"x"]

        def watch(since: Mapping[str, int]) -> dict[str, Since]:
            looks.append(dict(since))
            return {name: Since(library.stock.seq, b"x", chain[0], erased) for name in since}

        looking = Following(library.shelves, watch)
        assert library.found("red") == ["a", "b", "c"]
        library.asked()
        library.write(Erase("a"))
        looking.look()
        assert library.asked() == [("follow", ALICE, last)]
        (shelf,) = library.shelves._shelves.values()
        assert len(shelf.words.find(term("red"))[0]) == 2
        erased.clear()
        looking.look()
        assert library.asked() == [] and looks == [{ALICE.tenant: last}, {ALICE.tenant: last + 1}]
        chain[0] = b"another"
        looking.look()
        assert not library.shelves.filled()
        looking.look()
        assert len(looks) == 3, "there is nothing to ask for"

    def test_one_that_fails_keeps_nobody_else_waiting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """And what was not its own failure ends the thread, not those that come after it."""
        monkeypatch.setattr(following, "EVERY_SECONDS", 0.001)
        watched = Watched()
        one = Following(watched, lambda since: {name: Since(7, b"x", b"x", [ALICE]) for name in since})
        watched.fails = [StoreError("away")]
        one.look()
        assert watched.refreshed == 1 and one._seen == {"acme": LastSeen(3), "rival": LastSeen(7, b"x")}
        watched.fails = [MemoryError()]
        monkeypatch.setattr(threading, "excepthook", lambda _: None)
        one.begin()
        until(lambda: one._thread is None, "it is still there")
        one.begin()
        assert one._thread is not None
        one.stop()

    def test_what_is_mostly_gone_is_read_again(self, library: Library) -> None:
        last = some(library)
        library.write(Erase("a"), Erase("b"))
        assert library.found("red") == ["c"]
        assert library.asked() == [("follow", ALICE, last), ("follow", ALICE, 0)]

    def test_an_older_snapshot_does_not_bring_a_name_back(self, library: Library) -> None:
        things = [put("red", id=id, kind="thing", payload={"name": f"the {id}"}) for id in "abc"]
        library.write(*things)
        before = TableStock(copy.deepcopy(library.tables))
        assert library.look("red").documents == 3
        library.write(Erase("a"))
        assert library.look("red").documents == 2
        library.opened = before
        assert library.called("the a") == []
        library.opened = library.stock
        assert library.called("the a") == []
        assert library.called("the b") == ["b"]
        library.write(Erase("b"))
        assert library.called("the b") == [] and library.called("the c") == ["c"]
        assert "the b" not in str([shelf.names for shelf in library.shelves._shelves.values()])


class TestDamage:
    def test_what_cannot_be_read_is_left_out_and_counted(self, library: Library) -> None:
        library.write(*(put("red", id=id) for id in "abcdef"))
        a, b, c, *_ = library.tables.versions
        library.stock.wrong = {(a, "valid_from"): "soon", (b, "kind"): b"", (c, "status"): None}
        pool = library.look("red")
        assert (pool.damaged, pool.documents) == (2, 3), "a status that nobody knows is not what anybody asks for"
        library.write(Erase("d"))
        assert library.look("red").damaged == 2
        library.write(Erase("a"))
        assert library.look("red").damaged == 1

    def test_a_version_of_a_content_that_was_left_out_is_left_out(self, library: Library) -> None:
        library.write(*(put(f"red {id}", id=id) for id in "ab"))
        first, *_ = library.tables.versions
        library.stock.wrong = {(first, "record"): 0.5}
        assert library.found("red") == ["b"]
        library.write(Amend("a", importance=1.0))
        pool = library.look("red")
        assert (pool.damaged, pool.documents) == (2, 1)


class TestHops:
    def test_a_link_has_its_moment(self, library: Library) -> None:
        library.write(*(put("red", id=id) for id in "ab"))
        moments = [library.snapshot()]
        for change in (link("a", "b", weight=0.3), link("a", "b", weight=0.8), Disconnect("a", "b", "about")):
            library.write(change)
            moments.append(library.snapshot())
        for warm in (False, True, True):
            found = [[weight for _, weight, _ in library.steps("a", one)] for one in moments]
            assert found == [[], [0.3], [0.8], []], warm
        library.write(link("b", "a", weight=0.5))
        assert library.steps("a") == [("b", 0.5, False)] and library.steps("a", moments[1]) == [("b", 0.3, True)]

    def test_a_link_joins_what_is_on_two_shelves(self, library: Library) -> None:
        library.write(*(put("red", id=id) for id in "st"), scope=SHARED)
        library.write(put("red", id="a"), link("a", "s"), link("s", "t"))
        assert library.steps("s") == [("a", 1.0, False), ("t", 1.0, True)]
        bobs = library.stock.snapshot(BOB)
        assert bobs.lasts.keys() == {SHARED}
        assert library.shelves.steps(bobs, view(BOB), [*library.tables.versions], most=9) == []

    def test_what_is_gone_does_not_count_where_there_are_too_many(self, library: Library) -> None:
        library.write(*(put("red", id=id) for id in "st"), scope=SHARED)
        library.write(*(put("red", id=id) for id in "ab"), *(link("a", id) for id in "bst"))
        assert library.steps("a", most=2) == []
        library.write(Erase("s"), scope=SHARED)
        assert [id for id, _, _ in library.steps("a", most=2)] == ["b", "t"]
        assert library.steps("a", most=1) == []

    def test_the_version_that_holds_is_at_the_other_end(self, library: Library) -> None:
        first = library.write(put("red", id="a"), put("red", id="b"), link("a", "b")) - 2
        amended = library.write(Amend("b", importance=0.9))
        for moment, there in ((view(), amended), (view(seq=amended - 1), first + 1)):
            (step,) = library.shelves.steps(library.snapshot(), moment, [first], most=9)
            assert step.there == there
        (back,) = library.shelves.steps(library.snapshot(), view(), [amended, first + 1], most=9)
        assert (back.here, back.there) == (amended, first), "and what no longer holds leads nowhere"


def test_of_what_is_recent_the_rest_is_not_asked_for(library: Library) -> None:
    """Fields of what is on no such shelf may be very many."""
    since = library.write(put("red", id="a", payload={"n": 1}))
    library.write(put("red", id="b", payload={"n": 1}))
    shelf = Shelf(ALICE, since)
    shelf.follow(library.stock, lambda _: [("field", "n")], {})
    assert library.asked() == [("follow", ALICE, since), ("fields", ALICE, since, "n")]
    assert len(shelf.fields.find(posted(("n", 1)))[0]) == 1


def test_within_a_bound_rows_are_read_in_slices(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_memory.ledger.shelves.shelf.LINES", 2)
    for number in range(7):
        library.write(with_vectors(put(f"red {number}", id=f"r{number}"), vector(1, number, 0, 0)))
    library.write(Amend("r1", importance=0.9))
    library.write(Erase("r2"))
    whole = library.look("red 3", vector=direction(1, 3, 0, 0), space=SPACE)
    library.asked()
    library.shelves.bound(1 << 30)
    pool = library.look("red 3", vector=direction(1, 3, 0, 0), space=SPACE)
    follows = [one for one in library.asked() if one[0] == "follow"]
    assert len(follows) > 3 and follows[0][2] == 0 < follows[1][2] < follows[2][2]
    for name in ("handles", "similarity", "counts", "lengths", "importance"):
        assert getattr(pool, name).tolist() == getattr(whole, name).tolist(), name
    assert not np.isnan(pool.similarity).any()


def test_what_does_not_fit_into_a_bound_is_an_error_and_not_half_an_answer(library: Library) -> None:
    library.write(*(put(f"red {number}", id=f"r{number}") for number in range(40)))
    library.shelves.bound(1000)
    with pytest.raises(StoreError, match="do not fit") as refused:
        library.look("red")
    assert "MB" in refused.value.hint
    library.shelves.bound(1 << 20)
    assert len(library.found("red")) == 40


def test_a_conversation_has_one_number_on_all_shelves(library: Library) -> None:
    for scope, talks in ((ALICE, ("c2", None, "c1")), (SHARED, ("c1", "c3", None))):
        news = [put("red", id=f"{scope.user} {one}", conversation_id=one, position=len(scope.user)) for one in talks]
        library.write(*news, scope=scope)
    pool = library.look("red")
    told = [library.tables.versions[one].state.conversation_id for one in pool.handles.tolist()]
    assert told == [None, None, "c2", "c1", "c1", "c3"]
    numbers = dict(zip(told, pool.conversations.tolist(), strict=True))
    assert numbers[None] == 0 and [numbers[one] for one in told] == pool.conversations.tolist()
    assert len({*numbers.values()}) == 4

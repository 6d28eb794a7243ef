"""The ledger alone: what is read, what becomes of several requests at once, and that rows are all there is to write."""

from __future__ import annotations

from typing import Any

import pytest
from tests.toy.tables import Tables

from agent_memory.ledger.plan import plan
from agent_memory.ledger.request import MOST_CHANGES, SALT_BYTES, Request, wanted
from agent_memory.ledger.rows import Rows
from agent_memory.models.errors import Changed, Conflict, InvalidInput, NotFound
from agent_memory.ports.changes import (
    DERIVED_FROM,
    Amend,
    Applied,
    Author,
    Change,
    Disconnect,
    Effect,
    Erase,
    Expect,
    Key,
    Once,
)
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    NOW,
    OTHER_SPACE,
    SHARED,
    SPACE,
    link,
    put,
    succeeding,
    term,
    vector,
    with_vectors,
)

ME = Author(ALICE, "tester")


def request(*changes: Change, author: Author = ME, **more: Any) -> Request:
    return Request(changes, author, NOW, salt=bytes(SALT_BYTES), **more)


def effects(answer: object) -> list[str]:
    assert isinstance(answer, Applied), answer
    return [outcome.effect for outcome in answer.outcomes]


def erased(answer: object) -> tuple[str, ...]:
    assert isinstance(answer, Applied), answer
    return answer.erased


class TestWanted:
    def test_a_put_is_looked_for_in_its_own_scope(self) -> None:
        asked = wanted([request(put("x", id="a", key="k"))])
        assert asked.ids == {ALICE: {"a"}}
        assert asked.keys == {ALICE: {("note", "k")}}
        assert not asked.deriving and not asked.types

    def test_what_is_changed_or_linked_is_looked_for_wherever_it_can_be_seen(self) -> None:
        by = Author(ALICES_BOT)
        asked = wanted([request(Amend("a", importance=1), link("b", "c"), author=by)])
        assert set(asked.ids) == set(ALICES_BOT.readable())
        assert all(ids == {"a", "b", "c"} for ids in asked.ids.values())
        assert asked.types == {"about"}

    def test_only_an_erasure_with_what_was_derived_follows_derivation(self) -> None:
        assert wanted([request(Erase("a"))]).deriving == set()
        gone = request(Erase("a", with_derived=True), author=Author(ALICES_BOT))
        assert wanted([gone]).deriving == {ALICE.user}

    def test_too_many_changes_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match="10001 changes"):
            request(*[Amend("a")] * (MOST_CHANGES + 1))


class TestSeveralRequests:
    """Groups are the same function."""

    def test_each_sees_those_before_it(self) -> None:
        tables = Tables()
        same = [request(put(text, id=id, key="k")) for text, id in (("one", "a"), ("two", "b"))]
        _, answers = tables.apply([*same, request(Amend("a", importance=1))])
        assert [effects(one) for one in answers] == [["created"], ["updated"], ["updated"]]
        assert [one.seq for one in answers if isinstance(one, Applied)] == [1, 2, 3]
        assert {row.place.id for row in tables.versions.values()} == {"a"}

    def test_one_that_fails_leaves_nothing_and_gets_its_own_error(self) -> None:
        good, bad = request(put("one", id="a")), request(put("lost", id="b"), Amend("nowhere"))
        late = request(put("three", id="c"), expect=(Expect(0, id="b"),))
        tables, alone = Tables(), Tables()
        _, answers = tables.apply([good, bad, late])
        assert isinstance(answers[1], NotFound)
        assert [effects(answers[0]), effects(answers[2])] == [["created"], ["created"]]
        alone.apply([good])
        alone.apply([late])
        assert (tables.lines, tables.versions, tables.contents) == (alone.lines, alone.versions, alone.contents)

    def test_the_same_key_twice_is_answered_once(self) -> None:
        tables = Tables()
        twice = request(put("one", id="a"), once=Once("k", b"print"))
        _, (first, second, third) = tables.apply([twice, twice, request(once=Once("k", b"other"))])
        assert isinstance(first, Applied) and second == first._replace(repeated=True)
        assert isinstance(third, Conflict)
        assert len(tables.lines) == 1

    def test_a_request_that_wrote_what_is_erased_is_forgotten(self) -> None:
        tables = Tables()
        first = request(put("one", id="a"), once=Once("k", b"print"))
        _, (_, _, late) = tables.apply([first, request(Erase("a")), first])
        assert isinstance(late, Conflict)
        assert [row.answer.text for row in tables.answers.values()] == [""]

    def test_a_group_writes_what_its_requests_would_have_written(self) -> None:
        requests = [
            request(put("one", id="a", key="k"), put("two", id="b"), link("a", "b", DERIVED_FROM)),
            request(succeeding(put("three", id="x", key="k", valid_from=NOW + 5))),
            request(Disconnect("a", "b", DERIVED_FROM), Erase("b", with_derived=True), author=Author(ALICE, "other")),
            request(put("for all", id="s"), author=Author(SHARED)),
            request(put("again", id="b"), link("b", "s")),
        ]
        scopes = {ALICE: 1, SHARED: 2}
        together, apart = Tables(scopes=dict(scopes)), Tables(scopes=dict(scopes))
        together.apply(requests)
        for one in requests:
            apart.apply([one])
        assert together.lines == apart.lines
        assert (together.versions, together.links) == (apart.versions, apart.links)
        assert [gone.place for gone in together.tombstones] == [gone.place for gone in apart.tombstones]


class TestRows:
    def test_what_comes_and_goes_in_one_write_is_not_written_but_its_words_are_told(self) -> None:
        tables = Tables(spaces=(SPACE,))
        rows, _ = tables.apply([request(put("red green", id="a"), put("b", id="b"), link("b", "a"), Erase("a"))])
        assert [row.place.id for row in rows.versions] == ["b"]
        assert rows.links == () and len(rows.contents) == 1
        assert [words.hashes[:8] for gone in rows.gone for words in gone.words] == [term("red").to_bytes(8, "little")]
        assert len(rows.lines) == 4

    def test_a_version_that_a_later_change_ended_is_written_ended(self) -> None:
        rows, _ = Tables().apply([request(put("one", id="a"), put("two", id="a"))])
        assert [(row.version, row.number, row.ended) for row in rows.versions] == [(1, 1, 2), (2, 2, None)]
        assert rows.ended_versions == ()

    def test_a_key_that_was_freed_can_be_taken(self) -> None:
        tables = Tables()
        tables.apply([request(put("one", id="a", key="k"))])
        _, answers = tables.apply([request(put("one", id="a", key="other"), put("two", id="b", key="k"))])
        assert effects(answers[0]) == [Effect.UPDATED, Effect.CREATED]
        tables.apply([request(Erase("b"), put("three", id="c", key="k"), link("c", "a"))])
        assert {row.place.id for row in tables.versions.values() if row.ended is None} == {"a", "c"}

    def test_vectors_are_of_one_space_and_wait_for_the_other(self) -> None:
        tables = Tables(spaces=(SPACE, OTHER_SPACE))
        rows, _ = tables.apply([request(with_vectors(put("one", id="a"), vector(1, 0, 0, 0)))])
        (content,) = rows.contents
        assert [(one.space, one.line, one.place) for one in content.vectors] == [(SPACE, 1, 0)]
        assert [(one.space, one.part) for one in content.lacks] == [(OTHER_SPACE, 0)]

    def test_an_end_may_be_named_by_its_key(self) -> None:
        tables = Tables()
        tables.apply([request(put("one", id="a", key="k"), put("two", id="b"))])
        rows, _ = tables.apply([request(link("a", "b")._replace(source_id=Key("note", "k")))])
        assert [(one.source, one.target) for one in rows.links] == [(1, 2)]

    def test_nothing_changes_nothing(self) -> None:
        tables = Tables()
        tables.apply([request(put("one", id="a"))])
        rows, answers = tables.apply([request(put("one", id="a"), expect=(Expect(1, id="a"),))])
        assert rows == Rows() and effects(answers[0]) == ["unchanged"]
        rows, answers = tables.apply([request(put("two", id="a"), expect=(Expect(2, id="a"),))])
        assert rows == Rows() and isinstance(answers[0], Changed)


class TestDerivation:
    """In one write, whatever came before the erasure counts."""

    def test_a_link_of_the_same_write_is_followed(self) -> None:
        tables = Tables()
        tables.apply([request(*(put(id, id=id) for id in "abc"), link("c", "b", DERIVED_FROM))])
        _, (answer,) = tables.apply([request(link("b", "a", DERIVED_FROM), Erase("a", with_derived=True))])
        assert erased(answer) == ("a", "b", "c")

    def test_one_that_was_taken_away_is_not(self) -> None:
        tables = Tables()
        sources = [link("c", "a", DERIVED_FROM), link("c", "b", DERIVED_FROM)]
        tables.apply([request(*(put(id, id=id) for id in "abc"), *sources)])
        gone = request(Erase("a", with_derived=True))
        assert erased(plan([gone], tables.read(wanted([gone]))).answers[0]) == ("a",), "another source stands"
        _, (answer,) = tables.apply([request(Disconnect("c", "b", DERIVED_FROM), Erase("a", with_derived=True))])
        assert erased(answer) == ("a", "c")

    def test_a_source_of_before_keeps_what_got_another_one_now(self) -> None:
        tables = Tables()
        tables.apply([request(*(put(id, id=id) for id in "stx"), link("s", "x", DERIVED_FROM))])
        _, (answer,) = tables.apply([request(link("s", "t", DERIVED_FROM), Erase("t", with_derived=True))])
        assert erased(answer) == ("t",)

    def test_others_are_left_alone(self) -> None:
        tables = Tables()
        tables.apply([request(put("for all", id="s"), author=Author(SHARED))])
        tables.apply([request(put("his", id="his"), link("s", "his", DERIVED_FROM), author=Author(BOB))])
        _, (answer,) = tables.apply([request(Erase("his", with_derived=True), author=Author(BOB))])
        assert erased(answer) == ("his",)

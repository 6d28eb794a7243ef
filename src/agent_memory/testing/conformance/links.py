"""Links: typed, weighted edges with a recorded interval, walked in both directions."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.models.record import Link, Status
from agent_memory.ports.changes import Disconnect, Effect, Key
from agent_memory.ports.index import LinkStep
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    BOT,
    SHARED,
    STRANGER,
    beyond,
    ids,
    link,
    put,
    steps,
    view,
    write,
    write_one,
)


def people(store: Store, *names: str) -> None:
    write(store, *(put(name, id=name) for name in names))


def ends(links: list[Link]) -> list[str]:
    return [f"{one.source_id}>{one.target_id}" for one in links]


class LinkRowConformance:
    """A link has the narrower scope of its ends, and both must be visible."""

    def test_a_link_comes_back_as_it_was_written(self, store: Store) -> None:
        people(store, "a", "b")
        outcome = write_one(store, link("a", "b", "works_for", 0.7, since=2020, tags=["x"]))
        assert (outcome.effect, outcome.id) == (Effect.CREATED, "a")
        expected = Link(
            source_id="a",
            target_id="b",
            type="works_for",
            weight=0.7,
            properties={"since": 2020, "tags": ["x"]},
        )
        assert store.records.links(view(), ["a"]) == store.records.links(view(), ["b"]) == [expected]

    def test_links_come_in_the_order_they_were_made_and_once_each(self, store: Store) -> None:
        people(store, "a", "b", "c")
        write(store, link("b", "c"), link("a", "b"), link("c", "a"), link("a", "a"))
        assert ends(store.records.links(view(), ["a"])) == ["a>b", "c>a", "a>a"]
        assert ends(store.records.links(view(), ["c", "a", "b", "a"])) == ["b>c", "a>b", "c>a", "a>a"]
        assert store.records.links(view(), ["nobody"]) == store.records.links(view(), []) == []

    def test_many_records_are_asked_at_once(self, store: Store) -> None:
        names = [f"n{number:03}" for number in range(450)]
        people(store, *names)
        write(store, *(link(names[number], names[-1 - number]) for number in range(225)))
        found = ends(store.records.links(view(), names))
        assert found == [f"{names[number]}>{names[-1 - number]}" for number in range(225)]
        assert ids(beyond(store, view(), *names[:225])) == names[:224:-1]

    def test_the_same_link_again_changes_nothing(self, store: Store) -> None:
        people(store, "a", "b")
        before = write(store, link("a", "b", weight=0.5, why="x")).seq
        again = write(store, link("a", "b", weight=0.5, why="x"))
        assert (again.outcomes[0].effect, again.seq) == (Effect.UNCHANGED, before)

    def test_another_weight_or_property_takes_the_place_of_the_old(self, store: Store) -> None:
        people(store, "a", "b")
        write(store, link("a", "b", weight=0.5))
        assert write_one(store, link("a", "b", weight=0.6)).effect is Effect.UPDATED
        assert write_one(store, link("a", "b", weight=0.6, why="x")).effect is Effect.UPDATED
        [only] = store.records.links(view(), ["a"])
        assert (only.weight, only.properties) == (0.6, {"why": "x"})

    def test_type_and_direction_tell_links_apart(self, store: Store) -> None:
        people(store, "a", "b")
        write(store, link("a", "b", "knows"), link("b", "a", "knows"), link("a", "b", "trusts"))
        assert len(store.records.links(view(), ["a"])) == 3

    def test_a_link_can_be_cut_and_made_again(self, store: Store) -> None:
        people(store, "a", "b")
        write(store, link("a", "b"))
        assert write_one(store, Disconnect("b", "a", "about")).effect is Effect.UNCHANGED
        assert write_one(store, Disconnect("a", "b", "other")).effect is Effect.UNCHANGED
        assert write_one(store, Disconnect("a", "b", "about")).effect is Effect.UPDATED
        assert store.records.links(view(), ["a"]) == []
        assert write_one(store, Disconnect("a", "b", "about")).effect is Effect.UNCHANGED
        assert write_one(store, link("a", "b")).effect is Effect.CREATED
        assert len(store.records.links(view(), ["a"])) == 1

    def test_a_link_belongs_to_the_record_and_not_to_a_version(self, store: Store) -> None:
        people(store, "a", "b")
        write(store, link("a", "b"), put("another text", id="b"))
        assert [record.text for record in beyond(store, view(), "a")] == ["another text"]
        [old] = store.records.history(view(), "b")[:1]
        assert steps(store, view(), [old.seq], 10) == []  # what is not believed leads nowhere

    def test_a_step_goes_over_links_in_both_directions_in_their_order(self, store: Store) -> None:
        people(store, "a", "b", "c", "d", "e")
        write(store, link("b", "c"), link("a", "b"), link("d", "a"), link("c", "e"), link("e", "a"))
        assert ids(beyond(store, view(), "a")) == ["b", "d", "e"]
        assert ids(beyond(store, view(), "b", "e")) == ["c", "a", "c", "a"]
        assert beyond(store, view(), "nobody") == beyond(store, view()) == []

    def test_a_step_says_how_it_went(self, store: Store) -> None:
        write(store, put("x", id="a"), put("x", id="b", status=Status.ARCHIVED), link("a", "b", "knows", 0.5))
        a, b = (record.seq for record in store.records.get(view(), ["a", "b"]))
        [there] = steps(store, view(), [a], 10)
        assert there == LinkStep(a, b, "knows", 0.5, outward=True, status=Status.ARCHIVED)
        [back] = steps(store, view(), [b], 10)
        assert back == LinkStep(b, a, "knows", 0.5, outward=False, status=Status.ACTIVE)

    def test_a_link_to_itself_goes_both_ways(self, store: Store) -> None:
        people(store, "a")
        write(store, link("a", "a"))
        [a] = [record.seq for record in store.records.get(view(), ["a"])]
        assert [(one.there, one.outward) for one in steps(store, view(), [a], 10)] == [(a, True), (a, False)]

    def test_a_relation_with_too_many_ends_is_left_out_and_the_others_stay(self, store: Store) -> None:
        people(store, "hub", "a", "b", "c", "boss")
        write(store, *(link(one, "hub", "part_of") for one in "abc"), link("hub", "boss", "part_of"))
        write(store, link("boss", "hub", "knows"))
        assert ids(beyond(store, view(), "hub", most=3)) == ["a", "b", "c", "boss", "boss"]
        assert ids(beyond(store, view(), "hub", most=2)) == ["boss", "boss"]
        assert ids(beyond(store, view(), "a", most=1)) == ["hub"]
        write(store, Disconnect("a", "hub", "part_of"))
        assert ids(beyond(store, view(), "hub", most=2)) == ["b", "c", "boss", "boss"]


class LinkWallConformance:
    """Nobody learns of a record through a link."""

    def test_a_link_to_a_private_record_is_private(self, store: Store) -> None:
        write(store, put("for all", id="shared"), put("for all too", id="common"), scope=SHARED)
        write(store, put("mine", id="private"), link("shared", "private"), link("shared", "common"), scope=ALICE)
        assert ends(store.records.links(view(ALICE), ["shared"])) == ["shared>private", "shared>common"]
        for other in (BOB, SHARED, BOT):  # what alice links is hers, whoever sees its ends
            assert store.records.links(view(other), ["shared"]) == []
            assert beyond(store, view(other), "shared") == []
        assert store.records.links(view(STRANGER), ["shared", "private"]) == []

    def test_no_step_leads_to_a_private_record(self, store: Store) -> None:
        write(store, put("x", id="here"), put("x", id="there"), scope=SHARED)
        write(store, put("x", id="tunnel"), link("here", "tunnel"), link("tunnel", "there"), scope=ALICE)
        assert ids(beyond(store, view(ALICE), "here")) == ["tunnel"]
        assert ids(beyond(store, view(ALICE), "tunnel")) == ["here", "there"]
        assert beyond(store, view(BOB), "here", "tunnel", "there") == []

    def test_a_link_between_two_sorts_of_private_is_for_whoever_sees_both(self, store: Store) -> None:
        write(store, put("alice's", id="a"), scope=ALICE)
        write(store, put("the bot's", id="b"), scope=BOT)
        write(store, link("a", "b"), link("b", "a"), scope=ALICES_BOT)
        assert len(store.records.links(view(ALICES_BOT), ["a"])) == 2
        assert store.records.links(view(ALICE), ["a"]) == []
        assert store.records.links(view(BOT), ["b"]) == []
        for scope in (ALICE, BOT):
            assert store.records.stats(view(scope))["links"] == 0
            assert [line.operation for line in store.records.journal(view(scope))] == ["put"]

    def test_nobody_can_link_what_they_do_not_see(self, store: Store) -> None:
        write(store, put("mine", id="a"), put("too", id="b"), link("a", "b"), scope=ALICE)
        write(store, put("his", id="c"), scope=BOB)
        for change in (link("c", "a"), link("a", "c"), Disconnect("a", "b", "about")):
            with pytest.raises(NotFound):
                write(store, change, scope=BOB)
        assert len(store.records.links(view(ALICE), ["a"])) == 1

    def test_a_shared_link_is_cut_only_for_all(self, store: Store) -> None:
        write(store, put("x", id="a"), put("x", id="b"), link("a", "b"), scope=SHARED)
        assert write_one(store, Disconnect("a", "b", "about"), scope=ALICE).effect is Effect.UNCHANGED
        assert len(store.records.links(view(SHARED), ["a"])) == 1
        assert write_one(store, Disconnect("a", "b", "about"), scope=SHARED).effect is Effect.UPDATED
        assert store.records.links(view(SHARED), ["a"]) == []

    def test_an_end_may_be_named_by_its_key(self, store: Store) -> None:
        write(store, put("x", id="a", key="first"), put("x", id="b"))
        by_key = link("a", "b")._replace(source_id=Key("note", "first"))
        assert write_one(store, by_key).effect is Effect.CREATED
        nobody = link("a", "b")._replace(source_id=Key("note", "nobody"))
        assert write_one(store, nobody._replace(if_there=True)).effect is Effect.UNCHANGED
        with pytest.raises(NotFound):
            write(store, nobody)
        assert ends(store.records.links(view(), ["b"])) == ["a>b"]

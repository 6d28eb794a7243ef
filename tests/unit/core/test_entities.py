"""Which entities a question names, and what counts how much on the way from them."""

from __future__ import annotations

import pytest

from agent_memory.core.recall.entities import MOST_GOING_ON, calling, named, phrases, spread
from agent_memory.core.recall.reading import Reading
from agent_memory.models.kinds.knowledge import KINDS
from agent_memory.models.recipe import DEFAULT
from agent_memory.models.record import Status
from agent_memory.testing import memory
from agent_memory.testing.builders import link, put, view, write

CALLS = calling({kind.name: kind for kind in KINDS})


def meant(question: str, *entities: str) -> dict[str, float]:
    """Entities given as "name, alias, …"; which of them the question names, by their place."""
    names = {place: one.split(", ") for place, one in enumerate(entities)}
    own = {place: CALLS["entity"]({"name": all[0], "aliases": all[1:]}) for place, all in names.items()}
    return {names[place][0]: sure for place, sure in named(phrases(question), own).items()}


@pytest.mark.parametrize(
    ("question", "entity"),
    [
        ("who owns checkout?", "checkout"),
        ("Who owns CHECKOUT?", "checkout"),
        ("what is checkout's owner?", "Checkout"),
        ("is pg_main up?", "pg-main"),
        ("is PG main up?", "pg-main"),
        ("what does checkout-api need?", "orders, checkout-api"),
        ("when did the Bank of America call?", "bank of america"),
        ("wann ruft die Straße an?", "STRASSE"),
        ("支付服务的数据库是什么?", "支付服务"),
        ("who leads IT?", "IT"),
        ("what did Will say?", "Will"),
        ("is web-01.prod down?", "web-01.prod"),
    ],
)
@pytest.mark.requirement("C9")
def test_a_question_names_an_entity(question: str, entity: str) -> None:
    assert meant(question, entity) == {entity.split(", ")[0]: 1.0}


@pytest.mark.parametrize(
    ("question", "entity"),
    [
        ("who owns checkouts?", "checkout"),
        ("who owns precheckout?", "checkout"),
        ("who owns the API of checkout?", "checkout-api"),
        ("who owns it?", "IT"),
        ("It is broken", "IT"),
        ("will it rain?", "Will"),
        ("will it rain?", "will"),
        ("???", "?"),
        ("", "checkout"),
    ],
)
def test_a_question_does_not_name_what_only_looks_like_it(question: str, entity: str) -> None:
    assert meant(question, entity) == {}


def test_the_longest_name_is_meant_and_its_words_are_used_up() -> None:
    entities = ("checkout", "api", "checkout api", "api gateway")
    assert meant("what does checkout-api call?", *entities) == {"checkout api": 1.0}
    assert meant("does checkout-api call checkout?", *entities) == {"checkout api": 1.0, "checkout": 1.0}
    assert meant("is the checkout api gateway up?", *entities) == {"checkout api": 1.0}


def test_a_name_that_several_have_says_less_about_each() -> None:
    assert meant("who owns mercury?", "mercury", "Mercury, the planet") == {"mercury": 0.5, "Mercury": 0.5}


def counts(*links: tuple[str, str, str, float], depth: int = 3, fan: int = 10, held: str = "") -> dict[str, float]:
    """How much each record counts, by its id, when "a" is named."""
    store = memory.open_store()
    ids = sorted({"a", *(end for link in links for end in link[:2])})
    status = {True: Status.HELD, False: Status.ACTIVE}
    write(store, *(put(id, id=id, status=status[id == held]) for id in ids))
    write(store, *(link(source, target, type, weight) for source, target, type, weight in links))
    handles = {record.seq: record.id for record in store.records.get(view(), ids)}
    [start] = [handle for handle, id in handles.items() if id == "a"]
    recipe = DEFAULT.model_copy(update={"depth": depth, "fan": fan})
    [trails] = spread(Reading(store.index, view()), {start: 1.0}, recipe).values()
    return {handles[handle]: round(trail.counts, 6) for handle, trail in trails.items()}


def test_each_link_counts_less_in_either_direction_and_by_its_weight() -> None:
    links = [("a", "b", "X", 1.0), ("c", "b", "Y", 0.5), ("c", "d", "X", 1.0), ("d", "e", "X", 1.0)]
    assert counts(*links) == {"a": 1.0, "b": 0.7, "c": 0.245, "d": 0.1715}
    assert counts(*links, depth=1) == {"a": 1.0, "b": 0.7}
    assert counts(*links, depth=0) == {"a": 1.0}


def test_the_best_of_the_shortest_ways_counts() -> None:
    weights = {"ab": 0.2, "ac": 1.0, "bd": 1.0, "cd": 1.0, "ae": 0.1, "ce": 1.0}
    found = counts(*((ends[0], ends[1], "X", weight) for ends, weight in weights.items()))
    assert (found["d"], found["e"]) == (0.49, 0.07)


def test_a_relation_to_many_says_little_about_each_and_nothing_about_the_others() -> None:
    crowd = [(f"part {number}", "a", "PART_OF", 1.0) for number in range(40)]
    found = counts(*crowd, ("a", "b", "PART_OF", 1.0), ("a", "c", "OWNED_BY", 1.0))
    assert found["b"] == found["c"] == 0.7
    assert found["part 7"] == 0.175  # 10 of 40


def test_what_is_held_back_leads_no_further() -> None:
    assert counts(("a", "b", "X", 1.0), ("b", "c", "X", 1.0), held="b") == {"a": 1.0, "b": 0.7}


def test_the_turns_beside_a_turn_are_not_followed() -> None:
    assert counts(("a", "b", "MENTIONS", 1.0), ("b", "c", "FOLLOWED_BY", 1.0)) == {"a": 1.0, "b": 0.7}


def test_a_crowd_is_not_followed_everywhere() -> None:
    far = [(f"near {number:03}", f"far {number:03}", "Y", 1.0) for number in range(MOST_GOING_ON + 20)]
    found = counts(*(("a", near, "X", 1.0) for near, _, _, _ in far), *far)
    assert sum(id.startswith("near") for id in found) == len(far)
    assert sum(id.startswith("far") for id in found) == MOST_GOING_ON

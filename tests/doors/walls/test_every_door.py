"""Nobody's memories reach anybody else, through any door: Hypothesis tries to get over the walls. P23.

Every example works on a copy of a store in which everybody has one of everything. Somebody, with some key and some
claims, calls every operation there is, with ids of everybody. Whatever comes back holds no word and no id of those whom
they may not see, and whoever they may not write for is left as they were.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from asking import calls
from cast import AGENTS, FOR_A_TENANT, OWNERS, TENANTS, USERS, Cast, state
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as some
from ways import Badge, Way

from agent_memory.app.operations import TABLE, Operation, Permission
from agent_memory.models.record import Scope
from house import House

DOORS = ("in process", "our client", "rest", "grpc", "mcp", "command line")


def badges(cast: Cast, keyed: bool) -> some.SearchStrategy[Badge]:
    def said(names: tuple[str, ...]) -> some.SearchStrategy[tuple[str, ...]]:
        return some.lists(some.sampled_from(names), max_size=2).map(tuple)

    keys = [*cast.keys.values(), None] if keyed else [None]
    claims = {"tenant": said(TENANTS), "user": said(USERS), "agent": said(AGENTS)}
    return some.builds(Badge, some.sampled_from(keys), some.fixed_dictionaries(claims))


def climb(house: House, way: Way, who: Badge, keyed: bool, asked: Any, seed: int) -> Counter[str]:
    """One caller tries everything, in some order. Gives which operations told them something of their own."""
    cast, store = house.cast, house.enter(keyed=keyed)
    scopes = who.may_be(keyed)
    own = {cast.words[one] for scope in scopes for one in scope.readable() if one in cast.words}
    ids, order = cast.everyones(), list(asked)
    for several in (ids, order):
        random.Random(seed).shuffle(several)
    said = f"{asked} {ids[:3]}"
    foreign = {secret for secret in cast.secrets(scopes) if secret not in said}
    seen: Counter[str] = Counter()
    before: dict[Scope, str] = {}
    order.sort(key=lambda one: not _touches_all(one[0]))  # they may touch everything
    for operation, arguments in order:
        if not before and not _touches_all(operation):
            others = [owner for owner in OWNERS if not _writable(scopes) & set(owner.readable())]
            before = {owner: state(store, owner) for owner in others}
        answer = way.call(who, operation, arguments)
        theirs = foreign & cast.far(operation.name, scopes)
        assert not _in(theirs, answer), f"{operation.name}({arguments}) of {who}: {answer[:2000]}"
        seen[operation.name] = int(_in(own, answer))
    for answer in way.others(who, ids[:3]):
        assert not _in(foreign, answer), f"{who}: {answer[:2000]}"
    for owner, was in before.items():
        assert state(store, owner) == was, f"{who} changed what {owner} sees"
    return seen


def crowd(house: House, way: Way, several: list[Badge], keyed: bool) -> None:
    """Many callers, one question each."""
    house.enter(keyed=keyed)
    for who in several:
        answer = way.call(who, TABLE["records.find"], {"limit": 50})
        assert not _in(house.cast.secrets(who.may_be(keyed)), answer), f"{who}: {answer[:2000]}"


def _in(secrets: set[str], answer: str) -> bool:
    return any(one in answer for one in secrets)


def _writable(scopes: set[Scope]) -> set[Scope]:
    return {one for scope in scopes for one in scope.readable() if one.user == scope.user}


def tried(house: House, door: str, examples: int) -> None:
    way = house.ways[door]
    seen: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # what failed is told whole
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(some.data())
    def climbing(data: some.DataObject) -> None:
        keyed = data.draw(some.booleans()) if way.keys else False
        who = data.draw(badges(house.cast, keyed))
        near = [one for scope in who.may_be(keyed) for one in scope.readable() if one.user == "*"]
        seed = data.draw(some.integers(0, 999))
        seen.update(climb(house, way, who, keyed, data.draw(calls(house.cast, near)), seed))
        crowd(house, way, data.draw(some.lists(badges(house.cast, keyed), min_size=5, max_size=20)), keyed)

    climbing()
    assert set(seen) == set(TABLE)
    assert any(seen.values()), "who sees nothing of their own proves nothing"


def _touches_all(operation: Operation) -> bool:
    """Of the store, or of the tenant, in the name of everybody there."""
    return operation.permission is Permission.OPERATOR or operation.name in FOR_A_TENANT


@pytest.mark.requirement("P23", "C9")
@pytest.mark.parametrize("door", DOORS)
def test_nobody_gets_over_the_walls(house: House, door: str) -> None:
    tried(house, door, 5)


@pytest.mark.soak
@pytest.mark.requirement("P23", "C9")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("door", DOORS)
def test_nobody_gets_over_the_walls_however_long_they_try(house: House, door: str) -> None:
    tried(house, door, 60)

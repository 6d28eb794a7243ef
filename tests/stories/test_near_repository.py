"""A recall that says where its caller works: what belongs to that repository comes first among equals, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models.recipe import Recipe

SHOP, BLOG = "git.example/acme/shop", "git.example/acme/blog"


@pytest.fixture
def placed() -> Any:
    with AgentMemory("ada") as memory:
        memory.records.add("Deploys run from the main branch", repository=SHOP, id="shop")
        memory.records.add("Deploys run from the main branch", repository=BLOG, id="blog")
        memory.records.add("Deploys run from the main branch", id="nowhere")
        memory.records.add("The coffee machine is on the second floor", repository=BLOG, id="coffee")
        yield memory


@pytest.mark.parametrize(("near", "first"), [(SHOP, "shop"), (BLOG, "blog"), (None, "nowhere")])
def test_of_equals_the_one_from_here_comes_first(placed: AgentMemory, near: str | None, first: str) -> None:
    found = placed.recall("where do deploys run from?", **({"near_repository": near} if near else {}))
    assert found[0].id == first and len(found) == 4, "nothing is left out"
    assert found[0].why.channels.get("repository") == (0.05 if near else None)


def test_what_fits_better_still_comes_first(placed: AgentMemory) -> None:
    assert placed.recall("where is the coffee machine?", near_repository=SHOP)[0].id == "coffee"
    assert placed.recall("deploys", near_repository=SHOP, recipe="meaning")[0].why.channels.keys() == {"vectors"}


def test_a_replay_remembers_where_it_was_asked(placed: AgentMemory) -> None:
    found = placed.recall("where do deploys run from?", near_repository=BLOG)
    replayed = placed.receipts.replay(found.receipt_id)
    assert replayed.identical and replayed.recalled[0].id == "blog"


def test_every_candidate_from_here_counts_not_only_the_newest(placed: AgentMemory) -> None:
    placed.records.add_many([{"text": f"note on gear {number}", "repository": SHOP} for number in range(20)])
    found = placed.recall("where do deploys run from?", near_repository=SHOP, recipe=Recipe(pool=5))
    assert found[0].id == "shop" and found[0].why.channels["repository"] == 0.05

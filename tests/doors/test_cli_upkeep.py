"""What upkeep found and did, as a command says it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory


@pytest.mark.requirement("L11")
def test_pruning_says_what_was_done_and_what_would_be(here: Any, home: Path) -> None:
    with AgentMemory("ada") as memory:
        old = datetime.now(UTC) - timedelta(days=90)
        memory.records.add("The lift is out of order", id="lift", importance=0.05, valid_from=old)
    ada = ("--user", "ada")
    dry = here(*ada, "prune").out
    assert dry.startswith("1 memory may be archived\n") and "lift\tobservation\timportance 0.05, 90 days old" in dry
    done = here(*ada, "prune", "--no-dry-run").out
    assert done.startswith("archived 1 memory\n") and "kept until" in done and "before" not in done
    again = here(*ada, "prune", "--no-dry-run").out
    assert again.startswith("nothing was archived\n1 memory archived before\n") and "lift" in again


@pytest.mark.requirement("C18")
def test_reading_says_what_is_new_and_what_waits(here: Any, home: Path) -> None:
    ada = ("--user", "ada", "extract", "--text")
    said = here(*ada, "I live in Rome. My sister is Anna. Never push to main.").out.splitlines()
    assert said[0] == "1 turn read: 2 facts, 2 entities, 1 proposal"
    assert said[-1] == "some of it waits for review: `agent-memory review list`"
    later = here(*ada, "I live in Bonn. My sister is Anna.").out
    assert later.startswith("1 turn read: 1 fact, 1 fact said again, 2 entities\n")
    assert "\tada lives in Rome\tada lives in Bonn\n" in later, "what it takes the place of, and what it says"
    assert here(*ada, "Hello there!").out == "1 turn read: nothing is claimed\n"


@pytest.mark.requirement("C18")
def test_learning_says_what_it_may_contradict(here: Any, home: Path) -> None:
    port = ("--subject", "staging", "--predicate", "listens on")
    one = here("learn", "Staging listens on port 5433", *port).out
    assert one.endswith("\nStaging listens on port 5433\n") and "–" not in one, "only what there is to say"
    two = here("learn", "Staging listens on port 5434", *port).out
    assert two.endswith("\nit takes the place of: Staging listens on port 5433\n")
    three = here("learn", "Staging listens to port 5435", "--subject", "staging").out.splitlines()[-1]
    id = two.splitlines()[0].removeprefix("id: ")
    assert three == f"{id} says nearly the same, or the opposite; nothing was changed there"


@pytest.mark.requirement("E3")
def test_merging_says_what_became_one(here: Any, terminal: Any, home: Path) -> None:
    said = terminal("--user", "ada", "upkeep", "consolidate").out
    assert "nothing to merge" in said and "fewer than 100 memories" in said, "a beginner wonders why"
    with AgentMemory("ada") as memory:
        memory.records.add_many([{"text": f"Room {number} has {number * 7} chairs"} for number in range(100)])
        for id in ("one", "two"):
            memory.records.add("The wiki listens on port 80", id=id)
        memory.upkeep.catch_up()
    dry, done = (here("--user", "ada", "upkeep", "consolidate", *more).out for more in (["--dry-run"], []))
    assert dry.startswith("would merge 2 memories into 1\n") and done.startswith("merged 2 memories into 1\n")
    assert "one, two\tThe wiki listens on port 80\n" in done

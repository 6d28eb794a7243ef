"""Recipes by name, from a file of the user's own: checked, listed, and not needed for a replay."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput
from agent_memory.models.recipe import DEFAULT, RECIPES, Recipe

FRESH = """
[recipes.judged]
extends = "fresh"
rerank = 5

[recipes.fresh]
recency = 5.0
near_words = [0.5]
"""


@pytest.fixture
def file(home: Path) -> Path:
    home.mkdir(exist_ok=True)
    path = home / "recipes.toml"
    path.write_text(FRESH)
    return path


def test_a_recipe_of_the_file_is_used_by_its_name(memory: AgentMemory, file: Path) -> None:
    memory.records.add("checkout is slow")
    found = memory.recall("checkout", recipe="fresh")
    assert found[0].why.channels["recency"] == pytest.approx(5.0, abs=0.01)
    receipt = memory.receipts.get(found.receipt_id)
    assert receipt["recipe_hash"] == Recipe(name="fresh", recency=5.0, near_words=(0.5,)).hash
    assert memory.recall("checkout", recipe="judged").reranked is not None, "what it extends may stand below it"
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "--user", "ada", "recall", "checkout"]
    ran = subprocess.run([*command, "--recipe", "fresh", "--json"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["hits"][0]["why"]["channels"]["recency"] > 4


def test_they_are_listed_with_hash_and_what_differs(memory: AgentMemory, file: Path) -> None:
    listed = {one.name: one for one in memory.retriever.recipes()}
    assert list(listed) == [*RECIPES, "fresh", "judged"]
    assert listed["default"].differs == {} and listed["default"].hash == DEFAULT.hash
    assert listed["judged"].differs == {"recency": 5.0, "near_words": [0.5], "rerank": 5}
    assert not listed["fresh"].built_in and listed["bundle"].built_in
    before = listed["fresh"].hash
    file.write_text(FRESH.replace("5.0", "4.0"))
    assert {one.name: one for one in memory.retriever.recipes()}["fresh"].hash != before


@pytest.mark.requirement("P9")
def test_a_replay_does_not_depend_on_the_file(memory: AgentMemory, file: Path) -> None:
    memory.records.add("checkout is slow")
    memory.records.add("checkout is fast")
    first = memory.recall("checkout", recipe="fresh")
    file.write_text("[recipes.fresh]\nrecency = 0.0\nwords = 9.0\n")
    assert memory.receipts.replay(first.receipt_id).identical
    assert memory.recall("checkout", recipe="fresh")[0].score != first[0].score, "a new recall sees the change"
    file.unlink()
    assert memory.receipts.replay(first.receipt_id).identical


BROKEN = {
    "no TOML": ("[recipes.fresh]\nrecency = \n", "fresh", "line 2"),
    "a field that is none": ("[recipes.fresh]\nfreshness = 1", "fresh", "[recipes.fresh] freshness"),
    "a value that is none": ("[recipes.fresh]\nrecency = -1", "fresh", "[recipes.fresh] recency"),
    "a built-in name": ("[recipes.decay]\nrecency = 1", "fresh", "[recipes.decay]: is built in"),
    "a name twice": ("[recipes.fresh]\nname = 'x'", "fresh", "[recipes.fresh] name"),
    "nobody to extend": ("[recipes.fresh]\nextends = 'stale'", "fresh", "[recipes.fresh] extends: there is no 'stale'"),
    "itself": ("[recipes.a]\nextends='b'\n[recipes.b]\nextends='a'", "fresh", "extends itself"),
    "no name": ("[recipes.fresh]\nextends = 3", "fresh", "[recipes.fresh] extends"),
    "another section": ("[recipe.fresh]\nrecency = 1", "fresh", "recipe: is not a section"),
    "no section": ("recipes = 3", "fresh", "recipes: holds something other"),
    "a section that is none": ("[recipes]\nfresh = 3", "fresh", "recipes: holds something other"),
    "not there": (FRESH, "stale", "there is no 'stale'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_an_error_that_says_where(memory: AgentMemory, file: Path, name: str) -> None:
    text, recipe, says = BROKEN[name]
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        memory.recall("checkout", recipe=recipe)
    assert says in str(caught.value) and caught.value.field == "recipe"
    assert recipe == "stale" or "recipes.toml" in str(caught.value)
    assert memory.recall("checkout").hits == [], "who does not name it is not troubled"


def test_the_file_can_be_elsewhere(memory: AgentMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.close()
    monkeypatch.setenv("AGENT_MEMORY_RECIPES", str(tmp_path / "mine.toml"))
    with AgentMemory(user_id="ada") as other:
        with pytest.raises(InvalidInput, match="mine"):
            other.recall("x", recipe="fresh")
        (tmp_path / "mine.toml").write_text(FRESH)
        assert other.recall("x", recipe="fresh").hits == []
        (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
        with pytest.raises(InvalidInput, match="mine"):
            other.retriever.recipes()


def test_without_a_file_only_what_is_built_in(memory: AgentMemory) -> None:
    assert [one.name for one in memory.retriever.recipes()] == list(RECIPES)
    with pytest.raises(InvalidInput, match="one of default, best, decay, meaning"):
        memory.recall("x", recipe="fresh")

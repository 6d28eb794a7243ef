"""The table of operations loads a namespace when one of its operations is asked for, and all of them for who looks at
all; `AgentMemory` loads none."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from agent_memory import AgentMemory
from agent_memory.app.operations import NAMESPACES, TABLE, home, namespace
from agent_memory.models.recipe import RECIPES, Recipe

LOADED = """
import json, sys
from agent_memory import AgentMemory
from agent_memory.app.operations import NAMESPACES, TABLE
loaded = lambda: [name for name in NAMESPACES if f"agent_memory.app.namespaces.{name}" in sys.modules]
told = [loaded(), TABLE["working.get"].name, loaded(), len(TABLE), loaded(), list(TABLE)]
json.dump(told, sys.stdout)
"""


def test_a_namespace_is_loaded_by_the_first_who_asks_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    first, name, second, count, third, names = json.loads(done.stdout)
    assert first == [] and name == "working.get" and second == ["working"]
    assert count == len(names) and third == [*NAMESPACES]
    assert names == sorted(names, key=lambda name: [*NAMESPACES].index(home(name))), "in one order, whoever came first"


def test_an_import_leaves_out_what_a_first_call_may_not_need() -> None:
    script = "import sys; from agent_memory import AgentMemory; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    parts = ("agent_memory.core.recall.", "agent_memory.core.context.assemble", "agent_memory.core.rules")
    assert [name for name in loaded if name.startswith((*parts, "importlib.metadata", "sqlite3", "numpy"))] == []


def test_what_is_not_there_is_told() -> None:
    for name in ("records.nothing", "nowhere.get", "nothing"):
        with pytest.raises(KeyError):
            TABLE[name]
        assert TABLE.get(name) is None and name not in TABLE


def test_every_namespace_is_a_part_of_a_client() -> None:
    assert {name for name in NAMESPACES if hasattr(AgentMemory, name)} == {*NAMESPACES}
    assert all(namespace(name).__name__.lower() == name for name in NAMESPACES)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_the_recipes_that_come_along_are_valid(recipe: Recipe) -> None:
    assert Recipe(**recipe.model_dump(exclude_unset=True)) == recipe == Recipe(**recipe.model_dump())

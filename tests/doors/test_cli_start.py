"""What a command costs before it does anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import agent_memory
from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE
from agent_memory.interfaces.cli.present import LISTS, OPERATIONS, PRESENTERS, presenter
from agent_memory.models.model import Model

LIGHT = """
import sys
from agent_memory.interfaces.cli import main
assert main({words}) == 0
heavy = {heavy} & set(sys.modules)
assert not heavy, heavy
"""

OTHERS = {f"agent_memory.app.namespaces.{name}" for name in ("contexts", "graph", "keys", "procedural", "vectors")}
UNUSED = {*OTHERS, "agent_memory.core.recall.gather", "agent_memory.core.recall.entities", "agent_memory.models.rules"}
UNUSED |= {"agent_memory.app.namespaces.upkeep", "agent_memory.app.remote", "agent_memory.models.budget"}


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--version"], {"rich", "pydantic", "numpy", "onnxruntime", "sqlite3", "asyncio"}),
        (["--help"], {"rich", "numpy", "onnxruntime", "sqlite3", "asyncio"}),
        (["list"], {"rich", "numpy", "onnxruntime", "asyncio", "markdown_it", "subprocess", "difflib", *UNUSED}),
        (["recall", "where no page is"], {"rich", "asyncio", "markdown_it", "agent_memory.core.rules.page", *OTHERS}),
        (["rules", "check", "--", "true"], {"rich", "numpy", "sqlite3", "asyncio", "markdown_it", "yaml"}),
    ],
)
def test_a_command_loads_only_what_it_needs(words: list[str], heavy: set[str], tmp_path: Path) -> None:
    AgentMemory("default").close()
    code = LIGHT.format(words=words, heavy=heavy)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_importing_the_client_loads_nothing_that_opens_a_store() -> None:
    heavy = {f"agent_memory.{name}" for name in ("app.wiring", "app.config", "core.write.commit", "ports.store")}
    code = f"import sys; from agent_memory import AgentMemory; assert not (found := {heavy} & set(sys.modules)), found"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("table", [OPERATIONS, PRESENTERS, LISTS], ids=["operations", "types", "lists"])
def test_whatever_is_shown_in_a_way_of_its_own_is_there(table: Mapping[str, str]) -> None:
    """Who shows it is named, and loaded with the first of its sort."""
    known = {*TABLE} if table is OPERATIONS else {one.__name__ for one in _models(Model)}
    assert table.keys() <= known
    assert all(callable(presenter(table, name)) for name in table)


def _models(parent: type) -> set[type]:
    """All models of all operations."""
    assert len(TABLE) > 100
    return {parent}.union(*map(_models, parent.__subclasses__()))


def test_version_and_completion(process: Any) -> None:
    assert process("--version").out == f"agent-memory {agent_memory.__version__}\n"
    words = {"COMP_WORDS": "agent-memory rec", "COMP_CWORD": "1", "_AGENT_MEMORY_COMPLETE": "bash_complete"}
    found = {f"plain,{name}" for name in ("recall", "records", "receipt", "receipts", "recipes")}
    assert set(process(**words).out.split()) == found

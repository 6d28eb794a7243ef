"""What a command costs before it does anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent_memory
from agent_memory import AgentMemory

LIGHT = """
import sys
from agent_memory.interfaces.cli import main
assert main({words}) == 0
heavy = {heavy} & set(sys.modules)
assert not heavy, heavy
"""

OTHERS = {f"agent_memory.app.namespaces.{name}" for name in ("contexts", "graph", "keys", "procedural", "vectors")}
UNUSED = {*OTHERS, "agent_memory.core.recall.gather", "agent_memory.core.recall.entities"}


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


def test_version_and_completion(process: Any) -> None:
    assert process("--version").out == f"agent-memory {agent_memory.__version__}\n"
    words = {"COMP_WORDS": "agent-memory rec", "COMP_CWORD": "1", "_AGENT_MEMORY_COMPLETE": "bash_complete"}
    found = {f"plain,{name}" for name in ("recall", "records", "receipt", "receipts", "recipes")}
    assert set(process(**words).out.split()) == found

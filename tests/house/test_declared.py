"""What the code imports stands in pyproject.toml: in the base install, or in every extra that the importing file needs.

What comes along with something else may leave with its next release.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "agent_memory"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

NEEDS = {
    "app/remote.py": ["client"],
    "app/wire.py": ["client"],
    "engines/opentelemetry": ["telemetry"],
    "engines/postgres": ["postgres"],
    "engines/pypdf": ["knowledge"],
    "interfaces/grpc": ["grpc"],
    "interfaces/mcp": ["mcp"],
    "interfaces/rest": ["server"],
    "interfaces/serving.py": ["server"],
    "interfaces/threads.py": ["server", "mcp"],
    "ports/remote.py": ["openai", "ollama", "reranker"],
    "testing": ["testing"],
}
"""Files and folders that only work with an extra."""

SHARED = {  # several distributions put their modules there
    "google.protobuf": "protobuf",
    "opentelemetry.exporter": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.proto": "opentelemetry-proto",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry": "opentelemetry-api",
}
INSTALLED = packages_distributions()


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[<>=!~\[; ]", one)[0]) for one in requirements}


BASE = names(PROJECT["dependencies"])
EXTRAS = {name: names(listed) for name, listed in PROJECT["optional-dependencies"].items()}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def distribution(module: str) -> str:
    for prefix, found in SHARED.items():
        if f"{module}.".startswith(f"{prefix}."):
            return found
    return normal(INSTALLED[module.partition(".")[0]][0])


def foreign(path: Path) -> set[str]:
    tops = {module: module.partition(".")[0] for module in imported(path)}
    return {
        distribution(module)
        for module, top in tops.items()
        if top not in sys.stdlib_module_names and top not in ("agent_memory", "__future__")
    }


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_import_is_declared(path: Path) -> None:
    within = path.relative_to(PACKAGE).as_posix()
    needed = next((extras for prefix, extras in NEEDS.items() if within.startswith(prefix)), [])
    declared = BASE | (set.intersection(*(EXTRAS[one] for one in needed)) if needed else set())
    assert foreign(path) <= declared


def test_nothing_is_declared_that_nobody_uses() -> None:
    used = {one for path in PACKAGE.rglob("*.py") for one in foreign(path)}
    by_name = {"backports-zstd", "lz4", "onnxruntime"}  # imported by a name in a text
    assert (BASE | set.union(*EXTRAS.values())) - used == by_name

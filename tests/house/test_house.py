"""The few house rules that a machine can hold: sizes, names, one way of imports, lazy imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

import agent_memory.app.memory  # noqa: F401 - fills the table
from agent_memory.app.operations import TABLE, Permission

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION, MOST_METHODS, MOST_PARAMETERS = 400, 60, 15, 6

# The names and arguments of these are fixed by what callers rely on.
MANY_PARAMETERS = {
    "AgentMemory.__init__",
    "AgentMemory.learn_fact",
    "AgentMemory.record_tool_usage",
    "AgentMemory.remember",
    "Procedural.record_invocation",
    "Retriever.remember",
    "Records.amend",
    "Semantic.learn_fact",
    "operation",  # a declaration: each word is a column of the table
}
MANY_METHODS = {
    "AgentMemory",  # thirteen names that callers rely on, and recall
    "SqliteIndex",  # those of its port, and what a fork leaves to do
    "Index",  # one question for each thing that is asked of vectors and words
    *("MemoryIndex", "PostgresIndex", "ToyIndex"),  # the same
    "RecordStore",  # one way in, and one question for each thing that is asked of records
    *("MemoryRecords", "PostgresRecords", "SqliteRecords", "ToyRecords"),  # the same
}
BANNED = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc", "v2"}


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            name = f"{prefix}.{child.name}".lstrip(".") if hasattr(child, "name") else prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, child
            yield from walk(child, name)

    yield from walk(ast.parse(path.read_text("utf-8")), "")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_files_functions_and_classes_stay_small(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_FILE
    for name, function in functions(path):
        assert (function.end_lineno or 0) - function.lineno < LONGEST_FUNCTION, f"{name} is long"
        given = [one.arg for one in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]]
        count = len([one for one in given if one not in ("self", "cls")])
        assert count <= MOST_PARAMETERS or name in MANY_PARAMETERS, f"{name} has {count} parameters"
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            public = [one.name for one in methods if not one.name.startswith(("_", "test_"))]
            assert len(public) <= MOST_METHODS or node.name in MANY_METHODS, f"{node.name} has {len(public)} methods"


def test_the_exceptions_are_needed() -> None:
    names = {name for path in SOURCES for name, _ in functions(path)}
    assert names >= MANY_PARAMETERS


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_file_is_named_after_what_it_is_about(path: Path) -> None:
    assert not set(path.stem.split("_")) & BANNED
    assert not set(path.relative_to(ROOT).parts) & BANNED


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_says_why_it_exists(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_a_public_class_has_a_name_of_its_own() -> None:
    """So that a name means one thing wherever it is read. A namespace is called what its client calls it."""
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path.relative_to(ROOT / "src").as_posix())
    several = {name: found for name, found in homes.items() if len(found) > 1}
    assert set(several) == {"Embedder"}, several


def test_records_are_changed_in_one_place() -> None:
    """Engines and the suites that prove them apart, only `core/write` hands changes to a store."""
    ours = [path for path in SOURCES if not {"engines", "testing"} & set(path.parts)]
    calls = {
        f"{path.name}: {name}"
        for path in ours
        for name, function in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "apply"
    }
    assert calls == {"commit.py: write"}


def test_no_operation_calls_another() -> None:
    """What they share is a function. One that runs `here` may `ask` the store, which may be a server's."""
    folder = ROOT / "src" / "agent_memory" / "app"
    classes = {
        node.name: node
        for path in sorted((folder / "namespaces").glob("*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    declared = {one.function.__qualname__: one for one in TABLE.values()}
    names = {name.partition(".")[2] for name in declared}
    owners = {name.partition(".")[0] for name in declared}
    for path in sorted(folder.rglob("*.py")):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        made = {called.id for called in calls if isinstance(called, ast.Name)} & owners
        assert not made or path.name == "memory.py", f"{path.name} makes {made}"
    for owner in owners:
        methods = {one.name: one for one in classes[owner].body if isinstance(one, ast.FunctionDef)}
        used = {name: attributes(one) for name, one in methods.items()}
        asks = {name for name, there in used.items() if any(one.attr == "ask" for one in there)}
        for name, there in used.items():
            others = {one.attr for one in there if isinstance(one.value, ast.Name) and one.value.id == "self"}
            operation = declared.get(f"{owner}.{name}")
            if operation is not None or name.startswith("_"):  # others are further names of operations
                assert not others & names & methods.keys(), f"{owner}.{name} calls {others & names}"
            if operation is not None and {name, *others} & asks:
                assert operation.here, f"{owner}.{name} asks the store, and does not run here"
                said = {
                    node.value for one in {name, *others} & asks for node in ast.walk(methods[one]) if _is_text(node)
                }
                wrote = {one for one in said & TABLE.keys() if TABLE[one].permission is not Permission.READ}
                assert not wrote or operation.permission is not Permission.READ, f"{owner}.{name} reads, asks {wrote}"


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def attributes(function: ast.FunctionDef) -> list[ast.Attribute]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Attribute)]


def test_the_async_stub_is_what_the_generator_writes() -> None:
    ran = subprocess.run([sys.executable, "scripts/stubs.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr or "run `make docs`"


LAZY = """
import sys, threading
import agent_memory
from agent_memory import AgentMemory
heavy = {"numpy", "onnxruntime", "Stemmer", "rich", "click", "httpx", "asyncio", "markdown_it", "yaml", "re2"}
heavy &= set(sys.modules)
heavy |= {name for name in sys.modules if name.startswith(("agent_memory.core.rules.", "agent_memory.engines."))}
# small: how a rule, and what is quoted, is written in a context
heavy -= {"agent_memory.core.rules.prompt", "agent_memory.core.rules.quoting"}
assert not heavy, heavy
assert threading.active_count() == 1
"""


def test_importing_loads_nothing_heavy_and_starts_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr

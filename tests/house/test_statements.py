"""SQL statements have names and live in `.sql` files, and what they give has names, too."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_memory.engines.postgres.wire import MOST_PREPARED

ENGINES = [Path(__file__).parents[2] / "src/agent_memory/engines" / name for name in ("sqlite", "postgres")]
MODULES = sorted(path for engine in ENGINES for path in engine.glob("*.py"))
SPOKEN = re.compile(r"\bselect (?!.*\.$)|\b(insert|replace)( or \w+)? into\b|\bupdate \w+ set\b|\bdelete from\b", re.I)


def said(tree: ast.AST) -> Iterator[str]:
    """What stands in strings, docstrings apart."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def numbered(tree: ast.AST) -> Iterator[str]:
    """Columns that are asked for by their place."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id="row" | "old" | "line"), slice=ast.Constant(value=int())):
                yield ast.unparse(node)
            case ast.Subscript(value=ast.Call(func=ast.Attribute(attr="fetchone")), slice=ast.Constant()):
                yield ast.unparse(node)
            case ast.Subscript(value=ast.Subscript(value=ast.Name(id="rows")), slice=ast.Constant(value=int())):
                yield ast.unparse(node)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_statements_and_columns_have_names(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert not [text for text in said(tree) if SPOKEN.search(text)]
    assert not [*numbered(tree)]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda path: path.name)
def test_a_statement_has_one_name_and_is_used(engine: Path) -> None:
    statements = "".join(path.read_text("utf-8") for path in engine.glob("*.sql") if path.name != "loose.sql")
    code = "".join(path.read_text("utf-8") for path in engine.glob("*.py"))
    named = Counter(re.findall(r"^-- name: (.+)$", statements, re.M))
    used = {*re.findall(r"""["'](\w+)["']""", code), *re.findall(r"{{(\w+)}}", statements)}
    prefixes = tuple(re.findall(r'[\[(]f"(\w+_){', code))  # `SQL[f"where_{name}"]`
    assert not [name for name, times in named.items() if times > 1]
    assert not [name for name in named if name not in used and not name.startswith(prefixes)]


def test_a_connection_remembers_every_statement_of_postgresql() -> None:
    """Whoever forgets one tells the server so, which a pooler may not understand. Poolers are told the same number."""
    named = re.findall(r"^-- name: ", "".join(path.read_text("utf-8") for path in ENGINES[1].glob("*.sql")), re.M)
    assert len(named) <= MOST_PREPARED
    guide = (ENGINES[1].parents[3] / "docs/guides/postgresql.md").read_text("utf-8")
    assert f"`max_prepared_statements` of {MOST_PREPARED} or more" in guide

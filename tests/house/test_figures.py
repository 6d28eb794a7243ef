"""No test compares elapsed time or memory with a figure: that is a promise about somebody else's machine.

What may be compared is what was measured in the same run (`tests/patience.py` measures in turn), and a wait ends with a
state, not with a time. Figures belong in `benchmarks/`.

The check follows names: what is computed from a clock or a memory counter, also in the output of a program that reads
one, is measured; so is what a function returns that reads one. An ordering of something measured with a number is
refused, and so is a number that is added to one side of it. Numbers may multiply: that is a ratio.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
READERS = re.compile(
    r"\b(perf_counter|monotonic|process_time|thread_time)(_ns)?\b|\btime\.time(_ns)?\b|\bos\.times\b|\bgetrusage\b|"
    r"\bru_maxrss\b|\bVm(RSS|HWM|Size|Peak)\b|/statm\b|\bget_traced_memory\b|\bmemory_info\b|\b(spent|resident)\("
)
ORDERS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


def number(node: ast.AST, constants: set[str]) -> bool:
    """A number that was written down: a literal, a constant of the module, or computed from these alone."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.Name(id=name):
            return name in constants
        case ast.UnaryOp(operand=one):
            return number(one, constants)
        case ast.BinOp(left=left, right=right):
            return number(left, constants) and number(right, constants)
    return False


def measured(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len")):
            return False  # a count
        case ast.Name(id=name) if name in names:
            return True
        case ast.Constant(value=str(text)):
            return bool(READERS.search(text))
        case ast.Call(func=called) if READERS.search(ast.unparse(called) + "("):
            return True
        case ast.Attribute() if READERS.search(ast.unparse(node)):
            return True
    return any(measured(child, names) for child in ast.iter_child_nodes(node))


def absolute(side: ast.expr, names: set[str], constants: set[str]) -> bool:
    """A number, or something measured with a number added to it."""
    if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add | ast.Sub) and not number(side, constants):
        return absolute(side.left, names, constants) or absolute(side.right, names, constants)
    return number(side, constants)


def bound(scope: Scope, names: set[str]) -> set[str]:
    """The names in a scope that hold something measured, given those outside it."""
    names, before = set(names), -1
    while len(names) != before:
        before = len(names)
        for node in ast.walk(scope):
            match node:
                case ast.Assign(targets=targets, value=value) if measured(value, names):
                    found = [one for target in targets for one in ast.walk(target)]
                case ast.AnnAssign(target=target, value=ast.expr() as value) if measured(value, names):
                    found = list(ast.walk(target))
                case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                    found = list(ast.walk(target)) if measured(value, names) else []
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                    found = list(ast.walk(target)) if measured(value, names) else []
                case ast.FunctionDef(name=name) if any(
                    isinstance(one, ast.Return) and one.value and measured(one.value, names) for one in ast.walk(node)
                ):
                    names.add(name)
                    continue
                case _:
                    continue
            names |= {one.id for one in found if isinstance(one, ast.Name)}
    return names


def figures(source: str) -> list[int]:
    """The lines on which something measured is compared with a figure, also in programs that a text holds."""
    tree = ast.parse(source)
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and number(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    outside = bound(ast.Module([one for one in tree.body if not isinstance(one, Scope | ast.ClassDef)], []), set())
    outside |= {one.name for one in tree.body if isinstance(one, ast.FunctionDef) and one.name in bound(one, outside)}
    return sorted(
        {
            line
            for scope in [tree, *(one for one in ast.walk(tree) if isinstance(one, Scope))]
            for line in compared(scope, bound(scope, outside) if scope is not tree else outside, constants)
        }
        | {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and program(node.value)}
    )


def compared(scope: Scope, names: set[str], constants: set[str]) -> Iterator[int]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Compare) and any(isinstance(one, ORDERS) for one in node.ops):
            sides = [node.left, *node.comparators]
            if any(measured(one, names) for one in sides) and any(absolute(one, names, constants) for one in sides):
                yield node.lineno


def program(text: object) -> bool:
    """Whether a text is a program that compares so."""
    if not isinstance(text, str) or not READERS.search(text):
        return False
    try:
        return bool(figures(text))
    except SyntaxError:
        return False


REFUSED = {
    "elapsed": "begun = time.monotonic()\nwork()\nassert time.monotonic() - begun < 5",
    "bound to a name": "took = time.perf_counter() - begun\nassert ok and took <= 1.5",
    "from another side": "assert 10 > time.process_time() - begun",
    "computed": "assert resident() < 200 * 1024",
    "a constant": "MOST = 46\ndef test():\n    used = getrusage(RUSAGE_SELF).ru_maxrss\n    assert used < MOST",
    "added": "def test():\n    short, long = spent(one, two)\n    assert long < 12 * short + 0.2",
    "a bound that moves": "begun = time.time()\nassert time.time() < begun + 3",
    "a function": "def took():\n    return time.process_time() - begun\ndef test():\n    assert min(took(), 9) < 2",
    "no assertion": "def test():\n    if time.monotonic() - begun > 3:\n        pytest.fail('slow')",
    "at least": "def test():\n    begun = time.monotonic()\n    assert time.monotonic() - begun >= 0.3",
    "a program": "CODE = '''\nbegun = time.monotonic()\nassert time.monotonic() - begun < 5, \"slow\"\n'''",
    "what it prints": "CODE = 'print(VmRSS)'\ndef test():\n    ran = run(CODE)\n    assert int(ran.stdout) < 2 * 1024",
    "several": "CODE = 'VmRSS'\ndef test():\n    first, later = run(CODE).split()\n    assert float(first) < 46",
}
ALLOWED = {
    "a ratio": "def test():\n    short, long = spent(one, two)\n    assert long < 12 * short",
    "patience": "end = time.monotonic() + 60\nwhile not holds():\n    assert time.monotonic() < end",
    "a status": "CODE = 'print(VmRSS)'\nran = run(CODE)\nassert ran.returncode == 0",
    "a count": "begun = time.monotonic()\nfound = work(begun)\nassert len(found) < 5",
    "another scope": "def one():\n    took = time.monotonic()\ndef two():\n    took = count()\n    assert took < 5",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_a_figure_is_found(source: str) -> None:
    assert figures(source)


@pytest.mark.parametrize("source", ALLOWED.values(), ids=ALLOWED)
def test_what_is_measured_in_the_same_run_may_be_compared(source: str) -> None:
    assert not figures(source)


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_compares_time_or_memory_with_a_figure(path: Path) -> None:
    if path == Path(__file__):
        return
    assert figures(path.read_text("utf-8")) == [], "compare with what is measured in the same run: tests/patience.py"


def test_every_request_is_patient() -> None:
    """httpx gives up after five seconds unless it is told otherwise: a promise about somebody else's machine."""
    asks = {"get", "post", "put", "patch", "delete", "request", "stream", "Client", "AsyncClient"}
    hasty = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in asks
        if ast.unparse(node.func.value) == "httpx" and not {"timeout", None} & {one.arg for one in node.keywords}
    ]
    assert hasty == [], "say timeout=PATIENCE"

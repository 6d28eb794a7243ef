"""Random operations on an engine and on the reference: after each, both show everybody the same.

    TestAgreement = agreement(lambda folder: open_store(folder / "memory.db"))

The reference (`agent_memory.testing.memory`) looks at all rows at every read; what an engine does with indexes, caches
and shelves must not be noticed. Small worlds (few ids, keys, words and moments) make things meet. The examples are the
same every time; with `searching` there are more and longer ones, and new ones each time, for hours if need be.
This package needs pytest and hypothesis; the rest of `agent_memory.testing` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import TestCase

import pytest

# Before it is imported: so that a failing assertion in it shows its values.
pytest.register_assert_rewrite(f"{__name__}.machine")

from hypothesis import HealthCheck, settings  # noqa: E402

from agent_memory.ports.store import Store  # noqa: E402
from agent_memory.testing.agreement.machine import Agreement  # noqa: E402

__all__ = ["agreement"]


def agreement(open_store: Callable[[Path], Store], *, searching: bool = False) -> type[TestCase]:
    """A test case for an engine; `open_store` gets an empty folder for each example, and gives a new, empty store."""
    case: type[TestCase] = type("Agreement", (Agreement,), {"open_store": staticmethod(open_store)}).TestCase  # type: ignore[attr-defined]
    case.settings = settings(  # type: ignore[attr-defined]
        max_examples=120 if searching else 20,
        stateful_step_count=40 if searching else 25,
        deadline=None,
        derandomize=not searching,
        database=None,
        print_blob=searching,
        suppress_health_check=list(HealthCheck),
    )
    return case

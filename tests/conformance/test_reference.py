"""The reference engine keeps the promises of the ports, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_memory.ports.store import Store
from agent_memory.testing.conformance import StoreConformance
from agent_memory.testing.memory import open_store


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store()
    yield opened
    opened.close()


class TestReference(StoreConformance): ...


def test_no_test_of_the_suite_hides_another() -> None:
    names = [name for part in StoreConformance.__mro__ for name in vars(part) if name.startswith("test_")]
    assert sorted(names) == sorted(set(names))

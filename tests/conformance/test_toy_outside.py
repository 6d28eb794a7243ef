"""A working set and vectors of another package keep the promises of the ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plugins import toy_outside
from tests.plugins.outside import Outside

from agent_memory.ports.store import Store
from agent_memory.testing import conformance
from agent_memory.testing.memory import open_store


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    outside = Outside(tmp_path_factory.mktemp("toy"))
    outside.start()
    yield outside
    outside.kill()


@pytest.fixture
def store(server: Outside, tmp_path: Path) -> Iterator[Store]:
    documents = toy_outside.Documents(server.url)
    for name in documents.ask("names", ""):
        documents.ask("put", name, None)  # a new, empty one for every test
    engine = open_store()
    yield replace(engine, working=toy_outside.Working(server.url), vectors=toy_outside.Vectors(server.url))
    engine.close()


@pytest.mark.requirement("P20")
class TestWorking(conformance.WorkingConformance): ...


@pytest.mark.requirement("P20")
class TestVectors(conformance.VectorConformance): ...

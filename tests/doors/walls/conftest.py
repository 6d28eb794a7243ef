"""Somebody of every kind, and the house with all its doors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cast import Cast, gathered

from house import House


@pytest.fixture(scope="module")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Cast:
    return gathered(tmp_path_factory.mktemp("cast"))


@pytest.fixture(scope="module")
def house(cast: Cast, tmp_path_factory: pytest.TempPathFactory, one_server: Any) -> Iterator[House]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AGENT_MEMORY_HOME", str(tmp_path_factory.mktemp("nowhere")))
        patched.setenv("AGENT_MEMORY_RATE_LIMIT", "0")
        made = House(cast, tmp_path_factory.mktemp("copies"), one_server)
    yield made
    made.close()

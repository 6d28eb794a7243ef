"""Whatever number the library takes, the store proves it: what is sealed is what is stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput
from agent_memory.models.record import Link

ROOT = Path(__file__).parents[2]

units = st.one_of(
    st.sampled_from([0, 1, 0.0, -0.0, 1.0, 5e-324, 2.2250738585072014e-308, 0.1 + 0.2, 1 - 2**-53]),
    st.floats(0, 1),
)
anything = st.one_of(
    units,
    st.floats(),  # NaN and infinities are refused, and leave nothing behind
    st.sampled_from([1e400, -1e400, 2**63, -(2**63) - 1, 2**70, 10**400, 1e16, 1e22, -0.0, 2**53 + 1]),
    st.integers(),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentMemory]:
    path = tmp_path_factory.mktemp("numbers") / "memory.db"
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        yield memory


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=units, second=units, third=units, value=anything)
def test_any_number_that_is_taken_is_proved(
    store: AgentMemory, first: Any, second: Any, third: Any, value: Any
) -> None:
    one = store.records.add("a number", id="one", importance=first, confidence=second)
    store.records.add("another", id="other", importance=second, confidence=third)
    store.records.amend("other", importance=third, confidence=first)
    store.records.link(Link(source_id="one", target_id="other", type="about", weight=third))
    with suppress(InvalidInput):
        store.records.add("in a payload", id="paid", payload={"value": value, "deep": [{"value": value}]})
    with suppress(InvalidInput):
        store.records.link(Link(source_id="other", target_id="one", type="about", properties={"value": value}))
    with suppress(InvalidInput):
        store.records.add("indexed", kind="task", id="task", payload={"priority": value})
    for _ in range(2):
        proof = store.upkeep.verify()
        assert proof.ok, proof.problems
        store.upkeep.rebuild()
    shown = store.records.get(one.id)
    assert not json.dumps([shown.importance, shown.confidence]).count("-0.0")
    assert (shown.importance, shown.confidence) == (first, second)


def test_a_line_that_sealed_minus_zero_is_taken_for_zero(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as old:
        old.executescript((ROOT / "tests/data/minus-zero-0.1.0.sql").read_text("utf-8"))
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        assert proof.checked["versions"] == 4 and proof.checked["links"] == 1
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update versions set importance = 1e-9 where id = 'a'")
        connection.execute("update links set weight = 1e-9")
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        assert len(memory.upkeep.verify().problems) == 2


def test_one_record_that_is_not_what_was_written_hides_nothing_else(home: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("the first", id="first")
        memory.records.add("the second", id="second")
    with sqlite3.connect(home / "memory.db") as connection:
        connection.execute("update versions set importance = 0.25 where id = 'first'")
        connection.execute(
            "update words set length = 99 where content = (select content from versions where id = 'second')"
        )
    connection.close()
    with AgentMemory(user_id="ada") as memory:
        proof = memory.upkeep.verify()
    assert any("is not what was written" in one for one in proof.problems)
    assert any("words that do not follow" in one for one in proof.problems), proof.problems
    assert proof.checked["derived"] == 1

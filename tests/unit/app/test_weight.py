"""How many values a JSON text has is known before it is parsed: none is overlooked, and commas in texts are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.app import weight
from agent_memory.app.weight import MOST_VALUES, too_heavy, weigh

tricky = st.text(st.sampled_from(',:[]{}"\\ a\u00fc'), max_size=12)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | tricky,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(tricky, inner, max_size=5),
    max_leaves=40,
)


def values(document: Any) -> int:
    if isinstance(document, dict):
        return 1 + sum(map(values, document.values()))
    return 1 + sum(map(values, document)) if isinstance(document, list) else 1


@given(document=documents, ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_no_value_is_overlooked(document: Any, ascii: bool, indent: int | None) -> None:
    text = json.dumps(document, ensure_ascii=ascii, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(weight, "MOST_VALUES", 0)  # every text is weighed; keys count where there are very many strings
        assert weigh(text) >= 1
        patched.setattr(weight, "MOST_VALUES", len(text) - 1)
        assert values(document) <= weigh(text) <= 2 * values(document)


@pytest.mark.parametrize(
    "many",
    [
        lambda n: json.dumps({str(one): 1 for one in range(n)}),
        lambda n: json.dumps({f"{one}\\": one for one in range(n)}),
        lambda n: json.dumps([1] * n),
        lambda n: json.dumps([""] * n),
        lambda n: "[" + "[]," * n + "{}]",
        lambda n: "[" * n,
        lambda n: '{"a":' * n,
        lambda n: json.dumps({"text": "x", "payload": [{"a": 1}] * (n // 2)}),
    ],
)
def test_what_has_too_many_is_too_heavy(many: Any) -> None:
    heavy = too_heavy(many(MOST_VALUES + 10).encode())
    assert heavy is not None and str(MOST_VALUES) in heavy.message and heavy.hint


def test_long_texts_are_not_heavy() -> None:
    """Tables, code and JSON in a text are as long as they like."""
    rows = "1,2,3,[4],{5}\n" * MOST_VALUES
    quoted = json.dumps({"rows": [{"a": 1}] * MOST_VALUES})
    batch = {"records": [{"text": rows}, {"text": quoted, "payload": {"path": "C:\\"}}, {"text": '"' * MOST_VALUES}]}
    text = json.dumps(batch).encode()
    assert weigh(text) == values(batch) and too_heavy(text) is None


def test_a_large_batch_is_not_heavy() -> None:
    one = {"text": "the staging database listens on port 5433", "kind": "observation", "importance": 0.5}
    assert too_heavy(json.dumps({"records": [one] * 40_000}).encode()) is None

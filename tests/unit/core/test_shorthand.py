"""What is kept of a receipt says less, and means the same."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.shorthand import KINDS, ORDER, USUAL, dumped, read, shortened

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
FIGURES = st.floats(0, 9, allow_nan=False)
HITS = st.lists(
    st.fixed_dictionaries(
        {
            "id": NAMES,
            "version": st.integers(1, 3),
            "score": FIGURES,
            "why": st.dictionaries(st.sampled_from(["words", "vectors", "key"]), FIGURES),
        }
    ),
    max_size=4,
)
SOME_KINDS = st.lists(st.sampled_from(["of_a_plugin", *KINDS]), unique=True)
WHERE = st.fixed_dictionaries({}, optional={"kinds": SOME_KINDS, "conversation_id": NAMES})
USUALLY = {name: st.just(value) | st.just(["else"]) for name, value in USUAL.items()}
BODIES = st.fixed_dictionaries(
    {
        **dict.fromkeys(ORDER, st.integers(0, 2)),
        **USUALLY,
        "query": st.none() | NAMES,
        "where": WHERE,
        "hits": HITS,
    },
    optional={"groups": st.lists(st.fixed_dictionaries({"where": WHERE, "past": st.just([])})), "trace_id": NAMES},
)


@given(BODIES)
def test_a_receipt_is_read_as_it_was_said(body: dict[str, Any]) -> None:
    again = read(dumped(body))
    assert _in_sets(again) == _in_sets(body)
    assert [name for name in again if name in ORDER] == list(ORDER)


def _in_sets(body: dict[str, Any]) -> dict[str, Any]:
    """Which kinds were looked for is a set."""
    wheres = [body["where"], *(one["where"] for one in body.get("groups", []))]
    kinds = [set(where["kinds"]) if "kinds" in where else None for where in wheres]
    plain = json.loads(json.dumps(body))
    for where in (plain["where"], *(one["where"] for one in plain.get("groups", []))):
        where.pop("kinds", None)
    return {**plain, "kinds looked for": kinds}


def test_what_is_as_usual_is_left_out() -> None:
    hit = {"id": "a", "version": 1, "score": 0.5, "why": {"words": 0.5}}
    body = {
        **dict.fromkeys(ORDER, 7),
        **USUAL,
        "query": "ports?",
        "where": {"kinds": [*KINDS[1:], "of_a_plugin"]},
        "hits": [hit, {**hit, "id": "b"}],
    }
    short = shortened(body)
    assert not short.keys() & {*USUAL, "head", "candidates"}
    assert short["where"] == {"kinds": f"+of_a_plugin -{KINDS[0]}"}
    assert short["hits"] == {"ids": ["a", "b"], "scores": [0.5, 0.5], "why": {"words": [0.5, 0.5]}}


def test_a_receipt_of_before_stays_as_it_is() -> None:
    old = {"query": "ports?", "where": {}, "seq": 3, "hits": [{"id": "a", "version": 1, "score": 0.5, "why": {}}]}
    assert read(json.dumps(old)) == old

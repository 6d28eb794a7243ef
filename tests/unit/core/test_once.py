"""The fingerprint of an idempotent request is of what the caller said, spelled in one way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agent_memory.core.write.commit import once
from agent_memory.models.draft import Draft
from agent_memory.models.record import Link


def fingerprint(*drafts: Draft) -> bytes:
    made = once("key", drafts)
    assert made is not None
    return made.fingerprint


def test_the_same_is_the_same_however_it_is_spelled() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    link = {"source_id": "*self*", "target_id": "b", "type": "uses"}
    one = Draft("note", "x", {"a": 1, "b": [2]}, valid_from=noon, links=(Link(**link),))
    two = Draft(
        "note",
        "x",
        {"b": [2], "a": 1},
        valid_from=noon.astimezone(timezone(timedelta(hours=2))),
        importance=0.5,
        links=(Link(**link, weight=1.0),),
    )
    assert fingerprint(one) == fingerprint(two)


def test_a_draft_may_learn_new_fields() -> None:
    @dataclass(frozen=True)
    class Newer(Draft):
        mood: str = "calm"

    assert fingerprint(Newer("note", "x", id="a")) == fingerprint(Draft("note", "x", id="a"))
    assert fingerprint(Newer("note", "x", id="a", mood="grim")) != fingerprint(Draft("note", "x", id="a"))


@pytest.mark.parametrize(
    "other",
    [
        {"text": "y"},
        {"kind": "fact"},
        {"payload": {"a": "1"}},
        {"id": "a"},
        {"importance": 0.6},
        {"valid_from": datetime(2026, 3, 1, tzinfo=UTC)},
        {"embedding": (1.0,)},
    ],
)
def test_another_request_is_another(other: dict[str, Any]) -> None:
    said: dict[str, Any] = {"kind": "note", "text": "x", "payload": {"a": 1}}
    assert fingerprint(Draft(**said)) != fingerprint(Draft(**{**said, **other}))
    assert fingerprint(Draft(**said)) != fingerprint(Draft(**said), Draft(**said))

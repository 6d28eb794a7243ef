"""Making everything derived again, step by step: when a run begins anew, and what it makes of a row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from agent_memory.ledger.codecs import plain
from agent_memory.models.errors import Conflict
from agent_memory.ports.changes import Derived, Vocabulary
from agent_memory.ports.records import Analysis


def begins(stored: Sequence[Vocabulary], vocabulary: Vocabulary) -> bool:
    """`stored`: the vocabulary that is written, then those of which rows are left. Not where a run in these words was
    begun and did not come to its end: that one goes on."""
    return stored[:1] != (vocabulary,) or len(stored) == 1


def goes_on(stored: Vocabulary | None, vocabulary: Vocabulary) -> None:
    """Asked in every step, under the write lock: another may have begun between two of them."""
    if stored != vocabulary:
        raise Conflict(
            f"another rebuild has begun, in the words of {stored.fingerprint if stored else None!r}",
            hint="let that one finish; use one version of agent-memory",
        )


def derived(analysis: Analysis, kind: Any, text: Any, codec: Any, payload: Any) -> Derived:
    """Nothing, of what cannot be read: `verify` names it."""
    with suppress(TypeError, ValueError, AttributeError):
        return analysis.derive(kind, plain(text, codec), payload)
    return Derived()


def asked(analysis: Analysis, body: Any, terms: bytes) -> bytes:
    """The words of a receipt's question; as they were, where it does not tell it."""
    with suppress(TypeError, ValueError, AttributeError):
        query = json.loads(body).get("query")
        return terms if query is None else analysis.asked(query)
    return terms

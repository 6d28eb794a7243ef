"""Records by one of their embeddings: the nearest vectors of a namespace whose records this reader may see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent_memory.core.recall.receipt import PIPELINE
from agent_memory.core.write.mirror import MirrorAnswer
from agent_memory.core.write.words import asked_terms
from agent_memory.models.embedding import VectorRecalled
from agent_memory.models.record import Record
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.spans import trace_id
from agent_memory.ports.vectors import Match

MORE = 4  # times as many are asked for, where some are of nothing that may be seen
MOST = 50  # times as many as are wanted; who has more that are hidden gets fewer


def near(
    find: Callable[[int], MirrorAnswer], read: Callable[[Sequence[str]], Sequence[Record]], k: int
) -> tuple[list[tuple[Record, Match]], MirrorAnswer]:
    """The nearest `k` that can be read, though nearer ones cannot: archived ones, say, or ids of no record. Fewer where
    there are not `k` among the nearest `MOST * k`: a namespace is not read whole for one question."""
    wanted = k
    while True:
        found = find(wanted)
        known = {record.id: record for record in read([match.id for match in found.matches])}
        seen = [(known[match.id], match) for match in found.matches if match.id in known]
        if len(seen) >= k or len(found.matches) < wanted or wanted == MOST * k:
            return seen[:k], found
        wanted = min(MORE * wanted, MOST * k)


def receipt(found: VectorRecalled, view: View, seq: int, asked: Mapping[str, Any]) -> ReceiptLine:
    """What a recall in a namespace leaves: what was asked, and what was shown."""
    assert found.receipt_id is not None
    body: dict[str, Any] = {
        "pipeline": PIPELINE,
        "query": found.query,
        **asked,
        "namespace": found.namespace,
        "model": found.model,
        "source": found.source,
        "recipe": {"name": "namespace"},
        "now": view.now,
        "seq": seq,
        "tokens": None,
        "hits": [
            {"id": hit.id, "version": hit.record.version, "score": round(hit.score, 6), "why": {}} for hit in found.hits
        ],
    }
    if trace := trace_id():
        body["trace_id"] = trace
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    shown = tuple(hit.record.seq for hit in found.hits)
    return ReceiptLine(found.receipt_id, view, seq, text, shown, asked_terms(found.query))

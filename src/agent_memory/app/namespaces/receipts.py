"""`memory.receipts`: what a recall left behind, and asking it again. P9."""

from __future__ import annotations

import json
from typing import Any

from agent_memory.app.operations import Namespace, operation
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import PIPELINE, differences, question_of
from agent_memory.models.answer import Replay
from agent_memory.models.errors import NotFound
from agent_memory.models.moment import from_micros

MOST_LINES = 100_000


class Receipts(Namespace):
    """Every recall leaves a receipt for 90 days; forgetting takes those that told of what is gone."""

    @operation("receipts.get", "GET /receipts/{receipt_id}", command="receipt")
    def get(self, receipt_id: str) -> dict[str, Any]:
        """What was asked, of which moment, with which recipe, what was shown and why, and what it cost."""
        body = self._body(receipt_id)
        return {**body, "now": from_micros(body["now"]).isoformat()}

    @operation("receipts.replay", "POST /receipts/{receipt_id}/replay", command="replay")
    def replay(self, receipt_id: str, now: bool = False) -> Replay:
        """Ask a recall again as of its own moment, and prove that the answer is the same.

        With `now` it is asked of today's state, and the differences show what changed since. `same_space` is false when
        the embedding model was changed since: then the vectors of today are used.
        """
        client = self._client
        body = {"space": None, "head": 0, **self._body(receipt_id)}  # the first receipts did not tell these
        same_space = self._same_space(body)
        question = question_of(body, client.scope, client.now() if now else None, same_space)
        recalled = recall(client.runtime.recalling, question)
        found = differences(body, recalled)
        lines = client.runtime.store.records.journal(client.view(), after=body["seq"], limit=MOST_LINES)
        return Replay(
            receipt_id=receipt_id,
            identical=not found,
            differences=found,
            recalled=recalled,
            forgotten=sum(line.operation == "erase" for line in lines),
            pending=body["pending"],
            space=body["space"],
            same_space=same_space and (now or recalled.space == body["space"]),  # an embedder may be out of reach
            pipeline=body["pipeline"],
            same_pipeline=body["pipeline"] == PIPELINE,
        )

    def _same_space(self, body: dict[str, Any]) -> bool:
        """Whether the vectors that answered then are still there; where none did, nothing is missing."""
        if body["space"] is None:
            return True
        runtime = self._client.runtime
        same: bool = body["space"] == runtime.embedding.space.fingerprint
        return same and not runtime.store.index.adopted(body["head"])

    def _body(self, receipt_id: str) -> dict[str, Any]:
        self._client.runtime.receipts.flush()
        text = self._client.runtime.store.receipts.receipt(self._client.view(), receipt_id)
        if text is None:
            raise NotFound(f"no receipt {receipt_id!r}", hint="they are kept for 90 days", field="receipt_id")
        body: dict[str, Any] = json.loads(text)
        return body

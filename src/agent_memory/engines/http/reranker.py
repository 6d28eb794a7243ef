"""A reranker for every server that has `POST /rerank`.

Two shapes are in use. Most servers (Cohere, Jina, Voyage, vLLM, llama.cpp) take `documents` and answer with numbered
results under `results` or `data`; Text Embeddings Inference takes `texts` and answers with a bare list. Which one a
server speaks is found out by asking: the first is tried, and the second where the first is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_memory.models.errors import InvalidInput
from agent_memory.ports.remote import Remote, sendable

LONGEST = 2000  # characters of a text: servers reject what their model cannot read whole, with the question
DOCUMENTS, TEXTS = "documents", "texts"


class HttpReranker:
    """`base_url` is what comes before `/rerank`. A server with one model needs no `model`. Of a long text, and of a
    long question, the first 2,000 characters count."""

    service = "http"

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        attempts: int = 3,
    ) -> None:
        self.model = model
        self._remote = Remote("Reranker", base_url, api_key, timeout, attempts)
        self._shape: str | None = None  # not known before the first answer

    @property
    def name(self) -> str:
        return f"{self.model or 'default'}@http"

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """One request."""
        if not texts:
            return []
        if self._shape is not None:
            return self._ask(self._shape, query, texts, seconds)
        try:
            scores = self._ask(DOCUMENTS, query, texts, seconds)
            self._shape = DOCUMENTS
        except InvalidInput as rejected:
            try:
                scores = self._ask(TEXTS, query, texts, seconds)
            except InvalidInput:
                raise rejected from None
            self._shape = TEXTS
        return scores

    def _ask(self, shape: str, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        body: dict[str, Any] = {"query": sendable(query[:LONGEST]), shape: [sendable(text[:LONGEST]) for text in texts]}
        if self.model is not None:
            body["model"] = self.model
        if shape == TEXTS:
            body["truncate"] = True
        answer = self._remote.post("/rerank", body, hint="check the reranker's address and model", seconds=seconds)
        if isinstance(answer, dict):
            answer = answer.get("results", answer.get("data"))
        try:
            scores = {row["index"]: float(row.get("relevance_score", row.get("score"))) for row in answer}
            return [scores[number] for number in range(len(texts))]
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self._remote.unreadable("it is not a list of numbered scores") from error

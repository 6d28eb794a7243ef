"""The ranker that ships: a small encoder that reads question and text together, on the CPU, offline.

It reads who said a text, when, and the end of the turn before it, too. One pair a run, so that a score never depends on
what else is judged; on one machine the same pair has the same score, bit by bit.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from agent_memory.engines.onnx.wordpiece import END, START
from agent_memory.models.errors import PartMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_memory.engines.onnx.encoder import Encoder
    from agent_memory.engines.onnx.weights import Weights
    from agent_memory.engines.onnx.wordpiece import WordPiece
    from agent_memory.ports.reranker import TextInPlace

NAME = "agent-memory-ranker@1"  # changes whenever scores would
QUESTION, TEXT, LEAD, BEFORE = 64, 128, 14, 32  # word pieces that are read of each; of the turn before the last ones
SEEN_BEFORE = 198  # pieces of the turn before among which they are the last
COLON = 1024

_loading = threading.Lock()
_models: WeakValueDictionary[str, _Model] = WeakValueDictionary()


class OnnxRanker:
    """Safe to share between threads. Nothing is loaded before the first question; then all of a process share it."""

    name = NAME
    at_once = 1

    def __init__(self) -> None:
        self._model: _Model | None = None

    def load(self) -> None:
        """`PartMissing` if its weights, or what runs them, cannot be had."""
        if self._model is None:
            with _loading:
                self._model = _models.get(NAME) or _load()
                _models[NAME] = self._model

    def judge(self, query: str, told: Sequence[TextInPlace], seconds: float) -> list[float]:
        """For each the log of the odds that it answers."""
        self.load()
        assert self._model is not None
        return [self._model.judge(query, one) for one in told]

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """The same for texts of which nothing else is known."""
        from agent_memory.ports.reranker import TextInPlace

        return self.judge(query, [TextInPlace(text) for text in texts], seconds)


class _Model:
    def __init__(self, words: WordPiece, encode: Encoder, found: Weights) -> None:
        self._words, self._encode = words, encode
        self._pool, self._pool_bias = found.others["pool.weight"], found.others["pool.bias"]
        self._end, self._end_bias = found.others["score.weight"][:, 0], float(found.others["score.bias"][0])

    def judge(self, query: str, told: TextInPlace) -> float:
        import numpy as np

        ids, segments = self._pieces(query, told)
        mean = self._encode(ids, segments) / len(ids)
        return float(np.tanh(mean @ self._pool + self._pool_bias) @ self._end) + self._end_bias

    def _pieces(self, query: str, told: TextInPlace) -> tuple[list[int], list[int]]:
        """Three parts, each with a mark at its end."""
        asked = [START, *self._read(query, QUESTION), END]
        lead = self._read(told.lead, LEAD)
        text = [*lead, *([COLON] if lead else []), *self._read(told.text, TEXT), END]
        before = self._read(told.before, SEEN_BEFORE)[-BEFORE:]
        before = [*before, END] if before else []
        return asked + text + before, [0] * len(asked) + [1] * len(text) + [2] * len(before)

    def _read(self, text: str, most: int) -> list[int]:
        return self._words.encode(text, most + 2)[1:-1]


def _load() -> _Model:
    try:
        from agent_memory.engines.onnx import vocabulary, weights
        from agent_memory.engines.onnx.encoder import Encoder
        from agent_memory.engines.onnx.wordpiece import WordPiece
    except ImportError as error:
        raise PartMissing("numpy cannot be imported", hint="pip install numpy") from error
    found = weights.read(weights.RANKER)
    words = WordPiece(vocabulary.load())
    return _Model(words, Encoder(found, weights.WordTable(), unit=False), found)

"""The default embedder: all-MiniLM-L6-v2, tuned for memory, in int8, on the CPU, offline.

Nothing is loaded or imported before the first text; then all embedders of a process share one model. The weights
come with this package and are used where they are installed: no conversion, no network. On one machine a text has
the same vector always: bit by bit, alone or in any company.
(Between kinds of CPU vectors differ slightly, as onnxruntime has other int8 kernels for each.)
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.ports.embedder import Passage, Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from agent_memory.engines.onnx.encoder import Encoder
    from agent_memory.engines.onnx.wordpiece import WordPiece

# The version changes whenever vectors would: with the weights, the graph, or how a text is read.
SPACE = Space("agent-memory-embedder", "1", 384)
EARLIER = (Space("all-MiniLM-L6-v2", "int8-g1", 384),)

_loading = threading.Lock()
_encoders: WeakValueDictionary[str, Encoder] = WeakValueDictionary()
_readers: WeakValueDictionary[str, WordPiece] = WeakValueDictionary()


class OnnxEmbedder:
    """Safe to share between threads. An empty text has a vector too; of a long one the first 256 pieces count."""

    price = 0.0
    earlier = EARLIER

    def __init__(self) -> None:
        self._reader: WordPiece | None = None
        self._encoder: Encoder | None = None

    @property
    def space(self) -> Space:
        return SPACE

    def passages(self, text: str) -> list[Passage]:
        """At most 512 passages of about 200 word pieces; see `passages.py` for where they are cut."""
        from agent_memory.engines.onnx.passages import split

        return split(text, self._words())

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, each computed by itself."""
        return self.embed_and_count(texts)[0]

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        """The same, and how many word pieces were read."""
        if isinstance(texts, str):
            raise InvalidInput("texts must be a list of texts", field="texts", hint="pass [text]")
        words, encode = self._words(), self._model()
        import numpy as np

        from agent_memory.engines.onnx.passages import READABLE

        vectors = np.empty((len(texts), SPACE.dimension), np.float32)
        pieces = 0
        for number, text in enumerate(texts):
            ids = words.encode(text, READABLE)
            pieces += len(ids)
            vectors[number] = encode(ids)
        return vectors, pieces

    def _words(self) -> WordPiece:
        if self._reader is None:
            from agent_memory.engines.onnx import vocabulary
            from agent_memory.engines.onnx.wordpiece import WordPiece

            with _loading:
                self._reader = _readers.get(SPACE.fingerprint) or WordPiece(vocabulary.load())
                _readers[SPACE.fingerprint] = self._reader
        return self._reader

    def _model(self) -> Encoder:
        if self._encoder is None:
            with _loading:
                self._encoder = _encoders.get(SPACE.fingerprint) or _load()
                _encoders[SPACE.fingerprint] = self._encoder
        return self._encoder


def _load() -> Encoder:
    try:
        from agent_memory.engines.onnx import weights
        from agent_memory.engines.onnx.encoder import Encoder
    except ImportError as error:
        raise PartMissing("numpy cannot be imported", hint="pip install numpy") from error
    return Encoder(weights.read(weights.EMBEDDER), weights.WordTable(), unit=True)

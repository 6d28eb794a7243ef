"""Some of a store's vectors, made again and compared: no checksum tells whether a vector means its text."""

from __future__ import annotations

from agent_memory.models.errors import PartMissing
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.index import Index

SAMPLE = 32
ALIKE = 0.99  # int8 costs about 0.0001 of a cosine; another model, or another text, far more


def sample(embedder: Embedder, index: Index) -> tuple[int, list[str]]:
    """(how many were made again, what is wrong). A service is not asked: it would cost money and time; nor an embedder
    that is not the store's."""
    import numpy as np

    if getattr(embedder, "service", None) is not None or index.space() != embedder.space:
        return 0, []
    try:
        found = index.sample(embedder.space, SAMPLE)
        sound = [one for one in found if one.vector.numbers.size == embedder.space.dimension]
        if not sound:
            return 0, []
        again = embedder.embed_many([one.text for one in sound])
    except PartMissing:
        return 0, []
    stored = np.stack([one.vector.numbers for one in sound])
    lengths = np.linalg.norm(stored, axis=1) * np.linalg.norm(again, axis=1)
    alike = np.einsum("ij,ij->i", stored, again) >= ALIKE * lengths
    strange = [one for one, same in zip(sound, alike.tolist(), strict=True) if not same]
    if not strange:
        return len(sound), []
    problem = f"vectors that the embedder does not make of their text: {len(strange)} of {len(sound)} in a sample"
    first = f"content {strange[0].handle} of tenant {strange[0].tenant!a}"
    return len(sound), [f"{problem} (first: {first}); `agent-memory rebuild --vectors` helps"]

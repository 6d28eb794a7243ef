"""How many texts have a word: counted where all of them are candidates, estimated where only some are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.ports.index import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def having(pool: Pool, term: int, own: NDArray[np.uint8], windowed: NDArray[np.float32]) -> tuple[int, int]:
    """How many texts there are, and how many have a word in their window. Where candidates are only some of them, that
    is told by how many have it themselves."""
    import numpy as np

    here = int(np.count_nonzero(windowed > 0))
    if not pool.approximate:
        return len(windowed), here
    texts = max(pool.documents, len(windowed))
    about = round(int(pool.frequencies[term]) * here / int(np.count_nonzero(own)))
    return texts, min(texts, max(here, about))

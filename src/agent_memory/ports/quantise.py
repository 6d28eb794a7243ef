"""int8 vectors: a quarter of the memory, and the same everywhere. E2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_memory.models.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def unit(vector: Sequence[float] | NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector at length one; what is no direction is refused."""
    import numpy as np

    with np.errstate(over="ignore"):
        values = np.asarray(vector, np.float32)
        length = float(np.linalg.norm(values)) if values.ndim == 1 and values.size else 0.0
    if not np.isfinite(length) or length == 0.0:
        raise InvalidInput(
            "vector: must be a flat list of finite numbers, not all zero",
            hint="pass what embedder.embed_single() gives",
            field="vector",
        )
    scaled: NDArray[np.float32] = values / np.float32(length)
    return scaled


def quantised(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """(scale, bytes): the largest number becomes 127."""
    import numpy as np

    scale = max(float(vector.max()), -float(vector.min())) / 127 or 1.0
    return scale, np.rint(vector * np.float32(1 / scale)).astype(np.int8).tobytes()


def quantised_rows(vectors: NDArray[np.float32]) -> list[tuple[float, bytes]]:
    """The same for every row of a matrix."""
    import numpy as np

    if len(vectors) == 1:
        return [quantised(vectors[0])]
    scales = np.maximum(vectors.max(axis=1), -vectors.min(axis=1)).astype(np.float64) / 127
    scales[scales == 0] = 1.0
    rows = np.rint(vectors * (1 / scales).astype(np.float32)[:, None]).astype(np.int8)
    return [(scale, row.tobytes()) for scale, row in zip(scales.tolist(), rows, strict=True)]

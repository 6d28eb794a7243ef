"""int8 vectors: a quarter of the memory, and the same on every engine. Through ports they come as float32. E2."""

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


def directed(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """The same, at such a scale that what is restored has length one again: then it is what any store that compares
    directions makes of it, and to quantise it again changes nothing."""
    import numpy as np

    scale, data = quantised(vector)
    return scale / float(np.linalg.norm(restored(scale, data))), data


def restored(scale: float, data: bytes) -> NDArray[np.float32]:
    """The numbers that these bytes stand for."""
    import numpy as np

    return np.frombuffer(data, np.int8).astype(np.float32) * np.float32(scale)


def requantised(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """The bytes that were `restored` to exactly these numbers; the nearest ones, where there are none."""
    import numpy as np

    scale, data = quantised(vector)
    near = np.float32(scale)
    for one in (near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))):
        if (restored(float(one), data) == vector).all():
            return float(one), data
    return scale, data

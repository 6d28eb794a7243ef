"""An adapter: what a question's vector goes through before anything is compared with it, I + up·down of a small rank.
Vectors of memories stay as they are. E6.

It is a record in the scope that it was learned in, and so versioned, forgotten and replayed like one. A recall looks
for it among the names on the shelves, which are in memory: where there is none, nothing is read. Its own name cannot be
typed in a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agent_memory.core.recall.reading import Reading
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.adapter import ADAPTER, AdapterPayload
from agent_memory.models.record import Record, Status
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Calling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

MOST = 4  # of one name: there is one in each scope that a reader sees
LARGEST = 127
SEPARATOR = "\x1f"


class Adapter(NamedTuple):
    """`down` and `up` have one row for each rank. `trouble`: it is there and cannot be used."""

    down: Matrix | None = None
    up: Matrix | None = None
    id: str | None = None
    version: int | None = None
    trouble: str | None = None

    def through(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """A vector as it is compared: as long as it was."""
        import numpy as np

        if self.down is None or self.up is None:
            return vector
        turned = vector + (self.down @ vector) @ self.up
        length = np.linalg.norm(turned)
        if not length > 0:
            return vector
        made: NDArray[np.float32] = (turned * (np.linalg.norm(vector) / length)).astype(np.float32)
        return made

    @property
    def told(self) -> dict[str, Any]:
        """As a receipt names it."""
        named = {"id": self.id, "version": self.version}
        return named if self.trouble is None else {**named, "trouble": self.trouble}


def adapting(payload: dict[str, Any]) -> list[str]:
    """By which name a recall finds it."""
    return [_named(payload["space"], payload["user"], payload["agent"])]


def adapter_of(reading: Reading, calling: Calling, space: Space) -> Adapter | None:
    """That of exactly this reader's scope and space, at the moment as of which is read."""
    scope = reading.view.scope
    found = reading.called([_named(space.fingerprint, scope.user, scope.agent)], calling, most=MOST)
    handles = [one.handle for one in found if one.status == Status.ACTIVE]
    if not handles:
        return None
    records = reading.hydrate(handles)
    if not records:
        return Adapter(trouble="it cannot be read: `agent-memory verify` names it")
    own = [one for one in records if one.scope == scope and one.kind == ADAPTER]
    return decoded(own[0], space) if own else None


def decoded(record: Record, space: Space) -> Adapter:
    """What a record holds; one that makes no sense is named, and changes nothing."""
    import numpy as np

    try:
        payload = AdapterPayload(**record.payload)
        down, up = (np.array(rows, np.float64) for rows in (payload.down, payload.up))
        if payload.space != space.fingerprint or not down.shape == up.shape == (payload.rank, space.dimension):
            raise ValueError("its shape is another")
    except (InvalidInput, TypeError, ValueError):
        return Adapter(id=record.id, version=record.version, trouble="it is damaged: forget it, and it is learned anew")
    return Adapter(down * payload.down_scale, up * payload.up_scale, record.id, record.version)


class Encoded(NamedTuple):
    """Factors as they are stored."""

    down: list[list[int]]
    up: list[list[int]]
    down_scale: float
    up_scale: float


def encoded(adapter: Adapter) -> Encoded:
    assert adapter.down is not None and adapter.up is not None
    (down, down_scale), (up, up_scale) = _small(adapter.down), _small(adapter.up)
    return Encoded(down, up, down_scale, up_scale)


def stored(adapter: Adapter) -> Adapter:
    """The adapter as it comes out of the store again: what is judged is what will be used."""
    import numpy as np

    rows = encoded(adapter)
    return Adapter(np.array(rows.down) * rows.down_scale, np.array(rows.up) * rows.up_scale)


def _small(matrix: Matrix) -> tuple[list[list[int]], float]:
    """Rows of whole numbers, and what they are times: no text, in which chance could write what looks like a secret."""
    import numpy as np

    scale = max(float(np.abs(matrix).max(initial=0)) / LARGEST, 1e-12)
    rows: list[list[int]] = np.rint(matrix / scale).astype(int).tolist()
    return rows, scale


def _named(space: str, user: str, agent: str) -> str:
    return SEPARATOR.join(("", ADAPTER, space, user, agent))

"""The links of one scope, found by either end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent_memory.ledger.rows import Ended
from agent_memory.ledger.shelves import stock
from agent_memory.ledger.shelves.columns import Growing, Types, end, misfits
from agent_memory.ledger.shelves.postings import Postings

_NUMBERS = ("link", "source", "target", "ended")
_COLUMNS: dict[str, Any] = {**dict.fromkeys(_NUMBERS, np.int64), "type": np.int32, "weight": np.float64}
_TYPES: Types = {**dict.fromkeys(_NUMBERS, (int,)), "type": (str,), "weight": (float,)}


class LinkEnd(NamedTuple):
    """A link as it is seen from one of its ends, `against` its direction or with it."""

    link: int
    against: bool
    near: int
    far: int
    type: str
    weight: float


class Links:
    def __init__(self) -> None:
        self.columns = {name: Growing(dtype) for name, dtype in _COLUMNS.items()}
        self._ends = {"source": Postings(), "target": Postings()}
        self._types: dict[str, int] = {}

    def add(self, links: stock.Links, ended: Sequence[Ended]) -> None:
        """Over what is damaged nobody goes."""
        if wrong := misfits(links, _TYPES):
            links = stock.Links(*([one for place, one in enumerate(cells) if place not in wrong] for cells in links))
        columns = self.columns
        places = np.arange(len(links.link), dtype=np.int32) + columns["link"].count
        for name, postings in self._ends.items():
            postings.add(np.array(getattr(links, name), np.int64).view(np.uint64), places)
        types = [self._types.setdefault(type, len(self._types)) for type in links.type]
        for name, cells in (links._asdict() | {"type": types}).items():
            columns[name].extend(cells)
        end(columns["link"], columns["ended"], ended)

    def edges(self, records: NDArray[np.uint64], at: int) -> list[LinkEnd]:
        """Those that begin or end at these records, as of a journal line."""
        found: list[LinkEnd] = []
        columns, types = {name: column.rows for name, column in self.columns.items()}, [*self._types]
        for against, (near, far) in enumerate((("source", "target"), ("target", "source"))):
            rows = self._ends[near].among(records)
            rows = rows[(columns["link"][rows] <= at) & (columns["ended"][rows] > at)]
            cells = (columns[name][rows].tolist() for name in ("link", near, far, "type", "weight"))
            found += [
                LinkEnd(link, bool(against), here, there, types[type], weight)
                for link, here, there, type, weight in zip(*cells, strict=True)
            ]
        return found

    @property
    def bytes(self) -> int:
        rows = sum(column.rows.nbytes for column in self.columns.values())
        return rows + sum(one.bytes for one in self._ends.values())

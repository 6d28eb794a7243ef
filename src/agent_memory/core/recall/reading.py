"""All that one recall reads: as of one snapshot, taken once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent_memory.ledger.marks import same_era
from agent_memory.models.errors import InvalidInput
from agent_memory.models.record import Record
from agent_memory.ports.index import Called, Calling, Index, LinkStep, Pool, Probe
from agent_memory.ports.records import View
from agent_memory.ports.spans import span, tell


class Reading:
    """`view` is that of the reader at the snapshot. Records are read once, and those that did not come are known."""

    def __init__(self, index: Index, view: View) -> None:
        self._index = index
        self._snapshot = index.snapshot(view.scope)
        if self._snapshot.large and view.seq is not None and view.seq < self._snapshot.seq:
            raise InvalidInput(
                "as_of: this reader has too many memories for a recall as of an earlier moment, or a replay",
                hint="ask as of now, or use valid_at; AGENT_MEMORY_SHELF_LINES says how many fit into memory",
                field="as_of",
            )
        self.view = view._replace(seq=self._snapshot.at(view), era=self._snapshot.era)
        self._known: dict[int, Record] = {}
        self._missing: set[int] = set()

    @property
    def pending(self) -> int:
        return self._snapshot.pending

    @property
    def lag(self) -> float | None:
        return self._snapshot.lag

    def renew(self) -> None:
        """With vectors that came meanwhile: they are derived. Whatever else is read stays as of the same line."""
        snapshot = self._index.snapshot(self.view.scope)
        same_era(self._snapshot.era, snapshot.era)
        self._snapshot = snapshot

    def occurring(self, terms: Sequence[int]) -> frozenset[int]:
        return self._index.occurring(self._snapshot, terms)

    def called(self, names: Collection[str], calling: Calling, *, most: int) -> list[Called]:
        return self._index.called(self._snapshot, self.view, names, calling, most=most)

    def steps(self, handles: Sequence[int], *, most: int) -> list[LinkStep]:
        return self._index.steps(self._snapshot, self.view, handles, most=most)

    def gather(self, probes: Sequence[Probe]) -> list[Pool]:
        with span("recall.gather"):
            pools = self._index.gather(self._snapshot, probes)
            searched, candidates = sum(one.documents for one in pools), sum(len(one.handles) for one in pools)
            tell(seq=pools[0].seq, searched=searched, candidates=candidates, pending=pools[0].pending)
        return pools

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        """In order, those that can be read."""
        self.read_ahead(handles)
        return [self._known[one] for one in handles if one in self._known]

    def read_ahead(self, handles: Collection[int]) -> None:
        """Those that will be asked for, in one trip."""
        new = [one for one in dict.fromkeys(handles) if one not in self._known and one not in self._missing]
        if new:
            with span("recall.hydrate", records=len(new)):
                self._known |= {record.seq: record for record in self._index.hydrate(self.view, new)}
            self._missing |= {*new} - self._known.keys()

    def damaged(self) -> int:
        """How many of those cannot be read; the others were forgotten meanwhile."""
        return self._index.damaged(self.view, self._missing) if self._missing else 0

"""Entities and facts as they are read: with what time has left of them. C12."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent_memory.models.decay import Decay
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.moment import maybe_moment, to_micros
from agent_memory.models.record import Record
from agent_memory.ports.receipts import ReceiptStore
from agent_memory.ports.records import View


class Fading(NamedTuple):
    """By whose accesses, as whom, and as of when."""

    receipts: ReceiptStore
    view: View
    decay: Decay

    def entities(self, records: Sequence[Record]) -> list[Entity]:
        """With how often and when last each was accessed until then."""
        until = None if self.view.seq is None else to_micros(self.decay.now)
        ids = [one.id for one in records]
        told = self.receipts.accesses(self.view, ids, until=until) if ids else {}
        known = {id: (one.times, maybe_moment(one.last)) for id, one in told.items()}
        return [Entity.of(one, known.get(one.id), self.decay) for one in records]

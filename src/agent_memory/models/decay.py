"""What time takes of what is read: the salience of entities that nobody asks for, the confidence of what was only
inferred. What is stored stays as it is. C12."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from agent_memory.models.record import Record

DAY = timedelta(days=1)
FRESH_DAYS = 7  # for which an inferred fact keeps its confidence
RATE = 0.95
AS_GOOD_AS = 1e-6  # of a day: as near to a whole number of days as arithmetic comes


class Decay(NamedTuple):
    """As of which moment something is read, and what is left after each whole day."""

    now: datetime
    rate: float = RATE

    def salience(self, record: Record, accessed: datetime | None) -> float:
        """Of an entity: less with each day since it was last accessed or written."""
        touched = record.recorded_at if accessed is None else max(accessed, record.recorded_at)
        return record.importance * self.rate ** self._days(touched)

    def confidence(self, record: Record) -> float:
        """Of a fact: less with each day after its first week, by the square root, if it was inferred."""
        if record.source != "inferred":
            return record.confidence
        days = max(0, self._days(record.valid_from) - FRESH_DAYS)
        return record.confidence * math.sqrt(self.rate) ** days

    def _days(self, since: datetime) -> int:
        return max(0, (self.now - since) // DAY)


def meant(shown: float, stored: float | None, rate: float) -> float:
    """Which of the two somebody means who hands in both: the stored one, where the other is what some days at this rate
    made of it, and nobody changed anything."""
    if stored is None or not 0 < shown < stored or not 0 < rate < 1:
        return shown
    days = math.log(shown / stored) / math.log(rate)
    return stored if abs(days - round(days)) < AS_GOOD_AS else shown

"""Cold texts are kept in a codec, or as they stand again. Nothing else of a record changes, and no reader notices."""

from __future__ import annotations

import time
from collections.abc import Mapping

from agent_memory.core.upkeep.job import Did, Job, JobTurn, Keeping

JOB = "compress"
SECONDS = 86_400.0
DAY = 86_400_000_000
SLICE = 64  # texts in one transaction: small enough for the memory, too, where each is as long as may be
CODECS: Mapping[str, str | None] = {"zstd": "zstd-1", "lz4": "lz4", "plain": None}


class Compressing:
    """The cell of a text says whether it is done, so no other state is kept: `_place` only saves looking again, within
    one round, at those that do not become smaller. Whoever does it, the same comes of it: it is not fenced. E2."""

    def __init__(self, codec: str | None, days: float) -> None:
        self._codec, self._days = codec, days
        self._place = 0

    def __call__(self, keeping: Keeping, turn: JobTurn) -> Did:
        until = None if turn.seconds is None else time.monotonic() + turn.seconds
        if until is None:
            self._place = 0
        before, changed = turn.now - int(self._days * DAY), 0
        while True:
            made = keeping.store.recode(self._codec, after=self._place, before=before, limit=SLICE)
            changed += made.changed
            self._place = made.last or 0
            if made.last is None or (until is not None and time.monotonic() > until):
                return {"texts": changed, "left": int(made.last is not None)}


def compressing(how: str, days: float) -> Job:
    return Job(JOB, SECONDS, Compressing(CODECS[how], days), more=lambda did: did["left"] > 0)

"""The daily job that moves what is over into the archive: goals and tasks that ended, and events, after thirty days,
each batch with a summary. T10.

Decisions stay, since people ask for them long afterwards; `state.migrate_old_entries` moves them, too."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from agent_memory.core.experience.archive import OVER, Moving, is_over, migrate
from agent_memory.core.upkeep.cleanup import visited
from agent_memory.core.upkeep.job import Did, JobTurn, Keeping
from agent_memory.core.upkeep.pruning import ACTOR, pins_of
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Author
from agent_memory.ports.feed import Work
from agent_memory.ports.records import View

JOB = "archive"
REASON = "archived: over for a while"
OLD = timedelta(days=30)
BATCH = 200  # records of one write, and a link to each
KINDS = tuple(kind for kind in OVER if kind != "decision")


def archive(keeping: Keeping, turn: JobTurn) -> Did:
    """Killed anywhere, what was moved has its summary, and the next run moves the rest."""
    did, done, records = Counter(dict.fromkeys(KINDS, 0)), set[Scope](), keeping.store.records
    cutoff = from_micros(turn.now) - OLD
    for scope, found in visited(keeping, turn, KINDS):
        if scope in done or not any(is_over(one) and one.valid_from < cutoff for one in found):
            continue
        done.add(scope)
        moving = Moving(BATCH, Work(turn.lease), pins_of(records, scope, turn.now).keep)
        view, author = View(scope, turn.now), Author(scope, ACTOR, REASON)
        did.update(migrate(keeping.writing, view, author, to_micros(cutoff), KINDS, moving))
    return did

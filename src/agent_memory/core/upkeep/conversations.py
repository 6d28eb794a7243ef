"""Turns from before conversations were records: each gets its conversation, and the link to it, as a turn that is
written today does. A turn that has them is only looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from agent_memory.core.upkeep.job import Did, JobTurn, Keeping, followed
from agent_memory.core.write.commit import How, holders, until_settled, write
from agent_memory.ledger.journal import PUT
from agent_memory.models.draft import Draft
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import Author, Expect
from agent_memory.ports.feed import FeedLine, Work
from agent_memory.ports.records import View

JOB = "conversations"
ACTOR = "upkeep"


def conversations(keeping: Keeping, turn: JobTurn) -> Did:
    """Follow the journals of all tenants. Whoever does it twice changes nothing the second time."""
    done = 0
    for lines in followed(keeping, turn, JOB):
        for scope, ids in _turns(lines).items():
            done += until_settled(partial(_link, keeping, turn), partial(_missing, keeping, turn, scope, ids))
    return {"turns": done, "behind": behind(keeping)}


def behind(keeping: Keeping) -> int:
    """Lines that were not looked at yet."""
    return keeping.store.feed.behind(JOB)


def _turns(lines: Iterable[FeedLine]) -> Mapping[Scope, list[str]]:
    found: dict[Scope, list[str]] = {}
    for line in lines:
        if line.kind == "turn" and line.operation == PUT and line.id is not None:
            found.setdefault(line.scope, []).append(line.id)
    return found


def _missing(keeping: Keeping, turn: JobTurn, scope: Scope, ids: list[str]) -> list[Record]:
    """Those of these turns that no conversation has."""
    records, view, type = keeping.store.records, View(scope, turn.now), _type(keeping)
    has = {one.target_id for one in records.links(view, ids) if one.type == type}
    wanted = [id for id in dict.fromkeys(ids) if id not in has]
    heads = (records.head(scope, "turn", id=id) for id in wanted)
    return [one for one in heads if one is not None and one.conversation_id is not None]


def _link(keeping: Keeping, turn: JobTurn, found: list[Record]) -> int:
    if found:
        author = Author(found[0].scope, ACTOR, JOB)
        changes = holders(keeping.writing, [Draft.of(one) for one in found], author, turn.now)
        expect = [Expect(one.version, id=one.id) for one in found]
        write(keeping.writing, changes, author, turn.now, How(expect=expect, work=Work(turn.lease)))
    return len(found)


def _type(keeping: Keeping) -> str | None:
    holder = keeping.writing.kinds["turn"].holder
    return holder.type if holder else None

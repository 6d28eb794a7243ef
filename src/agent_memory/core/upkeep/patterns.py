"""Outcomes that wait are thought about: each reflection gets what worked and what failed, a success with tools counts
for a strategy, and a failure that comes again is proposed as a learning. C8, C11, P18.

A reflection is derived from the tool calls that it looked at, a strategy and a learning from reflections: each says
where it comes from, and goes when that is forgotten.

All that comes of one reflection is one write, which expects it still to wait: killed anywhere, or run twice, nothing is
counted twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from agent_memory.core.experience.patterns import counted
from agent_memory.core.experience.reflection import Failure, Thought, rule_against, think, told
from agent_memory.core.experience.strategies import effective_for, links
from agent_memory.core.upkeep.job import Did, JobTurn, Keeping, followed
from agent_memory.core.write.commit import SELF, How, commit, connect, until_settled
from agent_memory.ledger.journal import PUT
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.experience import ReflectionPayload, Strategy, ToolCall
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.changes import DERIVED_FROM, Author, Change, Connect, Effect, Expect
from agent_memory.ports.feed import FeedLine, Work
from agent_memory.ports.records import Filter, View

JOB = "patterns"
ACTOR = "upkeep"
MOST_CALLS = 500  # the last ones of a conversation or run are looked at
REPEATED = 3  # reflections on the same failure make a proposal
CONFIDENCE = 0.6  # of a learning that nobody stated
INFERRED = "inferred"  # the source of a strategy that nobody learned


class _Made(NamedTuple):
    """What comes of one reflection."""

    drafts: list[Draft]
    expect: list[Expect]
    changes: list[Change]


def patterns(keeping: Keeping, turn: JobTurn) -> Did:
    did = {"reflections": 0, "strategies": 0, "proposals": 0}
    for lines in followed(keeping, turn, JOB):
        for line in lines:
            if line.kind == "reflection" and line.operation == PUT:
                for name, count in _reflected(keeping, turn, line).items():
                    did[name] += count
    return {**did, "behind": keeping.store.feed.behind(JOB)}


def _reflected(keeping: Keeping, turn: JobTurn, line: FeedLine) -> dict[str, int]:
    def write(queued: Record | None) -> dict[str, int]:
        if queued is None:
            return {}
        made = _made(keeping, turn, queued)
        how = How(expect=made.expect, changes=made.changes, work=Work(turn.lease))
        applied = commit(keeping.writing, made.drafts, Author(queued.scope, ACTOR, JOB), turn.now, how)
        # Outcomes are of changes; of these drafts only the last has links, whose outcomes follow.
        effects = dict(zip((one.kind for one in made.drafts), applied.outcomes, strict=False))
        return {
            "reflections": 1,
            "strategies": int("strategy" in effects),
            "proposals": int("learning" in effects and effects["learning"].effect in (Effect.CREATED, Effect.HELD)),
        }

    return until_settled(write, lambda: _queued(keeping, line))


def _queued(keeping: Keeping, line: FeedLine) -> Record | None:
    found = keeping.store.records.head(line.scope, "reflection", id=line.id)
    waits = found is not None and found.status is Status.ACTIVE and found.payload.get("state") == "queued"
    return found if waits else None


def _made(keeping: Keeping, turn: JobTurn, queued: Record) -> _Made:
    payload = ReflectionPayload(**queued.payload)
    calls = list(_calls(keeping, queued, payload))
    thought = think(payload.outcome, [ToolCall(**one.payload) for one in calls])
    done = payload.model_copy(
        update={
            "state": "done",
            "tools": thought.tools,
            "failures": [str(one) for one in thought.failures],
            "failure": thought.failures[0].signature if thought.failures else None,
        }
    )
    draft = replace(
        Draft.of(queued),
        text=told(payload, thought),
        payload=done.model_dump(mode="json", exclude_none=True),
        embedding=None,
    )
    made = _Made([draft], [Expect(queued.version, id=queued.id)], [_derived(queued.id, one.id) for one in calls])
    _count(keeping, turn, queued, payload, thought, made)
    if thought.failures:
        made.drafts.extend(_proposal(keeping, turn, queued, thought.failures[0]))
    return made


def _calls(keeping: Keeping, queued: Record, payload: ReflectionPayload) -> Iterator[Record]:
    """The tool calls that the outcome is about, in their order: those of the run that it names, or those of its
    conversation since the reflection before."""
    records, view = keeping.store.records, View(queued.scope, to_micros(keeping.clock.now()))
    until = to_micros(queued.valid_from) + 1
    run = payload.outcome.get("run_id")
    where = Filter(kinds=("tool_call",), before=until)
    if isinstance(run, str) and run:
        where = where._replace(fields=(("run_id", run),))
    elif queued.conversation_id is not None:
        earlier = Filter(kinds=("reflection",), conversation_id=queued.conversation_id, before=until)
        others = [one for one in records.find(view, earlier, limit=2) if one.id != queued.id]
        since = to_micros(others[0].valid_from) if others else None
        where = where._replace(conversation_id=queued.conversation_id, after=since)
    else:
        return iter(())
    return reversed(records.find(view, where, limit=MOST_CALLS))


def _count(
    keeping: Keeping, turn: JobTurn, queued: Record, payload: ReflectionPayload, thought: Thought, made: _Made
) -> None:
    """One more success of the strategy that these tools are for tasks of this type."""
    task_type, tools = payload.outcome.get("task_type"), thought.tools
    if payload.outcome.get("success") is not True or not isinstance(task_type, str) or not task_type or not tools:
        return
    description = f"Use {', '.join(tools)} for {task_type} tasks"
    key = joined_key(description)
    old = keeping.store.records.head(queued.scope, "strategy", key=key)
    fresh = Strategy(description=description, context_pattern=task_type, tool_sequence=tools)
    strategy = counted(fresh if old is None else Strategy.of(old), True, from_micros(turn.now))
    talk = queued.conversation_id or (old.conversation_id if old else None)
    source = old.source if old else INFERRED
    made.drafts.append(replace(strategy.draft(), conversation_id=talk, source=source))
    made.expect.append(Expect(old.version, id=old.id) if old else Expect(0, kind="strategy", key=key))
    made.changes.extend([*links(strategy, True, queued.conversation_id), effective_for(strategy, task_type)])
    if source == INFERRED:  # what somebody learned does not hang on it
        made.changes.append(_derived(strategy.id, queued.id))


def _proposal(keeping: Keeping, turn: JobTurn, queued: Record, failure: Failure) -> list[Draft]:
    """What failed like this before, and does again, is worth a rule; the review decides, since the error is what a tool
    said."""
    where = Filter(kinds=("reflection",), fields=(("failure", failure.signature),))
    view = View(queued.scope, turn.now)
    before = [one for one in keeping.store.records.find(view, where, limit=REPEATED) if one.id != queued.id]
    if len(before) < REPEATED - 1:
        return []
    what = f"{failure.tool or queued.payload['outcome'].get('task_type') or 'a task'} fails again and again"
    why = failure.kind_of_error or "it does not say why"
    evidence = [queued.id, *(one.id for one in before[: REPEATED - 1])]
    return [
        Draft(
            kind="learning",
            text=f"{what}, because {why}",
            payload={"what": what, "why": why, "rule": rule_against(failure)},
            confidence=CONFIDENCE,
            source="tool",
            links=tuple(Link(source_id=SELF, target_id=id, type=DERIVED_FROM) for id in evidence),
        )
    ]


def _derived(id: str, source: str) -> Connect:
    return connect(Link(source_id=id, target_id=source, type=DERIVED_FROM))

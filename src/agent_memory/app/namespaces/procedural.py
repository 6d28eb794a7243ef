"""`memory.procedural`: what was tried, and what worked. C4, C8."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.namespaces.tooling import Tooling
from agent_memory.app.operations import Permission, ToolSlot, operation
from agent_memory.core.experience.patterns import check_expression, counted
from agent_memory.core.experience.strategies import invoked, is_for, links
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.core.write.commit import SELF, How, Revision, commit, until_settled
from agent_memory.models.draft import Draft
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.experience import Learning, Strategy, ToolCall, outcome_draft
from agent_memory.models.kinds.kind import canonical_json, fold, joined_key
from agent_memory.models.limits import Milliseconds, RecordText
from agent_memory.models.model import Name, Unit, new_id
from agent_memory.models.recipe import DEFAULT
from agent_memory.models.record import Link, Record
from agent_memory.ports.changes import Author, Expect

MOST_CALLS = 1_000_000
PAGE = 5_000
SHOWN = 500


class Procedural(Tooling):
    """An audit of tool calls, statistics over it, and strategies that are reinforced by their outcomes."""

    @operation(
        "procedural.record_invocation",
        "POST /tool-calls",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "tools", "record")],
    )
    def record_invocation(
        self,
        conversation_id: str | None,
        turn_id: str | None,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_output: Any,
        success: bool,
        latency_ms: Milliseconds,
        task_type: str | None = None,
        run_id: Name | None = None,
    ) -> str:
        """Log one use of a tool, optionally as part of a run; returns the id of the record."""
        call = ToolCall(
            tool_name=tool_name,
            tool_input=tool_input,
            tool_output=tool_output,
            success=success,
            latency_ms=latency_ms,
            turn_id=turn_id,
            task_type=task_type,
            run_id=run_id,
        )
        text = f"{tool_name}({canonical_json(tool_input, 'tool_input')[:SHOWN]})"
        client = self._client
        links: tuple[Link, ...] = ()
        if turn_id is not None and client.runtime.store.records.get(client.view(), [turn_id]):
            links = (Link(source_id=turn_id, target_id=SELF, type="USED_TOOL"),)
        draft = Draft(
            kind="tool_call",
            id=new_id(),
            text=text,
            payload=call.model_dump(mode="json"),
            conversation_id=conversation_id,
            source="tool",
            links=links,
        )
        drafts, how = [draft], How(changes=[invoked(str(draft.id), tool_name)])
        if task_type is not None:
            came = Link(source_id=str(draft.id), target_id=SELF, type="RESULTED_IN")
            drafts.append(outcome_draft(task_type, success, came))
        return commit(client.runtime.writing, drafts, client.author(), client.now(), how).outcomes[0].id

    @operation(
        "procedural.learn_strategy",
        "POST /strategies",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "strategies", "learn")],
        names=["description"],
    )
    def learn_strategy(
        self,
        description: str,
        context_pattern: str,
        tool_sequence: list[str],
        from_conversation_id: str | None = None,
        success: bool = True,
    ) -> Strategy:
        """Remember a way of doing something. The same description again counts as another try of it.

        `context_pattern` says for which tasks: keywords (commas part alternatives), or `/…/`, an RE2 expression."""
        check_expression(context_pattern, "context_pattern")
        fresh = Strategy(description=description, context_pattern=context_pattern, tool_sequence=tool_sequence)
        key = joined_key(description)
        client = self._client
        return self._tried(
            lambda: (client.own("strategy", key=key), client.author()), success, fresh, from_conversation_id
        )

    @operation(
        "procedural.reinforce_strategy",
        "POST /strategies/{strategy_id}/outcomes",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "strategies", "reinforce")],
    )
    def reinforce_strategy(self, strategy_id: str, success: bool) -> Strategy:
        """Count one more outcome of a strategy."""

        def known() -> tuple[Record, Author]:
            found, author = self._client.head("strategy", strategy_id)
            if found is None:
                raise NotFound(f"no strategy {strategy_id!r} of this user's own", field="strategy_id")
            return found, author

        return self._tried(known, success, Strategy.of(known()[0]), None)

    @operation("procedural.find_strategies", "GET /strategies", mcp=[ToolSlot("experience", "strategies", "find")])
    def find_strategies(self, task_description: str, top_k: int = 5, **at: Unpack[Moments]) -> list[Strategy]:
        """Strategies that worked at least once: first those whose context pattern fits the task, the most successful
        first; then others, by likeness to the task and by success."""
        view, chosen = asked(self._client, {"kinds": ["strategy"], "fields": {"worked": True}}, at)
        found = recall(self._client.runtime.recalling, Question(task_description, view, chosen, 200, DEFAULT, past=()))
        ranked = [(hit.relevance, Strategy.of(hit.record)) for hit in found]
        ranked.sort(key=lambda pair: -(0.6 * pair[0] + 0.4 * _expected_success(pair[1])))
        worked = map(Strategy.of, self._all("strategy", at, {"worked": True}))
        meant = [one for one in worked if is_for(one.context_pattern, task_description)]
        meant.sort(key=lambda one: -_expected_success(one))
        first = {one.id for one in meant}
        return [*meant, *(one for _, one in ranked if one.id not in first)][:top_k]

    @operation("procedural.get_tool_stats", "GET /tools", mcp=[ToolSlot("experience", "tools", "stats")])
    def get_tool_stats(self, task_type: str | None = None, **at: Unpack[Moments]) -> list[dict[str, Any]]:
        """Per tool: how often, how successful, how fast (milliseconds); most used first.

        With a task type: the calls that were recorded for it; for a tool that has none, the outcomes of the strategies
        for such tasks that use it (those whose context pattern is the task type, or names it).
        """
        calls = [record.payload for record in self._all("tool_call", at)]
        if task_type is None:
            return _by_use({tool: _used(used) for tool, used in _by_tool(calls).items()})
        tagged = _by_tool(call for call in calls if call.get("task_type") == task_type)
        found = {tool: _for_task(_outcomes(used), used) for tool, used in tagged.items()}
        used = _by_tool(calls)
        for tool, outcomes in _by_strategies(map(Strategy.of, self._all("strategy", at)), task_type).items():
            found.setdefault(tool, _for_task(outcomes, used.get(tool, [])))
        return _by_use(found)

    @operation(
        "procedural.reflect", "POST /reflections", permission=Permission.WRITE, mcp=[ToolSlot("experience", "reflect")]
    )
    def reflect(self, outcome: dict[str, Any]) -> str:
        """Queue an outcome (`success`, `task_type`, …) to be thought about; gives the id of the reflection."""
        success = outcome.get("success")
        kind = "insight" if success is None else "success_pattern" if success else "failure_analysis"
        said = outcome.get("summary") or outcome.get("task_type") or kind.replace("_", " ")
        client = self._client
        draft = Draft(
            kind="reflection",
            id=new_id(),
            text=f"{said}: {canonical_json(outcome, 'outcome')[:SHOWN]}",
            payload={"type": kind, "outcome": outcome, "state": "queued"},
            conversation_id=client.conversation,
            source="agent",
        )
        drafts, task_type = [draft], outcome.get("task_type")
        if isinstance(success, bool) and isinstance(task_type, str):
            has = Link(source_id=SELF, target_id=str(draft.id), type="HAS_REFLECTION")
            drafts.append(outcome_draft(task_type, success, has))
        return commit(client.runtime.writing, drafts, client.author(), client.now()).outcomes[0].id

    @operation(
        "procedural.learn", "POST /learnings", permission=Permission.WRITE, mcp=[ToolSlot("experience", "learn")]
    )
    def learn(self, what: RecordText, why: RecordText, rule: str | None = None, confidence: Unit = 0.7) -> Learning:
        """Remember what a task taught: what happened, why, and the rule that would prevent it, if there is one.

        The rule has no effect: `rules propose-rule` shows what it would add to a page, and proposes it. Below the
        threshold of confidence all of it is held for review.
        """
        if rule is not None:
            from agent_memory.core.rules.adding import proposed

            proposed(rule)
        client = self._client
        draft = Draft(
            kind="learning",
            text=f"{what}, because {why}",
            payload={"what": what, "why": why, "rule": rule},
            confidence=confidence,
            conversation_id=client.conversation,
            source="agent",
        )
        applied = commit(client.runtime.writing, [draft], client.author(), client.now())
        (record,) = client.runtime.store.records.get(client.view(), [applied.outcomes[0].id])
        return Learning.of(record)

    def _tried(
        self,
        known: Callable[[], tuple[Record | None, Author]],
        success: bool,
        fresh: Strategy,
        conversation_id: str | None,
    ) -> Strategy:
        """One more outcome, counted on top of what is stored, also when others count at the same time."""
        made: list[Strategy] = []

        def read() -> Revision:
            old, author = known()
            strategy = fresh if old is None else Strategy.of(old)
            one = counted(strategy, success, self._client.clock.now())
            made[:] = [one]
            key = joined_key(one.description)
            expect = Expect(old.version, id=old.id) if old else Expect(0, kind="strategy", key=key)
            talk = conversation_id or (old.conversation_id if old else None)
            return Revision(replace(one.draft(), conversation_id=talk), expect, author)

        def write(revision: Revision) -> None:
            """With its links, in one transaction."""
            client = self._client
            changes = links(made[0], success, conversation_id or client.conversation)
            how = How(expect=(revision.expect,), changes=changes)
            commit(client.runtime.writing, [revision.draft], revision.author, client.now(), how)

        until_settled(write, read)
        return made[0]

    def _all(self, kind: str, at: Moments, fields: dict[str, Any] | None = None) -> Iterator[Record]:
        view, chosen = asked(self._client, {"kinds": [kind], "fields": fields or {}}, at)
        last: str | None = None
        while page := self._client.runtime.store.records.find(view, chosen, limit=PAGE, after=last):
            yield from page
            last = page[-1].id


def _expected_success(strategy: Strategy) -> float:
    """Laplace's rule: one success out of one is less certain than nine out of ten."""
    return (strategy.success_count + 1) / (strategy.success_count + strategy.failure_count + 2)


Calls = list[dict[str, Any]]


def _by_tool(calls: Iterable[dict[str, Any]]) -> dict[str, Calls]:
    found: dict[str, Calls] = {}
    for call in calls:
        found.setdefault(call["tool_name"], []).append(call)
    return found


def _by_strategies(strategies: Iterable[Strategy], task_type: str) -> dict[str, tuple[int, int]]:
    """Successes and failures of each tool, as far as strategies for such tasks tell."""
    named = re.compile(rf"(?<!\w){re.escape(fold(task_type))}(?!\w)")
    found: dict[str, tuple[int, int]] = {}
    for strategy in strategies:
        tried = strategy.success_count + strategy.failure_count
        if tried and named.search(fold(strategy.context_pattern)):
            for tool in set(strategy.tool_sequence):
                worked, failed = found.get(tool, (0, 0))
                found[tool] = (worked + strategy.success_count, failed + strategy.failure_count)
    return found


def _outcomes(calls: Calls) -> tuple[int, int]:
    worked = sum(call["success"] for call in calls)
    return worked, len(calls) - worked


def _used(calls: Calls) -> dict[str, Any]:
    worked, _ = _outcomes(calls)
    return {
        "usage_count": len(calls),
        "success_count": worked,
        "success_rate": worked / len(calls),
        "avg_latency": _latency(calls),
    }


def _for_task(outcomes: tuple[int, int], calls: Calls) -> dict[str, Any]:
    worked, failed = outcomes
    rate = worked / (worked + failed)
    return {"successes": worked, "failures": failed, "success_rate": rate, "avg_latency": _latency(calls)}


def _latency(calls: Calls) -> float | None:
    """None: a strategy uses it, and no call of it was ever recorded."""
    return sum(call["latency_ms"] for call in calls) / len(calls) if calls else None


def _by_use(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    def used(row: dict[str, Any]) -> int:
        return int(row["usage_count"] if "usage_count" in row else row["successes"] + row["failures"])

    rows = [{"tool": tool, **row} for tool, row in found.items()]
    return sorted(rows, key=lambda row: (-used(row), row["tool"]))

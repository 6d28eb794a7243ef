"""Patterns of `memory.state`: what to do when something happens, and how often that worked. T7."""

from __future__ import annotations

from typing import Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.experience import patterns
from agent_memory.core.write.commit import Revision, commit_after_reading
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.patterns import Pattern, PatternPayload, pattern_key
from agent_memory.ports.changes import Expect


class Patterns(Namespace):
    @operation(
        "state.store_pattern",
        "PUT /patterns",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "store_pattern")],
    )
    def store_pattern(self, pattern: Pattern) -> Pattern:
        """Store what to do when something happens. The same trigger and action again is the same pattern, and keeps
        its id and its statistics, unless you give others."""
        patterns.check_expression(pattern.trigger, "trigger")
        key = pattern_key(pattern.part(PatternPayload))
        stored: list[Pattern] = []

        def read() -> Revision:
            old = self._client.own("pattern", key=key)
            known = {} if old is None else Pattern.of(old).model_dump()
            given = {name: getattr(pattern, name) for name in pattern.model_fields_set - {"id"}}
            stored[:] = [Pattern(**{**known, **given}) if old else pattern]
            expect = Expect(old.version if old else 0, kind="pattern", key=key)
            return Revision(stored[0].draft(), expect, self._client.author())

        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return stored[0]

    @operation("state.find_pattern", "GET /patterns/for", mcp=[ToolSlot("experience", "find_pattern")])
    def find_pattern(self, trigger: str, **at: Unpack[Moments]) -> Pattern | None:
        """The pattern for what happened, or none: one whose trigger is exactly that, else one whose expression matches
        it, else one that means the same. Of several, the one with the highest reliable success rate."""
        runtime = self._client.runtime
        return patterns.find(runtime.recalling, runtime.store.records, self._client.view(**at), trigger)

    @operation(
        "state.update_pattern_stats",
        "POST /patterns/{id}/outcomes",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "pattern_outcome")],
    )
    def update_pattern_stats(self, id: str, success: bool) -> Pattern:
        """Count one more outcome of a pattern, also when others count at the same time."""
        made: list[Pattern] = []

        def read() -> Revision:
            old, author = self._client.head("pattern", id)
            if old is None:
                raise NotFound(f"no pattern {id!r} of this user's own", field="id")
            made[:] = [patterns.counted(Pattern.of(old), success, self._client.clock.now())]
            return Revision(made[0].draft(), Expect(old.version, id=id), author)

        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return made[0]

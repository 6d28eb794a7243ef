"""What an outcome teaches, without a model: which tools worked, which failed and how, and what worked afterwards. C8.

Nothing is invented: every sentence names tools and errors that were recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agent_memory.core.rules.adding import advice
from agent_memory.models.kinds.experience import ReflectionPayload, ToolCall
from agent_memory.models.kinds.kind import fold

LONGEST_ERROR = 160  # characters of it that are quoted
LONGEST_SIGNATURE = 240
TOLD = 5  # failures that are described, those that happened most often first
_VARIES = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b|\b[0-9a-f]{7,}\b|\d+(?:[.:]\d+)*", re.IGNORECASE
)
_SAYING = ("error", "message", "stderr", "detail", "reason")


class Failure(NamedTuple):
    """A tool ("": nobody said which) that failed so many `times` in one way; `then` is the tool that worked next, if
    one did."""

    tool: str
    error: str
    times: int = 1
    then: str | None = None

    @property
    def signature(self) -> str:
        """The same for the same failure on another day: numbers and ids are left out."""
        return f"{self.tool}: {self.kind_of_error}"[:LONGEST_SIGNATURE]

    @property
    def kind_of_error(self) -> str:
        return _VARIES.sub("…", fold(self.error))

    def __str__(self) -> str:
        if not self.tool:
            return f"The error was {self.error!r}"
        often = "" if self.times == 1 else " twice" if self.times == 2 else f" {self.times} times"
        after = "" if self.then is None else f"; then {'it' if self.then == self.tool else self.then} worked"
        return f"{self.tool} failed{often}{f' with {self.error!r}' if self.error else ''}{after}"


class Thought(NamedTuple):
    """`tools` that worked, in the order of their first use; failures, the most frequent first."""

    tools: list[str]
    failures: list[Failure]


def think(outcome: Mapping[str, Any], calls: Sequence[ToolCall]) -> Thought:
    """`calls` in the order in which they were made. What the outcome itself says of tools and the error comes first:
    `tools_used` (or `tools`) and `error`."""
    told = outcome.get("tools_used", outcome.get("tools"))
    named = [one for one in told if isinstance(one, str) and one] if isinstance(told, list) else []
    worked = [one.tool_name for one in calls if one.success]
    tools = [*dict.fromkeys(named or worked)]
    failures = _failures(calls)
    error = _first_line(outcome.get("error"))
    if error and not failures and outcome.get("success") is False:
        failures = [Failure(named[-1] if named else "", error)]
    return Thought(tools, failures)


def told(payload: ReflectionPayload, thought: Thought) -> str:
    """The text of the reflection."""
    outcome = payload.outcome
    about = str(outcome.get("summary") or outcome.get("task_type") or payload.type.replace("_", " "))
    success = outcome.get("success")
    came = "" if success is None else " succeeded" if success else " failed"
    used = f" with {', '.join(thought.tools)}" if thought.tools and success else ""
    return ". ".join([f"{about}:{came}{used}" if came else about, *map(str, thought.failures[:TOLD])])


def rule_against(failure: Failure) -> str | None:
    """In the form of a page of procedures; None where nothing is known that works."""
    if failure.then in (None, failure.tool) or not failure.error:
        return None
    text = f"When {failure.tool} fails with “{failure.kind_of_error}”, use {failure.then}."
    return advice(f"{failure.tool} {failure.then}", text)


def _failures(calls: Sequence[ToolCall]) -> list[Failure]:
    found: dict[str, Failure] = {}
    for at, call in enumerate(calls):
        if not call.success:
            then = next((one.tool_name for one in calls[at + 1 :] if one.success), None)
            new = Failure(call.tool_name, _error(call.tool_output), then=then)
            before = found.get(new.signature)
            found[new.signature] = new if before is None else new._replace(error=before.error, times=before.times + 1)
    return sorted(found.values(), key=lambda one: -one.times)


def _error(output: Any) -> str:
    if isinstance(output, Mapping):
        output = next((output[name] for name in _SAYING if output.get(name)), "")
    return _first_line(output)


def _first_line(said: Any) -> str:
    if isinstance(said, Mapping):
        return _error(said)
    lines = str(said or "").strip().splitlines()
    return lines[0].strip()[:LONGEST_ERROR] if lines else ""

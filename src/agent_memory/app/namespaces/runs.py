"""`memory.runs`: what was done for a task, step by step, what came of it and what it cost. P7."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.operations import Namespace, Operation, Permission, ToolSlot, operation
from agent_memory.core.work import runs
from agent_memory.models.kinds.run import Run, RunStep, Spent
from agent_memory.models.limits import Many, Money, RecordText, Seconds, Spendable
from agent_memory.models.model import Name


class Runs(Namespace):
    """Runs have a beginning, steps, an end and an outcome, and tell what they cost. From `start` to `end`
    recalls, contexts and tool calls of this client carry the run's id."""

    @operation("runs.start", "POST /runs", permission=Permission.WRITE, mcp=[ToolSlot("work", "runs", "start")])
    def start(self, task_type: Name, title: RecordText, model: Name | None = None) -> Run:
        """Begin a run of a type of task."""
        payload = {"task_type": task_type, "model": model}
        return runs.start(self._client.ground(), title, payload, self._client.conversation)

    @operation(
        "runs.step", "POST /runs/{id}/steps", permission=Permission.WRITE, mcp=[ToolSlot("work", "runs", "step")]
    )
    def step(
        self,
        id: str,
        title: RecordText,
        data: Any = None,
        tokens: Spendable | None = None,
        money: Money | None = None,
        seconds: Seconds | None = None,
    ) -> RunStep:
        """Note the next step of a run, and what it cost."""
        spent = Spent(tokens=tokens, money=money, seconds=seconds)
        return runs.step(self._client.ground(), id, title, data, spent)

    @operation("runs.end", "POST /runs/{id}/end", permission=Permission.WRITE, mcp=[ToolSlot("work", "runs", "end")])
    def end(
        self,
        id: str,
        outcome: Any,
        success: bool,
        tokens: Spendable | None = None,
        money: Money | None = None,
        seconds: Seconds | None = None,
    ) -> Run:
        """End a run. Tokens and money are those of its steps together, and seconds the time since it began, unless they
        are given."""
        spent = Spent(tokens=tokens, money=money, seconds=seconds)
        return runs.end(self._client.ground(), id, outcome, success, spent)

    @operation("runs.get", "GET /runs/{id}", mcp=[ToolSlot("work", "runs", "get")])
    def get(self, id: str, **at: Unpack[Moments]) -> Run:
        """One run with its steps."""
        return runs.get(self._client.ground(), self._client.view(**at), id)

    @operation("runs.list", "GET /runs", mcp=[ToolSlot("work", "runs", "list")])
    def list(
        self, task_type: Name | None = None, success: bool | None = None, limit: Many = 20, **at: Unpack[Moments]
    ) -> list[Run]:
        """Runs, the newest first."""
        fields = {name: one for name, one in (("task_type", task_type), ("success", success)) if one is not None}
        view, chosen = asked(self._client, {"kinds": ["run"], "fields": fields}, at)
        return [Run.of(one) for one in self._client.runtime.store.records.find(view, chosen, limit=limit)]

    def _answered(self, operation: Operation, answer: Any) -> Any:
        if operation.name == "runs.start":
            self._client.run_id = answer.id
        elif operation.name == "runs.end" and self._client.run_id == answer.id:
            self._client.run_id = None
        return answer

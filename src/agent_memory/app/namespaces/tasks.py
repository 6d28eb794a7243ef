"""`memory.tasks`: what is to be done, in which order, and by whom. T2, P7."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.work import tasks
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.work import Claim, Heartbeat, Task, TaskStatus
from agent_memory.models.limits import LeaseSeconds, Many, Priority, RecordText
from agent_memory.models.model import Name
from agent_memory.models.record import Record


class Tasks(Namespace):
    """Tasks that depend on each other. Workers claim what is ready, say that they live, and report what came of it."""

    @operation("tasks.add", "POST /tasks", permission=Permission.WRITE, mcp=[ToolSlot("work", "tasks", "add")])
    def add(
        self,
        task: Task | RecordText,
        depends_on: list[Name] | None = None,
        priority: Priority | None = None,
        goal_id: Name | None = None,
        input: dict[str, Any] | None = None,
    ) -> Task:
        """Store a task: a description of it, or a whole task. It is ready when everything it depends on is done.

        The same id again changes a task that is still waiting; circular dependencies are refused.
        """
        given = {"depends_on": depends_on, "priority": priority, "goal_id": goal_id, "input": input}
        fields = {name: value for name, value in given.items() if value is not None}
        whole = Task(description=task, **fields) if isinstance(task, str) else task.model_copy(update=fields)
        return tasks.add_task(self._client.ground(), whole)

    @operation("tasks.get", "GET /tasks/{id}", mcp=[ToolSlot("work", "tasks", "get")])
    def get(self, id: str, **at: Unpack[Moments]) -> Task:
        """One task by its id."""
        found = self._client.runtime.store.records.get(self._client.view(**at), [id])
        if not found or found[0].kind != "task":
            raise NotFound(f"no task {id!r}", field="id")
        return Task.of(found[0])

    @operation("tasks.ready", "GET /tasks/ready", mcp=[ToolSlot("work", "tasks", "ready")])
    def ready(self, limit: Many = 10) -> list[Task]:
        """What can be claimed now: the highest priority first, then the oldest."""
        return tasks.ready_tasks(self._client.ground(), limit)

    @operation(
        "tasks.claim",
        "POST /tasks/claim",
        permission=Permission.WRITE,
        mcp=[ToolSlot("work", "tasks", "claim")],
        shows=True,
    )
    def claim(self, worker: Name, lease_seconds: LeaseSeconds = 60.0) -> Claim:
        """Take the first task that is ready, or whose worker has been silent for the length of its lease: returns the
        task, and the token to report with. If there is nothing to do, both are None."""
        return tasks.claim(self._client.ground(), worker, lease_seconds)

    @operation(
        "tasks.heartbeat",
        "POST /tasks/heartbeat",
        permission=Permission.WRITE,
        mcp=[ToolSlot("work", "tasks", "heartbeat")],
    )
    def heartbeat(self, token: str, progress: Any = None) -> Heartbeat:
        """Report that work continues, and its progress: this renews the lease. Tells whether the task was cancelled. A
        claim that has expired is refused."""
        return tasks.heartbeat(self._client.ground(), token, progress)

    @operation(
        "tasks.finish", "POST /tasks/finish", permission=Permission.WRITE, mcp=[ToolSlot("work", "tasks", "finish")]
    )
    def finish(self, token: str, outcome: Any = None) -> Task:
        """Mark the task as done; tasks that waited only for it become ready. A claim that has expired is refused."""
        return tasks.finish(self._client.ground(), token, outcome)

    @operation("tasks.fail", "POST /tasks/fail", permission=Permission.WRITE, mcp=[ToolSlot("work", "tasks", "fail")])
    def fail(self, token: str, reason: RecordText) -> Task:
        """Report a failure: the task is tried again after a delay that doubles each time, or has failed for good."""
        return tasks.fail(self._client.ground(), token, reason)

    @operation(
        "tasks.cancel",
        "POST /tasks/{id}/cancel",
        permission=Permission.WRITE,
        mcp=[ToolSlot("work", "tasks", "cancel")],
    )
    def cancel(self, id: str) -> Task:
        """Cancel a task. Its worker learns of it at its next heartbeat, and cannot finish it."""
        return tasks.cancel(self._client.ground(), id)

    @operation(
        "tasks.retry", "POST /tasks/{id}/retry", permission=Permission.WRITE, mcp=[ToolSlot("work", "tasks", "retry")]
    )
    def retry(self, id: str) -> Task:
        """Put a task that failed or was cancelled back in the queue, with as many tries as a new one."""
        return tasks.retry(self._client.ground(), id)

    @operation("tasks.list", "GET /tasks", mcp=[ToolSlot("work", "tasks", "list")])
    def list(
        self,
        status: TaskStatus | None = None,
        goal_id: Name | None = None,
        limit: Many = 100,
        **at: Unpack[Moments],
    ) -> list[Task]:
        """Tasks by status or goal, the newest first."""
        found: list[Record] = []
        for one in [None] if status is None else tasks.spelled(status):
            fields = {name: one for name, one in (("status", one), ("goal_id", goal_id)) if one is not None}
            view, chosen = asked(self._client, {"kinds": ["task"], "fields": fields}, at)
            found += self._client.runtime.store.records.find(view, chosen, limit=limit)
        found.sort(key=lambda one: (one.valid_from, one.id), reverse=True)
        return [Task.of(one) for one in found[:limit]]

"""`memory.goals`: what is to be reached. C6."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.recall.standing import goals, with_parents
from agent_memory.core.work.goals import add_goal, change_goal
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.work import Goal, GoalStatus
from agent_memory.models.limits import Priority
from agent_memory.models.model import Moment, Name
from agent_memory.models.record import Record


class Goals(Namespace):
    """Goals with a status, a priority, a deadline, sub-goals and what blocks them."""

    @operation(
        "goals.add",
        "POST /goals",
        permission=Permission.WRITE,
        mcp=[ToolSlot("core", "save", "goal"), ToolSlot("records", "goals", "add")],
    )
    def add(self, goal: Goal) -> Goal:
        """Store a goal. With the id of an existing goal, it changes what is given and keeps the rest."""
        return add_goal(self._client.ground(), goal)

    @operation(
        "goals.update",
        "PATCH /goals/{id}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("core", "save", "progress"), ToolSlot("records", "goals", "update")],
    )
    def update(
        self,
        id: str,
        status: GoalStatus | None = None,
        priority: Priority | None = None,
        deadline: Moment | None = None,
        parent_goal_id: Name | None = None,
        blocked_by: list[Name] | None = None,
    ) -> Goal:
        """Change a goal; what it was before stays in its history. A status that cannot follow its present one is
        refused, and so is a circle of parents or blockers. Completing a goal makes those active that it alone
        blocked. What is left out stays; `add` with the same id can take a deadline or a parent away."""
        given: dict[str, Any] = {"status": status, "priority": priority, "deadline": deadline}
        given |= {"parent_goal_id": parent_goal_id, "blocked_by": blocked_by}
        changes = {name: value for name, value in given.items() if value is not None}
        return change_goal(self._client.ground(), id, changes)

    @operation("goals.get", "GET /goals/{id}", mcp=[ToolSlot("records", "goals", "get")])
    def get(self, id: str, **at: Unpack[Moments]) -> Goal:
        """One goal by its id."""
        found = [Goal.of(self._record(id, at))]
        return with_parents(self._client.runtime.store.records, self._client.view(**at), found)[0]

    @operation(
        "goals.active", "GET /goals", mcp=[ToolSlot("records", "goals", "active"), ResourceSlot("memory://goals")]
    )
    def active(self, **at: Unpack[Moments]) -> list[Goal]:
        """Active goals, the highest priority first, then the oldest."""
        return goals(self._client.runtime.store.records, self._client.view(**at), status="active")

    @operation("goals.children", "GET /goals/{id}/children", mcp=[ToolSlot("records", "goals", "children")])
    def children(self, id: str, **at: Unpack[Moments]) -> list[Goal]:
        """The sub-goals of a goal."""
        return goals(self._client.runtime.store.records, self._client.view(**at), parent_goal_id=id)

    def _record(self, id: str, at: Moments) -> Record:
        found = self._client.runtime.store.records.get(self._client.view(**at), [id])
        if not found or found[0].kind != "goal":
            raise NotFound(f"no goal {id!r}", field="id")
        return found[0]

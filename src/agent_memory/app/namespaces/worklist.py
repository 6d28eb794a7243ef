"""Goals and tasks of `memory.state`: the names by which the tier has what `memory.goals` and `memory.tasks` do. T2."""

from __future__ import annotations

from typing import Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.recall.standing import goals
from agent_memory.core.work.goals import add_goal, change_goal
from agent_memory.core.work.tasks import add_task, tasks_of
from agent_memory.models.kinds.work import Goal, GoalStatus, Task
from agent_memory.models.model import Name


class Worklist(Namespace):
    @operation("state.store_goal", "POST /state/goals", permission=Permission.WRITE)
    def store_goal(self, goal: Goal) -> Goal:
        """Store a goal; the same id again updates it."""
        return add_goal(self._client.ground(), goal)

    @operation("state.update_goal", "PUT /state/goals/{id}/status", permission=Permission.WRITE)
    def update_goal(self, id: str, status: GoalStatus) -> Goal:
        """Change a goal's status, as far as that may follow its present one."""
        return change_goal(self._client.ground(), id, {"status": status})

    @operation("state.get_active_goals", "GET /state/goals")
    def get_active_goals(self, **at: Unpack[Moments]) -> list[Goal]:
        """Active goals, the highest priority first, then the oldest."""
        return goals(self._client.runtime.store.records, self._client.view(**at), status="active")

    @operation("state.store_task", "POST /state/tasks", permission=Permission.WRITE)
    def store_task(self, task: Task) -> Task:
        """Store a task: ready when all that it depends on is done; the same id again changes one that still waits."""
        return add_task(self._client.ground(), task)

    @operation("state.get_tasks_for_goal", "GET /state/goals/{goal_id}/tasks")
    def get_tasks_for_goal(self, goal_id: Name) -> list[Task]:
        """The tasks of a goal, in the order in which they would be done."""
        return tasks_of(self._client.ground(), goal_id)

"""`memory.goals`: what is to be reached. C6."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.recall.standing import goals
from agent_memory.core.write.commit import SELF, Revision, commit, commit_after_reading
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.work import Goal, GoalStatus, ParentGoal
from agent_memory.models.limits import Priority
from agent_memory.models.record import Link, Record
from agent_memory.ports.changes import Expect
from agent_memory.ports.records import View


class Goals(Namespace):
    """Goals with a status, a priority, a deadline, sub-goals and what blocks them."""

    @operation("goals.add", "POST /goals", permission=Permission.WRITE, toolset="core/save/goal records/goals/add")
    def add(self, goal: Goal) -> Goal:
        """Store a goal; the same id again updates it."""
        links = [Link(source_id=SELF, target_id=other, type="BLOCKED_BY") for other in goal.blocked_by]
        if goal.parent_goal_id is not None:
            links.append(Link(source_id=SELF, target_id=goal.parent_goal_id, type="SUBGOAL_OF"))
        client = self._client
        draft = replace(goal.draft(), links=tuple(links))
        commit(client.runtime.writing, [draft], client.author(), client.now())
        return goal

    @operation(
        "goals.update",
        "PATCH /goals/{id}",
        permission=Permission.WRITE,
        toolset="core/save/progress records/goals/update",
    )
    def update(self, id: str, status: GoalStatus | None = None, priority: Priority | None = None) -> Goal:
        """Change a goal's status or priority; what it was before stays in its history."""
        changed: list[Goal] = []

        def read() -> Revision:
            old, author = self._client.head("goal", id)
            if old is None:
                raise NotFound(f"no goal {id!r} of this user's own", field="id")
            given = {"status": status, "priority": priority}
            payload = {**old.payload, **{name: value for name, value in given.items() if value is not None}}
            changed[:] = [Goal(id=old.id, description=old.text, created_at=old.valid_from, **payload)]
            return Revision(changed[0].draft(), Expect(old.version, id=id), author)

        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return changed[0]

    @operation("goals.get", "GET /goals/{id}", toolset="records/goals/get")
    def get(self, id: str, **at: Unpack[Moments]) -> Goal:
        """One goal by its id."""
        return self._with_parents([Goal.of(self._record(id, at))], self._client.view(**at))[0]

    @operation("goals.active", "GET /goals", toolset="records/goals/active memory://goals")
    def active(self, **at: Unpack[Moments]) -> list[Goal]:
        """Active goals, the highest priority first, then the oldest."""
        return self._sorted(at, status="active")

    @operation("goals.children", "GET /goals/{id}/children", toolset="records/goals/children")
    def children(self, id: str, **at: Unpack[Moments]) -> list[Goal]:
        """The sub-goals of a goal."""
        return self._sorted(at, parent_goal_id=id)

    def _sorted(self, at: Moments, **fields: str) -> list[Goal]:
        view = self._client.view(**at)
        return self._with_parents(goals(self._client.runtime.store.records, view, **fields), view)

    def _with_parents(self, found: list[Goal], view: View) -> list[Goal]:
        ids = sorted({goal.parent_goal_id for goal in found if goal.parent_goal_id is not None})
        above = self._client.runtime.store.records.get(view, ids) if ids else []
        parents = {one.id: _parent(Goal.of(one)) for one in above if one.kind == "goal"}
        return [goal.model_copy(update={"parent": parents.get(goal.parent_goal_id or "")}) for goal in found]

    def _record(self, id: str, at: Moments) -> Record:
        found = self._client.runtime.store.records.get(self._client.view(**at), [id])
        if not found or found[0].kind != "goal":
            raise NotFound(f"no goal {id!r}", field="id")
        return found[0]


def _parent(goal: Goal) -> ParentGoal:
    return ParentGoal(id=goal.id, description=goal.description, status=goal.status, priority=goal.priority)

"""`memory.working`: the working set of the current conversation. C5."""

from __future__ import annotations

from typing import Any

from agent_memory.app.operations import Namespace, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.working.desk import LIST_SECONDS
from agent_memory.models.kinds.conversation import Turn


class Working(Namespace):
    """Values with a time to live, recent turns, thoughts and the active goal: now, not for ever."""

    @operation("working.add_turn", "POST /working/turns", permission=Permission.WRITE)
    def add_turn(self, turn: Turn) -> None:
        """Put a turn on the desk without storing it for the long term."""
        self._client.working.add_turn(turn.model_dump(mode="json", exclude={"embedding"}))

    @operation("working.get_recent_turns", "GET /working/turns")
    def get_recent_turns(self, limit: int = 10) -> list[dict[str, Any]]:
        """The latest turns of this conversation, newest first."""
        return self._client.working.turns(limit)

    @operation(
        "working.set",
        "PUT /working/values/{key}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("working", "desk", "set")],
    )
    def set(self, key: str, value: Any, ttl_seconds: float = LIST_SECONDS) -> None:
        """Keep a JSON value for a while."""
        self._client.working.set(key, value, ttl_seconds)

    @operation("working.get", "GET /working/values/{key}", mcp=[ToolSlot("working", "desk", "get")])
    def get(self, key: str) -> Any:
        """A value that has not expired, else None."""
        return self._client.working.get(key)

    @operation(
        "working.delete",
        "DELETE /working/values/{key}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("working", "desk", "delete")],
    )
    def delete(self, key: str) -> bool:
        """Drop a value; returns whether there was one."""
        return self._client.working.delete(key)

    @operation(
        "working.get_context",
        "GET /working",
        mcp=[ToolSlot("working", "desk", "show"), ResourceSlot("memory://working")],
    )
    def get_context(self) -> dict[str, Any]:
        """Everything on the desk."""
        return self._client.working.context()

    @operation(
        "working.clear_session",
        "DELETE /working",
        permission=Permission.WRITE,
        mcp=[ToolSlot("working", "desk", "clear")],
    )
    def clear_session(self) -> None:
        """Clear the desk of this conversation."""
        self._client.working.clear()

    @operation(
        "working.set_active_goal",
        "PUT /working/goal",
        permission=Permission.WRITE,
        mcp=[ToolSlot("working", "desk", "work_on")],
    )
    def set_active_goal(self, goal_id: str, goal_description: str) -> None:
        """Say what is being worked on."""
        self._client.working.set_active_goal(goal_id, goal_description)

    @operation("working.get_active_goal", "GET /working/goal")
    def get_active_goal(self) -> dict[str, Any] | None:
        """What is being worked on: id, description, set_at."""
        return self._client.working.active_goal()

    @operation(
        "working.push_thought",
        "POST /working/thoughts",
        permission=Permission.WRITE,
        mcp=[ToolSlot("working", "desk", "think")],
    )
    def push_thought(self, thought: str) -> None:
        """Note a thought; the last hundred are kept."""
        self._client.working.push_thought(thought)

    @operation("working.get_thoughts", "GET /working/thoughts")
    def get_thoughts(self, limit: int = 10) -> list[dict[str, Any]]:
        """The latest thoughts, newest first."""
        return self._client.working.thoughts(limit)

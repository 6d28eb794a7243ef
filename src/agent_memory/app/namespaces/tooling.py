"""The registry of tools, of `memory.procedural`. C4."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.write.commit import commit
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.tools import Tool, tool_key
from agent_memory.models.limits import Many
from agent_memory.models.model import Name
from agent_memory.ports.records import Filter


class Tooling(Namespace):
    @operation(
        "procedural.register_tool",
        "PUT /tools/{name}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "tools", "register")],
    )
    def register_tool(self, name: Name, description: str, parameters: dict[str, Any] | None = None) -> Tool:
        """Register a tool: what it is for, and its parameters (a JSON Schema). The same name again is a new version."""
        client = self._client
        tool = Tool(name=name, description=description, parameters=parameters or {})
        commit(client.runtime.writing, [tool.draft()], client.author(), client.now())
        return tool

    @operation("procedural.get_tool", "GET /tools/{name}", mcp=[ToolSlot("experience", "tools", "show")])
    def get_tool(self, name: Name, **at: Unpack[Moments]) -> Tool:
        """A registered tool by its name."""
        found = self._client.runtime.store.records.by_key(self._client.view(**at), "tool", tool_key(name))
        if found is None:
            raise NotFound(f"name: no tool {name!r} is registered", hint="`register_tool` does that", field="name")
        return Tool.of(found)

    @operation("procedural.list_tools", "GET /tool-registry", mcp=[ToolSlot("experience", "tools", "list")])
    def list_tools(self, limit: Many = 100, **at: Unpack[Moments]) -> list[Tool]:
        """The registered tools, by name."""
        where = Filter(kinds=("tool",))
        found = self._client.runtime.store.records.find(self._client.view(**at), where, limit=limit)
        return sorted(map(Tool.of, found), key=lambda tool: tool.name.casefold())

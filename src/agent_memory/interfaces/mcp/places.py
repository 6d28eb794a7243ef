"""Which tools and resources there are: read from the declarations of the operations, and from nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent_memory.app.operations import TABLE, Operation, Permission, ResourceSlot, ToolSlot
from agent_memory.app.schemas import VECTORS
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model

DEFAULT = "core"
FORMER = "records"  # what `core` had before it was small: still answered beside it, and not listed
COMPAT = "compat"
ALL = "all"
_SAME_AGAIN = frozenset({"PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class McpTool:
    """What an agent can call: one operation, or several by the name of an action."""

    name: str
    toolset: str
    actions: Mapping[str | None, Operation]

    @property
    def grouped(self) -> bool:
        return None not in self.actions

    @property
    def reads_only(self) -> bool:
        return all(one.permission is Permission.READ for one in self.actions.values())

    @property
    def erases(self) -> bool:
        return any(one.erases or one.route.startswith("DELETE ") for one in self.actions.values())

    @property
    def idempotent(self) -> bool:
        """Whether calling it again with the same arguments changes nothing more."""
        return all(
            one.permission is Permission.READ or one.erases or one.route.split()[0] in _SAME_AGAIN
            for one in self.actions.values()
        )


@dataclass(frozen=True)
class Whole:
    """An argument that is an object, such as `goal`. Over MCP its fields are said side by side."""

    name: str
    model: type[Model]

    @property
    def fields(self) -> dict[str, bool]:
        """Those that a caller fills, and whether they may be left out."""
        return {
            name: not one.is_required()
            for name, one in self.model.model_fields.items()
            if name not in VECTORS and not (one.json_schema_extra or {}).get("readOnly")  # type: ignore[union-attr]
        }


@functools.cache
def whole(operation: Operation) -> Whole | None:
    for name, one in operation.signature.items():
        if isinstance(one.annotation, type) and issubclass(one.annotation, Model):
            return Whole(name, one.annotation)
    return None


def places() -> Iterator[tuple[ToolSlot, Operation]]:
    """Every place in a tool, with the operation that has it."""
    for operation in TABLE.values():
        yield from ((slot, operation) for slot in operation.mcp if isinstance(slot, ToolSlot))


def toolsets_of(operation: Operation) -> set[str]:
    return {slot.toolset for slot in operation.mcp if isinstance(slot, ToolSlot)}


def toolsets() -> list[str]:
    """The default first."""
    return sorted({slot.toolset for slot, _ in places()}, key=lambda name: (name != DEFAULT, name))


def chosen(names: Iterable[str]) -> frozenset[str]:
    """The toolsets of these names, which commas may part; `all` is all of our own."""
    known = toolsets()
    asked = frozenset(part.strip() for name in names for part in name.split(",")) or frozenset({DEFAULT})
    if wrong := asked - {*known, ALL}:
        raise InvalidInput(
            f"toolset: there is no {min(wrong)!r}", hint=f"one of {', '.join([*known, ALL])}", field="toolset"
        )
    return asked - {ALL} | (frozenset(known) - {COMPAT} if ALL in asked else frozenset())


def tools(names: frozenset[str]) -> dict[str, McpTool]:
    """The tools of these toolsets by name, in the order of their declarations."""
    found: dict[str, McpTool] = {}
    for slot, operation in places():
        if slot.toolset in names:
            known = found.get(slot.tool, McpTool(slot.tool, slot.toolset, {}))
            found[slot.tool] = McpTool(slot.tool, known.toolset, {**known.actions, slot.action: operation})
    return found


def resources(names: frozenset[str]) -> dict[str, Operation]:
    """Address -> operation. One that is a tool, too, is a resource where that tool is offered."""
    found: dict[str, Operation] = {}
    for operation in TABLE.values():
        homes = toolsets_of(operation)
        if not homes or homes & names or (COMPAT not in names and COMPAT not in homes):
            found |= {slot.uri: operation for slot in operation.mcp if isinstance(slot, ResourceSlot)}
    return found

"""The file of the official MCP memory server: a JSON object a line, an entity or a relation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent_memory.models.errors import InvalidInput
from agent_memory.models.graph import Edge, Node
from agent_memory.models.kinds.kind import fold


def parsed(text: str, skip_bad: bool) -> tuple[list[Node], list[Edge], list[str]]:
    """Entities, relations, each once, and what is wrong with the other lines: an error, unless they are passed over."""
    nodes: list[Node] = []
    edges: dict[Edge, None] = {}
    bad: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            kind = said.get("type") if isinstance(said, dict) else None
            if kind == "entity":
                nodes.append(_node(said))
            elif kind == "relation":
                edges[_edge(said)] = None
            else:
                bad[number] = "neither an entity nor a relation"
        except InvalidInput as error:
            bad[number] = error.message
        except (ValueError, RecursionError):
            bad[number] = "not JSON"
    told = [f"line {number}: {why}" for number, why in bad.items()]
    if told and not skip_bad:
        more = f" and {len(told) - 5} more" if len(told) > 5 else ""
        raise InvalidInput(
            f"text: {'; '.join(told[:5])}{more}",
            hint="correct them, or pass skip_bad to take over the rest; nothing was written",
            field="text",
        )
    return merged(nodes), list(edges), told


def merged(nodes: Iterable[Node]) -> list[Node]:
    """One entity per name and type, with the observations of all, each once."""
    found: dict[tuple[str, str], Node] = {}
    for node in nodes:
        kept = found.setdefault(called(node.name, node.entity_type), node)
        said = dict.fromkeys([*kept.observations, *node.observations])
        found[called(kept.name, kept.entity_type)] = kept.model_copy(update={"observations": list(said)})
    return list(found.values())


def called(name: str, type: str) -> tuple[str, str]:
    """Which entity that is. Names count as they are written, as at the official server; types do not."""
    return name, fold(type)


def _node(said: dict[str, Any]) -> Node:
    return Node(**_given(said, name="name", entity_type="entityType", observations="observations"))


def _edge(said: dict[str, Any]) -> Edge:
    return Edge(**_given(said, source="from", target="to", relation_type="relationType"))


def _given(said: dict[str, Any], **fields: str) -> dict[str, Any]:
    return {ours: said[theirs] for ours, theirs in fields.items() if theirs in said}

"""`memory.graph`: what is known, as the official MCP memory server shows it. Names instead of ids.

An entity is an entity of ours, an observation a fact about it, a relation a link between two entities: so recall finds
them, and what `memory.semantic` stores is in the graph, too. Entities and observations that are deleted are forgotten
for real; a relation ends, and stays in the history of links.
"""

from __future__ import annotations

from typing import Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.graph.draw import Drawing
from agent_memory.core.graph.file import parsed
from agent_memory.core.graph.look import GraphLook
from agent_memory.models.errors import InvalidInput
from agent_memory.models.graph import (
    Deleted,
    Edge,
    Edges,
    GraphImported,
    KnowledgeGraph,
    Node,
    Nodes,
    Observed,
    Observing,
    Unobserving,
)

LONGEST_QUERY = 2048


class Graph(Namespace):
    """The knowledge graph of the official MCP memory server: entities, observations, relations."""

    @operation(
        "graph.create_entities",
        "POST /graph/entities",
        permission=Permission.WRITE,
        mcp=[ToolSlot("compat", "create_entities")],
    )
    def create_entities(self, entities: list[Node]) -> Nodes:
        """Create multiple new entities in the knowledge graph.

        Those whose name is known are left as they are."""
        return self._drawing().create_entities(entities)

    @operation(
        "graph.create_relations",
        "POST /graph/relations",
        permission=Permission.WRITE,
        mcp=[ToolSlot("compat", "create_relations")],
    )
    def create_relations(self, relations: list[Edge]) -> Edges:
        """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice.

        Relations that are known are left as they are. An entity that does not exist yet is only mentioned by its
        relations until it is created.
        """
        return self._drawing().create_relations(relations)

    @operation(
        "graph.add_observations",
        "POST /graph/observations",
        permission=Permission.WRITE,
        mcp=[ToolSlot("compat", "add_observations")],
    )
    def add_observations(self, observations: list[Observing]) -> Observed:
        """Add new observations to existing entities in the knowledge graph.

        Those that are known are passed over."""
        return self._drawing().add_observations(observations)

    @operation(
        "graph.delete_entities",
        "POST /graph/entities/delete",
        permission=Permission.WRITE,
        mcp=[ToolSlot("compat", "delete_entities")],
        erases=True,
    )
    def delete_entities(self, entity_names: list[str]) -> Deleted:
        """Delete multiple entities and their associated relations from the knowledge graph.

        They are forgotten for real, with the observations about them alone."""
        return self._drawing().delete_entities(entity_names)

    @operation(
        "graph.delete_observations",
        "POST /graph/observations/delete",
        permission=Permission.WRITE,
        mcp=[ToolSlot("compat", "delete_observations")],
        erases=True,
    )
    def delete_observations(self, deletions: list[Unobserving]) -> Deleted:
        """Delete specific observations from entities in the knowledge graph.

        They are forgotten for real, all in one change; a fact that is about others, too, stays with them."""
        return self._drawing().delete_observations(deletions)

    @operation(
        "graph.delete_relations",
        "POST /graph/relations/delete",
        permission=Permission.WRITE,
        mcp=[ToolSlot("compat", "delete_relations")],
        erases=True,
    )
    def delete_relations(self, relations: list[Edge]) -> Deleted:
        """Delete multiple relations from the knowledge graph.

        They end; that they were stays in the journal. What only they mentioned is forgotten."""
        return self._drawing().delete_relations(relations)

    @operation(
        "graph.read", "GET /graph", mcp=[ToolSlot("compat", "read_graph"), ResourceSlot("memory://knowledge-graph")]
    )
    def read(self, **at: Unpack[Moments]) -> KnowledgeGraph:
        """Read the entire knowledge graph."""
        look = self._look(**at)
        return look.around(look.all(), look.all(mentioned=True))

    @operation("graph.search", "GET /graph/search", mcp=[ToolSlot("compat", "search_nodes")])
    def search(self, query: str, **at: Unpack[Moments]) -> KnowledgeGraph:
        """Search for nodes in the knowledge graph based on a query.

        It is looked for, without regard to case, in names, types and observations."""
        if len(query) > LONGEST_QUERY:
            raise InvalidInput(f"query: {len(query)} characters; the limit is {LONGEST_QUERY}", field="query")
        return self._look(**at).searched(query)

    @operation("graph.open", "POST /graph/open", mcp=[ToolSlot("compat", "open_nodes")])
    def open(self, names: list[str], **at: Unpack[Moments]) -> KnowledgeGraph:
        """Open specific nodes in the knowledge graph by their names."""
        look = self._look(**at)
        return look.around(look.named(names))

    @operation("graph.load", "POST /graph/load", permission=Permission.WRITE)
    def load(self, text: str, skip_bad: bool = False) -> GraphImported:
        """Import the JSONL file of the official MCP memory server, all of it or nothing. Importing it twice changes
        nothing.

        Entities that are known by name and type get the observations that are new. Lines that are neither an entity nor
        a relation are named by number, and nothing is written unless `skip_bad`.
        """
        entities, relations, bad = parsed(text, skip_bad)
        return self._drawing("import").load(entities, relations).model_copy(update={"bad": bad})

    def _look(self, **at: Unpack[Moments]) -> GraphLook:
        return GraphLook(self._client.runtime.store.records, self._client.view(at.get("as_of"), at.get("valid_at")))

    def _drawing(self, reason: str | None = None) -> Drawing:
        client = self._client
        return Drawing(client.runtime.writing, client.author(reason), client.clock)

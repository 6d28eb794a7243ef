"""`memory.archival`: what an agent keeps for good beside its prompt: the long-term memory, conversations apart. E9."""

from __future__ import annotations

from agent_memory.app.namespaces.asking import asked
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.experience.finding import nearest
from agent_memory.core.write.commit import commit
from agent_memory.models.draft import Draft
from agent_memory.models.limits import Hits, Query, RecordText
from agent_memory.models.record import Record
from agent_memory.models.session import FoundMemory


class Archival(Namespace):
    """Whatever recall knows, except turns, which `sessions.search` finds."""

    @operation(
        "archival.insert", "POST /archival", permission=Permission.WRITE, mcp=[ToolSlot("blocks", "archival", "insert")]
    )
    def insert(self, text: RecordText) -> FoundMemory:
        """Keep something for good, in words that will be understood without this conversation."""
        client = self._client
        draft = Draft(kind="observation", text=text, source="agent")
        applied = commit(client.runtime.writing, [draft], client.author(), client.now())
        [made] = client.runtime.store.records.get(client.view(), [applied.outcomes[0].id])
        return _found(made, 1.0)

    @operation("archival.search", "GET /archival", mcp=[ToolSlot("blocks", "archival", "search")])
    def search(self, query: Query, limit: Hits = 5) -> list[FoundMemory]:
        """Search what is kept: what was inserted, facts, decisions, preferences and everything else except
        conversations."""
        kinds = [kind.name for kind in self._client.runtime.kinds.values() if kind.searchable and kind.name != "turn"]
        view, where = asked(self._client, {"kinds": kinds})
        hits = nearest(self._client.runtime.recalling, query, view, where, limit, "query")
        return [_found(one.record, one.relevance) for one in hits]


def _found(record: Record, relevance: float) -> FoundMemory:
    return FoundMemory(id=record.id, kind=record.kind, text=record.text, at=record.valid_from, relevance=relevance)

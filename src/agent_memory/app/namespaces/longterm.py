"""`memory.longterm`: the archives, and one search over them. T3."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.experience.finding import nearest
from agent_memory.core.write.commit import Revision, commit, commit_after_reading
from agent_memory.models.answer import Hit
from agent_memory.models.archive import ARCHIVES, COLLECTIONS, Collection, Found, Procedure
from agent_memory.models.draft import Draft
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.decisions import ConfigChange, Incident
from agent_memory.models.kinds.documents import CHUNK
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.limits import Hits, Query
from agent_memory.models.model import Name, Text, new_id
from agent_memory.models.record import Record, Status
from agent_memory.ports.changes import Expect
from agent_memory.ports.records import Filter


class Longterm(Namespace):
    """Procedures, incidents, the history of settings, and decisions, old ones included."""

    @operation("longterm.semantic_search", "GET /archive", mcp=[ToolSlot("experience", "archive", "search")])
    def semantic_search(
        self, query: Query, collections: list[Collection] | None = None, n_results: Hits = 5, **at: Unpack[Moments]
    ) -> list[Found]:
        """What fits best in decisions, incidents and procedures, or in the collections that are named; `knowledge` is
        facts, entities and documents. Merged by relevance; includes what was archived, except documents."""
        chosen = ARCHIVES if collections is None else tuple(collections)
        kinds = [kind for kind, name in COLLECTIONS.items() if name in chosen]
        old = [kind for kind in kinds if kind != CHUNK]
        hits = self._nearest(query, old, (Status.ACTIVE, Status.ARCHIVED), n_results, at) if old else []
        if CHUNK in kinds:  # what a document does not say any more is no answer
            hits += self._nearest(query, [CHUNK], (Status.ACTIVE,), n_results, at)
        best = sorted(hits, key=lambda hit: -hit.relevance)[:n_results]
        return [
            Found(
                content=hit.record.text,
                metadata=_metadata(hit.record),
                relevance=hit.relevance,
                collection=COLLECTIONS[hit.record.kind],
            )
            for hit in best
        ]

    def _nearest(
        self, query: str, kinds: list[str], statuses: tuple[Status, ...], limit: int, at: Moments
    ) -> list[Hit]:
        view, where = asked(self._client, {"kinds": kinds}, at)
        where = where._replace(statuses=statuses)
        return nearest(self._client.runtime.recalling, query, view, where, limit, "query")

    @operation(
        "longterm.store_procedure",
        "PUT /procedures/{name}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "archive", "procedure")],
    )
    def store_procedure(self, name: Name, description: Text, steps: list[str]) -> Procedure:
        """Store how something is done; the same name again is a new version of it."""
        stored: list[Procedure] = []

        def read() -> Revision:
            old = self._procedure(name)
            id = old.id if old else new_id()
            stored[:] = [Procedure(id=id, name=name, description=description, steps=steps)]
            listed = "".join(f"\n{number}. {step}" for number, step in enumerate(steps, 1))
            draft = Draft(
                kind="procedure",
                id=id,
                text=f"{name}: {description}{listed}",
                payload={"name": name, "steps": steps, "description": description},
            )
            return Revision(draft, Expect(old.version if old else 0, id=id), self._client.author())

        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return stored[0]

    def _procedure(self, name: str) -> Record | None:
        """The one of this name that stands alone, and not on a page."""
        where = Filter(kinds=("procedure",), fields=(("name", name), ("section", "procedure")))
        found = self._client.runtime.store.records.find(self._client.view(), where, limit=100)
        own = (one for one in found if one.scope == self._client.scope and one.key is None)
        return next(own, None)

    @operation(
        "longterm.store_incident",
        "POST /incidents",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "archive", "incident")],
    )
    def store_incident(self, incident: Incident) -> Incident:
        """Store what went wrong: timeline, severity, services, resolution, lessons; the same id again updates it."""
        client = self._client
        commit(client.runtime.writing, [incident.draft()], client.author(), client.now())
        return incident

    @operation("longterm.get_incident", "GET /incidents/{id}")
    def get_incident(self, id: str, **at: Unpack[Moments]) -> Incident:
        """One incident by its id."""
        found = self._client.runtime.store.records.get(self._client.view(**at), [id])
        if not found or found[0].kind != "incident":
            raise NotFound(f"no incident {id!r}", field="id")
        return Incident.of(found[0])

    @operation(
        "longterm.store_config_change",
        "POST /config-changes",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "archive", "setting")],
    )
    def store_config_change(self, change: ConfigChange) -> ConfigChange:
        """Record that a setting got another value: from what, to what, by whom and why. A change that happened before
        the last one is put in its place in the history."""
        key = joined_key(change.key)
        stored: list[ConfigChange] = []

        def read() -> Revision:
            old, head = change.old, self._client.own("config_change", key=key)
            at = change.changed_at or self._client.clock.now()
            if head is not None and "old" not in change.model_fields_set:
                before = self._client.runtime.store.records.by_key(self._client.view(valid_at=at), "config_change", key)
                old = before.payload.get("new") if before else None
            id = head.id if head else change.id
            stored[:] = [change.model_copy(update={"id": id, "old": old, "changed_at": at})]
            expect = Expect(head.version if head else 0, kind="config_change", key=key)
            return Revision(stored[0].draft(), expect, self._client.author())

        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return stored[0]

    @operation("longterm.get_config", "GET /config-changes/{key}")
    def get_config(self, key: str, **at: Unpack[Moments]) -> ConfigChange | None:
        """The change that set the current value of a setting: now, as of what was known at a moment, or at a moment in
        the world."""
        found = self._client.runtime.store.records.by_key(self._client.view(**at), "config_change", joined_key(key))
        return None if found is None else ConfigChange.of(found)

    @operation("longterm.get_config_history", "GET /config-changes/{key}/history")
    def get_config_history(self, key: str, **at: Unpack[Moments]) -> list[ConfigChange]:
        """Every change of a setting, the oldest first."""
        records, view = self._client.runtime.store.records, self._client.view(**at)
        found = records.by_key(view, "config_change", joined_key(key))
        versions = records.history(view, found.id) if found else []
        believed = [one for one in versions if one.recorded_to is None]
        return [ConfigChange.of(one) for one in sorted(believed, key=lambda one: one.valid_from)]


def _metadata(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "kind": record.kind,
        "source": record.source,
        "at": record.valid_from.isoformat(),
        "status": str(record.status),
        **record.payload,
    }

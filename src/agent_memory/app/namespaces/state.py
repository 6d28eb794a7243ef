"""`memory.state`: what an agent works with for days: decisions, patterns, states. T2, T6, T7, T10."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.namespaces.patterns import Patterns
from agent_memory.app.namespaces.worklist import Worklist
from agent_memory.app.operations import Permission, ToolSlot, operation
from agent_memory.core.experience.archive import migrate
from agent_memory.core.experience.finding import nearest, similar, summary
from agent_memory.core.write.commit import Revision, commit, commit_after_reading
from agent_memory.models.archive import Relevant
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.decisions import Decision
from agent_memory.models.kinds.experience import offered
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.patterns import AgentState
from agent_memory.models.limits import Hits, Query
from agent_memory.models.model import Moment
from agent_memory.models.moment import to_micros
from agent_memory.ports.changes import Expect


class State(Patterns, Worklist):
    """Goals, tasks, decisions, patterns and agent states: what is worked with, before it becomes an archive."""

    @operation(
        "state.log_decision",
        "POST /decisions",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "decisions", "log")],
    )
    def log_decision(self, decision: Decision) -> Decision:
        """Log what was decided, by whom, why and among which alternatives; the same id again corrects it."""
        client = self._client
        commit(client.runtime.writing, [decision.draft()], client.author(), client.now())
        return decision

    @operation(
        "state.record_outcome",
        "POST /decisions/{id}/outcome",
        permission=Permission.WRITE,
        mcp=[ToolSlot("experience", "decisions", "outcome")],
    )
    def record_outcome(self, id: str, outcome: str, success: bool | None = None) -> Decision:
        """Record how a decision turned out; what was known of it before stays in its history."""
        made: list[Decision] = []

        def read() -> Revision:
            old, author = self._client.head("decision", id)
            if old is None:
                raise NotFound(f"no decision {id!r} of this user's own", field="id")
            made[:] = [Decision.of(old).model_copy(update={"outcome": outcome, "success": success})]
            return Revision(made[0].draft(), Expect(old.version, id=id), author)

        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return made[0]

    @operation(
        "state.find_similar_decisions", "GET /decisions/similar", mcp=[ToolSlot("experience", "decisions", "similar")]
    )
    def find_similar_decisions(self, context: Query, limit: Hits = 5, **at: Unpack[Moments]) -> list[Decision]:
        """Decisions in situations like this one, the most similar first, each with its relevance."""
        view, where = asked(self._client, {"kinds": ["decision"]}, at)
        found = similar(self._client.runtime.recalling, context, view, where, limit, "context")
        return [Decision.of(hit.record, hit.relevance) for hit in found]

    @operation("state.find_relevant", "GET /state/relevant", mcp=[ToolSlot("experience", "relevant")])
    def find_relevant(self, task_description: Query, limit: Hits = 5, **at: Unpack[Moments]) -> list[Relevant]:
        """What of goals, tasks, decisions, patterns and strategies helps with a task, the most relevant first."""
        kinds = self._client.runtime.kinds
        working = [kind.name for kind in kinds.values() if kind.tier == "working" and kind.searchable]
        view, where = asked(self._client, {"kinds": working}, at)
        found = nearest(self._client.runtime.recalling, task_description, view, where, limit, "task_description")
        return [
            Relevant(
                id=hit.record.id,
                kind=hit.record.kind,
                summary=summary(hit.record, kinds[hit.record.kind]),
                relevance=hit.relevance,
            )
            for hit in found
            if offered(hit.record)
        ]

    @operation("state.store_agent_state", "PUT /agent-states/{name}", permission=Permission.WRITE)
    def store_agent_state(self, name: str, state: dict[str, Any]) -> AgentState:
        """Store the state of an agent under its name; the state before stays in its history."""
        client = self._client
        made = AgentState(agent=name, state=state, updated_at=client.clock.now())
        outcome = commit(client.runtime.writing, [made.draft()], client.author(), client.now()).outcomes[0]
        return made.model_copy(update={"id": outcome.id})

    @operation("state.get_agent_state", "GET /agent-states/{name}")
    def get_agent_state(self, name: str, **at: Unpack[Moments]) -> AgentState | None:
        """The last stored state of an agent, now or as of a moment; none if there is none."""
        view = self._client.view(**at)
        found = self._client.runtime.store.records.by_key(view, "agent_state", joined_key(name))
        return None if found is None else AgentState.of(found)

    @operation("state.migrate_old_entries", "POST /state/migrate", permission=Permission.WRITE)
    def migrate_old_entries(self, cutoff: Moment) -> dict[str, int]:
        """Move decisions, events and finished goals and tasks from before `cutoff` into the archive, with a summary of
        each batch; says how many of which kind. They are found there by `longterm.semantic_search`."""
        client = self._client
        return migrate(client.runtime.writing, client.view(), client.author(), to_micros(cutoff))

    @operation("state.vacuum", "POST /state/vacuum", permission=Permission.OPERATOR)
    def vacuum(self) -> dict[str, int]:
        """Clean up the whole store: receipts that have expired and, on the disk, what was forgotten. `owed` is 1 while
        some of that has to wait because a reader is active."""
        client = self._client
        client.runtime.receipts.flush()
        expired = client.runtime.store.receipts.expire(client.now())
        scrubbed = client.runtime.store.scrub(True)
        return {"receipts": expired, "owed": int(not (client.runtime.debts.pay() and scrubbed))}

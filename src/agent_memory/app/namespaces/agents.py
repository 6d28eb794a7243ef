"""`memory.agents`: agents whose cycles survive them. L1–L4, L7, L8."""

from __future__ import annotations

from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked, chosen_recipe
from agent_memory.app.namespaces.vectors import recalled_from
from agent_memory.app.operations import Namespace, Operation, Permission, ToolSlot, operation
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.core.work import agents
from agent_memory.models.kinds.agent import (
    ActionProposal,
    ActionResult,
    Agent,
    AgentCycle,
    AgentPayload,
    MemoryRecord,
    Noted,
    Overrides,
    Recollected,
    Resumed,
)
from agent_memory.models.limits import Few, Hits, Many, Query, RecordText
from agent_memory.models.model import Name


class Agents(Namespace):
    """Agents with directives and settings of their own, and what they did: cycles with a proposal before the act and a
    result after it. One that was killed goes on where it was."""

    @operation("agents.create", "POST /agents", permission=Permission.WRITE, mcp=[ToolSlot("work", "agents", "create")])
    def create(self, name: Name, directives: RecordText, overrides: dict[str, Any] = {}) -> Agent:  # noqa: B006
        """Store an agent. If there is one with this name, it takes these directives and overrides.

        Overrides: `recipe`, `k` and `namespaces` decide what it recalls, `model` and `budget` go with each of its
        cycles.
        """
        own = Overrides(**overrides)
        if own.recipe is not None:
            chosen_recipe(self._client, own.recipe)
        return agents.create(self._client.ground(), AgentPayload(name=name, directives=directives, overrides=own))

    @operation("agents.get", "GET /agents/{name}", mcp=[ToolSlot("work", "agents", "get")])
    def get(self, name: Name, **at: Unpack[Moments]) -> Agent:
        """One agent, by its name or id."""
        return agents.named(self._client.ground(), name, self._client.view(**at))

    @operation("agents.begin", "POST /agents/{agent_id}/cycles", permission=Permission.WRITE)
    def begin(self, agent_id: Name) -> AgentCycle:
        """Begin the next cycle of an agent; whoever continues the cycle needs its `token`.

        Refused while another cycle is unfinished: `resume` takes over from a process that is gone.
        """
        return agents.begin(self._client.ground(), agent_id)

    @operation("agents.propose", "POST /cycles/{cycle_id}/proposal", permission=Permission.WRITE)
    def propose(self, cycle_id: Name, token: Name, proposal: ActionProposal) -> AgentCycle:
        """Store what is about to be done, before it is done.

        Pass `key` to the tool, so that it acts only once; the same key again continues an act that was interrupted.
        """
        return agents.propose(self._client.ground(), cycle_id, token, proposal)

    @operation("agents.result", "POST /cycles/{cycle_id}/result", permission=Permission.WRITE)
    def result(self, cycle_id: Name, token: Name, result: ActionResult) -> AgentCycle:
        """Store the outcome: this ends the cycle, and makes a record that recalls find."""
        return agents.result(self._client.ground(), cycle_id, token, result)

    @operation("agents.resume", "POST /agents/{agent_id}/resume", permission=Permission.WRITE, shows=True)
    def resume(self, agent_id: Name) -> Resumed:
        """Take over an agent whose process is gone: what was in flight is marked as interrupted, and returned.

        The process that began it can no longer report anything in it.
        """
        return agents.resume(self._client.ground(), agent_id)

    @operation("agents.cycle", "GET /agents/{agent_id}/cycles/{index}")
    def cycle(self, agent_id: Name, index: int, **at: Unpack[Moments]) -> AgentCycle:
        """One cycle of an agent by its index; the first is 1."""
        return agents.at_index(self._client.ground(), self._client.view(**at), agent_id, index)

    @operation("agents.cycles", "GET /agents/{agent_id}/cycles", mcp=[ToolSlot("work", "agents", "cycles")])
    def cycles(self, agent_id: Name, limit: Many = 20, **at: Unpack[Moments]) -> list[AgentCycle]:
        """Cycles of an agent, the newest first."""
        ground, view = self._client.ground(), self._client.view(**at)
        return agents.last_cycles(ground, view, agents.named(ground, agent_id, view).id, limit)

    @operation("agents.note", "POST /agents/{agent_id}/notes", permission=Permission.WRITE)
    def note(
        self,
        agent_id: Name,
        type: Noted,
        content: RecordText,
        cycle_id: Name | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> MemoryRecord:
        """Store what an agent observed, thought, plans or got, optionally as part of one of its cycles."""
        about = {"cycle_id": cycle_id, "metadata": metadata}
        return agents.note(self._client.ground(), agent_id, type, content, about)

    @operation("agents.notes", "GET /agents/{agent_id}/notes", mcp=[ToolSlot("work", "agents", "notes")])
    def notes(self, agent_id: Name, type: Noted, limit: Many = 20, **at: Unpack[Moments]) -> list[MemoryRecord]:
        """What an agent noted, of one type, the newest first. Results of its cycles are included."""
        ground = self._client.ground()
        fields = {"agent_id": agents.named(ground, agent_id, self._client.view(**at)).id}
        view, chosen = asked(self._client, {"kinds": [type], "fields": fields}, at)
        return [MemoryRecord.of(one) for one in ground.records.find(view, chosen, limit=limit)]

    @operation("agents.recall", "POST /agents/{agent_id}/recall", mcp=[ToolSlot("work", "agents", "recall")])
    def recall(
        self, agent_id: Name, query: Query, k: Hits | None = None, run_id: Name | None = None
    ) -> list[Recollected]:
        """What may help an agent: records found as its overrides say (recipe, k, namespaces), then its newest
        results."""
        client, ground = self._client, self._client.ground()
        agent = agents.named(ground, agent_id)
        own = agent.overrides
        top = k or own.k or client.settings.default_top_k
        if own.namespaces:
            near = [hit for name in own.namespaces for hit in recalled_from(client, query, name, top, None).hits]
            best = {hit.id: hit for hit in sorted(near, key=lambda hit: hit.score)}
            found = [(hit.record, hit.score) for hit in sorted(best.values(), key=lambda hit: -hit.score)[:top]]
        else:
            view, where = asked(client, {}, searchable=True)
            question = Question(query, view, where, top, chosen_recipe(client, own.recipe or "default"), run=run_id)
            found = [(hit.record, hit.score) for hit in recall(client.runtime.recalling, question)]
        known = {record.id for record, _ in found}
        recent = [one for one in agents.newest_results(ground, agent.id) if one.id not in known]
        return [
            *(Recollected(source="index", record=record, score=score) for record, score in found),
            *(Recollected(source="recent", record=record) for record in recent),
        ]

    @operation("agents.list", "GET /agents", mcp=[ToolSlot("work", "agents", "list")])
    def list(self, limit: Few = 100, **at: Unpack[Moments]) -> list[Agent]:
        """All agents, the newest first."""
        view, chosen = asked(self._client, {"kinds": ["agent"]}, at)
        return [Agent.of(one) for one in self._client.runtime.store.records.find(view, chosen, limit=limit)]

    def _answered(self, operation: Operation, answer: Any) -> Any:
        for one in answer if isinstance(answer, list) else [answer]:
            if isinstance(one, Agent):
                one.through(self)
        return answer

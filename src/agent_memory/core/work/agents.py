"""Agents that resume: cycles with an index each, a proposal before the act, a result after it. L1–L4, L7, L8.

    open → proposed → complete
      ↘       ↓
       interrupted

One cycle of an agent is open at a time. Its key is (agent, index), so the store itself lets nobody begin the same one
twice; only whoever holds its token goes on with it, and every step expects the version that it read. No clock decides.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from agent_memory.core.work.ground import Ground, WorkStep
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Conflict, LeaseLost, NotFound
from agent_memory.models.kinds.agent import (
    ActionProposal,
    ActionResult,
    Agent,
    AgentCycle,
    AgentPayload,
    MemoryRecord,
    Noted,
    Resumed,
)
from agent_memory.models.kinds.kind import canonical_json, joined_key
from agent_memory.models.model import new_id
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Record
from agent_memory.ports.changes import Author, Expect
from agent_memory.ports.records import Filter, View

SHOWN = 2000  # characters of an output that recall can find
RECENT = 5  # results that every recall of an agent has, whatever was asked


def create(ground: Ground, payload: AgentPayload) -> Agent:
    """Store an agent; one of the same name gets these directives and overrides from now on."""
    key = joined_key(payload.name)
    plain = {**payload.model_dump(mode="json"), "overrides": payload.overrides.plain()}

    def read() -> WorkStep:
        old = ground.records.head(ground.author.scope, "agent", key=key)
        expect = Expect(old.version, id=old.id) if old else Expect(0, kind="agent", key=key)
        draft = Draft(kind="agent", id=old.id if old else new_id(), text=payload.name, payload=plain)
        return WorkStep(ground.author, [draft], [expect], answer=draft.id)

    made = ground.own("agent", cast(str, ground.take(read).answer))[0]
    return Agent.of(made)


def named(ground: Ground, name: str, view: View | None = None) -> Agent:
    """By id or name."""
    view = view or ground.view()
    found = ground.records.get(view, [name])
    if found and found[0].kind == "agent":
        return Agent.of(found[0])
    record = ground.records.by_key(view, "agent", joined_key(name))
    if record is None:
        raise NotFound(f"no agent {name!r}", hint="`agents list` shows which there are", field="name")
    return Agent.of(record)


def begin(ground: Ground, agent_id: str) -> AgentCycle:
    """The next cycle. `Conflict` while one is not at its end: `resume` takes over."""

    def read() -> WorkStep:
        agent, author = _own(ground, agent_id)
        last = ground.last(author, "cycle", ("agent_id", agent.id))
        if last is not None and last.payload["status"] not in ("complete", "interrupted"):
            raise Conflict(
                f"agent {agent.payload['name']!r} is in cycle {last.payload['index']}, which has no result yet",
                hint="wait for it, or take over with resume if the process that began it is gone",
                field="agent_id",
            )
        index = 1 if last is None else last.payload["index"] + 1
        payload = {"agent_id": agent.id, "index": index, "token": secrets.token_hex(8), **_left(last)}
        draft = Draft(kind="cycle", id=new_id(), text="", payload={**payload, "overrides": agent.payload["overrides"]})
        return WorkStep(author, [draft], [Expect(0, kind="cycle", key=_key(agent.id, index))], answer=draft.id)

    return AgentCycle.of(ground.own("cycle", cast(str, ground.take(read).answer))[0])


def propose(ground: Ground, cycle_id: str, token: str, proposal: ActionProposal) -> AgentCycle:
    """Before the act. The same proposal twice is stored once."""
    keyed = proposal if proposal.key else proposal.model_copy(update={"key": cycle_id})

    def change(cycle: AgentCycle) -> dict[str, Any] | None:
        if cycle.status == "interrupted":
            raise _ended(cycle, "")
        if cycle.proposal is not None:
            if cycle.proposal == keyed:
                return None
            raise _ended(cycle, "has a proposal already")
        return {"status": "proposed", "proposal": keyed.dumped(exclude_none=True)}

    return _changed(ground, cycle_id, token, change)


def result(ground: Ground, cycle_id: str, token: str, result: ActionResult) -> AgentCycle:
    """After the act. It is also a record of its own, which recalls find."""

    def change(cycle: AgentCycle) -> dict[str, Any] | None:
        if cycle.result is not None:
            if cycle.result == result:
                return None
            raise _ended(cycle, "has a result already")
        if cycle.proposal is None and result.outcome == "success":
            raise _ended(cycle, "has no proposal: store one before the act")
        return _end(ground, result)

    return _changed(ground, cycle_id, token, change)


def resume(ground: Ground, agent_id: str) -> Resumed:
    """Interrupt what is in flight, and say what it was. Called again, it gives the same answer until a cycle begins."""
    agent, author = _own(ground, agent_id)

    def read() -> WorkStep:
        last = ground.last(author, "cycle", ("agent_id", agent.id))
        if last is None or last.payload["status"] in ("complete", "interrupted"):
            return WorkStep(author, answer=last)
        ended = {**last.payload, **_end(ground, ActionResult(outcome="interrupted"))}
        drafts = [replace(Draft.of(last), payload=ended), _result_draft(AgentCycle.of(last), ended["result"])]
        return WorkStep(author, drafts, [Expect(last.version, id=last.id)], answer=last)

    step = ground.take(read)
    if step.answer is None:
        return Resumed(agent_id=agent.id, next_index=1)
    newest = ground.own("cycle", cast(Record, step.answer).id)[0]
    index, left = newest.payload["index"], _left(newest)

    def at(index: int | None) -> AgentCycle | None:
        found = ground.records.head(author.scope, "cycle", key=_key(agent.id, index)) if index else None
        return None if found is None else AgentCycle.of(found)

    flying = at(left["unsettled"]) or (None if left["after"] == index else AgentCycle.of(newest))
    return Resumed(agent_id=agent.id, next_index=index + 1, last=at(left["after"]), in_flight=flying)


def at_index(ground: Ground, view: View, agent_id: str, index: int) -> AgentCycle:
    found = ground.records.by_key(view, "cycle", _key(named(ground, agent_id, view).id, index))
    if found is None:
        raise NotFound(f"agent {agent_id!r} has no cycle {index}", field="index")
    return AgentCycle.of(found)


def last_cycles(ground: Ground, view: View, agent_id: str, limit: int) -> list[AgentCycle]:
    """The ones with the highest indexes first. Where a clock went back, those are not the ones that began last."""
    where = Filter(kinds=("cycle",), fields=(("agent_id", agent_id),))
    found = {one.payload["index"]: one for one in ground.records.find(view, where, limit=limit)}
    last = max(found, default=0)
    while after := ground.records.by_key(view, "cycle", _key(agent_id, last + 1)):
        last += 1
        found[last] = after
    for index in range(last, max(0, last - limit), -1):
        if index not in found and (one := ground.records.by_key(view, "cycle", _key(agent_id, index))):
            found[index] = one
    return [AgentCycle.of(found[index]) for index in sorted(found, reverse=True)[:limit]]


def note(ground: Ground, agent_id: str, type: Noted, content: str, about: dict[str, Any]) -> MemoryRecord:
    """Something that an agent saw, thought or plans; `about` has its cycle and metadata, where there are any."""
    agent, author = _own(ground, agent_id)
    agent_id = agent.id
    if about.get("cycle_id") is not None and ground.own("cycle", about["cycle_id"])[0].payload["agent_id"] != agent_id:
        raise NotFound(f"agent {agent_id!r} has no cycle {about['cycle_id']!r}", field="cycle_id")
    payload = {"agent_id": agent_id, **{name: value for name, value in about.items() if value}}
    if type == "reflection":
        payload |= {"type": "insight", "state": "done"}
    draft = Draft(kind=type, id=new_id(), text=content, payload=payload, source="agent")
    ground.take(lambda: WorkStep(author, [draft]))
    return MemoryRecord.of(ground.own(type, str(draft.id))[0])


def newest_results(ground: Ground, agent_id: str) -> list[Record]:
    """Of those that began last and those of the last cycles, the ones that were stored last: a clock may have gone
    back."""
    cycles = [("cycle_id", one.id) for one in last_cycles(ground, ground.view(), agent_id, RECENT)]
    found: dict[str, Record] = {}
    for field in (("agent_id", agent_id), *cycles):
        where = Filter(kinds=("result",), fields=(field,))
        found |= {one.id: one for one in ground.records.find(ground.view(), where, limit=RECENT)}
    return sorted(found.values(), key=lambda one: -one.seq)[:RECENT]


def _own(ground: Ground, name: str) -> tuple[Record, Author]:
    """An agent of this user's own, by id or name."""
    return ground.own("agent", named(ground, name).id)


def _changed(
    ground: Ground, cycle_id: str, token: str, change: Callable[[AgentCycle], dict[str, Any] | None]
) -> AgentCycle:
    def read() -> WorkStep:
        old, author = ground.own("cycle", cycle_id)
        cycle = AgentCycle.of(old)
        if cycle.token != token:
            raise LeaseLost(
                f"cycle {cycle.index} belongs to another process; nothing was written",
                hint="use the token that begin gave",
                field="token",
            )
        changed = change(cycle)
        if changed is None:
            return WorkStep(author)
        drafts = [replace(Draft.of(old), payload={**old.payload, **changed})]
        if "result" in changed:
            drafts.append(_result_draft(cycle, changed["result"]))
        return WorkStep(author, drafts, [Expect(old.version, id=cycle_id)])

    ground.take(read)
    return AgentCycle.of(ground.own("cycle", cycle_id)[0])


def _ended(cycle: AgentCycle, why: str) -> Conflict:
    if cycle.status == "interrupted":
        return LeaseLost(
            f"cycle {cycle.index} was interrupted: another process took this agent over; nothing was written",
            hint="stop; the other process goes on with it",
            field="cycle_id",
        )
    return Conflict(f"cycle {cycle.index} {why}", field="cycle_id")


def _end(ground: Ground, result: ActionResult) -> dict[str, Any]:
    status = "interrupted" if result.outcome == "interrupted" else "complete"
    dumped = result.dumped(exclude_none=True)
    return {"status": status, "result": dumped, "ended_at": from_micros(ground.clock()).isoformat()}


def _result_draft(cycle: AgentCycle, result: dict[str, Any]) -> Draft:
    """A result as a record of its own."""
    parts = [result.get("output"), result.get("error")]
    texts = [one if isinstance(one, str) else canonical_json(one, "output") for one in parts if one is not None]
    tool = cycle.proposal.tool if cycle.proposal else None
    text = f"{tool or 'cycle ' + str(cycle.index)}: {result['outcome']}" + "".join(f"\n{one[:SHOWN]}" for one in texts)
    about = {"index": cycle.index, "outcome": result["outcome"], "tool": tool}
    payload = {"agent_id": cycle.agent_id, "cycle_id": cycle.id, "metadata": about}
    return Draft(kind="result", id=new_id(), text=text, payload=payload, source="agent")


def _key(agent_id: str, index: int) -> str:
    return joined_key(agent_id, index)


def _left(last: Record | None) -> dict[str, int | None]:
    """What the cycle after `last` keeps about those before it: however often the agent is killed, an act that may have
    happened is found again without walking back through its cycles."""
    if last is None:
        return {"after": None, "unsettled": None}
    before = last.payload
    if before["status"] == "complete":  # one that proposed nothing has settled nothing
        return {"after": before["index"], "unsettled": None if before.get("proposal") else before.get("unsettled")}
    unsettled = before["index"] if before.get("proposal") else before.get("unsettled")
    return {"after": before.get("after"), "unsettled": unsettled}

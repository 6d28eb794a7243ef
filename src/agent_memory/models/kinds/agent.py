"""Agents that resume: who an agent is, what it did in each cycle, and what it noted on the way. L1–L4."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Literal, Protocol, Self

from pydantic import Field, PrivateAttr

from agent_memory.models.errors import AgentMemoryError, StoreError
from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.limits import Hits
from agent_memory.models.model import Model, Moment, Name, Text, now_utc
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Record

CycleStatus = Literal["open", "proposed", "complete", "interrupted"]
Noted = Literal["observation", "reflection", "plan", "result"]
OutcomeOfAct = Literal["success", "failure", "interrupted"]


class Overrides(Model):
    """What is different for one agent. `recipe`, `k` and `namespaces` decide what it recalls; `model` and `budget` go
    with each cycle, for whoever calls the model."""

    recipe: str | Recipe | None = None
    k: Hits | None = None
    namespaces: list[Name] | None = None
    model: Name | None = None
    budget: dict[str, float] | None = None

    def plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class AgentPayload(Model):
    name: Name
    directives: Text = ""
    overrides: Overrides = Field(default_factory=Overrides)


class ActionProposal(Model):
    """What an agent is about to do, stored before it does it. `key` is for the tool: an act that was interrupted is
    proposed again under the same one, and the tool acts once. `cues` point at what it looked at."""

    tool: Name | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    reasoning: Text | None = None
    plan: Any = None
    cues: list[Any] = Field(default_factory=list)
    key: Name | None = None


class ActionResult(Model):
    """What came of it. `error` is what the tool said; `artifacts` point at what it left behind."""

    outcome: OutcomeOfAct = "success"
    output: Any = None
    error: Any = None
    artifacts: list[Any] = Field(default_factory=list)


class CyclePayload(Model):
    agent_id: Name
    index: int = Field(ge=1)
    status: CycleStatus = "open"
    token: Name
    overrides: Overrides = Field(default_factory=Overrides)
    proposal: ActionProposal | None = None
    result: ActionResult | None = None
    ended_at: Moment | None = None
    after: int | None = None
    unsettled: int | None = None


class AgentCycle(CyclePayload):
    """One iteration of an agent, from its beginning to its result. Indexes begin at 1 and have no gaps. `token` is for
    the process that began it: nobody else can propose, or report a result, in it. `after` is the last cycle before it
    that is complete, `unsettled` the last one since then that was interrupted with a proposal."""

    id: Name
    started_at: Moment

    @classmethod
    def of(cls, record: Record) -> AgentCycle:
        return cls(id=record.id, started_at=record.valid_from, **record.payload)


class MemoryRecord(Model):
    """Something that an agent noted, of one cycle where one is named."""

    id: Name
    agent_id: Name
    type: Noted
    content: Text
    cycle_id: Name | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: Moment = Field(default_factory=now_utc)

    @classmethod
    def of(cls, record: Record) -> MemoryRecord:
        payload = record.payload
        return cls.model_validate(
            {
                "id": record.id,
                "agent_id": payload["agent_id"],
                "type": record.kind,
                "content": record.text,
                "cycle_id": payload.get("cycle_id"),
                "metadata": payload.get("metadata") or {},
                "created_at": record.valid_from,
            }
        )


class Recollected(Model):
    """A record that may help. `index`: found by a search, with a `score`; `recent`: one of the newest results."""

    source: Literal["index", "recent"]
    record: Record
    score: float | None = None


class Resumed(Model):
    """Where an agent goes on: after the last cycle with a result of its own. `in_flight` is the newest one since then
    that was interrupted with a proposal: whether its act happened, its tool can tell by the proposal's `key`. Where
    none has a proposal, nothing was done, and it is the newest that was interrupted."""

    agent_id: Name
    next_index: int
    last: AgentCycle | None = None
    in_flight: AgentCycle | None = None


class Acting(Protocol):
    """The operations that an agent and its cycles are short for."""

    def begin(self, agent_id: str) -> AgentCycle: ...

    def propose(self, cycle_id: str, token: str, proposal: ActionProposal) -> AgentCycle: ...

    def result(self, cycle_id: str, token: str, result: ActionResult) -> AgentCycle: ...

    def resume(self, agent_id: str) -> Resumed: ...

    def note(
        self, agent_id: str, type: Noted, content: str, cycle_id: str | None = None, metadata: dict[str, Any] = ...
    ) -> MemoryRecord: ...

    def recall(self, agent_id: str, query: str, k: int | None = None) -> list[Recollected]: ...


class Agent(AgentPayload):
    """Who acts: a name, directives, and what is different for it."""

    id: Name
    created_at: Moment = Field(default_factory=now_utc)
    _acting: Acting | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, record: Record) -> Agent:
        return cls(id=record.id, created_at=record.valid_from, **record.payload)

    def through(self, acting: Acting) -> Agent:
        """The same, able to act."""
        self._acting = acting
        return self

    @property
    def acting(self) -> Acting:
        if self._acting is None:
            raise StoreError("this agent belongs to no memory", hint="ask for it: memory.agents.get(name)")
        return self._acting

    def cycle(self) -> Cycle:
        """The next cycle: `with agent.cycle() as c`."""
        return Cycle(self)

    def resume(self) -> Resumed:
        """Take over: what was in flight is interrupted, and whoever began it can report nothing any more."""
        return self.acting.resume(self.id)

    def recall(self, query: str, k: int | None = None) -> list[Recollected]:
        """What may help, searched as this agent's overrides say, with its newest results."""
        return self.acting.recall(self.id, query, k)

    def note(self, type: Noted, content: str, **metadata: Any) -> MemoryRecord:
        return self.acting.note(self.id, type, content, None, metadata)


class Cycle:
    """A cycle that this process is in. A block that ends without a result leaves `interrupted`, one that raises leaves
    `failure` with the error, or `interrupted` if it was stopped from outside, or if the act was over and its result
    could not be stored."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._cycle: AgentCycle | None = None
        self._acted = False

    @property
    def now(self) -> AgentCycle:
        """As it was last stored."""
        if self._cycle is None:
            raise StoreError("this cycle has not begun", hint="use it as `with agent.cycle() as c`")
        return self._cycle

    @property
    def index(self) -> int:
        return self.now.index

    @property
    def key(self) -> str | None:
        """With which the tool can act once; there is one when something was proposed."""
        return self.now.proposal.key if self.now.proposal else None

    def __enter__(self) -> Self:
        self._cycle = self._agent.acting.begin(self._agent.id)
        return self

    def propose(self, tool: str | None = None, arguments: dict[str, Any] | None = None, **more: Any) -> ActionProposal:
        """Store what is about to be done: `reasoning`, `plan`, `cues`, and a `key` to go on with an earlier act."""
        proposal = ActionProposal(tool=tool, arguments=arguments or {}, **more)
        self._cycle = self._agent.acting.propose(self.now.id, self.now.token, proposal)
        return self._cycle.proposal or proposal

    def result(self, output: Any = None, outcome: OutcomeOfAct = "success", **more: Any) -> ActionResult:
        """Store what came of it: `error`, `artifacts`. It ends the cycle."""
        self._acted = True
        result = ActionResult(outcome=outcome, output=output, **more)
        self._cycle = self._agent.acting.result(self.now.id, self.now.token, result)
        return self._cycle.result or result

    def note(self, type: Noted, content: str, **metadata: Any) -> MemoryRecord:
        return self._agent.acting.note(self._agent.id, type, content, self.now.id, metadata)

    def recall(self, query: str, k: int | None = None) -> list[Recollected]:
        return self._agent.recall(query, k)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.now.result is not None:
            return
        told = None if error is None else {"type": type(error).__name__, "message": str(error)}
        failed = isinstance(error, Exception) and not self._acted
        outcome: OutcomeOfAct = "failure" if failed else "interrupted"
        try:
            self._cycle = self._agent.acting.result(
                self.now.id, self.now.token, ActionResult(outcome=outcome, error=told)
            )
        except AgentMemoryError:
            if error is None:
                raise  # otherwise the first error is told


KINDS = (
    Kind(
        "agent",
        "agents",
        AgentPayload,
        key=lambda text, payload: joined_key(payload["name"]),
        indexed=("name",),
        searchable=False,
        tier="working",
    ),
    Kind(
        "cycle",
        "cycles",
        CyclePayload,
        key=lambda text, payload: joined_key(payload["agent_id"], payload["index"]),
        indexed=("agent_id", "index", "status"),
        needs_text=False,
        searchable=False,
        tier="working",
    ),
)

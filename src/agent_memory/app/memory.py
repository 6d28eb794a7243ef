"""`AgentMemory`: the one client of everything. Its own methods are short names for those of its namespaces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from agent_memory.app.caller import Caller
from agent_memory.app.client import Client, Here, Transport, conversation
from agent_memory.app.namespaces.options import Bounds, BundleOptions, ClaimOptions, Moments, RecallOptions
from agent_memory.app.operations import TABLE, Part
from agent_memory.core.govern.reading import reason
from agent_memory.core.working.desk import LIST_SECONDS
from agent_memory.models.answer import Recalled
from agent_memory.models.bundle import MemoryBundle
from agent_memory.models.context import Context, Counting, Format, Tier
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.conversation import Turn
from agent_memory.models.kinds.experience import Feedback, Strategy
from agent_memory.models.kinds.knowledge import Entity, Fact, FactSource
from agent_memory.models.kinds.work import Goal
from agent_memory.models.limits import USUAL_TOKENS
from agent_memory.models.model import new_id
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import SHARED, Scope
from agent_memory.models.session import ToolForm
from agent_memory.ports.clock import Clock
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.forks import CALLS
from agent_memory.ports.reranker import Reranker

if TYPE_CHECKING:
    from agent_memory.app.config import Settings
    from agent_memory.app.namespaces import (
        Agents,
        Archival,
        Blocks,
        Budget,
        Contexts,
        Episodic,
        Goals,
        Govern,
        Graph,
        Keys,
        Knowledge,
        Longterm,
        Models,
        Operational,
        Procedural,
        Receipts,
        Records,
        Retriever,
        Review,
        Rules,
        Runs,
        Semantic,
        Sessions,
        State,
        Tasks,
        Tenants,
        Toolbox,
        Upkeep,
        User,
        Vectors,
        Working,
    )
    from agent_memory.app.namespaces.embedder import Embedder as TextEmbedder
    from agent_memory.app.session import ChatSession
    from agent_memory.app.wiring import Runtime


class AgentMemory:
    """Memory of one user, and of one conversation where one is named.

    Works offline and without configuration: a SQLite file in `AGENT_MEMORY_HOME` or the platform's data folder,
    or wherever `store` says: a path, `sqlite:///path`, or a server (`http://host:8005`, `unix:///path/to.sock`, with an
    `api_key` if it wants one). Safe to use from several threads and processes.
    `embedders` make the vectors of namespaces of `vectors`, by name; the others are made by the `embedder`.
    `chat` is the model that is asked where one is needed: a `ChatModel`, or any object with `chat.completions.create`.
    `why` is what it reads for, in the access log; every operation that reads takes a `why=` of its own.
    `user_id="*"` with `shared=True` is the memory that all users of a tenant see; only it can change that.
    """

    records: Part[Records] = Part()
    retriever: Part[Retriever] = Part()
    episodic: Part[Episodic] = Part()
    semantic: Part[Semantic] = Part()
    procedural: Part[Procedural] = Part()
    rules: Part[Rules] = Part()
    working: Part[Working] = Part()
    contexts: Part[Contexts] = Part()
    goals: Part[Goals] = Part()
    operational: Part[Operational] = Part()
    state: Part[State] = Part()
    longterm: Part[Longterm] = Part()
    knowledge: Part[Knowledge] = Part()
    tasks: Part[Tasks] = Part()
    agents: Part[Agents] = Part()
    blocks: Part[Blocks] = Part()
    sessions: Part[Sessions] = Part()
    archival: Part[Archival] = Part()
    toolbox: Part[Toolbox] = Part()
    runs: Part[Runs] = Part()
    graph: Part[Graph] = Part()
    user: Part[User] = Part()
    upkeep: Part[Upkeep] = Part()
    keys: Part[Keys] = Part()
    govern: Part[Govern] = Part()
    review: Part[Review] = Part()
    tenants: Part[Tenants] = Part()
    receipts: Part[Receipts] = Part()
    embedder: Part[TextEmbedder] = Part()
    vectors: Part[Vectors] = Part()
    models: Part[Models] = Part()
    budget: Part[Budget] = Part()

    def __init__(
        self,
        user_id: str,
        conversation_id: str | None = None,
        *,
        store: str | Path | None = None,
        tenant: str | None = None,
        agent: str = SHARED,
        shared: bool = False,
        embedder: Embedder | None = None,
        embedders: dict[str, Embedder] | None = None,
        reranker: Reranker | None = None,
        clock: Clock | None = None,
        api_key: str | None = None,
        chat: Any = None,
        why: str | None = None,
    ) -> None:
        with CALLS:
            from agent_memory.app import config

            settings = config.load(store=_text(store), tenant=tenant, api_key=api_key)
            scope = Scope(tenant=settings.tenant, user=_user(user_id, shared), agent=agent)
            owner = Caller(
                scope, conversation(conversation_id), why=reason(why)
            )  # checked before there is a store to let go of
            if settings.is_remote:
                from agent_memory.app import remote

                _refuse_parts(embedder=embedder, embedders=embedders, reranker=reranker, clock=clock, chat=chat)
                away = remote.Away(settings)
                self._client = Client(owner, settings, away)
                _ = away.wire  # what is wrong with the address is said now
                return
            from agent_memory.app import wiring

            given = wiring.OwnParts(embedder, reranker, embedders or {}, chat)
            self._client = Client(owner, settings, Here(partial(wiring.borrow, settings, given)), clock)
            _ = self._client.runtime  # and so with the store

    @classmethod
    def unopened(
        cls,
        settings: Settings,
        scope: Scope,
        talk: str | None = None,
        *,
        create: bool = True,
        door: str = "python",
        why: str | None = None,
    ) -> AgentMemory:
        """A client that opens its store when something is asked of it. What is about files alone needs none. Without
        `create`, a store that is not there yet stays so, and asking it is an error."""
        from agent_memory.app import telemetry

        telemetry.begin(settings)  # what is asked of it is told, also that there is no store
        made = cls.__new__(cls)
        made._client = Client(Caller(scope, conversation(talk), door=door, why=why), settings, _way(settings, create))
        return made

    @property
    def user_id(self) -> str:
        return self._client.scope.user

    @property
    def conversation_id(self) -> str | None:
        return self._client.conversation_id

    @conversation_id.setter
    def conversation_id(self, conversation_id: str | None) -> None:
        self._client.conversation_id = conversation(conversation_id)

    def store_turn(self, turn: Turn) -> Turn:
        """Store a turn: in the working set, durable, findable."""
        return self.episodic.store_turn(turn)

    def learn_fact(
        self,
        claim: str,
        source: FactSource = "extraction",
        confidence: float = 0.8,
        entity_ids: list[str] | None = None,
        source_turn_id: str | None = None,
        subject: str | None = None,
        predicate: str | None = None,
        **standing: Unpack[ClaimOptions],
    ) -> Fact:
        """Store a claim. With a subject and a predicate it supersedes the claim before it."""
        return self.semantic.learn_fact(
            claim, source, confidence, entity_ids, source_turn_id, subject, predicate, **standing
        )

    def upsert_entity(self, entity: Entity) -> Entity:
        """Store or update an entity; gives it with the stored id."""
        return self.semantic.upsert_entity(entity)

    def add_goal(self, goal: Goal) -> Goal:
        """Store a goal."""
        return self.goals.add(goal)

    def record_tool_usage(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_output: Any,
        success: bool,
        latency_ms: int,
        turn_id: str | None = None,
        task_type: str | None = None,
    ) -> None:
        """Log one use of a tool in this conversation."""
        self.procedural.record_invocation(
            self.conversation_id, turn_id, tool_name, tool_input, tool_output, success, latency_ms, task_type
        )

    def recall(
        self,
        query: str,
        k: int | None = None,
        recipe: Recipe | str = "default",
        min_relevance: float | None = None,
        trace: bool = False,
        **where: Unpack[RecallOptions],
    ) -> Recalled:
        """Search memory; every hit says why it was found."""
        return self.retriever.recall(query, k, recipe, min_relevance, trace, **where)

    def feedback(
        self, receipt: str, useful: Sequence[str] = (), useless: Sequence[str] = (), answer: str | None = None
    ) -> Feedback:
        """Say which memories of a recall helped, and which did not."""
        return self.receipts.feedback(receipt, [*useful], [*useless], answer)

    def remember(
        self,
        query: str,
        top_k: int = 10,
        include_episodic: bool = True,
        include_semantic: bool = True,
        include_procedural: bool = True,
        time_window_hours: float | None = None,
        weights: dict[str, float] | None = None,
        **at: Unpack[BundleOptions],
    ) -> MemoryBundle:
        """What is known that helps with this, grouped and ready for a prompt."""
        return self.retriever.remember(
            query, top_k, include_episodic, include_semantic, include_procedural, time_window_hours, weights, **at
        )

    def assemble_context(
        self,
        task_description: str,
        max_tokens: int = 4000,
        tiers: list[Tier] | None = None,
        counter: Counting = "estimate",
        format: Format = "markdown",
        **bounds: Unpack[Bounds],
    ) -> Context:
        """What helps with a task, as one text that never has more tokens than asked for."""
        return self.contexts.assemble(task_description, max_tokens, tiers, counter, format, **bounds)

    def get_active_goals(self, **at: Unpack[Moments]) -> list[Goal]:
        """Active goals, the highest priority first."""
        return self.goals.active(**at)

    def get_user_context(self, **at: Unpack[Moments]) -> dict[str, Any]:
        """user, preferences, expertise, interests."""
        return self.user.context(**at)

    def what_worked_for(self, task_description: str, top_k: int = 5, **at: Unpack[Moments]) -> list[Strategy]:
        """Strategies that worked for something like this."""
        return self.procedural.find_strategies(task_description, top_k, **at)

    def get_working_context(self) -> dict[str, Any]:
        """What is on the desk of this conversation."""
        return self.working.get_context()

    def set_working_context(self, key: str, value: Any, ttl_seconds: float = LIST_SECONDS) -> None:
        """Keep a value on the desk for a while."""
        self.working.set(key, value, ttl_seconds)

    def reflect(self, outcome: dict[str, Any]) -> None:
        """Queue an outcome to be thought about."""
        self.procedural.reflect(outcome)

    def session(
        self,
        limit_tokens: int = USUAL_TOKENS,
        conversation_id: str | None = None,
        counter: Counting = "estimate",
    ) -> ChatSession:
        """A conversation whose prompt never has more tokens than this: the one that is named, or this client's, or a
        new one. Its older turns are paged out into a summary, and are still found."""
        named = conversation(conversation_id) or self.conversation_id or new_id()
        from agent_memory.app.session import ChatSession

        TABLE["sessions.render"].bind((named, limit_tokens, counter), {})
        return ChatSession(self.sessions, named, limit_tokens, counter)

    def tools(self, form: ToolForm = "openai") -> list[dict[str, Any]]:
        """Tools for an agent's loop, as OpenAI's or Anthropic's API takes them."""
        return self.toolbox.schemas(form)

    def run_tool(self, name: str, arguments: dict[str, Any] | str | None = None) -> dict[str, Any]:
        """Run a tool that a model called: `ok`, and a `result`, or an `error` that it can correct itself by."""
        return self.toolbox.run(name, arguments)

    def close(self, *, clear: bool = True) -> None:
        """Clear this conversation's working set and let go of the store; nothing long-term is touched.

        A door that opens a client for each call passes `clear=False`: the desk is still in use.
        """
        self._client.end(clear=clear)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _way(settings: Settings, create: bool) -> Transport:
    """To a store that is opened when something is asked of it."""
    if settings.is_remote:
        from agent_memory.app import remote

        return remote.Away(settings)
    return Here(lambda: _borrowed(settings, create))


def _borrowed(settings: Settings, create: bool) -> Runtime:
    from agent_memory.app import wiring

    return wiring.borrow(settings, create=create)


def _text(store: object) -> object:
    """A path as text; what else is wrong with it, the settings say."""
    if isinstance(store, str) and not store.strip():
        raise InvalidInput("store: is empty", hint="name a file, or leave it out", field="store")
    return str(store) if isinstance(store, os.PathLike) else store


def _refuse_parts(**given: object) -> None:
    """A server has its own."""
    for name, part in given.items():
        if part is not None:
            raise InvalidInput(
                f"{name}: cannot be sent to a server", hint=f"leave it out: the server has its own {name}", field=name
            )


def _user(user_id: str, shared: bool) -> str:
    """What everybody sees is not written by a slip: it takes both the name and the word."""
    if user_id == SHARED and not shared:
        raise InvalidInput(
            f"user_id: {SHARED!r} stands for all users",
            hint="pass shared=True as well to work on what they share",
            field="user_id",
        )
    if shared and user_id != SHARED:
        raise InvalidInput(
            f"user_id: {user_id!r} names one user, but shared=True was given",
            hint=f"pass user_id={SHARED!r}",
            field="user_id",
        )
    return user_id

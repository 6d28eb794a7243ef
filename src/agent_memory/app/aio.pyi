"""Made by scripts/stubs.py from AgentMemory and its namespaces: do not edit."""

from pathlib import Path
from typing import Any, Self, Unpack

from agent_memory.app.namespaces.asking import Moments, Where
from agent_memory.app.namespaces.contexts import Bounds
from agent_memory.app.namespaces.receipts import Access
from agent_memory.app.namespaces.records import Condition, Fields, Forgotten, Written
from agent_memory.app.namespaces.upkeep import Verification
from agent_memory.app.namespaces.vectors import VectorMatch
from agent_memory.models.access import ApiKey, Denial, NewKey, Permission
from agent_memory.models.answer import Recalled, Replay
from agent_memory.models.bundle import MemoryBundle
from agent_memory.models.context import Context, Counting, Format, Tier
from agent_memory.models.graph import (
    Deleted,
    Edge,
    Edges,
    Imported,
    KnowledgeGraph,
    Node,
    Nodes,
    Observed,
    Observing,
    Unobserving,
)
from agent_memory.models.kinds.conversation import Turn
from agent_memory.models.kinds.experience import Strategy
from agent_memory.models.kinds.knowledge import Entity, Fact, FactSource
from agent_memory.models.kinds.person import Expertise, Interest, Preference
from agent_memory.models.kinds.work import Goal, GoalStatus
from agent_memory.models.model import Moment, Name
from agent_memory.models.recipe import Listed, Recipe
from agent_memory.models.record import JournalLine, Link, Linked, Record, Status
from agent_memory.models.told import By, Cost, Told
from agent_memory.ports.clock import Clock
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.reranker import Reranker

class AsyncContexts:
    async def assemble(
        self,
        task_description: str,
        max_tokens: int = ...,
        tiers: list[Tier] | None = ...,
        counter: Counting = ...,
        format: Format = ...,
        **bounds: Unpack[Bounds],
    ) -> Context: ...

class AsyncEmbedder:
    async def embed(self, texts: str | list[str]) -> list[list[float]]: ...
    async def embed_single(self, text: str) -> list[float]: ...

class AsyncEpisodic:
    async def get_conversation(self, conversation_id: str, **at: Unpack[Moments]) -> list[Turn]: ...
    async def get_recent_turns(
        self, user_id: str | None = ..., hours: float = ..., limit: int = ..., **at: Unpack[Moments]
    ) -> list[dict[str, Any]]: ...
    async def store_turn(self, turn: Turn) -> Turn: ...
    async def store_turn_log(self, turn: Turn) -> Turn: ...
    async def vector_search(
        self,
        query_embedding: list[float],
        top_k: int = ...,
        user_id: str | None = ...,
        time_window_hours: float | None = ...,
        **at: Unpack[Moments],
    ) -> list[dict[str, Any]]: ...

class AsyncGoals:
    async def active(self, **at: Unpack[Moments]) -> list[Goal]: ...
    async def add(self, goal: Goal) -> Goal: ...
    async def children(self, id: str, **at: Unpack[Moments]) -> list[Goal]: ...
    async def get(self, id: str, **at: Unpack[Moments]) -> Goal: ...
    async def update(self, id: str, status: GoalStatus | None = ..., priority: int | None = ...) -> Goal: ...

class AsyncGraph:
    async def add_observations(self, observations: list[Observing]) -> Observed: ...
    async def create_entities(self, entities: list[Node]) -> Nodes: ...
    async def create_relations(self, relations: list[Edge]) -> Edges: ...
    async def delete_entities(self, entity_names: list[str]) -> Deleted: ...
    async def delete_observations(self, deletions: list[Unobserving]) -> Deleted: ...
    async def delete_relations(self, relations: list[Edge]) -> Deleted: ...
    async def load(self, text: str, skip_bad: bool = ...) -> Imported: ...
    async def open(self, names: list[str], **at: Unpack[Moments]) -> KnowledgeGraph: ...
    async def read(self, **at: Unpack[Moments]) -> KnowledgeGraph: ...
    async def search(self, query: str, **at: Unpack[Moments]) -> KnowledgeGraph: ...

class AsyncKeys:
    async def create(
        self,
        label: Name,
        permissions: list[Permission] | None = ...,
        for_user: Name | None = ...,
        expires_days: float | None = ...,
    ) -> NewKey: ...
    async def denials(self, limit: int = ...) -> list[Denial]: ...
    async def list(self) -> list[ApiKey]: ...
    async def revoke(self, key_id: str) -> ApiKey: ...
    async def rotate(self, key_id: str) -> NewKey: ...

class AsyncProcedural:
    async def find_strategies(
        self, task_description: str, top_k: int = ..., **at: Unpack[Moments]
    ) -> list[Strategy]: ...
    async def get_tool_stats(self, task_type: str | None = ..., **at: Unpack[Moments]) -> list[dict[str, Any]]: ...
    async def learn_strategy(
        self,
        description: str,
        context_pattern: str,
        tool_sequence: list[str],
        from_conversation_id: str | None = ...,
        success: bool = ...,
    ) -> Strategy: ...
    async def record_invocation(
        self,
        conversation_id: str | None,
        turn_id: str | None,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_output: Any,
        success: bool,
        latency_ms: int,
        task_type: str | None = ...,
    ) -> str: ...
    async def reflect(self, outcome: dict[str, Any]) -> str: ...
    async def reinforce_strategy(self, strategy_id: str, success: bool) -> Strategy: ...

class AsyncReceipts:
    async def accesses(self, ids: list[str]) -> list[Access]: ...
    async def costs(self, since: Moment | None = ..., by: By = ...) -> list[Cost]: ...
    async def find(
        self, since: Moment | None = ..., slower_than: float = ..., limit: int = ..., trace_id: str | None = ...
    ) -> list[Told]: ...
    async def get(self, receipt_id: str) -> dict[str, Any]: ...
    async def replay(self, receipt_id: str, now: bool = ...) -> Replay: ...

class AsyncRecords:
    async def add(
        self,
        text: str,
        kind: str = ...,
        reason: str | None = ...,
        idempotency_key: str | None = ...,
        **fields: Unpack[Fields],
    ) -> Written: ...
    async def add_many(
        self,
        records: list[dict[str, Any]],
        reason: str | None = ...,
        idempotency_key: str | None = ...,
        embed: bool = ...,
    ) -> list[Written]: ...
    async def amend(
        self,
        id: str,
        status: Status | None = ...,
        importance: float | None = ...,
        confidence: float | None = ...,
        valid_to: Moment | None = ...,
        **condition: Unpack[Condition],
    ) -> Written: ...
    async def edit(
        self,
        id: str,
        text: str | None = ...,
        payload: dict[str, Any] | None = ...,
        valid_from: Moment | None = ...,
        reason: str | None = ...,
        if_version: int | None = ...,
    ) -> Written: ...
    async def find(
        self,
        kind: str | None = ...,
        limit: int = ...,
        after_id: str | None = ...,
        oldest_first: bool = ...,
        **where: Unpack[Where],
    ) -> list[Record]: ...
    async def forget(self, ids: list[str], reason: str | None = ...) -> Forgotten: ...
    async def get(self, id: str, as_of: Moment | None = ..., valid_at: Moment | None = ...) -> Record: ...
    async def history(self, id: str) -> list[Record]: ...
    async def journal(self, id: str | None = ..., after: int = ..., limit: int = ...) -> list[JournalLine]: ...
    async def link(self, link: Link, reason: str | None = ...) -> str: ...
    async def links(self, id: str, as_of: Moment | None = ..., valid_at: Moment | None = ...) -> list[Link]: ...
    async def lookup(
        self, kind: str, key: str, as_of: Moment | None = ..., valid_at: Moment | None = ...
    ) -> Record | None: ...
    async def unlink(self, source_id: str, target_id: str, type: str, reason: str | None = ...) -> str: ...
    async def versions(
        self, kind: str | None = ..., after_seq: int = ..., limit: int = ..., **where: Unpack[Where]
    ) -> list[Linked]: ...

class AsyncRetriever:
    weights: dict[str, float]
    async def recall(
        self,
        query: str,
        k: int | None = ...,
        recipe: Recipe | str = ...,
        min_relevance: float | None = ...,
        trace: bool = ...,
        **where: Unpack[Where],
    ) -> Recalled: ...
    async def recipes(self) -> list[Listed]: ...
    async def remember(
        self,
        query: str,
        top_k: int = ...,
        include_episodic: bool = ...,
        include_semantic: bool = ...,
        include_procedural: bool = ...,
        time_window_hours: float | None = ...,
        weights: dict[str, float] | None = ...,
        **at: Unpack[Moments],
    ) -> MemoryBundle: ...

class AsyncSemantic:
    async def create_relationship(
        self, source_id: str, target_id: str, rel_type: str, properties: dict[str, Any] | None = ...
    ) -> Link: ...
    async def get_entity(self, id: str, **at: Unpack[Moments]) -> Entity: ...
    async def get_entity_graph(
        self, entity_ids: list[str], depth: int = ..., **at: Unpack[Moments]
    ) -> dict[str, Any]: ...
    async def learn_fact(
        self,
        claim: str,
        source: FactSource = ...,
        confidence: float = ...,
        entity_ids: list[str] | None = ...,
        source_turn_id: str | None = ...,
        subject: str | None = ...,
        predicate: str | None = ...,
    ) -> Fact: ...
    async def store_fact(self, fact: Fact) -> Fact: ...
    async def upsert_entity(self, entity: Entity) -> Entity: ...
    async def vector_search_entities(
        self, query_embedding: list[float], top_k: int = ..., **at: Unpack[Moments]
    ) -> list[dict[str, Any]]: ...
    async def vector_search_facts(
        self, query_embedding: list[float], top_k: int = ..., min_confidence: float = ..., **at: Unpack[Moments]
    ) -> list[dict[str, Any]]: ...

class AsyncUpkeep:
    async def catch_up(self) -> dict[str, int]: ...
    async def rebuild(self, vectors: bool = ...) -> dict[str, Any]: ...
    async def stats(self) -> dict[str, Any]: ...
    async def verify(self) -> Verification: ...

class AsyncUser:
    async def add_interest(self, topic: str) -> Interest: ...
    async def context(self, **at: Unpack[Moments]) -> dict[str, Any]: ...
    async def from_markdown(self, text: str) -> list[Preference]: ...
    async def get_preference(
        self, domain: str, name: str, as_of: Moment | None = ..., valid_at: Moment | None = ...
    ) -> Any: ...
    async def preferences(self, domain: str | None = ..., **at: Unpack[Moments]) -> list[Preference]: ...
    async def set_expertise(self, topic: str, level: str) -> Expertise: ...
    async def set_preference(self, domain: str, name: str, value: Any, confidence: float = ...) -> Preference: ...
    async def to_markdown(self) -> str: ...

class AsyncVectors:
    async def delete(self, namespace: Name, ids: list[Name]) -> int: ...
    async def query(
        self, namespace: Name, vector: list[float], k: int = ..., where: dict[str, Any] | None = ...
    ) -> list[VectorMatch]: ...
    async def upsert(
        self, namespace: Name, id: Name, vector: list[float], metadata: dict[str, Any] | None = ...
    ) -> None: ...

class AsyncWorking:
    async def add_turn(self, turn: Turn) -> None: ...
    async def clear_session(self) -> None: ...
    async def delete(self, key: str) -> bool: ...
    async def get(self, key: str) -> Any: ...
    async def get_active_goal(self) -> dict[str, Any] | None: ...
    async def get_context(self) -> dict[str, Any]: ...
    async def get_recent_turns(self, limit: int = ...) -> list[dict[str, Any]]: ...
    async def get_thoughts(self, limit: int = ...) -> list[dict[str, Any]]: ...
    async def push_thought(self, thought: str) -> None: ...
    async def set(self, key: str, value: Any, ttl_seconds: float = ...) -> None: ...
    async def set_active_goal(self, goal_id: str, goal_description: str) -> None: ...

class AsyncAgentMemory:
    contexts: AsyncContexts
    embedder: AsyncEmbedder
    episodic: AsyncEpisodic
    goals: AsyncGoals
    graph: AsyncGraph
    keys: AsyncKeys
    procedural: AsyncProcedural
    receipts: AsyncReceipts
    records: AsyncRecords
    retriever: AsyncRetriever
    semantic: AsyncSemantic
    upkeep: AsyncUpkeep
    user: AsyncUser
    vectors: AsyncVectors
    working: AsyncWorking
    user_id: str
    conversation_id: str | None
    def __init__(
        self,
        user_id: str,
        conversation_id: str | None = ...,
        *,
        store: str | Path | None = ...,
        tenant: str | None = ...,
        agent: str = ...,
        shared: bool = ...,
        embedder: Embedder | None = ...,
        reranker: Reranker | None = ...,
        clock: Clock | None = ...,
        api_key: str | None = ...,
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...
    async def add_goal(self, goal: Goal) -> Goal: ...
    async def assemble_context(
        self,
        task_description: str,
        max_tokens: int = ...,
        tiers: list[Tier] | None = ...,
        counter: Counting = ...,
        format: Format = ...,
        **bounds: Unpack[Bounds],
    ) -> Context: ...
    async def close(self, *, clear: bool = ...) -> None: ...
    async def get_active_goals(self, **at: Unpack[Moments]) -> list[Goal]: ...
    async def get_user_context(self, **at: Unpack[Moments]) -> dict[str, Any]: ...
    async def get_working_context(self) -> dict[str, Any]: ...
    async def learn_fact(
        self,
        claim: str,
        source: FactSource = ...,
        confidence: float = ...,
        entity_ids: list[str] | None = ...,
        source_turn_id: str | None = ...,
        subject: str | None = ...,
        predicate: str | None = ...,
    ) -> Fact: ...
    async def recall(
        self,
        query: str,
        k: int | None = ...,
        recipe: Recipe | str = ...,
        min_relevance: float | None = ...,
        trace: bool = ...,
        **where: Unpack[Where],
    ) -> Recalled: ...
    async def record_tool_usage(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_output: Any,
        success: bool,
        latency_ms: int,
        turn_id: str | None = ...,
    ) -> None: ...
    async def reflect(self, outcome: dict[str, Any]) -> None: ...
    async def remember(
        self,
        query: str,
        top_k: int = ...,
        include_episodic: bool = ...,
        include_semantic: bool = ...,
        include_procedural: bool = ...,
        time_window_hours: float | None = ...,
        weights: dict[str, float] | None = ...,
        **at: Unpack[Moments],
    ) -> MemoryBundle: ...
    async def set_working_context(self, key: str, value: Any, ttl_seconds: float = ...) -> None: ...
    async def store_turn(self, turn: Turn) -> Turn: ...
    async def upsert_entity(self, entity: Entity) -> Entity: ...
    async def what_worked_for(
        self, task_description: str, top_k: int = ..., **at: Unpack[Moments]
    ) -> list[Strategy]: ...

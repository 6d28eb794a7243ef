"""What callers rely on, held as data: names, arguments with their defaults, fields. A new capability adds its rows."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import agent_memory
from agent_memory import AgentMemory, CPUMemoryEngine, MemoryConsolidationService, models

NEEDED = inspect.Parameter.empty

METHODS: dict[str, dict[str, Any]] = {
    "store_turn": {"turn": NEEDED},
    "learn_fact": {
        "claim": NEEDED,
        "source": "extraction",
        "confidence": 0.8,
        "entity_ids": None,
        "source_turn_id": None,
    },
    "session": {"limit_tokens": 8000},
    "tools": {"form": "openai"},
    "run_tool": {"name": NEEDED, "arguments": None},
    "upsert_entity": {"entity": NEEDED},
    "add_goal": {"goal": NEEDED},
    "record_tool_usage": {
        "tool_name": NEEDED,
        "tool_input": NEEDED,
        "tool_output": NEEDED,
        "success": NEEDED,
        "latency_ms": NEEDED,
        "turn_id": None,
    },
    "remember": {
        "query": NEEDED,
        "top_k": 10,
        "include_episodic": True,
        "include_semantic": True,
        "include_procedural": True,
        "time_window_hours": None,
    },
    "get_active_goals": {},
    "get_user_context": {},
    "what_worked_for": {"task_description": NEEDED, "top_k": 5},
    "get_working_context": {},
    "set_working_context": {"key": NEEDED, "value": NEEDED, "ttl_seconds": 3600},
    "reflect": {"outcome": NEEDED},
    "close": {},
    "assemble_context": {"task_description": NEEDED, "max_tokens": 4000, "tiers": None},
    "episodic.store_turn": {"turn": NEEDED},
    "episodic.store_turn_log": {"turn": NEEDED},
    "episodic.vector_search": {"query_embedding": NEEDED, "top_k": 10, "user_id": None, "time_window_hours": None},
    "episodic.get_conversation": {"conversation_id": NEEDED},
    "episodic.get_recent_turns": {"user_id": None, "hours": 24, "limit": 50},
    "semantic.upsert_entity": {"entity": NEEDED},
    "semantic.store_fact": {"fact": NEEDED},
    "semantic.vector_search_facts": {"query_embedding": NEEDED, "top_k": 10, "min_confidence": 0.5},
    "semantic.vector_search_entities": {"query_embedding": NEEDED, "top_k": 10},
    "semantic.get_entity_graph": {"entity_ids": NEEDED, "depth": 2},
    "semantic.create_relationship": {
        "source_id": NEEDED,
        "target_id": NEEDED,
        "rel_type": NEEDED,
        "properties": None,
    },
    "procedural.record_invocation": dict.fromkeys(
        ("conversation_id", "turn_id", "tool_name", "tool_input", "tool_output", "success", "latency_ms"), NEEDED
    ),
    "procedural.learn_strategy": {
        "description": NEEDED,
        "context_pattern": NEEDED,
        "tool_sequence": NEEDED,
        "from_conversation_id": None,
        "success": True,
    },
    "procedural.find_strategies": {"task_description": NEEDED, "top_k": 5},
    "procedural.reinforce_strategy": {"strategy_id": NEEDED, "success": NEEDED},
    "procedural.get_tool_stats": {"task_type": None},
    "working.add_turn": {"turn": NEEDED},
    "working.get_recent_turns": {"limit": 10},
    "working.set": {"key": NEEDED, "value": NEEDED, "ttl_seconds": 3600},
    "working.get": {"key": NEEDED},
    "working.delete": {"key": NEEDED},
    "working.get_context": {},
    "working.clear_session": {},
    "working.set_active_goal": {"goal_id": NEEDED, "goal_description": NEEDED},
    "working.get_active_goal": {},
    "working.push_thought": {"thought": NEEDED},
    "working.get_thoughts": {"limit": 10},
    "tasks.add": {"task": NEEDED},
    "tasks.ready": {"limit": 10},
    "tasks.claim": {"worker": NEEDED, "lease_seconds": 60},
    "tasks.heartbeat": {"token": NEEDED, "progress": None},
    "tasks.finish": {"token": NEEDED, "outcome": None},
    "tasks.fail": {"token": NEEDED, "reason": NEEDED},
    "tasks.cancel": {"id": NEEDED},
    "runs.start": {"task_type": NEEDED, "title": NEEDED, "model": None},
    "runs.step": {"id": NEEDED, "title": NEEDED},
    "runs.end": {"id": NEEDED, "outcome": NEEDED, "success": NEEDED},
    "runs.get": {"id": NEEDED},
    "runs.list": {},
    "knowledge.ingest": {"path": NEEDED},
    "knowledge.search": {"query": NEEDED, "n_results": 2},
    "knowledge.documents": {},
    "knowledge.remove": {"document": NEEDED},
    "agents.create": {"name": NEEDED, "directives": NEEDED, "overrides": {}},
    "agents.get": {"name": NEEDED},
    "agents.list": {},
    "blocks.get": {"label": NEEDED},
    "blocks.set": {"label": NEEDED, "text": None},
    "blocks.append": {"label": NEEDED, "text": NEEDED},
    "blocks.replace": {"label": NEEDED, "old": NEEDED, "new": NEEDED},
    "blocks.insert": {"label": NEEDED, "text": NEEDED, "line": 0},
    "blocks.rewrite": {"label": NEEDED, "text": NEEDED},
    "blocks.undo": {"label": NEEDED},
    "archival.insert": {"text": NEEDED},
    "archival.search": {"query": NEEDED},
    "embedder.embed": {"texts": NEEDED},
    "embedder.embed_single": {"text": NEEDED},
    "retriever.retrieve": {"query": NEEDED, "user_id": None},
}

FIELDS: dict[str, dict[str, Any]] = {
    "Turn": {
        "conversation_id": NEEDED,
        "index": NEEDED,
        "role": NEEDED,
        "content": NEEDED,
        "token_count": None,
        "metadata": {},
    },
    "Entity": {
        "name": NEEDED,
        "type": NEEDED,
        "aliases": [],
        "description": None,
        "salience": 0.5,
        "properties": {},
        "access_count": 0,
    },
    "Fact": {"claim": NEEDED, "source": NEEDED, "confidence": 0.8, "source_turn_id": None, "entity_ids": []},
    "Goal": {"description": NEEDED, "status": "active", "priority": 3, "parent_goal_id": None, "deadline": None},
    "Strategy": {
        "description": NEEDED,
        "context_pattern": NEEDED,
        "tool_sequence": [],
        "success_count": 0,
        "failure_count": 0,
        "last_used": None,
    },
    "MemoryBundle": {
        "relevant_turns": [],
        "facts": [],
        "entities": [],
        "strategies": [],
        "active_goals": [],
        "user_context": {},
    },
    "RetrievalWeights": {
        "episodic": 0.3,
        "semantic_facts": 0.25,
        "semantic_entities": 0.2,
        "procedural": 0.15,
        "recency": 0.1,
    },
}
MADE = {  # when absent
    "Turn": {"id", "timestamp"},
    "Entity": {"id", "first_seen", "last_accessed"},
    "Fact": {"id", "created_at"},
    "Goal": {"id", "created_at"},
    "Strategy": {"id"},
}
IMPORTABLE = (
    "AgentMemory AsyncAgentMemory CPUMemoryEngine ConsolidationWorker MemoryConsolidationService get_settings "
    "get_embedder Turn Entity Fact Goal Strategy MemoryBundle"
).split()


@pytest.fixture
def memory() -> AgentMemory:
    with AgentMemory("ada") as client:
        yield client


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("name", METHODS)
def test_methods_take_the_arguments_that_callers_rely_on(memory: AgentMemory, name: str) -> None:
    owner, _, method = name.rpartition(".")
    signature = inspect.signature(getattr(getattr(memory, owner) if owner else memory, method))
    positional = [one for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    wanted = METHODS[name]
    assert [one.name for one in positional[: len(wanted)]] == list(wanted)
    assert [one.default for one in positional[: len(wanted)]] == list(wanted.values())
    assert all(one.default is not NEEDED for one in positional[len(wanted) :]), "what was added must be optional"


@pytest.mark.requirement("C1", "C9", "C10")
@pytest.mark.parametrize("name", FIELDS)
def test_models_have_the_fields_that_callers_rely_on(name: str) -> None:
    model = getattr(models, name)
    needed = {"conversation_id": "c", "index": 0, "role": "user", "content": "x", "name": "x", "type": "Person"}
    needed |= {"claim": "x", "source": "inferred", "description": "x", "context_pattern": "x"}
    wanted = FIELDS[name]
    made = model(**{field: needed[field] for field, default in wanted.items() if default is NEEDED})
    for field, default in wanted.items():
        assert model.model_fields[field].is_required() is (default is NEEDED), field
        assert default is NEEDED or getattr(made, field) == default, field
    for field in MADE.get(name, ()):
        assert getattr(made, field) is not None, field
    assert name in ("MemoryBundle", "RetrievalWeights") or made.embedding is None


@pytest.mark.parametrize("name", IMPORTABLE)
def test_names_can_be_imported_and_are_listed(name: str) -> None:
    assert getattr(agent_memory, name) is not None and name in dir(agent_memory)


def test_an_engine_and_its_service() -> None:
    assert next(iter(inspect.signature(CPUMemoryEngine).parameters)) == "max_memory_mb"
    assert inspect.signature(CPUMemoryEngine).parameters["max_memory_mb"].default == 90
    with CPUMemoryEngine() as engine:
        for method, wanted in {
            "store_memory": {"context": NEEDED, "importance": 0.5},
            "retrieve_memories": {"query": NEEDED, "k": 5, "time_weight": 0.1},
        }.items():
            known = inspect.signature(getattr(engine, method)).parameters
            assert {name: known[name].default for name in wanted} == wanted
        service = MemoryConsolidationService(memory_engine=engine)
        assert service.consolidation_interval > 0 and service.last_consolidation is None
        assert inspect.iscoroutinefunction(service.run_consolidation_loop)


def test_the_attributes_of_a_client(memory: AgentMemory) -> None:
    assert memory.user_id == "ada" and memory.conversation_id is None
    memory.conversation_id = "c1"
    assert memory.conversation_id == "c1"
    memory.retriever.weights.episodic = 0.5
    assert memory.retriever.weights.episodic == 0.5
    settings, embedder = agent_memory.get_settings(), agent_memory.get_embedder()
    assert settings.default_top_k == 10
    assert embedder.embed("a") == [embedder.embed_single("a")] == memory.embedder.embed(["a"])

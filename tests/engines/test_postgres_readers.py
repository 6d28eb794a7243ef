"""The views that readers of the database rely on, by their names and columns in api.md."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.parts.postgres import server

from agent_memory import AgentMemory
from agent_memory.app.registry import installed_kinds
from agent_memory.models import Turn

COLUMNS = {
    "conversation_logs": "id conversation_id turn_index timestamp role content content_hash token_count model metadata "
    "embedding",
    "memory_timeline": "id memory_type neo4j_node_id event_time summary embedding importance_score access_count "
    "last_accessed archived metadata",
    "tool_invocations": "id conversation_id turn_index timestamp tool_name tool_input tool_output success latency_ms "
    "error_message",
    "user_profiles": "user_id created_at updated_at preferences expertise_areas communication_style metadata",
}


@pytest.fixture(scope="module")
def uri() -> str:
    made = server(18).fresh()
    with AgentMemory("ada", "c1", store=made) as memory:
        memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="The deploy failed. \0"))
        memory.store_turn(Turn(conversation_id="c1", index=1, role="assistant", content="Which stage?"))
        memory.learn_fact(claim="Staging runs PostgreSQL 16", source="user_stated", confidence=0.9)
        memory.record_tool_usage(
            tool_name="kubectl", tool_input={"a": 1}, tool_output={"error": "timeout"}, success=False, latency_ms=120
        )
        memory.user.set_preference("communication", "style", "brief")
        memory.recall("which stage failed?")
        assert memory.upkeep.verify().ok
    return made


def rows(uri: str, sql: str) -> list[dict[str, Any]]:
    with psycopg.connect(uri, row_factory=dict_row) as raw:
        raw.execute("set search_path = agent_memory, public")
        return raw.execute(sql).fetchall()  # type: ignore[call-overload, no-any-return]


@pytest.mark.requirement("C13")
@pytest.mark.parametrize("view", COLUMNS)
def test_the_columns_are_there(uri: str, view: str) -> None:
    with psycopg.connect(uri) as raw:
        described = raw.execute(f"select * from agent_memory.{view} limit 0").description or ()  # type: ignore[call-overload]
    names = [one.name for one in described]
    wanted = COLUMNS[view].split()
    assert names[: len(wanted)] == wanted


def test_what_they_show(uri: str) -> None:
    first, second = rows(uri, "select * from conversation_logs order by turn_index")
    assert (first["turn_index"], first["role"], second["content"]) == (0, "user", "Which stage?")
    assert second["content_hash"] == sha256(b"Which stage?").hexdigest()
    assert len(second["embedding"].strip("[]").split(",")) == 384
    timeline = rows(uri, "select * from memory_timeline")
    assert {one["memory_type"] for one in timeline} == {"episode", "fact"}
    assert sum(one["access_count"] for one in timeline) > 0 and not any(one["archived"] for one in timeline)
    (call,) = rows(uri, "select * from tool_invocations")
    assert (call["tool_name"], call["success"], call["latency_ms"]) == ("kubectl", False, 120.0)
    assert "timeout" in call["error_message"]
    (profile,) = rows(uri, "select * from user_profiles")
    assert profile["preferences"] == {"communication.style": "brief"} and profile["communication_style"] == "brief"


def test_every_kind_has_its_view(uri: str) -> None:
    for kind in installed_kinds().values():
        assert rows(uri, f'select * from "{kind.plural}"') is not None, kind.plural
    assert len(rows(uri, "select * from turns")) == 2

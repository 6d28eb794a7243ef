"""Nobody's memories reach anybody else: random tenants, users, agents and moments, every way to ask. P23, C9.

Everything that is written names its owner in a word of its own, so a foreign hit, a foreign word in a text, and a
foreign number in the statistics are all seen.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.models import Entity, Turn

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TENANTS, USERS, AGENTS = ("acme", "zeta"), ("ada", "bob", "*"), ("*", "robot", "helper")
Who = tuple[str, str, str]

people = st.tuples(st.sampled_from(TENANTS), st.sampled_from(USERS), st.sampled_from(AGENTS))
writes = st.lists(
    st.tuples(people, st.sampled_from(["note", "turn", "fact", "entity", "preference"]), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)
ASK: dict[str, Callable[[AgentMemory, dict[str, Any]], str]] = {
    "recall": lambda memory, at: _texts(memory.recall("port of checkout in March 2026", 50, **at)),
    "decay": lambda memory, at: _texts(memory.recall("checkout", 50, "decay", **at)),
    "meaning": lambda memory, at: _texts(memory.recall("checkout", 50, "meaning", **at)),
    "an exact key": lambda memory, at: _texts(memory.recall("checkout", 50, kinds=["entity"], **at)),
    "of a conversation": lambda memory, at: _texts(memory.recall("checkout", 50, conversation_id="talk", **at)),
    "remember": lambda memory, at: str(memory.remember("checkout", **at)),
    "context": lambda memory, at: str(memory.assemble_context("checkout", **at)),
    "find": lambda memory, at: str(memory.records.find(**at)),
    "graph": lambda memory, at: str(memory.semantic.get_entity_graph(["e0", "e1", "e2"], **at)),
    "receipts": lambda memory, at: str(memory.receipts.get(memory.recall("checkout", **at).receipt_id)),
}


def _texts(recalled: Any) -> str:
    return f"{[hit.model_dump() for hit in recalled]}"


class Clock:
    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment


def badge(who: Who) -> str:
    return "owner" + "".join(part.replace("*", "all") for part in who)


def sees(reader: Who, owner: Who) -> bool:
    return reader[0] == owner[0] and owner[1] in (reader[1], "*") and owner[2] in (reader[2], "*")


def write(memory: AgentMemory, who: Who, kind: str, number: int) -> None:
    said = f"checkout listens on port 80{number} says {badge(who)}"
    if kind == "note":
        memory.records.add(said, id=f"n{number}")
    elif kind == "turn":
        turn = Turn(id=f"t{number}", conversation_id="talk", index=number, role="user", speaker="Ann", content=said)
        memory.store_turn(turn)
    elif kind == "fact":
        entity = memory.upsert_entity(
            Entity(id=f"e{number}", name="checkout", type=f"Service {number}", description=said)
        )
        memory.learn_fact(said, subject="checkout", predicate="port", entity_ids=[entity.id])
    elif kind == "entity":
        one = memory.upsert_entity(Entity(id=f"e{number}", name="checkout", type=f"Service {number}", description=said))
        other = memory.upsert_entity(Entity(id=f"d{number}", name=f"base {number}", type="Database", description=said))
        memory.semantic.create_relationship(one.id, other.id, "USES", {"said": said})
    else:
        memory.user.set_preference("checkout", f"port {number}", said)


@pytest.mark.requirement("C9", "P23")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(writes, people, st.integers(0, 12), st.booleans())
def test_no_foreign_hit_in_any_channel_at_any_moment(
    written: list[tuple[Who, str, int]], reader: Who, back: int, now: bool
) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:

        def opened(who: Who) -> AgentMemory:
            tenant, user, agent = who
            store = Path(folder) / "memory.db"
            return AgentMemory(user, "desk", store=store, tenant=tenant, agent=agent, shared=user == "*", clock=clock)

        for owner, kind, number in written:
            clock.moment += timedelta(minutes=1)
            with opened(owner) as memory:
                write(memory, owner, kind, number)
        clock.moment += timedelta(minutes=1)
        at = {} if now else {"as_of": START + timedelta(minutes=back, seconds=30)}
        foreign = {badge(owner) for owner, _, _ in written if not sees(reader, owner)}
        own = {badge(owner) for owner, _, _ in written[: None if now else back] if sees(reader, owner)}
        with opened(reader) as memory:
            for name, ask in ASK.items():
                answer = ask(memory, at)
                assert not {one for one in foreign if one in answer}, name
            found = memory.recall("checkout", 50, **at)
            assert bool(found.hits) == bool(own)
            visible = memory.records.find(**at)
            assert found.searched <= len(visible), "statistics count what this reader sees"

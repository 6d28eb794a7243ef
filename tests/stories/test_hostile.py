"""Every operation meets every kind of hostile value: only our own errors come out, and the store still verifies."""

from __future__ import annotations

import typing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE
from agent_memory.models import Entity, Fact, Goal, Link, Turn
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.recipe import Recipe


def deep(levels: int) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(levels):
        nested = {"a": nested}
    return nested


HOSTILE: list[Any] = [
    None,
    "",
    " ",
    "\0",
    "\ud800",
    "x" * 100_000,
    "\x1f",
    "🦄",
    "*",
    b"\xff",
    -1,
    0,
    2**70,
    -(2**70),
    float("nan"),
    float("inf"),
    1e308,
    True,
    [],
    ["\ud800"],
    [float("nan")],
    [2**70],
    [[]],
    {},
    {"\ud800": 1},
    {"a": float("nan")},
    {"a": 2**70},
    {"a": object()},
    deep(400),
    deep(3000),
    object(),
    datetime(2026, 1, 1),  # noqa: DTZ001
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    datetime.max.replace(tzinfo=UTC),
]
DECENT: dict[Any, Any] = {
    str: "decent",
    int: 1,
    float: 0.5,
    bool: True,
    list: ["decent"],
    dict: {"a": 1},
    Turn: Turn(conversation_id="c", index=0, role="user", content="hello"),
    Fact: Fact(claim="x", source="inferred"),
    Entity: Entity(name="x", type="y"),
    Goal: Goal(description="x"),
    Link: Link(source_id="a", target_id="b", type="KNOWS"),
    Recipe: Recipe(),
}


def decent(annotation: Any) -> Any:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return decent(typing.get_args(annotation)[0])
    if origin is typing.Literal:
        return typing.get_args(annotation)[0]
    if origin is list and typing.get_args(annotation)[0] is float:
        return [0.1] * 384
    if origin in (list, dict):
        return DECENT[origin]
    if origin is not None:
        return decent(typing.get_args(annotation)[0])
    return DECENT.get(annotation, "decent")


def namespace(memory: AgentMemory, name: str) -> Any:
    space, _, method = name.rpartition(".")
    return getattr(getattr(memory, space) if space else memory, method)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_hostile_values_meet_only_our_own_errors(memory: AgentMemory, name: str) -> None:
    call = namespace(memory, name)
    signature = TABLE[name].signature
    required = {argument: decent(one.annotation) for argument, one in signature.items() if one.default is one.empty}
    for argument in signature:
        for value in HOSTILE:
            try:
                call(**{**required, argument: value})
            except AgentMemoryError as error:
                assert str(error)
    assert memory.upkeep.verify().ok
    memory.remember("anything")
    memory.get_user_context()
    memory.procedural.get_tool_stats()
    memory.get_working_context()


def test_what_the_client_itself_is_given() -> None:
    for arguments in ({"user_id": "\ud800"}, {"user_id": ""}, {"user_id": "a", "tenant": "\0"}, {"user_id": 5}):
        with pytest.raises(AgentMemoryError):
            AgentMemory(**arguments)  # type: ignore[arg-type]

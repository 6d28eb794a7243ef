"""The table: what an operation says about itself, and how calls are checked against it."""

from __future__ import annotations

import inspect

import pytest

from agent_memory import AgentMemory
from agent_memory.app import namespaces
from agent_memory.app.operations import TABLE, Permission
from agent_memory.models.errors import InvalidInput

SYNONYMS = {"Retriever.retrieve"}  # thin names for an operation, in Python only


def test_every_public_method_of_a_namespace_is_an_operation() -> None:
    declared = {operation.function for operation in TABLE.values()}
    for name in namespaces.__all__:
        for method, function in inspect.getmembers(getattr(namespaces, name), inspect.isfunction):
            if not method.startswith("_") and f"{name}.{method}" not in SYNONYMS:
                assert inspect.unwrap(function) in declared, f"{name}.{method}"


def test_every_operation_describes_itself() -> None:
    for operation in TABLE.values():
        assert operation.summary and operation.summary[0].isupper(), operation.name
        assert operation.arguments.model_json_schema()["type"] == "object"
    commands = [operation.command for operation in TABLE.values() if operation.command]
    assert len(commands) == len(set(commands))


def test_reads_write_nothing(memory: AgentMemory) -> None:
    """An operation that says it reads leaves no line in the journal."""
    memory.records.add("something to read")
    seq = memory.upkeep.stats()["seq"]
    reads = {name for name, operation in TABLE.items() if operation.permission is Permission.READ}
    assert {"recall", "remember", "records.get", "user.context"} <= reads
    memory.recall("something")
    memory.remember("something")
    memory.records.find()
    memory.user.context()
    assert memory.upkeep.stats()["seq"] == seq


def test_arguments_can_be_named_or_placed(memory: AgentMemory) -> None:
    memory.records.add("placed", "plan")
    memory.records.add(kind="plan", text="named")
    assert {record.text for record in memory.records.find(kind="plan")} == {"placed", "named"}
    with pytest.raises(TypeError):
        memory.records.add("placed", text="twice")
    with pytest.raises(TypeError):
        memory.records.get("a", None, None, "too many")
    with pytest.raises(InvalidInput) as caught:
        memory.records.get()
    assert caught.value.field == "id"

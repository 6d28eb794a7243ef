"""Whatever a model sends: an answer, or an error that it can read. Nothing escapes, nothing breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent_memory.app import config
from agent_memory.app.service import CallerClaim, Service
from agent_memory.interfaces.mcp import places, schemas, tools
from agent_memory.interfaces.mcp.budget import size, within, written
from agent_memory.interfaces.mcp.places import COMPAT

TOOLS = [*places.tools(frozenset(places.toolsets())).values()]
JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text(max_size=30)
    | some.sampled_from(["", " ", "\x00", "\ud800", "*", "1e999", "2026-13-01", "now", "x" * 600]),
    lambda one: some.lists(one, max_size=3) | some.dictionaries(some.text(max_size=8), one, max_size=3),
    max_leaves=6,
)


def fitting(schema: dict[str, Any]) -> some.SearchStrategy[Any]:
    """Values that fit a schema, more or less."""
    if "enum" in schema:
        return some.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return some.one_of(*(fitting(one) for one in schema["anyOf"]))
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties")
        if not fields:
            return some.dictionaries(some.text(max_size=8), JSON, max_size=3)
        return some.fixed_dictionaries({}, optional={name: fitting(one) for name, one in fields.items()})
    if kind == "array":
        return some.lists(fitting(schema.get("items", {})), max_size=3)
    return {
        "string": some.text(max_size=40) | some.sampled_from(["2026-01-01T00:00:00Z", "default", "fact", "ada"]),
        "integer": some.integers(-3, 400),
        "number": some.floats(-1, 2),
        "boolean": some.booleans(),
    }.get(str(kind), JSON)


def calls() -> some.SearchStrategy[tuple[Any, dict[str, Any]]]:
    def of(tool: Any) -> some.SearchStrategy[tuple[Any, dict[str, Any]]]:
        schema = tools.announced(tool).input_schema
        fields = {name: some.one_of(fitting(one), JSON) for name, one in schema["properties"].items()}
        needed = {name: fields.pop(name) for name in schema.get("required", ())}
        if schemas.ACTION in needed:
            needed[schemas.ACTION] = some.sampled_from([*tool.actions, "nonsense"])
        good = some.fixed_dictionaries(needed, optional=fields)
        wild = some.dictionaries(some.sampled_from([*fields, *needed, "extra", "self", "name"]), JSON, max_size=4)
        return some.tuples(some.just(tool), good | wild)

    return some.sampled_from(TOOLS).flatmap(of)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(config.load(store=str(tmp_path_factory.mktemp("fuzz") / "memory.db")))
    yield service
    service.close()


def check(service: Service, tool: Any, arguments: dict[str, Any]) -> None:
    result = tools.call(service, tool, service.identify(CallerClaim(user="ada")), arguments)
    (content,) = result.content
    content.text.encode()  # type: ignore[union-attr]
    if result.is_error and tool.toolset == COMPAT:
        assert content.text and "see the server's log" not in content.text  # type: ignore[union-attr]
    elif result.is_error:
        error = json.loads(content.text)["error"]  # type: ignore[union-attr]
        assert error["code"] != "unexpected" and error["message"], (tool.name, arguments, error)
    else:
        json.dumps(result.structured_content, allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(call=calls())
def test_whatever_a_model_sends(shared: Service, call: tuple[Any, dict[str, Any]]) -> None:
    check(shared, *call)


@pytest.mark.soak
@settings(max_examples=5_000, deadline=None)
@given(call=calls())
def test_whatever_many_models_send(shared: Service, call: tuple[Any, dict[str, Any]]) -> None:
    check(shared, *call)


@settings(max_examples=200, deadline=None)
@given(answer=some.dictionaries(some.text(max_size=8), JSON, max_size=6), tokens=some.integers(100, 3000))
def test_an_answer_is_never_longer_than_asked_for(answer: dict[str, Any], tokens: int) -> None:
    answer |= {"long": [dict(answer)] * 40}
    fitted = within(answer, tokens)
    assert size(fitted) <= tokens
    assert fitted == answer or "left out" in fitted["cut"]
    json.loads(written(fitted))

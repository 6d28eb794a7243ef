"""A number is no date, and neither a flag nor a date is a number: in every door, with the field and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from foreign import Foreign
from starlette.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models import Goal, Turn
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import no_number

A_DATE, A_NUMBER = "should be a date", "number"
WRONG = [
    ({"valid_from": 1_700_000_000}, "valid_from", A_DATE),
    ({"valid_from": 1_700_000_000_000.5}, "valid_from", A_DATE),
    ({"valid_from": "1700000000"}, "valid_from", A_DATE),
    ({"valid_to": True}, "valid_to", A_DATE),
    ({"importance": True}, "importance", A_NUMBER),
    ({"confidence": False}, "confidence", A_NUMBER),
    ({"importance": "2026-01-31T12:00:00Z"}, "importance", A_NUMBER),
]
"""Fields of a record, the one that is wrong, and what is said of it."""

ONES = "1" * 200_000

Refused = Callable[[dict[str, Any]], tuple[str, str]]
"""Adds a record with these fields; which field is wrong, and what is said."""


@pytest.fixture
def service(home: object) -> Iterator[Service]:
    opened = Service()
    yield opened
    opened.close()


def in_python(service: Service) -> Iterator[Refused]:
    with AgentMemory("ada") as memory:

        def refused(said: dict[str, Any]) -> tuple[str, str]:
            with pytest.raises(InvalidInput) as error:
                memory.records.add("x", **said)
            return str(error.value.field), error.value.message

        yield refused


def over_rest(service: Service) -> Iterator[Refused]:
    app = create_app(service)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:

        def refused(said: dict[str, Any]) -> tuple[str, str]:
            told = [client.post("/v1/records", json={"text": "x", **said}).json()]
            told.append(client.post("/v1/records/batch", json={"records": [{"text": "x", **said}]}).json())
            assert told[0]["status"] == told[1]["status"] == 422 and told[0]["detail"] == told[1]["detail"]
            return told[0]["field"], told[0]["detail"]

        yield refused


def over_grpc(service: Service) -> Iterator[Refused]:
    with start(service, port=0) as door:
        client = Foreign(door.port)

        def refused(said: dict[str, Any]) -> tuple[str, str]:
            """A batch is JSON there, too; elsewhere the types of the messages leave no choice."""
            with pytest.raises(grpc.RpcError) as error:
                client.call("RecordsService/AddMany", {"records": [{"text": "x", **said}]})
            told = dict(error.value.trailing_metadata())
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            return str(told["memory-field"]), error.value.details()

        yield refused
        client.close()


@pytest.mark.parametrize("door", [in_python, over_rest, over_grpc], ids=lambda door: door.__name__)
def test_what_is_of_another_sort_is_refused(service: Service, door: Callable[[Service], Iterator[Refused]]) -> None:
    for refused in door(service):
        for said, field, why in WRONG:
            wrong, told = refused(said)
            assert (wrong, why in told) == (field, True), (said, wrong, told)


def test_what_a_model_sends_is_judged_alike(service: Service) -> None:
    app = create_app(service)
    mount(app, service, app.state.identify)
    accept = {"accept": "application/json, text/event-stream"}
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
        for given, why in (({"as_of": 1_700_000_000}, A_DATE), ({"k": True}, A_NUMBER)):
            called = {"name": "recall", "arguments": {"query": "x", **given}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
            told = client.post("/mcp", json=body, headers=accept).text
            assert next(iter(given)) in told and why in told, told


def test_in_a_query_too(service: Service) -> None:
    with TestClient(create_app(service), base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
        said = client.get("/v1/records", params={"as_of": "1700000000"}).json()
        assert (said["field"], A_DATE in said["detail"]) == ("as_of", True)
        said = client.get("/v1/records", params={"limit": "true"}).json()
        assert said["field"] == "limit" and said["status"] == 422
        assert client.get("/v1/records", params={"as_of": "2026-01-31T12:00:00Z", "limit": "3"}).status_code == 200


@pytest.mark.parametrize("text", ["1", "-1.5", " 17_000. ", "+0", "1" * 1000], ids=len)
def test_a_text_that_is_a_number_is_no_date(text: str) -> None:
    with pytest.raises(ValueError, match=A_DATE):
        no_number(text)


@pytest.mark.parametrize("text", [ONES + "x", f"{ONES}.{ONES}x", ONES + "_x", "2026-01-31", "1.2.3"], ids=len)
def test_a_long_text_that_is_none_is_read_once(text: str) -> None:
    """Every way to divide the digits would be tried otherwise, for minutes."""
    assert no_number(text) == text


def test_models_and_payloads_are_judged_alike(home: object) -> None:
    with pytest.raises(InvalidInput, match="priority: is true or false, and should be a number"):
        Goal(description="x", priority=True)
    with pytest.raises(InvalidInput, match="timestamp: is a number, and should be a date"):
        Turn(conversation_id="c", role="user", content="x", index=0, timestamp=1_700_000_000)  # type: ignore[arg-type]
    with AgentMemory("ada") as memory:
        with pytest.raises(InvalidInput, match="priority: is true or false"):
            memory.records.add("x", kind="goal", payload={"description": "x", "priority": True})
        with pytest.raises(InvalidInput, match=r"links\.0\.weight: is true or false"):
            memory.records.add("x", links=[{"source_id": "a", "target_id": "b", "type": "t", "weight": True}])  # type: ignore[list-item]
        assert memory.records.add("x", payload={"fixed": True, "at": 1_700_000_000}).effect == "created", "any JSON"
        assert memory.records.add("y", importance=1).effect == "created", "a whole number is one"

"""The access log through every door: one line each, with the door, the key and the reason. P9."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from foreign import Foreign

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.rest.app import create_app

pytestmark = pytest.mark.requirement("P9")
WHY = {"x-memory-why": "INC-42"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


@pytest.fixture
def service(home: Path) -> Iterator[Service]:
    made = Service(config.load())
    yield made
    made.close()


@pytest.fixture
def web(service: Service) -> Iterator[TestClient]:
    app = create_app(service)
    mount(app, service, app.state.identify)
    with TestClient(app, "http://localhost:8005", client=("127.0.0.1", 4711)) as client:
        yield client


def told(memory: AgentMemory, service: Service) -> list[tuple[str, str | None, str | None]]:
    service.runtime.reads.flush()
    return [(one.door or "", one.key, one.why) for one in memory.govern.audit() if one.did == "read"]


@pytest.fixture
def ada(service: Service) -> Iterator[AgentMemory]:
    with AgentMemory("default") as memory:
        yield memory


def test_rest_and_mcp(web: TestClient, service: Service, ada: AgentMemory) -> None:
    id = ada.records.add("the port is 8080").id
    assert web.get(f"/v1/records/{id}", headers=WHY).status_code == 200
    assert told(ada, service) == [("rest", None, "INC-42")]
    said = {**CALL, "params": {"name": "get", "arguments": {"id": id}}}
    accept = {"accept": "application/json, text/event-stream"}
    assert "8080" in web.post("/mcp", json=said, headers={**WHY, **accept}).text
    assert told(ada, service)[0] == ("mcp", None, "INC-42") and len(told(ada, service)) == 2


def test_a_key_is_named_and_one_bound_to_a_user_is_told_of_that_user(
    web: TestClient, service: Service, ada: AgentMemory
) -> None:
    id = ada.records.add("the port is 8080").id
    reader = ada.keys.create("reader")
    bound = ada.keys.create("bound", for_user="bob", permissions=["read", "admin"])
    by = {"authorization": f"Bearer {reader.secret}"}
    assert web.get(f"/v1/records/{id}", headers=by).status_code == 200
    assert told(ada, service) == [("rest", reader.id, None)]
    assert web.get("/v1/audit", headers=by).status_code == 403
    bobs = {"authorization": f"Bearer {bound.secret}"}
    assert web.get("/v1/audit", headers=bobs).json() == []
    assert web.get("/v1/audit?by=default", headers=bobs).json() == []
    assert [one.ids for one in ada.govern.audit(key=reader.id)] == [[id]]


def test_a_reason_that_is_too_long_is_refused(web: TestClient, service: Service, ada: AgentMemory) -> None:
    id = ada.records.add("the port is 8080").id
    refused = web.get(f"/v1/records/{id}", headers={"x-memory-why": "x" * 201})
    assert (refused.status_code, refused.json()["code"], refused.json()["field"]) == (422, "invalid_input", "why")
    assert told(ada, service) == []


def test_grpc(service: Service, ada: AgentMemory) -> None:
    id = ada.records.add("the port is 8080").id
    server = start(service, port=0)
    client = Foreign(server.port, user=None)
    try:
        client.metadata = [("x-memory-why", "INC-42")]
        client.call("RecordsService/Get", {"id": id})
    finally:
        client.close()
        server.stop()
    assert told(ada, service) == [("grpc", None, "INC-42")]


def test_our_client_at_a_server(serving: Any) -> None:
    with serving() as url, AgentMemory("ada", store=url, why="INC-42") as memory:
        id = memory.records.add("the port is 8080").id
        memory.records.get(id)
        memory.records.get(id, why="äpfel")
        assert [(one.door, one.why) for one in memory.govern.audit() if one.did == "read"] == [
            ("rest", "äpfel"),
            ("rest", "INC-42"),
        ]


def test_the_command_line(here: Any) -> None:
    id = here("add", "the port is 8080", "--json").json["id"]
    assert here("show", id, "--because", "INC-42").code == 0
    told = here("audit", id)
    assert told.code == 0 and "INC-42" in told.out and "cli" in told.out and "8080" not in told.out
    (read, added) = here("audit", id, "--json").json
    assert (read["did"], read["door"], read["why"], added["did"]) == ("read", "cli", "INC-42", "changed")
    assert here("audit", "--user", "nobody", "--json").json == []
    refused = here("show", id, "--because", "x" * 201)
    assert refused.code == 2 and refused.err.startswith("error: --because: must be one line of text")

"""What REST says of itself is true: schemathesis tries every operation with what its description allows, and more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, openapi, serializer
from schemathesis.checks import (
    allow_header_conformance,
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE, Permission
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.app import create_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    allow_header_conformance,
]
EXAMPLES = 5


@serializer("application/x-ndjson")
def lines(ctx: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture
def described(home: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """All of it: every call shows a key, since from the first `keys.create` on one is needed."""
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "0")
    service = Service()
    with AgentMemory("default") as memory:
        key = f"Bearer {memory.keys.create('everything', list(Permission)).secret}".encode()
    app = create_app(service, frozenset({"testserver"}))
    app.state.stopping.set()  # a stream ends after what there is

    async def from_here(scope: Any, receive: Any, send: Any) -> None:
        said = [one for one in scope.get("headers", ()) if one[0] != b"x-memory-tenant"]  # the key has one
        headers = [*said, (b"authorization", key)]
        await app({**scope, "client": ("127.0.0.1", 50000), "headers": headers}, receive, send)

    app.openapi()  # made before it is asked for: schemathesis does not wait long
    yield openapi.from_asgi("/openapi.json", from_here)
    service.close()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_keeps_its_word(described: Any, mode: GenerationMode) -> None:
    tried = 0
    statuses = set()
    for found in described.get_all_operations():
        operation = found.ok()
        if operation.path == "/v1/models/ask":
            continue  # there is no model: 501, whatever is asked

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def keeps_its_word(case: Any) -> None:
            statuses.add(case.call_and_validate(checks=CHECKS).status_code)

        tried += 1
        try:
            keeps_its_word()
        except Unsatisfiable:  # there is nothing that its description forbids
            assert mode is GenerationMode.NEGATIVE
    assert tried >= len(TABLE) and 401 not in statuses and (200 if mode is GenerationMode.POSITIVE else 422) in statuses


# -- what programs read


@pytest.fixture
def rest(home: object) -> Iterator[TestClient]:
    app = create_app(Service())
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
        yield client


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Nothing in it is about a store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_MEMORY_HOME", str(tmp_path_factory.mktemp("home")))
        service = Service()
    found: dict[str, Any] = create_app(service).openapi()
    service.close()
    return found


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["operationId"]: one for methods in document["paths"].values() for one in methods.values()}


def taken(document: dict[str, Any], one: dict[str, Any], where: str) -> dict[str, Any]:
    """The parameters of an operation that stand in its path, its query or its headers."""
    parts = document["components"]["parameters"]
    found = [parts[given["$ref"].rpartition("/")[2]] if "$ref" in given else given for given in one["parameters"]]
    return {given["name"]: given["schema"] for given in found if given["in"] == where}


def test_names_are_unique_and_readable(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9]+", name) for name in schemas)
    assert {"TraceLeftOut", "ContextLeftOut", "GraphImported", "ImportAnswer"} <= set(schemas), "as in gRPC"
    titles = [one["title"] for one in schemas.values() if "title" in one]
    assert len(titles) == len(set(titles))
    assert all(re.fullmatch(r"[a-z_]+", name) for name in operations(document))
    assert len(operations(document)) == sum(len(methods) for methods in document["paths"].values())
    told = json.dumps(document)
    assert all(ref in schemas for ref in re.findall(r"#/components/schemas/(\w+)", told))


def test_limits_are_told(document: dict[str, Any]) -> None:
    known, schemas = operations(document), document["components"]["schemas"]
    assert taken(document, known["records_find"], "query")["limit"] | {"title": ""} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 10_000,
        "default": 50,
        "title": "",
    }
    adding = schemas["RecordsAddRequest"]["properties"]
    assert adding["text"]["maxLength"] == 1_000_000
    assert adding["id"]["anyOf"][0] == {"type": "string", "minLength": 1, "maxLength": 512}
    assert adding["importance"]["anyOf"][0] == {"type": "number", "minimum": 0.0, "maximum": 1.0}
    asking = schemas["RecallRequest"]["properties"]
    assert asking["query"]["maxLength"] == 20_000 and asking["k"]["anyOf"][0]["maximum"] == 1000
    assert "9223372036854775807" not in json.dumps(document), "a number that no other language reads as it is"


def test_every_number_has_its_limits_in_the_description(rest: TestClient, document: dict[str, Any]) -> None:
    """One more than an argument may be is refused, and named."""
    tried = 0
    for operation in TABLE.values():
        shapes = operation.arguments.model_json_schema()["properties"]
        for name, shape in shapes.items():
            most = next((one["maximum"] for one in [shape, *shape.get("anyOf", ())] if "maximum" in one), None)
            if most is None:
                continue
            tried += 1
            said = rest.post(f"/v1/call/{operation.name}", json={name: most + 1}).json()
            assert said["code"] == "invalid_input" and name in str(said), (operation.name, said)
    assert tried > 20


def test_headers_are_told_where_they_count(document: dict[str, Any]) -> None:
    known = operations(document)
    scope = {"X-Memory-User", "X-Memory-Tenant", "X-Memory-Agent", "X-Memory-Conversation"}
    assert all(scope <= taken(document, one, "header").keys() for one in known.values())
    for operation in TABLE.values():
        said = taken(document, known[operation.name.replace(".", "_")], "header").keys()
        writes = operation.permission is not Permission.READ
        assert ("Idempotency-Key" in said) is (writes and "idempotency_key" in operation.signature)
        assert ("If-Match" in said) is (writes and "if_version" in operation.signature)
    assert "If-Match" in taken(document, known["records_forget_one"], "header")
    assert "Idempotency-Key" in taken(document, known["memory_store"], "header")
    assert known["records_get"]["responses"]["200"]["headers"].keys() == {"ETag"}
    assert known["records_find"]["responses"]["200"]["headers"].keys() == {"Link"}


def test_keys_and_problems_are_told(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["ApiKey"].items() >= {"type": "http", "scheme": "bearer"}.items()
    assert document["security"] == [{"ApiKey": []}, {}], "without any key on the server, nobody shows one"
    for name, one in operations(document).items():
        for status in ("4XX", "5XX"):
            content = one["responses"][status]["content"]["application/problem+json"]
            assert content["schema"]["$ref"].endswith("/Problem"), name


def test_the_top_leads_to_the_page_for_people(rest: TestClient) -> None:
    """Also where there are keys, as a link from elsewhere may; the page itself then asks for one."""
    with AgentMemory("default") as memory:
        memory.keys.create("everything", list(Permission))
    for headers in ({}, {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}):
        led = rest.get("/", headers=headers, follow_redirects=False)
        assert led.status_code == 307 and led.headers["location"] == "docs"
    assert rest.get("/").status_code == 401 and rest.get("/").url.path == "/docs"


def test_without_keys_the_page_is_for_everybody(rest: TestClient) -> None:
    page = rest.get("/")
    assert page.url.path == "/docs" and "DELETE" in page.text and "If-Match" in page.text
    assert page.text.count("X-Memory-User") == 1, "said once"

"""What REST says of itself is true: schemathesis tries every operation with what its description allows, and more."""

from __future__ import annotations

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
        headers = [*scope.get("headers", ()), (b"authorization", key)]
        await app({**scope, "client": ("127.0.0.1", 50000), "headers": headers}, receive, send)

    yield openapi.from_asgi("/openapi.json", from_here)
    service.close()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_keeps_its_word(described: Any, mode: GenerationMode) -> None:
    tried = 0
    statuses = set()
    for found in described.get_all_operations():
        operation = found.ok()

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
    assert tried > len(TABLE) and 401 not in statuses and (200 if mode is GenerationMode.POSITIVE else 422) in statuses

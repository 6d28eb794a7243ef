"""API keys over a real HTTP surface: hashed, bound, limited, ended, and every refusal written down. P23."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.service import Service
from agent_memory.core.govern.access import Meter
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models.errors import InvalidInput, NotFound, TooMany

HERE, ELSEWHERE = ("127.0.0.1", 4711), ("203.0.113.9", 4711)


@pytest.fixture
def service(home: Path, clock: Any) -> Iterator[Service]:
    made = Service(config.load(), clock)
    yield made
    made.close()


@pytest.fixture
def web(service: Service) -> Iterator[TestClient]:
    with TestClient(create_app(service), "http://localhost:8005", client=HERE) as client:
        yield client


def bearer(secret: str, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}", **more}


def made(memory: AgentMemory, **given: Any) -> str:
    return memory.keys.create("test", **given).secret


@pytest.mark.requirement("P23")
def test_on_this_machine_no_key_is_needed_until_there_is_one(web: TestClient, timed: AgentMemory) -> None:
    assert web.post("/v1/records", json={"text": "hello"}).status_code == 200
    secret = made(timed)
    refused = web.post("/v1/recall", json={"query": "hello"})
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert refused.headers["content-type"] == "application/problem+json"
    assert web.post("/v1/recall", json={"query": "hello"}, headers=bearer(secret)).status_code == 200
    timed.keys.revoke(timed.keys.list()[0].id)
    assert web.post("/v1/recall", json={"query": "hello"}).status_code == 401, "the door stays closed"


@pytest.mark.requirement("P23")
def test_from_elsewhere_a_key_is_always_needed(service: Service) -> None:
    with TestClient(create_app(service), "http://localhost:8005", client=ELSEWHERE) as web:
        assert web.post("/v1/recall", json={"query": "hello"}).status_code == 401
        assert web.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "token", ["", "am_", "am_000000000000_" + "a" * 43, "x" * 10_000, "am_zzzzzzzzzzzz_" + "a" * 43, "ü"]
)
def test_what_is_no_key_opens_nothing(service: Service, timed: AgentMemory, token: str) -> None:
    from agent_memory.app.service import CallerClaim
    from agent_memory.models.errors import Unauthenticated

    made(timed)
    with pytest.raises(Unauthenticated):
        service.identify(CallerClaim(token=token))


def test_the_right_id_with_another_secret(web: TestClient, timed: AgentMemory) -> None:
    secret = made(timed)
    wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    assert web.get("/v1/stats", headers=bearer(wrong)).status_code == 401


@pytest.mark.requirement("P23")
def test_only_a_hash_of_the_secret_is_in_the_file(timed: AgentMemory, home: Path) -> None:
    secret = made(timed).split("_", 2)[2]  # a secret may hold underscores
    timed.close()
    assert secret.encode() not in (home / "memory.db").read_bytes()
    with sqlite3.connect(home / "memory.db") as file:
        assert len(file.execute("select digest from keys").fetchone()[0]) == 32


@pytest.mark.requirement("P23")
def test_permissions(web: TestClient, timed: AgentMemory) -> None:
    rights = ("read", "write", "admin", "operator", "metrics")
    reader, writer, admin, operator, metrics = (made(timed, permissions=[one]) for one in rights)
    asked = [
        ("/v1/records", {"text": "x"}),
        ("/v1/recall", {"query": "x"}),
        ("/v1/keys", {"label": "x"}),
        ("/v1/verify", {}),
    ]
    allowed = {
        secret: [web.post(path, json=body, headers=bearer(secret)).status_code for path, body in asked]
        for secret in (reader, writer, admin, operator, metrics)
    }
    assert allowed == {
        reader: [403, 200, 403, 403],
        writer: [200, 403, 403, 403],
        admin: [403, 403, 200, 403],
        operator: [403, 403, 403, 200],
        metrics: [403, 403, 403, 403],
    }
    said = web.post("/v1/records", json={"text": "x"}, headers=bearer(reader)).json()
    assert "write" in said["detail"] and "read" in said["hint"]


@pytest.mark.requirement("P23")
def test_a_key_speaks_for_its_tenant_and_its_user(web: TestClient, timed: AgentMemory) -> None:
    adas, anybodys = made(timed, for_user="ada"), made(timed)
    timed.records.add("adas secret")
    ask = {"query": "secret"}

    def asked(secret: str, **headers: str) -> Any:
        return web.post("/v1/recall", json=ask, headers=bearer(secret, **headers))

    assert len(asked(adas).json()["hits"]) == 1
    assert asked(adas, **{"x-memory-user": "bob"}).status_code == 403
    assert asked(adas, **{"x-memory-tenant": "zeta"}).status_code == 403
    assert asked(anybodys, **{"x-memory-user": "bob"}).json()["hits"] == []
    assert len(asked(anybodys, **{"x-memory-user": "ada"}).json()["hits"]) == 1
    assert asked(anybodys, **{"x-memory-user": "ada", "x-memory-tenant": "zeta"}).status_code == 403


def test_expiry_and_rotation(web: TestClient, timed: AgentMemory, clock: Any) -> None:
    short = made(timed, expires_days=1)
    assert web.get("/v1/stats", headers=bearer(short)).status_code == 200
    clock.forward(days=1)
    assert "expired" in web.get("/v1/stats", headers=bearer(short)).json()["detail"]
    old = timed.keys.create("rotated", permissions=["read"], for_user="ada")
    new = timed.keys.rotate(old.id)
    assert (new.label, new.user, new.permissions) == (old.label, old.user, old.permissions)
    assert web.get("/v1/stats", headers=bearer(old.secret)).status_code == 401
    assert web.get("/v1/stats", headers=bearer(new.secret)).status_code == 200
    assert {one.id: one.ended_at is None for one in timed.keys.list()}[old.id] is False


@pytest.mark.requirement("P23")
def test_every_refusal_leaves_a_line(web: TestClient, timed: AgentMemory) -> None:
    reader = timed.keys.create("reader", permissions=["read"])
    web.post("/v1/recall", json={"query": "x"})
    web.post("/v1/records", json={"text": "x"}, headers=bearer(reader.secret, **{"x-memory-user": "bob"}))
    newest, first = timed.keys.denials()
    assert (newest.key, newest.user, newest.operation) == (reader.id, "bob", "records.add")
    assert (first.key, first.operation, first.reason) == (None, "POST /v1/recall", "no API key")
    web.post("/v1/recall", json={"query": "x"}, headers=bearer(reader.secret, **{"x-memory-tenant": "zeta"}))
    assert timed.keys.denials(1)[0].key == reader.id, "told to the tenant whose key it is"
    with AgentMemory("eve", tenant="zeta") as other:
        assert other.keys.denials() == []


def test_too_many_calls(home: Path, clock: Any, timed: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "3")
    secret, other = made(timed), made(timed)
    with TestClient(create_app(Service(config.load(), clock)), "http://localhost:8005", client=HERE) as web:
        statuses = [web.get("/v1/stats", headers=bearer(secret)).status_code for _ in range(8)]
        assert statuses[:3] == [200, 200, 200] and 429 in statuses
        assert web.get("/v1/stats", headers=bearer(other)).status_code == 200, "each key for itself"


def test_a_meter_fills_again() -> None:
    meter = Meter(2.0)
    for _ in range(2):
        meter.take("a", 0.0)
    with pytest.raises(TooMany):
        meter.take("a", 0.1)
    meter.take("a", 0.6)
    meter.take("b", 0.6)
    unlimited = Meter(0)
    for _ in range(1000):
        unlimited.take("a", 0.0)


def test_an_unknown_key_is_called_a_key(here: Any, remembered: str) -> None:
    ran = here("keys", "revoke", "nope")
    assert ran.code == 3 and "no key 'nope'" in ran.err and "keys list" in ran.err


def test_keys_of_another_tenant_are_not_there(timed: AgentMemory) -> None:
    key = timed.keys.create("mine")
    with AgentMemory("ada", tenant="zeta") as other:
        assert other.keys.list() == []
        for change in (other.keys.revoke, other.keys.rotate):
            with pytest.raises(NotFound):
                change(key.id)
    assert timed.keys.list()[0].ended_at is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"label": ""}, "label"),
        ({"label": "x", "permissions": ["all"]}, "permissions.0"),
        ({"label": "x", "permissions": []}, "permissions"),
        ({"label": "x", "expires_days": 0}, "expires_days"),
        ({"label": "x", "expires_days": float("nan")}, "expires_days"),
    ],
)
def test_bad_input_names_the_field(timed: AgentMemory, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        timed.keys.create(**given)
    assert error.value.field == field and timed.keys.list() == []


def test_a_clock_that_jumps_back_revives_no_key(web: TestClient, timed: AgentMemory, clock: Any) -> None:
    key = timed.keys.create("old")
    timed.keys.revoke(key.id)
    clock.moment -= timedelta(days=1)
    assert web.get("/v1/stats", headers=bearer(key.secret)).status_code == 401

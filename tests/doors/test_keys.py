"""Who may make, see and change which keys; and what a server with keys tells those who show none. P23."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.operations import TABLE, Permission
from agent_memory.app.service import Caller, Service
from agent_memory.engines.sqlite import access
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models.access import NewKey
from agent_memory.models.errors import StoreError
from agent_memory.models.record import Scope

HERE = ("127.0.0.1", 4711)
ADMIN = ["read", "admin"]
Ask = Callable[..., httpx.Response]


@pytest.fixture
def web(home: Path, clock: Any) -> Iterator[TestClient]:
    with TestClient(create_app(Service(config.load(), clock)), "http://localhost:8005", client=HERE) as client:
        yield client


@pytest.fixture
def as_key(web: TestClient) -> Callable[[NewKey | None], Ask]:
    def holder(key: NewKey | None) -> Ask:
        shown = {"authorization": f"Bearer {key.secret}"} if key else {}
        return lambda method, path, **more: web.request(method, path, headers=shown, **more)

    return holder


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


# -- the first key


@pytest.mark.requirement("P23")
def test_the_first_key_is_not_made_over_the_network(web: TestClient, timed: AgentMemory, here: Any) -> None:
    for path in ("/v1/keys", "/v1/call/keys.create"):
        refused = web.post(path, json={"label": "mine", "permissions": ["admin"]})
        assert code(refused) == (403, "denied") and "agent-memory keys create" in refused.json()["hint"]
    assert timed.keys.list() == [] and web.get("/v1/records").status_code == 200
    ran = here("--json", "keys", "create", "laptop", "--permissions", "admin")
    assert ran.code == 0, ran.err
    admin = {"authorization": f"Bearer {ran.json['secret']}"}
    assert web.post("/v1/keys", json={"label": "the second"}, headers=admin).status_code == 200
    assert web.get("/v1/records").status_code == 401


# -- who manages which


@pytest.mark.requirement("P23")
def test_a_bound_admin_manages_the_keys_of_its_user(as_key: Any, timed: AgentMemory, clock: Any) -> None:
    adas = timed.keys.create("ada's", ADMIN, for_user="ada")
    wider = timed.keys.create("wider", ["write"], for_user="ada")
    bobs, everybodys = timed.keys.create("bob's", for_user="bob"), timed.keys.create("everybody's")
    ask = as_key(adas)
    made = ask("POST", "/v1/keys", json={"label": "phone", "permissions": ["read"]}).json()
    assert made["user"] == "ada"
    assert {one["id"] for one in ask("GET", "/v1/keys").json()} == {adas.id, wider.id, made["id"]}
    for body in ({"for_user": "bob", "permissions": ["read"]}, {"for_user": "ada", "permissions": ["read", "write"]}):
        assert code(ask("POST", "/v1/keys", json={"label": "x", **body})) == (403, "denied")
    for other in (bobs, everybodys):
        assert code(ask("POST", f"/v1/keys/{other.id}/rotate")) == (404, "not_found")
        assert code(ask("DELETE", f"/v1/keys/{other.id}")) == (404, "not_found")
    assert code(ask("POST", f"/v1/keys/{wider.id}/rotate")) == (403, "denied")
    assert ask("POST", f"/v1/keys/{made['id']}/rotate").status_code == 200
    assert ask("DELETE", f"/v1/keys/{wider.id}").status_code == 200
    ended = {one.id for one in timed.keys.list() if one.ended_at}
    assert ended == {made["id"], wider.id}


def test_a_bound_admin_hears_of_its_user_alone(as_key: Any, timed: AgentMemory) -> None:
    adas, bobs = (timed.keys.create(name, ADMIN, for_user=name) for name in ("ada", "bob"))
    for key in (adas, bobs, None):
        as_key(key)("POST", "/v1/records", json={"text": "x"})
        as_key(key)("POST", "/v1/recall", json={"query": "x"})
    told = as_key(adas)("GET", "/v1/denials").json()
    assert [one["key"] for one in told] == [adas.id]
    assert sum(one["recalls"] for one in as_key(adas)("GET", "/v1/receipts/costs").json()) == 1
    assert {one.key for one in timed.keys.denials()} == {adas.id, bobs.id, None}


@pytest.mark.requirement("P23")
def test_keys_of_operators_are_for_operators(as_key: Any, timed: AgentMemory) -> None:
    admin = timed.keys.create("admin", ["admin"])
    operator, both = timed.keys.create("ops", ["operator"]), timed.keys.create("both", ["admin", "operator"])
    ask = as_key(admin)
    refused = ask("POST", "/v1/keys", json={"label": "x", "permissions": ["operator"]})
    assert code(refused) == (403, "denied") and refused.json()["field"] == "permissions"
    assert ask("POST", "/v1/keys", json={"label": "x", "permissions": ["read", "review"]}).status_code == 200
    assert not {operator.id, both.id} & {one["id"] for one in ask("GET", "/v1/keys").json()}
    for method, path in (("POST", f"/v1/keys/{operator.id}/rotate"), ("DELETE", f"/v1/keys/{operator.id}")):
        assert code(ask(method, path)) == (404, "not_found")
    ask = as_key(both)
    assert ask("POST", "/v1/keys", json={"label": "x", "permissions": ["operator"]}).status_code == 200
    assert ask("POST", f"/v1/keys/{operator.id}/rotate").status_code == 200


def test_a_key_that_has_ended_is_not_rotated(as_key: Any, timed: AgentMemory, clock: Any) -> None:
    admin = timed.keys.create("admin", ["admin"])
    revoked, expired = timed.keys.create("revoked"), timed.keys.create("expired", expires_days=1)
    timed.keys.revoke(revoked.id)
    clock.forward(days=2)
    for key, why in ((revoked, "revoked"), (expired, "expired")):
        refused = as_key(admin)("POST", f"/v1/keys/{key.id}/rotate")
        assert code(refused) == (409, "conflict") and why in refused.json()["detail"]
    assert len(timed.keys.list()) == 3


# -- those who show no key


@pytest.mark.requirement("P23")
def test_strangers_are_metered_and_good_keys_are_not_held_up(
    home: Path, clock: Any, timed: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "3")
    good = {"authorization": f"Bearer {timed.keys.create('good').secret}"}
    unknown = {"authorization": "Bearer am_000000000000_" + "a" * 43}
    with TestClient(create_app(Service(config.load(), clock)), "http://localhost:8005", client=HERE) as web:
        statuses = [web.get("/v1/stats", headers=unknown if turn % 2 else {}).status_code for turn in range(60)]
        assert statuses[:3] == [401, 401, 401] and statuses.count(429) > statuses.count(401)
        assert web.get("/v1/stats", headers=good).status_code == 200
    assert len(timed.keys.denials()) == statuses.count(401)


@pytest.mark.requirement("P23")
def test_strangers_push_no_refusal_out(web: TestClient, timed: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MOST_REFUSALS", 20)
    reader = timed.keys.create("reader", ["read"])
    shown = {"authorization": f"Bearer {reader.secret}"}
    with AgentMemory("eve", tenant="zeta") as other:
        elsewhere = {"authorization": f"Bearer {other.keys.create('reader', ['read']).secret}"}
    for _ in range(2):
        web.post("/v1/records", json={"text": "x"}, headers=shown)
    for _ in range(50):
        web.post("/v1/records", json={"text": "x"})
        web.post("/v1/records", json={"text": "x"}, headers=elsewhere)
    told = timed.keys.denials(limit=10)
    assert [one.key for one in told].count(reader.id) == 2 and len(told) == 10
    assert len(timed.keys.denials(limit=1000)) == 22, "the newest of those without a key"
    assert [one.key for one in timed.keys.denials(limit=1)] == [reader.id]


# -- what is told of the store


@pytest.fixture
def holders(timed: AgentMemory, as_key: Any) -> dict[str, Ask]:
    rights = {"nobody": None, "reader": ["read"], "admin": ["admin", "read"], "operator": ["operator", "read"]}
    rights["prometheus"] = ["metrics"]
    return {name: as_key(may and timed.keys.create(name, may)) for name, may in rights.items()}


@pytest.mark.requirement("P23", "C17")
@pytest.mark.parametrize(
    ("path", "open_to"),
    [
        ("/healthz", {"nobody", "reader", "admin", "operator", "prometheus"}),
        ("/readyz", {"nobody", "reader", "admin", "operator", "prometheus"}),
        ("/metrics", {"operator", "prometheus"}),
        ("/openapi.json", {"reader", "admin", "operator", "prometheus"}),
        ("/docs", {"reader", "admin", "operator", "prometheus"}),
        ("/v1/stats", {"reader", "admin", "operator"}),
        ("/memory/stats", {"reader", "admin", "operator"}),
    ],
)
def test_where_the_store_is_and_how_large_is_for_operators(
    holders: dict[str, Ask], home: Path, path: str, open_to: set[str]
) -> None:
    told = {name: ask("GET", path) for name, ask in holders.items()}
    assert {name for name, answer in told.items() if answer.status_code == 200} == open_to
    assert all(answer.status_code in (401, 403) for name, answer in told.items() if name not in open_to)
    for name in set(told) - {"operator"}:
        assert str(home) not in told[name].text
        assert ("store_bytes" in told[name].text) is (path == "/metrics" and name == "prometheus")
    if path.endswith("/stats"):
        for name in ("store", "bytes_on_disk", "resident_bytes"):
            assert [told[who].json()[name] is None for who in ("reader", "admin", "operator")] == [True, True, False]
    if path == "/readyz":
        assert ["checks" in answer.json() for answer in told.values()] == [False, False, False, True, False]


def test_without_keys_everything_is_told_on_this_machine(web: TestClient, timed: AgentMemory, home: Path) -> None:
    assert web.get("/readyz").json()["checks"] == {"store": "ok", "embedder": "ok"}
    assert "agent_memory_store_bytes" in web.get("/metrics").text
    assert web.get("/openapi.json").status_code == web.get("/docs").status_code == 200
    assert str(home) in web.get("/v1/stats").json()["store"]


@pytest.mark.requirement("P23")
def test_a_broken_store_is_named_in_the_log_and_not_on_the_wire(
    holders: dict[str, Ask], timed: AgentMemory, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert holders["reader"]("GET", "/v1/records").status_code == 200
    (home / "memory.db").rename(home / "moved.db")
    for name, ask in holders.items():
        for path in ("/v1/records", "/readyz"):
            said = ask("GET", path)
            if name != "nobody" or path == "/readyz":
                assert said.status_code == 503, said.text
            assert str(home) not in said.text
        metrics = ask("GET", "/metrics")
        if name != "nobody":
            assert "agent_memory_store_up 0.0" in metrics.text and "store_bytes" not in metrics.text
    assert str(home / "memory.db") in caplog.text
    (home / "moved.db").rename(home / "memory.db")


def test_a_call_that_fails_tells_the_place_to_operators(home: Path, timed: AgentMemory) -> None:
    service, scope = Service(config.load()), Scope(tenant="default", user="ada")
    (home / "memory.db").rename(home / "moved.db")
    told = []
    for caller in (Caller(scope, permissions=frozenset({Permission.READ})), Caller(scope)):
        with pytest.raises(StoreError) as raised:
            service.call(TABLE["records.find"], caller, {})
        told.append(str(raised.value))
    assert str(home) not in told[0] and str(home) in told[1] and "removed or replaced" in told[0]
    (home / "moved.db").rename(home / "memory.db")
    service.close()

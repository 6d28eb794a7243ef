"""REST: every operation as a resource, the four calls of E8, versions, pages, streams and problems."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models import Turn
from agent_memory.models.errors import AgentMemoryError
from patience import PATIENCE

LINES = {"content-type": "application/x-ndjson"}


def client_of(service: Service, **limits: float) -> TestClient:
    return TestClient(create_app(service, **limits), base_url="http://localhost", client=("127.0.0.1", 50000))


@pytest.fixture
def service(home: object) -> Service:
    return Service()


@pytest.fixture
def rest(service: Service) -> Iterator[TestClient]:
    with client_of(service) as client:
        yield client


def is_problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said: dict[str, Any] = answer.json()
    assert said["status"] == status and said["code"] == code and said["title"] and said["detail"]
    return said


# -- the four calls


@pytest.mark.requirement("E8")
def test_the_four_calls(rest: TestClient) -> None:
    stored = rest.post("/memory/store", json={"context": "Staging listens on 5433", "importance": 0.9})
    assert stored.status_code == 201 and set(stored.json()) == {"id"}
    rest.post("/memory/store", json={"context": "Lunch is at noon", "metadata": {"place": "canteen"}})
    first, second = rest.get("/memory/retrieve", params={"q": "which port is staging on?", "k": 5}).json()
    assert first["content"] == "Staging listens on 5433" and first["score"] > second["score"]
    told = first["metadata"]
    assert told["id"] == stored.json()["id"] and told["importance"] == 0.9 and told["access_count"] == 1
    assert told["compressed"] is False and told["consolidated_from"] == 0 and told["timestamp"] > 1.7e9
    assert second["metadata"]["place"] == "canteen"
    assert rest.get("/memory/retrieve", params={"q": "staging", "k": 1}).json()[0]["metadata"]["access_count"] == 2
    done = rest.post("/memory/consolidate").json()
    jobs = {"catch_up": {"vectors": 0, "pending_vectors": 0}}
    assert done == {"merged": 0, "into": 0, "pruned": 0, "jobs": jobs}
    stats = rest.get("/memory/stats").json()
    assert stats["records"] == 2 and stats["bytes_on_disk"] > 0 and stats["resident_bytes"] > 2**20
    assert stats["accesses"]["records"] == 2 and stats["accesses"]["times"] == 3
    assert stats["compression_ratio"] == pytest.approx(3.92) and stats["compression"]["text_ratio"] == 1.0


@pytest.mark.requirement("E8", "E4")
def test_the_score_is_what_was_promised(rest: TestClient) -> None:
    """0.5 similarity + 0.3 e^(-time_weight age) + 0.2 importance 0.95^age; at age 0 the last two are 0.3 and 0.2."""
    rest.post("/memory/store", json={"context": "the same words", "importance": 1.0})
    same = rest.get("/memory/retrieve", params={"q": "the same words"}).json()[0]["score"]
    assert same == pytest.approx(1.0, abs=0.01)


@pytest.mark.requirement("E8")
def test_the_engine_in_python_is_the_same(rest: TestClient, home: object) -> None:
    from agent_memory import CPUMemoryEngine

    id = rest.post("/memory/store", json={"context": "told over HTTP"}).json()["id"]
    with CPUMemoryEngine(max_memory_mb=90) as engine:
        own = engine.store_memory("told in Python", importance=0.8)
        found = engine.retrieve_memories("what was told?", k=2, time_weight=0.1)
        assert {one["metadata"]["id"] for one in found} == {id, own}
        assert engine.stats()["within_memory"] in (True, False)
    with pytest.raises(ValueError, match="max_memory_mb"):
        CPUMemoryEngine(max_memory_mb=0)


@pytest.mark.parametrize(
    "body", [{}, {"context": ""}, {"context": "x", "importance": 2}, {"context": 5}, {"context": "x", "more": 1}, []]
)
def test_what_cannot_be_stored_is_named(rest: TestClient, body: Any) -> None:
    is_problem(rest.post("/memory/store", json=body), 422, "invalid_input")
    assert rest.get("/memory/stats").json()["records"] == 0


# -- one table


def test_every_operation_has_its_route(rest: TestClient) -> None:
    described = rest.get("/openapi.json").json()
    told = {one["operationId"] for methods in described["paths"].values() for one in methods.values()}
    assert {name.replace(".", "_") for name in TABLE} <= told
    page = rest.get("/docs")
    assert "/v1/records/{id}" in page.text and "http" not in page.text.lower().replace("http-", "")
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_whoever_calls_sees_their_own(rest: TestClient) -> None:
    rest.post("/v1/records", json={"text": "of ada"}, headers={"x-memory-user": "ada"})
    rest.post("/v1/records", json={"text": "of default"})
    assert [one["text"] for one in rest.get("/v1/records").json()] == ["of default"]
    assert [one["text"] for one in rest.get("/v1/records", headers={"x-memory-user": "ada"}).json()] == ["of ada"]


@pytest.mark.parametrize("id", ["a/b", "a b", "50%", "ü/☃?#", "a//b", "/", "history"])
def test_an_id_may_be_anything(rest: TestClient, id: str) -> None:
    from urllib.parse import quote

    rest.post("/v1/records", json={"text": "found", "id": id})
    path = f"/v1/records/{quote(id, safe='')}"
    assert rest.get(path).json()["id"] == id
    assert rest.put(path, json={"text": "changed"}).json()["version"] == 2
    assert [one["text"] for one in rest.get(f"{path}/history").json()] == ["found", "changed"]


# -- headers


def test_a_write_under_the_same_key_is_done_once(rest: TestClient) -> None:
    key = {"idempotency-key": "one"}
    first, again = (rest.post("/v1/records", json={"text": "once"}, headers=key).json() for _ in range(2))
    assert first == again and rest.get("/v1/stats").json()["records"] == 1
    is_problem(rest.post("/v1/records", json={"text": "another"}, headers=key), 409, "conflict")
    ids = {
        rest.post("/memory/store", json={"context": "x"}, headers={"idempotency-key": "b"}).json()["id"] for _ in "12"
    }
    assert len(ids) == 1
    called = [rest.post("/v1/call/records.add", json={"text": "y"}, headers={"idempotency-key": "c"}) for _ in "12"]
    assert called[0].json() == called[1].json()


def test_a_key_that_cannot_be_kept_is_refused(rest: TestClient) -> None:
    """Silence would be a promise."""
    said = is_problem(
        rest.put("/v1/records/a", json={"text": "x"}, headers={"idempotency-key": "k"}), 422, "invalid_input"
    )
    assert said["field"] == "Idempotency-Key"


def test_an_update_of_what_somebody_else_changed_is_refused(rest: TestClient) -> None:
    rest.post("/v1/records", json={"text": "one", "id": "a"})
    tag = rest.get("/v1/records/a").headers["etag"]
    assert tag == '"1"'
    assert rest.put("/v1/records/a", json={"text": "two"}, headers={"if-match": tag}).json()["version"] == 2
    for method, body in (("PUT", {"text": "three"}), ("PATCH", {"importance": 0.9})):
        is_problem(rest.request(method, "/v1/records/a", json=body, headers={"if-match": tag}), 412, "changed")
        for wrong in ('W/"2"', "2", '"x"', '"1", "2"'):
            is_problem(rest.request(method, "/v1/records/a", json=body, headers={"if-match": wrong}), 412, "changed")
    assert [one["text"] for one in rest.get("/v1/records/a/history").json()] == ["one", "two"]
    assert rest.patch("/v1/records/a", json={"importance": 0.9}, headers={"if-match": '"2"'}).json()["version"] == 3
    assert rest.put("/v1/records/a", json={"text": "four"}, headers={"if-match": "*"}).json()["version"] == 4
    is_problem(rest.put("/v1/records/none", json={"text": "x"}, headers={"if-match": '"1"'}), 404, "not_found")
    is_problem(rest.patch("/v1/records/none", json={"importance": 1}, headers={"if-match": '"1"'}), 404, "not_found")


def test_a_record_is_deleted_by_its_address(rest: TestClient) -> None:
    rest.post("/v1/records", json={"text": "one", "id": "a/b"})
    rest.put("/v1/records/a%2Fb", json={"text": "two"})
    path = "/v1/records/a%2Fb"
    is_problem(rest.delete(path, headers={"if-match": '"1"'}), 412, "changed")
    is_problem(rest.delete(path, headers={"if-match": "two"}), 412, "changed")
    is_problem(rest.delete(path, headers={"idempotency-key": "k"}), 422, "invalid_input")
    is_problem(rest.delete(path, params={"ids": "c"}), 422, "invalid_input")
    for both in ({"if_version": 2}, {"if_version": 1}):
        answer = rest.delete(path, params=both, headers={"if-match": '"7"'})
        assert is_problem(answer, 422, "invalid_input")["field"] == "if_version", "neither wins"
    is_problem(rest.delete(path, params={"if_version": 1}, headers={"if-match": '"1"'}), 412, "changed")
    assert rest.get(path).json()["text"] == "two"
    gone = rest.delete(path, params={"reason": "asked to"}, headers={"if-match": '"2"'})
    assert gone.status_code == 200 and gone.json()["ids"] == ["a/b"] and gone.json()["scrubbed"] is True
    assert rest.get("/v1/journal").json()[-1]["reason"] == "asked to"
    for once_more in (rest.get(path), rest.delete(path), rest.delete(path, headers={"if-match": '"2"'})):
        assert is_problem(once_more, 404, "not_found")["field"] == "id"


def test_a_version_is_that_of_one_record(rest: TestClient) -> None:
    rest.post("/v1/records/batch", json={"records": [{"text": "one", "id": "a"}, {"text": "two", "id": "b"}]})
    refused = rest.post("/v1/records/forget", json={"ids": ["a", "b"]}, headers={"if-match": '"1"'})
    assert is_problem(refused, 422, "invalid_input")["field"] == "if_version"
    is_problem(rest.post("/v1/records/forget", json={"ids": ["a"], "if_version": 2}), 412, "changed")
    for path in ("/v1/records/forget", "/v1/call/records.forget"):
        refused = rest.post(path, json={"ids": ["a"], "if_version": 1}, headers={"if-match": '"7"'})
        assert is_problem(refused, 422, "invalid_input")["field"] == "if_version"
    assert rest.post("/v1/records/forget", json={"ids": ["a"], "if_version": 1}).json()["ids"] == ["a"]


def test_of_many_updates_of_one_version_one_wins(rest: TestClient) -> None:
    from concurrent.futures import ThreadPoolExecutor

    rest.post("/v1/records", json={"text": "start", "id": "a"})

    def update(number: int) -> int:
        body = {"text": f"writer {number}"} if number % 2 else {"importance": number / 100}
        method = "PUT" if number % 2 else "PATCH"
        return rest.request(method, "/v1/records/a", json=body, headers={"if-match": '"1"'}).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = sorted(pool.map(update, range(16)))
    assert codes == [200] + [412] * 15
    assert rest.get("/v1/records/a").json()["version"] == 2


def test_a_list_says_where_it_goes_on(rest: TestClient) -> None:
    rest.post("/v1/records/batch", json={"records": [{"text": f"number {n}", "id": f"n/{n} %"} for n in range(7)]})
    seen, path = [], "/v1/records?limit=3&kind=observation"
    while path:
        answer = rest.get(path)
        seen += [one["id"] for one in answer.json()]
        path = answer.links.get("next", {}).get("url", "")
    assert sorted(seen) == [f"n/{n} %" for n in range(7)]
    lines, path = [], "/v1/journal?limit=2"
    while path:
        answer = rest.get(path)
        lines += [one["seq"] for one in answer.json()]
        path = answer.links.get("next", {}).get("url", "")
    assert lines == sorted(set(lines)) and len(lines) >= 7


# -- streams


def test_what_is_exported_can_be_imported(rest: TestClient, service: Service) -> None:
    from agent_memory import AgentMemory

    with AgentMemory("default") as memory:
        memory.store_turn(Turn(conversation_id="c", index=0, role="user", content="Hello"))
        memory.learn_fact("Ada lives in Berlin", subject="Ada", predicate="lives in")
        memory.user.set_preference("git", "merge style", "rebase")
        memory.records.add_many([{"text": f"number {n}"} for n in range(1100)])
        memory.records.add("put away", status="archived")
    rest.post("/v1/records", json={"text": "of somebody else"}, headers={"x-memory-user": "eve"})
    lines = rest.get("/v1/export").text.splitlines()
    assert len(lines) == 1106 and not any("somebody else" in line for line in lines)
    body = "\n".join(lines).encode()
    again = rest.post("/v1/import", content=body, headers=LINES).json()
    assert again == {"lines": 1106, "created": 0, "updated": 0, "unchanged": 1106, "forgotten": 0, "held": 0}
    other = {**LINES, "x-memory-user": "bob"}
    assert rest.post("/v1/import", content=body, headers=other).json()["created"] == 1106
    copied = [json.loads(line) for line in rest.get("/v1/export", headers={"x-memory-user": "bob"}).text.splitlines()]
    copied = [one for one in copied if one["key"] != "bob"]  # whose preference it is now
    taken = {"scope", "seq", "recorded_at"}
    plain = [{name: value for name, value in json.loads(line).items() if name not in taken} for line in lines]
    assert [{name: value for name, value in one.items() if name not in taken} for one in copied] == plain
    assert len(rest.get("/v1/export", params={"kind": "fact"}).text.splitlines()) == 1


def test_an_import_brings_nothing_forgotten_back_unless_asked(rest: TestClient) -> None:
    rest.post("/v1/records", json={"text": "the old passphrase", "id": "gone"})
    body = rest.get("/v1/export").content
    rest.post("/v1/records/forget", json={"ids": ["gone"]})
    told = rest.post("/v1/import", content=body, headers=LINES).json()
    assert (told["created"], told["forgotten"]) == (0, 1)
    assert rest.get("/v1/records/gone").status_code == 404
    told = rest.post("/v1/import", params={"restore_forgotten": True}, content=body, headers=LINES).json()
    assert (told["created"], told["forgotten"]) == (1, 0)


def test_an_import_says_which_line_is_wrong(rest: TestClient) -> None:
    lines = [json.dumps({"text": f"number {n}"}) for n in range(700)]
    for wrong, status in (("{", 422), ("[]", 422), ('{"text": 5}', 422), ('{"text": "x", "kind": "nothing"}', 404)):
        body = "\n".join([*lines[:650], wrong, *lines[650:]])
        answer = rest.post("/v1/import", content=body.encode(), headers={**LINES, "x-memory-user": f"of {wrong}"})
        said = answer.json()
        assert answer.status_code in (status, 422), answer.text
        assert said["line"] == 651 and said["imported"] == 650
        counted = rest.get("/v1/stats", headers={"x-memory-user": f"of {wrong}"}).json()["records"]
        assert counted == 650
    is_problem(rest.get("/v1/export", params={"status": "nothing"}), 422, "invalid_input")


def test_an_import_is_utf_8(rest: TestClient) -> None:
    """With the mark that some programs begin a file with, too; what is weighed is what is read."""
    for code, status in (("utf-8", 200), ("utf-8-sig", 200), ("utf-16", 422), ("utf-16-le", 422)):
        answer = rest.post("/v1/import", content=json.dumps({"text": "über"}).encode(code), headers=LINES)
        assert answer.status_code == status, (code, answer.text)


# -- problems


def test_everything_that_goes_wrong_is_a_problem(rest: TestClient) -> None:
    assert is_problem(rest.get("/nowhere"), 404, "no_such_path")["hint"] == "/docs lists what there is"
    refused = rest.delete("/v1/records")
    is_problem(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == "GET, POST"
    is_problem(rest.get("/v1/records/none"), 404, "not_found")
    is_problem(rest.post("/v1/call/nothing.here"), 404, "no_such_operation")
    is_problem(rest.post("/v1/call/records.add", json=[1]), 422, "invalid_input")
    json_type = {"content-type": "application/json"}
    for path in ("/v1/records", "/v1/call/records.add", "/memory/store"):
        wide = [json.dumps({"text": "x", "context": "c"}).encode(code) for code in ("utf-16", "utf-16-le", "utf-32")]
        for broken in (b"{", b"\xff\xfe", b"[" * 100_000, b'"' + b"x" * 100, *wide):
            is_problem(rest.post(path, content=broken, headers=json_type), 400, "invalid_json")
    said = is_problem(rest.post("/v1/records", json={"text": "x", "nonsense": 1}), 422, "invalid_input")
    assert (said["field"], said["hint"]) == ("nonsense", "remove it, or check its spelling")
    said = is_problem(rest.post("/memory/store", json={"content": "x"}), 422, "invalid_input")
    assert (said["field"], said["hint"]) == ("context", "there is no content: did you mean context?")
    is_problem(rest.get("/v1/records", params={"limit": "many"}), 422, "invalid_input")
    is_problem(rest.get("/v1/records", params={"fields": "{"}), 422, "invalid_input")
    is_problem(rest.post("/v1/records", content=b'{"text": "\\ud800"}', headers=json_type), 422, "invalid_input")


def test_nobody_outside_learns_what_broke(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret of /home/ada")

    monkeypatch.setattr(service, "call", broken)
    with client_of(service) as rest, caplog.at_level(logging.ERROR):
        answer = rest.get("/v1/stats")
    is_problem(answer, 500, "unexpected")
    assert "secret" not in answer.text and "RuntimeError" not in answer.text
    assert "the secret of /home/ada" in caplog.text


def test_what_takes_too_long_is_answered(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(service, "call", lambda *_: answered.wait(PATIENCE))
    with client_of(service, answer_seconds=0.1) as rest:
        said = is_problem(rest.post("/v1/records", json={"text": "x"}), 504, "too_slow")
        assert "Idempotency-Key" in said["hint"] and not answered.is_set()
        answered.set()


# -- for whoever runs it


@pytest.mark.requirement("C17")
def test_metrics_count_and_tell_nobody_s_words(rest: TestClient) -> None:
    rest.post(
        "/v1/records", json={"text": "a very private thought", "id": "private-id"}, headers={"x-memory-user": "ada"}
    )
    rest.get("/v1/records/private-id", headers={"x-memory-user": "ada"})
    rest.get("/memory/retrieve", params={"q": "private"}, headers={"x-memory-user": "ada"})
    rest.get("/v1/records/unknown-id")
    rest.get("/private/path")
    answer = rest.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    for line in (
        'agent_memory_calls_total{operation="records.add",outcome="ok"} 1.0',
        'agent_memory_calls_total{operation="records.get",outcome="not_found"} 1.0',
        'agent_memory_http_requests_total{route="records_get",status="404"} 1.0',
        'agent_memory_http_requests_total{route="other",status="404"} 1.0',
        "agent_memory_recalls_total 1.0",
        "agent_memory_writes_total 1.0",
        "agent_memory_pending_vectors 0.0",
        "agent_memory_store_up 1.0",
        'agent_memory_call_seconds_bucket{le="+Inf",operation="records.add"} 1.0',
    ):
        assert line in answer.text.splitlines(), line
    assert "agent_memory_store_bytes" in answer.text and "agent_memory_resident_bytes" in answer.text
    assert not any(word in answer.text for word in ("private", "unknown-id", "ada"))


def test_ready_says_what_is_not(rest: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rest.get("/healthz").json()["status"] == "ok"
    assert rest.get("/readyz").json()["checks"] == {"store": "ok", "embedder": "ok"}

    def away(**how: object) -> None:
        raise AgentMemoryError("the embedder is out of reach")

    monkeypatch.setattr(service.runtime.embedding, "agree", away)
    said = is_problem(rest.get("/readyz"), 503, "not_ready")
    assert said["detail"] == "embedder: the embedder is out of reach"
    assert rest.get("/healthz").status_code == 200


def test_problems_speak_to_whoever_sends_requests(rest: TestClient) -> None:
    said = is_problem(rest.get("/v1/records/nosuch"), 404, "not_found")
    assert said["hint"] == "`GET /v1/records` shows what there is"
    rest.post("/v1/records", json={"text": "a port", "id": "port"})
    said = is_problem(rest.get("/v1/records/port", params={"valid_at": "2001-01-01T00:00:00Z"}), 404, "not_found")
    assert said["hint"] == "`GET /v1/records/{id}/history` shows all versions"
    said = is_problem(rest.get("/v1/records/nosuch/history"), 404, "not_found")
    assert said["hint"] == "`GET /v1/records` shows what there is"
    ours = is_problem(rest.post("/v1/call/records.history", json={"id": "nosuch"}), 404, "not_found")
    assert "`agent-memory list`" in ours["hint"], "our own client shows it at a terminal"
    said = is_problem(
        rest.post("/v1/records", json={"text": "x", "valid_from": "2026-01-31T12:00:00"}), 422, "invalid_input"
    )
    assert said["detail"].endswith("has no time zone: give it one, such as 2026-01-31T12:00:00Z for UTC")
    said = is_problem(rest.post("/v1/rules/proposals", json={"text": "No pushes on Fridays"}), 422, "invalid_input")
    assert (said["field"], said["hint"]) == ("rule", "there is no text: did you mean rule?")

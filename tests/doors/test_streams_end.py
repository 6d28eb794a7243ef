"""How streams over REST end: with the key that opened them, and quietly when a client goes away."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.app import create_app
from patience import PATIENCE, until


@pytest.fixture
def url(home: object, one_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("agent_memory.app.service.RENEW_SECONDS", 0.1)
    service = Service()
    one_server.app = create_app(service)
    yield one_server.url
    service.close()


@pytest.fixture
def owner(url: str) -> Iterator[AgentMemory]:
    with AgentMemory("ada") as memory:
        yield memory


def bearer(key: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {key.secret}", "x-memory-user": "ada"}


@pytest.mark.requirement("P23")
def test_a_key_that_ends_ends_the_journal_it_follows(url: str, owner: AgentMemory) -> None:
    owner.records.add("a line to begin with")
    key = owner.keys.create("reader")
    with httpx.stream("GET", f"{url}/v1/journal/stream?after=0", headers=bearer(key), timeout=PATIENCE) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("data: "))
        owner.keys.revoke(key.id)
        time.sleep(0.3)
        owner.records.add("none of their business")
        rest = [line for line in lines if line]
    assert "event: problem" in rest and "unauthenticated" in rest[-1]
    assert "none of their business" not in "".join(rest) and not any(line.startswith("id: ") for line in rest)


@pytest.mark.requirement("P23")
def test_a_key_that_ends_ends_the_import_it_sends(url: str, owner: AgentMemory) -> None:
    key = owner.keys.create("writer")

    def lines() -> Iterator[bytes]:
        for number in range(500):
            yield json.dumps({"text": f"before {number}"}).encode() + b"\n"
        until(lambda: len(owner.records.find(limit=1000)) == 500)
        time.sleep(0.2)  # longer than a key is believed
        owner.keys.revoke(key.id)
        for number in range(500):
            yield json.dumps({"text": f"after {number}"}).encode() + b"\n"

    sent = {**bearer(key), "content-type": "application/x-ndjson"}
    told = httpx.post(f"{url}/v1/import", content=lines(), headers=sent, timeout=PATIENCE).json()
    assert (told["code"], told["imported"]) == ("unauthenticated", 500)


def test_a_busy_key_does_not_end_its_own_streams(
    home: object, one_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "1")
    monkeypatch.setattr("agent_memory.app.service.RENEW_SECONDS", 0.05)
    service = Service()
    one_server.app = create_app(service)
    with AgentMemory("ada") as owner:
        key = owner.keys.create("reader")
        at = f"{one_server.url}/v1/journal/stream?after=0"
        with httpx.stream("GET", at, headers=bearer(key), timeout=PATIENCE) as answer:
            for _ in range(4):
                httpx.get(f"{one_server.url}/v1/records", headers=bearer(key), timeout=PATIENCE)
            time.sleep(0.5)
            owner.records.add("told all the same", id="told")
            assert "told" in next(line for line in answer.iter_lines() if '"record_id":"told"' in line)
    service.close()


def test_whoever_goes_away_while_sending_is_no_error_of_ours(url: str, caplog: pytest.LogCaptureFixture) -> None:
    at = urlsplit(url)
    head = "POST /v1/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    with socket.create_connection((at.hostname, at.port), timeout=PATIENCE) as wire:
        wire.sendall(head.encode() + b'Content-Length: 9999\r\n\r\n{"text": "half of what was to co')
        time.sleep(0.3)
    time.sleep(0.5)
    assert httpx.get(f"{url}/v1/records", timeout=PATIENCE).json() == []
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []

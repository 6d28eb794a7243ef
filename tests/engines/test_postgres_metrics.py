"""What `/metrics` tells of the connections to a database, and what a caller is told when it is busy."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from pathlib import Path

import httpx
import psycopg
import pytest
from tests.doors.served import Server, serving
from tests.parts.postgres import server

from agent_memory import AgentMemory
from agent_memory.engines.postgres import connection
from agent_memory.engines.postgres.connection import Database
from agent_memory.engines.postgres.schema import open_database
from agent_memory.models.errors import Busy
from agent_memory.ports.watch import State, Wait
from patience import PATIENCE, until

HEAD = "select from agent_memory.tenants where tenant > 0 for no key update"


class Counting:
    def __init__(self) -> None:
        self.states: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self.given_up: Counter[str] = Counter()

    def connections(self, state: State, change: int) -> None:
        self.states[state] += change

    def waited(self, what: Wait, seconds: float) -> None:
        self.waits[what] += 1

    def gave_up(self, what: Wait) -> None:
        self.given_up[what] += 1


def test_a_pool_tells_what_becomes_of_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WAIT_SECONDS", 0.01)
    open_database(uri := server(18).fresh()).close()
    database, watch = Database(uri, most=1), Counting()
    database.watched(watch)
    assert watch.states == {"most": 1, "idle": 0}
    with database.reading(None) as session:
        session.cell("clock")
        assert (watch.states["in_use"], watch.states["idle"]) == (1, 0)
        with pytest.raises(Busy, match="all 1 connections are in use") as told, database.reading(None):
            pass
    assert told.value.wait
    assert (watch.states["in_use"], watch.states["idle"], watch.states["waiting"]) == (0, 1, 0)
    assert watch.given_up == {"connection": 1} and watch.waits["connection"] == 1
    database.close()
    assert watch.states["idle"] == 0


def children(server: Server) -> list[str]:
    return Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()


def value(server: Server, name: str, **labels: str) -> float:
    told = server.ask("GET", "/metrics")[2]
    shown = "".join(f'{name}="{value}"' for name, value in labels.items())
    found = re.search(rf"^agent_memory_store_{name}{{{shown}}} (\S+)$", told, re.M)
    return float(found[1]) if found else 0.0


@pytest.mark.requirement("C17")
@pytest.mark.engines
def test_several_processes_add_up_and_one_that_died_has_no_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = server(18).fresh()
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", uri)
    with serving("--workers", "2", "--no-grpc") as served:
        most = connection.MOST_CONNECTIONS
        until(lambda: value(served, "connections", state="most") == 2 * most)
        served.ask("POST", "/v1/records", {"text": "a first line"})
        before = value(served, "wait_seconds_count", what="head")
        with psycopg.connect(uri) as other:
            other.execute(HEAD)
            writer = threading.Thread(target=served.ask, args=("POST", "/v1/records", {"text": "it waits"}))
            writer.start()
            until(lambda: value(served, "connections", state="in_use") >= 1)
        writer.join()
        assert value(served, "wait_seconds_count", what="head") == before + 1
        first = children(served)
        os.kill(int(first[0]), signal.SIGKILL)
        until(lambda: set(children(served)) - set(first) and served.ask("GET", "/readyz")[0] == 200)
        assert value(served, "connections", state="most") == 2 * most


@pytest.mark.requirement("C17")
def test_a_busy_store_says_when_to_try_again(monkeypatch: pytest.MonkeyPatch, serving: object) -> None:
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.05)
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", uri := server(18).fresh())
    with serving() as url:  # type: ignore[operator]
        httpx.post(f"{url}/v1/records", json={"text": "a first line"}, timeout=PATIENCE)
        with psycopg.connect(uri) as other:
            other.execute(HEAD)
            answer = httpx.post(f"{url}/v1/records", json={"text": "it waits"}, timeout=PATIENCE)
        told = httpx.get(f"{url}/metrics", timeout=PATIENCE).text
    assert (answer.status_code, answer.json()["code"]) == (503, "store_busy")
    assert int(answer.headers["retry-after"]) >= 1
    assert 'agent_memory_store_busy_total{what="head"} 1.0' in told
    with AgentMemory("default", store=uri) as memory:
        assert [one.text for one in memory.records.find()] == ["a first line"]

"""A server of two processes answers from one ring: what one was told, the other knows, also if the first dies."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from served import Server, serving

from patience import PATIENCE, until
from warm import FRESH

EVENTS = "/v1/operational/events"


def together(server: Server, count: int) -> list[list[int]]:
    """What the ring holds, by whoever answers, on connections of their own."""
    found: list[list[int]] = []

    def ask() -> None:
        status, _, told = server.ask("GET", f"{EVENTS}?count=100")
        assert status == 200, told
        found.append(sorted(one["payload"]["n"] for one in told))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    return found


def children(server: Server) -> list[int]:
    said = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return [int(one) for one in said.split()]


@pytest.mark.requirement("T1")
def test_two_processes_have_one_ring(home: Path) -> None:
    with serving("--workers", "2", "--no-grpc", program=FRESH) as server:
        for number in range(20):
            said = {"event": {"category": "net", "payload": {"n": number}, "critical": number == 7}}
            status, _, told = server.ask("POST", EVENTS, said)
            assert status < 300, told
        server.ask("PUT", "/v1/operational/metrics/load", {"value": 0.5})
        assert together(server, 16) == [list(range(20))] * 16
        before = children(server)
        os.kill(before[0], signal.SIGKILL)
        until(lambda: set(children(server)) != set(before) and server.ask("GET", "/readyz")[0] == 200)
        assert together(server, 16) == [list(range(20))] * 16
        assert server.ask("GET", "/v1/operational/metrics")[2] == {"load": 0.5}
        assert "critical" in server.ask("GET", "/v1/operational/snapshot")[2]

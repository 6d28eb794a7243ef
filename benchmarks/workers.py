"""What more processes bring: `.venv/bin/python benchmarks/workers.py [--n 10000] [--workers 2] [--rounds 5]`.

Two servers, each on a copy of one store: one process, and several. They are loaded in turn, in another order each
round, first with recalls alone and then with adds alone, over connections that each ask as fast as they are answered;
so both meet the same machine, and the ratio of calls a second counts. The client is one process that sends what it
prepared and reads only as much as it must; it shares the cores with the servers, and how much of one it took is told.

Two processes can answer more only where cores are free. How many cores each server got is told with the ratio: if it is
no more than one process uses, the run says nothing but what a call costs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from doors import cpu_of, sentence
from load import Running, filled, serving
from small import at_most

KINDS = ("recall", "add")


def request(server: Running, kind: str, user: str, text: str) -> bytes:
    path, body = ("/v1/recall", {"query": text, "k": 10}) if kind == "recall" else ("/v1/records", {"text": text})
    said = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nX-Memory-User: {user}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n"
    )
    return head.encode() + said


class Wire:
    """A connection that asks again as soon as it is answered."""

    def __init__(self, server: Running, ask: Callable[[], bytes]) -> None:
        self.socket = socket.create_connection((server.host, server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ask = ask
        self._seen = b""

    def ask(self) -> None:
        self.socket.sendall(self._ask())

    def answered(self) -> bool:
        """Whether what just came is the end of an answer; one that is not 200 is an error of this run."""
        self._seen += self.socket.recv(1 << 20)
        head, ended, body = self._seen.partition(b"\r\n\r\n")
        if not ended:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise AssertionError(self._seen[:500])
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) < length:
            return False
        self._seen = b""
        return True


def calls(server: Running, kind: str, users: int, connections: int, seconds: float) -> int:
    """How many are answered in so many seconds."""
    dice = random.Random(time.time_ns())
    ask = lambda: request(server, kind, f"user{dice.randrange(users)}", sentence(dice))  # noqa: E731
    with ExitStack() as held, selectors.DefaultSelector() as ready:
        for _ in range(connections):
            wire = Wire(server, ask)
            held.enter_context(wire.socket)
            ready.register(wire.socket, selectors.EVENT_READ, wire)
            wire.ask()
        answered, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in ready.select(timeout=1.0):
                if key.data.answered():
                    answered += 1
                    key.data.ask()
    return answered


def processes(server: Running) -> list[int]:
    """Those that answer."""
    children = Path(f"/proc/{server.process}/task/{server.process}/children").read_text().split()
    return list(map(int, children)) or [server.process]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="memories in the store")
    parser.add_argument("--users", type=int, default=20, help="whose they are, in equal parts")
    parser.add_argument("--workers", type=int, default=2, help="processes of the second server")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    given.n, given.rounds, given.seconds = at_most(given.n, 60), at_most(given.rounds, 1), at_most(given.seconds, 1)
    store, _ = filled(given.n, given.users, 300.0)
    figures: dict[str, dict[int, list[float]]] = {kind: {1: [], given.workers: []} for kind in KINDS}
    cost: dict[str, dict[int, list[float]]] = {kind: {1: [], given.workers: []} for kind in KINDS}
    spread: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        servers = {}
        for workers in figures["recall"]:
            copy = Path(folder) / f"{workers}.db"
            shutil.copy(store, copy)
            servers[workers] = held.enter_context(serving(copy, "--workers", str(workers)))
            calls(servers[workers], "recall", given.users, given.connections, given.seconds)  # shelves are loaded
        own, begun = time.process_time(), time.monotonic()
        for turn in range(given.rounds):
            for kind in KINDS:
                for workers in sorted(servers, reverse=bool(turn % 2)):
                    server = servers[workers]
                    before = [cpu_of(one) for one in processes(server)]
                    count = calls(server, kind, given.users, given.connections, given.seconds)
                    used = [cpu_of(one) - was for one, was in zip(processes(server), before, strict=True)]
                    figures[kind][workers].append(count / given.seconds)
                    cost[kind][workers].append(sum(used) / max(count, 1))
                    if workers > 1:
                        spread.append(min(used) / max(max(used), 1.0))
        client = (time.process_time() - own) / (time.monotonic() - begun)
    told = {
        "n": given.n,
        "connections": given.connections,
        "cores": os.cpu_count(),
        "load average": round(os.getloadavg()[0], 1),
        "share of a core that the client took": round(client, 2),
        "CPU of the least busy process, to that of the busiest": round(statistics.median(spread), 2),
    }
    for kind, by in figures.items():
        ratios = [many / max(one, 1e-9) for one, many in zip(by[1], by[given.workers], strict=True)]
        told[kind] = {
            "a second": {str(workers): round(statistics.median(found), 1) for workers, found in by.items()},
            "CPU ms a call": {str(workers): round(statistics.median(one), 2) for workers, one in cost[kind].items()},
            "cores that they got": {
                str(workers): round(statistics.median(one) * statistics.median(by[workers]) / 1000, 2)
                for workers, one in cost[kind].items()
            },
            "ratio": f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
        }
    print(json.dumps(told, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()

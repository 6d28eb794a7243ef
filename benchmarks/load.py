"""A server under load: `.venv/bin/python benchmarks/load.py [--n 100000] [--seconds 120] [--clients 8]`.

Clients are processes of their own, each with one connection, asking as fast as they are answered: four recalls to one
write. Nothing may fail, and nothing that was acknowledged may be lost: after the run every written id is read back,
once again from a server that was started anew, and `verify` walks the whole store. If any of that fails, the exit
status is 1.

The store is made once, through `records.add_many`, and kept in the system's folder for temporary files; each run works
on a copy. Its vectors come from the real model: of every text if that takes less than five minutes (`--patience`), else
of each of the 1,600 sentences without its ticket number, shared by the texts that have that sentence. The answer says
which.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agent_memory import AgentMemory
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.ports.embedder import Embedder
from doors import WHAT, WHERE, WHO, WHY, cpu_of, sentence
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

BATCH = 5_000
PATIENCE = 300.0  # seconds that vectors of all texts may take
SAMPLE = 512
RECALLS = 0.8
JSON = {"content-type": "application/json"}


class Sentences:
    """The real model, asked once for each sentence; its ticket number changes nothing."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._known: dict[str, Any] = {}
        self.space, self.passages = model.space, model.passages

    def embed_many(self, texts: Sequence[str]) -> Any:
        plain = [text.rpartition(", ticket ")[0] or text for text in texts]
        if new := sorted(set(plain) - self._known.keys()):
            self._known |= dict(zip(new, self._model.embed_many(new), strict=True))
        return np.stack([self._known[one] for one in plain])


def vectors_of(count: int, patience: float) -> tuple[Embedder, str]:
    """Which embedder fills the store, and what to say about it: every text its own vector, if that takes no longer than
    `patience` seconds."""
    real, dice = OnnxEmbedder(), random.Random(1)
    sample = [sentence(dice) for _ in range(SAMPLE)]
    real.embed_many(sample[:8])
    begun = time.perf_counter()
    real.embed_many(sample)
    needed = (time.perf_counter() - begun) * count / SAMPLE
    if needed < patience:
        return real, "of every text"
    sentences = len(WHO) * len(WHAT) * len(WHERE) * len(WHY)
    return Sentences(real), f"of {sentences} sentences, shared (all texts would have taken {needed:.0f} s)"


def filled(count: int, users: int, patience: float) -> tuple[Path, str]:
    """A store with so many memories, made if it is not there yet."""
    folder = Path(tempfile.gettempdir()) / "agent-memory-load"
    folder.mkdir(exist_ok=True)
    name = f"{count}-{users}-{patience:g}"
    store, about = folder / f"{name}.db", folder / f"{name}.txt"
    if about.exists():
        return store, about.read_text()
    store.unlink(missing_ok=True)
    embedder, told = vectors_of(count, patience)
    dice, begun = random.Random(7), time.perf_counter()
    for user in range(users):
        with AgentMemory(f"user{user}", store=store, embedder=embedder) as memory:
            left = count // users + (user < count % users)
            while left:
                memory.records.add_many([{"text": sentence(dice)} for _ in range(min(left, BATCH))], embed=True)
                left -= min(left, BATCH)
    print(f"made {store} in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    about.write_text(told)
    return store, told


@dataclass
class Running:
    host: str
    port: int
    process: int
    first_answer: float

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, user: str, body: Any = None) -> Any:
        said = None if body is None else json.dumps(body)
        connection.request(method, path, said, {"x-memory-user": user, **(JSON if body is not None else {})})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content)


@contextmanager
def serving(store: Path, *options: str) -> Iterator[Running]:
    """`agent-memory serve` as it is; it must end by itself when it is told to."""
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "--store", f"sqlite:///{store}", "serve"]
    begun = time.perf_counter()
    process = subprocess.Popen([*command, "--port", "0", "--no-grpc", *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    host, _, port = next(word for word in line.split() if word.startswith("http://")).split("/")[2].rpartition(":")
    running = Running(host, int(port), process.pid, 0.0)
    try:
        with closing(http.client.HTTPConnection(host, running.port, timeout=60)) as connection:
            running.ask(connection, "POST", "/v1/recall", "user0", {"query": "what was deployed?"})
        running.first_answer = time.perf_counter() - begun
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        if process.wait(60) != 0:
            raise AssertionError(f"the server ended with {process.returncode}")


@dataclass
class Seen:
    """What one client met. `written`: user -> ids that the server acknowledged."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "write": []})
    written: dict[str, list[str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Together:
    """What the clients share: when they all are there, how long they ask, and where they tell."""

    ready: Any
    seconds: float
    answers: Any


def client(number: int, server: Running, users: int, together: Together) -> None:
    dice, seen = random.Random(1000 + number), Seen()
    together.ready.wait(120)
    until = time.monotonic() + together.seconds
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    while time.monotonic() < until:
        user, text = f"user{dice.randrange(users)}", sentence(dice)
        kind = "recall" if dice.random() < RECALLS else "write"
        id = f"load-{number}-{len(seen.times['write'])}"
        begun = time.perf_counter()
        try:
            if kind == "recall":
                server.ask(connection, "POST", "/v1/recall", user, {"query": text, "k": 10})
            else:
                server.ask(connection, "POST", "/v1/records", user, {"text": text, "id": id})
                seen.written.setdefault(user, []).append(id)
        except (OSError, http.client.HTTPException, AssertionError) as error:
            seen.errors.append(f"{kind}: {error!r}"[:500])
            connection.close()
        seen.times[kind].append((time.perf_counter() - begun) * 1000)
    connection.close()
    together.answers.put(seen)


def loaded(server: Running, clients: int, users: int, seconds: float) -> list[Seen]:
    """So many clients at once, for so long."""
    context = multiprocessing.get_context("spawn")
    together = Together(context.Barrier(clients), seconds, context.Queue())
    started = [context.Process(target=client, args=(n, server, users, together)) for n in range(clients)]
    for one in started:
        one.start()
    found = [together.answers.get(timeout=seconds + 240) for _ in started]
    for one in started:
        one.join(60)
    return found


def lost(server: Running, seen: list[Seen]) -> list[str]:
    """Ids that were acknowledged and are not there."""
    missing = []
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=60)) as connection:
        for user, id in ((user, id) for one in seen for user, ids in one.written.items() for id in ids):
            try:
                server.ask(connection, "GET", f"/v1/records/{id}", user)
            except AssertionError as error:
                missing.append(str(error))
    return missing


def figures(times: list[float], seconds: float) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    shown = {"p50 ms": cuts[49], "p95 ms": cuts[94], "p99 ms": cuts[98], "longest ms": max(times, default=0.0)}
    return {"calls": len(times), "a second": round(len(times) / seconds, 1)} | {
        name: round(value, 2) for name, value in shown.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=100_000, help="memories in the store")
    parser.add_argument("--users", type=int, default=20, help="whose they are, in equal parts")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds that vectors of all texts may take")
    given = parser.parse_args()
    given.n, given.seconds, given.clients = at_most(given.n, 60), at_most(given.seconds, 1), at_most(given.clients, 2)
    store, vectors = filled(given.n, given.users, given.patience)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "load.db"
        shutil.copy(store, copy)
        with serving(copy) as server:
            cpu = cpu_of(server.process)
            seen = loaded(server, given.clients, given.users, given.seconds)
            cpu = cpu_of(server.process) - cpu
            missing, first = lost(server, seen), server.first_answer
        with serving(copy) as server:
            again, second = lost(server, seen), server.first_answer
        errors = [error for one in seen for error in one.errors]
        times = {kind: [ms for one in seen for ms in one.times[kind]] for kind in ("recall", "write")}
        calls = sum(map(len, times.values()))
        told = {
            "n": given.n,
            "users": given.users,
            "clients": given.clients,
            "seconds": given.seconds,
            "vectors": vectors,
            "recall": figures(times["recall"], given.seconds),
            "write": figures(times["write"], given.seconds),
            "all, a second": round(calls / given.seconds, 1),
            "server CPU ms a call": round(cpu / max(calls, 1), 2),
            "start to first recall, s": [round(first, 2), round(second, 2)],
            "acknowledged writes": sum(len(ids) for one in seen for ids in one.written.values()),
            "errors": len(errors),
            "lost": len(missing),
            "lost after a restart": len(again),
            "load average": round(os.getloadavg()[0], 1),
        }
        print(json.dumps(told, indent=2), flush=True)
        with AgentMemory("user0", store=copy) as memory:  # the whole store: that takes minutes
            proof = memory.upkeep.verify()
    made_up = vectors.startswith("of ")  # those of a few sentences, given to all texts: `verify` rightly says so
    problems = [one for one in proof.problems if not (made_up and one.startswith("vectors that the embedder"))]
    print(f"verified: {not problems}")
    for line in [*errors[:5], *missing[:5], *again[:5], *problems[:5]]:
        print(line, file=sys.stderr)
    sys.exit(0 if calls and not (problems or errors or missing or again) else 1)


if __name__ == "__main__":
    main()

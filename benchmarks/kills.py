"""Two servers on one PostgreSQL, killed in turn: `.venv/bin/python benchmarks/kills.py [--seconds 600] [--other SRC]`.

Clients add (with and without an idempotency key), edit, forget and recall at both servers, while a server, the other
one and the database are killed with SIGKILL, one after the other, and started again. Each client notes what it was
told. At the end, what was acknowledged must be there, once; what was refused must not; what nobody answered may be
there once or not at all; and `verify` must find nothing. Otherwise the exit status is 1. `--other` takes the source of
another version for the second server.

How long it took until all is well again: from the kill until both servers have answered a write. Most of that is the
start of what was killed, until it answers anything at all, which is told beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import agent_memory

sys.path.insert(0, str(Path(agent_memory.__file__).resolve().parents[2]))  # where the tests start their servers

from tests.parts.postgres import Server

from agent_memory import AgentMemory
from doors import sentence
from small import at_most

TENANTS = 3
PATIENCE = 120.0  # seconds: longer than anything is out of reach here
PAUSE = 0.02
GONE = "forgotten"
UNSURE = ("nobody knows", "may be stored, or not")


class Lost(Exception):
    """Nobody answered: it may have happened, or not."""


class Memory:
    """One `agent-memory serve`, always at the same port."""

    def __init__(self, name: str, uri: str, source: Path | None, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.name, self._log = name, log
        self._environment = os.environ | {
            "AGENT_MEMORY_POSTGRES_URI": uri,
            "AGENT_MEMORY_PROCEDURES": "false",
            "AGENT_MEMORY_RATE_LIMIT": "0",
            **({} if source is None else {"PYTHONPATH": str(source / "src")}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "agent_memory.interfaces.cli", "serve", "--port", str(self.port), "--no-grpc"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(Lost, ConnectionRefusedError):
                self.ask("GET", "/healthz")
                return
            time.sleep(0.02)
        raise AssertionError(f"{self.name} does not start: {self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            said = None if body is None else json.dumps(body)
            told = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, said, told | ({"content-type": "application/json"} if said else {}))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except ConnectionRefusedError:
            raise
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Lost from error
        finally:
            connection.close()


@dataclass
class Client:
    """One user, who is the only one to change what it knows. `may_be`: id -> texts that it may have, `GONE` among them
    where it may be forgotten. `once`: text -> whether it must be there; None: it may."""

    number: int
    servers: list[Memory]
    may_be: dict[str, set[str]] = field(default_factory=dict)
    once: dict[str, bool | None] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.number)
        self.user, self.tenant = f"user{self.number}", f"tenant{self.number % TENANTS}"
        self.said = 0

    def run(self, stop: threading.Event) -> None:
        acts = [self.add] * 3 + [self.add_once] * 2 + [self.edit] * 2 + [self.forget] + [self.recall] * 4
        while not stop.is_set():
            try:
                self.dice.choice(acts)()
            except Exception as error:
                self.wrong.append(f"{self.user}: {error!r}")
            stop.wait(PAUSE)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        server = self.dice.choice(self.servers)
        return server.ask(method, path, body, x_memory_user=self.user, x_memory_tenant=self.tenant, **headers)

    def new(self) -> str:
        self.said += 1
        return f"{self.user} noted {self.said}: {sentence(self.dice)}"

    def write(self, what: str, method: str, path: str, body: Any = None) -> tuple[bool | None, Any]:
        """Whether it happened, as far as one was told, and the answer."""
        try:
            status, answer = self.ask(method, path, body)
        except Lost:
            status, answer = 0, {}
        except ConnectionRefusedError:  # nobody was there to hear it
            status, answer = 503, {}
        happened: bool | None = status == 200
        if status in (0, 504) or any(one in str(answer.get("detail")) for one in UNSURE):
            happened = None
        elif status not in (200, 503):
            self.wrong.append(f"{what}: {status} {answer}")
        self.told[f"{what} {'unsure' if happened is None else 'done' if happened else 'refused'}"] += 1
        return happened, answer

    def add(self) -> None:
        text = self.new()
        self.once[text], answer = self.write("add", "POST", "/v1/records", {"text": text})
        if self.once[text]:
            self.may_be[answer["id"]] = {text}

    def add_once(self) -> None:
        """With a key, and as often as it takes."""
        text, deadline = self.new(), time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(Lost, ConnectionRefusedError):
                status, answer = self.ask(
                    "POST", "/v1/records", {"text": text}, idempotency_key=f"{self.user}-{self.said}"
                )
                if status == 200:
                    self.once[text], self.may_be[answer["id"]] = True, {text}
                    self.told["add with a key done"] += 1
                    return
                if status != 503:
                    raise AssertionError(f"add with a key: {status} {answer}")
            self.told["add with a key again"] += 1
            time.sleep(0.1)
        raise AssertionError("add with a key: never answered")

    def settled(self) -> str | None:
        """One of which we know how it stands."""
        known = [id for id, texts in self.may_be.items() if len(texts) == 1 and GONE not in texts]
        return self.dice.choice(known) if known else None

    def edit(self) -> None:
        if id := self.settled():
            text, (old,) = self.new(), self.may_be[id]
            happened, _ = self.write("edit", "PUT", f"/v1/records/{id}", {"text": text})
            self.may_be[id] = {text} if happened else {old} if happened is False else {old, text}
            self.once.pop(old, None)

    def forget(self) -> None:
        if id := self.settled():
            (old,) = self.may_be[id]
            happened, _ = self.write("forget", "DELETE", f"/v1/records/{id}")
            self.may_be[id] = {GONE} if happened else {old} if happened is False else {old, GONE}
            self.once.pop(old, None)

    def recall(self) -> None:
        if id := self.settled():
            (text,) = self.may_be[id]
            try:
                status, answer = self.ask("POST", "/v1/recall", {"query": text, "k": 5})
            except (Lost, ConnectionRefusedError):
                status, answer = 0, {}
            self.told[f"recall {'done' if status == 200 else 'refused'}"] += 1
            if status == 200:
                hits = [(hit["record"]["id"], hit["record"]["text"]) for hit in answer["hits"]]
                if any(not text.startswith(f"{self.user} ") for _, text in hits):
                    self.wrong.append(f"{self.user} was shown {hits}")
                if (id, text) not in hits:
                    self.wrong.append(f"{self.user} did not find {text!r}, but {hits}")
            elif status not in (0, 503, 504):
                self.wrong.append(f"recall: {status} {answer}")

    def problems(self, uri: str) -> Iterator[str]:
        """What is not as this client was told."""
        found: dict[str, str] = {}
        with AgentMemory(self.user, store=uri, tenant=self.tenant) as memory:
            while page := memory.records.find(limit=1000, after_id=next(reversed(found), None)):
                found |= {one.id: one.text for one in page}
        texts = Counter(found.values())
        for text, happened in self.once.items():
            if texts[text] not in ((0, 1) if happened is None else (int(happened),)):
                yield f"{self.user}: told {happened}, there {texts[text]} times: {text}"
        for id, expected in self.may_be.items():
            if found.get(id, GONE) not in expected:
                yield f"{self.user}: {id} is {found.get(id, GONE)!r}, and should be one of {expected}"
        yield from (f"{self.user}: {count} times: {text}" for text, count in texts.items() if count > 1)


def well(servers: list[Memory]) -> None:
    """Returns when each of them has answered a write."""
    deadline = time.monotonic() + PATIENCE
    for one in servers:
        while True:
            with suppress(Lost, ConnectionRefusedError):
                if (
                    one.ask("POST", "/v1/records", {"text": f"well at {time.time_ns()}"}, x_memory_user="probe")[0]
                    == 200
                ):
                    break
            if time.monotonic() > deadline:
                raise AssertionError(f"{one.name} does not recover")
            time.sleep(0.02)


def killing(
    parts: list[Memory | Server], servers: list[Memory], given: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Until the time is over, each at its turn; how many seconds it took each time until it had started, and until all
    was well again."""
    took: dict[str, list[tuple[float, float]]] = {}
    end, turn = time.monotonic() + given.seconds, 0
    while time.monotonic() < end:
        time.sleep(given.every)
        part = parts[turn % len(parts)]
        begun = time.monotonic()
        part.kill()
        part.start()
        started = time.monotonic() - begun
        well(servers)
        took.setdefault(getattr(part, "name", "PostgreSQL"), []).append((started, time.monotonic() - begun))
        turn += 1
    return took


def figures(of: Callable[[list[float]], float], times: list[tuple[float, float]]) -> list[float]:
    return [round(of(list(column)), 2) for column in zip(*times, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=10.0, help="seconds of peace between two kills")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--other", type=Path, help="the source of another version, for the second server")
    given = parser.parse_args()
    given.seconds, given.every, given.clients = (
        at_most(given.seconds, 3),
        at_most(given.every, 1),
        at_most(given.clients, 3),
    )
    with ExitStack() as held:
        folder = Path(tempfile.mkdtemp())
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        database = Server(18, fsync="on", full_page_writes="on")
        held.callback(database.remove)
        uri = database.fresh()
        servers = [
            Memory("first server", uri, None, folder / "a"),
            Memory("second server", uri, given.other, folder / "b"),
        ]
        for one in servers:
            held.callback(one.kill)
            one.start()
            well([one])
        clients, stop = [Client(number, servers) for number in range(given.clients)], threading.Event()
        threads = [threading.Thread(target=one.run, args=(stop,)) for one in clients]
        for thread in threads:
            thread.start()
        try:
            took = killing([*servers, database], servers, given)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        with AgentMemory("probe", store=uri) as memory:
            proof = memory.upkeep.verify()
        wrong = [line for one in clients for line in (*one.wrong, *one.problems(uri))] + list(proof.problems)
        told = sum((one.told for one in clients), Counter[str]())
        logs = {one.name: (folder / name).read_text(errors="replace") for one, name in zip(servers, "ab", strict=True)}
    shown = {
        "calls": dict(sorted(told.items())),
        "killed": {name: len(seconds) for name, seconds in took.items()},
        "started, and all well again, after s": {
            name: {"median": figures(statistics.median, times), "longest": figures(max, times)}
            for name, times in took.items()
        },
        "checked": proof.checked,
        "verified": proof.ok,
        "wrong": len(wrong),
        "load average": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(shown, indent=2), flush=True)
    for line in wrong[:20]:
        print(line[:1000], file=sys.stderr)
    for name, log in logs.items() if wrong else ():
        print(f"--- {name}\n{log[-3000:]}", file=sys.stderr)
    sys.exit(1 if wrong or not took or not told["add done"] else 0)


if __name__ == "__main__":
    main()

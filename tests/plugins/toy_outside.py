"""A package of somebody else's: a server that keeps documents in a file, and a working set, vectors, an embedder, a
reranker and an extractor for agent-memory. `python toy_outside.py PORT FILE` is the server."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import socketserver
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from agent_memory.core.upkeep.extract.values import Claimed, Extract, NamedEntity, Said
from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.models.record import Scope
from agent_memory.ports.embedder import Passage, Space, split_text
from agent_memory.ports.vectors import Match, belongs, sees
from agent_memory.ports.working import Desk


class Documents:
    """What the server keeps, asked over a connection for each call: it may be away at any time."""

    def __init__(self, url: str) -> None:
        host, _, port = url.partition("://")[2].rpartition(":")
        self._address = host, int(port)

    def ask(self, verb: str, *said: Any) -> Any:
        try:
            with socket.create_connection(self._address, timeout=5) as wire, wire.makefile("rw") as file:
                file.write(json.dumps([verb, *said]) + "\n")
                file.flush()
                return json.loads(file.readline())
        except (OSError, ValueError) as error:
            raise PartMissing(f"the toy server is away: {error}", hint="start it") from error


def serve(port: int, path: Path) -> None:
    """Every change is in the file before it is answered."""
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            verb, *said = json.loads(self.rfile.readline())
            if verb == "drop":
                kept.pop(said[0], None)
            if verb == "put":
                kept[said[0]] = said[1]
            if verb in ("put", "drop"):
                path.with_suffix(".new").write_text(json.dumps(kept))
                os.replace(path.with_suffix(".new"), path)
            answer = kept.get(said[0]) if verb == "get" else [one for one in kept if one.startswith(said[0])]
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    class Server(socketserver.TCPServer):
        allow_reuse_address = True

    with Server(("127.0.0.1", port), Handler) as server:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        server.serve_forever()


class Working:
    """A document for each desk: its values, and its lists with their items."""

    def __init__(self, url: str) -> None:
        self._documents = Documents(url)

    def set(self, desk: Desk, key: str, value: str, *, expires_at: int, now: int) -> None:
        values, lists = self._desk(desk)
        self._keep(desk, {**values, key: [value, expires_at]}, lists)

    def get(self, desk: Desk, key: str, *, now: int) -> str | None:
        return self.values(desk, now=now).get(key)

    def delete(self, desk: Desk, key: str) -> bool:
        values, lists = self._desk(desk)
        there = values.pop(key, None) is not None
        self._keep(desk, values, lists)
        return there

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        return {key: value for key, (value, end) in self._desk(desk)[0].items() if end > now}

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        values, lists = self._desk(desk)
        items = [item, *lists.get(name, [[], 0])[0]]
        self._keep(desk, values, {**lists, name: [items[:keep], expires_at]})

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        items, end = self._desk(desk)[1].get(name, [[], 0])
        return items[:limit] if end > now else []

    def clear(self, desk: Desk) -> None:
        self._keep(desk, {}, {})

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        if "TOY_DIES" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        for name in self._documents.ask("names", "desk "):
            tenant, user, agent, conversation = json.loads(name.removeprefix("desk "))
            desk = Desk(Scope(tenant=tenant, user=user, agent=agent), conversation)
            if scope not in desk.scope.readable():
                continue
            values, lists = self._desk(desk)
            values = {key: one for key, one in values.items() if not _pictures(one[0], ids)}
            lists = {key: [[one for one in all if not _pictures(one, ids)], end] for key, (all, end) in lists.items()}
            self._keep(desk, values, lists)

    def forget_tenant(self, tenant: str) -> None:
        if "TOY_DIES" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        for name in self._documents.ask("names", f"desk [{json.dumps(tenant)}, "):
            self._documents.ask("drop", name)

    def _desk(self, desk: Desk) -> Any:
        return self._documents.ask("get", _name(desk)) or [{}, {}]

    def _keep(self, desk: Desk, values: Any, lists: Any) -> None:
        self._documents.ask("put", _name(desk), [values, lists])


def _name(desk: Desk) -> str:
    return "desk " + json.dumps([desk.scope.tenant, desk.scope.user, desk.scope.agent, desk.conversation])


def _pictures(text: str, ids: Sequence[str]) -> bool:
    value = json.loads(text)
    return isinstance(value, dict) and value.get("id") in ids


class Vectors:
    """A document for each namespace: vectors and metadata by id."""

    def __init__(self, url: str) -> None:
        self._documents = Documents(url)

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        if "TOY_DIES_TELLING" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        kept = self._documents.ask("get", f"vectors {namespace}") or {}
        unit = _unit(vector, kept).tolist()
        try:
            self._documents.ask("put", f"vectors {namespace}", {**kept, id: [unit, json.loads(json.dumps(metadata))]})
        except TypeError as error:
            raise InvalidInput(f"metadata: {error}", field="metadata") from None

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        kept = self._documents.ask("get", f"vectors {namespace}") or {}
        asked = _unit(vector, kept)
        found = [
            Match(id, float(np.array(stored, np.float32) @ asked), metadata)
            for id, (stored, metadata) in kept.items()
            if all(metadata.get(name) == value for name, value in (where or {}).items())
        ]
        return sorted(found, key=lambda one: (-one.score, one.id))[:k]

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        kept = self._documents.ask("get", f"vectors {namespace}") or {}
        left = {id: one for id, one in kept.items() if id not in ids}
        self._documents.ask("put", f"vectors {namespace}", left)
        return len(kept) - len(left)

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        for name in self._documents.ask("names", "vectors "):
            if sees(name.removeprefix("vectors "), scope):
                self.delete(name.removeprefix("vectors "), ids)

    def forget_tenant(self, tenant: str) -> None:
        for name in self._documents.ask("names", "vectors "):
            if belongs(name.removeprefix("vectors "), tenant):
                self._documents.ask("drop", name)


def _unit(vector: Sequence[float], kept: Mapping[str, Any]) -> Any:
    values = np.asarray(vector, np.float32)
    length = float(np.linalg.norm(values))
    other = any(len(stored) != len(values) for stored, _ in kept.values())
    if not values.size or not np.isfinite(length) or not length or other:
        raise InvalidInput("vector: not a direction, or not of this namespace", field="vector")
    return values / length


class Embedder:
    """Words, counted into a few places."""

    def __init__(self, model: str = "toy-words", dimensions: int = 16) -> None:
        self.space = Space(model, "1", dimensions)

    def passages(self, text: str) -> list[Passage]:
        return split_text(text)

    def embed_many(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), self.space.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split() or [""]:
                row[hashlib.sha256(word.encode()).digest()[0] % len(row)] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def sightings(said: Said, before: Sequence[Claimed]) -> Extract:
    """ "Spotted: a heron at Lake Garda" is a claim of whoever says it, and names a place."""
    found = [*re.finditer(r"Spotted: (?P<what>[^.\n]{1,60}?) at (?P<where>[A-Z][^.\n]{1,60})", said.text)]
    return Extract(
        tuple(NamedEntity(one["where"], "place", *one.span("where")) for one in found),
        tuple(Claimed(said.speaker, "spotted", f"{one['what']} at {one['where']}", *one.span()) for one in found),
    )


def diary(file: BinaryIO) -> Iterator[dict[str, Any]]:
    """A line of a diary, `2026-03-02 a heron`, is an observation of that day."""
    for line in file.read().decode().splitlines():
        day, _, seen = line.partition(" ")
        yield {
            "id": f"seen-{day}",
            "text": f"saw {seen}",
            "valid_from": datetime.fromisoformat(day).replace(tzinfo=UTC),
        }


class Reranker:
    """The shortest text is the best."""

    def __init__(self, url: str, model: str = "shortest") -> None:
        self.name = f"toy/{model}"

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        return [-float(len(text)) for text in texts]


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]))

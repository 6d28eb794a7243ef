"""The `RecordStore` port, by linear scans."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import JournalLine, Link, Linked, Record, Scope
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Verified
from agent_memory.ports.records import Analysis, Checker, Filter, View
from agent_memory.testing.memory.read import Reader
from agent_memory.testing.memory.world import (
    ADOPT,
    AMEND,
    CONNECT,
    ERASE,
    GENESIS,
    OURSELVES,
    PUT,
    Line,
    Room,
    Signature,
    World,
    chained,
    edge_proof,
    version_proof,
)
from agent_memory.testing.memory.write import Writer, asked, words


class MemoryRecords:
    def __init__(self, room: Room) -> None:
        self._room = room

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author,
        now: int,
        expect: Sequence[Expect] = (),
        once: Once | None = None,
    ) -> Applied:
        with self._room.writing() as world:
            return Writer(world, author, now).apply(changes, expect, once)

    def get(self, view: View, ids: Sequence[str]) -> list[Record]:
        with self._room.reading() as world:
            return Reader(world, view).get(ids)

    def by_key(self, view: View, kind: str, key: str) -> Record | None:
        with self._room.reading() as world:
            return Reader(world, view).by_key(kind, key)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        with self._room.reading() as world:
            return Reader(world, View(scope, 0)).head(scope, kind, key, id)

    def find(
        self, view: View, where: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False
    ) -> list[Record]:
        with self._room.reading() as world:
            return Reader(world, view).find(where, limit, after, oldest_first)

    def history(self, view: View, id: str) -> list[Record]:
        with self._room.reading() as world:
            return Reader(world, view).history(id)

    def beginning(self, view: View, prefix: str, *, limit: int) -> list[str]:
        with self._room.reading() as world:
            return Reader(world, view).beginning(prefix, limit)

    def believed(self, view: View, where: Filter, *, after: int, limit: int) -> list[Linked]:
        with self._room.reading() as world:
            return Reader(world, view).believed(where, after, limit)

    def links(self, view: View, ids: Sequence[str]) -> list[Link]:
        with self._room.reading() as world:
            return Reader(world, view).links(ids)

    def seq_at(self, moment: int) -> int:
        with self._room.reading() as world:
            return max((line.seq for line in world.lines if line.at <= moment), default=0)

    def journal(self, view: View, *, after: int = 0, limit: int = 100, id: str | None = None) -> list[JournalLine]:
        with self._room.reading() as world:
            return Reader(world, view).journal(after, limit, id)

    def verify(self, derive: Checker | None = None, expect: Mark | None = None) -> Verified:
        with self._room.reading() as world:
            verified = _verify(world, derive)
            if expect is None or any((line.seq, line.chain.hex()) == (expect.seq, expect.head) for line in world.lines):
                return verified
            return replace(verified, problems=(*verified.problems, f"journal: line {expect.seq} is not the one noted"))

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        with self._room.writing() as world:
            world.vocabulary = analysis.vocabulary
            for id, slip in world.receipts.items():
                if (query := json.loads(slip.body).get("query")) is not None:
                    world.receipts[id] = replace(slip, terms=asked(analysis.asked(query)))
            for number, body in world.bodies.items():
                derived = analysis.derive(world.entries[body.record].kind, body.text, body.payload)
                world.bodies[number] = replace(
                    body, terms=words(derived.terms), length=derived.terms.length, fields=derived.fields
                )
            for space in world.spaces[:1]:
                lacking = [number for number in world.bodies if (space, number) not in world.vectors]
                for number in lacking:
                    world.pending.setdefault((space, number), 0)
            world.note(Signature(0, OURSELVES, "rebuild"), ADOPT, None, None, b"")
            return {"contents": len(world.bodies), "views": 0}

    def stats(self, view: View) -> dict[str, Any]:
        with self._room.reading() as world:
            scopes = view.scope.readable()
            mine = {entry.number: entry for entry in world.entries.values() if entry.scope in scopes}
            kinds = Counter(entry.kind for entry in mine.values())
            active = world.spaces[0] if world.spaces else None
            vectors = [one for (_, body), one in world.vectors.items() if world.scope_of(body) in scopes]
            waiting = [body for space, body in world.pending if space == active and world.scope_of(body) in scopes]
            accessed = [times for number, times in world.accesses.items() if number in mine and times]
            return {
                "kinds": dict(sorted(kinds.items())),
                "records": len(mine),
                "versions": sum(one.record in mine for one in world.versions.values()),
                "links": sum(one.scope in scopes for one in world.edges.values()),
                "vectors": sum(map(len, vectors)),
                "receipts": sum(one.scope in scopes for one in world.receipts.values()),
                "pending_vectors": len(waiting),
                "accesses": {
                    "records": len(accessed),
                    "times": sum(map(len, accessed)),
                    "last": max(map(max, accessed), default=None),
                },
                "seq": world.seq,
                "space": active.fingerprint if active else None,
                "bytes_on_disk": 0,
                "scrub_owed_since": None,
            }

    def prepare(self, kinds: Iterable[Kind]) -> None:
        """No other tool can look into a process: nothing to offer."""


def _verify(world: World, derive: Checker | None) -> Verified:
    problems = []
    before = GENESIS
    for line in world.lines:
        if chained(before, line) != line.chain:
            problems.append(f"journal: line {line.seq} does not follow from the line before it")
        if line.proof != (_proof(world, line) or line.proof):
            problems.append(f"journal: line {line.seq}: what it brought is not what was written")
        before = line.chain
    for body in world.bodies.values() if derive else ():
        name = world.vocabulary.name if world.vocabulary else ""
        again = derive(world.entries[body.record].kind, body.text, body.payload, name) if derive else None
        if again and (words(again.terms), again.fields) != (body.terms, body.fields):
            problems.append(f"content {body.number}: its words or fields do not follow from it")
    checked = {"journal lines": len(world.lines), "versions": len(world.versions), "links": len(world.edges)}
    return Verified(world.seq, before.hex(), checked, tuple(problems))


def _proof(world: World, line: Line) -> bytes | None:
    """The digest of what a line brought, made again; None when that is gone or was nothing."""
    if line.operation in (PUT, AMEND) and line.seq in world.versions:
        version = world.versions[line.seq]
        return version_proof(world.bodies[version.body], version.state)
    if line.operation == CONNECT and line.seq in world.edges:
        return edge_proof(world.edges[line.seq])
    if line.operation == ERASE:
        return hashlib.sha256((line.record_id or "").encode()).digest()
    return None

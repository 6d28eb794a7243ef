"""The `RecordStore` port, by linear scans."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import SHARED, JournalLine, Link, Linked, Record, Scope
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Verified
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.records import Analysis, Checker, Filter, View
from agent_memory.testing.memory.feed import go_on
from agent_memory.testing.memory.read import ToyReader
from agent_memory.testing.memory.world import (
    ADOPT,
    AMEND,
    CONNECT,
    ERASE,
    GENESIS,
    OURSELVES,
    PUT,
    ToyJournal,
    ToyLine,
    ToyRoom,
    ToySignature,
    ToyWorld,
    chained,
    edge_proof,
    version_proof,
)
from agent_memory.testing.memory.write import ToyWriter, asked, words


class MemoryRecords:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author,
        now: int,
        expect: Sequence[Expect] = (),
        once: Once | None = None,
        work: Work | None = None,
    ) -> Applied:
        with self._room.writing() as world:
            if work is not None:
                go_on(world, work)
            return ToyWriter(world.of(author.scope.tenant), author, now).apply(changes, expect, once)

    def get(self, view: View, ids: Sequence[str]) -> list[Record]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).get(ids)

    def by_key(self, view: View, kind: str, key: str) -> Record | None:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).by_key(kind, key)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        with self._room.reading() as world:
            return ToyReader(world.of(scope.tenant), View(scope, 0)).head(scope, kind, key, id)

    def find(
        self, view: View, where: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False
    ) -> list[Record]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).find(where, limit, after, oldest_first)

    def history(self, view: View, id: str) -> list[Record]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).history(id)

    def beginning(self, view: View, prefix: str, *, limit: int) -> list[str]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).beginning(prefix, limit)

    def believed(self, view: View, where: Filter, *, after: int, limit: int) -> list[Linked]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).believed(where, after, limit)

    def links(self, view: View, ids: Sequence[str]) -> list[Link]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).links(ids)

    def agents(self, tenant: str, user: str) -> list[str]:
        with self._room.reading() as world:
            told = {line.scope for line in world.of(tenant).lines if line.scope is not None}
            return sorted(one.agent for one in told if one.user == user and one.agent != SHARED)

    def seq_at(self, tenant: str, moment: int) -> int:
        with self._room.reading() as world:
            return max((line.seq for line in world.of(tenant).lines if line.at <= moment), default=0)

    def journal(self, view: View, *, after: int = 0, limit: int = 100, id: str | None = None) -> list[JournalLine]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).journal(after, limit, id)

    def verify(
        self, tenant: str | None, derive: Checker | None = None, expect: Mark | None = None, *, alone: bool = False
    ) -> Verified:
        with self._room.reading() as world:
            own: ToyJournal = world if tenant is None else world.of(tenant)
            whole: list[tuple[str | None, ToyJournal]] = [(None, world), *world.tenants.items()]
            journals = dict([(tenant, own)] if alone else whole)
            checked, problems = Counter[str](), list[str]()
            for journal in journals.values():
                checked["journal lines"] += len(journal.lines)
                problems += _unchained(journal)
                if isinstance(journal, ToyWorld):
                    checked += Counter(versions=len(journal.versions), links=len(journal.edges))
                    problems += _strange(journal, derive)
            heads = {name: _head(journal) for name, journal in journals.items() if journal.lines}
            noted = [Mark(line.seq, line.chain.hex()) for line in own.lines]
            if expect is not None and expect not in noted:
                problems.append(f"journal: line {expect.seq} is not the one noted")
            head = _head(own)
            return Verified(head.seq, head.head, dict(checked), tuple(problems), heads)

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        with self._room.writing() as world:
            world.vocabulary = analysis.vocabulary
            for one in world.tenants.values():
                one.vocabulary = analysis.vocabulary
                _rebuild(one, world.spaces[:1], analysis)
            world.note(ToySignature(0, OURSELVES, "rebuild"), ADOPT, None, None, b"")
            return {"contents": sum(len(one.bodies) for one in world.tenants.values()), "views": 0}

    def stats(self, view: View) -> dict[str, Any]:
        with self._room.reading() as worlds:
            world = worlds.of(view.scope.tenant)
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


def _rebuild(world: ToyWorld, spaces: Sequence[Space], analysis: Analysis) -> None:
    for id, slip in world.receipts.items():
        if (query := json.loads(slip.body).get("query")) is not None:
            world.receipts[id] = replace(slip, terms=asked(analysis.asked(query)))
    for number, body in world.bodies.items():
        derived = analysis.derive(world.entries[body.record].kind, body.text, body.payload)
        world.bodies[number] = replace(
            body, terms=words(derived.terms), length=derived.terms.length, fields=derived.fields
        )
    for space in spaces:
        lacking = [number for number in world.bodies if (space, number) not in world.vectors]
        for number in lacking:
            world.pending.setdefault((space, number), 0)


def _head(journal: ToyJournal) -> Mark:
    return Mark(journal.seq, (journal.lines[-1].chain if journal.lines else GENESIS).hex())


def _unchained(journal: ToyJournal) -> Iterator[str]:
    before = GENESIS
    for line in journal.lines:
        if chained(before, line) != line.chain:
            yield f"journal: line {line.seq} does not follow from the line before it"
        before = line.chain


def _strange(world: ToyWorld, derive: Checker | None) -> Iterator[str]:
    """What is not what was written, or does not follow from it."""
    for line in world.lines:
        if line.proof != (_proof(world, line) or line.proof):
            yield f"journal: line {line.seq}: what it brought is not what was written"
    for body in world.bodies.values() if derive else ():
        name = world.vocabulary.name if world.vocabulary else ""
        again = derive(world.entries[body.record].kind, body.text, body.payload, name) if derive else None
        if again and (words(again.terms), again.fields) != (body.terms, body.fields):
            yield f"content {body.number}: its words or fields do not follow from it"


def _proof(world: ToyWorld, line: ToyLine) -> bytes | None:
    """The digest of what a line brought, made again; None when that is gone or was nothing."""
    if line.operation in (PUT, AMEND) and line.seq in world.versions:
        version = world.versions[line.seq]
        return version_proof(world.bodies[version.body], version.state)
    if line.operation == CONNECT and line.seq in world.edges:
        return edge_proof(world.edges[line.seq])
    if line.operation == ERASE:
        return hashlib.sha256((line.record_id or "").encode()).digest()
    return None

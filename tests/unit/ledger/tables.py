"""The least that can read and write rows: dicts, a scope numbered when it comes, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_memory.ledger.journal import Head, Line
from agent_memory.ledger.plan import Planned, plan
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import (
    Answer,
    ContentRow,
    Descent,
    Gone,
    Held,
    LinkRow,
    Place,
    Present,
    Rows,
    Stored,
    VersionRow,
    Wanted,
)
from agent_memory.models.record import Scope
from agent_memory.ports.changes import DERIVED_FROM
from agent_memory.ports.embedder import Space


@dataclass
class Tables:
    scopes: dict[Scope, int] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    store: list[Line] = field(default_factory=list)  # its own journal
    contents: dict[int, ContentRow] = field(default_factory=dict)
    versions: dict[int, VersionRow] = field(default_factory=dict)
    links: dict[int, LinkRow] = field(default_factory=dict)
    tombstones: list[Gone] = field(default_factory=list)
    answers: dict[tuple[Scope, str], Answer] = field(default_factory=dict)
    spaces: tuple[Space, ...] = ()

    def apply(self, requests: Sequence[Request]) -> Planned:
        planned = plan(requests, self.read(wanted(requests)))
        self.write(planned.rows)
        return planned

    def read(self, asked: Wanted) -> Present:
        for scope in sorted(asked.authors, key=str):
            self.scopes.setdefault(scope, len(self.scopes) + 1)
        found = {
            row.place
            for row in self.versions.values()
            if row.ended is None
            and (
                row.place.id in asked.ids.get(row.place.scope, ())
                or (row.kind, row.state.key) in asked.keys.get(row.place.scope, ())
            )
        }
        numbers = {place.record for place in found}
        descended = self._descended(numbers, asked.deriving)
        known = numbers | descended.keys()
        sources = [link for link in self.links.values() if link.type == DERIVED_FROM and link.source in descended]
        return Present(
            Head(self.lines[-1].seq, self.lines[-1].at, self.lines[-1].chain) if self.lines else Head(),
            self.scopes,
            tuple(self._held(place) for place in sorted(found, key=lambda place: place.record)),
            tuple(
                link
                for link in self.links.values()
                if link.ended is None and link.type in asked.types and {link.source, link.target} <= numbers
            ),
            tuple(
                Descent(descended[one.source], one.target, one.scope, one.ended is None)
                for one in sources
                if one.target in known
            ),
            frozenset(
                link.source
                for link in self.links.values()
                if link.type == DERIVED_FROM
                and link.ended is None
                and link.source in known
                and link.target not in known
            ),
            frozenset((gone.place.scope.tenant, gone.place.scope.user, gone.place.id) for gone in self.tombstones),
            self.answers,
            self.spaces,
        )

    def _held(self, place: Place) -> Held:
        rows = [row for row in self.versions.values() if row.place == place and row.ended is None]
        rows.sort(key=lambda row: (row.state.valid_from, row.version))
        stored = (Stored(r.version, r.number, r.content, self.contents[r.content].body, r.state) for r in rows)
        return Held(place, rows[0].kind, tuple(stored))

    def _descended(self, roots: set[int], scopes: set[Scope]) -> dict[int, Place]:
        """What was ever derived from these, through any number of steps, and may be changed."""
        found: dict[int, Place] = {}
        frontier = set(roots)
        while frontier:
            links = (link for link in self.links.values() if link.type == DERIVED_FROM and link.target in frontier)
            places = {link.source: self.versions[link.source].place for link in links}
            frontier = {number for number, place in places.items() if place.scope in scopes and number not in found}
            found |= {number: places[number] for number in frontier}
        return found

    def write(self, rows: Rows) -> None:
        self.lines += rows.lines
        for gone in rows.gone:
            self.tombstones.append(gone)
            for row in [row for row in self.versions.values() if row.place == gone.place]:
                del self.versions[row.version]
                self.contents.pop(row.content, None)
            for link in [one for one in self.links.values() if gone.place.record in (one.source, one.target)]:
                del self.links[link.link]
        self.contents |= {row.content: row for row in rows.contents}
        self.versions |= {row.version: row for row in rows.versions}
        self.links |= {row.link: row for row in rows.links}
        for number, line in rows.ended_versions:
            if number in self.versions:
                self.versions[number] = self.versions[number]._replace(ended=line)
        for number, line in rows.ended_links:
            if number in self.links:
                self.links[number] = self.links[number]._replace(ended=line)
        self.answers |= {(row.scope, row.key): row.answer for row in rows.answers}

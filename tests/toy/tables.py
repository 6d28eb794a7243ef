"""The least that can read and write rows: dicts, a scope numbered when it comes, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, fields

from agent_memory.ledger import repeats
from agent_memory.ledger.journal import GENESIS, Head, Line
from agent_memory.ledger.plan import Planned, plan
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import (
    AnswerRow,
    BelievedRecord,
    ContentRow,
    Descent,
    Gone,
    Lack,
    LinkRow,
    Present,
    RecordPlace,
    Rows,
    StoredVersion,
    VectorRow,
    VersionRow,
    Wanted,
)
from agent_memory.ledger.traces import Traces, words
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.changes import DERIVING, Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.working import Desk
from agent_memory.testing.memory.erase import clear_desks, clear_namespaces
from agent_memory.testing.memory.world import Picture


def head(lines: Sequence[Line], beginning: bytes) -> Head:
    return Head(lines[-1].seq, lines[-1].at, lines[-1].chain) if lines else Head(chain=beginning)


@dataclass
class Tables:
    """What one tenant has, and, the same for all of them, what the store has (`spaces` and what follows)."""

    number: int = 0
    salt: bytes = b""
    beginning: bytes = GENESIS
    scopes: dict[Scope, int] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    contents: dict[int, ContentRow] = field(default_factory=dict)
    versions: dict[int, VersionRow] = field(default_factory=dict)
    links: dict[int, LinkRow] = field(default_factory=dict)
    tombstones: list[Gone] = field(default_factory=list)
    answers: dict[tuple[Scope, str], AnswerRow] = field(default_factory=dict)
    vectors: list[VectorRow] = field(default_factory=list)
    packed: dict[tuple[int, int], tuple[float, bytes]] = field(default_factory=dict)  # of vectors, as they came
    lacks: dict[tuple[int, Space], Lack] = field(default_factory=dict)
    receipts: dict[str, tuple[ReceiptLine, frozenset[int]]] = field(default_factory=dict)  # and what it tells of
    accesses: dict[int, tuple[int, ...]] = field(default_factory=dict)
    values: dict[tuple[Desk, str], tuple[str, int]] = field(default_factory=dict)
    lists: dict[tuple[Desk, str], tuple[tuple[str, int], ...]] = field(default_factory=dict)
    spaces: tuple[Space, ...] = ()
    vocabulary: Vocabulary | None = None
    store: list[Line] = field(default_factory=list)  # its own journal
    namespaces: dict[tuple[str, str], Picture] = field(default_factory=dict)
    scores: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    missed: dict[tuple[str, str, str], int] = field(default_factory=dict)
    places: dict[str, str | None] = field(default_factory=dict)  # outside, and what went wrong there
    debts: dict[tuple[str, Scope, str | None], tuple[int, int]] = field(default_factory=dict)  # line, since when

    def copied(self) -> Tables:
        """For a transaction: rows are never changed, only replaced."""
        return Tables(**{one.name: copy(getattr(self, one.name)) for one in fields(self)})

    def at(self, seq: int) -> int:
        return self.lines[seq - 1].at

    @property
    def head(self) -> Head:
        return head(self.lines, self.beginning)

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
        sources = [link for link in self.links.values() if link.type in DERIVING and link.source in descended]
        return Present(
            self.head,
            self.scopes,
            tuple(self._held(place) for place in sorted(found, key=lambda place: place.record)),
            tuple(
                link
                for link in self.links.values()
                if link.ended is None and link.type in asked.types and {link.source, link.target} <= numbers
            ),
            tuple(
                Descent(descended[one.source], self.versions[one.source].kind, one.target, one.scope, one.ended is None)
                for one in sources
                if one.target in known
            ),
            frozenset(
                link.source
                for link in self.links.values()
                if link.type in DERIVING and link.ended is None and link.source in known and link.target not in known
            ),
            frozenset((gone.place.scope.tenant, gone.place.scope.user, gone.place.id) for gone in self.tombstones),
            {place: row.answer for place, row in self.answers.items()},
            self.spaces,
            vocabulary=self.vocabulary,
        )

    def _held(self, place: RecordPlace) -> BelievedRecord:
        rows = [row for row in self.versions.values() if row.place == place and row.ended is None]
        rows.sort(key=lambda row: (row.state.valid_from, row.version))
        stored = (StoredVersion(r.version, r.number, r.content, self.contents[r.content].body, r.state) for r in rows)
        return BelievedRecord(place, rows[0].kind, tuple(stored))

    def _descended(self, roots: set[int], users: set[str]) -> dict[int, RecordPlace]:
        """What was ever derived from these, through any number of steps, and may be changed."""
        found: dict[int, RecordPlace] = {}
        frontier = set(roots)
        while frontier:
            links = (link for link in self.links.values() if link.type in DERIVING and link.target in frontier)
            places = {link.source: self.versions[link.source].place for link in links}
            whose = {number for number, place in places.items() if users & {place.scope.user, SHARED}}
            frontier = whose - found.keys()
            found |= {number: places[number] for number in frontier}
        return found

    def write(self, rows: Rows) -> None:
        self.lines += rows.lines
        for gone in rows.gone:
            self._erase(gone)
        for content in rows.contents:
            self.contents[content.content] = content
            self.vectors += content.vectors
            self.lacks |= {(lack.content, lack.space): lack for lack in content.lacks}
        self.versions |= {row.version: row for row in rows.versions}
        self.links |= {row.link: row for row in rows.links}
        for table, ended in ((self.versions, rows.ended_versions), (self.links, rows.ended_links)):
            for number, line in ended:
                if number in table:
                    table[number] = table[number]._replace(ended=line)
        self.answers |= {(row.scope, row.key): row for row in rows.answers}
        self.vocabulary = rows.vocabulary or self.vocabulary

    def _erase(self, gone: Gone) -> None:
        """Every row of the record, and what it left elsewhere."""
        (record, id, scope), traces = gone.place, Traces()
        contents = {row.content for row in self.versions.values() if row.place == gone.place}
        traces.add(id, [words(one.hashes) for one in (*gone.words, *(self.contents[one].terms for one in contents))])
        self.tombstones.append(gone)
        self.versions = {number: row for number, row in self.versions.items() if row.place != gone.place}
        self.contents = {number: row for number, row in self.contents.items() if number not in contents}
        self.links = {number: row for number, row in self.links.items() if record not in (row.source, row.target)}
        self.vectors = [row for row in self.vectors if row.content not in contents]
        self.lacks = {place: lack for place, lack in self.lacks.items() if lack.content not in contents}
        self.accesses.pop(record, None)
        mine = [line for line, _ in self.receipts.values() if scope in line.view.scope.readable()]
        numbered = {number: line.id for number, line in enumerate(mine)}
        asking = {numbered[one] for one in traces.asking((number, mine[number].terms) for number in numbered)}
        told = self.receipts.items()
        self.receipts = {one: row for one, row in told if one not in asking and record not in row[1]}

        clear_desks(self, scope, {id})
        clear_namespaces(self, scope, {id})
        for name in self.places:
            _, since = self.debts.get((name, scope, id), (0, self.at(gone.line)))
            self.debts[name, scope, id] = (gone.line, since)
        for place, row in self.answers.items():
            if scope in row.scope.readable() and row.answer.text and repeats.wrote(row.answer.text, {id}):
                self.answers[place] = row._replace(answer=repeats.FORGOTTEN)

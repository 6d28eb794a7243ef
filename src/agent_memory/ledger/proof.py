"""`verify`: the journal seals the records, everything derived follows from them, and what stands beside them is whole.

Pure rules over the streams of an `Evidence`, merged line by line: no more than a line and what belongs to it is held at
a time. Damage is named, and the rest is checked all the same: nothing that a column can hold ends it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from agent_memory.ledger import sound
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.evidence import EndedAt, Evidence, GoneAt, JournalStart, LineRow, LinkAt, StoredBody, VersionAt
from agent_memory.ledger.journal import (
    ADOPT,
    AMEND,
    CONNECT,
    DISCONNECT,
    ERASE,
    GENESIS,
    KEY,
    NAMES,
    PUT,
    Common,
    Line,
    chained,
    genesis,
)
from agent_memory.ledger.rows import LinkRow, RecordPlace
from agent_memory.ledger.seals import Identity, cut_seal, link_seals, tombstone_seal, version_seals
from agent_memory.ledger.sound import Along, Loose, garbled, row_named
from agent_memory.ledger.spaces import REBUILT
from agent_memory.ledger.tenants import TenantHistory, lost, unlike
from agent_memory.models.errors import PartMissing
from agent_memory.ports.changes import Content, Mark, Verified
from agent_memory.ports.records import Checker

MOST_PROBLEMS = 100
_TEXTS = ("id", "tenant", "user", "agent", "text", "payload", "key")


class ProofRequest(NamedTuple):
    """Whose journal `expect` is a mark of; `alone`: only that journal is proved, and what it tells of."""

    tenant: str | None
    expect: Mark | None = None
    alone: bool = False


class Problems(list[str]):
    """The first of them in words, all of them in number."""

    def __init__(self, unreadable: Callable[[Exception], bool]) -> None:
        super().__init__()
        self.left_out = 0
        self._unreadable = unreadable

    def add(self, problem: str) -> None:
        if len(self) < MOST_PROBLEMS:
            self.append(problem)
        else:
            self.left_out += 1

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """A part of the work that the engine may give up on."""
        try:
            yield
        except Exception as error:
            if not self._unreadable(error):
                raise
            self.add(f"{what}: cannot be read: {error}")

    def told(self) -> tuple[str, ...]:
        return (*self, f"and {self.left_out} more") if self.left_out else tuple(self)


def verify(evidence: Evidence, asked: ProofRequest, derive: Checker | None = None) -> Verified:
    """Walk the chains from their first lines, make every seal again whose subject still exists, look for loose ends."""
    problems, checked = Problems(evidence.unreadable), Counter[str]()
    walk = _Walk(evidence, asked, problems, checked)
    with problems.of("journal"):
        walk.go()
    if not asked.alone:
        parts: dict[str, Callable[[], Iterable[str]]] = {
            "journal": walk.loose.told,
            "rows": walk.lost,
            "contents": lambda: walk.underived(derive) if derive else (),
            "tenants": walk.unfounded,
            "rows beside the records": lambda: sound.unsound(evidence.beside(), checked),
            "keys": lambda: sound.unlocked(evidence.keys(), walk.keys, checked),
            "spaces": lambda: sound.unspaced(evidence.active(), walk.adopted),
            "vectors": lambda: sound.misshapen(evidence.vectors()),
        }
        for what, part in (*parts.items(), *evidence.own().items()):
            with problems.of(what):
                for problem in part():
                    problems.add(problem)
    head = walk.heads.get(asked.tenant, Mark(0, GENESIS.hex()))
    return Verified(head.seq, head.head, dict(checked), problems.told(), walk.heads, walk.told.notes)


class _Chain:
    """How far a journal was followed."""

    def __init__(self, begun: JournalStart) -> None:
        self.journal, self.name, base, self.salt, genesis = begun
        self.base = base if isinstance(base, int) else 0
        self.genesis = self.before = genesis if isinstance(genesis, bytes) else GENESIS
        self.seq = 0

    @property
    def place(self) -> str:
        return "of the store" if self.name is None else f"of tenant {self.name!a}"

    def follow(self, scope: int, line: Any) -> Iterator[str]:
        seq, at, operation, _, record, other, actor, reason, digest, chain = line
        expected = max(self.seq, self.base) + 1
        if seq != expected and not (isinstance(seq, int) and seq <= self.base):
            yield f"journal: line {expected} {self.place} is missing"
        said = (seq, at, operation, scope, record, other, actor, reason)
        if _made(lambda: chained(self.before, said, digest)) != chain:
            wrong = garbled(("actor", "reason"), (actor, reason))
            yield f"journal: line {seq} {self.place} does not follow from the line before it{wrong}"
        self.seq = seq if isinstance(seq, int) else self.seq
        self.before = chain if isinstance(chain, bytes) else GENESIS


class _Walk:
    """Along the journals, line by line, in the order in which the engine has them."""

    def __init__(self, evidence: Evidence, asked: ProofRequest, problems: Problems, checked: Counter[str]) -> None:
        self.evidence = evidence
        self.asked = asked
        self.problems = problems
        self.checked = checked
        self.chains: dict[object, _Chain] = {}
        self.common = Common()
        self.noted = asked.expect is None or not asked.expect.seq  # the line that somebody noted is there
        self.loose = Loose()
        self.keys: dict[object, object] = {}  # the last line about each: id -> its digest
        self.adopted: object = None  # the space that the last line about one names
        self.told = TenantHistory()
        self._last: Any = None
        self._unproved: set[object] = set()  # where there is a version that is not what was written

    @property
    def heads(self) -> dict[str | None, Mark]:
        return {one.name: Mark(one.seq, one.before.hex()) for one in self.chains.values() if one.seq}

    def proved(self, content: Any) -> bool:
        """Whether a content is what was written."""
        return self._last is not None and content <= self._last and content not in self._unproved

    def underived(self, derive: Checker) -> Iterator[str]:
        return sound.underived(self.evidence.contents(), self.evidence.fields(), derive, self.proved, self.checked)

    def go(self) -> None:
        evidence = self.evidence
        for operation, *said in evidence.tenants():
            self.told.hear(NAMES[operation], *said)
        self.chains = {one.journal: _Chain(one) for one in evidence.journals()}
        subjects = _Subjects(evidence, self.loose, self._unproved.add)
        for one in evidence.lines():
            self._follow(one)
            self._subject(one, subjects)
            self._last = one.row
        subjects.end()
        self._common()
        self._end()

    def _follow(self, one: LineRow) -> None:
        chain = self.chains.get(one.journal)
        if chain is None:
            self.problems.add(f"journal: row {one.row} is of no tenant")
            return
        for problem in chain.follow(one.scope, one.line):
            self.problems.add(problem)
        expect = self.asked.expect
        if expect is not None and one.line.seq == expect.seq and chain.name == self.asked.tenant:
            self.noted |= expect.head == chain.before.hex()
        self.checked["journal lines"] += 1

    def _common(self) -> None:
        """What all tenants had one journal for stays proved by its own chain, and a mark of it stays good."""
        expect, common = self.asked.expect, self.common
        if self.asked.alone and expect is None:
            return
        for said, digest, value in self.evidence.common():
            for broken in common.follow(said[0], said, digest, value):
                if not self.asked.alone and not self.told.knew(broken):
                    self.problems.add(
                        f"journal: line {broken.start} does not follow in the journal that all tenants had"
                    )
            self.noted |= expect is not None and (said[0], common.value.hex()) == (expect.seq, expect.head)

    def _end(self) -> None:
        """What can only be said when all lines are known."""
        expect, common, told = self.asked.expect, self.common, self.told
        if told.closed is not None and not common.last:
            common.last, common.value = told.closed
            self.noted |= expect == Mark(common.last, common.value.hex())
        if expect is not None and not self.noted:
            end = max((one.seq for one in self.chains.values() if one.name == self.asked.tenant), default=0)
            self.problems.add(unlike(expect, end, told))

    def lost(self) -> Iterator[str]:
        missing = self.evidence.missing()
        return iter(()) if missing is None else lost([*missing], self.told)

    def unfounded(self) -> Iterator[str]:
        """Tenants that are not as the store's journal tells, or whose chain does not begin where it should."""
        founded, common = self.told.founded, self.common
        for chain in self.chains.values():
            made = _made(partial(genesis, chain.salt, chain.name, chain.base, common.value if chain.base else b""))
            if made != chain.genesis or (chain.base and chain.base != common.last):
                yield f"tenants: the chain {chain.place} does not begin where it should"
            known = chain.name is None or (not chain.seq and chain.journal not in founded)
            if not known and founded.get(chain.journal) != chain.genesis:
                named = row_named(("tenant",), (chain.journal,))
                yield f"tenants: {named} is not the one that the store's journal tells of"
        for number, wrong in self.told.wrong(self.chains):
            yield f"tenants: {row_named(('tenant',), (number,))} {wrong}"

    def _subject(self, one: LineRow, subjects: _Subjects) -> None:
        """What the line brought, ended or erased."""
        line = one.line
        operation = NAMES.get(line.operation)
        version = subjects.version(one, operation)
        link = subjects.link(one, operation)
        if operation == KEY:
            self.keys[line.reason] = line.digest
        elif operation == ADOPT and line.reason != REBUILT:
            self.adopted = line.reason
        elif operation in (PUT, AMEND):
            try:
                if not self._compare("version", one, version) and version is not None:
                    self._unproved.add(one.row)
            except PartMissing as error:
                self._unproved.add(one.row)
                self.problems.add(f"journal: line {line.seq}: the version cannot be proved: {error}")
        elif operation in (CONNECT, DISCONNECT):
            self._compare("link", one, link)
        elif operation == ERASE:
            self._compare("tombstone", one, subjects.tombstone(one))

    def _knew(self, chain: _Chain, seq: Any) -> bool:
        """Whether a line is broken, and has been since before 0.2."""
        return isinstance(seq, int) and seq <= chain.base and self.told.knew(range(seq, seq + 1))

    def _compare(self, what: str, one: LineRow, found: _Found | None) -> bool:
        """Whether one of the seals that the subject of a line may have is the one in the line; None: it is not there
        as the line says, under this number, in this scope, between these records."""
        chain = self.chains.get(one.journal)
        place = f"journal: line {one.line.seq} {chain.place}" if chain else f"journal: row {one.row}"
        known = chain is not None and self._knew(chain, one.line.seq)
        if found is None:
            if not known and not one.erased:
                self.problems.add(f"{place}: its {what} is gone, and nobody erased it")
            return False
        same = bool(_made(lambda: any(seal == one.line.digest for seal in found.seals)))
        self.checked[f"{what}s"] += NAMES[one.line.operation] != DISCONNECT
        if not same and not known:
            self.problems.add(f"{place}: the {what} is not what was written{found.garbled()}")
        return same


class _Found(NamedTuple):
    """What a line tells of, as it stands: the seals that it may have, made when they are asked for."""

    seals: Iterator[bytes]
    version: VersionAt | None = None

    def garbled(self) -> str:
        if self.version is None or self.version.body is None:
            return ""
        place, body = self.version.place, self.version.body
        scope = place.scope.tenant, place.scope.user, place.scope.agent
        return garbled(_TEXTS, (place.id, *scope, body.text, body.payload, self.version.state.key))


class _Subjects:
    """What the lines are about, side by side with them."""

    def __init__(self, evidence: Evidence, loose: Loose, unproved: Callable[[object], None]) -> None:
        self._loose = loose
        self._unproved = unproved
        self._versions = Along(evidence.versions(), self._not_written)
        self._ended = Along(evidence.ended_versions(), self._not_ended)
        self._links = Along(evidence.links(), lambda one: loose.add("links without a journal line", one.row))
        self._cut = Along(evidence.ended_links(), self._not_cut)
        self._tombstones = Along(evidence.tombstones(), self._not_erased)

    def end(self) -> None:
        for stream in (self._versions, self._ended, self._links, self._cut, self._tombstones):
            stream.end()

    def _not_written(self, one: VersionAt) -> None:
        self._unproved(one.row)
        self._loose.add("versions without a journal line", one.row)

    def _not_ended(self, one: EndedAt) -> None:
        self._loose.add("versions that no line of their record ended", one.number)

    def _not_cut(self, one: LinkAt) -> None:
        self._loose.add("links that no line of theirs ended", one.link.link)

    def _not_erased(self, one: GoneAt) -> None:
        self._loose.add("tombstones without a journal line", one.place.record)

    def version(self, one: LineRow, operation: str | None) -> _Found | None:
        line, there, brings = one.line, self._versions.at(one.row), operation in (PUT, AMEND)
        ended = self._ended.at(one.row) if brings else []
        for other in ended:
            if other.record != line.record:
                self._not_ended(other)
        for version in there:
            if one.erased:
                self._loose.add("versions of what was erased", one.row)
            elif not brings:
                self._loose.add("versions that their line did not bring", one.row)
            if brings and version.body is not None and _same(version.place, line):
                return _Found(_version_seals(version, version.body, [other.number for other in ended]), version)
            self._unproved(one.row)
        return None

    def link(self, one: LineRow, operation: str | None) -> _Found | None:
        line, there = one.line, self._links.at(one.row)
        if there and operation != CONNECT:
            self._loose.add("links that their line did not bring", one.row)
        if operation not in (CONNECT, DISCONNECT):
            return None
        ended = [other.link for other in self._cut.at(one.row)]
        for other in ended:
            if (other.source, other.target) != (line.record, line.other):
                self._loose.add("links that no line of theirs ended", other.link)
        if len(ended) > 1:
            return None
        links = [other.link for other in there] if operation == CONNECT else ended
        for link in links:
            if (link.source, link.target, link.scope) == (line.record, line.other, line.scope):
                if operation == DISCONNECT:
                    return _Found(_cut_seals(link))
                return _Found(_link_seals(link, ended[0].link if ended else None))
        return None

    def tombstone(self, one: LineRow) -> _Found | None:
        found = None
        for other in self._tombstones.at(one.row):
            if _same(other.place, one.line):
                found = _Found(_tombstone_seals(other.place))
            else:
                self._not_erased(other)
        return found


def _same(place: RecordPlace, line: Line) -> bool:
    return (place.record, place.scope) == (line.record, line.scope)


def _version_seals(one: VersionAt, body: StoredBody, ended: Sequence[int]) -> Iterator[bytes]:
    content = Content(plain(body.text, body.codec), body.payload, body.salt)
    identity = Identity(one.place.id, one.kind, one.place.scope, one.number)
    yield from version_seals(identity, content, one.state, ended)


def _link_seals(link: LinkRow, instead: int | None) -> Iterator[bytes]:
    yield from link_seals(link.salt, (link.source, link.target, link.type), link.weight, link.properties, instead)


def _cut_seals(link: LinkRow) -> Iterator[bytes]:
    yield cut_seal(link.salt, link.link)


def _tombstone_seals(place: RecordPlace) -> Iterator[bytes]:
    yield tombstone_seal(place.id)


def _made(make: Callable[[], object]) -> object:
    """What a computation gives; None when a column holds what it cannot take."""
    with suppress(TypeError, ValueError, AttributeError, OverflowError):
        return make()
    return None

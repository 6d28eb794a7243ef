"""`verify`: the journal seals the records, everything derived follows from them, and what stands beside them is whole.

Damage is named, and the rest is checked all the same: nothing that a column can hold ends it.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, cast

from agent_memory.engines.sqlite import beside
from agent_memory.engines.sqlite.cells import count, garbled, lenient, misplaced, row_named
from agent_memory.engines.sqlite.journal import STORE
from agent_memory.engines.sqlite.statements import SQL, load
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.journal import (
    ADOPT,
    AMEND,
    CONNECT,
    DISCONNECT,
    ERASE,
    GENESIS,
    KEY,
    NAMES,
    NOBODYS,
    OPERATIONS,
    PUT,
    Common,
    chained,
    genesis,
)
from agent_memory.ledger.seals import Identity, cut_seal, link_seals, tombstone_seal, version_seals
from agent_memory.ledger.spaces import REBUILT
from agent_memory.ledger.tenants import Told, lost, unlike
from agent_memory.models.errors import PartMissing
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import Content, Mark, State, Verified
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Checker

MOST_PROBLEMS = 100

LOST = "lost"  # instead of a number: no seal is over it
LOOSE = load("loose")
_TEXTS = ("content", "id", "kind", "tenant", "user", "agent", "number", "text", "payload", "salt", "", "", "key")


class _Line(
    namedtuple(
        "_Line",
        "line tenant seq at operation scope number record record_number other other_number actor reason digest chain "
        "old",
    )
):
    """Rows of the file are named by lines; what a chain is made of are numbers of the journal, beside them here."""

    @property
    def scope_number(self) -> Any:
        return NOBODYS if self.scope == NOBODYS else self.number

    @property
    def subjects(self) -> tuple[Any, Any]:
        """In the store's journal they are not rows of the file. A row that is not there has no number."""
        if self.tenant == STORE:
            return self.record, self.other
        rows = ((self.record, self.record_number), (self.other, self.other_number))
        record, other = (LOST if row is not None and number is None else number for row, number in rows)
        return record, other


_Version = namedtuple(  # what a line brought; all None where that is not there
    "_Version",
    "content id kind tenant user agent number text payload salt valid_from valid_to key conversation position "
    "repository status importance confidence source codec",
)


class Problems(list[str]):
    """The first of them in words, all of them in number."""

    left_out = 0

    def add(self, problem: str) -> None:
        if len(self) < MOST_PROBLEMS:
            self.append(problem)
        else:
            self.left_out += 1

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """A part of the work that SQLite may give up on: the file is damaged below the level of rows."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise
            self.add(f"{what}: cannot be read: {error}")

    def told(self) -> tuple[str, ...]:
        return (*self, f"and {self.left_out} more") if self.left_out else tuple(self)


class Asked(NamedTuple):
    """Whose journal `expect` is a mark of; `alone`: only that journal is proved, and what it tells of."""

    tenant: str | None
    expect: Mark | None = None
    alone: bool = False


def verify(connection: sqlite3.Connection, asked: Asked, derive: Checker | None = None) -> Verified:
    """Walk the chains from their first lines, make every seal again whose subject still exists, look for loose ends."""
    problems, checked = Problems(), Counter[str]()
    with lenient(connection):
        walk = _Walk(connection, problems, checked, asked)
        if not asked.alone:
            with problems.of("columns"):
                for problem in misplaced(connection):
                    problems.add(problem)
        with problems.of("journal"):
            walk.go()
        if not asked.alone:
            _look_around(connection, walk, derive)
    head = walk.heads.get(asked.tenant, Mark(0, GENESIS.hex()))
    return Verified(head.seq, head.head, dict(checked), problems.told(), walk.heads, walk.told.notes)


def _look_around(connection: sqlite3.Connection, walk: _Walk, derive: Checker | None) -> None:
    """At all that is not a journal's."""
    problems, checked = walk.problems, walk.checked
    for name, sql in LOOSE.items():
        with problems.of(name):
            loose = [number for (number,) in connection.execute(sql, OPERATIONS)]
            if loose:
                problems.add(f"{name}: {len(loose)} (first: {loose[0]})")
    parts: dict[str, Callable[[], Iterable[str]]] = {
        "contents": lambda: beside.underived(connection, derive, walk.sealed, checked) if derive else (),
        "names": lambda: beside.unnamed(connection),
        "tenants": walk.unfounded,
        "rows beside the records": lambda: beside.unsound(connection, checked),
        "meta": lambda: beside.unknown(connection),
        "keys": lambda: beside.unlocked(connection, walk.keys, checked),
        "spaces": lambda: beside.unspaced(connection, walk.adopted),
        "vectors": lambda: beside.misshapen(connection),
        "file": lambda: beside.unsound_pages(connection),
    }
    for what, part in parts.items():
        with problems.of(what):
            for problem in part():
                problems.add(problem)


class _Chain:
    """How far a journal was followed. `name` None: the store's own; `base`: below it numbers have gaps."""

    def __init__(self, number: object, name: str | None, base: object, salt: bytes, genesis: object) -> None:
        self.number = number
        self.name = name
        self.base = base if isinstance(base, int) else 0
        self.salt = salt
        self.genesis = self.before = genesis if isinstance(genesis, bytes) else GENESIS
        self.seq = 0

    @property
    def place(self) -> str:
        return "of the store" if self.name is None else f"of tenant {self.name!a}"

    def follow(self, line: _Line) -> Iterator[str]:
        said = (line.seq, line.at, line.operation, line.scope_number, *line.subjects, line.actor, line.reason)
        expected = max(self.seq, self.base) + 1
        if not (isinstance(line.seq, int) and line.seq <= self.base) and line.seq != expected:
            yield f"journal: line {expected} {self.place} is missing"
        if _made(lambda: chained(self.before, said, line.digest)) != line.chain:
            wrong = garbled(("actor", "reason"), (line.actor, line.reason))
            yield f"journal: line {line.seq} {self.place} does not follow from the line before it{wrong}"
        self.seq = line.seq if isinstance(line.seq, int) else self.seq
        self.before = line.chain if isinstance(line.chain, bytes) else GENESIS


class _Walk:
    """Along the journals, line by line, in the order in which the file has them."""

    def __init__(self, connection: sqlite3.Connection, problems: Problems, checked: Counter[str], asked: Asked) -> None:
        self.connection = connection
        self.problems = problems
        self.checked = checked
        self.asked = asked
        self.line = 0
        self.common = Common()
        self.chains: dict[object, _Chain] = {}
        self.noted = asked.expect is None or not asked.expect.seq  # the line that somebody noted is there
        self.sealed: set[int] = set()  # contents that are what was written
        self.keys: dict[object, object] = {}  # the last line about each: id -> its digest
        self.adopted: object = None  # the space that the last line about one names
        self.told = Told()
        self.missing: list[range] = []  # rows of the file that are not there
        self._rows = _Rows(connection)

    @property
    def heads(self) -> dict[str | None, Mark]:
        return {one.name: Mark(one.seq, one.before.hex()) for one in self.chains.values() if one.seq}

    def go(self) -> None:
        self._rows.read()
        for number, *said in self.connection.execute(SQL["told_of_tenants"]).fetchall():
            self.told.hear(NAMES[number], *said)
        whose = None
        for number, name, *begins in self.connection.execute(SQL["all_tenants"]).fetchall():
            if not self.asked.alone or name == self.asked.tenant:
                self.chains[number] = _Chain(number, name, *begins)
            whose = number if name == self.asked.tenant else whose
        asked = {"tenant": (-1 if whose is None else whose) if self.asked.alone else None}
        rows = self.connection.execute(SQL["lines_and_versions"], asked)
        for row in counted(rows, "journal", lambda: count(self.connection, "journal")):
            line = _Line._make(row[: len(_Line._fields)])
            self._follow(line)
            self._subject(line, _Version._make(row[len(_Line._fields) :]))
        self._end(self.chains.get(whose))

    def _follow(self, line: _Line) -> None:
        chain = self.chains.get(line.tenant)
        if chain is None:
            self.problems.add(f"journal: row {line.line} is of no tenant")
            return
        for problem in chain.follow(line):
            self.problems.add(problem)
        if not self.asked.alone:
            if line.line != self.line + 1 and line.old is None:
                self.missing.append(range(self.line + 1, line.line))
            self.line = line.line
            if line.old is not None:
                self._follow_old(line)
        expect = self.asked.expect
        if expect is not None and line.seq == expect.seq and chain.name == self.asked.tenant:
            self.noted |= expect.head in (chain.before.hex(), line.old.hex() if isinstance(line.old, bytes) else "")
        self.checked["journal lines"] += 1

    def _follow_old(self, line: _Line) -> None:
        """What all tenants had one journal for stays proved by its own chain."""
        said = (line.line, line.at, line.operation, line.scope, line.record, line.other, line.actor, line.reason)
        for broken in self.common.follow(line.line, said, line.digest, line.old):
            if not self.told.knew(broken):
                first = broken.start
                self.problems.add(f"journal: line {first} does not follow in the journal that all tenants had")
        expect = self.asked.expect
        self.noted |= expect is not None and (line.line, self.common.value.hex()) == (expect.seq, expect.head)

    def _end(self, chain: _Chain | None) -> None:
        """What can only be said when all lines are known."""
        expect, common, told = self.asked.expect, self.common, self.told
        if told.closed is not None and not common.last:
            common.last, common.value = told.closed
            self.noted |= expect == Mark(common.last, common.value.hex())
        if expect is not None and not self.noted:
            self.problems.add(unlike(expect, chain.seq if chain else 0, told))
        for problem in () if self.asked.alone else lost(self.missing, told):
            self.problems.add(problem)

    def unfounded(self) -> Iterator[str]:
        """Tenants that are not as the store's journal tells, or whose chain does not begin where it should."""
        for chain in self.chains.values():
            made = _made(partial(genesis, chain.salt, chain.name, chain.base, self.common.value if chain.base else b""))
            if made != chain.genesis or (chain.base and chain.base != self.common.last):
                yield f"tenants: the chain {chain.place} does not begin where it should"
            founded = self.told.founded
            known = chain.name is None or (not chain.seq and chain.number not in founded)
            if not known and founded.get(chain.number) != chain.genesis:
                named = row_named(("tenant",), (chain.number,))
                yield f"tenants: {named} is not the one that the store's journal tells of"
        for number, wrong in self.told.wrong(self.chains):
            yield f"tenants: {row_named(('tenant',), (number,))} {wrong}"

    def _subject(self, line: _Line, version: _Version) -> None:
        """What the line brought, ended or erased."""
        operation = NAMES.get(line.operation) if isinstance(line.operation, int) else None
        if operation == KEY:
            self.keys[line.reason] = line.digest
        elif operation == ADOPT and line.reason != REBUILT:
            self.adopted = line.reason
        elif operation in (PUT, AMEND):
            try:
                found = None if version.content is None else self._rows.version(line.line, version)
            except PartMissing as error:
                self.problems.add(f"journal: line {line.seq}: the version cannot be proved: {error}")
                return
            if self._compare("versions", line, found, version) and operation == PUT:
                self.sealed.add(version.content)
        elif operation in (CONNECT, DISCONNECT):
            self._compare("links", line, self._rows.link(operation, line))
        elif operation == ERASE:
            self._compare("tombstones", line, self._rows.tombstone(line))

    def _compare(self, what: str, line: _Line, seals: Iterable[bytes] | None, version: Sequence[object] = ()) -> bool:
        """Whether one of the seals that the subject of a line may have is the one in the line; None: it is not there
        as the line says, under this number, in this scope, between these records."""
        self.checked[what] += seals is not None and NAMES[line.operation] != DISCONNECT
        chain = self.chains.get(line.tenant)
        place = f"journal: line {line.seq} {chain.place}" if chain else f"journal: row {line.line}"
        known = self.told.knew(range(line.line, line.line + 1))  # it is broken, and has been since before 0.2
        if seals is None:
            if not known and not {line.record, line.other} & self._rows.erased:
                self.problems.add(f"{place}: its {what[:-1]} is gone, and nobody erased it")
            return False
        same = bool(_made(lambda: any(one == line.digest for one in seals)))
        if not same and not known:
            wrong = garbled(_TEXTS, version)
            self.problems.add(f"{place}: the {what[:-1]} is not what was written{wrong}")
        return same


class _Rows:
    """What the store holds now, for making seals again. Rows are named by lines; what is sealed are numbers."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.erased: set[object] = set()
        self._names: dict[object, str] = {}
        self._ended_versions: dict[object, list[tuple[int, int]]] = {}
        self._ended_links: dict[object, list[tuple[int, int]]] = {}

    def read(self) -> None:
        """What this process remembers of names proves nothing: as the file has them now."""
        self.erased = {record for (record,) in self.connection.execute(SQL["erased"])}
        self._names = dict(self.connection.execute(SQL["all_names"]).fetchall())
        self._ended_versions = _by_line(self.connection.execute(SQL["ended_versions"]))
        self._ended_links = _by_line(self.connection.execute(SQL["ended_links"]))

    def tombstone(self, line: _Line) -> Iterable[bytes] | None:
        row = self._found(SQL["tombstone_of_line"], (line.record, line.line, line.scope))
        return None if row is None else (tombstone_seal(id) for id in row)

    def link(self, operation: str, line: _Line) -> Iterable[bytes] | None:
        ended = self._ended_links.get(line.line, [])
        cut, number = ended[0] if ended else (0, None)
        link = cut if operation == DISCONNECT else line.line
        row = self._found(SQL["link_of_line"], (link, line.record, line.other, line.scope))
        if row is None or len(ended) > 1:
            return None
        salt, type, weight, properties = row
        if operation == DISCONNECT:
            return _late(lambda: (cut_seal(salt, one) for one in (cast("int", number),)))
        return _late(lambda: link_seals(salt, (*line.subjects, type), weight, properties, number))

    def _found(self, sql: str, place: tuple[object, ...]) -> tuple[Any, ...] | None:
        """None also where a line says what cannot be looked for, such as a text that is not UTF-8."""
        return cast("tuple[Any, ...] | None", _made(lambda: self.connection.execute(sql, place).fetchone()))

    def version(self, line: int, row: _Version) -> Iterable[bytes] | None:
        if row.tenant is None or row.text is None:
            return None
        state = State(
            valid_from=row.valid_from,
            valid_to=row.valid_to,
            key=row.key,
            conversation_id=row.conversation,
            position=row.position,
            repository=row.repository,
            status=cast(Status, self._names.get(row.status, "")),  # sealed as it is, whatever it is
            importance=row.importance,
            confidence=row.confidence,
            source=self._names.get(row.source, ""),
        )
        scope = Scope.trusted(tenant=row.tenant, user=row.user, agent=row.agent)
        identity = Identity(row.id, self._names.get(row.kind, ""), scope, row.number)
        text = cast(str, _made(lambda: plain(row.text, row.codec)))
        content = Content(text, row.payload, row.salt)
        ended = [number for _, number in self._ended_versions.get(line, [])]
        return _late(lambda: version_seals(identity, content, state, ended))


def _made(make: Callable[[], object]) -> object:
    """What a computation gives; None when a column holds what it cannot take."""
    with suppress(TypeError, ValueError, AttributeError, OverflowError):
        return make()
    return None


def _late(make: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    yield from make()


def _by_line(rows: Iterable[tuple[object, int, int]]) -> dict[object, list[tuple[int, int]]]:
    """Which rows each line ended: (line, number)."""
    ended: defaultdict[object, list[tuple[int, int]]] = defaultdict(list)
    for line, row, number in rows:
        ended[line].append((row, number))
    return dict(ended)

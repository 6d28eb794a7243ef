"""`verify`: the journal seals the records, everything derived follows from them, and what stands beside them is whole.

Damage is named, and the rest is checked all the same: nothing that a column can hold ends it.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

from agent_memory.engines.sqlite import beside, vocabulary
from agent_memory.engines.sqlite.cells import count, garbled, lenient, misplaced
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
    OPERATIONS,
    PUT,
    chained,
)
from agent_memory.ledger.seals import Identity, cut_seal, link_seals, tombstone_seal, version_seals
from agent_memory.ledger.spaces import REBUILT
from agent_memory.models.errors import PartMissing
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import Content, Mark, State, Verified
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Checker

MOST_PROBLEMS = 100

LOOSE = load("loose")
_TEXTS = ("content", "id", "kind", "tenant", "user", "agent", "number", "text", "payload", "salt", "", "", "key")
_Line = namedtuple("_Line", "seq at operation scope record other actor reason digest chain")
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


def verify(connection: sqlite3.Connection, derive: Checker | None = None, expect: Mark | None = None) -> Verified:
    """Walk the chain from the first line, make every seal again whose subject still exists, look for loose ends."""
    problems, checked = Problems(), Counter[str]()
    with lenient(connection):
        with problems.of("columns"):
            for problem in misplaced(connection):
                problems.add(problem)
        walk = _Walk(connection, problems, checked, expect)
        with problems.of("journal"):
            walk.go()
        for name, sql in LOOSE.items():
            with problems.of(name):
                loose = [number for (number,) in connection.execute(sql, OPERATIONS)]
                if loose:
                    problems.add(f"{name}: {len(loose)} (first: {loose[0]})")
        parts: dict[str, Callable[[], Iterable[str]]] = {
            "contents": lambda: _underived(connection, derive, walk.sealed, checked) if derive else (),
            "names": lambda: _unnamed(connection),
            "rows beside the records": lambda: beside.unsound(connection, checked),
            "meta": lambda: beside.unknown(connection),
            "keys": lambda: beside.unlocked(connection, walk.keys, checked),
            "spaces": lambda: beside.unspaced(connection, walk.adopted),
            "vectors": lambda: beside.misshapen(connection),
            "file": lambda: _unsound_pages(connection),
        }
        for what, part in parts.items():
            with problems.of(what):
                for problem in part():
                    problems.add(problem)
    return Verified(walk.seq, walk.before.hex(), dict(checked), problems.told())


class _Walk:
    """Along the journal, line by line."""

    def __init__(
        self, connection: sqlite3.Connection, problems: Problems, checked: Counter[str], expect: Mark | None
    ) -> None:
        self.connection = connection
        self.problems = problems
        self.checked = checked
        self.expect = expect
        self.seq = 0
        self.before = GENESIS
        self.sealed: set[int] = set()  # contents that are what was written
        self.keys: dict[object, object] = {}  # the last line about each: id -> its digest
        self.adopted: object = None  # the space that the last line about one names
        self._rows = _Rows(connection)

    def go(self) -> None:
        self._rows.read()
        rows = self.connection.execute(SQL["lines_and_versions"])
        for row in counted(rows, "journal", lambda: count(self.connection, "journal")):
            line = _Line._make(row[: len(_Line._fields)])
            self._follow(line)
            self._subject(line, _Version._make(row[len(_Line._fields) :]))
        if self.expect is not None and self.seq < self.expect.seq:
            self.problems.add(
                f"journal: it ends at line {self.seq}, and line {self.expect.seq} was noted: the end was cut off"
            )

    def _follow(self, line: _Line) -> None:
        *said, proof, chain = line
        if line.seq != self.seq + 1:
            self.problems.add(f"journal: line {self.seq + 1} is missing")
        if _made(lambda: chained(self.before, said, proof)) != chain:
            wrong = garbled(("actor", "reason"), (line.actor, line.reason))
            self.problems.add(f"journal: line {line.seq} does not follow from the line before it{wrong}")
        self.seq, self.before = line.seq, chain if isinstance(chain, bytes) else GENESIS
        if self.expect is not None and self.seq == self.expect.seq and self.before.hex() != self.expect.head:
            self.problems.add(
                f"journal: line {self.seq} is not the one that was noted: what came before it was changed"
            )
        self.checked["journal lines"] += 1

    def _subject(self, line: _Line, version: _Version) -> None:
        """What the line brought, ended or erased."""
        operation = NAMES.get(line.operation) if isinstance(line.operation, int) else None
        if operation == KEY:
            self.keys[line.reason] = line.digest
        elif operation == ADOPT and line.reason != REBUILT:
            self.adopted = line.reason
        elif operation in (PUT, AMEND):
            try:
                found = None if version.content is None else self._rows.version(line.seq, version)
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
        if seals is None:
            if not {line.record, line.other} & self._rows.erased:
                self.problems.add(f"journal: line {line.seq}: its {what[:-1]} is gone, and nobody erased it")
            return False
        same = bool(_made(lambda: any(one == line.digest for one in seals)))
        if not same:
            wrong = garbled(_TEXTS, version)
            self.problems.add(f"journal: line {line.seq}: the {what[:-1]} is not what was written{wrong}")
        return same


class _Rows:
    """What the store holds now, for making seals again."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.erased: set[object] = set()
        self._names: dict[object, str] = {}
        self._ended_versions: dict[object, list[int]] = {}
        self._ended_links: dict[object, list[int]] = {}

    def read(self) -> None:
        """What this process remembers of names proves nothing: as the file has them now."""
        self.erased = {record for (record,) in self.connection.execute(SQL["erased"])}
        self._names = dict(self.connection.execute(SQL["all_names"]).fetchall())
        self._ended_versions = _by_line(self.connection.execute(SQL["ended_versions"]))
        self._ended_links = _by_line(self.connection.execute(SQL["ended_links"]))

    def tombstone(self, line: _Line) -> Iterable[bytes] | None:
        row = self._found(SQL["tombstone_of_line"], (line.record, line.seq, line.scope))
        return None if row is None else (tombstone_seal(id) for id in row)

    def link(self, operation: str, line: _Line) -> Iterable[bytes] | None:
        ended = self._ended_links.get(line.seq, [])
        link = (ended or [0])[0] if operation == DISCONNECT else line.seq
        row = self._found(SQL["link_of_line"], (link, line.record, line.other, line.scope))
        if row is None or len(ended) > 1:
            return None
        salt, *ends, weight, properties = row
        if operation == DISCONNECT:
            return (cut_seal(salt, one) for one in (link,))
        return _late(lambda: link_seals(salt, ends, weight, properties, ended[0] if ended else None))

    def _found(self, sql: str, place: tuple[object, ...]) -> tuple[Any, ...] | None:
        """None also where a line says what cannot be looked for, such as a text that is not UTF-8."""
        return cast("tuple[Any, ...] | None", _made(lambda: self.connection.execute(sql, place).fetchone()))

    def version(self, seq: int, row: _Version) -> Iterable[bytes] | None:
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
        return version_seals(identity, content, state, self._ended_versions.get(seq, []))


def _made(make: Callable[[], object]) -> object:
    """What a computation gives; None when a column holds what it cannot take."""
    with suppress(TypeError, ValueError, AttributeError, OverflowError):
        return make()
    return None


def _late(make: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    yield from make()


def _by_line(rows: Iterable[tuple[object, int]]) -> dict[object, list[int]]:
    """Which rows each line ended."""
    ended: defaultdict[object, list[int]] = defaultdict(list)
    for seq, number in rows:
        ended[seq].append(number)
    return dict(ended)


def _unnamed(connection: sqlite3.Connection) -> Iterator[str]:
    for table, key in (("names", "name"), ("labels", "label")):
        for number, text in connection.execute(SQL[f"all_{table}"]):
            if wrong := garbled(("text",), (text,)):
                yield f"{table}: {key} {number}{wrong}"


def _unsound_pages(connection: sqlite3.Connection) -> Iterator[str]:
    return (f"file: {text}" for (text,) in connection.execute("pragma integrity_check(5)") if text != "ok")


def _underived(
    connection: sqlite3.Connection, derive: Checker, sealed: set[int], checked: Counter[str]
) -> Iterator[str]:
    """Contents whose words or fields are not those that are derived from them today. Of a content that is not what was
    written nothing can be said."""
    rows = counted(connection.execute(SQL["contents_and_words"]), "contents", lambda: count(connection, "contents"))
    wrong: defaultdict[str, list[int]] = defaultdict(list)
    names = vocabulary.names(connection)
    for content, kind, text, codec, payload, words, length, terms in rows:
        derived = derive(kind, plain(text, codec), payload, names.get(words, "")) if content in sealed else None
        if derived is None:
            continue
        checked["derived"] += 1
        if (length, terms) != (derived.terms.length, derived.terms.hashes + derived.terms.counts):
            wrong["words"].append(content)
        if set(connection.execute(SQL["fields_of"], (content,))) != set(derived.fields):
            wrong["fields"].append(content)
    for what, found in wrong.items():
        yield (
            f"{what} that do not follow from their content: {len(found)} (first: {found[0]}); "
            "`agent-memory rebuild` helps"
        )

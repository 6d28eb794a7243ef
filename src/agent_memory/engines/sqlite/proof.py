"""`verify`: the journal seals the records, everything derived follows from them, and what stands beside them is whole.

Damage is named, and the rest is checked all the same: nothing that a column can hold ends it.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from agent_memory.engines.sqlite import beside
from agent_memory.engines.sqlite.cells import garbled, lenient, misplaced
from agent_memory.engines.sqlite.erase import tombstone_seal
from agent_memory.engines.sqlite.journal import (
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
from agent_memory.engines.sqlite.seals import Identity, cut_seal, link_seals, version_seals
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import Content, Mark, State, Verified
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Checker

MOST_PROBLEMS = 100
REBUILT = "rebuild"  # the reason of the line that a rebuild leaves

_LINES = """select j.seq, j.at, j.operation, j.scope, j.record, j.other, actor.text, j.reason,
    cast(j.digest as blob), cast(j.chain as blob),
    v.content, v.id, v.kind, s.tenant, s.user, s.agent, v.number, c.text, c.payload, cast(c.salt as blob),
    v.valid_from, v.valid_to, v.key, conversation.text, v.position, repository.text, v.status,
    v.importance, v.confidence, v.source
from journal j
left join names actor on actor.name = j.actor
left join versions v on v.version = j.seq and v.record = j.record and v.scope = j.scope
left join contents c on c.content = v.content
left join scopes s on s.scope = v.scope
left join labels conversation on conversation.label = v.conversation
left join labels repository on repository.label = v.repository
order by j.seq"""
_LINE, _VERSION = 10, 11  # where a line ends, and where a version begins
_TEXTS = ("id", "kind", "tenant", "user", "agent", "number", "text", "payload", "salt", "", "", "key")

_LINK = """select cast(l.salt as blob), l.source, l.target, n.text, l.weight, l.properties
from links l join names n on n.name = l.type where l.link = ? and l.source = ? and l.target = ? and l.scope = ?"""

_ACTIVE = "(select space from spaces where active)"

_LOOSE = {
    "versions without a journal line": "select version from versions where version not in (select seq from journal)",
    "links without a journal line": "select link from links where link not in (select seq from journal)",
    "tombstones without a journal line": "select t.record from tombstones t left join journal j on j.seq = t.seq "
    f"and j.record = t.record and j.scope = t.scope and j.operation = {OPERATIONS[ERASE]} where j.seq is null",
    "versions of what was erased": "select version from versions where record in (select record from tombstones)",
    "versions that no line of their record ended": "select v.version from versions v left join journal j on "
    f"j.seq = v.to_seq and j.record = v.record and j.operation in ({OPERATIONS[PUT]}, {OPERATIONS[AMEND]}) "
    "where v.to_seq is not null and j.seq is null",
    "links that no line of theirs ended": "select l.link from links l left join journal j on j.seq = l.to_seq and "
    f"j.record = l.source and j.other = l.target and j.operation in ({OPERATIONS[CONNECT]}, {OPERATIONS[DISCONNECT]}) "
    "where l.to_seq is not null and j.seq is null",
    "versions in a conversation or repository that has no name": "select version from versions where "
    "conversation is not null and conversation not in (select label from labels) "
    "or repository is not null and repository not in (select label from labels)",
    "contents without a version": "select content from contents where content not in (select content from versions)",
    "versions without a content": "select version from versions where content not in (select content from contents)",
    "contents without words": "select content from contents where content not in (select content from words)",
    "words of no content": "select content from words where content not in (select content from contents)",
    "fields of no content": "select content from fields where content not in (select content from contents)",
    "vectors of no space": "select vector from vectors where space not in (select space from spaces)",
    "contents that wait for a space that is not there": "select content from pending where space not in "
    "(select space from spaces)",
    "contents that wait for other vectors than those that lack": "select content from pending p where part <> 0 "
    "and part <> (select count(*) from vectors where (scope, space, content) = (p.scope, p.space, p.content))",
    "no content, waiting for vectors": "select content from pending where content not in "
    "(select content from contents)",
    "receipts of no scope": "select receipt from receipts where scope not in (select scope from scopes)",
    "records that a lost receipt showed": "select record from shown where receipt not in "
    "(select receipt from receipts)",
    "working values of no scope": "select key from working where scope not in (select scope from scopes)",
    "working lists of no scope": "select name from lists where scope not in (select scope from scopes)",
    "answers of no scope": "select key from repeats where scope not in (select scope from scopes)",
    "vectors of no content": "select content from vectors where content not in (select content from contents)",
    "vectors in another scope than their content": "select x.content from vectors x join versions v on "
    "v.version = x.content where v.scope <> x.scope",
    "contents that wait for vectors in another scope than their own": "select p.content from pending p join versions v "
    "on v.version = p.content where v.scope <> p.scope",
    "contents with neither vector nor a place in the queue": "select content from contents where "
    f"exists {_ACTIVE} and content not in (select content from vectors where space in {_ACTIVE}) "
    f"and content not in (select content from pending where space in {_ACTIVE})",
}


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
        for name, sql in _LOOSE.items():
            with problems.of(name):
                loose = connection.execute(sql).fetchall()
                if loose:
                    problems.add(f"{name}: {len(loose)} (first: {loose[0][0]})")
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
        lines = self.connection.execute(_LINES)
        for row in counted(lines, "journal", lambda: _count(self.connection, "journal")):
            self._line(row[:_LINE])
            self._subject(row)
        if self.expect is not None and self.seq < self.expect.seq:
            self.problems.add(
                f"journal: it ends at line {self.seq}, and line {self.expect.seq} was noted: the end was cut off"
            )

    def _line(self, row: tuple[Any, ...]) -> None:
        *line, proof, chain = row
        seq = line[0]
        if seq != self.seq + 1:
            self.problems.add(f"journal: line {self.seq + 1} is missing")
        if _made(lambda: chained(self.before, line, proof)) != chain:
            self.problems.add(f"journal: line {seq} does not follow from the line before it{garbled(*_said(line))}")
        self.seq, self.before = seq, chain if isinstance(chain, bytes) else GENESIS
        if self.expect is not None and seq == self.expect.seq and self.before.hex() != self.expect.head:
            self.problems.add(f"journal: line {seq} is not the one that was noted: what came before it was changed")
        self.checked["journal lines"] += 1

    def _subject(self, row: tuple[Any, ...]) -> None:
        """What the line brought, ended or erased."""
        seq, _, number, scope, record, other, _, reason, proof = row[: _LINE - 1]
        operation = NAMES.get(number) if isinstance(number, int) else None
        if operation == KEY:
            self.keys[reason] = proof
        elif operation == ADOPT and reason != REBUILT:
            self.adopted = reason
        elif operation in (PUT, AMEND):
            found = None if row[_LINE] is None else self._rows.version(seq, row[_VERSION:])
            if self._compare("versions", row, found) and operation == PUT:
                self.sealed.add(row[_LINE])
        elif operation in (CONNECT, DISCONNECT):
            self._compare("links", row, self._rows.link(operation, (seq, record, other, scope)))
        elif operation == ERASE:
            self._compare("tombstones", row, self._rows.tombstone(record, seq, scope))

    def _compare(self, what: str, row: tuple[Any, ...], seals: Iterable[bytes] | None) -> bool:
        """Whether one of the seals that the subject of a line may have is the one in the line; None: it is not there
        as the line says, under this number, in this scope, between these records."""
        seq, operation, proof = row[0], NAMES[row[2]], row[_LINE - 2]
        self.checked[what] += seals is not None and operation != DISCONNECT
        if seals is None:
            if not {*row[4:6]} & self._rows.erased:
                self.problems.add(f"journal: line {seq}: its {what[:-1]} is gone, and nobody erased it")
            return False
        same = bool(_made(lambda: any(one == proof for one in seals)))
        if not same:
            self.problems.add(
                f"journal: line {seq}: the {what[:-1]} is not what was written{garbled(_TEXTS, row[_VERSION:])}"
            )
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
        self.erased = {row[0] for row in self.connection.execute("select record from tombstones")}
        self._names = dict(self.connection.execute("select name, text from names").fetchall())
        ended = "select to_seq, {0} from {0}s where to_seq is not null"
        self._ended_versions = _by_line(self.connection.execute(ended.format("version")))
        self._ended_links = _by_line(self.connection.execute(ended.format("link")))

    def tombstone(self, record: object, seq: int, scope: object) -> Iterable[bytes] | None:
        sql = "select id from tombstones where record = ? and seq = ? and scope = ?"
        row = self._found(sql, (record, seq, scope))
        return None if row is None else (tombstone_seal(id) for id in row)

    def link(self, operation: str, line: tuple[Any, ...]) -> Iterable[bytes] | None:
        seq = line[0]
        ended = self._ended_links.get(seq, [])
        link = (ended or [0])[0] if operation == DISCONNECT else seq
        row = self._found(_LINK, (link, *line[1:]))
        if row is None or len(ended) > 1:
            return None
        salt, *ends, weight, properties = row
        if operation == DISCONNECT:
            return (cut_seal(salt, one) for one in (link,))
        return _late(lambda: link_seals(salt, ends, weight, properties, ended[0] if ended else None))

    def _found(self, sql: str, place: tuple[object, ...]) -> tuple[Any, ...] | None:
        """None also where a line says what cannot be looked for, such as a text that is not UTF-8."""
        return cast("tuple[Any, ...] | None", _made(lambda: self.connection.execute(sql, place).fetchone()))

    def version(self, seq: int, row: tuple[Any, ...]) -> Iterable[bytes] | None:
        id, kind, tenant, user, agent, number, text, payload, salt, *said = row
        if tenant is None or text is None:
            return None
        valid_from, valid_to, key, conversation, position, repository, status, importance, confidence, source = said
        state = State(
            valid_from=valid_from,
            valid_to=valid_to,
            key=key,
            conversation_id=conversation,
            position=position,
            repository=repository,
            status=cast(Status, self._names.get(status, "")),  # sealed as it is, whatever it is
            importance=importance,
            confidence=confidence,
            source=self._names.get(source, ""),
        )
        identity = Identity(id, self._names.get(kind, ""), Scope.trusted(tenant=tenant, user=user, agent=agent), number)
        return version_seals(identity, Content(text, payload, salt), state, self._ended_versions.get(seq, []))


def _made(make: Callable[[], object]) -> object:
    """What a computation gives; None when a column holds what it cannot take."""
    with suppress(TypeError, ValueError, AttributeError, OverflowError):
        return make()
    return None


def _late(make: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    yield from make()


def _said(line: list[object]) -> tuple[tuple[str, str], list[object]]:
    return ("actor", "reason"), line[6:8]


def _by_line(rows: Iterable[tuple[object, int]]) -> dict[object, list[int]]:
    """Which rows each line ended."""
    ended: defaultdict[object, list[int]] = defaultdict(list)
    for seq, number in rows:
        ended[seq].append(number)
    return dict(ended)


def _count(connection: sqlite3.Connection, table: str) -> int:
    found: int = connection.execute(f"select count(*) from {table}").fetchone()[0]
    return found


def _unnamed(connection: sqlite3.Connection) -> Iterator[str]:
    for table, key in (("names", "name"), ("labels", "label")):
        for number, text in connection.execute(f"select {key}, text from {table}"):
            if wrong := garbled(("text",), (text,)):
                yield f"{table}: {key} {number}{wrong}"


def _unsound_pages(connection: sqlite3.Connection) -> Iterator[str]:
    return (f"file: {text}" for (text,) in connection.execute("pragma integrity_check(5)") if text != "ok")


def _underived(
    connection: sqlite3.Connection, derive: Checker, sealed: set[int], checked: Counter[str]
) -> Iterator[str]:
    """Contents whose words or fields are not those that are derived from them today. Of a content that is not what was
    written nothing can be said."""
    fields = "select n.text, f.value from fields f join names n on n.name = f.name where f.content = ?"
    rows = connection.execute(
        "select c.content, n.text, c.text, c.payload, w.length, w.terms from contents c "
        "join versions v on v.version = c.content join names n on n.name = v.kind join words w on w.content = c.content"
    )
    wrong: defaultdict[str, list[int]] = defaultdict(list)
    for content, kind, text, payload, length, terms in counted(
        rows, "contents", lambda: _count(connection, "contents")
    ):
        derived = derive(kind, text, payload) if content in sealed else None
        if derived is None:
            continue
        checked["derived"] += 1
        if (length, terms) != (derived.terms.length, derived.terms.hashes + derived.terms.counts):
            wrong["words"].append(content)
        if set(connection.execute(fields, (content,))) != set(derived.fields):
            wrong["fields"].append(content)
    for what, found in wrong.items():
        yield (
            f"{what} that do not follow from their content: {len(found)} (first: {found[0]}); "
            "`agent-memory rebuild` helps"
        )

"""`verify`: the journal seals the records, and everything derived is there and follows from them."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import cast

from agent_memory.engines.sqlite.erase import tombstone_seal
from agent_memory.engines.sqlite.interning import label_text
from agent_memory.engines.sqlite.journal import (
    AMEND,
    CONNECT,
    DISCONNECT,
    ERASE,
    GENESIS,
    NAMES,
    OPERATIONS,
    PUT,
    chained,
)
from agent_memory.engines.sqlite.seals import Identity, cut_seal, link_seal, version_seal
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import Content, State, Verified
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Checker

MOST_PROBLEMS = 100

_VERSION = """select v.id, v.kind, s.tenant, s.user, s.agent, v.number, c.text, c.payload, cast(c.salt as blob),
    v.valid_from, v.valid_to, v.key, v.conversation, v.position, v.repository, v.status,
    v.importance, v.confidence, v.source
from versions v join contents c on c.content = v.content join scopes s on s.scope = v.scope
where v.version = ? and v.record = ? and v.scope = ?"""

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
    "contents without a version": "select content from contents where content not in (select content from versions)",
    "versions without a content": "select version from versions where content not in (select content from contents)",
    "contents without words": "select content from contents where content not in (select content from words)",
    "words of no content": "select content from words where content not in (select content from contents)",
    "fields of no content": "select content from fields where content not in (select content from contents)",
    "vectors of no content": "select content from vectors where content not in (select content from contents)",
    "vectors in another scope than their content": "select x.content from vectors x join versions v on "
    "v.version = x.content where v.scope <> x.scope",
    "contents that wait for vectors in another scope than their own": "select p.content from pending p join versions v "
    "on v.version = p.content where v.scope <> p.scope",
    "contents with neither vector nor a place in the queue": "select content from contents where "
    f"exists {_ACTIVE} and content not in (select content from vectors where space in {_ACTIVE}) "
    f"and content not in (select content from pending where space in {_ACTIVE})",
}


def verify(connection: sqlite3.Connection, derive: Checker | None = None) -> Verified:
    """Walk the chain from the first line, make every seal again whose subject still exists, look for loose ends."""
    problems: list[str] = []
    checked: Counter[str] = Counter()
    rows = _Rows(connection)
    before, expected = GENESIS, 1
    lines = connection.execute(
        "select seq, at, operation, scope, record, other, n.text, reason, cast(digest as blob), cast(chain as blob) "
        "from journal left join names n on n.name = actor order by seq"
    )
    for *line, proof, chain in counted(lines, "journal", lambda: _count(connection, "journal")):
        seq, operation = line[0], NAMES.get(line[2])
        if seq != expected:
            problems.append(f"journal: line {expected} is missing")
        if chained(before, line, proof) != chain:
            problems.append(f"journal: line {seq} does not follow from the line before it")
        before, expected = chain, seq + 1
        checked["journal lines"] += 1
        if operation in (PUT, AMEND, CONNECT, DISCONNECT, ERASE):
            what, found = rows.seal(operation, seq, *line[3:6])
            checked[what] += found is not None and operation != DISCONNECT
            if found is None and not {*line[4:6]} & rows.erased:
                problems.append(f"journal: line {seq}: its {what[:-1]} is gone, and nobody erased it")
            elif found is not None and found != proof:
                problems.append(f"journal: line {seq}: the {what[:-1]} is not what was written")
        if len(problems) >= MOST_PROBLEMS:
            break
    sealed = not problems
    for name, sql in _LOOSE.items():
        loose = connection.execute(sql).fetchall()
        if loose:
            problems.append(f"{name}: {len(loose)} (first: {loose[0][0]})")
    if derive is not None and sealed:  # nothing can be said of what follows from contents that are not ours
        problems += _underived(connection, derive, checked)
    for (text,) in connection.execute("pragma integrity_check(5)"):
        if text != "ok":
            problems.append(f"file: {text}")
    return Verified(expected - 1, before.hex(), dict(checked), tuple(problems[:MOST_PROBLEMS]))


class _Rows:
    """What the store holds now, for making seals again."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.erased = {row[0] for row in connection.execute("select record from tombstones")}
        self._ended_versions = _by_line(connection.execute("select to_seq, version from versions where to_seq > 0"))
        self._ended_links = _by_line(connection.execute("select to_seq, link from links where to_seq > 0"))

    def seal(self, operation: str, seq: int, scope: int, record: int, other: int | None) -> tuple[str, bytes | None]:
        """Of what kind the subject of a line is, and its seal as of now; None when it is not there as the line says:
        under this number, in this scope, between these records."""
        if operation == ERASE:
            sql = "select id from tombstones where record = ? and seq = ? and scope = ?"
            row = self.connection.execute(sql, (record, seq, scope)).fetchone()
            return "tombstones", None if row is None else tombstone_seal(row[0])
        if operation in (PUT, AMEND):
            return "versions", self._version(seq, record, scope)
        ended = self._ended_links.get(seq, [])
        place = ((ended or [0])[0] if operation == DISCONNECT else seq, record, other, scope)
        row = self.connection.execute(_LINK, place).fetchone()
        if row is None or len(ended) > 1:
            return "links", None
        if operation == DISCONNECT:
            return "links", cut_seal(row[0], place[0])
        return "links", link_seal(*row, ended=ended[0] if ended else None)

    def _version(self, seq: int, record: int, scope: int) -> bytes | None:
        row = self.connection.execute(_VERSION, (seq, record, scope)).fetchone()
        if row is None:
            return None
        id, kind, tenant, user, agent, number, text, payload, salt, *said = row
        valid_from, valid_to, key, conversation, position, repository, status, importance, confidence, source = said
        state = State(
            valid_from=valid_from,
            valid_to=valid_to,
            key=key,
            conversation_id=label_text(self.connection, conversation),
            position=position,
            repository=label_text(self.connection, repository),
            status=cast(Status, self._name(status)),  # sealed as it is, whatever it is
            importance=importance,
            confidence=confidence,
            source=self._name(source),
        )
        identity = Identity(id, self._name(kind), Scope(tenant=tenant, user=user, agent=agent), number)
        return version_seal(identity, Content(text, payload, salt), state, self._ended_versions.get(seq, []))

    def _name(self, number: int) -> str:
        """As the file has it now: what this process remembers of it proves nothing."""
        row = self.connection.execute("select text from names where name = ?", (number,)).fetchone()
        return "" if row is None else row[0]


def _by_line(rows: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Which rows each line ended."""
    ended: defaultdict[int, list[int]] = defaultdict(list)
    for seq, number in rows:
        ended[seq].append(number)
    return dict(ended)


def _count(connection: sqlite3.Connection, table: str) -> int:
    found: int = connection.execute(f"select count(*) from {table}").fetchone()[0]
    return found


def _underived(connection: sqlite3.Connection, derive: Checker, checked: Counter[str]) -> list[str]:
    """Contents whose words or fields are not those that are derived from them today."""
    fields = "select n.text, f.value from fields f join names n on n.name = f.name where f.content = ?"
    rows = connection.execute(
        "select c.content, n.text, c.text, c.payload, w.length, w.terms from contents c "
        "join versions v on v.version = c.content join names n on n.name = v.kind join words w on w.content = c.content"
    )
    wrong: defaultdict[str, list[int]] = defaultdict(list)
    for content, kind, text, payload, length, terms in counted(
        rows, "contents", lambda: _count(connection, "contents")
    ):
        derived = derive(kind, text, payload)
        if derived is None:
            continue
        checked["derived"] += 1
        if (length, terms) != (derived.terms.length, derived.terms.hashes + derived.terms.counts):
            wrong["words"].append(content)
        if set(connection.execute(fields, (content,))) != set(derived.fields):
            wrong["fields"].append(content)
    return [
        f"{what} that do not follow from their content: {len(found)} (first: {found[0]}); `agent-memory rebuild` helps"
        for what, found in wrong.items()
    ]

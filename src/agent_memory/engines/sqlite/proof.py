"""`verify`: the journal seals the records, and everything derived is there."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter

from agent_memory.engines.sqlite.interning import Interning, label_text
from agent_memory.engines.sqlite.journal import AMEND, CONNECT, ERASE, GENESIS, NAMES, PUT, chained, digest
from agent_memory.engines.sqlite.write import version_digest
from agent_memory.models.record import Status
from agent_memory.ports.changes import Content, State, Verified

MOST_PROBLEMS = 100

_VERSION = """select c.text, c.payload, c.salt, v.valid_from, v.valid_to, v.key, v.conversation, v.position,
    v.repository, v.status, v.importance, v.confidence, v.source
from versions v join contents c on c.content = v.content where v.version = ? and v.record = ?"""

_LINK = """select l.salt, l.source, l.target, n.text, l.weight, l.properties
from links l join names n on n.name = l.type where l.link = ? and l.source = ?"""

_LOOSE = {
    "versions without a journal line": "select version from versions where version not in (select seq from journal)",
    "links without a journal line": "select link from links where link not in (select seq from journal)",
    "contents without a version": "select content from contents where content not in (select content from versions)",
    "versions without a content": "select version from versions where content not in (select content from contents)",
    "contents without words": "select content from contents where content not in (select content from words)",
    "words of no content": "select content from words where content not in (select content from contents)",
    "vectors of no content": "select content from vectors where content not in (select content from contents)",
    "versions whose end was never journalled": "select version from versions where to_seq not in "
    "(select seq from journal)",
    "contents with neither vector nor a place in the queue": "select c.content from contents c join spaces s "
    "on s.active where c.content not in (select content from vectors where space = s.space) "
    "and c.content not in (select content from pending where space = s.space)",
}


def verify(connection: sqlite3.Connection, interning: Interning) -> Verified:
    """Walk the chain from the first line, recompute every digest whose subject still exists, look for loose ends."""
    problems: list[str] = []
    checked: Counter[str] = Counter()
    erased = {row[0] for row in connection.execute("select record from tombstones")}
    before, expected = GENESIS, 1
    lines = connection.execute(
        "select seq, at, operation, scope, record, other, actor, reason, digest, chain from journal order by seq"
    )
    for *line, proof, chain in lines:
        seq, operation, record, other = line[0], NAMES[line[2]], line[4], line[5]
        if seq != expected:
            problems.append(f"journal: line {expected} is missing")
        if chained(before, line, proof) != chain:
            problems.append(f"journal: line {seq} does not follow from the line before it")
        before, expected = chain, seq + 1
        checked["journal lines"] += 1
        if operation in (PUT, AMEND, CONNECT, ERASE):
            what, found = _recompute(connection, interning, operation, seq, record)
            checked[what] += found is not None
            if found is None and not {record, other} & erased:
                problems.append(f"journal: line {seq}: its {what[:-1]} is gone, and nobody erased it")
            elif found is not None and found != proof:
                problems.append(f"journal: line {seq}: the {what[:-1]} is not what was written")
        if len(problems) >= MOST_PROBLEMS:
            break
    for name, sql in _LOOSE.items():
        loose = connection.execute(sql).fetchall()
        if loose:
            problems.append(f"{name}: {len(loose)} (first: {loose[0][0]})")
    for (text,) in connection.execute("pragma integrity_check(5)"):
        if text != "ok":
            problems.append(f"file: {text}")
    return Verified(expected - 1, before.hex(), dict(checked), tuple(problems[:MOST_PROBLEMS]))


def _recompute(
    connection: sqlite3.Connection, interning: Interning, operation: str, seq: int, record: int
) -> tuple[str, bytes | None]:
    if operation == ERASE:
        row = connection.execute("select id from tombstones where record = ? and seq = ?", (record, seq)).fetchone()
        return "tombstones", None if row is None else hashlib.sha256(row[0].encode()).digest()
    if operation == CONNECT:
        row = connection.execute(_LINK, (seq, record)).fetchone()
        return "links", None if row is None else digest(*row)
    row = connection.execute(_VERSION, (seq, record)).fetchone()
    if row is None:
        return "versions", None
    text, payload, salt, valid_from, valid_to, key, conversation, position, repository, *rest = row
    status, importance, confidence, source = rest
    state = State(
        valid_from=valid_from,
        valid_to=valid_to,
        key=key,
        conversation_id=label_text(connection, conversation),
        position=position,
        repository=label_text(connection, repository),
        status=Status(interning.text(connection, status)),
        importance=importance,
        confidence=confidence,
        source=interning.text(connection, source),
    )
    return "versions", version_digest(Content(text, payload, salt), state)

"""Requests that were answered, by idempotency key, so that a repetition changes nothing.

Of a request only a salted digest is kept, beside the answer. When a record that the answer names is erased, both go
and the key stays, for as long as it would have: a late repetition must not bring back what was forgotten.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable

from agent_memory.engines.sqlite.expiry import believed
from agent_memory.engines.sqlite.seals import checksum, sealed
from agent_memory.models.errors import Conflict
from agent_memory.ports.changes import Applied, Effect, Once, Outcome

LIVE = 7 * 86_400_000_000  # an idempotency key is remembered for a week
SALT_BYTES = 16


def answered(connection: sqlite3.Connection, scope: int, once: Once) -> Applied | None:
    """The answer to the same request, if there was one. `Conflict` when the key means another, or a forgotten one."""
    sql = "select request, answer from repeats where scope = ? and key = ?"
    row = connection.execute(sql, (scope, once.key)).fetchone()
    if row is None:
        return None
    if not row[0]:
        raise Conflict(
            f"idempotency key {once.key!r} was used for a request that wrote what is forgotten now",
            hint="use a new key to store it again",
        )
    if row[0] != _digest(row[0][:SALT_BYTES], once):
        raise Conflict(
            f"idempotency key {once.key!r} was used for another request", hint="use a new key for a new request"
        )
    answer = json.loads(row[1])
    outcomes = tuple(Outcome(Effect(effect), id, version) for effect, id, version in answer["outcomes"])
    return Applied(answer["seq"], answer["at"], outcomes, repeated=True, erased=tuple(answer["erased"]))


def remember(connection: sqlite3.Connection, scope: int, once: Once, applied: Applied) -> None:
    outcomes = [(outcome.effect, outcome.id, outcome.version) for outcome in applied.outcomes]
    text = json.dumps({"seq": applied.seq, "at": applied.at, "outcomes": outcomes, "erased": applied.erased})
    expire(connection, applied.at)
    connection.execute(
        "insert into repeats (scope, key, request, at, answer, seal) values (?, ?, ?, ?, ?, ?)",
        sealed(scope, once.key, _digest(secrets.token_bytes(SALT_BYTES), once), applied.at, text),
    )


def forget(connection: sqlite3.Connection, scopes: Iterable[int], ids: Collection[str]) -> None:
    """Leave nothing but the key of requests of these scopes that wrote one of these records."""
    rows = connection.execute(
        f"select scope, key, at, answer from repeats where scope in ({','.join(map(str, scopes))}) and answer <> ''"
    ).fetchall()
    told = [
        (checksum(scope, key, b"", at, ""), scope, key)
        for scope, key, at, answer in rows
        if any(id in ids for _, id, _ in json.loads(answer)["outcomes"])
    ]
    sql = "update repeats set request = x'', answer = '', seal = ? where scope = ? and key = ?"
    connection.executemany(sql, told)


def expire(connection: sqlite3.Connection, now: int) -> None:
    if believed(connection, now, LIVE):
        connection.execute("delete from repeats where at < ?", (now - LIVE,))


def _digest(salt: bytes, once: Once) -> bytes:
    return salt + hashlib.sha256(salt + once.fingerprint).digest()

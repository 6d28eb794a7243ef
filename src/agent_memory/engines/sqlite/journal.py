"""The hash-chained journal: what a line says, and how it is proved."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_memory.engines.sqlite.statements import SQL

PUT, AMEND, CONNECT, DISCONNECT, ERASE, EMBED, ADOPT, KEY = (
    "put",
    "amend",
    "connect",
    "disconnect",
    "erase",
    "embed",
    "adopt",
    "key",
)
NAMES = dict(enumerate((PUT, AMEND, CONNECT, DISCONNECT, ERASE, EMBED, ADOPT, KEY), 1))
OPERATIONS = {name: number for number, name in NAMES.items()}
GENESIS = bytes(32)
OURSELVES = "agent-memory"  # the actor of what the library does by itself


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def digest(salt: bytes, *values: object) -> bytes:
    """Proves values without telling them: nobody can guess them without the salt."""
    return hashlib.sha256(salt + _encode(values).encode()).digest()


def chained(before: bytes, line: Sequence[object], proof: bytes) -> bytes:
    """Each line seals itself and, through `before`, all lines that came before it. `line` names the actor in words."""
    return hashlib.sha256(before + _encode(line).encode() + proof).digest()


@dataclass
class Ledger:
    """The journal of one write transaction: hands out `seq` and appends lines."""

    connection: sqlite3.Connection
    at: int
    actor: int
    reason: str | None
    who: str = field(init=False)
    seq: int = field(init=False)
    chain: bytes = field(init=False)

    def __post_init__(self) -> None:
        head = self.connection.execute(SQL["head"]).fetchone()
        self.seq, last, self.chain = head or (0, 0, GENESIS)
        self.who = self.connection.execute("select text from names where name = ?", (self.actor,)).fetchone()[0]
        self.at = max(self.at, last)  # recorded time never goes backwards, whatever the clock does

    @property
    def next(self) -> int:
        return self.seq + 1

    def append(self, operation: str, scope: int, record: int | None, other: int | None, proof: bytes) -> int:
        self.seq += 1
        line = (self.seq, self.at, OPERATIONS[operation], scope, record, other)
        self.chain = chained(self.chain, (*line, self.who, self.reason), proof)
        self.connection.execute(SQL["insert_journal"], (*line, self.actor, self.reason, proof, self.chain))
        return self.seq

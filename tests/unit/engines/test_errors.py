"""SQLite's errors, by their codes: a text that merely sounds like one is something else."""

from __future__ import annotations

import sqlite3

import pytest

from agent_memory.engines.sqlite.connection import translated
from agent_memory.models.errors import Busy, Corrupt, InvalidInput, StoreError, StoreFull


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_IOERR, StoreError),
        (sqlite3.SQLITE_IOERR_WRITE, StoreError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreError),
        (sqlite3.SQLITE_IOERR_SHMSIZE, StoreFull),
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy),
        (sqlite3.SQLITE_CORRUPT_INDEX, Corrupt),
        (sqlite3.SQLITE_TOOBIG, InvalidInput),
    ],
)
def test_a_code_says_what_happened(code: int, kind: type[Exception]) -> None:
    error = sqlite3.OperationalError("database disk image is malformed")
    error.sqlite_errorcode = code
    found = translated(error, "x.db")
    assert type(found) is kind and found.hint


def test_a_text_alone_is_no_damage() -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError, match="malformed JSON") as raised:
        connection.execute("select json_extract('{', '$')").fetchone()
    connection.close()
    assert type(translated(raised.value, "x.db")) is StoreError

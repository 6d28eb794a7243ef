"""One answer of the doctor."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(NamedTuple):
    """One answer. `fix` says what to do when it is not ok."""

    name: str
    state: State
    detail: str
    fix: str = ""
